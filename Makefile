# `make demo` and `make test` each set up .venv from a fresh clone and do the whole job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test lint types slow bench clean

help:
	@echo "make demo   set up, then show a network losing and regaining accuracy (writes demo.html)"
	@echo "make test   set up, then lint, type-check and run the tests"
	@echo "make slow   the longer tests"
	@echo "make bench  cost of adaptation in eager torch and of model files, as ratios"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "leantta needs Python 3.10 or newer")'
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (torch is large: this can take a few minutes) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: $(READY)
	$(BIN)/leantta demo

test: $(READY) lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto  # a process per core is twice as quick as torch's threads

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests

slow: $(READY)
	$(BIN)/python -m pytest -m slow

bench: $(READY)
	$(BIN)/python benchmarks/eager_cost.py
	$(BIN)/python benchmarks/artifact_cost.py --model resnet18
	$(BIN)/python benchmarks/artifact_cost.py --model mobilenet_v2

clean:
	rm -rf $(VENV) build dist demo.html demo.onnx
