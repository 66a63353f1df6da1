# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
CORE := constraints/core.txt
FULL := constraints/full.txt

.PHONY: demo test check docs soak peer-bench test-matrix peer-tests clean

$(BIN)/markscheme: pyproject.toml $(CORE)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c $(CORE) -e .
	touch $@

# Grade the bundled samples, print the table, write out/report.html.
demo: $(BIN)/markscheme
	mkdir -p out
	$(BIN)/markscheme grade examples/completions.jsonl -o out/verdicts.jsonl --fresh --report out/report.html

# torch first and by name, so that a CPU build at hand is taken as it is; asking for trl alone would pull CUDA wheels.
# Dependency groups need pip 25.1; a new virtual environment of Python 3.11 has an older one.
$(VENV)/.test-stamp: $(BIN)/markscheme $(FULL)
	$(PIP) install 'pip>=25.1'
	$(PIP) install -c $(FULL) torch
	$(PIP) install -c $(FULL) -e '.[train,bench,serve]' --group dev
	touch $@

# A process a processor; the tests of a file stay together, since they share what is dear to make.
test: $(VENV)/.test-stamp
	$(BIN)/python -m pytest -q -m "not soak" -n auto --dist loadfile

check: $(VENV)/.test-stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, in out/site; a warning fails it. What the silenced warning says: mkdocs-material is mended until May 2027.
docs: $(VENV)/.test-stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

soak: $(VENV)/.test-stamp
	$(BIN)/python -m pytest -q -m soak

# The trainer's tests with each release of TRL that it is made for; all else stays as it is pinned. TRL 1.15 computes its
# losses by Triton kernels on any device: on a CPU they run in Triton's interpreter.
TRLS := 1.14.0 1.15.0 1.16.0
out/trl-%/.stamp: $(VENV)/.test-stamp
	$(PIP) install --no-deps --target out/trl-$* trl==$* $(if $(filter 1.15.%,$*),triton)
	touch $@

test-matrix: $(TRLS:%=out/trl-%/.stamp)
	set -e; for release in $(TRLS); do echo "TRL $$release"; export PYTHONPATH=$(CURDIR)/out/trl-$$release; \
	  $(BIN)/python -c "import trl; assert trl.__version__ == '$$release', trl.__file__"; \
	  TRITON_INTERPRET=1 $(BIN)/python -m pytest -q tests/trainer; done

# TRL's own GRPO tests, with our trainer in the place of TRL's: the same results are wanted. PEER_TESTS is the folder
# `tests` of a TRL source tree, which is no part of this repository; without it, this is skipped.
PEER_TESTS ?=
peer-tests: $(VENV)/.test-stamp
	$(BIN)/python tests/peer/compare.py "$(PEER_TESTS)" out/peer

clean:
	rm -rf out
