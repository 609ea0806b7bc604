"""Pack the results of a run as evidence, with a description of the run and its RO-Crate."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    from pathlib import Path

    from fedmix.pipeline.archive import DOCUMENTS, METADATA, describe_crate, make
    from fedmix.pipeline.request import read_request
    from fedmix.storage import concatenate
    from fedmix.views.page.words import describe_run

    params = snakemake.params
    repository = Path(snakemake.scriptdir).resolve().parents[1]
    request = read_request(repository / "config", snakemake.config).in_all()
    timings = concatenate(snakemake.input.timings)
    run = describe_run(params.options, timings)
    ended = max(json.loads(made)["date"] for made in timings["made"].unique())
    files = {study: f"evidence/{study}.parquet" for study in request.studies}
    items = {
        name: {
            "title": f"{request.papers[item.paper].title}: {item.title or name}",
            "files": [files[item.study]],
        }
        for name, item in request.items.items()
    }
    metadata = describe_crate(list(files.values()), items, params.datasets, run, ended)
    documents = {name: (repository / path).read_bytes() for name, path in DOCUMENTS.items()}
    documents[METADATA] = json.dumps(metadata, indent=1).encode()
    make(request, Path(), snakemake.output[0], documents)
