"""Build the pages from the cells, the verdicts and the figures."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.views.page.build import build_pages
    from fedmix.views.page.contents import read_context

    files = snakemake.input
    context = read_context(
        files.cells, files.audit, files.run, files.explanations, **snakemake.params.shown
    )
    build_pages(context, snakemake.output.index)
