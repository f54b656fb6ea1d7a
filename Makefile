# Classmark in nine words. Every verb sets the environment up first.
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO ?= library
WORKERS ?= auto

.PHONY: help demo test check docs bench promises serve clean lock

help: ## what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(READY): requirements/dev.lock pyproject.toml
	@if command -v uv >/dev/null; then
	  [ -x $(BIN)/python ] || uv venv --quiet --python $(PYTHON) $(VENV)
	  VIRTUAL_ENV=$(abspath $(VENV)) uv pip install --quiet --require-hashes -r requirements/dev.lock
	  VIRTUAL_ENV=$(abspath $(VENV)) uv pip install --quiet --no-deps --no-build-isolation --editable .
	else
	  [ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	fi
	@touch $(READY)

demo: $(READY) ## import, train, evaluate and suggest on the embedded library; then the workbench
	@if [ -t 1 ] && [ -z "$${CI:-}" ]; then serve=--serve; else serve=--no-serve; fi
	$(BIN)/classmark demo $$serve --dir $(DEMO)

test: $(READY) ## all tests (those marked data need CLASSMARK_DATA)
	$(BIN)/python -m pytest -q -n $(WORKERS)

check: $(READY) ## style, types, architecture, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs benchmarks *.md
	$(BIN)/validate-pyproject pyproject.toml

docs: $(READY) ## the manual, as HTML in docs/_build
	$(BIN)/sphinx-build -q -W -b html docs docs/_build

bench: $(READY) ## the benchmarks of docs/benchmarks.md (need CLASSMARK_DATA)
	@[ -n "$${CLASSMARK_DATA:-}" ] || { echo "bench needs the public data sets: set CLASSMARK_DATA to their folder (docs/datasets.md)"; exit 2; }
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script; done

promises: $(READY) ## what is promised of reliability, in full; figures in docs/promises.md
	$(BIN)/python benchmarks/promises.py

serve: $(READY) ## the workbench over the demo project
	$(BIN)/classmark serve $(DEMO)

lock: ## resolve the versions anew (needs uv)
	uv pip compile pyproject.toml --extra dev --extra docs --universal --python-version 3.11 \
	  --no-emit-index-url --no-header --no-annotate --generate-hashes --quiet --upgrade -o requirements/dev.lock

clean: ## remove what make made
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
