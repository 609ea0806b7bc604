"""Get one raw data set from the first source that has it, and check it."""

from pathlib import Path

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.data.fetching import fetch
    from fedmix.data.registry import DatasetEntry

    name = snakemake.wildcards.dataset
    fetch(
        DatasetEntry.from_mapping(name, snakemake.params.entry),
        Path(snakemake.output[0]).parent,
        mirror=snakemake.config["mirror"],
        timeout=snakemake.config["download_timeout"],
        replace=True,
    )
