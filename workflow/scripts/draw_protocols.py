"""Draw a search: specification curve, the path of the optimiser, judged protocols."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.views.figures.protocols import draw_search

    params = snakemake.params
    draw_search(params.space, params.tables, snakemake.input, snakemake.output, params.preset)
