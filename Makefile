# `make demo` and `make test` are the two commands of a newcomer; each sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: demo test lint bench release docs fuzz fuzz-parsers trust clean

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)
	@$(BIN)/cubelane demo

test: $(STAMP) lint
	$(BIN)/python -m pytest tests -n 2
	$(BIN)/lit -q tests/filecheck

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

# speed as ratios, compared with benchmarks/baseline.json; BENCH="--save" stores new ones, BENCH=NAME runs one
BENCH ?=

bench: $(STAMP)
	$(BIN)/python -m benchmarks $(BENCH)

# random kernels: TIME in seconds, SEED picks them, JOBS worker processes; goes on where the last run ended
TIME ?= 600
SEED ?= 0
JOBS ?= 2

fuzz: $(STAMP)
	$(BIN)/cubelane fuzz --time $(TIME) --seed $(SEED) --jobs $(JOBS)

# both parsers against a coverage-guided fuzzer, TIME seconds each
fuzz-parsers: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	$(BIN)/python -m tests.hostile.fuzz_parsers dsl -max_total_time=$(TIME)
	$(BIN)/python -m tests.hostile.fuzz_parsers pto -max_total_time=$(TIME)

# the tables of docs/trust.md
trust: $(STAMP)
	$(BIN)/python -m benchmarks.trust --jobs $(JOBS)

# wheel and sdist in dist, the wheel tried out in an empty environment
release: $(STAMP)
	$(BIN)/python -m release.licences
	$(BIN)/python -m release

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs]'
	$(BIN)/python -m tests.docs.reference
	$(BIN)/mkdocs build --strict
	$(BIN)/python -m pytest tests/docs
	@echo "the site is in build/site; open build/site/index.html"

clean:
	rm -rf $(VENV) build dist
