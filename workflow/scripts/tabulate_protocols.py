"""Put the scores of all targets of a search into one table."""

from pathlib import Path

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import pandas as pd

    from fedmix.revision import commit
    from fedmix.storage import write_text

    parts = {Path(p).parent.name: pd.read_csv(p, keep_default_na=False) for p in snakemake.input}
    table = pd.concat(parts, names=["target"]).droplevel(1).reset_index()
    table = table.assign(preset=snakemake.params.preset, commit=commit())
    write_text(snakemake.output[0], table.to_csv(index=False))
