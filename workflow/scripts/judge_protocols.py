"""Run the best protocol of each seed on all rows: to rank them, and on fresh replications."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.protocols.running import Runner
    from fedmix.cells.protocols.score import best_trials, read_trials
    from fedmix.cells.protocols.space import COMPARED, JUDGED
    from fedmix.storage import write_table

    params = snakemake.params
    runner = Runner(params.space, params.metrics, snakemake.input.data)
    best = best_trials(read_trials(snakemake.input.trials)).to_dict("records")
    for kind in (COMPARED, JUDGED):
        runs = runner.run(best, params.space.cells(kind, params.metrics))
        write_table(snakemake.output[kind], runs)
