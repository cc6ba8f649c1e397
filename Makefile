# Nothing but python3 >= 3.11 and make is assumed: the virtual environment is made here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-outside lint check bench clean
# Real servers and a real browser: apt-get install postgresql mariadb-server-core mariadb-client-core chromium
OUTSIDE := tests/databases tests/browser

demo: $(STAMP)
	$(BIN)/forensics demo

test: $(STAMP)
	$(BIN)/pytest $(addprefix --ignore=,$(OUTSIDE))

test-outside: $(STAMP)
	$(BIN)/pytest $(OUTSIDE)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test test-outside

bench: $(STAMP)
	$(BIN)/python -m tests.bench

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "forensics needs python3 >= 3.11; $$($(PYTHON) --version) was found. Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "python3 cannot make virtual environments here: install python3-venv (apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $(STAMP)

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
