# Derive files from wildcards.


def setting_of(wildcards):
    return STUDIES[wildcards.study].settings[wildcards.setting]


def block_names(study, setting):
    """The blocks that the evidence lacks; with partial=true those that exist, if it lacks any."""
    missing = [block.name for block in REQUEST.coverage.lacking(study, setting)]
    if missing and config["partial"]:
        most = max(study.replications_in(setting).values())
        return finished_blocks(f"results/{study.name}/{setting.folder}", most, planned=missing)
    return missing


def block_paths(study, setting):
    folder = f"results/{study.name}/{setting.folder}"
    return [f"{folder}/{name}.parquet" for name in block_names(study, setting)]


def data_of(study, setting):
    """The embedded data set behind a setting's blocks; none if its hash is known without it."""
    needed = setting.embedded and block_names(study, setting)
    if not needed or (config["partial"] and not Path(setting.embedded).is_file()):
        return None
    return setting.embedded


def part_of(wildcards):
    return REQUEST.parts[wildcards.study, wildcards.part]


def part_blocks(wildcards):
    part = part_of(wildcards)
    return [path for setting in part.settings for path in block_paths(part.study, setting)]


def part_timings(wildcards):
    return [str(timings_of(Path(path))) for path in part_blocks(wildcards)]


def part_data(wildcards):
    part = part_of(wildcards)
    return sorted({data_of(part.study, setting) for setting in part.settings} - {None})


def collected(parts, name):
    """The collected results, timings or cells of some parts."""
    return [f"{REQUEST.folder_of(part)}/{name}.parquet" for part in parts]


def all_collected(name):
    return collected(WHOLE.parts.values(), name)


def item_cells(wildcards):
    """The cells behind an item and its verdicts."""
    return collected(REQUEST.parts_behind(ITEMS[wildcards.item]), "cells")


FIGURES = [name for name, item in WHOLE.items.items() if item.kind == "figure"]


def behind_figures(names):
    """The cells that figures show, and the results of those that are drawn round by round.

    Cells that only the verdicts need are left out, and cells have no rounds.
    """
    cells, results = {}, {}
    for item in map(ITEMS.get, names):
        parts = REQUEST.parts_of(item)
        cells |= dict.fromkeys(collected(parts, "cells"))
        if item.builder in BY_ROUND:
            results |= dict.fromkeys(collected(parts, "results"))
    return {"cells": list(cells), "results": list(results)}


def page_figures(names):
    """The figures of the pages, with their captions."""
    return [f"{SHOWN}/page_figures/{name}.{suffix}" for name in names for suffix in PAGE_SUFFIXES]


def item_files(items):
    """The files of tables and figures."""
    return [
        f"{SHOWN}/{ITEMS[name].kind}s/{name}.{suffix}"
        for name in items
        for suffix in ITEM_SUFFIXES[ITEMS[name].kind]
    ]


def embedding_figures():
    """A figure of every t-SNE embedding that this run has or makes."""
    needed = {
        setting.embedded
        for study in WHOLE.studies.values()
        for setting in study.settings.values()
        if setting.embedded
        and REQUEST.datasets[setting.dataset]["embeddings"][setting.values["embedding"]]["kind"]
        == "tsne"
        and (Path(setting.embedded).is_file() or block_names(study, setting))
    }
    return [
        f"results/embeddings/{Path(path).parent.name}/{Path(path).stem}.svg"
        for path in sorted(needed)
    ]


def unknown_target(wildcards):
    """Suggest the nearest target, or the preset that has it, for a name without a rule."""
    hint = nearest_names(wildcards.target, ["all", *TARGETS, *targets_of(config["preset"])])
    presets = sorted({path.stem for path in BASE.glob("config/**/presets/*.yaml")})
    elsewhere = [name for name in presets if wildcards.target in targets_of(name)]
    if elsewhere:
        hint = f"It belongs to --config preset={' or preset='.join(elsewhere)}."
    if config["partial"]:
        hint += " With partial=true, only targets with finished blocks exist."
    raise WorkflowError(
        f"There is no target {wildcards.target!r} in the preset {config['preset']!r}. {hint}"
    )


def targets_of(preset):
    """Items and papers of another preset."""
    items = read_request(BASE / "config", {**config, "preset": preset}).items
    return {*items, *(item.paper for item in items.values())}
