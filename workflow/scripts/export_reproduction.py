"""Keep the outcome of a run under docs/reproduction."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.cells.frame import read_cells
    from fedmix.storage import read_records
    from fedmix.views.page.reproduction import export_reproduction
    from fedmix.views.page.run_description import read_description

    files = snakemake.input
    export_reproduction(
        Path(snakemake.output[0]).parent,
        read_cells([files.cells]),
        read_records(files.audit)["claims"],
        read_description(files.run),
        files.tables,
        [figure for figure in files.figures if figure.endswith(".svg")],
        command=snakemake.params.command,
    )
