"""Draw the figures of the pages, as SVG with their captions."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import logging
    from pathlib import Path

    from fedmix.cells.evidence import read_paths
    from fedmix.cells.frame import read_cells
    from fedmix.views.figures.build import build_figure

    for name, figure in snakemake.params.figures.items():
        logging.info("drawing %s", name)  # so that an error below it has a name
        build_figure(
            figure["item"],
            read_cells(figure["cells"]),
            [path for path in snakemake.output if Path(path).stem == name],
            results=read_paths(figure["results"]) if figure["results"] else None,
        )
