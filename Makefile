# Start with `make demo` or `make test`; both first install their dependencies into .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
RUNTIME := .venv/.runtime
RUNNERS := $(or $(SPOOL_RUNNERS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spool-runners)
LOOPS := $(or $(SPOOL_LOOPS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spool-loops)
AGENTS := $(or $(SPOOL_AGENTS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spool-agents)

.PHONY: demo test liars check fast faults soak agents runners transcripts schemas picture bench bench-gates loops \
  lock clean

# Only what Spool needs to run; the tools of its tests are not installed.
demo: $(RUNTIME)
	$(BIN)/spool demo

test: check
	$(BIN)/pytest -n auto --dist loadgroup

# The part of the suite for every save: unit tests and the scenarios of the specifications.
fast: $(READY)
	$(BIN)/pytest -n auto -q tests/unit tests/seeds

# The long profiles of the fault tests; SPOOL_SEED draws other trials. docs/reliability.md has the last results.
FAULTS := tests/faults tests/integration/checkpoints/test_random_trees.py tests/integration/checkpoints/test_killed.py
faults: $(READY)
	SPOOL_FAULTS_SCALE=$(or $(SPOOL_FAULTS_SCALE),1) $(BIN)/pytest -n auto --dist loadgroup --durations 15 $(FAULTS) \
	  --deselect tests/faults/test_soak.py

soak: $(READY)
	SPOOL_FAULTS_SCALE=$(or $(SPOOL_FAULTS_SCALE),1) $(BIN)/pytest --durations 5 tests/faults/test_soak.py

# All claims of tests/liars on all doors; the suite plays a fifth of them.
liars: $(READY)
	SPOOL_LIARS=all $(BIN)/pytest -n auto -q tests/liars

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Install the real agents for tests/harnesses, which are skipped without them.
agents:
	PYTHON="$(PYTHON)" requirements/agents/install "$(AGENTS)"

# Install vitest and jest for tests/integration/test_runners.py, which skips them otherwise.
runners:
	requirements/runners/install "$(RUNNERS)"

# Record the real agents' output again, for the decoder tests.
transcripts: $(READY) agents
	$(BIN)/python -m tests.harnesses.record

schemas: $(READY)
	$(BIN)/python docs/schemas/make.py

picture: $(READY)
	$(BIN)/python -m tests.tui.picture docs/loop-screen.svg

bench: $(READY)
	$(BIN)/python -m bench

# Install the other loops that bench-gates compares with.
loops:
	PYTHON="$(PYTHON)" requirements/loops/install "$(LOOPS)"

# Seeded bugs and scripted agents, with and without gates, and with other loops; writes bench/RESULTS-gates.md.
bench-gates: $(READY) loops
	$(BIN)/python -m bench.gates --write

# requirements/dev.txt pins the test dependencies; `make lock` updates it.
$(READY): pyproject.toml requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Spool needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $(READY)

$(RUNTIME): pyproject.toml requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Spool needs Python 3.11 or newer")'
	test -e $(READY) || $(PYTHON) -m venv .venv
	test -e $(READY) || $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/dev.txt -e .
	touch $(RUNTIME)

lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet pip-tools
	.venv-lock/bin/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  --extra dev --output-file requirements/dev.txt pyproject.toml
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-lock .pytest_cache .mypy_cache .ruff_cache .hypothesis
