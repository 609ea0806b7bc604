"""Reduce one data set to the features that the methods see."""

from fedmix.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.data import load_dataset, save_dataset
    from fedmix.embed import embed_dataset

    data = load_dataset(snakemake.input[0])
    embedded, details = embed_dataset(data, snakemake.params.spec, threads=snakemake.threads)
    save_dataset(snakemake.output[0], embedded, details)
