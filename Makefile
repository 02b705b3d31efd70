# `make` alone prints the targets. Everything runs in an environment of its own, $(VENV).

SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
SCALE ?= quick
TRACE ?=
JOBS ?= logical
CORES ?=
NODES ?=
POLICY ?=
ARGS ?=

PY := "$(VENV)/bin/python"
LOG := $(if $(CORES), --cores "$(CORES)")$(if $(NODES), --nodes "$(NODES)")
AT_ONCE := $(if $(filter-out logical auto,$(JOBS)), --jobs "$(JOBS)")
empty :=
space := $(empty) $(empty)
STAMP := $(subst $(space),\ ,$(VENV))/setup.stamp
# Python keeps what it compiled in this environment: else each of many processes compiles it anew.
unexport PYTHONDONTWRITEBYTECODE
# Names of files reach the shell as data: the name of a log that somebody else gave is no code.
export TRACE POLICY

.PHONY: help setup reproduce test lab app docs zoo bench check notebooks lock clean

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "  variables: PYTHON=$(PYTHON) VENV=$(VENV) SCALE=$(SCALE) TRACE=$(TRACE) CORES=$(CORES) NODES=$(NODES) JOBS=$(JOBS) POLICY=$(POLICY)"

setup: $(STAMP) ## make the environment, with exactly the versions in requirements.lock

reproduce: $(STAMP) ## run every notebook into figures/ (SCALE=quick|paper, TRACE=path, CORES=8, NODES=512, JOBS=2, ARGS="--limit 10")
	$(PY) -m cosimlib.reproduce --scale "$(SCALE)"$(if $(TRACE), --trace "$$TRACE")$(LOG)$(AT_ONCE)$(if $(ARGS), $(ARGS))

test: $(STAMP) ## run the tests, and the notebooks against their stored outputs
	@$(PY) -m pytest -p tests.suites -n $(JOBS) --nbval --nbval-current-env \
		--nbval-cell-timeout 300 --nbval-sanitize-with tests/nbval.cfg tests notebooks

lab: $(STAMP) ## open copies of the notebooks in JupyterLab (ARGS=--no-browser)
	@$(PY) -m cosimlib.lab $(ARGS)

app: $(STAMP) ## serve the explorers without code, one page with links (ARGS=--no-browser)
	@$(PY) -m cosimlib.app $(ARGS)

docs: $(STAMP) ## build the documentation into build/docs/html, offline
	@$(PY) -m docs.build

zoo: $(STAMP) ## compare all policies on all logs that are here, or on TRACE=path (POLICY=file.py adds yours)
	$(PY) -m cosimlib.zoo$(if $(POLICY), --policy "$$POLICY")$(if $(TRACE), "$$TRACE")$(LOG)

bench: $(STAMP) ## measure how fast simulators and solvers are
	$(PY) -m tests.benchmarks

check: $(STAMP) ## lint, format, types, layers, and the tests' coverage without the JIT
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	"$(VENV)/bin/lint-imports"
	$(PY) -m coverage erase
	NUMBA_DISABLE_JIT=1 $(PY) -m coverage run -m pytest -p tests.suites -n $(JOBS) -m "not browser" tests
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report

notebooks: $(STAMP) ## execute the committed notebooks and store their outputs
	$(PY) -m tests.refresh_notebooks

lock: $(STAMP) ## renew requirements.lock from pyproject.toml (then: make setup test)
	$(PY) -m pip install --quiet uv
	$(PY) -m uv pip compile pyproject.toml --upgrade --universal --python-version 3.11 \
		--fork-strategy fewest --all-extras --generate-hashes --no-emit-index-url --quiet \
		--custom-compile-command "make lock" --output-file requirements.lock

clean: ## remove what runs leave behind: figures and caches, not data or the environment
	find figures -mindepth 1 ! -name README.md -delete
	rm -rf build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find cosimlib tests notebooks \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune \
		-exec rm -rf {} +

# The stamp comes last, so that the next call completes a setup that was interrupted. An environment
# that another Python made, or that is half made, is made anew.
$(STAMP): pyproject.toml requirements.lock
	@rm -f "$@"
	@found=$$("$(PYTHON)" --version 2>&1) || found=missing; \
	"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null || { \
		echo "setup: needs Python 3.11 to 3.14; '$(PYTHON)' is $$found." \
			"Name another one: make setup PYTHON=python3.12" >&2; exit 1; }
	@show='print(sys.version_info[:2])'; \
	if [ "$$($(PY) -c "import pip, sys; $$show" 2>&1)" != "$$("$(PYTHON)" -c "import sys; $$show")" ]; then \
		"$(PYTHON)" -m venv --clear "$(VENV)" || { \
			echo "setup: '$(PYTHON) -m venv' failed (Debian, Ubuntu: apt install python3-venv)" >&2; \
			exit 1; }; \
	fi
	@trap 'exit 130' INT TERM; \
	if uv=$$(command -v uv) || { $(PY) -m pip install --quiet uv && uv="$(VENV)/bin/uv"; }; then \
		"$$uv" pip install --quiet --python $(PY) --require-hashes -r requirements.lock && \
		"$$uv" pip install --quiet --python $(PY) --no-deps -e .; \
	else \
		echo "setup: no uv to be had; pip does the same in a minute or two" && \
		$(PY) -m pip install --quiet --require-hashes -r requirements.lock && \
		$(PY) -m pip install --quiet --no-deps -e .; \
	fi
	@touch "$@"
	@echo "setup: $(VENV) is ready"
