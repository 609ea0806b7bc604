"""Distribute data to clients, for every replication of a block."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.data import check_embedding
    from fedmix.experiments.runner import make_problems, read_scenario
    from fedmix.pipeline.plan import replications_of
    from fedmix.storage import write_arrays

    scenario = read_scenario(snakemake.params.scenario, snakemake.input.get("data"))
    if scenario.data is not None:
        check_embedding(scenario.data, snakemake.params.shape, snakemake.input.data)
    replications = replications_of(snakemake.wildcards.block)
    write_arrays(snakemake.output[0], make_problems(scenario, replications))
