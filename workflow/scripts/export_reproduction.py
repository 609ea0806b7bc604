"""Export the results of a run to docs/reproduction."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.pipeline.forecast import against_lines, benchmark, read_actual
    from fedmix.pipeline.request import read_request
    from fedmix.storage import concatenate
    from fedmix.views.page import read_context
    from fedmix.views.page.reproduction import draw_sample, export_reproduction

    files = snakemake.input
    context = read_context(
        files.cells,
        files.audit,
        files.explanations,
        files.run,
        files.results,
        **snakemake.params.shown,
    )
    folder = Path(snakemake.output[0]).parent
    sample = draw_sample(concatenate(files.results), concatenate(files.timings))
    repository = Path(snakemake.scriptdir).resolve().parents[1]
    request = read_request(repository / "config", snakemake.config).in_all()
    costs = against_lines(request, read_actual(request, Path("results")), benchmark())
    command = snakemake.params.command
    export_reproduction(folder, context, files.tables, sample, files.data, costs, command)
