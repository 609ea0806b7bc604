"""Pack the results of a run as evidence, with a description of the run and its RO-Crate."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    from pathlib import Path

    from fedmix.pipeline import keep
    from fedmix.pipeline.request import read_request
    from fedmix.storage import concatenate
    from fedmix.views.page.contents import describe_run

    params = snakemake.params
    repository = Path(snakemake.scriptdir).resolve().parents[1]
    request = read_request(repository / "config", snakemake.config).in_all()
    evidence = keep.evidence_files(request, Path())
    timings = concatenate(snakemake.input.timings)
    run = describe_run(params.options, timings)
    ended = max(json.loads(made)["date"] for made in timings["made"].unique())
    names = {study: f"evidence/{study}.parquet" for study in request.studies}
    results = {study: name for study, name in names.items() if name in evidence}
    items = {
        name: {
            "title": f"{request.papers[item.paper].title}: {item.title or name}",
            "files": [results[item.study]],
        }
        for name, item in request.items.items()
        if item.study in results
    }
    metadata = keep.describe_crate(list(results.values()), items, params.datasets, run, ended)
    files = {name: (repository / path).read_bytes() for name, path in keep.DOCUMENTS.items()}
    files[keep.METADATA] = json.dumps(metadata, indent=1).encode()
    keep.write_zip(snakemake.output[0], {**files, **evidence})
