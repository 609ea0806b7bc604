"""Run a block of drawn protocols on one table."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.protocols.running import Runner
    from fedmix.cells.protocols.score import read_protocols
    from fedmix.pipeline.plan import replications_of
    from fedmix.storage import write_table

    params, wildcards = snakemake.params, snakemake.wildcards
    space, table = params.space, wildcards.table
    own = read_protocols(snakemake.input.design).iloc[list(replications_of(wildcards.block))]
    runner = Runner(space, params.metrics, snakemake.input.data)
    runs = runner.run(own.to_dict("records"), {table: space.drawn_cells(table)})
    write_table(snakemake.output[0], runs)
