"""Put every printed cell, claim and discrepancy to the results."""

from fedmix.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from pathlib import Path

    from fedmix import audit, published
    from fedmix.audit.discrepancies import to_markdown
    from fedmix.audit.evidence import of_variants
    from fedmix.storage import write_records, write_text
    from fedmix.tables.collect import concatenate

    files = snakemake.input
    schemas = Path(files.claims).parents[1] / "workflow" / "schemas"
    results, timings = concatenate(files.results), concatenate(files.timings)
    printed = published.load(Path(files.published[0]).parent, files.mapping)
    claims = audit.read_claims(files.claims, schemas / "claims.schema.yaml")
    register = audit.read_discrepancies(files.discrepancies, schemas / "discrepancies.schema.yaml")

    stand_ins = published.read_mapping(files.mapping)["stand_ins"]
    diagnostic = snakemake.params.diagnostic
    cells = audit.audit_cells(results, timings, printed, stand_ins, diagnostic)
    deciding = (rows[~of_variants(rows, diagnostic)] for rows in (results, timings))
    parts = {
        "cells": cells,
        "ranks": audit.rank_agreement(cells),
        "claims": audit.evaluate_claims(claims, *deciding),
        "discrepancies": audit.measure_discrepancies(register, results, timings),
    }
    for name, part in parts.items():
        write_text(snakemake.output[name], part.to_csv(index=False))
    write_text(snakemake.output.register, to_markdown(parts["discrepancies"]))
    write_records(snakemake.output.whole, parts)
