"""Pack the collected results with checksums, a description of the run, and its RO-Crate."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    import json
    from datetime import UTC, datetime
    from pathlib import Path

    from fedmix.pipeline import archive
    from fedmix.pipeline.crate import DOCUMENTS, METADATA, describe_crate
    from fedmix.storage import concatenate
    from fedmix.views.page.words import describe_run

    files, params = snakemake.input, snakemake.params
    repository = Path(snakemake.scriptdir).resolve().parents[1]
    collected = [*files.results, *files.timings]
    run = describe_run(params.options, concatenate(files.timings))
    newest = max(Path(path).stat().st_mtime for path in collected)
    ended = datetime.fromtimestamp(newest, UTC).isoformat(timespec="seconds")
    metadata = describe_crate(collected, params.shown, params.datasets, run, ended)
    documents = {name: (repository / path).read_bytes() for name, path in DOCUMENTS.items()}
    documents[METADATA] = json.dumps(metadata, indent=1).encode()
    about = {"options": params.options, "run": run}
    archive.make(collected, snakemake.output[0], about=about, documents=documents)
