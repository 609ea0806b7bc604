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
        code=code_hash("design_protocols"),
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
        space=lambda wildcards: searched(wildcards).for_running(wildcards.table),
        declared=lambda wildcards: repr(searched(wildcards).for_running(wildcards.table)),
        metrics=searched_metrics,
        source=protocol_source,
        script=text_hash("run_protocols"),
    script:
        "../scripts/run_protocols.py"


rule optimize_protocols:
    input:
        data=protocol_data,
    output:
        runs=f"{TARGET}/seed{{seed}}.parquet",
        trials=f"{TARGET}/seed{{seed}}.csv",
    log:
        "logs/optimize_protocols/{search}/{target}/{seed}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 600 * attempt,
    params:
        **SEARCHED,
        tables=lambda wildcards: items_of(searched(wildcards)),
        metrics=searched_metrics,
        printed=PRINTED_HASH,
        source=protocol_source,
        code=code_hash("optimize_protocols"),
    script:
        "../scripts/optimize_protocols.py"


rule score_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        drawn=drawn_runs,
        trials=lambda wildcards: of_each_seed(wildcards, "csv"),
        runs=lambda wildcards: of_each_seed(wildcards, "parquet"),
    output:
        **{part: f"{TARGET}/{part}.csv" for part in FOUND},
        kept=[f"{TARGET}/{name}" for name in KEPT],
        words=f"{TARGET}/words.md",
        figures=expand(
            FIGURES_OF,
            figure=PROTOCOL_FIGURES,
            suffix=PAGE_SUFFIXES,
            allow_missing=True,
        ),
    log:
        "logs/score_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        **SEARCHED,
        tables=lambda wildcards: items_of(searched(wildcards)),
        printed=PRINTED_HASH,
        preset=config["preset"],
        code=code_hash("score_protocols"),
    script:
        "../scripts/score_protocols.py"


# The findings and figures of a target, and a table's runs, on which claims are tested.
rule export_protocols:
    input:
        rules.score_protocols.output.words,
        rules.score_protocols.output.figures,
        branch(
            lambda wildcards: wildcards.target in searched(wildcards).tables,
            then=rules.score_protocols.output.kept,
        ),
    output:
        directory(f"{IN_REPOSITORY}/{{search}}/{{target}}"),
    log:
        "logs/export_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        code=code_hash("export_protocols"),
    script:
        "../scripts/export_protocols.py"


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
        code=code_hash("draw_claims"),
    script:
        "../scripts/draw_claims.py"
