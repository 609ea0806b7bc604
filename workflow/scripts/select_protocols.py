"""Select the protocols of the next rung: the nearest to the published values, and variations."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    import pandas as pd

    from fedmix.cells.protocols.design import read_design, survivors, vary
    from fedmix.cells.protocols.score import printed_cells, score_tables
    from fedmix.storage import concatenate, write_text

    space, rung = snakemake.params.space, int(snakemake.wildcards.rung)
    before = read_design(snakemake.input.chosen)
    published = Path(snakemake.scriptdir).resolve().parents[1] / "data" / "published"
    printed = printed_cells(space, snakemake.params.tables, published)
    runs = concatenate(snakemake.input.runs)
    scores = score_tables(space, runs[runs["protocol"].isin(before["protocol"])], printed)
    nearest = survivors(scores, space.rungs[rung].protocols)
    kept = before.set_index("protocol", drop=False).loc[nearest]
    chosen = pd.concat([kept, vary(space, kept, rung, space.targets[snakemake.wildcards.target])])
    write_text(snakemake.output[0], chosen.to_csv(index=False))
