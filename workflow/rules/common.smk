# What all stages share: the request, and checks before a run.

import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# fedmix lies beside the Snakefile: here and in the jobs' environments nobody has to install it.
sys.path.insert(0, f"{workflow.basedir}/src")
places = [f"{workflow.basedir}/src", os.getenv("PYTHONPATH")]
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, places)))

# Snakemake does not quote the interpreter of a script: where its path has a space, its name serves.
if " " in sys.executable:
    interpreter = Path(sys.executable)
    os.environ.update(PATH=f"{interpreter.parent}{os.pathsep}{os.getenv('PATH', os.defpath)}")
    sys.executable = interpreter.name

# Jobs keep the memory of arrays that are freed. Asked for anew for each, as glibc has it, it took
# two fifths of the time of DP-GMM on MNIST.
os.environ.setdefault("MALLOC_MMAP_MAX_", "0")
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**40))

from fedmix import methods as method_registry
from fedmix.configuration import read_yaml
from fedmix.data.registry import DatasetEntry, mirror_folder
from fedmix.errors import ConfigurationError, FedmixError, nearest_names
from fedmix.pipeline.archive import RUN_OPTIONS, read_options
from fedmix.pipeline.plan import RUNTIME, finished_blocks
from fedmix.pipeline.provenance import content_hash, source_hash
from fedmix.pipeline.request import embedded_path, left_out, read_request
from fedmix.views.figures.build import BY_ROUND

BASE = Path(workflow.basedir)

# Snakemake reads True and None from the command line; the configuration's own words hold too.
WORDS = {"true": True, "false": False, "null": None}
config.update({k: WORDS[v] for k, v in config.items() if isinstance(v, str) and v in WORDS})


def options_of_archive():
    """What an archive says was run, unless the command line asks for something else."""
    carried = read_options(config["archive"])
    default = read_yaml(BASE / "config" / "config.yaml")
    for key in RUN_OPTIONS:
        if config[key] not in (default.get(key), carried.get(key)):
            raise ConfigurationError(
                f"{config['archive']} holds a run with {key}={carried.get(key)}, not "
                f"{config[key]}: leave {key} out, or run the methods."
            )
    return carried


try:
    if config.get("archive"):
        config.update(options_of_archive())
    mirror_folder(config.get("mirror"))
    REQUEST = read_request(BASE / "config", config)
    config.update(REQUEST.options)  # text from the command line is what it stands for
except FedmixError as error:
    raise WorkflowError(str(error)) from None

# What `all`, the audit and the pages take in; the rest is made where a target names it.
WHOLE = REQUEST.in_all()
STUDIES = REQUEST.studies
ITEMS = REQUEST.items
# What people look at is each preset's own; what is run is shared.
SHOWN = f"results/{config['preset']}"


wildcard_constraints:
    study="|".join(STUDIES) or "none",
    setting="[^/]+",
    block=r"\d+-\d+",
    dataset="[a-z0-9_]+",
    embedding="[a-z0-9_]+",
    item="|".join(ITEMS) or "none",


# What a person asks for by name, beside papers, tables and figures.
TARGETS = ["all", "fetch", "embed", "audit", "page", "protocols", "archive", "reproduction"]
ITEM_SUFFIXES = {"table": ["csv", "md", "tex", "html"], "figure": ["pdf", "svg", "png", "md"]}
