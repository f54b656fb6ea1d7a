# What a newcomer needs; every verb installs what it needs first.
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= library
WORKERS ?= auto
export PYTHON VENV
unexport PYTHONDONTWRITEBYTECODE # what is imported once is read faster ever after

RUN := $(VENV)/.run
TEST := $(VENV)/.test
DEV := $(VENV)/.dev
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS)
# Where memory is a folder with room enough, tests write there and not to a disk.
MEMORY := $(shell [ "$$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)" -gt 4000000 ] 2>/dev/null && echo TMPDIR=/dev/shm)

.PHONY: help demo serve test test-rest test-all check docs bench reproduce promises lock clean

help: ## what can be made, and how long it takes
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 11

$(RUN) $(TEST) $(DEV): $(VENV)/.%: requirements/%.lock
	@requirements/install $*

demo: $(RUN) ## the main job on the embedded library, then the workbench (a minute; ten seconds the next time)
	@if [ -t 1 ] && [ -z "$${CI:-}" ]; then serve=--serve; else serve=--no-serve; fi
	$(BIN)/classmark demo $$serve --dir $(DEMO)

serve: $(RUN) ## the workbench over the demo's project (two seconds)
	@$(BIN)/classmark serve $(DEMO)

test: $(TEST) ## the tests of every room, the README's examples, a walk through every page and command (three minutes)
	@$(BIN)/python -m classmark.compiling all
	$(MEMORY) $(PYTEST) -m "not full" --assert=plain || { echo "once more what failed, with nothing beside it"; $(BIN)/python -m pytest -q --lf -m "not full"; }

test-rest: $(DEV) ## what make test leaves out: browser, PostgreSQL, machines, promises, laws, data sets (ten minutes)
	@$(BIN)/python -m classmark.compiling all
	$(MEMORY) $(PYTEST) -m full --assert=plain --durations=20 || { echo "once more what failed, with nothing beside it: some of these tests measure time"; $(BIN)/python -m pytest -q --lf -m full; }
	echo "the kernels once more as plain Python: errors have line numbers, and both arithmetics agree"
	NUMBA_DISABLE_JIT=1 $(MEMORY) $(PYTEST) --assert=plain -m "not full and not compiled_only" \
	  tests/corpus tests/preferences tests/measures tests/solvers tests/text tests/rankers/test_preference.py

test-all: test test-rest ## both (a quarter of an hour; tests marked data need CLASSMARK_DATA)

check: $(DEV) ## style, types, architecture, spelling, the wheel (a minute)
	@$(BIN)/mypy & types=$$!
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/codespell src reproductions tests docs benchmarks *.md
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/hatchling build -t wheel -d $(VENV)/wheel >/dev/null
	wait $$types

docs: $(DEV) ## the manual, as HTML in docs/_build (half a minute)
	@$(BIN)/sphinx-build -q -W -b html docs docs/_build

bench: $(DEV) ## the benchmarks of docs/benchmarks.md (hours; they need CLASSMARK_DATA)
	@[ -n "$${CLASSMARK_DATA:-}" ] || { echo "bench needs the public data sets: set CLASSMARK_DATA to their folder (docs/datasets.md)"; exit 2; }
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script; done

reproduce: $(DEV) ## a published result once more, as in make reproduce NAME=plm-reuters (minutes to hours; they need CLASSMARK_DATA)
	@$(BIN)/python -m reproductions $(NAME)

promises: $(DEV) ## what is promised of reliability, in full; figures in docs/promises.md (an hour)
	@$(BIN)/python benchmarks/promises.py

lock: ## resolve the versions anew (needs uv)
	@compile() {
	  uv pip compile pyproject.toml "$${@:2}" --universal --python-version 3.11 --no-emit-index-url --no-header \
	    --no-annotate --generate-hashes --quiet --upgrade -o requirements/$$1.lock
	}
	compile dev --extra dev --extra docs
	grep -E '^[a-z0-9]' requirements/dev.lock | sed 's/ \\$$//' > requirements/pins.txt
	compile test --extra test -c requirements/pins.txt
	compile run -c requirements/pins.txt
	rm requirements/pins.txt

clean: ## remove what make made
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
