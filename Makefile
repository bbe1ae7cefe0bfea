# demo, test and the others make the virtual environment .venv where it is missing, and install again when what is
# installed has changed. No other environment is touched, an activated one neither. With PYTHON=python (or another), that
# Python is taken as it is, and nothing is installed.
BASE_PYTHON ?= python3
CASES ?= 2000
SEED ?= 1
TO_DEMO := .venv/.demo
TO_TEST := .venv/.test
ifdef PYTHON
TO_DEMO :=
TO_TEST :=
endif
PYTHON ?= .venv/bin/python
DEVELOP := demo test test-slow quick lint docs setup
LONG := corpus corpus-long corpus-cluster forever abstraction fuzz-readers hostile-certificates

.PHONY: $(DEVELOP) $(LONG)
.NOTPARALLEL:

# Exit status 0: decided, and satisfied as published.
demo: $(TO_DEMO)
	$(PYTHON) -m venmas --scenario vcas --formula "AX^5 (h > 100 | h < -100)" --mode comp-par

test: $(TO_TEST)
	$(PYTHON) -m pytest

# What is seen of most mistakes within half a minute: no types, no long tests.
quick: $(TO_TEST)
	$(PYTHON) -m ruff check --quiet .
	$(PYTHON) -m ruff format --check --quiet .
	$(PYTHON) -c "from importlinter.cli import lint_imports_command as lint; lint()"
	$(PYTHON) -m pytest -m "quick and not thorough"

lint: $(TO_TEST)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(PYTHON) -c "from importlinter.cli import lint_imports_command as lint; lint()"

# All that the tests need, without running them.
setup: $(TO_TEST)

test-slow: $(TO_TEST)
	$(PYTHON) -m pytest -m slow -o timeout=0

docs: $(TO_TEST)
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

$(LONG): $(TO_TEST)

corpus:
	$(PYTHON) -m tests.corpus.run --cases $(CASES) --seed $(SEED)

corpus-long: CASES = 10000
corpus-long:
	$(PYTHON) -m tests.corpus.run --rotate --cases $(CASES) --seed $(SEED)

fuzz-readers: CASES = 20000
fuzz-readers:
	$(PYTHON) -m tests.nn.fuzz.run --cases $(CASES) --seed $(SEED)

forever: CASES = 3000
forever:
	$(PYTHON) -m tests.corpus.forever --cases $(CASES) --seed $(SEED)

corpus-cluster:
	$(PYTHON) -m tests.corpus.run --cluster local:2 --cases $(CASES) --seed $(SEED)

abstraction: COUNT ?= 3000
abstraction:
	$(PYTHON) -m tests.procedures.predicate_abstraction.run --count $(COUNT) --seed $(SEED)

hostile-certificates:
	$(PYTHON) tests/hostile/hostile_certificates.py --count 200

define INSTALL
@$(BASE_PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("VenMAS needs Python 3.11 or newer, and $(BASE_PYTHON) is " + sys.version.split()[0] + "; name another one: make BASE_PYTHON=python3.12 $(MAKECMDGOALS)")'
@test -x .venv/bin/pip || $(BASE_PYTHON) -m venv .venv
@echo "Installing in .venv: a minute or two, once"
@.venv/bin/python -m pip install --quiet --disable-pip-version-check -e "$(1)"
@touch $@
endef

.venv/.demo: setup.cfg pyproject.toml
	$(call INSTALL,.)

.venv/.test: setup.cfg pyproject.toml experiments/learners/pyproject.toml
	$(call INSTALL,.[test])
	@.venv/bin/python -m pip install --quiet --no-deps -e experiments/learners
	@touch .venv/.demo
