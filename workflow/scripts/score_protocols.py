"""Score all protocols of a target, and write and draw what the search found."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    import pandas as pd

    from fedmix.cells.protocols import findings, kept, score
    from fedmix.storage import concatenate, write_text
    from fedmix.views.figures.protocols import draw_search

    files, output, params = snakemake.input, snakemake.output, snakemake.params
    space, target = params.space, snakemake.wildcards.target
    published = Path(snakemake.scriptdir).resolve().parents[1] / "data" / "published"
    printed = score.printed_cells(space, params.tables, published)
    printed = {table: printed[table] for table in space.targets[target]}

    design = score.read_protocols(files.design)
    trials = pd.concat(map(score.read_protocols, files.trials), ignore_index=True)
    drawn = concatenate(files.drawn)
    by_kind = concatenate(files.runs).groupby("kind")
    searched = {kind: own.drop(columns="kind") for kind, own in by_kind}
    scores = score.score_search(space, design, trials, {"drawn": drawn, **searched}, printed)
    judged = score.judged_cells(scores, searched["judged"], printed)
    found = findings.find(space, scores, drawn, printed)

    for name, part in {"scores": scores, "judged": judged, **found}.items():
        write_text(output[name], part.to_csv(index=False))
    words = findings.in_words(space, target, scores, found)
    write_text(output.words, "".join(f"- {sentence}\n" for sentence in words))
    whole = kept.keep(space, design, drawn, scores, judged)
    kept.write_search(Path(output.words).parent, whole)
    parts = {"scores": scores, "judged": judged, "shares": found["shares"], "trials": trials}
    draw_search(space, params.tables, parts, output.figures, params.preset)
