# Targets that people request by name: data, embeddings, papers, single tables and figures.


# Besides `all`, papers, tables and figures.
TARGETS = {
    "fetch": [f"data/raw/{dataset}.npz" for dataset, _ in REQUEST.embeddings()],
    "embed": [f"data/embedded/{dataset}/{kind}.npz" for dataset, kind in WHOLE.embeddings()],
    "audit": rules.judge_results.output,
    "page": rules.build_page.output,
    "protocols": protocol_files(SEARCHABLE) + EXPORTED,
    "archive": rules.build_archive.output,
    "reproduction": rules.export_reproduction.output,
    "calibration": rules.calibrate_verdicts.output,
}
OF_PAPERS = {
    paper: item_files([name for name, item in ITEMS.items() if item.paper == paper])
    for paper in sorted({item.paper for item in ITEMS.values()})
}

taken = [
    f"The paper, table or figure {name!r} has the name of another target. Rename it."
    for name in (*OF_PAPERS, *ITEMS)
    if name == "all" or name in TARGETS or workflow.is_rule(name)
]
if taken:
    raise WorkflowError("\n".join(taken))

for target, files in [
    *TARGETS.items(),
    *OF_PAPERS.items(),
    *((name, item_files([name])) for name in ITEMS),
]:

    rule:
        name:
            target
        input:
            files,
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
