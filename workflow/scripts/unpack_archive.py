"""Unpack an archive of collected results, checked."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.pipeline import archive

    archive.extract(snakemake.input[0], ".")
