# The frame of cells, with each of our numbers beside its published value, and the verdicts.


AUDIT_PARTS = ["cells", "scores", "ranks", "claims", "discrepancies"]


rule judge_results:
    input:
        cells=all_collected("cells"),
        results=all_collected("results"),
        timings=all_collected("timings"),
        searches=searches_made(),
    output:
        **{part: f"{SHOWN}/audit/{part}.csv" for part in AUDIT_PARTS},
        specification=f"{SHOWN}/audit/specification.csv",
        frame=f"{SHOWN}/cells.parquet",
        register=f"{SHOWN}/audit/discrepancies.md",
        whole=f"{SHOWN}/audit/audit.json",
        run=f"{SHOWN}/audit/run.csv",
    log:
        "logs/judge_results.log",
    # All that is behind the page runs before figures and tables, which can wait.
    priority: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
    params:
        options={key: config[key] for key in RUN_OPTIONS},
        papers=list(WHOLE.papers),
        printed=PRINTED_HASH,
        registers=content_hash(
            BASE / "config",
            *(
                f"*/*/{name}.yaml"
                for name in ("about", "tables", "figures", "claims", "discrepancies")
            ),
        ),
        searches=searches_judged(),
        kept=content_hash(
            BASE,
            "docs/reproduction/protocols/*/*/protocols.csv",
            "docs/reproduction/protocols/*/*/runs.parquet",
        ),
        code=code_hash("judge_results", "fedmix.cells"),
    script:
        "../scripts/judge_results.py"
