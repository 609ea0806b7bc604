"""Unpack and check the collected results of an archive."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import logging

    from fedmix.pipeline import archive
    from fedmix.pipeline.blocks import read_collected

    others = archive.extract(snakemake.input[0], ".", snakemake.output)
    if others:
        logging.info("not part of this request, and not unpacked: %s", ", ".join(others))
    for path in snakemake.output:
        replications = snakemake.params.replications[path.rpartition("/")[0]]
        read_collected(path, replications, partial=snakemake.config["partial"])
