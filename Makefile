PYTHON ?= python
CASES ?= 2000
SEED ?= 1

.PHONY: lint test test-slow corpus corpus-long corpus-cluster forever abstraction fuzz-readers hostile-certificates docs

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	lint-imports

test:
	$(PYTHON) -m pytest

test-slow:
	$(PYTHON) -m pytest -m slow -o timeout=0

docs:
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

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
