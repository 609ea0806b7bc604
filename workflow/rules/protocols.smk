# Which protocol printed a table? A search over all that a paper leaves unsaid: many protocols on a
# few replications, then fewer on more (successive halving).


rule design_protocols:
    output:
        f"{SEARCH}/design.csv",
    log:
        "logs/design_protocols/{paper}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        source=source_hash("fedmix.cells.protocols.design"),
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
        "logs/run_protocols/{paper}/{target}/rung{rung}/{table}/{block}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 240 * attempt,
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper].for_running(wildcards.table),
        cells=lambda wildcards: SEARCHES[wildcards.paper].cells(
            wildcards.table, int(wildcards.rung)
        ),
        grid=lambda wildcards: SEARCHES[wildcards.paper].grid(wildcards.table, int(wildcards.rung)),
        source=protocol_source,
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
        "logs/select_protocols/{paper}/{target}/rung{rung}.log",
    wildcard_constraints:
        rung="[1-9][0-9]*",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        print=printed_tables,
        printed=PRINTED_HASH,
        source=source_hash("fedmix.cells.protocols.design", "fedmix.cells.protocols.score"),
    script:
        "../scripts/select_protocols.py"


rule score_protocols:
    input:
        chosen=all_choices,
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
        "logs/score_protocols/{paper}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        print=printed_tables,
        printed=PRINTED_HASH,
        source=source_hash("fedmix.cells.protocols"),
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
        "logs/keep_protocols/{paper}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        source=source_hash("fedmix.cells.protocols.kept"),
    script:
        "../scripts/keep_protocols.py"


rule export_protocols:
    input:
        kept=rules.keep_protocols.output,
        words=lambda wildcards: [
            f"results/protocols/{wildcards.paper}/{target}/words.md"
            for target in SEARCHES[wildcards.paper].targets
        ],
        figures=lambda wildcards: [
            f"{SHOWN}/figures/{wildcards.paper}_protocols/{target}_{figure}.{suffix}"
            for target in SEARCHES[wildcards.paper].targets
            for figure in PROTOCOL_FIGURES
            for suffix in ("svg", "md")
        ],
    output:
        directory(f"{IN_REPOSITORY}/{{paper}}"),
    log:
        "logs/export_protocols/{paper}.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/export_protocols.py"


rule tabulate_protocols:
    input:
        lambda wildcards: [
            f"results/protocols/{wildcards.paper}/{target}/scores.csv"
            for target in SEARCHES[wildcards.paper].targets
        ],
    output:
        f"{SHOWN}/tables/{{paper}}_protocols.csv",
    log:
        "logs/tabulate_protocols/{paper}.log",
    conda:
        "../../environment.yml"
    params:
        preset=config["preset"],
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
            f"{SHOWN}/figures/{{paper}}_protocols/{{target}}_{figure}.{suffix}"
            for figure in PROTOCOL_FIGURES
            for suffix in ITEM_SUFFIXES["figure"]
        ],
    log:
        "logs/draw_protocols/{paper}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        preset=config["preset"],
        source=source_hash("fedmix.views.figures.protocols"),
    script:
        "../scripts/draw_protocols.py"


localrules:
    protocols,


rule protocols:
    input:
        protocol_files(SEARCHES),
        EXPORTED,
