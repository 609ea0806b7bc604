# Targets that people request by name: data, embeddings, papers, single tables and figures.


localrules:
    fetch,
    embed,
    audit,
    page,
    archive,
    reproduction,
    calibration,


rule fetch:
    input:
        [f"data/raw/{dataset}.npz" for dataset, _ in REQUEST.embeddings()],


rule embed:
    input:
        all_data(),


rule audit:
    input:
        rules.judge_results.output,


rule page:
    input:
        rules.build_page.output,


rule archive:
    input:
        rules.build_archive.output,


rule reproduction:
    input:
        rules.export_reproduction.output,


rule calibration:
    input:
        rules.calibrate_verdicts.output,


for paper in sorted({item.paper for item in ITEMS.values()}):

    rule:
        name:
            paper
        input:
            item_files([name for name, item in ITEMS.items() if item.paper == paper]),
        localrule: True


for item_name in ITEMS:

    rule:
        name:
            item_name
        input:
            item_files([item_name]),
        localrule: True


rule unknown_target:
    input:
        unknown_target,
    output:
        "{target}",
    log:
        "logs/unknown_target/{target}.log",
    wildcard_constraints:
        target="[A-Za-z0-9_-]+",
    conda:
        "../../environment.yml"
