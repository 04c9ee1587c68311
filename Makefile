# Every target makes its own .venv: a fresh clone needs Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
WORKERS ?= 2

.PHONY: help demo test test-all lint format bench peers docs tutorials figures chromium clean

help:                ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*##/\t/' | expand -t 16

demo: $(VENV)/.base  ## fit the embedded New York Times sample and tell the whole story
	$(BIN)/cormorant demo --force

test: $(VENV)/.dev   ## the tests, with coverage of src (fails under 90%)
	$(BIN)/pytest -n $(WORKERS) -m "not slow" --cov --cov-report=term --cov-fail-under=90

test-all: $(VENV)/.dev chromium  ## the tests and the slow checks
	$(BIN)/pytest -n $(WORKERS) --cov --cov-report=term --cov-fail-under=90

lint: $(VENV)/.dev   ## ruff (format and lint) and pyright
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(VENV)/.dev ## let ruff rewrite what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.base  ## CNPF beside scikit-learn's LDA on the embedded sample, in one run
	$(BIN)/python benchmarks/run.py

peers: $(VENV)/.bench  ## every package that people would use instead, on data in DATA=folder (hours)
	$(BIN)/python benchmarks/peers.py $(if $(DATA),--data $(DATA))

docs: $(VENV)/.dev   ## build the documentation into site/
	$(BIN)/mkdocs build --strict

tutorials: $(VENV)/.tutorials  ## run the tutorials and write their pages (DATA=folder with the data of some of them)
	$(BIN)/python examples/tutorials/render.py $(if $(DATA),--data $(DATA))

figures: $(VENV)/.dev chromium  ## remake the pictures of README and docs, and the tables of the paper's data
	for script in examples/*.py; do $(BIN)/python $$script || exit 1; done

# The interactive page is tested in a browser where there is one; root can get it. Elsewhere those tests say why they skip.
chromium:
	@command -v chromium >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
	  echo "no Chromium: the tests of the interactive page will be skipped (apt-get install chromium)"

clean:               ## remove what the other targets made
	rm -rf $(VENV) site demo-output .coverage .pytest_cache .ruff_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cormorant needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of packages, so that what is installed is not installed again.
$(VENV)/.base: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(VENV)/.base

$(VENV)/.tutorials: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[tutorials]"
	@touch $@

$(VENV)/.bench: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@
