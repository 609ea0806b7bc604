"""Write one table as CSV, Markdown, LaTeX and HTML."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.frame import judged_cells
    from fedmix.views.tables.build import build_table

    build_table(snakemake.params.item, judged_cells(snakemake.input.cells), snakemake.output)
