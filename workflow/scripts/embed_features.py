"""Reduce one data set to the features that the methods see."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    import logging

    import numpy as np

    from fedmix.embed import embed
    from fedmix.storage import read_arrays, sha256_of, write_arrays

    arrays = read_arrays(snakemake.input[0])
    result = embed(
        dict(snakemake.params.spec),
        arrays["features"].astype(np.float64),
        threads=snakemake.threads,
        callback=logging.getLogger("fedmix.embed").info,
    )
    arrays["features"] = result.embedding
    details = {**result.details, "input_sha256": sha256_of(snakemake.input[0])}
    arrays["details"] = np.array(json.dumps(details, sort_keys=True))
    write_arrays(snakemake.output[0], arrays)
