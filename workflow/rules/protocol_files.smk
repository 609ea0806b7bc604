# Derive the files and parameters of a protocol search from wildcards.

from fedmix.cells.papers import read_claims
from fedmix.cells.protocols.space import KEPT, read_searches
from fedmix.cells.unreported import open_claims

try:
    SEARCHES = read_searches(REQUEST.papers, config["preset"])
except FedmixError as error:
    raise WorkflowError(str(error)) from None

SEARCH = "results/protocols/{search}"
TARGET = f"{SEARCH}/{{target}}"
FOUND = ["scores", "judged", "leads", "priors", "shares", "permuted", "held_out"]
FIGURES_OF = f"{SHOWN}/figures/{{search}}_protocols/{{target}}_{{figure}}.{{suffix}}"
PROTOCOL_FIGURES = ["curve", "path", "nearest"]
# A search that takes hours is kept in the repository, where later runs find it.
IN_REPOSITORY = "docs/reproduction/protocols"
# With partial=true, only searches whose tables have finished blocks.
SEARCHABLE = {
    search: space
    for search, space in SEARCHES.items()
    if space.paper in WHOLE.papers and all(t.item in ITEMS for t in space.tables.values())
}
IN_ALL = {search: space for search, space in SEARCHABLE.items() if space.in_all}


wildcard_constraints:
    search="|".join(SEARCHES) or "none",
    target="[a-z0-9_]+",
    table="[a-z0-9_]+",
    seed=r"\d+",


def searched(wildcards):
    return SEARCHES[wildcards.search]


# Snakemake compares only plain values among parameters: `declared` shows it that a space has changed.
SEARCHED = {"space": searched, "declared": lambda wildcards: repr(searched(wildcards))}


def tables_of_job(wildcards):
    """The tables that a job runs: one of them, or those of its target."""
    names = dict(wildcards)
    return [names["table"]] if "table" in names else searched(wildcards).targets[names["target"]]


def protocol_data(wildcards):
    return [
        f"data/embedded/{dataset}/{embedding}.npz"
        for table in tables_of_job(wildcards)
        for dataset, embedding in searched(wildcards).data(table)
    ]


def drawn_runs(wildcards):
    """The runs of the drawn protocols on the target's tables."""
    tables, blocks = tables_of_job(wildcards), searched(wildcards).draw.blocks()
    return expand(
        f"{SEARCH}/drawn/{{table}}/{{block}}.parquet", **wildcards, table=tables, block=blocks
    )


def of_each_seed(wildcards, suffix):
    """A file of the optimiser for each seed."""
    seeds = searched(wildcards).search_of(tables_of_job(wildcards)).seeds
    return expand(f"{TARGET}/seed{{seed}}.{suffix}", **wildcards, seed=range(1, seeds + 1))


def items_of(space):
    """The items of a search's tables, which give the published values."""
    return {table.item: ITEMS[table.item] for table in space.tables.values()}


def searched_metrics(wildcards):
    """Table -> method -> the metric that the table shows for it."""
    space = searched(wildcards)
    return {
        table: {m: ITEMS[space.tables[table].item].metrics_of(m)[0] for m in space.methods}
        for table in tables_of_job(wildcards)
    }


def protocol_source(wildcards):
    """Hash of the code behind the runs."""
    space, index = searched(wildcards), method_registry.index()
    used = {index[method.estimator] for method in space.methods.values()}
    return source_hash("fedmix.protocols", f"fedmix.experiments.{space.experiment}", *sorted(used))


def files_of(search, target):
    """The findings of a target in words, and its figures."""
    own = {"search": search, "target": target}
    figures = expand(FIGURES_OF, figure=PROTOCOL_FIGURES, suffix="svg", **own)
    return [f"{TARGET}/words.md".format(**own), *figures]


def protocol_files(searches):
    """The final files of some searches."""
    targets = [(search, target) for search, space in searches.items() for target in space.targets]
    return [path for target in targets for path in files_of(*target)]


# A preset that makes a search smaller keeps nothing, because that would replace the whole one.
EXPORTED = [
    f"{IN_REPOSITORY}/{search}/{target}"
    for search, space in SEARCHABLE.items()
    for target in space.targets
    if not space.in_all and not space.presets[config["preset"]]
]


def files_shown(search, target):
    """The findings and figures on the pages: of this run, or those that the repository keeps."""
    if search in IN_ALL:
        return files_of(search, target)
    folder = BASE / IN_REPOSITORY / search / target
    words = folder / "words.md"
    kept = words.is_file() and not SEARCHES[search].in_all
    return [str(words), *sorted(map(str, folder.glob("*.svg")))] if kept else []


def searches_shown():
    """The content of the pages for each search: its findings, and figures with captions."""
    shown = []
    for search, space in SEARCHES.items():
        for target in space.targets if space.paper in WHOLE.papers else ():
            if files := files_shown(search, target):
                words, *figures = files
                table = space.tables.get(target)
                title = f"Which protocol? {table.title if table else 'All tables'}"
                own = {"paper": space.paper, "target": table.item if table else target}
                figures = [{"paper": space.paper, "title": title, "path": f} for f in figures]
                shown.append({**own, "words": words, "figures": figures})
    return shown


def searches_made():
    """The kept files of the searches that `all` runs."""
    folders = [f"results/protocols/{s}/{t}" for s, space in IN_ALL.items() for t in space.tables]
    return expand("{folder}/{kept}", folder=folders, kept=KEPT)


def searches_judged():
    """The searches that claims are tested in, by their folder here or in the repository."""
    folders = {s: "results/protocols" if s in IN_ALL else IN_REPOSITORY for s in SEARCHABLE}
    return {
        f"{folder}/{search}": {"space": SEARCHES[search], "items": items_of(SEARCHES[search])}
        for search, folder in folders.items()
        if search in IN_ALL or (BASE / folder / search).is_dir()
    }


CLAIMS = read_claims(REQUEST.papers)
# A figure for every search that claims are tested in.
CLAIM_FIGURES = [
    {
        "paper": space.paper,
        "title": f"{REQUEST.papers[space.paper].title}: claims over all protocols",
        "path": f"{SHOWN}/figures/{space.name}_claims.svg",
    }
    for space in (judged["space"] for judged in searches_judged().values())
    if open_claims(CLAIMS, space)
]
