# fedmix: from raw data to every table and figure of three papers, with a verdict per claim.
#
#   snakemake --cores 2                                        the quick preset: minutes, no network
#   snakemake --cores 8 fedgrem_table1 --config preset=paper   one table at its published size
#   python -m fedmix status                                    what is done, running and failed
#
# Data flows in one direction, and so do the rule modules:
#   raw -> embedded -> run -> collected -> cells -> tables, figures, page

import os

from snakemake.utils import min_version

min_version("9.9")


configfile: f"{workflow.basedir}/config/config.yaml"


report: "workflow/report/workflow.rst"


# Jobs run in Snakemake's own environment. With `--sdm conda` they run in one made from
# environment.yml, with `--sdm apptainer` in the image that FEDMIX_IMAGE names.
image = os.getenv("FEDMIX_IMAGE")
if image:

    envvars:
        "FEDMIX_IMAGE",

    container: image


include: "workflow/rules/common.smk"
include: "workflow/rules/outcome.smk"
include: "workflow/rules/files.smk"
include: "workflow/rules/parameters.smk"
include: "workflow/rules/data.smk"


# With partial=true no method runs: tables and figures show what is finished.
if not config["partial"]:

    include: "workflow/rules/run.smk"


include: "workflow/rules/collect.smk"
include: "workflow/rules/protocol_files.smk"
include: "workflow/rules/cells.smk"
include: "workflow/rules/protocols.smk"
include: "workflow/rules/views.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/targets.smk"


rule all:
    default_target: True
    input:
        item_files(WHOLE.items),
        embedding_figures(),
        protocol_files(IN_ALL),
        f"{SHOWN}/index.html",
    localrule: True
