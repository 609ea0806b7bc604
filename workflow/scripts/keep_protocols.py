"""Keep the parts of a search that claims and tables need."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.cells.protocols.drawing import read_protocols
    from fedmix.cells.protocols.kept import keep, write_search
    from fedmix.cells.protocols.score import read_part
    from fedmix.storage import concatenate

    files, space = snakemake.input, snakemake.params.space
    by_table = [
        {Path(path).parent.name: read_part(path, space) for path in paths}
        for paths in (files.scores, files.judged)
    ]
    design, drawn = read_protocols(files.design), concatenate(files.drawn)
    write_search(Path(snakemake.output.runs).parent, keep(space, design, drawn, *by_table))
