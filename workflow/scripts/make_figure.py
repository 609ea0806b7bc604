"""Draw one figure, as SVG, PDF and PNG, with its caption."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.evidence import read_paths
    from fedmix.cells.frame import read_cells
    from fedmix.views.figures.build import build_figure

    files = snakemake.input
    build_figure(
        snakemake.params.item,
        read_cells(files.cells),
        snakemake.output,
        results=read_paths(files.results) if files.results else None,
    )
