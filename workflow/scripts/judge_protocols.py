"""Run the best protocol of each seed on fresh replications of all rows."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.protocols.running import Runner
    from fedmix.cells.protocols.score import best_trials, read_trials
    from fedmix.storage import write_table

    params = snakemake.params
    runner = Runner(params.space, params.metrics, snakemake.input.data)
    best = best_trials(read_trials(snakemake.input.trials))
    cells = params.space.judged_cells(params.metrics)
    write_table(snakemake.output[0], runner.run(best.to_dict("records"), cells))
