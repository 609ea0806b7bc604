"""Collect settings from blocks and evidence, check them, and summarize them in cells."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    from pathlib import Path

    from fedmix.cells.frame import cells_of
    from fedmix.cells.items import Item
    from fedmix.cells.measured import measure
    from fedmix.pipeline.collect import collect_settings, count_outcomes
    from fedmix.storage import stacked, write_table, write_text

    params, output, config = snakemake.params, snakemake.output, snakemake.config
    repository = Path(snakemake.scriptdir).resolve().parents[1]
    kept = repository / config["evidence"] if config["evidence"] else None
    collected = collect_settings(params.settings, kept, config["partial"])
    results, timings = zip(*collected, strict=True)
    whole = stacked(results)
    write_table(output.results, whole)
    write_table(output.timings, stacked(timings))
    ended = count_outcomes(whole)
    outcomes = [
        {
            "setting": folder,
            "variant": setting["scenario"]["variant"],
            "methods": ended.get(folder, {}),
        }
        for folder, setting in params.settings.items()
    ]
    write_text(output.outcomes, json.dumps(outcomes, indent=1, sort_keys=True) + "\n")
    labels, roles, paper = (params.study[name] for name in ("labels", "roles", "paper"))
    measured = measure([tables for tables in collected if len(tables[0])], labels)
    shown = [Item(**item) for item in params.shown.values()]
    cells = cells_of(measured, shown, repository / "data" / "published", paper, roles)
    write_table(output.cells, stacked([cells]))
