# The audit: every printed cell, claim and discrepancy put to our results.


AUDIT_PARTS = ["cells", "ranks", "claims", "discrepancies"]


rule audit_results:
    input:
        results=all_settings("results"),
        timings=all_settings("timings"),
        published=sorted(str(p) for p in (BASE / "data" / "published").glob("*.csv")),
        mapping=f"{BASE}/config/published.yaml",
        claims=f"{BASE}/config/claims.yaml",
        discrepancies=f"{BASE}/config/discrepancies.yaml",
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
        diagnostic={name: study.diagnostic for name, study in STUDIES.items()},
        source=source_hash("fedmix.audit", "fedmix.published"),
    script:
        "../scripts/audit_results.py"
