"""A request is resolved with its changes, or refused with the nearest names."""

import re
from pathlib import Path

import pytest

from configured_studies import STUDY, edit, options
from fedmix.__main__ import main
from fedmix.errors import ConfigurationError
from fedmix.pipeline.forecast import forecast
from fedmix.pipeline.plan import replications_of
from fedmix.pipeline.request import left_out, read_request

ROOT = Path(__file__).parents[1]
PRESETS = sorted(path.stem for path in (ROOT / "config" / "presets").glob("*.yaml"))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_resolves_and_shows_something(preset, tmp_path):
    request = read_request(ROOT / "config", options(preset=preset), tmp_path)
    assert request.studies
    assert request.items


def test_what_a_preset_runs_on_request_is_a_target_but_not_in_all(folder):
    quick = read_request(folder, options(preset="quick"))
    assert "beyond_rates_table" in quick.items
    whole = quick.in_all()
    assert {study.paper for study in whole.studies.values()} == {
        *(study.paper for study in quick.studies.values() if study.paper != "beyond")
    }
    assert not any(item.study.startswith("beyond") for item in whole.items.values())
    assert set(quick.papers) - set(whole.papers) == {"beyond"}
    paper = read_request(folder, options(preset="paper"))
    assert paper.in_all() == paper

    edit(folder / "presets" / "quick.yaml", lambda d: d.update(on_request=["beyonds"]))
    with pytest.raises(ConfigurationError, match=r"quick\.yaml.*unknown paper 'beyonds'.*beyond"):
        read_request(folder, options(preset="quick"))


def test_the_option_papers_decides_what_is_in_all(folder):
    chosen = read_request(folder, options(preset="quick", papers=["beyond", "fedgem"]))
    whole = chosen.in_all()
    assert list(whole.papers) == ["fedgem", "beyond"]
    assert {study.paper for study in whole.studies.values()} == {"fedgem", "beyond"}
    assert "fedgrem_table1" in chosen.items  # still a target

    with pytest.raises(ConfigurationError, match=r"papers: unknown paper 'fedgen'.*'fedgem'"):
        read_request(folder, options(papers=["fedgen"]))
    with pytest.raises(ConfigurationError, match="papers: expected a list to have at least 1"):
        read_request(folder, options(papers=[]))


def test_a_figure_of_variants_waits_for_two_of_them():
    name = "fedgem_radius_variants"
    assert name not in read_request(ROOT / "config", options(preset="quick")).items
    assert name in read_request(ROOT / "config", options(preset="paper")).items


def test_the_quick_preset_needs_no_network(tmp_path):
    request = read_request(ROOT / "config", options(preset="quick"), tmp_path)
    for dataset, _ in request.embeddings():
        assert any("files" not in s for s in request.datasets[dataset]["sources"]), dataset


def test_one_replication_number_overrides_every_study(tmp_path):
    request = read_request(ROOT / "config", options(replications=7, block=3), tmp_path)
    for study in request.studies.values():
        for setting in study.settings.values():
            blocks = study.blocks(setting)
            assert [block.name for block in blocks] == ["0-2", "3-5", "6-6"]
            assert all(set(block.methods) == {*study.methods_of(setting)} for block in blocks)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_blocks_hold_each_replication_of_each_method_once(tmp_path, preset):
    request = read_request(ROOT / "config", options(preset=preset), tmp_path)
    for study in request.studies.values():
        for setting in study.settings.values():
            for method in study.methods_of(setting):
                planned = [
                    r
                    for b in study.blocks(setting)
                    if method in b.methods
                    for r in replications_of(b.name)
                ]
                assert planned == list(range(study.replications_of(method, setting)))


@pytest.mark.slow
def test_the_paper_preset_is_few_jobs_that_last_minutes(tmp_path):
    """At most 2,500, none much longer than ten minutes, nine tenths of the time at work."""
    told = forecast(read_request(ROOT / "config", options(preset="paper"), tmp_path))
    assert sum(study.jobs for study in told.studies) + told.views <= 2500
    assert max(study.longest for study in told.studies) <= 900
    starts = sum(study.starts for study in told.studies)
    assert starts <= 0.1 * told.hours.typical


def test_a_replication_may_not_take_longer_than_its_job(tmp_path):
    with pytest.raises(ConfigurationError, match="replication_timeout: 7201 s is more than"):
        read_request(ROOT / "config", options(replication_timeout=7201), tmp_path)
    read_request(ROOT / "config", options(replication_timeout=None), tmp_path)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"evidence": True}, "evidence: expected a folder or false, got true"),
        ({"papers": "fedgem"}, r"papers: expected a list of names, got 'fedgem'. Write \[fedgem\]"),
        ({"methods": "KFED"}, r"methods: expected a list of names, got 'KFED'. Write \[KFED\]"),
    ],
)
def test_a_usual_mistake_in_an_option_says_what_to_write(tmp_path, given, says):
    with pytest.raises(ConfigurationError, match=says):
        read_request(ROOT / "config", options(**given), tmp_path)


def test_unknown_names_in_several_options_are_told_at_once(tmp_path):
    with pytest.raises(ConfigurationError, match=r"(?s)preset 'papre'.*paper 'fedgen'"):
        read_request(ROOT / "config", options(preset="papre", papers=["fedgen"]), tmp_path)


def test_optional_settings_wait_for_their_embedding(folder, tmp_path):
    edit(folder / STUDY, lambda study: study["settings"][0].update(optional=True))
    without = read_request(folder, options(preset="paper"), tmp_path)
    title = without.datasets["pendigits"]["title"]
    missing = without.unavailable("fedgrem_real", {"variant": "paper_like"})
    assert missing == {title: "data/embedded/pendigits/raw.npz"}
    assert not without.unavailable("fedgrem_real", {"dataset": "mnist"})
    place = tmp_path / "data/embedded/pendigits/raw.npz"
    place.parent.mkdir(parents=True)
    place.touch()
    present = read_request(folder, options(preset="paper"), tmp_path)
    assert not present.unavailable("fedgrem_real", {})
    more = present.studies["fedgrem_real"].settings
    assert len(more) > len(without.studies["fedgrem_real"].settings)


@pytest.mark.parametrize("name", ["fedgrem_real", "protocols"])
def test_a_preset_cannot_be_called_as_a_folder_that_all_presets_share(folder, name):
    (folder / "presets" / f"{name}.yaml").write_text("studies: all\n")
    message = (
        rf"config/presets/{name}.yaml: a preset cannot be called '{name}', because results/{name}"
    )
    with pytest.raises(ConfigurationError, match=message):
        read_request(folder, options())


def test_the_documented_variation_has_the_rule_to_stop_and_its_own_penalty_and_start(folder):
    page = (ROOT / "docs" / "adding_a_method.md").read_text(encoding="utf-8")
    preset = re.search(r"random_start\.yaml`.*?```yaml\n(.*?)```", page, re.S)[1]
    (folder / "presets" / "random_start.yaml").write_text(preset)
    study = read_request(folder, options(preset="random_start")).studies["fedgrem_real"]
    setting = next(iter(study.settings.values()))
    assert study.method_in("FedGrEM-8-random", setting).parameters == {
        "max_rounds": 1000,
        "tol": 1.0e-4,
        "initial_penalty": {"value": 3.0, "units": ["root_n", "spread"]},  # of the variant
        "penalty_decay": 0.7,
        "penalty_scale": 8.0,
        "init": "random",
    }


def test_chosen_methods_and_metrics_are_compared_in_their_order():
    chosen = {"methods": ["KFED", "FedGrEM"], "metrics": ["seconds", "ari_per_client", "rounds"]}
    request = read_request(ROOT / "config", options(**chosen))
    assert list(request.studies["matrix"].methods) == ["KFED", "FedGrEM"]
    assert len(request.studies["fedgem_benchmark"].methods) > 2  # papers keep theirs
    assert request.items["matrix_table"].metrics == ["ari_per_client"]
    assert request.items["matrix_cost"].metrics == ["seconds", "rounds"]
    assert "matrix_silhouette" not in request.items
    figure = request.items["matrix_figure"]
    assert figure.metrics == ["rank: ari_per_client", "ari_per_client"]
    assert [row["metric"] for row in figure.options["rows"]] == ["ari_per_client"]
    assert request.items["fedgem_table1"].metrics


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"methods": ["FedGREM"]}, "--config methods: unknown method 'FedGREM'. .*'FedGrEM'"),
        ({"methods": ["TwoPhase"]}, "unknown method 'TwoPhase'"),  # labels no points
        ({"metrics": ["ari_poled"]}, "--config metrics: unknown metric 'ari_poled'. .*ari_pooled"),
        ({"methods": "FedGrEM"}, r"the command line \(--config\): methods"),
        ({"preset": "smoke", "methods": ["FedGrEM"]}, "This preset compares nothing"),
    ],
)
def test_a_wrong_choice_of_methods_or_metrics_is_told_with_the_nearest(chosen, says):
    with pytest.raises(ConfigurationError, match=says):
        read_request(ROOT / "config", options(**chosen))


def test_methods_that_a_comparison_leaves_out_are_named_with_the_reason():
    request = read_request(ROOT / "config", options(methods=["FedGrEM", "KFED"]))
    found = left_out(request.studies["matrix"])
    assert "TwoPhase" in found["for regression data only"]
    assert {"FedGEM", "AFCL"} <= set(found["not chosen"])
    assert not {"FedGrEM", "KFED"} & {name for names in found.values() for name in names}
    whole = read_request(ROOT / "config", options())
    assert "not chosen" not in left_out(whole.studies["matrix"])


def test_a_wrong_option_names_the_command_line_or_the_file(folder):
    with pytest.raises(ConfigurationError, match=r"command line .*unknown key 'mirorr'. Did you "):
        read_request(folder, options(mirorr="x"))
    with pytest.raises(ConfigurationError, match="Did you mean 'quick'"):
        read_request(folder, options(preset="quik"))
    with pytest.raises(ConfigurationError, match=r"the command line \(--config\): replications"):
        read_request(folder, options(replications="abc"))
    edit(folder / "config.yaml", lambda config: config.update(replications="abc"))
    with pytest.raises(ConfigurationError, match=r"config/config.yaml:\d+: replications"):
        read_request(folder, options(replications="abc"))


def test_options_may_come_as_text_from_the_command_line(tmp_path):
    changes = {"partial": "true", "replications": "7", "mirror": "none"}
    found = read_request(ROOT / "config", options(**changes), tmp_path).options
    assert (found["partial"], found["replications"], found["mirror"]) == (True, 7, "none")


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("replications=abc", "the command line (--config): replications"),
        ("block=[1", "block: expected a valid integer"),
        ("partial", "expected KEY=VALUE"),
    ],
)
def test_a_wrong_option_has_no_traceback(tmp_path, monkeypatch, capsys, option, says):
    monkeypatch.chdir(tmp_path)
    assert main(["status", "--workflow", str(ROOT), "--config", option]) == 1
    assert says in capsys.readouterr().err


def test_a_target_has_the_settings_of_its_items_and_the_draws_behind_their_verdicts(folder):
    paper = read_request(folder, options(preset="paper"))
    table = paper.of_target("fedgrem_table2")
    assert set(table.items) == {"fedgrem_table2"}
    assert set(table.studies) == {"fedgrem_real", "fedgrem_embedding"}
    settings = table.studies["fedgrem_real"].settings.values()
    assert {setting.dataset for setting in settings} == {"mnist"}
    assert {item.paper for item in paper.of_target("fedgem").items.values()} == {"fedgem"}
    assert set(paper.of_target("fedgem_radius").studies) == {"fedgem_radius"}
    assert paper.of_target("all") == paper.in_all()


def test_an_unknown_target_is_told_with_the_nearest(folder):
    with pytest.raises(ConfigurationError, match=r"no study or target 'matrx'. Did you mean 'matr"):
        read_request(folder, options(preset="paper")).of_target("matrx")


def test_partial_asks_for_nothing_of_settings_that_never_started(tmp_path):
    chosen = options(preset="quick", partial=True)
    assert not any(
        s.settings for s in read_request(ROOT / "config", chosen, tmp_path).studies.values()
    )
    started = tmp_path / "results/fedgem_radius/as_coded.nominal-v0.1/0-2.parquet"
    started.parent.mkdir(parents=True)
    started.touch()
    request = read_request(ROOT / "config", chosen, tmp_path)
    assert {f for s in request.studies.values() for f in s.settings} == {"as_coded.nominal-v0.1"}
    assert {item.study for item in request.items.values()} == {"fedgem_radius"}


def test_partial_takes_nothing_whose_embedding_is_unavailable(tmp_path):
    setting = "fedgrem_real/paper_like.pendigits-contaminated3"
    started = tmp_path / "results" / setting / "0-19.parquet"
    started.parent.mkdir(parents=True)
    started.touch()
    chosen = options(preset="paper", partial=True)
    without = read_request(ROOT / "config", chosen, tmp_path)
    assert not any(study.settings for study in without.studies.values())
    place = tmp_path / "data/embedded/pendigits/raw.npz"
    place.parent.mkdir(parents=True)
    place.touch()
    study = read_request(ROOT / "config", chosen, tmp_path).studies["fedgrem_real"]
    assert list(study.settings) == ["paper_like.pendigits-contaminated3"]


def test_every_setting_that_started_is_collected_once(tmp_path):
    # The first is in more items than the second, which has only the first of them.
    started = ["as_written.C2", "as_stated.C1", "as_stated.C2"]
    for setting in started:
        block = tmp_path / "results/mixed_regression" / setting / "0-9.parquet"
        block.parent.mkdir(parents=True)
        block.touch()
    request = read_request(ROOT / "config", options(preset="paper", partial=True), tmp_path)
    collected = [s.folder for part in request.parts.values() for s in part.settings]
    assert sorted(collected) == sorted(started)
    assert all(request.parts_of(item) for item in request.items.values())
