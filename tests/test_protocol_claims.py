"""Claims and tables are put to what is kept of a search, by the way of all cells."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.claims import evaluate_claims
from fedmix.cells.frame import complete
from fedmix.cells.papers import read_claims, read_papers
from fedmix.cells.protocols.kept import Search, keep, read_search, write_search
from fedmix.cells.protocols.running import draw_protocols
from fedmix.cells.protocols.score import judged_cells, printed_cells, score_search, score_tables
from fedmix.cells.protocols.space import Claim, Draw, Space, read_searches
from fedmix.cells.unreported import (
    answers_by_protocol,
    open_claims,
    protocol_answers,
    read_curves,
    specification_curves,
)
from fedmix.errors import DataError
from fedmix.views.figures.protocols import claims_figure, draw_claims
from synthetic_results import PUBLISHED, cells, results_and_timings, shipped_items

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TABLE, DRAWN = "fedgrem_table1", 64
LEADS = ("tenth", "none")  # scalings with which FedGrEM has its printed lead in the made-up search


@pytest.fixture(scope="module")
def whole() -> Space:
    return read_searches(read_papers(ROOT / "config"), "paper")["fedgrem"]


@pytest.fixture(scope="module")
def space(whole) -> Space:
    draw = Draw(protocols=DRAWN, replications=2, block=16)
    return whole.model_copy(update={"tables": {TABLE: whole.tables[TABLE]}, "draw": draw})


@pytest.fixture(scope="module")
def printed(space) -> pd.DataFrame:
    return printed_cells(space, shipped_items(), PUBLISHED)[TABLE]


@pytest.fixture(scope="module")
def design(space) -> pd.DataFrame:
    return draw_protocols(space)


def runs(printed: pd.DataFrame, design: pd.DataFrame, replications: int) -> pd.DataFrame:
    """Return noisy published values; without a scaling of LEADS FedGrEM errs by .2 more."""
    rng = np.random.default_rng(0)
    rows = [
        (TABLE, name, n, r, method, mean + 0.2 * (method == "FedGrEM") * (scaling not in LEADS))
        for name, scaling in design[["protocol", "scaling"]].itertuples(index=False)
        for n, method, mean, _ in printed.itertuples(index=False)
        for r in range(replications)
    ]
    names = ["table", "protocol", "n_contaminated", "replication", "method", "value"]
    found = pd.DataFrame(rows, columns=names)
    return found.assign(value=found["value"] + 1e-3 * rng.random(len(found)))


@pytest.fixture(scope="module")
def kept(space, printed, design) -> dict[str, pd.DataFrame]:
    # The drawn protocols ran the first row only, the optimiser found two others.
    drawn = runs(printed, design, 2)
    drawn = drawn[drawn["n_contaminated"] == 0]
    found = design[design["scaling"].isin(LEADS)].iloc[:2]
    found = found.assign(protocol=["s1.7", "s2.9"])
    return kept_of(space, design, drawn, found, runs(printed, found, 3), {TABLE: printed})


def kept_of(space, design, drawn, found, judged, printed) -> dict[str, pd.DataFrame]:
    every = {"drawn": drawn, "tried": judged, "compared": judged, "judged": judged}
    kept = []
    for table, own in printed.items():
        parts = {kind: part[part["table"] == table] for kind, part in every.items()}
        scores = score_search(space, design, found, parts, {table: own})
        cells = judged_cells(scores, parts["judged"], {table: own})
        kept.append(keep(space, design, parts["drawn"], scores, cells))
    return {name: pd.concat([own[name] for own in kept]) for name in ("protocols", "runs")}


def search_of(space: Space, kept: dict[str, pd.DataFrame]) -> Search:
    return Search(space, kept["protocols"], kept["runs"], shipped_items(), PUBLISHED)


@pytest.fixture(scope="module")
def search(space, kept) -> Search:
    return search_of(space, kept)


@pytest.fixture(scope="module")
def curves(search) -> pd.DataFrame:
    return specification_curves(read_claims(read_papers(ROOT / "config")), [search])


@pytest.fixture(scope="module")
def evaluated(search) -> pd.DataFrame:
    claims = [c for c in read_claims(read_papers(ROOT / "config")) if c["paper"] == "fedgrem"]
    whole = pd.concat([cells(), search.searched_cells()])
    return evaluate_claims(claims, whole, results_and_timings()[0], [search]).set_index("id")


def test_the_nearest_protocol_is_a_variant_beside_the_print(search, printed):
    own = search.searched_cells()
    assert set(own["role"]) == set(own["variant"]) == {"searched"}
    assert len(own) == len(printed)
    np.testing.assert_allclose(own["mean"] / own["scale"], own["printed_mean"], atol=0.1)
    whole = complete(own, shipped_items().values(), PUBLISHED)
    assert (whole.loc[whole["variant"] == "searched", "verdict"] != "not run").all()


def drawn_fits(search):
    """Return the fits of the drawn protocols, one row per fit."""
    own = search.runs[search.runs["kind"] == "drawn"]
    places = ["protocol", "table", "row", "replication"]
    return own.melt(places, list(search.space.methods), var_name="method")


def test_the_share_is_that_of_the_searchs_own_scores(search, printed, evaluated):
    first = drawn_fits(search).rename(columns={"row": "n_contaminated"})
    lowest = score_tables(first, {TABLE: printed}, Claim(method="FedGrEM"))["lowest"].mean()
    assert 0 < lowest < 1
    remarks = " ".join(evaluated.loc["fedgrem-pendigits-lowest", "remarks"])
    assert (
        f"it holds in {lowest:.0%} of {DRAWN} protocols (tested on pen digits, n_contam" in remarks
    )
    # Two replications decide nothing about a protocol.
    assert evaluated.loc["fedgrem-pendigits-lowest", "verdict"] != "depends on an unreported choice"


def test_the_choice_that_decides_is_named_with_its_shares(evaluated):
    [said] = [
        remark
        for remark in evaluated.loc["fedgrem-pendigits-lowest", "remarks"]
        if remark.startswith("Not reported")
    ]
    assert "depending most on scaling: none in 100%, global in 0%" in said


def test_the_protocol_that_was_found_answers_a_column_of_its_own(evaluated):
    lowest = evaluated.loc["fedgrem-pendigits-lowest"]
    assert (lowest.searched_yes, lowest.searched_no) == (4, 0)
    assert lowest.searched_low <= lowest.searched_smallest
    assert evaluated.loc["fedgrem-robust-to-contamination", "searched_yes"] == 1
    assert evaluated.loc["fedgrem-mnist-lowest-contaminated", "searched_yes"] == 0


def test_a_claim_that_the_first_rung_cannot_answer_is_put_to_what_is_near_the_print(evaluated):
    said = " ".join(evaluated.loc["fedgrem-robust-to-contamination", "remarks"])
    assert "it holds in 100% of 2 protocols near the published values (tested on pendigits" in said
    said = " ".join(evaluated.loc["fedgrem-mnist-lowest-contaminated", "remarks"])
    assert "protocols" not in said  # the search has no such table


def test_a_curves_share_is_the_one_that_its_claim_tells(curves, evaluated):
    shares = curves.groupby("id")["holds"].agg(["mean", "size"])
    assert {0 < share < 1 for share in shares["mean"]} == {True, False}
    for claim, share, size in shares.itertuples():
        assert f"it holds in {share:.0%} of {size} protocols" in " ".join(
            evaluated.loc[claim, "remarks"]
        )


def test_there_is_a_curve_for_each_claim_that_concerns_the_tables(curves, evaluated, space):
    told = (
        evaluated["remarks"]
        .map(" ".join)
        .str.contains(r"protocols (?:near the published values )?\(tested on")
    )
    assert set(curves["id"]) == set(evaluated.index[told])
    claims = read_claims(read_papers(ROOT / "config"))
    assert [claim["id"] for claim in open_claims(claims, space)] == list(curves["id"].unique())


def test_only_protocols_that_ran_the_most_tables_answer_a_claim_about_several(whole, kept):
    runs = kept["runs"]
    of_two = runs[(runs["kind"] == "drawn") & (runs["protocol"] < "p32")]
    search = search_of(
        whole, kept | {"runs": pd.concat([runs, of_two.assign(table="fedgrem_table2")])}
    )
    claims = {claim["id"]: claim for claim in read_claims(read_papers(ROOT / "config"))}
    for name, answered in (("pendigits-lowest", DRAWN), ("beats-local-everywhere", 32)):
        kind, found = protocol_answers(claims[f"fedgrem-{name}"], search)
        assert (kind, len(found)) == ("drawn", answered)
    curves = specification_curves(claims.values(), [search])
    assert curves.groupby("id").size()["fedgrem-beats-local-everywhere"] == 32


def test_a_curve_is_sorted_and_holds_above_zero_within_its_range(curves):
    assert all(own["margin"].is_monotonic_increasing for _, own in curves.groupby("id"))
    assert (curves["holds"] == (curves["margin"] > 0)).all()
    assert (curves["low"] <= curves["margin"]).all()
    assert (curves["margin"] <= curves["high"]).all()
    drawn = curves["kind"] == "drawn"
    assert (curves.loc[drawn, "replications"] == 2).all()
    assert (curves.loc[~drawn, "replications"] == 3).all()


def test_a_range_is_that_of_single_replications(search, curves):
    lowest = curves[curves["id"] == "fedgrem-pendigits-lowest"].set_index("protocol")
    drawn = drawn_fits(search)
    errors = drawn[drawn["protocol"] == "p00"].pivot(
        index="replication", columns="method", values="value"
    )
    leads = errors.drop(columns="FedGrEM").min(axis="columns") - errors["FedGrEM"]
    np.testing.assert_allclose(lowest.loc["p00", ["low", "high"]].astype(float), sorted(leads))


def test_the_nearest_of_a_curve_are_marked_and_bring_their_choices(search, curves):
    near = search.protocols[search.protocols["kind"] == "near"].set_index("protocol")
    assert (curves["nearest"] == curves["protocol"].isin(near.index)).all()
    assert 0 < curves["nearest"].mean() < 1
    marked = curves[curves["nearest"]]
    assert (marked["scaling"].to_numpy() == near.loc[marked["protocol"], "scaling"]).all()


def test_curves_are_read_as_they_were_written_and_drawn_a_panel_a_claim(tmp_path, curves, space):
    curves.to_csv(tmp_path / "curves.csv", index=False)
    found = read_curves(tmp_path / "curves.csv")
    pd.testing.assert_frame_equal(found, curves, check_dtype=False)
    draw_claims(space, found, [tmp_path / "claims.svg", tmp_path / "claims.md"], "quick")
    assert "3 replications of protocols that were near" in (tmp_path / "claims.md").read_text()
    figure = claims_figure(space, found)
    panels = [axis for axis in figure.axes if axis.get_title().endswith(".")]
    assert len(panels) == curves["id"].nunique()
    alone = found[found["kind"] == "drawn"].head(1).assign(replications=1)
    draw_claims(space, alone, [tmp_path / "claims.md"], "quick")
    assert " 1 replication of protocols" in (tmp_path / "claims.md").read_text()
    drawn = found[found["kind"] == "drawn"].head(2).assign(replications=[3, 10])
    draw_claims(space, drawn, [tmp_path / "claims.md"], "quick")
    assert " 3 to 10 replications of protocols" in (tmp_path / "claims.md").read_text()
    [text] = claims_figure(space, alone).axes[0].texts
    assert text.get_text().endswith("% of 1 protocol")
    near = found[found["kind"] == "near"].head(1)
    [text] = claims_figure(space, near).axes[0].texts
    assert text.get_text().endswith("% of 1 protocol near the published values")
    with pytest.raises(DataError, match="no protocol has been run that a claim can be tested in"):
        claims_figure(space, found[:0])


def test_without_a_search_there_are_no_curves():
    assert specification_curves(read_claims(read_papers(ROOT / "config")), []).empty


def test_a_search_of_some_data_sets_answers_for_these_alone():
    whole = read_searches(read_papers(ROOT / "config"), "paper")["fedgem_benchmark"]
    own = whole.model_copy(update={"draw": Draw(protocols=16, replications=2, block=16)})
    design = draw_protocols(own)
    printed = printed_cells(own, shipped_items(), PUBLISHED)
    # FedGEM as printed, but below the others where rows are dealt at random.
    parts = [
        own_cells.merge(pd.DataFrame({"replication": [0, 1]}), how="cross").assign(
            table=table, protocol=name, value=lambda runs: runs["mean"] + 1e-3 * runs["replication"]
        )
        for table, own_cells in printed.items()
        for name in design["protocol"]
    ]
    made = pd.concat(parts, ignore_index=True)
    dealt = set(design.loc[design["partition"] == "dealt", "protocol"])
    made.loc[(made["method"] == "FedGEM") & made["protocol"].isin(dealt), "value"] = 0.0
    made = made.drop(columns=["mean", "sd"])
    found = design[~design["protocol"].isin(dealt)].iloc[:1]
    judged = made[made["protocol"].isin(found["protocol"])]
    judged, found = (part.assign(protocol="s1.0") for part in (judged, found))
    found = found.assign(kind="confirmed")
    search = search_of(own, kept_of(own, design, made, found, judged, printed))

    beside = search.searched_cells()
    assert set(beside["item"]) == {"fedgem_table1"}
    assert set(beside["setting_dataset"]) == {"abalone", "frog_b"}
    np.testing.assert_allclose(beside["mean"], beside["printed_mean"], atol=1e-3)

    with_search = ("fedgem-beats-afcl", "fedgem-beats-dpgmm", "fedgem-best-abalone-waveform")
    claims = [
        claim | ({"unreported": "how rows are dealt"} if claim["id"] in with_search else {})
        for claim in read_claims(read_papers(ROOT / "config"))
        if claim["paper"] == "fedgem"
    ]
    both = pd.concat([cells(), beside])
    found = evaluate_claims(claims, both, results_and_timings()[0], [search])
    shares = found.set_index("id")["remarks"].map(" ".join)
    told = shares[shares.str.contains("protocols (tested on", regex=False)]
    holds = f"it holds in {1 - len(dealt) / len(design):.0%} of {len(design)} protocols"
    assert told.str.contains(holds, regex=False).all()
    assert set(told.index) == set(with_search)
    assert "(tested on Table 1, Abalone, n_clients 5)" in told["fedgem-best-abalone-waveform"]
    assert "n_clients 5, Table 1, Frog B, n_clients 5)" in told["fedgem-beats-afcl"]


def test_without_a_search_the_column_is_empty_and_says_so():
    claims = [c for c in read_claims(read_papers(ROOT / "config")) if "unreported" in c]
    found = evaluate_claims(claims, cells(), results_and_timings()[0])
    assert found[["searched_yes", "searched_no", "searched_unclear"]].to_numpy().sum() == 0
    told = found["remarks"].map(" ".join)
    told = told[told.str.contains("Not reported")]
    assert len(told)
    assert told.str.contains("its tables were not searched").all()


def test_a_method_that_diverged_is_behind_all_others(space, kept):
    broken = kept["runs"].copy()
    first = broken["protocol"] == "p00"
    broken.loc[first, "FedGrEM"] = np.nan
    drawn = search_of(space, kept | {"runs": broken}).drawn
    [place] = [p for p in drawn.places("fedgrem_real") if p.variant == "p00"]
    assert drawn.values(place, "FedGrEM", "misclustering").tolist() == [1.0, 1.0]


def test_what_is_kept_is_read_as_it_was_written(tmp_path, space, kept, search):
    write_search(tmp_path / TABLE, kept)
    found = read_search(tmp_path, space, shipped_items(), PUBLISHED)
    pd.testing.assert_frame_equal(found.searched_cells(), search.searched_cells())
    pd.testing.assert_frame_equal(found.choices_of("drawn"), search.choices_of("drawn"))


def test_protocols_that_the_optimiser_found_for_two_tables_are_two(tmp_path, whole, kept):
    """It numbers them anew for each table, so that two can have one name."""
    other = "fedgrem_table2"
    found = kept["protocols"]["protocol"] == "s1.7"
    second = kept["protocols"].assign(table=other)
    second.loc[found, "scaling"] = "global"
    write_search(tmp_path / TABLE, kept)
    runs = kept["runs"].assign(table=other)
    write_search(tmp_path / other, {"protocols": second, "runs": runs})
    search = read_search(tmp_path, whole, shipped_items(), PUBLISHED)
    scalings = search.choices_of("near")["scaling"]
    assert scalings[f"{TABLE} s1.7"] in LEADS
    assert scalings[f"{other} s1.7"] == "global"
    claims = {claim["id"]: claim for claim in read_claims(read_papers(ROOT / "config"))}
    answered = answers_by_protocol(claims["fedgrem-robust-to-contamination"], search.near)
    asked = {name: {check.place for check in a.checks} for name, a in answered.items()}
    assert asked[f"{TABLE} s1.7"].isdisjoint(asked[f"{other} s1.7"])


def test_a_search_without_kept_tables_is_none(tmp_path, space):
    assert read_search(tmp_path, space, shipped_items(), PUBLISHED) is None


def test_protocols_of_another_space_are_refused(tmp_path, space, kept):
    write_search(tmp_path / TABLE, kept | {"protocols": kept["protocols"].drop(columns="scaling")})
    with pytest.raises(DataError, match="no column 'scaling'"):
        read_search(tmp_path, space, shipped_items(), PUBLISHED)
    elsewhere = space.choices["scaling"].model_copy(update={"tables": ["another"]})
    other = space.model_copy(update={"choices": {**space.choices, "scaling": elsewhere}})
    search = read_search(tmp_path, other, shipped_items(), PUBLISHED)
    assert set(search.protocols["scaling"]) == {""}  # no table here depends on it
    other = space.model_copy(update={"tables": {}})
    with pytest.raises(DataError, match="unknown table 'fedgrem_table1'"):
        read_search(tmp_path, other, shipped_items(), PUBLISHED)
    some = other.model_copy(update={"only_tables": ["fedgrem_table2"]})
    assert read_search(tmp_path, some, shipped_items(), PUBLISHED) is None


def test_tables_drawn_from_different_spaces_are_refused(tmp_path, whole, kept):
    write_search(tmp_path / TABLE, kept)
    other = kept["protocols"].assign(
        table="fedgrem_table2",
        scaling=lambda own: own["scaling"].where(own["protocol"] != "p03", "a scaling of old"),
    )
    runs = kept["runs"].assign(table="fedgrem_table2")
    write_search(tmp_path / "fedgrem_table2", {"protocols": other, "runs": runs})
    with pytest.raises(DataError, match=r"name 'p03' \(scaling\).*searched again"):
        read_search(tmp_path, whole, shipped_items(), PUBLISHED)
