"""Obtain one raw data set from the first source that has it, checked."""

from fedmix.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.data import fetch

    fetch(
        snakemake.wildcards.dataset,
        snakemake.params.entry,
        snakemake.output[0],
        mirror=snakemake.params.mirror,
        timeout=snakemake.params.timeout,
    )
