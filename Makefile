# `make help` lists the targets. `make demo` and `make test` first install their dependencies into .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
RUNTIME := .venv/.runtime
DOCS := .venv-docs/.ready
RUNNERS := $(or $(SPOOL_RUNNERS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spool-runners)
LOOPS := $(or $(SPOOL_LOOPS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spool-loops)
AXE := $(or $(SPOOL_AXE_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spool-axe)
INSTALLERS := $(or $(SPOOL_INSTALLERS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spool-installers)
AGENTS := $(or $(SPOOL_AGENTS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spool-agents)

# Without these files each worker of pytest compiles every test again: 8 s of processor time.
unexport PYTHONDONTWRITEBYTECODE
# Two workers per processor: half of a test's time is waiting.
WORKERS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadgroup
EVERY := -m "long or not long"

# Where `make install` puts Spool's own environment, and the links to its commands.
HOUSE := $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/spool-loop
COMMANDS := $(or $(PREFIX),$(HOME)/.local)/bin

.PHONY: help install uninstall demo test root-test long marked liars check fast faults soak fleet-soak agents runners axe installers transcripts schemas picture \
  moving-picture web-pictures settings-page docs bench bench-quick bench-gates loops dist sdist-check deletable lock clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

install: ## Install spool and wt-loop for you, into ~/.local; EXTRAS=web,fleet,otel adds those
	$(ENOUGH)
	@for name in spool wt-loop; do \
	  link="$(COMMANDS)/$$name"; \
	  if test -e "$$link" && test "$$(readlink "$$link")" != "$(HOUSE)/bin/$$name"; then \
	    echo "$$link exists and was not made by make install; remove it, or: make install PREFIX=DIR" >&2; exit 1; \
	  fi; \
	done
	"$(PYTHON)" -m venv "$(HOUSE)"
	"$(HOUSE)/bin/python" $(PIP) --require-hashes -r requirements/run.txt
	"$(HOUSE)/bin/python" $(PIP) --no-deps --no-build-isolation --force-reinstall .
	test -z "$(EXTRAS)" || "$(HOUSE)/bin/python" $(PIP) --no-build-isolation ".[$(EXTRAS)]"
	mkdir -p "$(COMMANDS)"
	ln -sfn "$(HOUSE)/bin/spool" "$(COMMANDS)/spool"
	ln -sfn "$(HOUSE)/bin/wt-loop" "$(COMMANDS)/wt-loop"
	@case ":$$PATH:" in *":$(COMMANDS):"*) echo "installed: spool demo" ;; \
	  *) echo 'installed; add it to your PATH: export PATH="$(COMMANDS):$$PATH"' ;; esac

uninstall: ## Remove what make install made; loops, settings and state stay
	@for name in spool wt-loop; do \
	  link="$(COMMANDS)/$$name"; \
	  if test "$$(readlink "$$link")" = "$(HOUSE)/bin/$$name"; then rm "$$link"; fi; \
	done
	rm -rf "$(HOUSE)"

# Only what Spool needs to run; the tools of its tests are not installed.
demo: $(RUNTIME) ## Watch a loop without an agent or a key
	$(BIN)/spool demo

test: check ## Run all checks and tests
	$(PYTEST)

# What `make test` leaves out, and the long profiles; hours. docs/evidence.md has the counts.
long: marked faults soak liars fleet-soak ## Run the tests that make test leaves out; hours

marked: $(READY)
	$(PYTEST) -m long --ignore tests/liars

# The tests that need root, which everybody else skips.
root-test: $(READY)
	$(PYTEST) -m "root and not long"

# The part of the suite for every save: unit tests and the scenarios of the specifications.
fast: $(READY) ## Run the unit tests and the scenarios of the specifications
	$(PYTEST) -q tests/unit tests/seeds

# The long profiles of the fault tests; SPOOL_SEED draws other trials. docs/evidence.md has the last results.
FAULTS := tests/faults tests/integration/checkpoints/test_random_trees.py tests/integration/checkpoints/test_killed.py
faults: $(READY)
	SPOOL_FAULTS_SCALE=$(or $(SPOOL_FAULTS_SCALE),1) $(PYTEST) $(EVERY) --durations 15 $(FAULTS) \
	  --deselect tests/faults/test_soak.py

soak: $(READY)
	SPOOL_FAULTS_SCALE=$(or $(SPOOL_FAULTS_SCALE),1) $(BIN)/pytest $(EVERY) --durations 5 tests/faults/test_soak.py

# 200 changes on three hosts, one of which dies every 20 seconds; docs/fleet.md has the last results.
fleet-soak: $(READY)
	$(BIN)/python -m tests.fleet.soak $(or $(SPOOL_FLEET_CHANGES),200)

# The page, the fleet and telemetry, each deleted in a copy: the checks, and the tests that remain.
deletable: $(READY) ## Run the checks and tests without web, fleet and telemetry; hours
	$(BIN)/python -m tests.deletable -- -n $(WORKERS) --dist loadgroup

# All claims of tests/liars on all doors.
liars: $(READY) ## Play all lies and honest claims
	$(PYTEST) $(EVERY) -q tests/liars

check: $(READY) ## Lint, check types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The site, in site/. Strict: a page that is not in the navigation or a link that leads nowhere is an error, and so is
# anything that a page loads from elsewhere.
docs: $(DOCS) ## Build the site into site/
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict
	.venv-docs/bin/python docs/loads_nothing.py site

# Install the real agents for tests/harnesses, which are skipped without them.
agents:
	PYTHON="$(PYTHON)" requirements/agents/install "$(AGENTS)"

# Install vitest and jest for tests/integration/test_runners.py, which skips them otherwise.
runners:
	requirements/runners/install "$(RUNNERS)"

# Install axe-core for tests/web, which skips its checks otherwise.
axe:
	requirements/axe/install "$(AXE)"

# Install uv and pipx for tests/packaging, which skips them otherwise.
installers:
	PYTHON="$(PYTHON)" requirements/installers/install "$(INSTALLERS)"

# Record the real agents' output again, for the decoder tests.
transcripts: $(READY) agents
	$(BIN)/python -m tests.harnesses.record

schemas: $(READY)
	$(BIN)/python docs/schemas/make.py

picture: $(READY)
	$(BIN)/python -m tests.tui.picture docs/pictures

# A recording of the real `spool demo` in a terminal, as an animated SVG; a GIF would be ten times as large.
moving-picture: $(READY)
	$(BIN)/python -m tests.tui.moving_picture docs/demo.svg

# Take the pictures of the page and of a report; needs Debian's chromium.
web-pictures: $(READY)
	$(BIN)/python -m tests.web.pictures docs

# docs/settings.md, from the settings themselves; a test compares.
settings-page: $(READY)
	$(BIN)/python docs/settings_page.py

# Spool against bare floors and other loops; writes bench/RESULTS.md. Takes 20 minutes on a quiet machine, and
# then as long as `make fast` and `make test`, which it measures last.
bench: $(READY) loops ## Measure, and write bench/RESULTS.md
	$(BIN)/python -m bench --write

bench-quick: $(READY)
	$(BIN)/python -m bench --quick

# Install the other loops that the benchmarks compare with.
loops:
	PYTHON="$(PYTHON)" requirements/loops/install "$(LOOPS)"

# Seeded bugs and scripted agents, with and without gates, and with other loops; writes bench/RESULTS-gates.md.
bench-gates: $(READY) loops
	$(BIN)/python -m bench.gates --write

# requirements/*.txt pin every package with its hashes; `make lock` updates them. Spool itself has no hash, so it is
# installed by a second command, and built with the hatchling that was just installed.
ENOUGH := "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Spool needs Python 3.11 or newer")'
PIP := -m pip install --quiet --disable-pip-version-check

$(READY): pyproject.toml requirements/dev.txt
	$(ENOUGH)
	"$(PYTHON)" -m venv .venv
	$(BIN)/python $(PIP) --require-hashes -r requirements/dev.txt
	$(BIN)/python $(PIP) --no-deps --no-build-isolation -e .
	touch $(READY)

$(RUNTIME): pyproject.toml requirements/run.txt
	$(ENOUGH)
	test -e $(READY) || "$(PYTHON)" -m venv .venv
	test -e $(READY) || $(BIN)/python $(PIP) --require-hashes -r requirements/run.txt
	test -e $(READY) || $(BIN)/python $(PIP) --no-deps --no-build-isolation -e .
	touch $(RUNTIME)

$(DOCS): requirements/docs.txt
	$(ENOUGH)
	"$(PYTHON)" -m venv .venv-docs
	.venv-docs/bin/python $(PIP) --require-hashes -r requirements/docs.txt
	touch $(DOCS)

# The wheel and the sdist, in dist/.
dist: $(READY) ## Build the wheel and the sdist into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

# Whether the sdist can be tested as a clone can; takes minutes, since it makes an environment of its own.
sdist-check: dist
	rm -rf build/sdist && mkdir -p build/sdist
	tar -xzf dist/spool_loop-*.tar.gz -C build/sdist --strip-components 1
	$(MAKE) -C build/sdist fast

# uv resolves for the oldest Python that pyproject.toml promises, whichever one runs it.
COMPILE := .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11.0 --fork-strategy fewest \
  --generate-hashes --custom-compile-command "make lock"
lock:
	"$(PYTHON)" -m venv .venv-lock
	.venv-lock/bin/python $(PIP) uv
	$(COMPILE) --extra dev --output-file requirements/dev.txt pyproject.toml
	echo hatchling | $(COMPILE) --constraint requirements/dev.txt --output-file requirements/run.txt pyproject.toml -
	$(COMPILE) --output-file requirements/docs.txt requirements/docs.in
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-docs .venv-lock site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
