# Every target builds .venv for itself, with the machine's python3 and pip alone.

PYTHON ?= python3
PORT ?= 8000
STORE ?= sqlite:///demo.db
# Extra arguments for pytest: make test ARGS="-k cancel"
ARGS ?=
# Tests that wait for servers they have started leave room for others: one more than two cores need.
WORKERS ?= 3

BIN := .venv/bin
# In the order of tests/conftest.py, not by the number of tests in a file.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist=loadfile --no-loadscope-reorder \
  --inline-snapshot=disable
PROTO := src/dragoman/_proto
PIP := $(BIN)/python -m pip install --disable-pip-version-check -qq -c constraints.txt

# The pinned pyright comes with its own Node; do not look for news at every start.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# Some machines ask Python to keep no bytecode. Tests start hundreds of processes, each of which
# would compile all of us anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check soak bench bench-quick cli-report proto clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/.run ## serve the example agent (PORT=8000 STORE=sqlite:///demo.db)
	$(BIN)/dragoman serve examples/desk/agent.py --port $(PORT) --store $(STORE)

test: .venv/.dev ## run the suite without the slow tests (ARGS="-k name")
	$(PYTEST) -m "not slow" $(ARGS)

check: .venv/.dev ## check format, lint, types and import direction
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	@echo "$(BIN)/pyright --verifytypes dragoman"
	@report=$$(PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright --verifytypes dragoman --ignoreexternal) \
	  || { echo "$$report"; exit 1; }
	for example in examples/*/; do $(BIN)/mypy --strict $$example || exit 1; done
	$(BIN)/lint-imports

soak: .venv/.dev ## run every test, the long versions
	DRAGOMAN_SOAK=1 $(PYTEST) --timeout=600 $(ARGS)

bench: .venv/.dev ## measure the hot paths
	$(BIN)/python -m benches

bench-quick: .venv/.dev ## measure the hot paths, roughly
	$(BIN)/python -m benches --quick

cli-report: .venv/.dev ## measure the command line and write its compliance report
	$(BIN)/python -m pytest -q -p no:randomly -p tests.cli.compliance tests/cli

proto: .venv/.dev ## compile the .proto files to their descriptor sets
	for name in $(basename $(notdir $(wildcard $(PROTO)/*.proto))); do \
	  $(BIN)/python -m grpc_tools.protoc -I$(PROTO) \
	    --descriptor_set_out=$(PROTO)/$$name.binpb $$name.proto || exit 1; \
	done

clean: ## remove .venv, caches, build output and the demo database
	rm -rf .venv .interop .coverage* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf build dist htmlcov demo.db demo.db-*
	find src tests examples benches -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# .stamp: an empty virtual environment. .run: what an agent needs. .dev: what we need.

.venv/.stamp:
	@command -v $(PYTHON) >/dev/null \
	  || { echo "error: $(PYTHON) not found: install Python 3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: Python 3.11 or newer is needed, but $(PYTHON) is $$($(PYTHON) -c 'import sys; print(sys.version.split()[0])'): try make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "error: $(PYTHON) lacks venv or ensurepip: install them (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.run: .venv/.stamp pyproject.toml constraints.txt
	@echo "installing into .venv (a few seconds)…"
	@$(PIP) -e .
	@touch $@

.venv/.dev: .venv/.stamp pyproject.toml constraints.txt
	@echo "installing into .venv (about a minute)…"
	@$(PIP) -e '.[dev]'
	@touch .venv/.run $@
