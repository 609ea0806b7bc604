"""Pack the collected results, with checksums and what the run was."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.pipeline import archive
    from fedmix.storage import concatenate
    from fedmix.views.page.run_description import describe_run

    timings = concatenate(snakemake.input.timings)
    options = snakemake.params.options
    about = {"options": options, "run": describe_run(options, timings)}
    archive.make(
        [*snakemake.input.results, *snakemake.input.timings], snakemake.output[0], about=about
    )
