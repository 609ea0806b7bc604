"""Draw a search: the specification curve, the shares of variance, the nearest beside the print."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.views.figures.protocols import draw_search

    draw_search(snakemake.params.space, snakemake.params.tables, snakemake.input, snakemake.output)
