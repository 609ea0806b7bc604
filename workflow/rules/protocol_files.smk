# From a search's wildcards to its files and parameters.

from fedmix.cells.protocols.space import read_space

SEARCHES = {
    key: space
    for key, paper in REQUEST.papers.items()
    if (space := read_space(paper, config["preset"]))
}
SEARCH = "results/protocols/{paper}"
# The first rung is the same for all that is searched for.
EVERY = "every"


wildcard_constraints:
    paper="|".join(SEARCHES) or "none",
    target="[a-z0-9_]+",
    table="[a-z0-9_]+",
    rung=r"\d+",


def protocol_runs(paper, target, rungs):
    """Every block that some rungs run for a target."""
    space = SEARCHES[paper]
    return [
        f"results/protocols/{paper}/{target if rung else EVERY}/rung{rung}/{table}/{block}.parquet"
        for rung in rungs
        for table in space.targets[target]
        for block in space.rungs[rung].blocks()
    ]


def earlier_runs(wildcards):
    return protocol_runs(wildcards.paper, wildcards.target, range(int(wildcards.rung)))


def first_runs(wildcards):
    return protocol_runs(wildcards.paper, wildcards.target, [0])


def later_runs(wildcards):
    rungs = range(1, len(SEARCHES[wildcards.paper].rungs))
    return protocol_runs(wildcards.paper, wildcards.target, rungs)


def all_choices(wildcards):
    """Each rung's protocols."""
    folder = f"results/protocols/{wildcards.paper}"
    rungs = range(1, len(SEARCHES[wildcards.paper].rungs))
    later = [f"{folder}/{wildcards.target}/rung{rung}.csv" for rung in rungs]
    return [f"{folder}/design.csv", *later]


def chosen_protocols(wildcards):
    """The protocols that a rung runs: all of the design, or those that the rung before chose."""
    folder = f"results/protocols/{wildcards.paper}"
    if wildcards.rung == "0":
        return f"{folder}/design.csv"
    return f"{folder}/{wildcards.target}/rung{wildcards.rung}.csv"


def earlier_choice(wildcards):
    """What a rung chooses from."""
    before = type(wildcards)(fromdict={**dict(wildcards), "rung": str(int(wildcards.rung) - 1)})
    return chosen_protocols(before)


def protocol_data(wildcards):
    space = SEARCHES[wildcards.paper]
    dataset = space.tables[wildcards.table].setting["dataset"]
    return [
        f"data/embedded/{dataset}/{embedding}.npz"
        for embedding in space.embeddings(wildcards.table)
    ]


def printed_tables(wildcards):
    """What the printed numbers of a search are found by."""
    return print_of(SEARCHES[wildcards.paper])


def print_of(space):
    methods = STUDIES[space.study].methods.values()
    return {
        "items": {table: ITEMS[table] for table in space.tables},
        "labels": {method.name: method.label for method in methods},
    }


def of_each_table(name):
    """A file of the search for each table by itself."""
    return lambda wildcards: [
        f"results/protocols/{wildcards.paper}/{table}/{name}.csv"
        for table in SEARCHES[wildcards.paper].tables
    ]


def drawn_runs(wildcards):
    """The first rung's runs on all tables."""
    space = SEARCHES[wildcards.paper]
    return [path for table in space.tables for path in protocol_runs(space.paper, table, [0])]


def protocol_source(wildcards):
    """Hash of the code behind the runs."""
    index = method_registry.index()
    used = [index[method] for method in SEARCHES[wildcards.paper].methods]
    return source_hash("fedmix.protocols", *used)


PROTOCOL_FIGURES = ["curve", "shares", "nearest"]


def search_shown(paper, target, words, figures):
    """What the page shows of a search: its words, and figures with their captions beside them."""
    title = getattr(SEARCHES[paper].tables.get(target), "title", "All tables")
    shown = [{"paper": paper, "title": f"Which protocol? {title}", "path": f} for f in figures]
    return {"paper": paper, "target": target, "words": words, "figures": shown}


def searches_run(papers):
    """Every search of some papers, as this run makes it."""
    return [
        search_shown(
            paper,
            target,
            f"results/protocols/{paper}/{target}/words.md",
            [f"{SHOWN}/figures/{paper}_protocols/{target}_{f}.svg" for f in PROTOCOL_FIGURES],
        )
        for paper, space in papers.items()
        for target in space.targets
    ]


def protocol_files(papers):
    """Everything that some papers' searches end in."""
    found = searches_run(papers)
    figures = [figure["path"] for search in found for figure in search["figures"]]
    words = [search["words"] for search in found]
    return [f"{SHOWN}/tables/{paper}_protocols.csv" for paper in papers] + words + figures


# An archive holds no search, and no method is run to show one.
IN_ALL = {
    paper: space for paper, space in SEARCHES.items() if space.in_all and not config["archive"]
}
# A search of hours is kept in the repository, where later runs find it.
IN_REPOSITORY = "docs/reproduction/protocols"
EXPORTED = [f"{IN_REPOSITORY}/{paper}" for paper, space in SEARCHES.items() if not space.in_all]


def searches_kept():
    """Every search that lies in the repository, with the figures that lie there beside its words."""
    return [
        search_shown(paper, target, str(words), sorted(map(str, folder.glob(f"{target}_*.svg"))))
        for paper, space in SEARCHES.items()
        for folder in [BASE / IN_REPOSITORY / paper]
        for target in space.targets
        if not space.in_all and (words := folder / f"{target}.md").is_file()
    ]


def searches_made(wildcards):
    """What is kept of the searches that `all` runs."""
    return [
        f"results/protocols/{paper}/kept/{name}.csv"
        for paper in IN_ALL
        for name in ("protocols", "runs")
    ]


def searches_judged(wildcards):
    """The searches that claims are put to, by their folder here or in the repository."""
    found = {f"results/protocols/{paper}/kept": space for paper, space in IN_ALL.items()}
    there = [folder for folder in EXPORTED if (BASE / folder).is_dir()]
    found |= {folder: SEARCHES[Path(folder).name] for folder in there}
    return {folder: {"space": space, **print_of(space)} for folder, space in found.items()}
