"""Run the methods of a setting on a block of replications."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.data import check_embedding
    from fedmix.experiments.base import Method
    from fedmix.experiments.runner import read_scenario, run_block, tables_of
    from fedmix.pipeline.kept import KeptFits, key_of, write_block
    from fedmix.pipeline.plan import replications_of
    from fedmix.pipeline.progress import report
    from fedmix.storage import sha256_of

    params, wildcards = snakemake.params, snakemake.wildcards
    data = snakemake.input.get("data")  # nothing for a simulation
    scenario = read_scenario(params.scenario, data)
    if data:
        check_embedding(scenario.data, params.shape, data)
    common = [params.scenario, params.experiment, sha256_of(data) if data else None]
    keys = {m["name"]: key_of(*common, m, params.sources[m["name"]]) for m in params.methods}
    methods = [Method(**method) for method in params.methods]
    replications = replications_of(wildcards.block)

    folder = Path("results", wildcards.study, wildcards.setting)
    fits = KeptFits(folder, wildcards.block, keys)
    run_block(scenario, methods, replications, snakemake.config["replication_timeout"], fits)
    for method in methods:
        tables = tables_of(scenario, method, fits, replications)
        write_block(folder / method.name / f"{wildcards.block}.parquet", *tables, keys[method.name])
    fits.close()
    statuses = [fits[method.name, r].timing["status"] for method in methods for r in replications]
    report(params.progress, f"{wildcards.study}/{wildcards.setting}", statuses)
