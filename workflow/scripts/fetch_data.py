"""Obtain one raw data set from the first source that has it, checked."""

from pathlib import Path

from fedmix.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.data import fetch, read_registry

    registry = read_registry(Path(snakemake.scriptdir).resolve().parents[1] / "config" / "datasets.yaml")
    fetch(
        registry[snakemake.wildcards.dataset],
        Path(snakemake.output[0]).parent,
        mirror=snakemake.config["mirror"],
        timeout=snakemake.config["download_timeout"],
    )
