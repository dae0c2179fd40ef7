# Everything a developer does here. `make` alone lists it.

.DEFAULT_GOAL := help
SHELL := /bin/sh
.SUFFIXES:
# A file of tests stays with one worker, which has its own servers and its own Spark.
AT_ONCE := -n 2 --dist loadfile --no-loadscope-reorder

# The certificate of the container is its own: on this machine alone it may be trusted.
LOCAL_SQLSERVER := sqlserver://sa:$${TIDEGATE_SQLSERVER_PASSWORD:-Tidegate-local-1}@127.0.0.1:14330/master?TrustServerCertificate=yes
NEED_SQLSERVER := $(wildcard tests/conformance/test_sqlserver_*.py tests/stories/test_sqlserver*.py) \
  tests/conformance/test_catalog.py tests/conformance/test_failures.py tests/sql

.PHONY: help install demo demo-iceberg demo-s3 test test-all test-quick test-sqlserver test-airflow test-dagster bench bench-quick lint format docs golden lock clean

# Paths are relative, so that a folder with spaces in its name works.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed

# The first Python that is new enough. `make install PYTHON=/path/to/python` chooses another.
PYTHON ?=
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
NO_PYTHON := Tidegate needs Python 3.11 or newer and found none: install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python) or name it with make install PYTHON=/path/to/python3.
NO_VENV := This Python cannot make a virtual environment: install its venv module (Debian, Ubuntu: apt install python3-venv) or name another Python with make install PYTHON=/path/to/python3.

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

install: $(STAMP) ## Prepare .venv with everything pinned in requirements.lock; quick when nothing changed

demo: $(STAMP) ## Watch Tidegate work on an embedded PostgreSQL: no server, no configuration, no root
	@$(BIN)/tidegate demo

demo-iceberg: $(STAMP) ## Watch a sync by way of Iceberg: changes, verification, time travel; no server needed
	@$(BIN)/python examples/iceberg/demo.py

demo-s3: $(STAMP) ## Watch tidegate sync: MariaDB, a bucket, and a double of Redshift; no cloud needed
	@PYTHONPATH=tests $(BIN)/python examples/redshift/demo.py

test: lint ## Lint, then run the tests
	$(BIN)/python -m pytest $(AT_ONCE) -m "not thorough"

test-all: lint ## Every test: on every pair of databases, with more kills, executors that die
	TIDEGATE_ALL_PAIRS=1 TIDEGATE_KILLS=20 $(BIN)/python -m pytest $(AT_ONCE)

test-quick: $(STAMP) ## Run the tests that need no Spark
	$(BIN)/python -m pytest $(AT_ONCE) -m "not spark and not slow and not thorough"

test-sqlserver: $(STAMP) ## Run what needs SQL Server against a real one in a container (or TIDEGATE_TEST_SQLSERVER)
	@test -n "$$TIDEGATE_TEST_SQLSERVER" || docker compose up --detach --wait sqlserver
	TIDEGATE_ALL_PAIRS=1 TIDEGATE_TEST_SQLSERVER="$${TIDEGATE_TEST_SQLSERVER:-$(LOCAL_SQLSERVER)}" $(BIN)/python -m pytest $(AT_ONCE) $(NEED_SQLSERVER)

test-airflow: .venv-airflow/installed ## Test the Airflow provider and the example DAGs in a real Airflow 3, in .venv-airflow
	.venv-airflow/bin/python -m pytest -q -W ignore tests/orchestrators/test_airflow.py

test-dagster: .venv-dagster/installed ## Test the Dagster door in a real Dagster, in .venv-dagster
	.venv-dagster/bin/python -m pytest -q -W ignore tests/orchestrators/test_dagster.py

# Airflow and Dagster pin much of what they use: each has an environment of its own, which the lock knows nothing of.
.venv-%/installed: pyproject.toml $(STAMP)
	@.ci/orchestrator $*
	@touch $@

bench: $(STAMP) ## Measure Tidegate beside other tools, every case; takes hours (BENCH="--cases extract-5m" for some)
	PYTHONPATH=tests:. $(BIN)/python -m bench $(BENCH)

bench-quick: $(STAMP) ## The same on small tables, in under ten minutes
	PYTHONPATH=tests:. $(BIN)/python -m bench --quick $(BENCH)

lint: $(STAMP) ## Check rules, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP) ## Mend what can be mended: imports, format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP) ## Build the site of the docs into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict  # the theme warns of a coming MkDocs 2, which the pin keeps out

golden: $(STAMP) ## Write golden SQL and generated docs anew; review the difference
	TIDEGATE_UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q tests/sql tests/docs tests/conformance/test_journeys.py

lock: $(STAMP) ## Pin every dependency anew, with hashes, in requirements.lock
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
	  --generate-hashes --upgrade --quiet --custom-compile-command "make lock" --output-file requirements.lock

clean: ## Remove .venv and what the tools left
	rm -rf $(VENV) .venv-airflow .venv-dagster build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse artifacts
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): requirements.lock pyproject.toml
	@found=; \
	for python in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11); do \
	  if "$$python" -c '$(NEW_ENOUGH)' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "$(NO_PYTHON)" >&2; exit 1; fi; \
	if ! $(BIN)/python -c 'import pip; $(NEW_ENOUGH)' 2>/dev/null; then \
	  rm -rf $(VENV); \
	  if ! "$$found" -m venv $(VENV) >/dev/null 2>&1; then rm -rf $(VENV); echo "$(NO_VENV)" >&2; exit 1; fi; \
	fi
	@.ci/install
	@touch $@
