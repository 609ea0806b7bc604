"""Unpack an archive of collected results, checked."""

from fedmix.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix import archive

    archive.extract(snakemake.input[0], ".")
