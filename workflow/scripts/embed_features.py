"""Reduce one data set to the features that the methods see, or take a kept embedding."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    import logging
    import shutil
    from pathlib import Path

    import numpy as np

    from fedmix.embed import embed
    from fedmix.pipeline.kept_embeddings import KEPT, kept_path
    from fedmix.storage import atomic_path, read_arrays, sha256_of, write_arrays

    params, output = snakemake.params, snakemake.output[0]
    if params.kept:
        repository = Path(snakemake.scriptdir).resolve().parents[1]
        evidence = repository / snakemake.config["evidence"]
        kept = kept_path(evidence, snakemake.wildcards.dataset, snakemake.wildcards.embedding)
        with atomic_path(output) as temporary:
            shutil.copyfile(kept, temporary)
    else:
        arrays = read_arrays(snakemake.input[0])
        result = embed(
            dict(params.spec),
            arrays["features"].astype(np.float64),
            threads=snakemake.threads,
            callback=logging.getLogger("fedmix.embed").info,
        )
        small = params.spec["kind"] in KEPT
        arrays["features"] = result.embedding.astype(np.float16 if small else np.float64)
        details = {**result.details, "input_sha256": sha256_of(snakemake.input[0])}
        arrays["details"] = np.array(json.dumps(details, sort_keys=True))
        write_arrays(output, arrays)
