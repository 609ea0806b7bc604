"""Run the best protocol of each seed on all rows: to rank them, and on fresh replications."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.protocols.running import Runner
    from fedmix.cells.protocols.score import best_trials, read_trials
    from fedmix.storage import write_table

    params = snakemake.params
    runner = Runner(params.space, params.metrics, snakemake.input.data)
    best = best_trials(read_trials(snakemake.input.trials)).to_dict("records")
    compared, judged = params.space.compared_cells, params.space.judged_cells
    write_table(snakemake.output.compared, runner.run(best, compared(params.metrics)))
    write_table(snakemake.output.judged, runner.run(best, judged(params.metrics)))
