# Tables and figures from the collected settings.


def item_input(name):
    def files(wildcards):
        item = ITEMS[wildcards.item]
        return [
            f"results/{item.study}/{setting.folder}/{name}.parquet"
            for setting in REQUEST.settings_of(item)
        ]

    return files


def printed_file(wildcards):
    """The paper's printed values that a table shows beside ours, if any.

    A relative name: a repository that is moved with its results has nothing to remake.
    """
    name = ITEMS[wildcards.item].printed.get("file")
    return os.path.relpath(BASE / "data" / "published" / name) if name else []


def builder_hash(package):
    """Hash of the code that builds an item."""

    def source(wildcards):
        name = ITEMS[wildcards.item].builder.partition(".")[0]
        return source_hash(f"{package}.build", f"{package}.{name}")

    return source


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


def item_category(wildcards):
    return PAPER_NAMES[ITEMS[wildcards.item].paper]


def item_labels(wildcards):
    item = ITEMS[wildcards.item]
    return {"item": item.title, "kind": item.kind}


rule make_table:
    input:
        results=item_input("results"),
        timings=item_input("timings"),
        printed=printed_file,
    output:
        "results/tables/{item}.csv",
        report(
            "results/tables/{item}.md",
            caption="../report/item.rst",
            category=item_category,
            labels=item_labels,
        ),
        "results/tables/{item}.tex",
    log:
        "logs/make_table/{item}.log",
    params:
        item=item_parameters,
        source=builder_hash("fedmix.tables"),
    script:
        "../scripts/make_table.py"


rule make_figure:
    input:
        results=item_input("results"),
        timings=item_input("timings"),
    output:
        "results/figures/{item}.pdf",
        report(
            "results/figures/{item}.svg",
            caption="../report/item.rst",
            category=item_category,
            labels=item_labels,
        ),
        "results/figures/{item}.png",
    log:
        "logs/make_figure/{item}.log",
    params:
        item=item_parameters,
        source=builder_hash("fedmix.figures"),
    script:
        "../scripts/make_figure.py"
