"""Gather all methods and blocks of one setting."""

from fedmix.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.storage import write_table
    from fedmix.tables.collect import concatenate

    write_table(snakemake.output.timings, concatenate(snakemake.input.timings))
    write_table(snakemake.output.results, concatenate(snakemake.input.results))
