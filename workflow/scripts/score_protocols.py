"""Score every protocol of a search, with controls, and keep what claims and tables need."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    import pandas as pd

    from fedmix.cells.protocols import controls, findings, kept, score
    from fedmix.storage import concatenate, read_table, write_text

    files, space, target = snakemake.input, snakemake.params.space, snakemake.wildcards.target
    published = Path(snakemake.scriptdir).resolve().parents[1] / "data" / "published"
    printed = score.printed_cells(space, snakemake.params.tables, published)
    printed = {table: printed[table] for table in space.targets[target]}

    trials = score.read_trials(files.trials)
    runs = {"drawn": concatenate(files.drawn), "tried": concatenate(files.tried)}
    runs |= {kind: read_table(files[kind]) for kind in ("compared", "judged")}
    design = score.read_protocols(files.design)
    scores = score.score_search(space, design, trials, runs, printed)
    drawn = scores[scores["kind"] == "drawn"]
    parts = {
        "leads": controls.leads_where_others_are_near(scores),
        "priors": controls.under_priors(space, drawn),
        "shares": pd.concat(
            findings.variance_shares(space, str(table), own)
            for table, own in drawn.groupby("table", sort=False)
        ),
        "permuted": controls.permuted(space, runs["drawn"], printed),
        "held_out": controls.held_out(space, runs["drawn"], printed),
    }
    words = findings.in_words(space, target, scores, **parts)
    cells = score.judged_cells(scores, runs["judged"], printed)
    for name, part in {"scores": scores, "judged": cells, **parts}.items():
        write_text(snakemake.output[name], part.to_csv(index=False))
    write_text(snakemake.output.words, "\n".join(f"- {sentence}" for sentence in words) + "\n")
    whole = kept.keep(space, design, runs["drawn"], scores, cells)
    kept.write_search(Path(snakemake.output.runs).parent, whole)
