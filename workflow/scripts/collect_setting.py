"""Gather all methods and blocks of one setting."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.storage import concatenate, write_table

    write_table(snakemake.output.timings, concatenate(snakemake.input.timings))
    write_table(snakemake.output.results, concatenate(snakemake.input.results))
