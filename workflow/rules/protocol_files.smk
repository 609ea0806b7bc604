# Derive the files and parameters of a protocol search from wildcards.

from fedmix.cells.papers import read_claims
from fedmix.cells.protocols.space import read_searches
from fedmix.cells.unreported import open_claims

try:
    SEARCHES = read_searches(REQUEST.papers, config["preset"])
except FedmixError as error:
    raise WorkflowError(str(error)) from None

SEARCH = "results/protocols/{search}"
# Snakemake compares only plain values among parameters: `declared` shows it that a space has changed.
SEARCHED = {
    "space": lambda wildcards: SEARCHES[wildcards.search],
    "declared": lambda wildcards: repr(SEARCHES[wildcards.search]),
}


wildcard_constraints:
    search="|".join(SEARCHES) or "none",
    target="[a-z0-9_]+",
    table="[a-z0-9_]+",
    seed=r"\d+",


def drawn_runs(wildcards):
    """The runs of the drawn protocols on the target's tables."""
    space = SEARCHES[wildcards.search]
    return [
        f"results/protocols/{space.name}/drawn/{table}/{block}.parquet"
        for table in space.targets[wildcards.target]
        for block in space.draw.blocks()
    ]


def of_each_seed(suffix):
    """A file of the optimiser for each seed."""
    return lambda wildcards: [
        f"results/protocols/{wildcards.search}/{wildcards.target}/seed{seed + 1}.{suffix}"
        for seed in range(SEARCHES[wildcards.search].search_of(tables_of_job(wildcards)).seeds)
    ]


def tables_of_job(wildcards):
    """The tables that a job runs: one of them, or those of its target."""
    space, names = SEARCHES[wildcards.search], dict(wildcards)
    return [names["table"]] if "table" in names else space.targets[names["target"]]


def protocol_data(wildcards):
    return [
        f"data/embedded/{dataset}/{embedding}.npz"
        for table in tables_of_job(wildcards)
        for dataset, embedding in SEARCHES[wildcards.search].data(table)
    ]


def items_of(space):
    """The items of a search's tables, which give the published values."""
    return {table.item: ITEMS[table.item] for table in space.tables.values()}


def searched_metrics(wildcards):
    """Table -> method -> the metric that the table shows for it."""
    space = SEARCHES[wildcards.search]
    return {
        table: {m: ITEMS[space.tables[table].item].metrics_of(m)[0] for m in space.methods}
        for table in tables_of_job(wildcards)
    }


def protocol_source(wildcards):
    """Hash of the code behind the runs."""
    space, index = SEARCHES[wildcards.search], method_registry.index()
    used = {index[method.estimator] for method in space.methods.values()}
    return source_hash("fedmix.protocols", f"fedmix.experiments.{space.experiment}", *sorted(used))


PROTOCOL_FIGURES = ["curve", "path", "nearest"]
KEPT_OF_TABLE = ["protocols.csv", "runs.parquet"]
SCORED = ["scores", "judged", "leads", "priors", "shares", "permuted", "held_out"]


def kept_files(wildcards):
    """The files of a target that the repository keeps: its findings, and a table's runs."""
    is_table = wildcards.target in SEARCHES[wildcards.search].tables
    kept = ["words.md", *(KEPT_OF_TABLE if is_table else ())]
    return [f"results/protocols/{wildcards.search}/{wildcards.target}/{name}" for name in kept]


def search_shown(search, target, words, figures):
    """The content of the page for a search: its findings, and figures with captions."""
    space = SEARCHES[search]
    table = space.tables.get(target)
    title = f"Which protocol? {table.title if table else 'All tables'}"
    shown = [{"paper": space.paper, "title": title, "path": figure} for figure in figures]
    item = table.item if table else target
    return {"paper": space.paper, "target": item, "words": words, "figures": shown}


def searches_run(searches):
    """All targets of some searches, as this run makes them."""
    return [
        search_shown(
            search,
            target,
            f"results/protocols/{search}/{target}/words.md",
            [f"{SHOWN}/figures/{search}_protocols/{target}_{f}.svg" for f in PROTOCOL_FIGURES],
        )
        for search, space in searches.items()
        for target in space.targets
    ]


def protocol_files(searches):
    """The final files of some searches."""
    found = searches_run(searches)
    figures = [figure["path"] for search in found for figure in search["figures"]]
    words = [search["words"] for search in found]
    return [f"{SHOWN}/tables/{search}_protocols.csv" for search in searches] + words + figures


# With partial=true, only searches whose tables have finished blocks.
SEARCHABLE = {
    search: space
    for search, space in SEARCHES.items()
    if space.paper in WHOLE.papers and all(t.item in ITEMS for t in space.tables.values())
}
IN_ALL = {search: space for search, space in SEARCHABLE.items() if space.in_all}
# A search that takes hours is kept in the repository, where later runs find it. A preset that makes it
# smaller keeps nothing, because that would replace the whole one.
IN_REPOSITORY = "docs/reproduction/protocols"
OUTSIDE_ALL = {search: space for search, space in SEARCHABLE.items() if not space.in_all}
EXPORTED = [
    f"{IN_REPOSITORY}/{search}/{target}"
    for search, space in OUTSIDE_ALL.items()
    if not space.presets[config["preset"]]
    for target in space.targets
]


def searches_kept():
    """Every search in the repository, with its figures there."""
    return [
        search_shown(search, target, str(words), sorted(map(str, folder.glob("*.svg"))))
        for search, space in SEARCHES.items()
        for target in space.targets
        for folder in [BASE / IN_REPOSITORY / search / target]
        if space.paper in WHOLE.papers
        and not space.in_all
        and (words := folder / "words.md").is_file()
    ]


def searches_made(wildcards):
    """The kept files of the searches that `all` runs."""
    folders = [f"results/protocols/{s}/{t}" for s, space in IN_ALL.items() for t in space.tables]
    return expand("{folder}/{kept}", folder=folders, kept=KEPT_OF_TABLE)


def searches_judged(wildcards):
    """The searches that claims are tested in, by their folder here or in the repository."""
    found = {f"results/protocols/{search}": space for search, space in IN_ALL.items()}
    kept = {f"{IN_REPOSITORY}/{search}": space for search, space in OUTSIDE_ALL.items()}
    found |= {folder: space for folder, space in kept.items() if (BASE / folder).is_dir()}
    return {folder: {"space": space, "items": items_of(space)} for folder, space in found.items()}


def claim_figures():
    """A figure for every search that claims are tested in."""
    claims = read_claims(REQUEST.papers)
    return [
        {
            "paper": space.paper,
            "title": f"{REQUEST.papers[space.paper].title}: claims over all protocols",
            "path": f"{SHOWN}/figures/{space.name}_claims.svg",
        }
        for space in (judged["space"] for judged in searches_judged(None).values())
        if open_claims(claims, space)
    ]
