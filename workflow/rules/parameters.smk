# Derive parameters from wildcards. Each job gets its part of the configuration, sorted, and the hash
# of the code behind it, so that a change reruns only what depends on it.

# Files of the repository are not inputs of jobs. Jobs have the hash of their content as a parameter,
# so that a clone or a fresh checkout with new file times remakes nothing.
PRINTED_HASH = content_hash(BASE, "data/published/*/*.csv")


def text_hash(name):
    """Hash of a script alone, for rules that say themselves which code their results depend on."""
    return content_hash(BASE / "workflow" / "scripts", f"{name}.py")


def code_hash(name, *modules):
    """A function for the hash of a script and of all code that it imports, `modules` by name.

    A plan then reads the code of rules with a job alone. To read that of all rules takes most of a
    second.
    """
    script = BASE / "workflow" / "scripts" / f"{name}.py"
    return lambda wildcards: script_hash(script, *modules)


def dataset_sources(wildcards):
    return raw_parameters(wildcards.dataset, REQUEST.datasets[wildcards.dataset])


def embedding_parameters(wildcards):
    return REQUEST.datasets[wildcards.dataset]["embeddings"][wildcards.embedding]


def kept_embedding(wildcards):
    """The sha256 of the embedding that the evidence keeps, if it does."""
    return REQUEST.coverage.kept_embedding(wildcards.dataset, wildcards.embedding)


def embedded_shape(wildcards):
    """Points and features of a setting's embedded data set, from the registry, if it has one."""
    values = setting_of(wildcards).values
    if "dataset" not in values:
        return None
    entry = DatasetEntry.from_mapping(values["dataset"], REQUEST.datasets[values["dataset"]])
    return entry.embedded_shape(values["embedding"])


def methods_parameters(wildcards):
    """The methods of a block with their parameters."""
    study, setting = STUDIES[wildcards.study], setting_of(wildcards)
    blocks = {block.name: block.methods for block in study.blocks(setting)}
    if wildcards.block not in blocks:
        raise WorkflowError(
            f"{wildcards.study}/{wildcards.setting} has no block {wildcards.block}. In the "
            f"preset {config['preset']} it has {', '.join(blocks)}."
        )
    return methods_in(study, setting, blocks[wildcards.block])


def part_settings(wildcards):
    """What a job needs to collect each setting of a part, by the setting's folder."""
    part = part_of(wildcards)
    settings = {
        setting.folder: setting_parameters(part.study, setting) for setting in part.settings
    }
    return Brief(f"{len(settings)} settings", settings)


def setting_parameters(study, setting):
    methods, data = methods_in(study, setting), data_of(study, setting)
    return {
        "scenario": scenario_of(study, setting),
        "experiment": experiment_hash(study),
        "methods": methods,
        "sources": method_hashes(methods),
        "replications": study.replications_in(setting),
        "blocks": block_paths(study, setting),
        "data": data,
        "data_hash": None if data else REQUEST.coverage.data_hash(study, setting),
        "held": {m: len(n) for m, n in REQUEST.coverage.held(study, setting).items()},
    }


def more_memory(base_mb):
    """Memory that doubles with each attempt."""
    return lambda wildcards, attempt: base_mb * 2 ** (attempt - 1)


def shown_numbers(wildcards):
    """The numbers that the items of a study show, without titles and captions."""
    names = "name kind paper study where metric methods row column unit scale digits printed best judged"
    shown = {
        key: {"title": "", "caption": "", **{name: getattr(item, name) for name in names.split()}}
        for key, item in ITEMS.items()
        if item.study == wildcards.study
    }
    return Brief(f"{len(shown)} tables and figures", shown)


def study_parameters(wildcards):
    study = STUDIES[wildcards.study]
    return {
        "paper": study.paper,
        "labels": {method.name: method.label for method in study.methods.values()},
        "roles": study.roles,
    }


def item_parameters(wildcards):
    return Brief(f"layout of {wildcards.item}", item_layout(ITEMS[wildcards.item]))


def figures_parameters(names):
    """The layouts of figures, each with the files that it is drawn from."""
    figures = {name: {"item": item_layout(ITEMS[name]), **behind_figures([name])} for name in names}
    return Brief(f"layout of {len(figures)} figures", figures)


def item_layout(item):
    """The layout of an item, and the names in it."""
    paper = REQUEST.papers[item.paper]
    return {
        "name": item.name,
        "paper": item.paper,
        "title": item.title,
        "caption": item.caption,
        "builder": item.builder,
        "direction": item.direction,
        "options": dict(sorted(item.options.items())),
        "preset": config["preset"],
        "variants": dict(paper.variants),
        "datasets": {name: entry["title"] for name, entry in REQUEST.datasets.items()},
        "looks": looks_in(paper),
        "papers": {m.label: m.paper for m in STUDIES[item.study].methods.values() if m.paper},
        "left_out": not_run(item),
    }


def not_run(item):
    """Reason -> what an item does not show: methods, if the item lists them, and data."""
    methods = left_out(STUDIES[item.study]) if item.options.get("left_out") else {}
    data = list(REQUEST.unavailable(item.study, item.where))
    return {**methods, "data not available": data} if data else methods


def looks_in(paper):
    """The methods' looks: those of the paper, or of all papers for comparisons beyond them."""
    if paper.is_paper:
        return dict(paper.looks)
    return {name: look for other in REQUEST.papers.values() for name, look in other.looks.items()}


def item_category(wildcards):
    return REQUEST.papers[ITEMS[wildcards.item].paper].name


def item_labels(wildcards):
    item = ITEMS[wildcards.item]
    return {"item": item.title, "kind": item.kind}


def page_embeddings():
    """The figures of the embeddings, which need the data, for the first paper that needs each."""
    shown = []
    for path in embedding_figures():
        dataset, embedding = Path(path).parent.name, Path(path).stem
        wanted = {"dataset": dataset, "embedding": embedding}
        paper = next(
            study.paper
            for study in WHOLE.studies.values()
            if any(setting.matches(wanted) for setting in study.settings.values())
        )
        title = f"{REQUEST.datasets[dataset]['title']}, {embedding.replace('_', ' ')}"
        caption = "The first two principal axes of the embedding, with one colour per class."
        shown.append({"paper": paper, "title": title, "caption": caption, "path": path})
    return shown


def page_parameters(embeddings=()):
    """The content of the pages that is not in input files."""
    figures = [
        {
            "paper": ITEMS[name].paper,
            "title": ITEMS[name].title,
            "path": f"{SHOWN}/page_figures/{name}.svg",
        }
        for name in FIGURES
    ]
    content = {
        "tables": [item_layout(item) for item in WHOLE.items.values() if item.kind == "table"],
        "figures": [*figures, *embeddings],
        "searches": searches_shown(),
        "claim_figures": CLAIM_FIGURES,
        "preset": config["preset"],
        "papers": {key: paper.title for key, paper in WHOLE.papers.items()},
        "unavailable": {study: REQUEST.unavailable(study, {}) for study in REQUEST.left_out},
    }
    return Brief("content of the pages", content)
