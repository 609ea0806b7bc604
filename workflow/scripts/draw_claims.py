"""Draw the specification curves of a search's claims."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.unreported import read_curves
    from fedmix.views.figures.protocols import draw_claims

    params = snakemake.params
    curves = read_curves(snakemake.input[0])
    draw_claims(params.space, curves, snakemake.output, params.preset)
