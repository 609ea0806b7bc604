"""Reduce one data set to the features that the methods see, or take a kept embedding."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    import logging
    import shutil
    from pathlib import Path

    import numpy as np

    from fedmix.data.fetching import load
    from fedmix.data.registry import DatasetEntry
    from fedmix.embed import embed
    from fedmix.pipeline.kept_embeddings import KEPT, kept_path
    from fedmix.storage import atomic_path, sha256_of, write_arrays

    params, output = snakemake.params, snakemake.output[0]
    if params.kept:
        repository = Path(snakemake.scriptdir).resolve().parents[1]
        evidence = repository / snakemake.config["evidence"]
        kept = kept_path(evidence, snakemake.wildcards.dataset, snakemake.wildcards.embedding)
        with atomic_path(output) as temporary:
            shutil.copyfile(kept, temporary)
    else:
        # The file may not come from fetch_data: Snakemake takes one that is already there.
        entry = DatasetEntry.from_mapping(snakemake.wildcards.dataset, params.entry)
        data = load(entry, Path(snakemake.input[0]).parent)
        result = embed(
            dict(params.spec),
            data.features,
            threads=snakemake.threads,
            callback=logging.getLogger("fedmix.embed").info,
        )
        small = params.spec["kind"] in KEPT
        features = result.embedding.astype(np.float16 if small else np.float64)
        arrays = {"features": features, "labels": data.labels}
        if data.groups is not None:
            arrays["groups"] = data.groups
        details = {**result.details, "input_sha256": sha256_of(snakemake.input[0])}
        arrays["details"] = np.array(json.dumps(details, sort_keys=True))
        write_arrays(output, arrays)
