"""Run a block of protocols on one table."""

from pathlib import Path

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import pandas as pd

    from fedmix.cells.protocols.design import read_design
    from fedmix.data.dataset import load_dataset
    from fedmix.pipeline.plan import replications_of
    from fedmix.protocols import Bench
    from fedmix.storage import write_table

    params, wildcards = snakemake.params, snakemake.wildcards
    space, table = params.space, wildcards.table
    own = read_design(snakemake.input.chosen).iloc[list(replications_of(wildcards.block))]
    files = map(Path, snakemake.input.data)
    data = {(path.parent.name, path.stem): load_dataset(path) for path in files}
    # Protocols from earlier rungs have run a part already.
    new = own["entered"] == wildcards.rung
    setting = space.tables[table].setting
    bench = Bench(space.experiment, space.study, space.row, setting, params.metrics)
    runs = [
        bench.run([space.protocol(table, row) for row in some.to_dict("records")], cells, data)
        for some, cells in ((own[~new], params.cells), (own[new], params.grid))
    ]
    result = pd.concat([part for part in runs if len(part)] or runs[:1], ignore_index=True)
    result.insert(0, "table", table)
    write_table(snakemake.output[0], result)
