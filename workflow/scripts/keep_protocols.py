"""Keep the parts of a search that claims and tables need."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    import pandas as pd

    from fedmix.cells.protocols.design import read_design
    from fedmix.cells.protocols.kept import keep
    from fedmix.storage import concatenate, write_text

    files = snakemake.input
    by_table = [
        {Path(path).parent.name: pd.read_csv(path, keep_default_na=False) for path in paths}
        for paths in (files.scores, files.nearest)
    ]
    parts = keep(
        snakemake.params.space, read_design(files.design), concatenate(files.first), *by_table
    )
    for name, part in parts.items():
        write_text(snakemake.output[name], part.to_csv(index=False))
