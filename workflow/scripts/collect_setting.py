"""Gather all methods and blocks of one setting, each of which must be whole."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json

    import pandas as pd

    from fedmix.pipeline.blocks import read_block
    from fedmix.pipeline.outcome import count_outcomes
    from fedmix.storage import write_table, write_text

    for kind in ("timings", "results"):
        blocks = [read_block(path) for path in snakemake.input[kind]]
        collected = pd.concat(blocks, ignore_index=True) if blocks else pd.DataFrame()
        write_table(snakemake.output[kind], collected)
    outcomes = json.dumps(count_outcomes(collected), indent=1, sort_keys=True)  # of the results
    write_text(snakemake.output.outcomes, outcomes + "\n")
