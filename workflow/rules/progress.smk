# What a person sees of a run: how far it is, what it made, and what failed throughout.

import logging
import sys

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

PROGRESS = "results/.progress.jsonl"
# Results that people open.
FINAL_RULES = ("make_table", "make_figure", "build_page", "build_archive", "judge_results")


def cell_of(job):
    return f"{job.wildcards.study}/{job.wildcards.setting}"


def n_fits(job):
    """How many replications of methods a job runs."""
    return len(replications_of(job.wildcards.block)) * len(RUN_KINDS[job.rule.name].methods)


class ProgressHandler(logging.Handler):
    """Hears from Snakemake of every job that ends, and tells of finished blocks."""

    def __init__(self, progress, blocks):
        super().__init__()
        self.progress = progress
        self.blocks = blocks

    def emit(self, record):
        if getattr(record, "event", None) == LogEvent.JOB_FINISHED and record.job_id in self.blocks:
            self.progress.finished(self.blocks[record.job_id])


def begin(jobs):
    """Tell of blocks in place of Snakemake's lines about jobs, which still go to its log file.

    Warnings and errors are always shown, and everything while a run is planned. On a cluster what
    Snakemake says of submitted jobs is wanted as well.
    """
    found = [job for job in jobs if job.rule.name in RUN_KINDS]
    sizes = [(cell_of(job), n_fits(job)) for job in found]
    brief = workflow.local_exec and not workflow.output_settings.verbose
    progress = Progress(PROGRESS, sizes, bar=brief)

    def is_shown(record):
        if record.levelno < logging.WARNING:
            return False
        progress.clear()
        return True

    for handler in logger.handlers:
        if brief and handler.name == "DefaultStreamHandler":
            handler.addFilter(is_shown)
    logger.addHandler(ProgressHandler(progress, {job.jobid: cell_of(job) for job in found}))
    return progress


def tell_outcome():
    """Print what the run has made; return what failed throughout."""
    if not RUN:
        return []
    RUN["progress"].clear()
    for line in summary_lines(RUN["made"]):
        print(line, file=sys.stderr)
    return failed_throughout(STUDIES.values())


# Set at the start of a run that makes anything: its progress and the files that people open.
RUN = {}


onstart:
    jobs = list(workflow.dag.needrun_jobs())
    if any(job.rule.name not in PRINTING_RULES for job in jobs):
        prepare_folder()
        watch_only_what_ends()
        finals = [job for job in jobs if job.rule.name in FINAL_RULES]
        RUN["made"] = [str(path) for job in finals for path in job.output]
        RUN["progress"] = begin(jobs)


onsuccess:
    failures = tell_outcome()
    if failures:
        raise WorkflowError("\n".join(failures))


onerror:
    for line in tell_outcome():
        print(line, file=sys.stderr)
