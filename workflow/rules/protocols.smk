# Which protocol gave the published values? A search over the choices that a paper leaves unreported:
# many protocols on few replications, then fewer protocols on more (successive halving).
#
# Snakemake compares only plain values among parameters: `declared` shows it that a space has changed.


rule design_protocols:
    output:
        f"{SEARCH}/design.csv",
    log:
        "logs/design_protocols/{search}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.search],
        declared=lambda wildcards: repr(SEARCHES[wildcards.search]),
        code=code_hash("design_protocols"),
    script:
        "../scripts/design_protocols.py"


rule run_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        chosen=chosen_protocols,
        data=protocol_data,
    output:
        f"{SEARCH}/{{target}}/rung{{rung}}/{{table}}/{{block}}.parquet",
    log:
        "logs/run_protocols/{search}/{target}/rung{rung}/{table}/{block}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 240 * attempt,
    params:
        space=lambda wildcards: SEARCHES[wildcards.search].for_running(wildcards.table),
        declared=lambda wildcards: repr(SEARCHES[wildcards.search].for_running(wildcards.table)),
        cells=lambda wildcards: SEARCHES[wildcards.search].cells(
            wildcards.table, int(wildcards.rung)
        ),
        metrics=searched_metrics,
        grid=lambda wildcards: SEARCHES[wildcards.search].grid(wildcards.table, int(wildcards.rung)),
        source=protocol_source,
        script=text_hash("run_protocols"),
    script:
        "../scripts/run_protocols.py"


rule select_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        chosen=earlier_choice,
        runs=earlier_runs,
    output:
        f"{SEARCH}/{{target}}/rung{{rung}}.csv",
    log:
        "logs/select_protocols/{search}/{target}/rung{rung}.log",
    wildcard_constraints:
        rung="[1-9][0-9]*",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.search],
        declared=lambda wildcards: repr(SEARCHES[wildcards.search]),
        tables=searched_tables,
        printed=PRINTED_HASH,
        code=code_hash("select_protocols"),
    script:
        "../scripts/select_protocols.py"


rule score_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        chosen=later_choices,
        first=first_runs,
        later=later_runs,
    output:
        scores=f"{SEARCH}/{{target}}/scores.csv",
        first=f"{SEARCH}/{{target}}/first.csv",
        nearest=f"{SEARCH}/{{target}}/nearest.csv",
        held_out=f"{SEARCH}/{{target}}/held_out.csv",
        permuted=f"{SEARCH}/{{target}}/permuted.csv",
        shares=f"{SEARCH}/{{target}}/shares.csv",
        words=f"{SEARCH}/{{target}}/words.md",
    log:
        "logs/score_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.search],
        declared=lambda wildcards: repr(SEARCHES[wildcards.search]),
        tables=searched_tables,
        printed=PRINTED_HASH,
        code=code_hash("score_protocols"),
    script:
        "../scripts/score_protocols.py"


rule keep_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        first=drawn_runs,
        scores=of_each_table("scores"),
        nearest=of_each_table("nearest"),
    output:
        protocols=f"{SEARCH}/kept/protocols.csv",
        runs=f"{SEARCH}/kept/runs.csv",
    log:
        "logs/keep_protocols/{search}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.search],
        declared=lambda wildcards: repr(SEARCHES[wildcards.search]),
        code=code_hash("keep_protocols"),
    script:
        "../scripts/keep_protocols.py"


rule export_protocols:
    input:
        kept=rules.keep_protocols.output,
        words=lambda wildcards: [
            f"results/protocols/{wildcards.search}/{target}/words.md"
            for target in SEARCHES[wildcards.search].targets
        ],
        figures=lambda wildcards: [
            f"{SHOWN}/figures/{wildcards.search}_protocols/{target}_{figure}.{suffix}"
            for target in SEARCHES[wildcards.search].targets
            for figure in PROTOCOL_FIGURES
            for suffix in ("svg", "md")
        ],
    output:
        directory(f"{IN_REPOSITORY}/{{search}}"),
    log:
        "logs/export_protocols/{search}.log",
    conda:
        "../../environment.yml"
    params:
        code=code_hash("export_protocols"),
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
        code=code_hash("tabulate_protocols"),
    script:
        "../scripts/tabulate_protocols.py"


ruleorder: tabulate_protocols > make_table


rule draw_protocols:
    input:
        first=f"{SEARCH}/{{target}}/first.csv",
        scores=f"{SEARCH}/{{target}}/scores.csv",
        nearest=f"{SEARCH}/{{target}}/nearest.csv",
        shares=f"{SEARCH}/{{target}}/shares.csv",
    output:
        [
            f"{SHOWN}/figures/{{search}}_protocols/{{target}}_{figure}.{suffix}"
            for figure in PROTOCOL_FIGURES
            for suffix in ITEM_SUFFIXES["figure"]
        ],
    log:
        "logs/draw_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.search],
        declared=lambda wildcards: repr(SEARCHES[wildcards.search]),
        tables=searched_tables,
        preset=config["preset"],
        code=code_hash("draw_protocols"),
    script:
        "../scripts/draw_protocols.py"


rule draw_claims:
    input:
        rules.judge_results.output.specification,
    output:
        [f"{SHOWN}/figures/{{search}}_claims.{suffix}" for suffix in ITEM_SUFFIXES["figure"]],
    log:
        "logs/draw_claims/{search}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.search],
        declared=lambda wildcards: repr(SEARCHES[wildcards.search]),
        preset=config["preset"],
        code=code_hash("draw_claims"),
    script:
        "../scripts/draw_claims.py"


localrules:
    protocols,


rule protocols:
    input:
        protocol_files(SEARCHABLE),
        EXPORTED,
