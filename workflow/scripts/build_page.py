"""Build the page from the cells, what is judged by them, and the figures."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    from pathlib import Path

    from fedmix.cells.frame import read_cells
    from fedmix.storage import concatenate, read_records
    from fedmix.views.page import Figure, PageContext, build_page
    from fedmix.views.page.run_description import count_failures, read_description

    results = concatenate(snakemake.input.results)
    provenance = read_description(snakemake.input.run)
    if snakemake.params.left_out:
        provenance["Left out"] = "; ".join(snakemake.params.left_out)
    context = PageContext(
        cells=read_cells([snakemake.input.cells]),
        **read_records(snakemake.input.audit),
        papers=snakemake.params.papers,
        tables=snakemake.params.tables,
        figures=[Figure(**figure) for figure in snakemake.params.figures],
        provenance=provenance,
        preset=snakemake.params.preset,
        failures=count_failures(results),
        explanations=json.loads(Path(snakemake.input.explanations[0]).read_text(encoding="utf-8")),
    )
    build_page(context, snakemake.output[0])
