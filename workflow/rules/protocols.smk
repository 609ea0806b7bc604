# Which protocol printed a table? A search over all that a paper leaves unsaid: many protocols on a
# few replications, then fewer on more (successive halving).

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
    space = SEARCHES[wildcards.paper]
    methods = STUDIES[space.study].methods.values()
    return {
        "items": {table: ITEMS[table] for table in space.tables},
        "labels": {method.name: method.label for method in methods},
    }


def protocol_source(wildcards):
    """Hash of the code behind the runs."""
    index = method_registry.index()
    used = [index[method] for method in SEARCHES[wildcards.paper].methods]
    return source_hash("fedmix.protocols", *used)


PROTOCOL_FIGURES = ["curve", "shares", "nearest"]


def protocol_figures(papers):
    """Every figure of some papers' searches; its caption stands beside it."""
    return [
        {
            "paper": paper,
            "title": f"Which protocol? {getattr(space.tables.get(target), 'title', 'All tables')}",
            "path": f"results/figures/{paper}_protocols/{target}_{figure}.svg",
        }
        for paper, space in papers.items()
        for target in space.targets
        for figure in PROTOCOL_FIGURES
    ]


def protocol_files(papers):
    """Everything that some papers' searches end in."""
    figures = [figure["path"] for figure in protocol_figures(papers)]
    return [f"results/tables/{paper}_protocols.csv" for paper in papers] + figures


# An archive holds no search, and no method is run to show one.
IN_ALL = {
    paper: space for paper, space in SEARCHES.items() if space.in_all and not config["archive"]
}


rule design_protocols:
    output:
        f"{SEARCH}/design.csv",
    log:
        "logs/design_protocols/{paper}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        source=source_hash("fedmix.cells.protocols.design"),
    script:
        "../scripts/design_protocols.py"


rule run_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        chosen=chosen_protocols,
        data=protocol_data,
    output:
        f"{SEARCH}/{{target}}/rung{{rung}}/{{table}}/{{block}}.parquet",
    log:
        "logs/run_protocols/{paper}/{target}/rung{rung}/{table}/{block}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 240 * attempt,
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper].for_running(wildcards.table),
        cells=lambda wildcards: SEARCHES[wildcards.paper].cells(
            wildcards.table, int(wildcards.rung)
        ),
        grid=lambda wildcards: SEARCHES[wildcards.paper].grid(wildcards.table, int(wildcards.rung)),
        source=protocol_source,
    script:
        "../scripts/run_protocols.py"


rule select_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        chosen=earlier_choice,
        runs=earlier_runs,
    output:
        f"{SEARCH}/{{target}}/rung{{rung}}.csv",
    log:
        "logs/select_protocols/{paper}/{target}/rung{rung}.log",
    wildcard_constraints:
        rung="[1-9][0-9]*",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        print=printed_tables,
        printed=PRINTED_HASH,
        source=source_hash("fedmix.cells.protocols.design", "fedmix.cells.protocols.score"),
    script:
        "../scripts/select_protocols.py"


rule score_protocols:
    input:
        chosen=all_choices,
        first=first_runs,
        later=later_runs,
    output:
        scores=f"{SEARCH}/{{target}}/scores.csv",
        first=f"{SEARCH}/{{target}}/first.csv",
        nearest=f"{SEARCH}/{{target}}/nearest.csv",
        held_out=f"{SEARCH}/{{target}}/held_out.csv",
        permuted=f"{SEARCH}/{{target}}/permuted.csv",
        shares=f"{SEARCH}/{{target}}/shares.csv",
        words=f"{SEARCH}/{{target}}/words.md",
    log:
        "logs/score_protocols/{paper}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        print=printed_tables,
        printed=PRINTED_HASH,
        source=source_hash("fedmix.cells.protocols"),
    script:
        "../scripts/score_protocols.py"


rule tabulate_protocols:
    input:
        lambda wildcards: [
            f"results/protocols/{wildcards.paper}/{target}/scores.csv"
            for target in SEARCHES[wildcards.paper].targets
        ],
    output:
        "results/tables/{paper}_protocols.csv",
    log:
        "logs/tabulate_protocols/{paper}.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/tabulate_protocols.py"


ruleorder: tabulate_protocols > make_table


rule draw_protocols:
    input:
        first=f"{SEARCH}/{{target}}/first.csv",
        scores=f"{SEARCH}/{{target}}/scores.csv",
        nearest=f"{SEARCH}/{{target}}/nearest.csv",
        shares=f"{SEARCH}/{{target}}/shares.csv",
        words=f"{SEARCH}/{{target}}/words.md",
    output:
        [
            f"results/figures/{{paper}}_protocols/{{target}}_{figure}.{suffix}"
            for figure in PROTOCOL_FIGURES
            for suffix in ITEM_SUFFIXES["figure"]
        ],
    log:
        "logs/draw_protocols/{paper}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        space=lambda wildcards: SEARCHES[wildcards.paper],
        source=source_hash("fedmix.views.figures.protocols"),
    script:
        "../scripts/draw_protocols.py"


localrules:
    protocols,


rule protocols:
    input:
        protocol_files(SEARCHES),
