# Which protocol gave the published values? Protocols drawn by stated weights say in how many a claim holds.
# An optimiser looks for one that gives the values, and fresh replications judge what it finds.

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


rule design_protocols:
    output:
        f"{SEARCH}/design.csv",
    log:
        "logs/design_protocols/{search}.log",
    conda:
        "../../environment.yml"
    params:
        **SEARCHED,
        code=lambda wildcards: code_hash("design_protocols"),
    script:
        "../scripts/design_protocols.py"


rule run_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        data=protocol_data,
    output:
        f"{SEARCH}/drawn/{{table}}/{{block}}.parquet",
    log:
        "logs/run_protocols/{search}/{table}/{block}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 240 * attempt,
    params:
        space=lambda wildcards: searched(wildcards).for_running(wildcards.table),
        declared=lambda wildcards: repr(searched(wildcards).for_running(wildcards.table)),
        metrics=searched_metrics,
        source=protocol_source,
        script=text_hash("run_protocols"),
    script:
        "../scripts/run_protocols.py"


rule optimize_protocols:
    input:
        data=protocol_data,
    output:
        runs=f"{TARGET}/seed{{seed}}.parquet",
        trials=f"{TARGET}/seed{{seed}}.csv",
    log:
        "logs/optimize_protocols/{search}/{target}/{seed}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_memory(4000),
        runtime=lambda wildcards, attempt: 600 * attempt,
    params:
        **SEARCHED,
        tables=lambda wildcards: items_of(searched(wildcards)),
        metrics=searched_metrics,
        printed=PRINTED_HASH,
        source=protocol_source,
        code=lambda wildcards: code_hash("optimize_protocols"),
    script:
        "../scripts/optimize_protocols.py"


rule score_protocols:
    input:
        design=f"{SEARCH}/design.csv",
        drawn=drawn_runs,
        trials=lambda wildcards: of_each_seed(wildcards, "csv"),
        runs=lambda wildcards: of_each_seed(wildcards, "parquet"),
    output:
        **{part: f"{TARGET}/{part}.csv" for part in FOUND},
        kept=[f"{TARGET}/{name}" for name in KEPT],
        words=f"{TARGET}/words.md",
        figures=expand(
            FIGURES_OF,
            figure=PROTOCOL_FIGURES,
            suffix=PAGE_SUFFIXES,
            allow_missing=True,
        ),
    log:
        "logs/score_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        **SEARCHED,
        tables=lambda wildcards: items_of(searched(wildcards)),
        printed=PRINTED_HASH,
        preset=config["preset"],
        code=lambda wildcards: code_hash("score_protocols"),
    script:
        "../scripts/score_protocols.py"


# The findings and figures of a target, and a table's runs, on which claims are tested.
rule export_protocols:
    input:
        rules.score_protocols.output.words,
        rules.score_protocols.output.figures,
        branch(
            lambda wildcards: wildcards.target in searched(wildcards).tables,
            then=rules.score_protocols.output.kept,
        ),
    output:
        directory(f"{IN_REPOSITORY}/{{search}}/{{target}}"),
    log:
        "logs/export_protocols/{search}/{target}.log",
    conda:
        "../../environment.yml"
    params:
        code=lambda wildcards: code_hash("export_protocols"),
    script:
        "../scripts/export_protocols.py"


rule draw_claims:
    input:
        rules.judge_results.output.specification,
    output:
        [f"{SHOWN}/figures/{{search}}_claims.{suffix}" for suffix in PAGE_SUFFIXES],
    log:
        "logs/draw_claims/{search}.log",
    conda:
        "../../environment.yml"
    params:
        **SEARCHED,
        preset=config["preset"],
        code=lambda wildcards: code_hash("draw_claims"),
    script:
        "../scripts/draw_claims.py"


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


def searches_made(wildcards):
    """The kept files of the searches that `all` runs."""
    folders = [f"results/protocols/{s}/{t}" for s, space in IN_ALL.items() for t in space.tables]
    return expand("{folder}/{kept}", folder=folders, kept=KEPT)


def searches_judged(wildcards):
    """The searches that claims are tested in, by their folder here or in the repository."""
    folders = {s: "results/protocols" if s in IN_ALL else IN_REPOSITORY for s in SEARCHABLE}
    return {
        f"{folder}/{search}": {"space": SEARCHES[search], "items": items_of(SEARCHES[search])}
        for search, folder in folders.items()
        if search in IN_ALL or (BASE / folder / search).is_dir()
    }


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
