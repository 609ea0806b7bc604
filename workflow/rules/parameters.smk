# From wildcards to parameters: each job gets its slice of the configuration, sorted, and the hash
# of the code behind it, so that a change reruns just what it touches.


def dataset_sources(wildcards):
    """A data set's registry entry without its embeddings, which do not change the raw data."""
    entry = REQUEST.datasets[wildcards.dataset]
    return {key: value for key, value in sorted(entry.items()) if key != "embeddings"}


def embedding_parameters(wildcards):
    return REQUEST.datasets[wildcards.dataset]["embeddings"][wildcards.embedding]


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


def method_parameters(wildcards):
    method = method_of(wildcards)
    return {
        "name": method.name,
        "estimator": method.estimator,
        "parameters": dict(sorted(method.parameters.items())),
    }


def method_hash(wildcards):
    """Hash of the code behind a method, so that a change reruns this method alone."""
    return source_hash(method_registry.index()[method_of(wildcards).estimator])


def more_memory(base_mb):
    """Memory that doubles with every attempt."""
    return lambda wildcards, attempt: base_mb * 2 ** (attempt - 1)


def item_parameters(wildcards):
    item = ITEMS[wildcards.item]
    methods = STUDIES[item.study].methods.values()
    return {
        "title": item.title,
        "caption": item.caption,
        "builder": item.builder,
        "printed": dict(item.printed.get("where", {})),
        "options": dict(sorted(item.options.items())),
        "labels": {method.name: method.label for method in methods},
    }


def builder_hash(package):
    """Hash of the code that builds an item."""

    def source(wildcards):
        name = ITEMS[wildcards.item].builder.partition(".")[0]
        return source_hash(f"{package}.build", f"{package}.{name}")

    return source


def item_category(wildcards):
    return REQUEST.papers[ITEMS[wildcards.item].paper].name


def item_labels(wildcards):
    item = ITEMS[wildcards.item]
    return {"item": item.title, "kind": item.kind}


def page_figures():
    """Every figure of the request: where it is and what to say of it."""
    items = [
        {
            "paper": item.paper,
            "title": item.title,
            "caption": item.caption,
            "path": f"results/figures/{item.name}.svg",
        }
        for item in ITEMS.values()
        if item.kind == "figure"
    ]
    embeddings = [
        {
            "paper": "fedgrem",
            "title": f"Embedding {Path(path).parent.name}, {Path(path).stem}",
            "caption": "The first two principal axes of the embedding, a colour a class.",
            "path": path,
        }
        for path in embedding_figures()
    ]
    return items + embeddings + protocol_figures(IN_ALL)
