# Which protocol gave the published values? Protocols drawn by stated weights say in how many a claim holds.
# An optimiser looks for one that gives the values, and fresh replications judge what it finds.


rule design_protocols:
    output:
        f"{SEARCH}/design.csv",
    log:
        "logs/design_protocols/{search}.log",
    conda:
        "../../environment.yml"
    params:
        **SEARCHED,
        code=lambda wildcards: code_hash("design_protocols"),
    script:
        "../scripts/design_protocols.py"


rule run_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        data=protocol_data,
    output:
        f"{SEARCH}/drawn/{{table}}/{{block}}.parquet",
    log:
        "logs/run_protocols/{search}/{table}/{block}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 240 * attempt,
    params:
        space=lambda wildcards: SEARCHES[wildcards.search].for_running(wildcards.table),
        declared=lambda wildcards: repr(SEARCHES[wildcards.search].for_running(wildcards.table)),
        metrics=searched_metrics,
        source=protocol_source,
        script=text_hash("run_protocols"),
    script:
        "../scripts/run_protocols.py"


rule optimize_protocols:
    input:
        data=protocol_data,
    output:
        runs=f"{SEARCH}/{{target}}/seed{{seed}}.parquet",
        trials=f"{SEARCH}/{{target}}/seed{{seed}}.csv",
    log:
        "logs/optimize_protocols/{search}/{target}/{seed}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 480 * attempt,
    params:
        **SEARCHED,
        tables=lambda wildcards: items_of(SEARCHES[wildcards.search]),
        metrics=searched_metrics,
        printed=PRINTED_HASH,
        source=protocol_source,
        code=lambda wildcards: code_hash("optimize_protocols"),
    script:
        "../scripts/optimize_protocols.py"


rule judge_protocols:
    input:
        trials=of_each_seed("csv"),
        data=protocol_data,
    output:
        compared=f"{SEARCH}/{{target}}/compared.parquet",
        judged=f"{SEARCH}/{{target}}/judged.parquet",
    log:
        "logs/judge_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 240 * attempt,
    params:
        **SEARCHED,
        metrics=searched_metrics,
        source=protocol_source,
        code=lambda wildcards: code_hash("judge_protocols"),
    script:
        "../scripts/judge_protocols.py"


rule score_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        trials=of_each_seed("csv"),
        drawn=drawn_runs,
        tried=of_each_seed("parquet"),
        compared=rules.judge_protocols.output.compared,
        judged=rules.judge_protocols.output.judged,
    output:
        **{part: f"{SEARCH}/{{target}}/{part}.csv" for part in SCORED},
        protocols=f"{SEARCH}/{{target}}/protocols.csv",
        runs=f"{SEARCH}/{{target}}/runs.parquet",
        words=f"{SEARCH}/{{target}}/words.md",
    log:
        "logs/score_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        **SEARCHED,
        tables=lambda wildcards: items_of(SEARCHES[wildcards.search]),
        printed=PRINTED_HASH,
        code=lambda wildcards: code_hash("score_protocols"),
    script:
        "../scripts/score_protocols.py"


rule export_protocols:
    input:
        kept_files,
        figures=[
            f"{SHOWN}/figures/{{search}}_protocols/{{target}}_{figure}.{suffix}"
            for figure in PROTOCOL_FIGURES
            for suffix in ("svg", "md")
        ],
    output:
        directory(f"{IN_REPOSITORY}/{{search}}/{{target}}"),
    log:
        "logs/export_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        code=lambda wildcards: code_hash("export_protocols"),
    script:
        "../scripts/export_protocols.py"


rule tabulate_protocols:
    input:
        lambda wildcards: [
            f"results/protocols/{wildcards.search}/{target}/scores.csv"
            for target in SEARCHES[wildcards.search].targets
        ],
    output:
        f"{SHOWN}/tables/{{search}}_protocols.csv",
    log:
        "logs/tabulate_protocols/{search}.log",
    conda:
        "../../environment.yml"
    params:
        preset=config["preset"],
        code=lambda wildcards: code_hash("tabulate_protocols"),
    script:
        "../scripts/tabulate_protocols.py"


ruleorder: tabulate_protocols > make_table


rule draw_protocols:
    input:
        trials=of_each_seed("csv"),
        scores=f"{SEARCH}/{{target}}/scores.csv",
        judged=f"{SEARCH}/{{target}}/judged.csv",
        shares=f"{SEARCH}/{{target}}/shares.csv",
    output:
        [
            f"{SHOWN}/figures/{{search}}_protocols/{{target}}_{figure}.{suffix}"
            for figure in PROTOCOL_FIGURES
            for suffix in PAGE_SUFFIXES
        ],
    log:
        "logs/draw_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        **SEARCHED,
        tables=lambda wildcards: items_of(SEARCHES[wildcards.search]),
        preset=config["preset"],
        code=lambda wildcards: code_hash("draw_protocols"),
    script:
        "../scripts/draw_protocols.py"


rule draw_claims:
    input:
        rules.judge_results.output.specification,
    output:
        [f"{SHOWN}/figures/{{search}}_claims.{suffix}" for suffix in PAGE_SUFFIXES],
    log:
        "logs/draw_claims/{search}.log",
    conda:
        "../../environment.yml"
    params:
        **SEARCHED,
        preset=config["preset"],
        code=lambda wildcards: code_hash("draw_claims"),
    script:
        "../scripts/draw_claims.py"
