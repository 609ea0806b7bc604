"""Copy the kept files of a search's target into the repository, with its findings and figures."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix.views.figures.build import copy_light

    folder = Path(snakemake.output[0])
    folder.mkdir(parents=True)
    for path in map(Path, snakemake.input):
        copy_light(path, folder / path.name)
