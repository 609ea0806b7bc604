"""Run the methods of a setting on a block of replications."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.data import check_embedding
    from fedmix.experiments.base import Method
    from fedmix.experiments.runner import read_scenario, run_block
    from fedmix.pipeline.blocks import KeptFits, write_block
    from fedmix.pipeline.plan import replications_of
    from fedmix.pipeline.provenance import keys_of

    params, block = snakemake.params, snakemake.wildcards.block
    data = snakemake.input.get("data")  # nothing for a simulation
    scenario = read_scenario(params.scenario, data)
    if data:
        check_embedding(scenario.data, params.shape, data)
    keys = keys_of(params.scenario, params.experiment, data, params.methods, params.sources)
    methods = [Method(**method) for method in params.methods]

    path = Path(snakemake.output.results).resolve()  # a plug-in may change the working folder
    fits = KeptFits(path.parent, block, keys)
    timeout = snakemake.config["replication_timeout"]
    run_block(scenario, methods, replications_of(block), timeout, fits)
    write_block(path, scenario, methods, fits, keys)
    fits.close()
