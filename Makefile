# `make` alone prints the targets. Everything runs in an environment of its own, VENV.
# It needs GNU make 3.81 or newer, and bash.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
SCALE ?= quick
TRACE ?=
JOBS ?= logical
CORES ?=
NODES ?=
POLICY ?=
LOG ?=
ARGS ?=

# Whatever variables hold is data: make expands no value, and the shell gets all in the environment.
VARIABLES := PYTHON VENV SCALE TRACE JOBS CORES NODES POLICY LOG ARGS
$(foreach name,$(VARIABLES),$(eval override $(name) := $$(value $(name))))
export $(VARIABLES)
MAKEOVERRIDES :=
# Python keeps what it compiled in this environment: else each of many processes compiles it anew.
unexport PYTHONDONTWRITEBYTECODE

PY := "$$VENV/bin/python"
MACHINE := $${CORES:+--cores="$$CORES"} $${NODES:+--nodes="$$NODES"}

# The longest first, so that at the end no core waits for one of them.
LONGEST := $(addprefix notebooks/,3-timesharing.ipynb 6-ondemand.ipynb 5-elastic.ipynb)
NOTEBOOKS := $(sort $(wildcard notebooks/[0-9]*.ipynb))
NOTEBOOKS := $(filter $(NOTEBOOKS),$(LONGEST)) $(filter-out $(LONGEST),$(NOTEBOOKS))
RUNS := $(patsubst notebooks/%.ipynb,figures/%/run.json,$(NOTEBOOKS))
FOLDERS := $(RUNS:/run.json=)
LIBRARY := $(shell find cosimlib cosimlab -name '[!.]*.py') $(wildcard data/*.csv)
PAPERS := $(addprefix notebooks/papers/,__init__.py claims.py paper.py)
PAGES := $(addprefix notebooks/papers/,gallery.html gallery.py reading.py results.py scorecard.html scorecard.py)

.PHONY: help setup report reproduce runs test lab app docs zoo bench check paper-scale notebooks lock clean FORCE
.PHONY: $(FOLDERS) $(FOLDERS:=/)

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "  one notebook alone: make figures/1-eviction"
	@printf '  variables:'; for name in $(VARIABLES); do printf ' %s=%s' "$$name" "$${!name}"; done; echo

setup: ## make the environment, with exactly the versions in requirements.lock
	@.ci/setup

report: setup ## report on a log of yours as one page, report.html (LOG=my.log, CORES=8, NODES=512)
	@[ -n "$$LOG" ] || { echo "make: no log; expected make report LOG=path/of/your/log" >&2; exit 2; }
	@set -f; $(PY) -m cosimlab.report $(MACHINE) $$ARGS -- "$$LOG"

reproduce: setup ## run stale notebooks into figures/ (SCALE=quick|paper, TRACE=path, CORES=8, NODES=512, JOBS=2)
	@cores=$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN); \
	case "$$JOBS" in \
		logical|auto) jobs=$$cores ;; \
		''|0*|*[!0-9]*) echo "make: JOBS='$$JOBS'; expected a number from 1 on" >&2; exit 2 ;; \
		*) jobs=$$JOBS ;; \
	esac; \
	: "$${COSIMLIB_WORKERS:=$$((cores / jobs < 1 ? 1 : cores / jobs))}"; export COSIMLIB_WORKERS; \
	$(MAKE) --no-print-directory --keep-going -j "$$jobs" runs; status=$$?; \
	$(MAKE) --no-print-directory figures/index.html || status=$$?; \
	[ ! -f figures/scorecard.md ] || sed -n '3s/^/scorecard: /p; 5{/quick-scale/s/^/committed: /p}' figures/scorecard.md; \
	echo "gallery: figures/index.html"; exit $$status

runs: $(RUNS)

$(foreach folder,$(FOLDERS),$(eval $(folder) $(folder)/: $(folder)/run.json))

# What a notebook reads beside the library.
figures/1-eviction/run.json: $(PAPERS) $(wildcard notebooks/papers/maurya2020/*.py)
figures/2-coscheduling/run.json: $(PAPERS) $(wildcard notebooks/papers/tang2011/*.py)
figures/3-timesharing/run.json: $(PAPERS) $(wildcard notebooks/papers/hofmeyr2016/*.py)
figures/4-filling/run.json: $(PAPERS) $(wildcard notebooks/papers/polyakov2018/*.py)
figures/5-elastic/run.json: $(PAPERS) $(wildcard notebooks/papers/duplyakin2017/*.py)
figures/6-ondemand/run.json: $(PAPERS) $(wildcard notebooks/papers/bursts/*.py)
figures/7-nodes/run.json: $(PAPERS) $(wildcard notebooks/papers/weng2023/*.py)

# A notebook is stale where one of its files is newer than its results, where these were made with
# other variables (the scale, and its log where it reads one), or where they are of the future: then the
# clock was set back, and edits since then look older than the results.
$(RUNS): figures/%/run.json: notebooks/%.ipynb $(LIBRARY) FORCE | setup
	@asked="$$SCALE|$$ARGS"; \
	if grep -q '"trace:' $<; then \
		asked="$$asked|$$TRACE|$$CORES|$$NODES|$$(ls -- data/traces $${COSIMLIB_TRACES:+"$$COSIMLIB_TRACES"} 2>&1)"; \
		[ ! -f "$$TRACE" ] || asked="$$asked|$$(cksum <"$$TRACE")"; \
	fi; \
	asked=$$(printf %s "$$asked" | cksum); \
	made=$$(stat -c %Y $@ 2>/dev/null || stat -f %m $@ 2>/dev/null || echo 0); \
	[ -z "$(firstword $(filter-out FORCE,$?))" ] && [ "$$made" -le $$(($$(date +%s) + 60)) ] && [ "$$asked" = "$$(cat $(@D)/asked 2>/dev/null)" ] || { \
		set -f; export TQDM_DISABLE=1 OPENBLAS_NUM_THREADS=$${OPENBLAS_NUM_THREADS:-1}; \
		$(PY) -m papers.run $< $(@D) --scale="$$SCALE" --trace="$$TRACE" $(MACHINE) $$ARGS && \
		echo "$$asked" >$(@D)/asked; \
	}

figures/index.html: $(wildcard figures/*/*.ipynb) $(PAGES) | setup
	@$(PY) -m papers.scorecard figures
	@$(PY) -m papers.gallery figures

test: setup ## run the tests, and short notebooks against their stored outputs (all: COSIMLIB_THOROUGH=1)
	@$(PY) -m pytest -p tests.suites -n "$$JOBS" --dist loadfile --no-loadscope-reorder --nbval --nbval-current-env \
		--nbval-cell-timeout 900 --nbval-sanitize-with tests/nbval.cfg tests notebooks

lab: setup ## open copies of the notebooks in JupyterLab (ARGS=--no-browser)
	@set -f; $(PY) -m cosimlab.launch $$ARGS

app: setup ## serve the explorers without code, one page with links (ARGS=--no-browser)
	@set -f; $(PY) -m cosimlab.app $$ARGS

docs: setup ## build the documentation into build/docs/html, offline
	@$(PY) -m docs.build

zoo: setup ## compare all policies on all logs that are here, or on TRACE=path (POLICY=file.py adds yours)
	@$(PY) -m cosimlab.zoo $${POLICY:+--policy="$$POLICY"} $(MACHINE) $${TRACE:+-- "$$TRACE"}

bench: setup ## measure how fast simulators and solvers are
	$(PY) -m tests.benchmarks

# Tests that drive kernels, on small inputs: without the JIT, all tests together take half an hour.
DRIVERS := $(addprefix tests/cosimlib/,batch coscheduling elastic eviction filling kernels metrics \
	nodes ondemand slurm timesharing) tests/cosimlab/forecasting tests/cosimlab/test_gym.py \
	tests/cosimlab/test_timesharing.py tests/papers/test_duplyakin2017.py \
	tests/papers/test_maurya2020.py

check: setup ## lint, format, types, layers, and the tests' coverage of kernels, without the JIT
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	"$$VENV/bin/lint-imports"
	$(PY) -m coverage erase
	NUMBA_DISABLE_JIT=1 $(PY) -m coverage run -m pytest -n "$$JOBS" --dist loadfile -m "not oracles and not traces" \
		$(DRIVERS)
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report --include="$$(grep -rl --include='*.py' '^ *@.*kernel$$' cosimlib cosimlab notebooks/papers | paste -s -d , -)"

paper-scale: setup ## run the papers at their own scale and store the verdicts, in parts (ARGS="3-batch 7-nodes")
	@set -f; $(PY) -m papers.paper_scale $$ARGS

notebooks: setup ## execute the committed notebooks and store their outputs
	$(PY) -m tests.refresh_notebooks

lock: setup ## renew requirements.lock from pyproject.toml (then: make setup test)
	printf '%s\n' build editables hatchling uv | $(PY) -m uv pip compile - --upgrade --universal \
		--python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --quiet \
		--custom-compile-command "make lock" --output-file .ci/build.txt
	$(PY) -m uv pip compile pyproject.toml --constraint .ci/build.txt --upgrade --universal --python-version 3.11 \
		--fork-strategy fewest --all-extras --generate-hashes --no-emit-index-url --quiet \
		--custom-compile-command "make lock" --output-file requirements.lock

clean: ## remove what runs leave behind: figures and caches, not data or the environment
	find figures -mindepth 1 ! -name README.md -delete
	rm -rf build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find cosimlib cosimlab tests notebooks \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune \
		-exec rm -rf {} +
