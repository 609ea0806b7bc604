# What all stages share: the request, and checks before a run.

import logging
import os
import sys
from collections import Counter
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.settings.enums import Quietness

# fedmix lies beside the Snakefile: here and in the jobs' environments nobody has to install it.
sys.path.insert(0, f"{workflow.basedir}/src")
places = [f"{workflow.basedir}/src", os.getenv("PYTHONPATH")]
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, places)))

from fedmix import methods as method_registry
from fedmix.pipeline.archive import read_manifest
from fedmix.errors import FedmixError
from fedmix.experiments import has_initial_values
from fedmix.pipeline.locking import lock_folder, require_writable
from fedmix.pipeline.progress import begin
from fedmix.pipeline.provenance import source_hash
from fedmix.pipeline.request import embedded_path, read_request

# The default profile keeps Snakemake quiet, for jobs tell their own progress. Errors must be seen.
if Quietness.ALL in (workflow.output_settings.quiet or ()) and not workflow.dryrun:
    error_lines = logging.StreamHandler()
    error_lines.setLevel(logging.ERROR)
    logger.addHandler(error_lines)

BASE = Path(workflow.basedir)
# The options that say what is run; an archive carries them.
RUN_OPTIONS = ["preset", "replications", "block"]

try:
    if config.get("archive"):
        config.update(read_manifest(config["archive"])["about"]["options"])
    REQUEST = read_request(BASE / "config", config)
    config.update(REQUEST.options)  # text from the command line is what it stands for
except FedmixError as error:
    raise WorkflowError(str(error)) from None

STUDIES = REQUEST.studies
ITEMS = REQUEST.items


wildcard_constraints:
    study="[a-z0-9_]+",
    setting="[^/]+",
    method="[^/]+",
    block=r"\d+-\d+",
    dataset="[a-z0-9_]+",
    embedding="[a-z0-9_]+",
    item="[a-z0-9_]+",


# Rules that only print: they may run beside a run, and on results that cannot be changed.
PRINTING_RULES = ("status", "forecast")


def prepare_folder():
    """See that results can be written here and that no other run is doing so."""
    try:
        require_writable("results")
        lock_folder()
    except FedmixError as error:
        raise WorkflowError(str(error)) from None


ITEM_SUFFIXES = {"table": ["csv", "md", "tex"], "figure": ["pdf", "svg", "png", "md"]}
