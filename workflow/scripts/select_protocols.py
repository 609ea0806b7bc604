"""Choose the protocols that the next rung runs: the nearest to the print so far."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.cells.collect import concatenate
    from fedmix.cells.protocols.design import read_design, survivors
    from fedmix.cells.protocols.score import read_printed, score_tables
    from fedmix.storage import write_text

    space, wildcards = snakemake.params.space, snakemake.wildcards
    before = read_design(snakemake.input.chosen)
    printed = read_printed(space, snakemake.params.config, snakemake.params.published)
    runs = concatenate(snakemake.input.runs)
    scores = score_tables(space, runs[runs["protocol"].isin(before["protocol"])], printed)
    kept = survivors(scores, space.rungs[int(wildcards.rung)].protocols)
    chosen = before[before["protocol"].isin(kept)]
    write_text(snakemake.output[0], chosen.to_csv(index=False))
