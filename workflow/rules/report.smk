# The page that a reader opens, and the archive that rebuilds it without running any method.


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
        source=source_hash("fedmix.pipeline.explain"),
    script:
        "../scripts/explain_cells.py"


rule build_page:
    input:
        results=all_settings("results"),
        cells=rules.judge_results.output.frame,
        figures=item_files([name for name, item in ITEMS.items() if item.kind == "figure"])
        + embedding_figures(),
        audit=rules.judge_results.output.whole,
        run=rules.judge_results.output.run,
        explanations=rules.explain_cells.output,
    output:
        report(
            f"{SHOWN}/index.html",
            caption="../report/page.rst",
            category="Scorecard",
            labels={"item": "The whole page", "kind": "page"},
        ),
    log:
        "logs/build_page.log",
    conda:
        "../../environment.yml"
    params:
        tables=page_tables(),
        figures=page_figures(),
        preset=config["preset"],
        papers={key: paper.title for key, paper in REQUEST.papers.items()},
        left_out=list(REQUEST.left_out),
        source=source_hash("fedmix.views.page"),
    script:
        "../scripts/build_page.py"


rule build_archive:
    input:
        results=all_settings("results"),
        timings=all_settings("timings"),
    output:
        f"{SHOWN}/archive.zip",
    log:
        "logs/build_archive.log",
    conda:
        "../../environment.yml"
    params:
        options={key: config[key] for key in RUN_OPTIONS},
        shown=archived_items(),
        datasets={name: REQUEST.datasets[name] for name, _ in REQUEST.embeddings()},
    script:
        "../scripts/build_archive.py"


rule export_reproduction:
    input:
        cells=rules.judge_results.output.frame,
        audit=rules.judge_results.output.whole,
        run=rules.judge_results.output.run,
        tables=[
            f
            for f in item_files(ITEMS)
            if f.startswith(f"{SHOWN}/tables") and not f.endswith("tex")
        ],
        figures=[
            f
            for f in item_files(ITEMS)
            if f.startswith(f"{SHOWN}/figures") and f.endswith(("svg", "md"))
        ],
    output:
        "docs/reproduction/README.md",
    log:
        "logs/export_reproduction.log",
    conda:
        "../../environment.yml"
    params:
        command=f"snakemake --cores 2 reproduction --config preset={config['preset']} mirror=<folder>",
    script:
        "../scripts/export_reproduction.py"
