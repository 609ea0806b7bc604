# Derive files from wildcards.


def setting_of(wildcards):
    return STUDIES[wildcards.study].settings[wildcards.setting]


def embedded_data(wildcards):
    """The embedded data set of a setting, if any."""
    values = setting_of(wildcards).values
    return embedded_path(values) if "dataset" in values else []


def setting_files(suffix):
    """All blocks of a setting; with partial=true the existing blocks of any size."""

    def files(wildcards):
        study, setting = STUDIES[wildcards.study], setting_of(wildcards)
        folder = f"results/{study.name}/{setting.folder}"
        if config["partial"]:
            blocks = finished_blocks(folder, max(study.replications_in(setting).values()))
        else:
            blocks = [block.name for block in study.blocks(setting)]
        return [f"{folder}/{block}{suffix}" for block in blocks]

    return files


def all_settings(name):
    """The collected results, timings or cells of every setting in `all`."""
    return [
        f"results/{study.name}/{setting.folder}/{name}.parquet"
        for study in WHOLE.studies.values()
        for setting in study.settings.values()
    ]


def all_data():
    """The embedded data sets of `all`."""
    return [f"data/embedded/{dataset}/{embedding}.npz" for dataset, embedding in WHOLE.embeddings()]


def item_cells(wildcards):
    """The cells behind an item and its verdicts."""
    return REQUEST.cells_behind(ITEMS[wildcards.item])


def archived_items():
    """Every table and figure, with the collected results behind it."""
    return {
        name: {
            "title": f"{REQUEST.papers[item.paper].title}: {item.title or name}",
            "files": [
                f"results/{item.study}/{setting.folder}/results.parquet"
                for setting in REQUEST.settings_of(item)
            ],
        }
        for name, item in WHOLE.items.items()
    }


def trajectories(wildcards):
    """The results of a figure that is drawn round by round."""
    item = ITEMS[wildcards.item]
    return [
        f"results/{item.study}/{setting.folder}/results.parquet"
        for setting in REQUEST.settings_of(item)
        if item.builder in BY_ROUND
    ]


def item_files(items):
    """The files of tables and figures."""
    return [
        f"{SHOWN}/{ITEMS[name].kind}s/{name}.{suffix}"
        for name in items
        for suffix in ITEM_SUFFIXES[ITEMS[name].kind]
    ]


def embedding_figures():
    """A figure of every t-SNE embedding that some setting needs."""
    return [
        f"results/embeddings/{dataset}/{embedding}.svg"
        for dataset, embedding in WHOLE.embeddings()
        if REQUEST.datasets[dataset]["embeddings"][embedding]["kind"] == "tsne"
    ]


def unknown_target(wildcards):
    """Suggest the nearest target, or the preset that has it, for a name without a rule."""
    hint = nearest_names(wildcards.target, [*TARGETS, *targets_of(config["preset"])])
    elsewhere = [name for name in preset_names() if wildcards.target in targets_of(name)]
    if elsewhere:
        hint = f"It belongs to --config preset={' or preset='.join(elsewhere)}."
    if config["partial"]:
        hint += " With partial=true, only targets with finished blocks exist."
    raise WorkflowError(
        f"There is no target {wildcards.target!r} in the preset {config['preset']!r}. {hint}"
    )


def preset_names():
    return sorted({path.stem for path in BASE.glob("config/**/presets/*.yaml")})


def targets_of(preset):
    """Items and papers of another preset."""
    items = read_request(BASE / "config", {**config, "preset": preset}).items
    return {*items, *(item.paper for item in items.values())}
