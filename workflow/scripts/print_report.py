"""Print the status or the forecast of the request."""

from fedmix.__main__ import main
from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    options = [
        f"{key}={'null' if value is None else value}"
        for key, value in snakemake.params.options.items()
    ]
    main([snakemake.rule, "--workflow", snakemake.params.workflow, "--config", *options])
