"""With ``partial: true`` a request has only what has been run."""

from fedmix.configuration import read_yaml
from fedmix.pipeline.request import read_request
from synthetic_results import ROOT


def options(preset):
    config = read_yaml(ROOT / "config" / "config.yaml")
    return {**config, "evidence": False, "preset": preset, "partial": True}


def test_partial_asks_for_nothing_of_settings_that_never_started(tmp_path):
    chosen = options("quick")
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
    chosen = options("paper")
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
    request = read_request(ROOT / "config", options("paper"), tmp_path)
    collected = [s.folder for part in request.parts.values() for s in part.settings]
    assert sorted(collected) == sorted(started)
    assert all(request.parts_of(item) for item in request.items.values())
