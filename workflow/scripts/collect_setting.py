"""Collect all methods and blocks of one setting, check them, and summarize them in cells."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    from pathlib import Path

    from fedmix.cells.frame import make_cells
    from fedmix.cells.items import Item
    from fedmix.pipeline.blocks import read_blocks
    from fedmix.pipeline.status import count_outcomes
    from fedmix.storage import write_table, write_text

    partial = snakemake.config["partial"]
    collected = {}
    for kind in ("results", "timings"):
        files = snakemake.input[kind]
        collected[kind] = read_blocks(files, snakemake.params.replications, partial)
        write_table(snakemake.output[kind], collected[kind])
    outcomes = json.dumps(count_outcomes(collected["results"]), indent=1, sort_keys=True)
    write_text(snakemake.output.outcomes, outcomes + "\n")
    shown = [Item(**item) for item in snakemake.params.shown]
    published = Path(snakemake.scriptdir).resolve().parents[1] / "data" / "published"
    cells = make_cells(*collected.values(), shown, published, **snakemake.params.study)
    write_table(snakemake.output.cells, cells)
