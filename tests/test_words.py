"""How a run was made, in words, and the names that readers know."""

import json

import pandas as pd

from fedmix import __version__
from fedmix.revision import LIBRARIES
from fedmix.views.page.words import (
    describe_run,
    names_of,
    read_description,
    translator,
    write_description,
)
from synthetic_cells import frame


def timings(*dates):
    made = [
        json.dumps({"date": date, "commit": "abc1234", "python": "3.11", "processor": "one"})
        for date in dates
    ]
    plain = {name: "1.0" for name in LIBRARIES}
    made = [json.dumps(json.loads(text) | plain) for text in made]
    return pd.DataFrame({"study": "s", "replication": range(len(made)), "made": made}).assign(
        cpu_seconds=3600.0
    )


def test_a_run_of_one_day_and_of_several_tells_its_dates_once():
    options = {"preset": "paper", "only": "fedgrem", "partial": False, "limit": None}
    runs = timings("2026-01-03", "2026-01-02", "2026-01-04")
    told = describe_run(options, pd.concat([runs, runs.assign(cpu_seconds=0.0)]))
    assert told["Made"] == "2026-01-02 to 2026-01-04"
    assert told["Preset"] == "paper only=fedgrem"
    assert told["Replications, at most"] == "s 3"
    assert told["Core-hours of the methods"] == "3.00"
    assert told["fedmix"] == f"{__version__}, commit abc1234"
    assert (told["Python"], told["Processor"]) == ("3.11", "one")
    assert describe_run(options, timings("2026-01-02", "2026-01-02"))["Made"] == "2026-01-02"
    others = runs.assign(made=runs["made"].str.replace('"one"', '"other"'))
    assert describe_run(options, pd.concat([others, runs]))["Processor"] == "one; other"


def test_before_anything_was_run_there_is_a_description_too(tmp_path):
    told = describe_run({"preset": "quick"}, pd.DataFrame())
    assert (told["Made"], told["fedmix"]) == ("", __version__)
    write_description(tmp_path / "run.csv", told)
    assert read_description(tmp_path / "run.csv") == told


def test_identifiers_are_replaced_by_names_unless_they_are_ordinary_words():
    tables = [{"datasets": {"digits": "Digits (8x8)", "frog_a": "Frogs"}}]
    names = names_of(tables, frame([{"method": "FedEM", "label": "Fed-EM"}, {"method": ""}]))
    translate = translator(names)
    assert translate("digits, frog_a and a_b by FedEM") == "digits, Frogs and a b by Fed-EM"
    assert translate("not-FedEM, FedEMs") == "not-FedEM, FedEMs"
    assert translator({"emnist": "EMNIST Balanced"})("on emnist") == "on EMNIST Balanced"
    nested = translator({"k": "K", "k-means": "Lloyd's", "k-means++": "seeded"})
    assert nested("k, k-means and k-means++") == "K, Lloyd's and seeded"
    assert translator({})("no_name at all") == "no name at all"
