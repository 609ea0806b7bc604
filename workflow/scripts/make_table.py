"""Lay one table out as CSV, Markdown, LaTeX and HTML."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.draws import with_draws
    from fedmix.cells.frame import read_cells
    from fedmix.views.tables.build import build_table

    files = snakemake.input
    cells = with_draws(read_cells([*files.cells, *files.other_draws]), snakemake.params.draws)
    build_table(snakemake.params.item, cells, snakemake.output)
