"""The frame of cells: what a run gives, beside what is published, and the best of each setting."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.frame import complete, judged_cells, make_cells, read_cells, standings
from fedmix.cells.measured import summarise
from fedmix.cells.scorecard import counts, rank_agreement
from fedmix.cells.verdicts import VERDICTS, judge_numbers, printed_cells
from fedmix.configuration import merged
from fedmix.errors import DataError
from fedmix.storage import write_table
from synthetic_results import (
    PUBLISHED,
    RUN,
    cells,
    cells_of,
    of_item,
    printed_numbers,
    results_and_timings,
    shipped_items,
)

EVERY_PRINT = 471


def standing_in(name: str, where: dict, stand_in: dict) -> dict:
    """Return the shipped items, one of them with stand-ins as a preset gives them."""
    item = shipped_items()[name]
    changed = {
        **vars(item),
        "where": where,
        "printed": merged(item.printed, {"stand_in": stand_in}),
    }
    return {**shipped_items(), name: type(item)(**changed)}


def test_a_summary_says_what_numpy_says():
    values = np.random.default_rng(0).normal(size=9)
    found = summarise(values)
    assert found["mean"] == pytest.approx(np.mean(values))
    assert found["sd"] == pytest.approx(np.std(values, ddof=1))
    assert found["se"] == pytest.approx(np.std(values, ddof=1) / 3)
    quartiles = [found[name] for name in ("q1", "median", "q3")]
    np.testing.assert_allclose(quartiles, np.quantile(values, [0.25, 0.5, 0.75]))
    assert found["n"] == 9
    assert np.isnan(summarise([1.0])["sd"])
    assert np.isnan(summarise([])["mean"])


@pytest.mark.slow
def test_every_printed_cell_appears_once_in_every_variant_of_its_table():
    judged = printed_cells(cells())
    assert len(printed_numbers()) == EVERY_PRINT
    assert len(judged) == 2 * EVERY_PRINT  # each study is made up in two variants
    assert not judged.duplicated(["paper", "item", "row", "column", "variant"]).any()
    assert set(judged.verdict) <= set(VERDICTS)


@pytest.mark.slow
def test_the_frames_means_are_those_of_the_results():
    results, timings = results_and_timings()
    keys = ["study", "variant", "setting", "method", "metric"]
    final = results[results["round"].isna() & (results["status"] == "ok")]
    seconds = timings.assign(metric="seconds", value=timings["seconds"])
    direct = pd.concat([final, seconds]).groupby(keys)["value"].agg(["mean", "std", "count"])
    ran = cells()[cells()["n"] > 0]
    measured = ran[~ran["metric"].str.startswith(("rounds", "floats", "log", "reached"))]
    for key, group in measured.groupby(keys):
        if key not in direct.index:
            continue
        np.testing.assert_allclose(group["mean"], direct.loc[key, "mean"], rtol=1e-12)
        np.testing.assert_allclose(group["sd"], direct.loc[key, "std"], rtol=1e-12)
        assert (group["n"] == direct.loc[key, "count"]).all()
    assert set(direct.index) <= set(ran.set_index(keys).index)


def test_a_cell_keeps_its_replications_and_their_values():
    results, _ = results_and_timings()
    cell = of_item(cells(), "fedgrem_table1").iloc[0]
    same = (results.setting == cell.setting) & (results.method == cell.method)
    own = results[same & (results.variant == cell.variant)]
    assert cell["replications"] == own["replication"].tolist()
    np.testing.assert_array_equal(cell["values"], own["value"])


def test_units_are_the_papers():
    cell = of_item(cells(), "fedgrem_table1").iloc[0]
    shown = cell["mean"] / cell["scale"]
    assert (cell["unit"], cell["scale"]) == ("percent", 0.01)
    assert cell["difference"] == pytest.approx(shown - cell["printed_mean"])
    assert cell["se"] == pytest.approx(cell["sd"] / np.sqrt(cell["n"]))


def test_a_cell_stands_in_every_item_that_shows_it_and_is_judged_once():
    place = {"variant": "as_coded", "setting_dataset": "emnist", "method": "CentralGMM"}
    frame = cells()[(cells()[list(place)] == pd.Series(place)).all(axis=1)]
    pooled = frame[frame["metric"] == "ari_pooled"].set_index("item")
    both = pooled.loc[["fedgem_table1", "fedgem_table1_pooled"]]
    assert both["mean"].nunique() == 1
    assert set(both["printed_text"]) == {"0.235 (0.010)"}
    assert both["verdict"].ne("").tolist() == [True, False]
    by_client = frame[frame["item"] == "fedgem_table1_one_metric"].iloc[0]
    assert (by_client["metric"], by_client["verdict"]) == ("ari_per_client", "")
    assert by_client["printed_text"] == "0.235 (0.010)"


def test_a_metric_that_no_item_shows_has_a_cell_of_its_own():
    extra = cells()[(cells()["item"] == "") & (cells()["variant"] != "")]
    assert {"rounds", "floats_up", "floats_down"} <= set(extra["metric"])
    assert extra["verdict"].eq("").all()
    assert extra["printed_text"].eq("").all()


def test_parameters_are_columns_that_nobody_parses_out_of_a_name():
    steps = of_item(cells(), "fedgrem_table5")
    ran = steps[steps["n"] > 0]
    assert ran["method_step_scale"].between(0.55, 1.35).all()
    assert (ran["row"] == ran["method_step_scale"].map("{:.2f}".format)).all()


def test_a_cell_that_only_the_codes_variant_reproduces_says_so():
    summary = judge_numbers(cells())
    assert len(summary) == EVERY_PRINT
    notes = of_item(summary, "fedgrem_table5").note
    assert notes.eq("differs in as_written; agrees in as_coded").any()


def test_seconds_of_another_machine_are_not_judged():
    frame = cells()
    timed = frame[(frame["metric"] == "seconds") & (frame["n"] > 0) & frame["printed_text"].ne("")]
    assert len(timed)
    assert set(timed["verdict"]) == {"not judged"}


def test_without_results_every_printed_number_is_not_run():
    frame = cells_of(*(part.iloc[:0] for part in results_and_timings()))
    assert len(frame) == EVERY_PRINT
    assert set(frame.verdict) == {"not run", "not judged"}
    assert frame["printed_text"].ne("").all()
    assert rank_agreement(frame, shipped_items()).empty
    times = frame["verdict"].eq("not judged")
    assert times.sum() == 100
    assert counts(frame).to_numpy().sum() == EVERY_PRINT - 100


def test_a_row_may_name_a_column_that_a_value_that_was_not_run_lacks():
    item = shipped_items()["fedgrem_table1"]
    item = item.model_copy(update={"row": "{setting_n_clients:.0f} clients, {method}"})
    none = make_cells(pd.DataFrame(), pd.DataFrame(), [], PUBLISHED, paper="", labels={}, roles={})
    others = [i for i in shipped_items().values() if i.name != item.name]
    rows = of_item(complete(none, [item, *others], PUBLISHED), item.name)["row"]
    assert rows.iloc[0] == "– clients, Local-EM"


def test_a_stand_in_never_counts_as_a_reproduction():
    results, timings = results_and_timings()
    only = results[(results.setting_dataset == "mnist") & (results.study == "fedgem_benchmark")]
    items = standing_in("fedgem_table1", {}, {"dataset": {"digits": "mnist"}})
    frame = cells_of(only.assign(setting_dataset="digits"), timings.iloc[:0], items=items)
    ran = of_item(frame[frame["n"] > 0], "fedgem_table1")
    assert set(ran["verdict"]) == {"stand-in"}
    assert ran["is_stand_in"].all()
    assert set(ran["column"]) == {"mnist"}
    assert set(of_item(frame, "fedgrem_table1")["verdict"]) == {"not run"}
    assert not counts(frame)[["agrees closely", "agrees"]].to_numpy().any()


def test_a_stand_in_may_translate_other_values():
    results, timings = results_and_timings()
    few = results[(results.setting_dataset == "pendigits") & (results.setting_n_contaminated == 9)]
    few = few.assign(setting_dataset="digits", setting_n_contaminated=2, setting_n_clients=10)
    stand_in = {"dataset": {"digits": "pendigits"}, "contaminated_percent": {20: 20.5}}
    items = standing_in("fedgrem_table1", {"dataset": "digits"}, stand_in)
    frame = of_item(cells_of(few, timings.iloc[:0], items=items), "fedgrem_table1")
    assert set(frame[frame.n > 0].row) == {"20.5 %"}
    assert set(frame[frame.n == 0].row) == {"0 %", "6.8 %", "13.6 %"}


def test_other_data_than_the_papers_are_never_held_against_its_numbers():
    results, timings = results_and_timings()
    own = results[results.setting_dataset == "pendigits"].assign(setting_dataset="digits")
    item = shipped_items()["fedgrem_table1"]
    items = {**shipped_items(), item.name: type(item)(**{**vars(item), "where": {}})}
    frame = of_item(cells_of(own, timings.iloc[:0], items=items), item.name)
    assert set(frame[frame["n"] > 0]["verdict"]) == {""}


def test_failures_are_counted_beside_the_mean():
    table = of_item(cells(), "fedgrem_table5")
    cell = table[(table.row == "1.35") & (table.column == "h = 0")].set_index("variant")
    assert cell.failed["as_coded"] == 2
    assert cell.failed["as_written"] == 0
    assert (cell.n == 12).all()


def test_a_method_that_always_fails_still_has_its_cells():
    rows = [
        {"study": "s", "variant": "v", "setting": "a", "method": m, "replication": r}
        for m in ("A", "B")
        for r in range(3)
    ]
    results = pd.DataFrame(rows).assign(metric="error", value=1.0, round=pd.NA, status="ok", **RUN)
    results.loc[results.method == "B", ["metric", "status"]] = ["", "diverged"]
    frame = make_cells(
        results,
        pd.DataFrame(),
        [],
        PUBLISHED,
        paper="p",
        labels={"B": "Bee"},
        roles={"v": "written"},
    )
    failing = frame[frame["method"] == "B"]
    assert set(failing["failed"]) == {3}
    assert set(failing["n"]) == {0}
    assert set(failing["label"]) == {"Bee"}


def test_a_replication_that_occurs_twice_is_refused():
    results, timings = results_and_timings()
    with pytest.raises(DataError, match="occurs twice"):
        cells_of(pd.concat([results, results.iloc[:1]]), timings)


@pytest.mark.slow
def test_the_frame_is_the_same_whatever_the_order_of_rows():
    results, timings = results_and_timings()
    keys = ["item", "study", "variant", "setting", "method", "metric", "printed_line"]
    shuffled = cells_of(results.sample(frac=1.0, random_state=1), timings)
    one, other = (f.sort_values(keys, ignore_index=True) for f in (shuffled, cells()))
    pd.testing.assert_frame_equal(one, other[one.columns])


def test_the_frame_survives_its_file(tmp_path):
    write_table(tmp_path / "cells.parquet", cells())
    pd.testing.assert_frame_equal(read_cells([tmp_path / "cells.parquet"]), cells())


def test_a_variant_has_the_role_that_its_own_study_gives_it():
    frame = cells()[cells()["variant"] == "as_coded"]
    assert set(frame["role"]) == {"authors"}
    assert set(cells().loc[cells()["variant"] == "as_written", "role"]) == {"written"}


def test_no_results_yet_are_no_cells(tmp_path):
    empty = make_cells(pd.DataFrame(), pd.DataFrame(), [], PUBLISHED, "p", {}, {})
    write_table(tmp_path / "cells.parquet", empty)
    frame = complete(read_cells([tmp_path / "cells.parquet"]), shipped_items().values(), PUBLISHED)
    assert set(frame["verdict"]) == {"not run", "not judged"}
    judged = judged_cells([tmp_path / "cells.parquet"])
    assert list(judged.columns) == [c for c in frame if not c.startswith(("setting_", "method_"))]


def on_the_same_data(n=20, **offsets):
    """Return scores on the same data: a large common part, small noise, an offset a method."""
    rng = np.random.default_rng(0)
    common = rng.normal(0, 5, n)
    return {
        name: pd.Series(common + offset + rng.normal(0, 0.1, n)) for name, offset in offsets.items()
    }


@pytest.mark.parametrize(("direction", "best"), [("lowest", "low"), ("highest", "high")])
def test_the_best_mean_is_best_in_its_direction(direction, best):
    assert standings(on_the_same_data(low=0.0, middle=1.0, high=2.0), direction) == {best: "best"}


def test_what_differs_on_the_same_data_is_no_tie_however_far_means_scatter():
    assert standings(on_the_same_data(good=0.0, worse=0.5), "lowest") == {"good": "best"}


def test_what_the_paired_test_cannot_tell_is_a_tie():
    found = standings(on_the_same_data(one=0.0, other=0.0, far=3.0), "lowest")
    assert set(found) == {"one", "other"}
    assert sorted(found.values()) == ["best", "tied"]


def test_a_scattered_best_mean_makes_no_tie_of_what_another_method_beats():
    scattered = {"wild": pd.Series(np.tile([-20.0, 12.0], 10))}
    found = standings(on_the_same_data(good=0.0, worse=1.0) | scattered, "lowest")
    assert found == {"wild": "best", "good": "tied"}


def test_equal_scores_tie_and_nothing_is_best_below_five_replications():
    same = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0])
    assert standings({"a": same, "b": same.copy()}, "lowest") == {"a": "best", "b": "tied"}
    assert standings(on_the_same_data(4, a=0.0, b=9.0), "lowest") == {}
    both = on_the_same_data(5, a=3.0, b=9.0) | on_the_same_data(4, c=0.0)
    assert standings(both, "lowest") == {"a": "best"}


def test_nothing_is_best_alone_without_a_direction_or_without_a_common_replication():
    assert standings(on_the_same_data(a=0.0), "lowest") == {}
    assert standings(on_the_same_data(a=0.0, b=1.0), "none") == {}
    apart = pd.Series([0.1, 0.1, 0.1, 0.2, 0.1], index=range(5, 10))
    parts = {"a": pd.Series([0.0] * 5), "b": apart}
    assert standings(parts, "lowest") == {"a": "best"}
    assert standings({"a": pd.Series([0.0]), "b": pd.Series(dtype=float)}, "lowest") == {}
