"""An explanation of a number says what it was made from, how it was judged and what uses it."""

from dataclasses import replace
from math import nan
from types import SimpleNamespace

import pandas as pd
import pytest

from fedmix.errors import ConfigurationError, DataError
from fedmix.pipeline.explain import Explainer, explain_run, names_in
from fedmix.pipeline.judged import find_cells, mark_counted
from fedmix.storage import sha256_of
from small_run import METHODS, STUDY, kept, request_in

CELL = {
    **{"study": "fedgrem_real", "method": "FedGrEM", "item": "fedgrem_table1"},
    **{"metric": "misclustering", "mean": 0.1, "sd": 0.02, "se": nan, "median": nan},
    **{"n": 4, "failed": 1, "scale": 0.01, "printed_text": "9.62 (1.03)", "printed_line": 5},
    **{"printed_file": "fedgrem/misclustering.csv", "difference": 0.38, "difference_in_sd": 0.37},
    **{"difference_in_se": nan, "verdict": "differs", "role": "inferred", "draws": "borrowed"},
    **{"low": 0.25, "high": 0.51, "printed_sd": 1.03, "needed": nan},
}


@pytest.fixture(scope="module")
def explainer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    return Explainer(request_in(folder), folder)


@pytest.fixture
def cell(explainer):
    """Return a cell of digits with contaminated clients, the second of its study's settings."""
    setting = list(explainer.request.studies["fedgrem_real"].settings.values())[1]
    return CELL | {"variant": setting.variant, "setting": setting.name}


def told(explainer, cell) -> dict[str, list[str]]:
    """Return the lines below each title."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in explainer.lines(cell):
        if line.startswith("  "):
            found[title].append(line.strip())
        else:
            title, found[line] = line, []
    return found


def test_a_number_is_told_with_its_spread_and_in_the_unit_of_the_table(explainer, cell):
    block, cells, numbers, unit, again = told(explainer, cell)["Results"]
    place = f"fedgrem_real/{cell['variant']}.{cell['setting']}"
    assert block == f"results/{place}/0-4.parquet"
    assert cells.endswith("fedgrem_table1/cells.parquet: metric misclustering")
    assert numbers == "mean 0.1, sd 0.02; 4 replications, 1 failed"
    assert unit == "in the table's unit: mean 10"
    assert f"rerun {place.replace('/', ' ')} FedGrEM 0 --config preset=quick" in again
    assert len(told(explainer, cell | {"scale": 1})["Results"]) == 4
    tsne = cell | {"setting": "digits-tsne10-contaminated0", "item": "fedgrem_table2"}
    assert "/fedgrem_table2/cells.parquet" in told(explainer, tsne)["Results"][1]
    unfinished = cell | {"mean": nan, "sd": nan, "n": 0}
    assert told(explainer, unfinished)["Results"][2:-1] == ["0 replications, 1 failed"]


def test_a_published_number_is_told_with_the_distance_and_what_it_counts_as(explainer, cell):
    lines = told(explainer, cell)["Published value"]
    assert lines[0] == "9.62 (1.03) in data/published/fedgrem/misclustering.csv, line 5"
    assert lines[1] == "ours minus theirs: +0.38, that is +0.37 published sd"
    assert lines[2] == "90 % interval of this difference: [+0.25, +0.51]"
    assert lines[3] == "margin: 0.515 to either side (half of the published sd)"
    assert lines[4].startswith("verdict: differs (")
    assert lines[5] == "variance between draws: borrowed"
    counted = told(explainer, cell | {"counted": "protocol unknown: not near"})["Published value"]
    assert counted[5].startswith("the published value counts as: protocol unknown: not near (its")
    # of another metric
    far = {"difference_in_sd": nan, "low": nan, "high": nan, "verdict": "", "draws": ""}
    assert told(explainer, cell | far)["Published value"] == [
        lines[0],
        "ours minus theirs: +0.38",
    ]
    of_the_authors = told(explainer, cell | {"role": "authors", "draws": ""})["Published value"]
    assert of_the_authors == lines[:5]
    [none] = told(explainer, cell | {"printed_text": ""})["Published value"]
    assert none == "The paper does not publish this number."


def test_a_method_is_told_with_all_its_parameters_and_the_seeds_of_its_setting(explainer, cell):
    first, *parameters = told(explainer, cell)["Method"]
    assert first == "FedGrEM: fedmix.methods.fedgrem.FedGrEM"
    assert {"max_rounds: 1000", "penalty_decay: 0.7"} <= set(parameters)
    streams, purposes = told(explainer, cell)["Seeds"]
    assert f"Streams('fedgrem_real', '{cell['setting']}', replication)" in streams
    assert purposes.endswith("each purpose that fedmix.experiments.real_clustering names")


def test_only_a_number_of_real_data_has_the_rules_that_fetch_and_embed_them(explainer, cell):
    rules = [f"workflow/scripts/{rule}.py" for rule in ("fetch_data", "embed_features")]
    assert told(explainer, cell)["Files"][1:3] == rules
    assert not set(rules) & set(told(explainer, SIMULATED)["Files"])


def test_a_verdict_is_not_final_before_its_other_draws(explainer, cell):
    request = explainer.request
    item = SimpleNamespace(other_draws=STUDY)
    some = SimpleNamespace(
        items={"t": item}, parts_in=request.parts_in, folder_of=request.folder_of
    )
    waiting = Explainer(request, explainer.workdir)
    waiting.request = some
    [note] = waiting._pending("t")
    assert note == f"The verdict is not final: it waits for the draws of {STUDY}."
    item.other_draws = ""
    assert not list(waiting._pending("t"))


def test_the_checksum_of_what_is_there_is_told(tmp_path, explainer, cell):
    raw = tmp_path / "data" / "raw" / "digits.npz"
    raw.parent.mkdir(parents=True)
    raw.write_bytes(b"digits")
    lines = told(Explainer(explainer.request, tmp_path), cell)
    assert lines["Raw data"][0] == "Digits (8x8): 1797 x 64"
    assert lines["Raw data"][-1] == f"data/raw/digits.npz: sha256 {sha256_of(raw)}"
    assert lines["Embedding"][-1] == "data/embedded/digits/pca10.npz: not available"
    assert "Raw data" not in told(explainer, SIMULATED)
    own = Explainer(explainer.request, tmp_path)
    files = [{"name": "a.csv", "sha256": "0"}, {"name": "b.csv"}]
    entry = own.request.datasets["digits"] | {"sources": [{"files": files}]}
    own.request = replace(own.request, datasets={"digits": entry})
    assert told(own, cell)["Raw data"][1:-1] == ["a.csv: sha256 0", "b.csv: sha256 not recorded"]


SIMULATED = CELL | {
    **{"study": STUDY, "item": "fedgrem_table4", "metric": "means_error"},
    **{"variant": "as_coded", "setting": "gaussian-h0.0"},
}


def test_what_uses_a_number_is_told_by_its_study_setting_method_and_metric(explainer):
    effect = {
        **{"study": STUDY, "metric": "means_error", "method": "FedGrEM"},
        **{"where": {"model": "gaussian"}, "from": {"variant": "as_written"}},
        **{"to": {"variant": "as_coded"}},
    }
    back = effect | {"from": effect["to"], "to": effect["from"]}
    elsewhere = back | {"where": {"model": "regression"}}
    claim = {"id": "c", "claim": "It is low.", "study": STUDY, "parameters": {"method": "FedGrEM"}}
    own = Explainer(explainer.request, explainer.workdir)
    own.claims = [claim | {"where": {"model": "gaussian"}}, claim | {"where": {"model": "other"}}]
    own.discrepancies = [{"id": "d", "what": "A switch.", "effects": [effect]}]
    own.discrepancies += [{"id": "e", "what": "Nothing of it."}]
    own.discrepancies += [{"id": "f", "what": "Back.", "effects": [elsewhere, back]}]
    own.discrepancies += [{"id": "g", "what": "Elsewhere.", "effects": [elsewhere]}]
    assert told(own, SIMULATED)["Used by"] == [
        "claim c: It is low.",
        "discrepancy d: A switch.",
        "discrepancy f: Back.",
    ]
    own.claims = [claim | {"id": "all", "where": {}, "parameters": {"than": "all"}}]
    own.claims += [claim | {"id": "none", "where": {}, "parameters": {"than": "FedEM"}}]
    assert told(own, SIMULATED)["Used by"][:-2] == ["claim all: It is low."]
    assert "discrepancy" not in "".join(own.lines(SIMULATED | {"metric": "other"}))
    of_metrics = {
        "its own": {"metric": "means_error"},
        "of two": {"metric": "weights_error", "than_metric": "means_error"},
        "another": {"metric": "weights_error"},
        "a sum": {"metric": "floats"},
    }
    own.claims = [
        claim | {"id": name, "where": {}, "parameters": {"method": "FedGrEM"} | named}
        for name, named in of_metrics.items()
    ]
    assert told(own, SIMULATED)["Used by"][:-2] == [
        "claim its own: It is low.",
        "claim of two: It is low.",
    ]
    [used] = told(own, SIMULATED | {"metric": "floats_up"})["Used by"]
    assert used == "claim a sum: It is low."
    own.claims = [claim | {"study": "another", "where": {}}]
    own.discrepancies = [{"id": "d", "what": "A switch.", "effects": [effect | {"study": "other"}]}]
    assert "Used by" not in told(own, SIMULATED)


def test_kept_replications_are_told_where_no_block_is_planned(tmp_path):
    work = kept(tmp_path)
    lines = told(Explainer(request_in(work), work), SIMULATED | {"method": METHODS[0]})["Results"]
    assert lines[0] == f"data/evidence/{STUDY}.parquet: 2 replications"
    request = request_in(work)
    study = replace(request.studies[STUDY], replications=1)
    fewer = replace(request, studies={**request.studies, STUDY: study})
    lines = told(Explainer(fewer, work), SIMULATED | {"method": METHODS[0]})["Results"]
    assert lines[0] == f"data/evidence/{STUDY}.parquet: 1 replication"


@pytest.mark.parametrize("change", [{"setting": "gone"}, {"variant": "gone"}, {"method": "Gone"}])
def test_a_number_that_the_request_no_longer_has_is_told(explainer, cell, change):
    with pytest.raises(DataError, match=r"fedgrem_real no longer has .* embedding is missing"):
        explainer.lines(cell | change)


def test_what_has_no_finished_cells_is_told(explainer):
    with pytest.raises(ConfigurationError, match=r"is a figure, .* Name a table: .*fedgrem_table1"):
        explainer.cells_of("fedgrem_figure3")
    with pytest.raises(ConfigurationError, match="Nothing of fedgrem_table1 has been run here"):
        explainer.cells_of("fedgrem_table1")


def test_the_finished_cells_of_an_item_are_its_own_and_those_of_its_other_draws(
    explainer, tmp_path
):
    own = Explainer(explainer.request, tmp_path)
    parts = own.request.parts_of(own.request.items["fedgrem_table1"])
    paths = [tmp_path / own.request.folder_of(part) / "cells.parquet" for part in parts]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.touch()
    assert own.cells_of("fedgrem_table1") == paths
    items = own.request.items

    def with_draws(name, study):
        item = items[name].model_copy(update={"printed": {"other_draws": study}})
        return replace(own.request, items={**items, name: item})

    own.request = with_draws("fedgrem_table2", "fedgrem_real")
    with pytest.raises(ConfigurationError, match="Nothing of fedgrem_table2"):
        own.cells_of("fedgrem_table2")  # its draws alone show no cell of it
    own.request = with_draws("fedgrem_table1", STUDY)
    draws = [part for (study, _), part in own.request.parts.items() if study == STUDY]
    [other, *_] = [tmp_path / own.request.folder_of(part) / "cells.parquet" for part in draws]
    other.parent.mkdir(parents=True)
    other.touch()
    assert own.cells_of("fedgrem_table1") == [*paths, other]


def test_a_name_is_found_without_spaces_and_capitals_among_the_rows_of_its_item():
    rows = [("t1", "0 %", "A", 1), ("t1", "", "A", 2), ("t2", "5 %", "B", 3), ("t1", "0 %", "B", 4)]
    frame = pd.DataFrame(rows, columns=["item", "row", "column", "mean"]).assign(role="")
    assert [cell["mean"] for cell in find_cells(frame, "T1", "0%", "a")] == [1]
    for row in ("5 %", ""):
        with pytest.raises(ConfigurationError, match=f"No cells with row '{row}'"):
            find_cells(frame, "t1", row, "A")
    with pytest.raises(
        ConfigurationError, match=r"No cells with row 'A'.*No cells with column '0 %'"
    ):
        find_cells(frame, "t1", "A", "0 %")
    with pytest.raises(ConfigurationError, match="The row is '0 %' and the column 'A': exchange"):
        find_cells(frame, "t1", "A", "0 %")
    with pytest.raises(ConfigurationError, match=r"^No cells with item 't3'[^N]*$"):
        find_cells(frame, "t3", "A", "C")


def test_only_the_variant_that_counts_says_what_a_value_counts_as():
    shared = {"paper": "p", "item": "t", "printed_file": "a.csv", "row": "r", "column": "c"}
    rows = [
        {"printed_line": 2, "variant": "as_coded", "role": "authors", "verdict": "agrees"},
        {"printed_line": 2, "variant": "corrected", "role": "fair", "verdict": "differs"},
        {"printed_line": 3, "variant": "as_coded", "role": "authors", "verdict": "agrees"},
        {"printed_line": 3, "variant": "corrected", "role": "fair", "verdict": "undecided"},
        {"printed_line": 4, "variant": "as_coded", "role": "authors", "verdict": "not judged"},
    ]
    cells = pd.DataFrame([shared | row | {"difference_in_sd": 0.1} for row in rows])
    assert mark_counted(cells)["counted"].tolist() == [
        *("agrees", "", "agrees (not discriminating)", "", ""),
    ]


def test_a_run_is_explained_once_and_by_its_own_page(explainer, tmp_path):
    one = CELL | {"row": "0 %", "column": "FedGrEM", "setting": "digits-pca10-contaminated0"}
    variants = {s.variant for s in explainer.request.studies["fedgrem_real"].settings.values()}
    frame = pd.DataFrame([one | {"variant": v, "role": "inferred"} for v in [*variants] * 2])
    place = "fedgrem_table1", "0%", "fedgrem"
    said = list(explain_run(explainer, frame, tmp_path, *place))
    assert said.count("Files: as above") == len(frame) - 1
    assert said[1].startswith("role: inferred (inferred from the published values")
    assert not [line for line in said if "counts as" in line]  # its page is not made
    assert names_in(explainer.request, "none")["digits"] == "Digits (8x8)"
    kept = {**one, "variant": "searched", "role": "searched", "low": 0, "high": 0}
    other = {**kept, "row": "1 %", "n": 0, "verdict": "not run"}
    pd.DataFrame([kept, other]).to_csv(tmp_path / "cells.csv", index=False)
    (tmp_path / "scores.csv").write_text("item,role,answer,more\nfedgrem_table1,searched,So.,\n")
    said = list(explain_run(explainer, frame, tmp_path, *place))
    assert said[0] == "So."
    assert said[2].startswith("searched: the published value counts as: protocol unknown: not near")
    not_run = list(explain_run(explainer, frame, tmp_path, place[0], "1 %", place[2]))
    assert "  the published value counts as: not run" in not_run
    with pytest.raises(ConfigurationError, match="No cells with row '2 %'"):
        list(explain_run(explainer, frame, tmp_path, place[0], "2 %", place[2]))
