"""Put the scores of all targets of a search into one table."""

from pathlib import Path

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import pandas as pd

    from fedmix.revision import commit
    from fedmix.storage import write_text

    parts = []
    for path in snakemake.input:
        part = pd.read_csv(path, keep_default_na=False)
        part.insert(0, "target", Path(path).parent.name)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(preset=snakemake.params.preset, commit=commit())
    write_text(snakemake.output[0], table.to_csv(index=False))
