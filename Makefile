# make lab: the course in JupyterLab.  make test: everything is checked; make quick: what takes a minute.  Both make the environment first, if it is not there.
PYTHON ?= python3
VENV   ?= .venv
# Where pip finds torch, if not in the usual place: for example TORCH_INDEX=<address of the CPU wheels, from PyTorch's install page>
TORCH_INDEX ?=

ifeq ($(OS),Windows_NT)
  BIN := $(VENV)/Scripts
else
  BIN := $(VENV)/bin
  # Jupyter refuses to serve as root, as it is in most containers, unless told. Only this machine can reach it, and only with its token.
  AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
endif
RUN := $(BIN)/python
READY := $(VENV)/.ready

.PHONY: lab test test-shared test-timed quick notebooks claims bench screenshots environment clean
.DEFAULT_GOAL := lab
.NOTPARALLEL:

environment: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(None if sys.version_info >= (3, 11) else 'Weightspace needs Python 3.11 or newer, this is %d.%d. Try: make PYTHON=python3.12' % sys.version_info[:2])"
	$(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(RUN) -m pip install -q -c constraints.txt --index-url $(TORCH_INDEX) torch torchvision)
	$(RUN) -m pip install -q -c constraints.txt torch
	$(RUN) -m pip install -q -c constraints.txt --no-deps torchvision
	$(RUN) -m pip install -q -c constraints.txt -e ".[test]"
	$(RUN) -c "open('$(READY)', 'w').close()"

lab: environment
	$(RUN) -m jupyterlab --ip=127.0.0.1 $(AS_ROOT) notebooks/00_start_here.ipynb

# Two processes share what can be shared, by file; then, alone: chapters, which have time budgets, and what opens them.
# Both parts run, also where the first fails.
test:
	$(MAKE) --no-print-directory --keep-going test-shared test-timed

test-shared: environment
	$(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not timed"

test-timed: environment
	$(RUN) -m pytest -m timed

quick: environment
	$(RUN) -m pytest -n 2 --dist loadfile -m "not slow and not timed"

notebooks: environment
	$(RUN) -m lessons.kit.notebooks

claims: environment
	$(RUN) -m lessons.kit.claims

bench: environment
	$(RUN) -m tools.bench

screenshots: environment
	$(RUN) -m tools.screenshots

clean:
	rm -rf build .pytest_cache .hypothesis
