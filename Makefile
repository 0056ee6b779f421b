# `make help` says what there is. Everything makes the environment first, if it is not there.
PYTHON ?= python3
VENV   ?= .venv
# Where pip finds torch, if not in the usual place: for example TORCH_INDEX=<address of the CPU wheels, from PyTorch's install page>
TORCH_INDEX ?=

ifeq ($(OS),Windows_NT)
  BIN := $(VENV)/Scripts
else
  BIN := $(VENV)/bin
endif
RUN := $(BIN)/python
# Stamps: what a learner needs is installed, what the book or a cluster needs besides, what a class's hub needs besides
# course and book, and what the tests need besides all of these.
READY := $(VENV)/.ready
READY_FOR_SITE := $(VENV)/.ready-for-site
READY_FOR_CLUSTER := $(VENV)/.ready-for-cluster
READY_FOR_HUB := $(VENV)/.ready-for-hub
READY_FOR_TESTS := $(VENV)/.ready-for-tests

.PHONY: help lab hub students site release test test-shared test-timed test-browser quick lint ruff tidy types notebooks claims spread cluster docs slides handouts questions reliability bench screenshots lock environment site-environment cluster-environment hub-environment test-environment clean
.DEFAULT_GOAL := lab
.NOTPARALLEL:

define HELP
make lab          open the course in JupyterLab (the default)
make hub          try a class on this machine: JupyterHub with a folder for every learner; FILL=1 runs all lessons first
make students     30 simulated learners on the hub that runs; STUDENTS="3 00_start_here --faults"
make site         write the book to build/site: all chapters as web pages whose sliders move without Jupyter
make release      write an archive for a class room without a network to build/release: course, book, packages
make notebooks    run all chapters and write them as pages to build/notebooks
make quick        the tests that take no training: a minute
make test         all tests: notebooks, JupyterLab in Chromium
make lint         ruff, the form of the notebooks' files, types
make docs         write what is generated: README's table, the pages of claims, the gallery
make claims       measure the ledger of claims again: many hours (CLUSTER=tcp://… on many machines)
make spread       measure seeds 10 to 29 of what is quick, on which no bound was set (CLUSTER=tcp://…)
make cluster      worker processes on this machine, for the two above
make slides       run the lessons and write slides to build/slides
make handouts     run the lessons and write a page of paper for each to build/handouts
make questions    write the self-tests for Moodle and Anki to build/questions
make reliability  break the course on purpose, and write docs/reliability.md from what it answers
make bench        how fast this machine is, and which goals are kept
make screenshots  take the pictures of the gallery again
make lock         choose the versions in lock/ (needs uv; UPGRADE=--upgrade takes the newest)
make clean        delete what builds and tests leave
PYTHON=python3.12 chooses the Python, VENV=folder the environment, TORCH_INDEX=address an index for PyTorch.
endef
export HELP

help:
	@echo "$$HELP"

environment: $(READY)

site-environment: $(READY_FOR_SITE)

cluster-environment: $(READY_FOR_CLUSTER)

hub-environment: $(READY_FOR_HUB) tools/hub/node_modules

test-environment: $(READY_FOR_TESTS)

# What pip installs from lock/course.txt and lock/tests.txt is checked by digest. PyTorch is not (lock/torch.txt says why),
# nor are the CUDA libraries that its usual build for Linux brings. The course itself is built here, without a download.
$(READY): pyproject.toml lock/course.txt lock/torch.txt
	$(PYTHON) -c "import sys; sys.exit(None if sys.version_info >= (3, 11) else 'Weightspace needs Python 3.11 or newer, this is %d.%d. Try: make PYTHON=python3.12' % sys.version_info[:2])"
	@echo "Installing JupyterLab, PyTorch and what else the course needs into $(VENV)."
	@echo "With a PyTorch for processors alone we measured a download of 350 MB, 1.6 GB on disk and 90 seconds on two cores, with a fast"
	@echo "network. pip's usual PyTorch for Linux is several gigabytes larger; README.md says under 'A smaller torch' how to avoid that."
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install -q --no-deps --require-hashes -r lock/course.txt
	$(RUN) -m pip install -q $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) -r lock/torch.txt
	$(RUN) -m pip install -q --no-deps --no-build-isolation -e .
	$(RUN) -c "open('$(READY)', 'w').close()"

$(READY_FOR_SITE): $(READY) lock/site.txt
	$(RUN) -m pip install -q --no-deps --require-hashes -r lock/site.txt
	$(RUN) -c "open('$(READY_FOR_SITE)', 'w').close()"

$(READY_FOR_CLUSTER): $(READY) lock/cluster.txt
	$(RUN) -m pip install -q --no-deps --require-hashes -r lock/cluster.txt
	$(RUN) -c "open('$(READY_FOR_CLUSTER)', 'w').close()"

$(READY_FOR_HUB): $(READY_FOR_SITE) lock/hub.txt
	$(RUN) -m pip install -q --no-deps --require-hashes -r lock/hub.txt
	$(RUN) -c "open('$(READY_FOR_HUB)', 'w').close()"

# The proxy in front of the hub is a program for Node.js; npm checks its digests.
tools/hub/node_modules: tools/hub/package-lock.json
	@command -v npm > /dev/null || { echo "The hub's proxy needs Node.js 20 or newer with npm. Install these, then try again."; exit 1; }
	npm ci --prefix tools/hub --no-fund --no-audit
	@touch $@

$(READY_FOR_TESTS): $(READY_FOR_HUB) $(READY_FOR_CLUSTER) lock/tests.txt
	@echo "Installing what the tests need besides, 0.3 GB on disk."
	$(RUN) -m pip install -q --no-deps --require-hashes -r lock/tests.txt
	$(RUN) -c "open('$(READY_FOR_TESTS)', 'w').close()"

lab: environment
	$(RUN) -m tools.lab

hub: hub-environment
	$(RUN) -m tools.hub $(if $(FILL),--fill $(filter-out 1,$(FILL))) $(if $(FOLDER),--folder $(FOLDER))

students: test-environment
	$(RUN) -m tools.hub.students $(or $(STUDENTS),30 00_start_here 01_linearity) $(if $(FOLDER),--folder $(FOLDER))

# Two processes share what can be shared, by file; then, alone, the chapters, which have time budgets; then two browsers
# open what the chapters left. All parts run, also where one fails.
test:
	$(MAKE) --no-print-directory --keep-going test-shared test-timed test-browser

test-shared: test-environment
	$(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not timed and not release"

test-timed test-browser: export WEIGHTSPACE_LEFT = $(CURDIR)/build/left

test-timed: test-environment
	$(RUN) -m pytest -m "timed and not browser"

test-browser: test-environment
	$(RUN) -m pytest -n 2 --dist worksteal -m "browser and not release"

# ruff's rules, the notebooks' files, the types. pre-commit runs the first two (see .pre-commit-config.yaml).
lint: ruff tidy types

ruff: test-environment
	$(RUN) -m ruff check .

tidy: test-environment
	$(RUN) -m tools.tidy

types: test-environment
	$(RUN) -m mypy

quick: test-environment
	$(RUN) -m pytest -n 2 --dist loadfile -m "not slow and not timed and not release"

# Notebooks that were not executed yet are executed now, in full, with what data/measured has; SITE="08_cart --profile quick".
site: site-environment
	$(RUN) -m tools.book $(SITE)

release: site
	$(RUN) -m tools.release $(if $(TORCH_INDEX),--torch-index $(TORCH_INDEX))

notebooks: environment
	$(RUN) -m lessons.kit.notebooks

# CLUSTER is the address of a Dask scheduler, of `make cluster` for example. What this machine has results of is then not
# measured again, so a run that was interrupted goes on.
ON_CLUSTER := $(if $(CLUSTER), --cluster $(CLUSTER))

claims: $(if $(CLUSTER),cluster-environment,environment)
	$(RUN) -m lessons.kit.claims$(ON_CLUSTER)

SPREAD ?= --profile quick
spread: $(if $(CLUSTER),cluster-environment,environment)
	$(RUN) -m lessons.kit.claims spread $(SPREAD)$(ON_CLUSTER)

cluster: cluster-environment
	$(RUN) -m tools.cluster

# Everything that is written from tables and numbers that are there; nothing is measured, and no picture is taken.
docs: environment
	$(RUN) -m lessons.kit.chapters
	$(RUN) -m lessons.kit.claims --page
	$(RUN) -m tools.pictures
	$(RUN) -m tools.where
	$(RUN) -m tools.scale

slides: environment
	$(RUN) -m tools.slides

handouts: environment
	$(RUN) -m tools.handouts

questions: environment
	$(RUN) -m tools.questions

reliability: test-environment
	$(RUN) -m tools.reliability

bench: test-environment
	$(RUN) -m tools.bench

screenshots: test-environment
	$(RUN) -m tools.screenshots

# Needs uv, from PyPI, and the network; make lock UPGRADE=--upgrade takes the newest versions.
lock: test-environment
	$(RUN) -m tools.lock $(UPGRADE)

clean:
	rm -rf build .pytest_cache .hypothesis
