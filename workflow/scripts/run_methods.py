"""Run the methods of a setting on a block of replications."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.data import check_embedding
    from fedmix.experiments.base import Method
    from fedmix.experiments.runner import read_scenario, run_block
    from fedmix.pipeline.blocks import KeptFits, key_of, write_block
    from fedmix.pipeline.plan import replications_of
    from fedmix.storage import sha256_of

    params, block = snakemake.params, snakemake.wildcards.block
    data = snakemake.input.get("data")  # nothing for a simulation
    scenario = read_scenario(params.scenario, data)
    if data:
        check_embedding(scenario.data, params.shape, data)
    common = [params.scenario, params.experiment, sha256_of(data) if data else None]
    keys = {m["name"]: key_of(*common, m, params.sources[m["name"]]) for m in params.methods}
    methods = [Method(**method) for method in params.methods]

    path = Path(snakemake.output.results)
    fits = KeptFits(path.parent, block, keys)
    timeout = snakemake.config["replication_timeout"]
    run_block(scenario, methods, replications_of(block), timeout, fits)
    write_block(path, scenario, methods, fits, keys)
    fits.close()
