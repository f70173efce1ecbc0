# `make demo` and `make test` each set up .venv from a fresh clone and do the whole job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# On CI the tests tell what they cover; it costs a third of their time.
COVERAGE := $(if $(CI),--cov --cov-report=term)

.PHONY: help setup demo test coverage lint types slow test-arm64 bench docs wheels clean

help:
	@echo "make demo   set up, then show a network losing and regaining accuracy (writes demo.html)"
	@echo "make test   set up, then lint, type-check and run the tests"
	@echo "make coverage  the tests again, and which lines they reach"
	@echo "make slow   the longer tests"
	@echo "make bench  what adapting costs: ours, ONNX Runtime, OpenVINO and torch, as ratios"
	@echo "make docs   the documentation as a site, into build/site"
	@echo "make wheels  what is published, into dist"
	@echo "make test-arm64  model files and the kernel on an emulated arm64"

setup: $(READY)

$(READY): pyproject.toml lab/pyproject.toml constraints.txt native/CMakeLists.txt $(wildcard native/*.cpp native/*.h)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "leantta needs Python 3.10 or newer")'
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (torch is large: this can take a few minutes) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]" --editable lab
	@touch $@

demo: $(READY)
	$(BIN)/leantta demo

test: $(READY) lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto $(COVERAGE)  # a process per core is twice as quick as torch's threads

coverage: COVERAGE := --cov --cov-report=term
coverage: test

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests lab/tests

slow: $(READY)
	$(BIN)/python -m pytest -m slow

test-arm64: $(READY)  # needs Debian's qemu-user-static, debootstrap and g++-aarch64-linux-gnu
	$(BIN)/python tests/arm64/run_arm64.py

bench: $(READY)
	$(BIN)/leantta bench resnet18
	$(BIN)/leantta bench mobilenet_v2

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/site/index.html"

wheels: $(READY)  # needs Debian's g++-aarch64-linux-gnu
	$(BIN)/python scripts/wheels.py

clean:
	rm -rf $(VENV) build dist src/leantta/lib demo.html demo.onnx
