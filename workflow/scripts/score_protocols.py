"""Score every protocol of a search, with controls and the shares of variance of choices."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    import pandas as pd

    from fedmix.cells.protocols.controls import held_out, permuted
    from fedmix.cells.protocols.design import read_design
    from fedmix.cells.protocols.outcome import nearest_cells, rank_protocols, told_apart
    from fedmix.cells.protocols.score import printed_cells, score_tables
    from fedmix.cells.protocols.shares import variance_shares
    from fedmix.cells.protocols.words import in_words
    from fedmix.storage import concatenate, read_table, write_text

    files, space, target = snakemake.input, snakemake.params.space, snakemake.wildcards.target
    published = Path(snakemake.scriptdir).resolve().parents[1] / "data" / "published"
    printed = printed_cells(space, snakemake.params.tables, published)
    printed = {table: printed[table] for table in space.targets[target]}

    def _read(path, reader):
        return told_apart(reader(path), Path(path).parts[3], target)

    chosen = [read_design(files.design)]
    for rung in range(1, len(space.rungs)):
        own = [path for path in files.chosen if Path(path).stem == f"rung{rung}"]
        chosen.append(pd.concat(_read(path, read_design) for path in own))
    first_runs = concatenate(files.first)
    runs = pd.concat([first_runs, *(_read(path, read_table) for path in files.later)])
    fit = [name for name in runs if name != "value"]
    runs = runs.drop_duplicates(fit, ignore_index=True)

    ranked = rank_protocols(space, runs, printed, chosen)
    first = score_tables(space, first_runs, printed).merge(chosen[0], on="protocol")
    parts = {
        "scores": ranked,
        "first": first,
        "nearest": nearest_cells(ranked, runs, printed),
        "held_out": held_out(runs[runs["protocol"].isin(chosen[1]["protocol"])], printed),
        "permuted": permuted(first_runs, printed),
        "shares": pd.concat(
            variance_shares(space, str(table), own)
            for table, own in first.groupby("table", sort=False)
        ),
    }
    for name, part in parts.items():
        write_text(snakemake.output[name], part.to_csv(index=False))
    words = in_words(
        space, target, first, *(parts[n] for n in ("scores", "held_out", "permuted", "shares"))
    )
    write_text(snakemake.output.words, "\n".join(f"- {sentence}" for sentence in words) + "\n")
