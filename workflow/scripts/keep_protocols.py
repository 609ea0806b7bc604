"""Keep the parts of a search that claims and tables need."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.cells.protocols.drawing import read_protocols
    from fedmix.cells.protocols.kept import keep
    from fedmix.cells.protocols.score import read_part
    from fedmix.storage import concatenate, write_table, write_text

    files, space = snakemake.input, snakemake.params.space
    by_table = [
        {Path(path).parent.name: read_part(path, space) for path in paths}
        for paths in (files.scores, files.judged)
    ]
    design, drawn = read_protocols(files.design), concatenate(files.drawn)
    parts = keep(space, design, drawn, *by_table)
    write_text(snakemake.output.protocols, parts["protocols"].to_csv(index=False))
    write_table(snakemake.output.runs, parts["runs"])
