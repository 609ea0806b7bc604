# make                the environment and the quick preset: tables and figures within minutes
# make test           the environment and all tests but the next, with coverage of those not slow
# make test-cluster   the smoke preset through SLURM and Grid Engine of one node, started here
# make lint           style, types, spelling and prose
# make lock           requirements.lock anew after a change of dependencies; needs uv
# make clean          remove the environment, all results and logs; data stay

PYTHON ?= python3
CORES ?= 2
BIN := .venv/bin
READY := .venv/.ready

.PHONY: all test test-cluster lint lock quick clean

all: quick

# The lock holds names, versions and hashes; pip asks whatever index the machine is set up for.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fedmix needs Python 3.11 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

quick: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES)

test: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" pytest -n $(CORES) --cov

# Each that is installed, at least one: docs/cluster.md names the packages.
test-cluster: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" pytest -s -rs tests/check_cluster.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/codespell
	$(BIN)/proselint check *.md docs/*.md docs/decisions
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --lint --workflow-profile none

# Versions in the lock stay where the ranges of pyproject.toml allow; delete the file to renew all.
lock:
	printf 'setuptools\n' | uv pip compile --quiet --generate-hashes --no-header --no-annotate \
	    --extra test --extra lint --extra docs --extra slurm -o requirements.lock pyproject.toml -

clean:
	rm -rf .venv .snakemake results/* logs
