"""Put every printed cell, claim and discrepancy to the results."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix import cells as audit
    from fedmix.cells.collect import concatenate
    from fedmix.cells.discrepancies import to_markdown
    from fedmix.cells.evidence import of_variants
    from fedmix.cells.papers import read_papers
    from fedmix.storage import write_records, write_text

    files, params = snakemake.input, snakemake.params
    results, timings = concatenate(files.results), concatenate(files.timings)
    repository = Path(snakemake.scriptdir).resolve().parents[1]
    papers = read_papers(repository / "config")
    mapping = audit.read_mapping(papers)
    printed = audit.load(repository / "data" / "published", mapping)

    cells = audit.audit_cells(results, timings, printed, mapping["stand_ins"], params.diagnostic)
    deciding = (rows[~of_variants(rows, params.diagnostic)] for rows in (results, timings))
    parts = {
        "cells": cells,
        "ranks": audit.rank_agreement(cells),
        "claims": audit.evaluate_claims(audit.read_claims(papers), *deciding),
        "discrepancies": audit.measure_discrepancies(
            audit.read_discrepancies(papers), results, timings
        ),
    }
    for name, part in parts.items():
        write_text(snakemake.output[name], part.to_csv(index=False))
    write_text(snakemake.output.register, to_markdown(parts["discrepancies"], papers))
    write_records(snakemake.output.whole, parts)
