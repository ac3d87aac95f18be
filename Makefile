# The commands of the README. On a fresh machine: Python 3.11 or newer and make, nothing else.
#
# What make itself has to say goes to stderr, so that the last line of `make crawl … ARGS=--json` on stdout is the
# JSON object (with `make -C` add -s, else make closes with a line about directories). make turns every exit code
# but 0 into 2; call .venv/bin/tiptoe for the finer ones (2, 130).

SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input
.DEFAULT_GOAL := help
.PHONY: help crawl demo test gate check coverage faults-quick faults bench soak fuzz mutants screens docs venv lock clean

# Each argument in single quotes: URLs are full of & and ?.
quoted = '$(subst ','\'',$(1))'

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { \
		line = sprintf("make %-13s", $$1); n = split($$2, words, " "); \
		for (i = 1; i <= n; i++) { \
			if (length(line) + length(words[i]) >= 80) { print line; line = sprintf("%18s", "") } \
			line = line " " words[i] } \
		print line }' $(MAKEFILE_LIST)

ifeq ($(filter crawl,$(MAKECMDGOALS))$(strip $(SEEDS)),crawl)
$(error SEEDS is empty: make crawl SEEDS="https://…" CONTACT=you@example.org)
endif
crawl: $(VENV)/local.stamp ## crawl sites: SEEDS="http://…" CONTACT=you@example.org ARGS="--max-pages 100 --json"
	@exec $(BIN)/tiptoe crawl $(foreach seed,$(SEEDS),$(call quoted,$(seed))) \
		$(if $(CONTACT),--contact $(call quoted,$(CONTACT))) $(ARGS)

demo: $(VENV)/local.stamp ## crawl a small web on this machine for two minutes, with the dashboard open
	@exec $(BIN)/tiptoe demo $(ARGS)

# `-m` given twice: the last one counts, so ARGS='-m faults' still reaches the faults.
ROOMS_SAID = -p tests.rooms -o console_output_style=classic
THREE = $(BIN)/python -m pytest -q -n 3 --dist worksteal $(ROOMS_SAID)
TESTS = $(THREE) -m 'not faults and (not acceptance or smoke)'
WHOLE = 'faults or (acceptance and not smoke)'
STILL = $(patsubst %,tests/test_%.py,docs errors held limits names patterns reasons site voice words)
ROOMS = $(addprefix tests/,faults acceptance beat bench browser face features/archive features/extract features/focus features/render hostile local metrics parse runtime sandbox web workers)

# Tests start a hundred processes of Python: without bytecode each of them would compile all of Tiptoe again.
test check coverage faults-quick faults: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/dev.stamp ## run the tests, all but faults, whole days and heavy documents: ARGS="tests/policy -k robots"
	@exec $(TESTS) $(ARGS)

gate: $(VENV)/dev.stamp ## what is checked without running the crawler: format, lint, types, layers, docs, limits
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@exec $(BIN)/python -m pytest -q $(STILL)

check: gate ## before a commit: the gate, then the tests
	@exec $(TESTS) $(addprefix --ignore=,$(STILL))

coverage: $(VENV)/dev.stamp ## how much of policy, parse and crawl their tests run, lines and branches: at least 95 % each
	@$(THREE) --cov --cov-report= tests/policy tests/parse tests/crawl $(ARGS)
	@exec $(BIN)/python -m tests.covered

bench: $(VENV)/bench.stamp ## measure against Scrapy, Crawlee and a bare loop: ARGS=…
	@exec $(BIN)/python -m bench $(ARGS)

faults-quick: $(VENV)/dev.stamp ## kill, stop, cut off and overload everything, in the short forms, and type the docs: ARGS="-k ft12"
	@exec $(THREE) -m $(WHOLE) $(ROOMS) $(ARGS)

faults: $(VENV)/dev.stamp ## the same in the long forms, for 2.5 hours, and its table: ARGS="-k ft12"
	@FAULTS=long FAULTS_TABLE=docs/reliability.md exec $(BIN)/python -m pytest -q tests/faults $(ARGS)

soak: $(VENV)/dev.stamp ## one random fault after another, for minutes: ARGS="--minutes 10 --seed N"
	@FAULTS=long exec $(BIN)/python -m tests.faults.soak $(ARGS)

fuzz: $(VENV)/dev.stamp ## fuzz the parsers, led by coverage: ARGS="--target page --seconds 60"
	@exec $(BIN)/python -m tests.fuzz $(ARGS)

mutants: $(VENV)/dev.stamp ## break one small thing at a time, and see whether a test notices: ARGS="app/policy --most 20 --seed N"
	@exec $(BIN)/python -m tests.mutants $(ARGS)

screens: $(VENV)/dev.stamp ## take the pictures of the docs anew, from a crawl on loopback port 80
	@exec $(BIN)/python -m tests.screens

docs: $(VENV)/dev.stamp ## build the docs as a site, in .site/html
	@exec $(BIN)/python -m tests.site

venv: $(VENV)/dev.stamp ## make .venv with everything for work on Tiptoe

clean: ## remove .venv and caches (not .tiptoe, where the crawls are)
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .site .coverage .coverage.* *.egg-info build dist

# All that is installed, with its hashes: lock.txt for work on Tiptoe, lock-run.txt to crawl. Elsewhere than on what they
# cover the ranges of pyproject.toml hold; on it nothing else than what they name is installed.
RUN_EXTRAS := local,text,extract,parquet
$(VENV)/local.stamp: LOCK := lock-run.txt
$(VENV)/dev.stamp $(VENV)/bench.stamp: LOCK := lock.txt
COVERED := import sys; v = sys.version_info[:2]; \
	sys.exit(not (sys.implementation.name == "cpython" and (3, 11) <= v <= (3, 14) and sys.platform in ("linux", "darwin")))
comma := ,

lock: | $(BIN)/python ## write lock.txt and lock-run.txt anew, from the ranges of pyproject.toml
	@$(PIP) 'uv>=0.9' >&2
	@for to in "lock.txt --extra dev" lock-run.txt; do set -- $$to; file=$$1; shift; \
		$(BIN)/uv pip compile pyproject.toml $(foreach each,$(subst $(comma), ,$(RUN_EXTRAS)),--extra $(each)) "$$@" \
			--universal --python-version 3.11 --upgrade --generate-hashes --no-annotate --no-emit-index-url \
			--no-emit-find-links --custom-compile-command "make lock" --quiet -o "$$file" || exit 1; done

$(VENV)/local.stamp: EXTRAS := $(RUN_EXTRAS)
$(VENV)/dev.stamp: EXTRAS := local,dev
$(VENV)/bench.stamp: EXTRAS := local,dev,bench
$(VENV)/local.stamp $(VENV)/dev.stamp $(VENV)/bench.stamp: pyproject.toml lock.txt lock-run.txt | $(BIN)/python
	@echo "installing Tiptoe ($(EXTRAS)) into $(VENV), once" >&2
	@if $(BIN)/python -c '$(COVERED)'; then \
		$(PIP) --require-hashes -r $(LOCK) >&2 && $(PIP) $(if $(findstring bench,$(EXTRAS)),,--no-deps) -e '.[$(EXTRAS)]' >&2; \
	else \
		echo "$(LOCK) does not cover this platform: installing by the ranges of pyproject.toml" >&2; \
		$(PIP) -e '.[$(EXTRAS)]' >&2; \
	fi
	@touch $@ $(VENV)/local.stamp $(if $(findstring dev,$(EXTRAS)),$(VENV)/dev.stamp)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Tiptoe needs Python 3.11 or newer, and $(PYTHON) is `$(PYTHON) --version 2>&1`;" \
			"install one and say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments; install its venv module" \
			"(Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@echo "making $(VENV) with `$(PYTHON) --version`" >&2
	@$(PYTHON) -m venv $(VENV) >&2 || { rm -rf $(VENV); exit 1; }
