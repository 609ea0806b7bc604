"""Draw one figure as PDF, SVG and PNG, and write its caption."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.frame import judged_cells
    from fedmix.storage import concatenate
    from fedmix.views.figures.build import build_figure

    files = snakemake.input
    build_figure(
        snakemake.params.item,
        judged_cells(files.cells),
        snakemake.output,
        results=concatenate(files.results) if files.results else None,
    )
