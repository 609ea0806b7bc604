"""Run the methods of a setting on a block of replications."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.data.dataset import check_embedding
    from fedmix.experiments.base import Method
    from fedmix.experiments.runner import read_scenario, run_block
    from fedmix.pipeline.blocks import KeptFits, write_block
    from fedmix.pipeline.evidence import Evidence
    from fedmix.pipeline.plan import replications_of
    from fedmix.pipeline.provenance import keys_of
    from fedmix.storage import sha256_of

    params, block = snakemake.params, snakemake.wildcards.block
    data = snakemake.input.get("data")  # nothing for a simulation
    scenario = read_scenario(params.scenario, data)
    if data:
        check_embedding(scenario.data, params.shape, data)
    digest = sha256_of(data) if data else None
    keys = keys_of(params.scenario, params.experiment, digest, params.methods, params.sources)
    methods = [Method(**method) for method in params.methods]

    path = Path(snakemake.output.results).resolve()  # a plug-in may change the working folder
    repository, config = Path(snakemake.scriptdir).resolve().parents[1], snakemake.config
    evidence = Evidence(repository / config["evidence"] if config["evidence"] else None)
    kept = evidence.rows(scenario.study, [path.parent.name])
    fits = KeptFits(path.parent, block, keys, kept, params.limit)
    run_block(scenario, methods, replications_of(block), params.limit, fits)
    write_block(path, scenario, methods, fits, keys)
    fits.close()
