import json
from dataclasses import replace

import pandas as pd
import pytest

from fedmix.configuration import Document
from fedmix.errors import ConfigurationError, DataError
from fedmix.pipeline.costs import (
    EMBEDDINGS,
    SHARED,
    Cost,
    Costs,
    Machine,
    benchmark,
    core_hours,
    costs_text,
    read_costs,
)
from fedmix.pipeline.coverage import Coverage
from fedmix.pipeline.evidence import COLUMNS, Evidence, write_evidence
from fedmix.pipeline.forecast import (
    STARTUP,
    against_lines,
    forecast,
    forecast_lines,
    read_actual,
    read_kept,
)
from fedmix.pipeline.kept_embeddings import keep_embeddings
from fedmix.pipeline.plan import plan_study
from fedmix.pipeline.request import Request
from fedmix.revision import processor
from fedmix.storage import write_table
from small_run import request_in

THERE = Machine(0.1, 0.2, 0.4)
KNOWN = Costs(
    {
        ("study", "", "", "FedEM"): Cost(2.0, 300.0, THERE),
        ("study", "", "", "TGMM"): Cost(8.0, 512.0, THERE),
        ("study", "", "", SHARED): Cost(1.0, 300.0, THERE),
    }
)


def request_of_two_methods(block=10, costs=KNOWN, methods=("FedEM", "TGMM")):
    document = {
        "experiment": "mixture_simulation",
        "replications": 40,
        "block": block,
        "settings": [{"grid": {"h": [0, 1]}}],
        "setting_id": "h{h}",
        "methods": list(methods),
    }
    methods = {name: {"estimator": name, "label": name} for name in ("FedEM", "TGMM")}
    place = Document(document, (lambda keys: "study.yaml",))
    return Request(
        {"preset": "p"}, {"study": plan_study("study", "p", place, methods, costs)}, {}, {}, {}
    )


def run(results, seconds):
    """Two replications of two settings, whose methods take a second and the given ones."""
    place = {"study": "study", "variant": "default", "shared_seconds": 0.5, "warm": True}
    rows = [
        {"setting": setting, "memory": memory, "method": name, "replication": r, "cpu_seconds": s}
        for setting, memory in (("h0", 512.0), ("h1", 64.0))
        for name, s in (("FedEM", 1.0), ("TGMM", seconds))
        for r in range(2)
    ]
    rows[0]["memory"] /= 2  # of a job's first replication
    path = results / "p" / "collected" / "study" / "rest" / "timings.parquet"
    write_table(path, pd.DataFrame(rows).assign(**place))


def test_a_forecast_counts_methods_what_they_share_and_the_starts_of_jobs():
    whole = forecast(request_of_two_methods())
    [study] = whole.studies
    more = replace(whole, views=whole.views + 4).hours.typical - whole.hours.typical
    assert more == pytest.approx(4 * STARTUP / 3600)
    assert study.disk == pytest.approx(2 * 40 * 2 * 0.012)  # MB
    assert study.jobs == 2 * 4 + 1
    assert study.hours.typical == pytest.approx(2 * 40 * (2.0 + 8.0 + 1.0) / 3600)
    assert study.starts == pytest.approx(study.jobs * STARTUP / 3600)
    assert study.memory == 512.0


def test_the_range_is_that_of_the_kinds_of_work():
    here = Machine(arithmetic=0.1, bandwidth=0.4, interpreter=1.6)  # 1, 2 and 4 times as long
    [there] = forecast(request_of_two_methods()).studies
    [study] = forecast(request_of_two_methods(), machine=here).studies
    assert study.hours.typical == pytest.approx(2 * there.hours.typical)
    assert study.hours.low == pytest.approx(there.hours.low)
    assert study.hours.high == pytest.approx(4 * there.hours.high)
    assert there.hours.low < there.hours.typical < there.hours.high


def test_blocks_do_not_depend_on_the_speed_of_the_machine():
    study = request_of_two_methods(block=None).studies["study"]
    slower = Costs(
        {key: Cost(c.seconds, c.memory, Machine(9.0, 9.0, 9.0)) for key, c in KNOWN.known.items()}
    )
    other = request_of_two_methods(block=None, costs=slower).studies["study"]
    for name, setting in study.settings.items():
        assert list(study.blocks(setting)) == list(other.blocks(other.settings[name]))


@pytest.mark.parametrize(
    ("seconds", "block"), [(0.01, 50_000), (1.0, 500), (11.0, 50), (60.0, 10), (10_000.0, 1)]
)
def test_a_block_lasts_ten_minutes_at_most_where_it_can(seconds, block):
    costs = Costs({("s", "d", "v", "m"): Cost(seconds, 0.0, THERE)})
    assert costs.block("s", "d", "v", ["m"]) == block


def test_a_block_has_time_for_what_its_methods_share():
    known = {("s", "d", "v", name): Cost(1.0, 0.0, THERE) for name in ("m", SHARED)}
    assert Costs(known).block("s", "d", "v", ["m"]) == 200


def test_what_is_not_known_is_taken_from_the_nearest_relative():
    known = {
        ("s", "a", "v", "m"): 1.0,
        ("s", "a", "w", "m"): 5.0,
        ("s", "b", "v", "m"): 3.0,
        ("s", "c", "", "m"): 9.0,
        ("t", "", "", "m"): 90.0,
        ("t", "", "", "n"): 7.0,
    }
    costs = Costs({key: Cost(seconds, 0.0, THERE) for key, seconds in known.items()})
    assert costs.seconds("s", "a", "v", "m") == 1.0
    assert costs.seconds("s", "a", "new", "m") == 3.0  # its other variants
    assert costs.seconds("s", "c", "new", "m") == 9.0  # all variants together
    assert costs.seconds("s", "new", "v", "m") == 2.0  # the variant on other data sets
    assert costs.seconds("s", "new", "new", "m") == 4.5  # the study's other data sets
    assert costs.seconds("new", "", "", "n") == 7.0  # another study
    assert costs.seconds("s", "a", "v", "new") == 4.5  # the study's other methods
    assert costs.seconds("new", "", "", "new") == 1.0
    assert costs.seconds("new", "", "", SHARED) == 0.0
    assert costs.seconds("s", "a", "v", "n") == 7.0  # the method elsewhere before others here
    assert KNOWN.seconds("study", "", "", "new") == 5.0  # shared work is no method


def test_the_cost_of_all_variants_together_stands_for_an_unknown_one():
    known = {("s", "", "", "m"): Cost(9.0, 0.0, THERE), ("s", "", "v", "m"): Cost(1.0, 0.0, THERE)}
    assert Costs(known).seconds("s", "", "new", "m") == 9.0


def test_an_embedding_of_other_data_says_nothing_of_the_cost():
    costs = Costs({(EMBEDDINGS, "mnist", "", "tsne10"): Cost(2640.0, 0.0, THERE)})
    assert costs.seconds(EMBEDDINGS, "digits", "", "tsne10") == 0.0


def test_costs_are_means_over_replications():
    rows = pd.DataFrame({"seconds": [1.0, 1.0, 4.0], "memory": [1.0, 5.0, 3.0]})
    rows = rows.assign(study="s", dataset="", variant="v", method="m")
    assert costs_text(rows, THERE, Costs()).splitlines()[1] == "s,,v,m,2,5,0.1,0.2,0.4"


def test_a_block_that_is_unwise_is_advised_on_at_both_ends():
    [_, advice, _] = forecast_lines(forecast(request_of_two_methods(block=1)))
    assert "block=1 is small: a job may last 11 s" in advice
    slow = Costs({("study", "", "", "FedEM"): Cost(900.0, 0.0, THERE)})
    [_, advice, _] = forecast_lines(forecast(request_of_two_methods(block=20, costs=slow)))
    assert "block=20 is too large: a job would last 10.0 h, and its limit is 120 minutes" in advice
    quick = Costs({("study", "", "", "FedEM"): Cost(0.01, 0.0, THERE)})
    for longest in (40, 500):  # there are no more replications
        whole = forecast(request_of_two_methods(block=longest, costs=quick))
        assert len(list(forecast_lines(whole))) == 2
    for fair in (10, 20, None):
        assert len(list(forecast_lines(forecast(request_of_two_methods(block=fair))))) == 2


def test_advice_is_on_the_shortest_and_the_longest_job_of_this_machine():
    here = Machine(arithmetic=0.1, bandwidth=0.4, interpreter=1.6)  # typically twice as long
    methods = ["FedEM", {"name": "TGMM", "replications": 10}]
    [study] = forecast(request_of_two_methods(5, methods=methods), machine=here).studies
    assert study.shortest == pytest.approx(2 * 5 * (2.0 + 1.0))
    assert study.longest == pytest.approx(2 * 5 * (2.0 + 8.0 + 1.0))


def test_jobs_of_all_studies_are_counted_and_much_space_is_told_in_gigabytes():
    request = request_of_two_methods(costs=Costs())
    study = request.studies["study"]
    two = {"study": study, "other": replace(study, name="other")}
    whole = forecast(replace(request, studies=two))
    assert [each.jobs for each in whole.studies] == [9, 9]
    assert [each.memory for each in whole.studies] == [400.0, 400.0]  # where it is unknown
    large = replace(whole, studies=[replace(each, disk=600.0) for each in whole.studies], views=5)
    first, _, together = (line for line in forecast_lines(large) if not line.startswith("  "))
    assert first.endswith("600 MB on disk")
    assert together.endswith("in 23 jobs, 1.2 GB on disk")


def test_embeddings_cost_what_is_known_of_them_unless_they_are_there_or_kept(tmp_path):
    request = request_in(tmp_path)
    costs = Costs({(EMBEDDINGS, "digits", "", "pca10"): Cost(3600.0, 0.0, THERE)})
    study = request.studies["fedgrem_real"]
    settings = {name: s for name, s in study.settings.items() if s.dataset == "digits"}
    only = {"fedgrem_real": replace(study, settings=settings, costs=costs)}
    request = replace(request, studies=only, items={})
    whole = forecast(request, tmp_path)
    assert list(whole.embeddings) == ["digits, pca10", "digits, tsne10"]
    assert whole.views == 4  # the raw data and the embedding, each
    starts = (whole.studies[0].jobs + 4) * STARTUP / 3600
    assert whole.hours.typical == pytest.approx(whole.studies[0].hours.typical + starts + 1.0)
    told = [line for line in forecast_lines(whole) if line.startswith("embedding")]
    assert told == ["embedding digits, pca10: 0.77 to 1.30 core-hours"]
    for name in ("pca10", "tsne10"):
        path = tmp_path / "data" / "embedded" / "digits" / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    list(keep_embeddings(tmp_path / "evidence", {("digits", "tsne10"): path}, request.datasets))
    path.unlink()
    assert not forecast(request, tmp_path).embeddings


def test_an_embedding_that_only_finished_replications_need_costs_nothing(tmp_path, monkeypatch):
    request = request_in(tmp_path)
    assert forecast(request, tmp_path).embeddings
    monkeypatch.setattr(type(request.coverage), "lacking", lambda *_: {})
    assert not forecast(request, tmp_path).embeddings


def test_settings_whose_embedding_is_missing_are_named(tmp_path):
    request = request_in(tmp_path)
    setting = next(s for s in request.studies["fedgrem_real"].settings.values() if s.dataset)
    without = replace(request, left_out={"fedgrem_real": (setting,)})
    title = request.datasets[setting.dataset]["title"]
    line = f"not counted: fedgrem_real on {title}, whose embedding is missing"
    assert line in list(forecast_lines(forecast(without, tmp_path)))
    others = replace(without, studies={})  # as of a target that does not need the study
    assert line not in list(forecast_lines(forecast(others, tmp_path)))


def test_a_run_gives_the_costs_that_foretell_it(tmp_path):
    run(tmp_path, 4.0)
    request = request_of_two_methods()
    actual = read_actual(request, tmp_path)
    elsewhere = {("embeddings", "mnist", "", "tsne10"): Cost(2640.0, 900.0, THERE)}
    known = Costs(elsewhere | {("study", "", "", "TGMM"): Cost(9.0, 1.0, THERE)})
    (tmp_path / "costs.csv").write_text(costs_text(actual, THERE, known))
    costs = read_costs(tmp_path / "costs.csv")
    assert elsewhere.items() <= costs.known.items(), "what was not run keeps its costs"
    assert costs.known["study", "", "default", "TGMM"] == Cost(4.0, 512.0, THERE)
    assert costs.known["study", "", "default", SHARED] == Cost(0.5, 512.0, THERE)
    assert ("study", "", "", "TGMM") not in costs.known
    *_, together = against_lines(request_of_two_methods(costs=costs), actual, THERE.typical)
    assert together.endswith("| 1.00 |")


def test_settings_that_are_no_longer_planned_give_no_costs(tmp_path):
    run(tmp_path, 4.0)
    request = request_of_two_methods()
    study = request.studies["study"]
    for settings, rows in (({"h1": study.settings["h1"]}, 4 + 2), ({}, 0)):
        fewer = replace(request, studies={"study": replace(study, settings=settings)})
        fewer.__dict__["parts"] = request.parts  # as collected before
        if rows:
            assert read_actual(fewer, tmp_path)["memory"].tolist() == [64.0] * rows
        else:
            with pytest.raises(DataError, match="holds no finished results"):
                read_actual(fewer, tmp_path)


def test_a_folder_without_a_run_gives_no_costs(tmp_path):
    path = tmp_path / "p" / "collected" / "study" / "rest" / "timings.parquet"
    for _ in range(2):
        with pytest.raises(DataError, match="holds no finished results"):
            read_actual(request_of_two_methods(), tmp_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(path, pd.DataFrame())  # of a study whose methods have not run


def keep(folder, processors, **changes):
    """Replications of FedEM in a setting with two metrics, one on each processor."""
    values = dict.fromkeys(COLUMNS, 0) | {
        "setting": "h0", "method": "FedEM", "metric": "m", "status": "ok", "message": "",
        "converged": True, "cpu_seconds": 3.0, "shared_seconds": 1.0, "warm": True, "key": "k",
    }  # fmt: skip
    made = [json.dumps({"processor": name}) for name in processors]
    values |= changes
    rows = pd.DataFrame([values | {"replication": r, "made": m} for r, m in enumerate(made)])
    rows = pd.concat([rows, rows.assign(metric="n")])
    write_evidence(folder, "study", rows.assign(round=None), {})


def test_evidence_of_this_kind_of_processor_gives_costs(tmp_path):
    keep(tmp_path, [processor(), "another"])
    coverage = Coverage(Evidence(tmp_path), {})
    rows = read_kept(replace(request_of_two_methods(), coverage=coverage))
    assert rows[["variant", "method", "seconds"]].values.tolist() == [
        ["default", "FedEM", 3.0],
        ["default", SHARED, 1.0],
    ]


def test_replications_that_load_compiled_code_give_costs_only_where_there_are_no_others(tmp_path):
    keep(tmp_path, [processor()] * 3)
    coverage = Coverage(Evidence(tmp_path), {})
    evidence = coverage.evidence.rows("study")
    first = evidence["replication"] == 0
    evidence = evidence.assign(warm=~first, cpu_seconds=evidence["cpu_seconds"] + 9.0 * first)
    write_evidence(tmp_path, "study", evidence, {})
    rows = read_kept(replace(request_of_two_methods(), coverage=Coverage(Evidence(tmp_path), {})))
    assert rows["seconds"].tolist() == [3.0, 3.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("processors", "changes"),
    [
        (["another", "a third"], {}),
        ([processor()], {"method": "Gone"}),
        ([processor()], {"setting": "gone"}),
    ],
)
def test_evidence_of_other_processors_or_of_what_is_not_planned_gives_no_costs(
    tmp_path, processors, changes
):
    keep(tmp_path, processors, **changes)
    coverage = Coverage(Evidence(tmp_path), {})
    with pytest.raises(DataError, match="holds no replications of this preset that a processor"):
        read_kept(replace(request_of_two_methods(), coverage=coverage))


def test_forecast_against_actual_is_a_table_by_study(tmp_path):
    run(tmp_path, 17.0)
    request = request_of_two_methods()
    lines = list(against_lines(request, read_actual(request, tmp_path), THERE.typical))
    taken, foretold = 4 * (1.0 + 17.0 + 0.5), 4 * (2.0 + 8.0 + 1.0)
    assert lines[2] == (
        f"| study | 8 | {foretold / 3600:.3f} | {taken / 3600:.3f} | {taken / foretold:.2f} |"
    )
    assert lines[3].startswith("| together | 8 | ")
    free = Costs({key: replace(cost, seconds=0.0) for key, cost in KNOWN.known.items()})
    request = request_of_two_methods(costs=free)
    *_, together = against_lines(request, read_actual(request, tmp_path), THERE.typical)
    assert together == f"| together | 8 | 0.000 | {taken / 3600:.3f} |  |"


def test_a_line_of_costs_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "costs.csv"
    columns = "study,dataset,variant,method,seconds,memory,arithmetic,bandwidth,interpreter"
    path.write_text(f"{columns}\ns,,,m,fast,1,1,1,1\n")
    with pytest.raises(ConfigurationError, match=r"costs.csv:2: expected study, .* m, fast"):
        read_costs(path)


def test_the_benchmark_gives_the_seconds_of_every_kind_of_work():
    assert all(0 < seconds < 60 for seconds in benchmark(0.0))


def test_few_core_hours_are_seconds():
    assert core_hours(1.5) == core_hours(1.5, 1.5) == "1.50 core-hours"
    assert core_hours(0.001) == "4 core-seconds"
    assert core_hours(0.0, 0.004) == "0 to 14 core-seconds"
    assert core_hours(0.004, 1.4) == "0.00 to 1.40 core-hours"
