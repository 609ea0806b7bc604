"""Collect all methods and blocks of one setting, check them, and summarize them in cells."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    from pathlib import Path

    from fedmix.cells.frame import make_cells
    from fedmix.cells.items import Item
    from fedmix.pipeline.blocks import read_blocks
    from fedmix.pipeline.provenance import keys_of
    from fedmix.pipeline.status import count_outcomes
    from fedmix.storage import write_table, write_text

    files, params, output = snakemake.input, snakemake.params, snakemake.output
    data = files.get("data")  # nothing for a simulation
    keys = keys_of(params.scenario, params.experiment, data, params.methods, params.sources)
    partial = snakemake.config["partial"]
    results, timings = read_blocks(files.results, params.replications, keys, partial)
    write_table(output.results, results)
    write_table(output.timings, timings)
    outcomes = json.dumps(count_outcomes(results), indent=1, sort_keys=True)
    write_text(output.outcomes, outcomes + "\n")
    shown = [Item(**item) for item in params.shown]
    published = Path(snakemake.scriptdir).resolve().parents[1] / "data" / "published"
    write_table(output.cells, make_cells(results, timings, shown, published, **params.study))
