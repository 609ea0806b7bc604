# Targets that people request by name: data, embeddings, papers, single tables and figures.


rule fetch:
    input:
        [f"data/raw/{dataset}.npz" for dataset, _ in REQUEST.embeddings()],
    localrule: True


rule embed:
    input:
        [f"data/embedded/{dataset}/{kind}.npz" for dataset, kind in WHOLE.embeddings()],
    localrule: True


rule audit:
    input:
        rules.judge_results.output,
    localrule: True


rule page:
    input:
        rules.build_page.output,
    localrule: True


rule archive:
    input:
        rules.build_archive.output,
    localrule: True


rule reproduction:
    input:
        rules.export_reproduction.output,
    localrule: True


rule calibration:
    input:
        rules.calibrate_verdicts.output,
    localrule: True


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
