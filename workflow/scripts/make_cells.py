"""Summarize one setting's results and timings in cells, beside the published values."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.cells.frame import make_cells
    from fedmix.cells.items import Item
    from fedmix.storage import read_table, write_table

    files, params = snakemake.input, snakemake.params
    repository = Path(snakemake.scriptdir).resolve().parents[1]
    cells = make_cells(
        read_table(files.results),
        read_table(files.timings),
        [Item(**item) for item in params.shown],
        repository / "data" / "published",
        **params.study,
    )
    write_table(snakemake.output[0], cells)
