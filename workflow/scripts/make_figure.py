"""Draw one figure as PDF, SVG and PNG."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.views.figures.build import build_figure

    build_figure(
        snakemake.params.item, snakemake.input.results, snakemake.input.timings, snakemake.output
    )
