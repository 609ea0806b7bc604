"""Run one method on one setting for a block of replications."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.experiments.base import Method
    from fedmix.experiments.runner import read_scenario, run_block
    from fedmix.pipeline.plan import replications_of
    from fedmix.pipeline.progress import report
    from fedmix.storage import read_arrays, write_table

    initial = snakemake.input.get("initial")  # nothing where the experiment has none
    results, timings = run_block(
        read_scenario(snakemake.params.scenario, snakemake.input.get("data")),
        Method(**snakemake.params.method),
        read_arrays(snakemake.input.partition),
        read_arrays(initial) if initial else {},
        replications_of(snakemake.wildcards.block),
        timeout=snakemake.config["replication_timeout"],
    )
    write_table(snakemake.output.timings, timings)
    write_table(snakemake.output.results, results)
    wildcards = snakemake.wildcards
    cell = f"{wildcards.study}/{wildcards.setting}/{wildcards.method}"
    report(snakemake.params.progress, cell, timings["status"].tolist())
