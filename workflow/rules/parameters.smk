# From wildcards to parameters: each job gets its slice of the configuration, sorted, and the hash
# of the code behind it, so that a change reruns just what it touches.

# What lies in the repository is no job's input but a parameter, the hash of its content: a clone
# elsewhere, or files as new as a checkout makes them, have nothing to remake.
PRINTED_HASH = content_hash(BASE, "data/published/*/*.csv")


def script_hash(name):
    """Hash of a rule's script: its content reruns the rule, its age and its folder do not."""
    return content_hash(BASE / "workflow" / "scripts", f"{name}.py")


def dataset_sources(wildcards):
    """A data set's registry entry without its embeddings, which do not change the raw data."""
    entry = REQUEST.datasets[wildcards.dataset]
    return {key: value for key, value in sorted(entry.items()) if key != "embeddings"}


def embedding_parameters(wildcards):
    return REQUEST.datasets[wildcards.dataset]["embeddings"][wildcards.embedding]


def embedding_hash(wildcards):
    """Hash of the code that embeds; t-SNE's is its own, for it takes the longest."""
    kind = embedding_parameters(wildcards)["kind"]
    return source_hash("fedmix.embed.tsne" if kind == "tsne" else "fedmix.embed")


def embedded_shape(wildcards):
    """Points and features of a setting's embedded data set, as the registry says; if it has one."""
    values = setting_of(wildcards).values
    if "dataset" not in values:
        return None
    entry = DatasetEntry.from_mapping(values["dataset"], REQUEST.datasets[values["dataset"]])
    return entry.embedded_shape(values["embedding"])


def replications_by_setting():
    """How many replications each method has, by the setting's folder."""
    return {
        f"results/{study.name}/{setting.folder}": study.replications_in(setting)
        for study in STUDIES.values()
        for setting in study.settings.values()
    }


def scenario_parameters(wildcards):
    """What a job must know of its setting: a slice of the configuration, sorted."""
    setting, study = setting_of(wildcards), STUDIES[wildcards.study]
    return {
        "study": study.name,
        "variant": setting.variant,
        "setting": setting.name,
        "experiment": study.experiment,
        "values": dict(sorted(setting.values.items())),
    }


def experiment_hash(wildcards):
    """Hash of the code that makes and starts a replication."""
    return source_hash(
        f"fedmix.experiments.{STUDIES[wildcards.study].experiment}", "fedmix.experiments.runner"
    )


def methods_of(wildcards):
    """The methods that a job runs, with their parameters there."""
    study, setting = STUDIES[wildcards.study], setting_of(wildcards)
    blocks = {block.name: block.methods for block in study.blocks(setting)}
    if wildcards.block not in blocks:
        raise WorkflowError(
            f"{wildcards.study}/{wildcards.setting} has no block {wildcards.block}: the preset "
            f"{config['preset']} cuts it into {', '.join(blocks)}."
        )
    return [study.method_in(name, setting) for name in blocks[wildcards.block]]


def methods_parameters(wildcards):
    return [
        {
            "name": method.name,
            "estimator": method.estimator,
            "parameters": dict(sorted(method.parameters.items())),
        }
        for method in methods_of(wildcards)
    ]


def method_hashes(wildcards):
    """Hash of the code behind each method, so that a change reruns this method alone."""
    index = method_registry.index()
    return {method.name: source_hash(index[method.estimator]) for method in methods_of(wildcards)}


def more_memory(base_mb):
    """Memory that doubles with every attempt."""
    return lambda wildcards, attempt: base_mb * 2 ** (attempt - 1)


def shown_numbers(wildcards):
    """What the items of a study show of its numbers, without titles and the like."""
    names = "name kind paper study where metric methods row column unit scale digits printed best judged"
    return [
        {"title": "", "caption": "", **{name: getattr(item, name) for name in names.split()}}
        for item in ITEMS.values()
        if item.study == wildcards.study
    ]


def setting_replications(wildcards):
    """How many replications each method of a setting has."""
    return STUDIES[wildcards.study].replications_in(setting_of(wildcards))


def study_parameters(wildcards):
    study = STUDIES[wildcards.study]
    return {
        "paper": study.paper,
        "labels": {method.name: method.label for method in study.methods.values()},
        "roles": study.roles,
    }


def item_parameters(wildcards):
    return item_layout(ITEMS[wildcards.item])


def item_layout(item):
    """How an item is laid out, and what names mean in it."""
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
        "left_out": not_run(item),
    }


def not_run(item):
    """What an item lacks, by the reason: methods, where it tells them, and data."""
    methods = left_out(STUDIES[item.study]) if item.options.get("left_out") else {}
    data = list(REQUEST.unavailable(item.study, item.where))
    return {**methods, "data not available": data} if data else methods


def looks_in(paper):
    """How methods look: as the paper has it; beyond the papers, as all of them have it."""
    if paper.is_paper:
        return dict(paper.looks)
    return {name: look for other in REQUEST.papers.values() for name, look in other.looks.items()}


def builder_hash(wildcards):
    """Hash of the code that draws a figure."""
    return source_hash(
        "fedmix.views.figures.build", f"fedmix.views.figures.{ITEMS[wildcards.item].builder}"
    )


def item_category(wildcards):
    return REQUEST.papers[ITEMS[wildcards.item].paper].name


def item_labels(wildcards):
    item = ITEMS[wildcards.item]
    return {"item": item.title, "kind": item.kind}


def page_tables():
    """Every table that `all` makes, as it is laid out."""
    return [item_layout(item) for item in WHOLE.items.values() if item.kind == "table"]


def embedding_title(dataset, embedding):
    return f"{REQUEST.datasets[dataset]['title']}, {embedding.replace('_', ' ')}"


def paper_of_embedding(figure):
    """The first paper of which some setting needs an embedding."""
    wanted = {"dataset": figure.parent.name, "embedding": figure.stem}
    return next(
        study.paper
        for study in WHOLE.studies.values()
        if any(setting.matches(wanted) for setting in study.settings.values())
    )


def page_figures():
    """Every figure that `all` draws: where it is and what to say of it."""
    items = [
        {"paper": item.paper, "title": item.title, "path": f"{SHOWN}/figures/{item.name}.svg"}
        for item in WHOLE.items.values()
        if item.kind == "figure"
    ]
    embeddings = [
        {
            "paper": paper_of_embedding(Path(path)),
            "title": embedding_title(Path(path).parent.name, Path(path).stem),
            "caption": "The first two principal axes of the embedding, a colour a class.",
            "path": path,
        }
        for path in embedding_figures()
    ]
    return items + embeddings


def page_parameters():
    """What the pages show beside what files hold."""
    return {
        "tables": page_tables(),
        "figures": page_figures(),
        "searches": searches_run(IN_ALL) + searches_kept(),
        "claim_figures": claim_figures(),
        "preset": config["preset"],
        "papers": {key: paper.title for key, paper in WHOLE.papers.items()},
        "unavailable": {study: REQUEST.unavailable(study, {}) for study in REQUEST.left_out},
    }
