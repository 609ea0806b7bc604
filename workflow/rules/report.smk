# The pages that a reader opens, and the archive to rebuild them from without running any method.


rule explain_cells:
    input:
        cells=rules.judge_results.output.frame,
    output:
        f"{SHOWN}/audit/explanations.json",
    log:
        "logs/explain_cells.log",
    conda:
        "../../environment.yml"
    params:
        code=code_hash("explain_cells", *LOADED_BY_NAME),
    script:
        "../scripts/explain_cells.py"


rule build_page:
    input:
        cells=rules.judge_results.output.frame,
        audit=rules.judge_results.output.whole,
        run=rules.judge_results.output.run,
        explanations=rules.explain_cells.output[0],
        figures=page_figures(FIGURES) + embedding_figures(),
        searches=protocol_files(IN_ALL),
        claims=[figure["path"] for figure in CLAIM_FIGURES],
    output:
        index=f"{SHOWN}/index.html",
        pages=directory(f"{SHOWN}/pages"),
    log:
        "logs/build_page.log",
    conda:
        "../../environment.yml"
    params:
        shown=page_parameters(page_embeddings()),
        code=code_hash("build_page"),
    script:
        "../scripts/build_page.py"


rule build_archive:
    input:
        results=all_collected("results"),
        timings=all_collected("timings"),
    output:
        f"{SHOWN}/archive.zip",
    log:
        "logs/build_archive.log",
    conda:
        "../../environment.yml"
    params:
        options={key: config[key] for key in RUN_OPTIONS},
        datasets={name: REQUEST.datasets[name] for name, _ in WHOLE.embeddings()},
        code=code_hash("build_archive", *LOADED_BY_NAME),
    script:
        "../scripts/build_archive.py"


rule export_reproduction:
    input:
        timings=all_collected("timings"),
        cells=rules.judge_results.output.frame,
        audit=rules.judge_results.output.whole,
        run=rules.judge_results.output.run,
        figures=page_figures(FIGURES),
        searches=protocol_files(IN_ALL),
        claims=[figure["path"] for figure in CLAIM_FIGURES],
        tables=[f for f in item_files(WHOLE.items) if f.endswith(".md") and "/tables/" in f],
    output:
        f"{BASE}/docs/reproduction/README.md",
    log:
        "logs/export_reproduction.log",
    conda:
        "../../environment.yml"
    params:
        shown=page_parameters(),
        stamp=lambda wildcards: stamp_of(BASE),
        code=code_hash("export_reproduction", *LOADED_BY_NAME),
    script:
        "../scripts/export_reproduction.py"


# Known truths sent through the whole path: the error rates of the verdicts, on a page of the docs.
rule calibrate_verdicts:
    output:
        f"{BASE}/docs/calibration.md",
        f"{BASE}/docs/calibration.svg",
    log:
        "logs/calibrate_verdicts.log",
    conda:
        "../../environment.yml"
    params:
        code=code_hash("calibrate_verdicts", "fedmix.cells"),
    script:
        "../scripts/calibrate_verdicts.py"
