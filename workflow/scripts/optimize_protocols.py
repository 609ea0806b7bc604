"""Search for the protocol that gives some tables, from one seed."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.cells.protocols.running import Runner, optimize
    from fedmix.cells.protocols.score import printed_cells
    from fedmix.storage import write_table, write_text

    params = snakemake.params
    published = Path(snakemake.scriptdir).resolve().parents[1] / "data" / "published"
    printed = printed_cells(params.space, params.tables, published)
    runner = Runner(params.space, params.metrics, snakemake.input.data)
    trials, runs = optimize(params.space, runner, printed, int(snakemake.wildcards.seed))
    write_table(snakemake.output.runs, runs)
    write_text(snakemake.output.trials, trials.to_csv(index=False))
