# Targets that a person asks for by name: data, embeddings, papers, single tables and figures.


localrules:
    fetch,
    embed,
    audit,
    page,
    archive,
    report_from_archive,
    reproduction,


rule fetch:
    input:
        [f"data/raw/{dataset}.npz" for dataset, _ in REQUEST.embeddings()],


rule embed:
    input:
        [f"data/embedded/{d}/{e}.npz" for d, e in REQUEST.embeddings()],


rule audit:
    input:
        rules.audit_results.output,


rule page:
    input:
        rules.build_page.output,


rule archive:
    input:
        rules.build_archive.output,


rule report_from_archive:
    input:
        item_files(ITEMS),
        rules.build_page.output,


rule reproduction:
    input:
        rules.export_reproduction.output,


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


def unknown_target(wildcards):
    """Say what was meant, or which preset has it: the last resort for a name that no rule has."""
    named = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
    hint = nearest_names(wildcards.target, named)
    elsewhere = [name for name in preset_names() if wildcards.target in targets_of(name)]
    if elsewhere:
        hint = f"It belongs to --config preset={' or preset='.join(elsewhere)}."
    raise WorkflowError(
        f"There is no target {wildcards.target!r} in the preset {config['preset']!r}. {hint}"
    )


def preset_names():
    return sorted({path.stem for path in BASE.glob("config/**/presets/*.yaml")})


def targets_of(preset):
    """Items and papers of another preset."""
    items = read_request(BASE / "config", {**config, "preset": preset}).items
    return {*items, *(item.paper for item in items.values())}


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
