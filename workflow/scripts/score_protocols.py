"""Score every protocol of a search, with controls, and keep what claims and tables need."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    import pandas as pd

    from fedmix.cells.protocols.controls import (
        held_out,
        leads_where_others_are_near,
        permuted,
        under_priors,
    )
    from fedmix.cells.protocols.findings import in_words, variance_shares
    from fedmix.cells.protocols.kept import keep, write_search
    from fedmix.cells.protocols.score import (
        judged_cells,
        printed_cells,
        read_protocols,
        read_trials,
        score_search,
    )
    from fedmix.storage import concatenate, read_table, write_text

    files, space, target = snakemake.input, snakemake.params.space, snakemake.wildcards.target
    published = Path(snakemake.scriptdir).resolve().parents[1] / "data" / "published"
    printed = printed_cells(space, snakemake.params.tables, published)
    printed = {table: printed[table] for table in space.targets[target]}

    trials = read_trials(files.trials)
    runs = {"drawn": concatenate(files.drawn), "tried": concatenate(files.tried)}
    runs |= {kind: read_table(files[kind]) for kind in ("compared", "judged")}
    design = read_protocols(files.design)
    scores = score_search(space, design, trials, runs, printed)
    drawn = scores[scores["kind"] == "drawn"]
    parts = {
        "leads": leads_where_others_are_near(scores),
        "priors": under_priors(space, drawn),
        "shares": pd.concat(
            variance_shares(space, str(table), own)
            for table, own in drawn.groupby("table", sort=False)
        ),
        "permuted": permuted(space, runs["drawn"], printed),
        "held_out": held_out(space, runs["drawn"], printed),
    }
    words = in_words(space, target, scores, **parts)
    cells = judged_cells(scores, runs["judged"], printed)
    for name, part in {"scores": scores, "judged": cells, **parts}.items():
        write_text(snakemake.output[name], part.to_csv(index=False))
    write_text(snakemake.output.words, "\n".join(f"- {sentence}" for sentence in words) + "\n")
    kept = keep(space, design, runs["drawn"], scores, cells)
    write_search(Path(snakemake.output.runs).parent, kept)
