# make                the environment, the page of the three papers from kept results, and the quick
#                     preset: tables and figures within minutes
# make kept           docs/reproduction anew from data/evidence, without network
# make test           the environment and the tests that are not slow, with their coverage: minutes
# make test-slow      the environment and the slow tests, which run the pipeline
# make test-cluster   the smoke preset through SLURM and Grid Engine of one node, started here
# make lint           style, types, spelling and prose
# make lock           requirements.lock anew after a change of dependencies; needs uv
# make clean          remove the environment, all results and logs; data stay

PYTHON ?= python3
CORES ?= 2
BIN := .venv/bin
READY := .venv/.ready

# Many containers set it. Each job would then compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: all test test-slow test-cluster lint lock papers quick kept clean

all: papers quick

# The lock holds names, versions and hashes; pip asks whatever index the machine is set up for.
# Modules are compiled when they are first imported, because most never are.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fedmix needs Python 3.11 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# A run ends this long after its last job. The profile's time is for runs of a thousand jobs.
SOON = --max-jobs-per-timespan 1000/1s

papers: $(READY)
	@echo "The three papers, from the results kept in data/evidence:"
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES) $(SOON) page --config preset=paper partial=true \
	    "papers=[$$(ls config/papers | paste -sd, -)]"

quick: $(READY)
	@echo "The quick preset, run here on small stand-in data:"
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES) $(SOON) --config evidence=false

# In a folder of its own, so that no other results are used.
kept: $(READY)
	rm -rf results/kept
	mkdir -p results/kept
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES) --directory results/kept reproduction \
	    --forcerun export_reproduction --config preset=paper partial=true
	cp results/kept/results/paper/audit/discrepancies.md docs/discrepancies.md
	rm -rf results/kept
	$(BIN)/python docs/update_readme.py
	$(BIN)/python -m fedmix evidence precision --config preset=paper > docs/precision.txt
	$(BIN)/python docs/audit_changes.py

# A file's tests run in one process, so that they share what they make once, in their order.
PYTEST = PATH="$(CURDIR)/$(BIN):$$PATH" pytest -n $(CORES) --dist loadfile --no-loadscope-reorder
test: $(READY)
	$(PYTEST) -m "not slow" --cov

# Without coverage, which would make them much slower.
test-slow: $(READY)
	$(PYTEST) -m slow

# Each that is installed, at least one: docs/cluster.md names the packages.
test-cluster: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" pytest -s -rs tests/check_cluster.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/codespell
	$(BIN)/proselint check *.md docs/*.md docs/decisions docs/methods
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --lint --workflow-profile none

# Versions in the lock stay where the ranges of pyproject.toml allow; delete the file to renew all.
lock:
	printf 'setuptools\n' | uv pip compile --quiet --python-version 3.11 --no-strip-extras --generate-hashes --no-header --no-annotate \
	    --extra test --extra lint --extra docs --extra slurm -o requirements.lock pyproject.toml -

clean:
	rm -rf .venv .snakemake results/* logs
