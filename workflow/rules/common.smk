# What the rule modules share: the request, and functions from wildcards to files and parameters.

import logging
import os
from collections import Counter
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.settings.enums import Quietness

from fedmix import methods as method_registry
from fedmix.archive import read_manifest
from fedmix.errors import FedmixError
from fedmix.locking import claim, require_writable
from fedmix.progress import begin
from fedmix.provenance import source_hash
from fedmix.request import embedded_path, read_request

# The default profile keeps Snakemake quiet, for jobs tell their own progress. Errors must be seen.
if Quietness.ALL in workflow.output_settings.quiet and not workflow.dryrun:
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
        claim()
    except FedmixError as error:
        raise WorkflowError(str(error)) from None


def setting_of(wildcards):
    return STUDIES[wildcards.study].settings[wildcards.setting]


def method_of(wildcards):
    study = STUDIES[wildcards.study]
    return study.method_in(wildcards.method, setting_of(wildcards))


def embedded_data(wildcards):
    """The embedded data set that a setting works on, if any."""
    values = setting_of(wildcards).values
    return embedded_path(values) if "dataset" in values else []


def cell_parameters(wildcards):
    """What a job must know of its setting: a slice of the configuration, sorted."""
    setting, study = setting_of(wildcards), STUDIES[wildcards.study]
    return {
        "study": study.name,
        "variant": setting.variant,
        "setting": setting.name,
        "experiment": study.experiment,
        "values": dict(sorted(setting.values.items())),
    }


def experiment_hash(wildcards):
    """Hash of the code that makes and starts a replication."""
    return source_hash(
        f"fedmix.experiments.{STUDIES[wildcards.study].experiment}", "fedmix.experiments.runner"
    )


def method_parameters(wildcards):
    method = method_of(wildcards)
    return {
        "name": method.name,
        "estimator": method.estimator,
        "parameters": dict(sorted(method.parameters.items())),
    }


def method_hash(wildcards):
    """Hash of the code behind a method, so that a change reruns this method alone."""
    return source_hash(method_registry.index()[method_of(wildcards).estimator])


def more_memory(base_mb):
    """Memory that doubles with every attempt."""
    return lambda wildcards, attempt: base_mb * 2 ** (attempt - 1)


def block_files(study, setting, suffix):
    """The files of all blocks of all methods of a setting."""
    return [
        f"results/{study.name}/{setting.folder}/{method}/{block}{suffix}"
        for method in study.methods_of(setting)
        for block in study.blocks
    ]


def item_files(items):
    """The files of tables and figures."""
    return [
        f"results/{ITEMS[name].kind}s/{name}.{suffix}"
        for name in items
        for suffix in ITEM_SUFFIXES[ITEMS[name].kind]
    ]


PAPER_NAMES = {
    "fedgrem": "FedGrEM",
    "mixed_regression": "Mixed regression",
    "fedgem": "FedGEM",
    "cross": "Across papers",
}
ITEM_SUFFIXES = {"table": ["csv", "md", "tex"], "figure": ["pdf", "svg", "png"]}
