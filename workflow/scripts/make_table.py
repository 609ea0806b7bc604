"""Make one table as CSV, Markdown and LaTeX."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.views.tables.build import build_table

    repository = Path(snakemake.scriptdir).resolve().parents[1]
    printed = snakemake.params.printed

    build_table(
        snakemake.params.item,
        snakemake.input.results,
        snakemake.input.timings,
        snakemake.output,
        printed=str(repository / printed) if printed else None,
    )
