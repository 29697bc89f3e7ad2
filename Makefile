# Needs Python 3.11 or later (with venv and pip) and make; everything else goes into .venv.
# Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.ready-docs
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Whatever the shell says: compiled modules are kept, or every process of the tests compiles all.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-long replay coverage mutants lint docs bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## the whole story on bundled data
	$(BIN)/shoal demo

# One process: make test ARGS="-n 0"
test: $(DOCS_READY) ## run the test suite (ARGS="-k csv" narrows it)
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(ARGS)

test-long: $(DOCS_READY) ## run what is long by nature: kills, fuzzing, thousands of random tables, the built site
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m long $(ARGS)

replay: $(READY) ## hold what every verb does against the recording (ARGS="ledger report" narrows it)
	$(BIN)/python -m tests.frozen replay $(ARGS)

coverage: $(DOCS_READY) ## run the test suite with branch coverage, and print the total
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --numprocesses 2 --dist worksteal $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --format=total

mutants: $(DOCS_READY) ## which of the mutants in tests/mutants the tests notice (under an hour)
	$(BIN)/python -m tests.mutants $(ARGS)

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(DOCS_READY) ## build the documentation into site/
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/papers.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(READY) ## measure speed and loss as ratios in one run
	$(BIN)/python -m bench $(ARGS)

clean: ## remove what make and the tools made
	rm -rf $(VENV) shoal-demo site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
	rm -rf docs/reference/*.md docs/papers/images
	find docs/papers -name '*.md' ! -name index.md -delete
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Shoal needs Python 3.11 or later.\nHint: make PYTHON=python3.13")'
	$(PYTHON) -m venv $(VENV)

# The stamps are older than the locks or pyproject.toml exactly when something must be installed again.
$(READY): requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --requirement requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(DOCS_READY): requirements-docs.lock $(READY)
	$(PIP) install --quiet --requirement requirements-docs.lock
	@touch $@
