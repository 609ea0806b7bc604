# Shared by all stages: the request, and checks before a run.

import gc
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# A plan makes many objects and few cycles: the search for these takes a sixth of its time.
gc.disable()

# fedmix is next to the Snakefile, so it need not be installed, here or in the jobs' environments.
sys.path.insert(0, f"{workflow.basedir}/src")
places = [f"{workflow.basedir}/src", os.getenv("PYTHONPATH")]
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, places)))

# Snakemake does not quote the path of a script's interpreter. If it has a space, use the name alone.
if " " in sys.executable:
    interpreter = Path(sys.executable)
    os.environ.update(PATH=f"{interpreter.parent}{os.pathsep}{os.getenv('PATH', os.defpath)}")
    sys.executable = interpreter.name

# Jobs reuse the memory of freed arrays. By default glibc returns it and requests it again, which took
# two fifths of the time of DP-GMM on MNIST.
os.environ.setdefault("MALLOC_MMAP_MAX_", "0")
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**40))

from fedmix import methods as method_registry
from fedmix.cells.items import BY_ROUND
from fedmix.data.registry import DatasetEntry, mirror_folder
from fedmix.errors import FedmixError, nearest_names
from fedmix.pipeline.coverage import experiment_hash, method_hashes, methods_in, scenario_of
from fedmix.pipeline.kept_embeddings import embedding_hash, raw_parameters
from fedmix.pipeline.plan import RUNTIME, finished_blocks, timings_of
from fedmix.pipeline.provenance import (
    LOADED_BY_NAME,
    Brief,
    content_hash,
    script_hash,
    source_hash,
    stamp_of,
)
from fedmix.pipeline.request import left_out, read_request, require_evidence

BASE = Path(workflow.basedir)

# The options that determine what is run.
RUN_OPTIONS = ("preset", "replications", "block", "methods")

try:
    REQUEST = read_request(BASE / "config", config)
    mirror_folder(REQUEST.options["mirror"])
    require_evidence(REQUEST.options["evidence"], BASE)
    config.update(REQUEST.options)  # text from the command line as values
except FedmixError as error:
    raise WorkflowError(str(error)) from None

# The part of `all`, the audit and the pages. The rest is made if a target names it.
WHOLE = REQUEST.in_all()
STUDIES = REQUEST.studies
ITEMS = REQUEST.items
# Tables, figures and pages belong to a preset; runs are shared by all presets.
SHOWN = f"results/{config['preset']}"


wildcard_constraints:
    study="|".join(STUDIES) or "none",
    setting="[^/]+",
    part="[^/]+",
    block=r"\d+-\d+",
    dataset="[a-z0-9_]+",
    embedding="[a-z0-9_]+",
    item="|".join(ITEMS) or "none",


ITEM_SUFFIXES = {"table": ["csv", "md", "tex", "html"], "figure": ["svg", "pdf", "png", "md"]}
# Pages show a figure as SVG, above its caption.
PAGE_SUFFIXES = ["svg", "md"]
