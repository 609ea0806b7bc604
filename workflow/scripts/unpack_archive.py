"""Unpack the collected results of an archive, checked."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import logging

    from fedmix.pipeline import archive

    others = archive.extract(snakemake.input[0], ".", snakemake.output)
    if others:
        logging.info("not part of this request, and not unpacked: %s", ", ".join(others))
