"""What print and run drew once counts with its variance between draws, on both sides."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from fedmix.__main__ import main
from fedmix.cells.equivalence import between_draws, compare, judge
from fedmix.cells.frame import complete, judged_cells
from fedmix.cells.items import read_items
from fedmix.configuration import read_yaml
from fedmix.pipeline.request import Request, read_request
from fedmix.storage import write_table
from fedmix.views.page.contents import PageContext
from fedmix.views.page.views import table_views
from fedmix.views.tables.build import build_table
from synthetic_cells import laid_out, unjudged

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "data" / "published"
PRINT = {"printed_mean": 10.0, "printed_sd": 2.0, "printed_replications": 200, "digits": 2}


def cell(item, study, setting, values, **columns):
    """Return a cell in percent of a share."""
    values = np.asarray(values) / 100
    numbers = {"mean": values.mean(), "sd": values.std(ddof=1), "n": len(values)}
    place = {"item": item, "study": study, "setting": setting, "setting_dataset": "d"}
    named = {"method": "A", "metric": "error", "scale": 0.01, "values": values}
    return place | named | numbers | columns


def around(mean):
    """Return 200 values around a mean."""
    return mean + np.tile([-1.0, 1.0], 100)


def frame(between, draws="draws"):
    """Return a cell that is 2 beyond its print, and draws that are this far apart."""
    printed = PRINT | {"printed_file": "f", "printed_line": 2, "other_draws": draws}
    own = cell("table", "run", "s", around(12.0), **printed)
    others = [cell("", "draws", f"s{i}", around(10.0 + between * i)) for i in range(10)]
    return unjudged([own, *others])


def test_a_difference_within_the_reach_of_another_draw_cannot_be_decided():
    before = judge(frame(between=1.0, draws="")).iloc[0]
    after = judge(frame(between=1.0)).iloc[0]
    assert before["verdict"] == "differs"
    assert after["verdict"] == "cannot be decided"
    assert after["low"] < before["low"]
    assert np.isinf(after["needed"])  # no number of replications decides it


def test_draws_without_contamination_are_those_of_the_cell():
    assert judge(frame(between=1.0)).iloc[0]["draws"] == "measured"


def test_draws_that_differ_by_no_more_than_replications_do_change_nothing():
    assert judge(frame(between=0.0)).iloc[0]["verdict"] == "differs"


def test_draws_of_one_replication_each_have_no_variance_yet():
    cells = frame(between=1.0)
    cells.loc[1:, "n"] = 1
    assert judge(cells).iloc[0]["verdict"] == "differs"


def test_the_variance_is_that_between_draws_less_the_replications_share():
    between = np.var(np.arange(10.0), ddof=1) - np.var(around(0), ddof=1) / 200
    expected = compare(around(12.0), *list(PRINT.values()), (between, 10))
    judged = judge(frame(between=1.0)).iloc[0]
    assert judged["low"] == pytest.approx(expected.low)
    assert judged["draws_sd"] == pytest.approx(np.sqrt(between))  # in the published unit


def test_each_side_has_one_draw_and_few_draws_widen_the_interval():
    found = compare(around(12.0), *list(PRINT.values()), (1.0, 10))
    parts = np.array([np.var(around(0), ddof=1) / 200, 2.0**2 / 200, 2 * 1.0])
    freedom = parts.sum() ** 2 / (parts**2 / [199, 199, 9]).sum()
    half = t.ppf(0.95, freedom) * np.sqrt(parts.sum() + 0.01**2 / 12)
    assert (found.high - found.low) / 2 == pytest.approx(half)


def test_the_largest_variance_is_borrowed_and_a_draw_in_two_items_counts_once():
    shared = {"setting_dataset": "d", "method": "A", "metric": "error", "n": 10}
    draws = pd.DataFrame(
        [
            shared | {"variant": name, "setting": f"s{i}", "mean": apart * i, "sd": 1.0 + i}
            for name, apart in (("calm", 1.0), ("wild", 4.0))
            for i in range(3)
        ]
    ).assign(setting_n_contaminated=0.0)
    found = between_draws(pd.concat([draws, draws]))
    within = (1.0 + 4.0 + 9.0) / 10 / 3
    place = ("d", "A", "error")
    assert found[place, ("calm", 0.0)] == (pytest.approx(1.0 - within), 3)
    assert found[place, ()] == found[place, ("wild", 0.0)] == (pytest.approx(16.0 - within), 3)


def test_the_variance_is_measured_for_the_same_variant_and_setting_or_borrowed():
    one = frame(between=1.0).assign(setting_n_contaminated=0.0)
    more = one.assign(setting_n_contaminated=24.0)
    draws = pd.concat([one, more.iloc[1:]])
    assert judge(draws).iloc[0]["draws"] == "measured"
    elsewhere = draws.assign(variant=["as_coded"] + ["as_written"] * (len(draws) - 1))
    assert judge(elsewhere).iloc[0]["draws"] == "borrowed"
    assert judge(frame(between=1.0, draws="")).iloc[0]["draws"] == ""


@pytest.mark.parametrize("changed", [{"metric": "seconds"}, {"is_stand_in": True}], ids=str)
def test_what_is_not_judged_counts_no_draws(changed):
    one = judge(frame(between=1.0).assign(**changed)).iloc[0]
    other = judge(frame(between=1.0, draws="").assign(**changed)).iloc[0]
    names = ["verdict", "low", "high", "draws", "draws_sd", "n_draws"]
    pd.testing.assert_series_equal(one[names], other[names])


def test_without_other_draws_verdicts_stay():
    assert judge(frame(between=1.0, draws="not run")).iloc[0]["verdict"] == "differs"


@pytest.fixture
def work(tmp_path):
    """Return a folder in which the image sets are embedded, so that their settings are run."""
    for name in ("mnist", "fashion_mnist"):
        (tmp_path / f"data/embedded/{name}").mkdir(parents=True)
        (tmp_path / f"data/embedded/{name}/tsne10.npz").touch()
    return tmp_path


def request_in(work: Path) -> Request:
    """Return the request of the paper preset."""
    config = read_yaml(ROOT / "config" / "config.yaml") | {"preset": "paper", "evidence": False}
    return read_request(ROOT / "config", config, work)


def run(request: Request, work: Path, draws: bool = True) -> list[Path]:
    """Write the cells behind a table: the numbers of :func:`frame` in its settings' own columns."""
    item, files = request.items["fedgrem_table2"], []
    for part in request.parts_behind(item):
        shown = part.study.name == item.study
        if not (shown or draws):
            continue
        partner = {"printed_file": "fedgrem/misclustering.csv", "printed_text": "10.00 (2.00)"}
        partner |= PRINT | {"printed_line": 1000, "other_draws": item.other_draws}
        rows = []
        for setting in part.settings:
            named = {f"setting_{key}": value for key, value in setting.values.items()}
            named |= {"paper": "fedgrem", "variant": setting.variant, "method": "FedGrEM"}
            named |= {"metric": "misclustering", "row": setting.name, "column": "FedGrEM"}
            values = around(12.0 if shown else 10.0 + setting.values["assignment"])
            place = item.name if shown else "", part.study.name, setting.name
            rows.append(cell(*place, values, **named) | (partner if shown else {}))
        path = work / request.folder_of(part) / "cells.parquet"
        write_table(path, unjudged(rows))
        files.append(path)
    return files


def explained(work: Path, row: str, capsys) -> str:
    """Return what the command says of a cell in its first variant."""
    names = ("explain", "fedgrem_table2", row, "FedGrEM")
    options = ("--directory", work, "--workflow", ROOT, "--config", "preset=paper")
    assert main([*names, *map(str, options)]) == 0
    return capsys.readouterr().out


def test_every_surface_tells_the_same_verdict(work, capsys):
    request = request_in(work)
    item = request.items["fedgrem_table2"]
    files = run(request, work)

    layout = laid_out(item)
    build_table(layout, judged_cells(files), [work / "table.csv"])
    table = pd.read_csv(work / "table.csv")
    assert set(table["verdict"]) == {"cannot be decided"}

    said = explained(work, table["row"][0], capsys)
    assert "verdict: cannot be decided" in said
    assert "verdict: differs" not in said
    assert "not final" not in said

    unjudged_cells = pd.concat([pd.read_parquet(path) for path in files])
    whole = complete(unjudged_cells, read_items(request.papers).values(), PUBLISHED)
    ran = whole[(whole["item"] == item.name) & (whole["n"] > 0)]
    assert set(ran["verdict"]) == {"cannot be decided"}
    nothing = pd.DataFrame(columns=["item", "variant", "note"])
    context = PageContext(ran, nothing, nothing, nothing, nothing, {})
    [page] = table_views([layout], context, nothing)
    shown = [
        c for v in page["variants"] for row in v["rows"] for cells in row["cells"] for c in cells
    ]
    assert {view["verdict"] for view in shown} == {"cannot be decided"}


def test_a_verdict_that_waits_for_other_draws_says_so(work, capsys):
    files = run(request_in(work), work, draws=False)
    said = explained(work, judged_cells(files)["row"][0], capsys)
    assert "not final: it waits for the draws of fedgrem_embedding" in said
