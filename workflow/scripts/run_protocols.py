"""Run a block of protocols on one table."""

from pathlib import Path

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.protocols.design import read_design
    from fedmix.data import load_dataset
    from fedmix.experiments.protocols import run_protocols
    from fedmix.pipeline.plan import replications_of
    from fedmix.storage import write_table

    space, table = snakemake.params.space, snakemake.wildcards.table
    own = replications_of(snakemake.wildcards.block)
    chosen = read_design(snakemake.input.chosen).iloc[list(own)]
    runs = run_protocols(
        space.study,
        space.tables[table].setting,
        [space.protocol(table, row) for row in chosen.to_dict("records")],
        snakemake.params.cells,
        {Path(path).stem: load_dataset(path) for path in snakemake.input.data},
    )
    runs.insert(0, "table", table)
    write_table(snakemake.output[0], runs)
