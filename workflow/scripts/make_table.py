"""Make one table as CSV, Markdown and LaTeX."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.views.tables.build import build_table

    build_table(
        snakemake.params.item,
        snakemake.input.results,
        snakemake.input.timings,
        snakemake.output,
        printed=snakemake.input.get("printed"),
    )
