# The audit: every printed cell, claim and discrepancy put to our results.


AUDIT_PARTS = ["cells", "ranks", "claims", "discrepancies"]


rule audit_results:
    input:
        results=all_settings("results"),
        timings=all_settings("timings"),
    output:
        **{part: f"results/audit/{part}.csv" for part in AUDIT_PARTS},
        register="results/audit/discrepancies.md",
        whole="results/audit/audit.json",
    log:
        "logs/audit_results.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
    params:
        published=content_hash(BASE, "data/published/*/*.csv"),
        registers=content_hash(
            BASE / "config",
            *(f"*/*/{name}.yaml" for name in ("about", "printed", "claims", "discrepancies")),
        ),
        diagnostic={name: study.diagnostic for name, study in STUDIES.items()},
        source=source_hash("fedmix.cells"),
    script:
        "../scripts/audit_results.py"
