"""Export the results of a run to docs/reproduction."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.storage import concatenate
    from fedmix.views.page.contents import read_context
    from fedmix.views.page.reproduction import export_reproduction

    files = snakemake.input
    shown = snakemake.params.shown
    context = read_context(files.cells, files.audit, files.run, **shown)
    folder = Path(snakemake.output[0]).parent
    timings = concatenate(files.timings)
    export_reproduction(folder, context, files.tables, timings, snakemake.params.stamp)
