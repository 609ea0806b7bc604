import numpy as np
import pandas as pd
import pytest

from fedmix.configuration import Document
from fedmix.errors import DataError
from fedmix.pipeline.costs import SHARED, Cost, Costs, costs_text, read_costs
from fedmix.pipeline.forecast import (
    STARTUP,
    against_lines,
    benchmark,
    forecast,
    forecast_lines,
    read_actual,
)
from fedmix.pipeline.plan import plan_study
from fedmix.pipeline.request import Request
from fedmix.storage import write_table

KNOWN = Costs(
    {
        ("study", "", "FedEM"): Cost(2.0, 300.0, 0.1),
        ("study", "", "TGMM"): Cost(8.0, 512.0, 0.1),
        ("study", "", SHARED): Cost(1.0, 300.0, 0.1),
    }
)


def request_of_two_methods(block=10, costs=KNOWN):
    document = {
        "experiment": "mixture_simulation",
        "replications": 40,
        "block": block,
        "settings": [{"grid": {"h": [0, 1]}}],
        "setting_id": "h{h}",
        "methods": ["FedEM", "TGMM"],
    }
    methods = {name: {"estimator": name, "label": name} for name in ("FedEM", "TGMM")}
    place = Document(document, (lambda keys: "study.yaml",))
    return Request(
        {"preset": "p"}, {"study": plan_study("study", "p", place, methods, costs)}, {}, {}, {}
    )


def run(results, seconds):
    """Two replications of two settings, whose methods take a second and the given ones."""
    place = {"study": "study", "variant": "default", "shared_seconds": 0.5}
    rows = [
        {"setting": setting, "memory": memory, "method": name, "replication": r, "cpu_seconds": s}
        for setting, memory in (("h0", 512.0), ("h1", 64.0))
        for name, s in (("FedEM", 1.0), ("TGMM", seconds))
        for r in range(2)
    ]
    path = results / "p" / "collected" / "study" / "rest" / "timings.parquet"
    write_table(path, pd.DataFrame(rows).assign(**place))


def test_a_forecast_counts_methods_what_they_share_and_the_starts_of_jobs():
    [study] = forecast(request_of_two_methods()).studies
    assert study.jobs == 2 * 4 + 1
    assert study.hours == pytest.approx(2 * 40 * (2.0 + 8.0 + 1.0) / 3600)
    assert study.starts == pytest.approx(study.jobs * STARTUP / 3600)
    assert study.memory == 512.0


def test_a_machine_of_half_the_speed_takes_twice_the_time():
    [here] = forecast(request_of_two_methods(), unit=0.2).studies
    [there] = forecast(request_of_two_methods()).studies
    assert here.hours == pytest.approx(2 * there.hours)


def test_blocks_do_not_depend_on_the_speed_of_the_machine():
    study = request_of_two_methods(block=None).studies["study"]
    slower = Costs({key: Cost(c.seconds, c.memory, 9.9) for key, c in KNOWN.known.items()})
    other = request_of_two_methods(block=None, costs=slower).studies["study"]
    for name, setting in study.settings.items():
        assert list(study.blocks(setting)) == list(other.blocks(other.settings[name]))


@pytest.mark.parametrize(
    ("seconds", "block"), [(0.01, 50_000), (1.0, 500), (11.0, 50), (60.0, 10), (10_000.0, 1)]
)
def test_a_block_lasts_ten_minutes_at_most_where_it_can(seconds, block):
    costs = Costs({("s", "d", "m"): Cost(seconds, 0.0, 0.1)})
    assert costs.block("s", "d", ["m"]) == block


def test_what_is_not_known_is_taken_from_the_nearest_relative():
    known = {("s", "a", "m"): 1.0, ("s", "b", "m"): 3.0, ("t", "", "m"): 90.0, ("t", "", "n"): 7.0}
    costs = Costs({key: Cost(seconds, 0.0, 0.1) for key, seconds in known.items()})
    assert costs.seconds("s", "a", "m") == 1.0
    assert costs.seconds("s", "new", "m") == 2.0  # its other data sets
    assert costs.seconds("new", "", "n") == 7.0  # another study
    assert costs.seconds("s", "a", "new") == 2.0  # the study's other methods
    assert costs.seconds("new", "", "new") == 1.0
    assert costs.seconds("new", "", SHARED) == 0.0


def test_a_block_that_is_unwise_is_advised_on_at_both_ends():
    [_, advice, _] = forecast_lines(forecast(request_of_two_methods(block=1)))
    assert "block=1 is small: a job may last 11 s" in advice
    slow = Costs({("study", "", "FedEM"): Cost(900.0, 0.0, 0.1)})
    [_, advice, _] = forecast_lines(forecast(request_of_two_methods(block=20, costs=slow)))
    assert "block=20 is too large: a job would last 10.0 h, and its limit is 120 minutes" in advice
    for fair in (10, None):
        assert len(list(forecast_lines(forecast(request_of_two_methods(block=fair))))) == 2


def test_a_run_gives_the_costs_that_foretell_it(tmp_path):
    run(tmp_path, 4.0)
    request = request_of_two_methods()
    actual = read_actual(request, tmp_path)
    elsewhere = {("embeddings", "mnist", "tsne10"): Cost(2640.0, 900.0, 0.07)}
    known = Costs(elsewhere | {("study", "", "TGMM"): Cost(9.0, 1.0, 0.2)})
    (tmp_path / "costs.csv").write_text(costs_text(actual, 0.1, known))
    costs = read_costs(tmp_path / "costs.csv")
    assert elsewhere.items() <= costs.known.items(), "what was not run keeps its costs"
    assert costs.known["study", "", "TGMM"] == Cost(4.0, 512.0, 0.1)
    assert costs.known["study", "", SHARED] == Cost(0.5, 512.0, 0.1)
    *_, together = against_lines(request_of_two_methods(costs=costs), actual, 0.1)
    assert together.endswith("| 1.00 |")


def test_a_folder_without_a_run_gives_no_costs(tmp_path):
    with pytest.raises(DataError, match="holds no finished results"):
        read_actual(request_of_two_methods(), tmp_path)


def test_forecast_against_actual_is_a_table_by_study(tmp_path):
    run(tmp_path, 17.0)
    request = request_of_two_methods()
    lines = list(against_lines(request, read_actual(request, tmp_path), 0.1))
    taken, foretold = 4 * (1.0 + 17.0 + 0.5), 4 * (2.0 + 8.0 + 1.0)
    assert lines[2] == (
        f"| study | 8 | {foretold / 3600:.3f} | {taken / 3600:.3f} | {taken / foretold:.2f} |"
    )


def test_a_line_of_costs_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("study,dataset,method,seconds,memory,benchmark\ns,,m,fast,1,1\n")
    with pytest.raises(Exception, match=r"costs.csv:2: expected study, .* got s, , m, fast"):
        read_costs(path)


def test_the_benchmark_gives_the_seconds_of_a_fixed_piece_of_work():
    assert np.isfinite(benchmark(0.0))
    assert 0 < benchmark(0.0) < 60
