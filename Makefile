# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
CORE := constraints/core.txt
FULL := constraints/full.txt

.PHONY: demo test check soak peer-bench clean

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

test: $(VENV)/.test-stamp
	$(BIN)/python -m pytest -q -m "not soak"

check: $(VENV)/.test-stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

soak: $(VENV)/.test-stamp
	$(BIN)/python -m pytest -q -m soak

clean:
	rm -rf out
