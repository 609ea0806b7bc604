# The frame of cells: every number of ours, once, beside its printed partner; and what follows.


PUBLISHED = BASE / "data" / "published"
PRINTED = [os.path.relpath(path) for path in sorted(PUBLISHED.glob("*/*.csv"))]
AUDIT_PARTS = ["cells", "scores", "ranks", "claims", "discrepancies"]


rule make_cells:
    input:
        results="results/{study}/{setting}/results.parquet",
        timings="results/{study}/{setting}/timings.parquet",
        printed=PRINTED,
    output:
        "results/{study}/{setting}/cells.parquet",
    log:
        "logs/make_cells/{study}/{setting}.log",
    conda:
        "../../environment.yml"
    params:
        shown=shown_numbers,
        study=study_parameters,
        published=os.path.relpath(PUBLISHED),
        source=source_hash("fedmix.cells.frame"),
    script:
        "../scripts/make_cells.py"


rule judge_results:
    input:
        cells=all_settings("cells"),
        results=all_settings("results"),
        printed=PRINTED,
        registers=[
            file
            for name in ("about", "tables", "figures", "claims", "discrepancies")
            for file in paper_files(f"*/*/{name}.yaml")
        ],
    output:
        **{part: f"results/audit/{part}.csv" for part in AUDIT_PARTS},
        frame="results/cells.parquet",
        register="results/audit/discrepancies.md",
        whole="results/audit/audit.json",
    log:
        "logs/judge_results.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
    params:
        config=str(BASE / "config"),
        published=os.path.relpath(PUBLISHED),
        source=source_hash("fedmix.cells"),
    script:
        "../scripts/judge_results.py"
