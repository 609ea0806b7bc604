from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.stats import t

from fedmix.cells.items import Table
from fedmix.configuration import Document, read_yaml
from fedmix.pipeline.plan import plan_study
from fedmix.pipeline.precision import (
    COMPLETE,
    FAILED,
    GOES_ON,
    PRECISE,
    Precision,
    instalment_lines,
    precision_lines,
)
from fedmix.pipeline.request import read_request
from fedmix.pipeline.schemas import ReplicationRule

ROOT = Path(__file__).parents[1]
RULE = ReplicationRule(steps=[20, 50, 100], precision=0.125, other_variants=50)
PRINTED = "dataset,method,mean,sd\n" + "".join(
    f"{dataset},{method},1.0,{sd}\n"
    for dataset, sd in (("a", 0.8), ("b", 0.8), ("exact", 0.0))
    for method in ("FedEM", "TGMM")
)


@dataclass
class Kept:
    """Evidence and its coverage, with one key per method."""

    rows_of: dict = field(default_factory=dict)
    folder: Path | None = Path("evidence")

    @property
    def evidence(self):
        return self

    def rows(self, study):
        columns = ["setting", "method", "metric", "replication", "value", "status", "round", "key"]
        return pd.DataFrame(self.rows_of.get(study, []), columns=columns)

    def keys(self, study, setting):
        return dict.fromkeys(study.methods_of(setting), "now")

    def held(self, study, setting):
        rows = self.rows(study.name)
        rows = rows[(rows["setting"] == setting.folder) & (rows["key"] == "now")]
        return {m: frozenset(own["replication"]) for m, own in rows.groupby("method")}

    def add(self, setting, method, n, sd, study="s", key="now", status="ok"):
        """Add replications with a given standard deviation, or failed ones."""
        values = np.random.default_rng(0).permutation(np.linspace(-1, 1, n))
        values *= sd / values.std(ddof=1)
        ok = status == "ok"
        self.rows_of.setdefault(study, []).extend(
            (setting, method, "error" if ok else "", r, v if ok else None, status, None, key)
            for r, v in enumerate(values)
        )
        return self


def study(name="s", **changes):
    document = {
        "experiment": "mixture_simulation",
        "replications": 200,
        "settings": [{"grid": {"dataset": ["a", "unprinted"]}}],
        "setting_id": "{dataset}",
        "variants": {"as_coded": {"role": "authors"}, "as_written": {"role": "written"}},
        "methods": ["FedEM", "TGMM"],
        **changes,
    }
    methods = {name: {"estimator": name, "label": name} for name in ("FedEM", "TGMM")}
    return plan_study(name, "p", Document(document, (lambda keys: "study.yaml",)), methods)


@pytest.fixture
def plan(tmp_path):
    """Return a function that gives the replications of a setting, with some evidence."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "numbers.csv").write_text(PRINTED)

    def make(kept, draws="", scale=1.0, change=None, **others):
        printed = {
            "file": "numbers.csv",
            "columns": {"dataset": "setting_dataset", "method": "label"},
            "mean": "mean",
            "sd": "sd",
            "replications": 200,
            "best": "lowest",
            "other_draws": draws,
        }
        item = Table(
            name="t", paper="p", title="t", caption="c", study="s", metric="error",
            row="{dataset}", column="{label}", digits=1, scale=scale, printed=printed,
        )  # fmt: skip
        item = item.model_copy(update=change or {})
        studies = {"s": study(), **others}
        return Precision(RULE, kept, studies, {"t": item}, tmp_path)

    return make


def number(precision, folder):
    own = precision.studies["s"]
    return precision(own, own.settings[folder])


def states(precision, folder="as_coded.a"):
    own = precision.studies["s"]
    found = precision.reached(own, own.settings[folder])
    return {reached.target.method: reached.state for reached in found}


def both(n, sd, other_sd=None):
    kept = Kept().add("as_coded.a", "FedEM", n, sd)
    return kept.add("as_coded.a", "TGMM", n, sd if other_sd is None else other_sd)


@pytest.mark.parametrize(
    ("held", "sd", "planned"),
    [
        (0, 0.0, 20),
        (19, 0.01, 20),  # the first step is not complete
        (20, 0.2, 20),  # 1.73 x .2 / sqrt(20) is below an eighth of .8
        (20, 0.3, 50),
        (60, 0.3, 50),  # 1.68 x .3 / sqrt(50) is below
        (50, 0.8, 100),
        (100, 0.8, 200),
        (200, 8.0, 200),
    ],
)
def test_a_setting_stops_at_the_step_at_which_its_numbers_are_precise(plan, held, sd, planned):
    assert number(plan(both(held, sd) if held else Kept()), "as_coded.a") == planned


def test_methods_stay_paired(plan):
    precision = plan(both(20, 0.1, other_sd=0.9))
    assert states(precision) == {"FedEM": PRECISE, "TGMM": GOES_ON}
    assert number(precision, "as_coded.a") == 50


def test_a_method_that_changed_catches_up_with_the_others(plan):
    kept = Kept().add("as_coded.a", "FedEM", 50, 0.1)
    kept.add("as_coded.a", "TGMM", 50, 0.1, key="before")
    assert number(plan(kept), "as_coded.a") == 50


def test_a_method_may_have_fewer_replications_than_its_setting(plan):
    slow = study(methods=["FedEM", {"name": "TGMM", "replications": 10}])
    precision = plan(both(20, 0.9), s=slow)
    assert states(precision) == {"FedEM": GOES_ON, "TGMM": COMPLETE}
    assert number(precision, "as_coded.a") == 50


def test_other_variants_and_settings_without_a_published_value_have_fixed_numbers(plan):
    precision = plan(both(20, 0.1))
    assert number(precision, "as_written.a") == 50
    assert number(precision, "as_written.unprinted") == 50
    assert number(precision, "as_coded.unprinted") == 200
    assert number(plan(both(20, 0.1), s=study(replications=30)), "as_written.a") == 30


def test_without_evidence_every_setting_of_the_table_runs_its_studys_number(plan):
    assert number(plan(Kept(folder=None)), "as_coded.a") == 200


def test_the_first_replications_are_what_makes_a_step_complete(plan):
    kept = both(30, 0.1)
    kept.rows_of["s"] = [row for row in kept.rows_of["s"] if row[3] != 5]
    [first, _] = plan(kept).reached(study(), study().settings["as_coded.a"])
    assert (first.held, first.planned) == (0, 20)


@pytest.mark.parametrize(
    "change",
    [
        {"judged": False},
        {"printed": {}},
        {"study": "another"},
        {"where": {"dataset": "unprinted"}},
        {"methods": ["LocalEM"]},
    ],
)
def test_only_published_values_of_judged_items_for_the_setting_count(plan, change):
    assert number(plan(both(20, 0.1)), "as_coded.a") == 20
    assert number(plan(both(20, 0.1), change=change), "as_coded.a") == 200


def printed_with(plan, **changes):
    """Return changes of the item with other entries under ``printed``."""
    return {"printed": plan(Kept()).items["t"].printed | changes}


def test_a_stand_in_has_no_published_value(plan):
    change = printed_with(plan, stand_in={"dataset": {"a": "b"}})
    assert number(plan(both(20, 0.1), change=change), "as_coded.a") == 200


def test_a_published_value_may_belong_to_a_parameter_of_a_method(plan, tmp_path):
    (tmp_path / "p" / "by_limit.csv").write_text("limit,mean,sd\n9,1.0,0.8\n")
    columns = {"limit": "method_max_rounds"}
    change = printed_with(plan, file="by_limit.csv", columns=columns)
    limited = study(methods=["FedEM", {"name": "TGMM", "parameters": {"max_rounds": 9}}])
    assert states(plan(both(20, 0.1), change=change, s=limited)) == {"TGMM": PRECISE}


def test_seconds_are_never_waited_for(plan):
    precision = plan(both(20, 0.1), change={"metric": ["seconds", "error"]})
    own = precision.studies["s"]
    found = precision.reached(own, own.settings["as_coded.a"])
    assert [reached.target.metric for reached in found] == ["error", "error"]


def test_a_mean_of_one_finished_replication_is_not_precise(plan):
    kept = both(20, 0.1)
    done = [row for row in kept.rows_of["s"] if row[1] == "TGMM" or row[3] == 0]
    failed = [(*row[:2], "", row[3], None, "diverged", *row[6:]) for row in kept.rows_of["s"]]
    kept.rows_of["s"] = done + [row for row in failed if row[1] == "FedEM" and row[3]]
    assert states(plan(kept)) == {"FedEM": GOES_ON, "TGMM": PRECISE}


def test_beside_a_published_sd_of_zero_only_equal_values_are_precise(plan):
    exact = study(settings=[{"dataset": "exact"}])
    kept = Kept().add("as_coded.exact", "FedEM", 20, 0.1)
    kept.rows_of["s"] += [(row[0], "TGMM", *row[2:4], 1.0, *row[5:]) for row in kept.rows_of["s"]]
    found = states(plan(kept, s=exact), "as_coded.exact")
    assert found == {"FedEM": GOES_ON, "TGMM": PRECISE}


def test_a_width_of_just_the_wanted_one_is_precise(plan):
    precision = plan(both(50, 0.8))
    wanted = RULE.model_copy(update={"precision": width(precision)})
    assert states(precision)["FedEM"] == GOES_ON
    assert states(replace(precision, rule=wanted))["FedEM"] == PRECISE


def test_a_method_that_always_fails_needs_no_more_replications(plan):
    kept = Kept().add("as_coded.a", "FedEM", 20, 0.1)
    kept.add("as_coded.a", "TGMM", 20, 1.0, status="diverged")
    precision = plan(kept)
    assert states(precision) == {"FedEM": PRECISE, "TGMM": FAILED}
    assert number(precision, "as_coded.a") == 20
    assert any(
        line.endswith("TGMM, error: 20 replications, failed throughout")
        for line in precision_lines(precision)
    )


DRAWS = study(
    "d",
    variants={"v": {}},
    settings=[{"grid": {"dataset": ["a"], "draw": [0, 1, 2, 3]}}],
    setting_id="{dataset}-{draw}",
)


def add_draws(kept, apart):
    """Add four draws, whose values lie so far apart."""
    for draw in range(4):
        for method in ("FedEM", "TGMM"):
            kept.add(f"v.a-{draw}", method, 10, 0.1, study="d")
    kept.rows_of["d"] = [
        (setting, *rest[:3], rest[3] + apart * int(setting[-1]), *rest[4:])
        for setting, *rest in kept.rows_of["d"]
    ]


@pytest.mark.parametrize(
    ("apart", "state"), [(0.0, PRECISE), (2.0, GOES_ON), (None, GOES_ON)], ids=str
)
def test_the_variance_between_other_draws_counts(plan, apart, state):
    kept = both(20, 0.1)
    if apart is not None:  # else nothing is known of the draws
        add_draws(kept, apart)
    assert set(states(plan(kept, draws="d", d=DRAWS)).values()) == {state}


def test_a_data_set_without_draws_has_no_variance_between_them(plan):
    others = study(
        "d", variants={"v": {}}, settings=[{"grid": {"dataset": ["b"]}}], setting_id="{dataset}"
    )
    assert set(states(plan(both(20, 0.1), draws="d", d=others)).values()) == {PRECISE}


@pytest.mark.parametrize(("variants", "contaminated"), [("vw", [0]), ("v", [0, 8])])
def test_draws_are_those_of_one_variant_and_contamination(plan, variants, contaminated):
    """Values differ between variants, or contaminations, and not between draws."""
    grid = {"dataset": ["a"], "draw": [0, 1, 2, 3], "n_contaminated": contaminated}
    apart = study(
        "d",
        variants={name: {} for name in variants},
        settings=[{"grid": grid}],
        setting_id="{dataset}-{draw}-{n_contaminated}",
    )
    kept = both(20, 0.1)
    for setting in apart.settings:
        for method in ("FedEM", "TGMM"):
            kept.add(setting, method, 10, 0.1, study="d")
    kept.rows_of["d"] = [
        (*row[:4], row[4] + 2.0 * (row[0][0] == "w" or row[0][-1] == "8"), *row[5:])
        for row in kept.rows_of["d"]
    ]
    assert set(states(plan(kept, draws="d", d=apart)).values()) == {PRECISE}


def test_every_metric_has_its_own_variance_between_draws(plan):
    kept = both(20, 0.1)
    add_draws(kept, 0.0)
    for rows in kept.rows_of.values():
        rows += [(*row[:2], "loss", *row[3:]) for row in rows]
    change = {"metric": ["error", "loss"]}
    precision = plan(kept, draws="d", change=change, d=DRAWS)
    own = precision.studies["s"]
    found = list(precision.reached(own, own.settings["as_coded.a"]))
    assert [(reached.target.metric, reached.state) for reached in found] == [
        ("error", PRECISE),
        ("loss", PRECISE),
    ] * 2


def width(precision):
    own = precision.studies["s"]
    return next(precision.reached(own, own.settings["as_coded.a"])).half_width


def test_the_width_is_that_of_complete_steps_in_published_standard_deviations(plan):
    kept = both(60, 0.3)
    values = [row[4] for row in kept.rows_of["s"] if row[1] == "FedEM"][:50]
    half = t.ppf(0.95, 49) * np.std(values, ddof=1) / 50**0.5
    assert width(plan(kept)) == pytest.approx(half / 0.8)
    assert width(plan(kept, scale=0.01)) == pytest.approx(half / 0.008)


def test_our_mean_has_one_partition_draw(plan):
    kept = both(20, 0.1)
    add_draws(kept, 0.1)
    parts = np.array([0.1**2 / 20, np.var([0, 0.1, 0.2, 0.3], ddof=1) - 0.1**2 / 10])
    freedom = parts.sum() ** 2 / (parts**2 / [19, 3]).sum()
    half = t.ppf(0.95, freedom) * parts.sum() ** 0.5
    assert width(plan(kept, draws="d", d=DRAWS)) == pytest.approx(half / 0.8)


def test_what_stopped_where_is_told(plan):
    precision = plan(both(20, 0.1, other_sd=0.9))
    total, first, second = precision_lines(precision)
    assert total == "s, published values: 1 precise, 1 not yet precise"
    assert first.endswith("FedEM, error: 20 replications, half-width 0.048 published sd, precise")
    assert second.endswith("half-width 0.435 published sd, not yet precise, 50 next")
    [_, first, _] = precision_lines(plan(both(10, 0.1)))
    assert first.endswith("FedEM, error: 0 replications, not yet precise, 20 next")
    [advice] = instalment_lines(precision, "paper")
    assert advice.startswith("Settings that were not yet precise before this run: 1.")
    for done in (both(20, 0.1), both(200, 8.0)):
        assert not list(instalment_lines(plan(done), "paper"))
    two = study(settings=[{"grid": {"dataset": ["a", "b"]}}])
    [advice] = instalment_lines(plan(Kept(), s=two), "paper")
    assert advice.startswith("Settings that were not yet precise before this run: 2.")


def test_steps_must_rise():
    with pytest.raises(ValidationError, match="expected rising numbers"):
        ReplicationRule(steps=[50, 20], precision=0.1, other_variants=50)


def test_a_number_on_the_command_line_replaces_the_rule(tmp_path):
    options = {**read_yaml(ROOT / "config" / "config.yaml"), "preset": "paper", "evidence": False}
    assert read_request(ROOT / "config", options, tmp_path).precision
    fixed = read_request(ROOT / "config", {**options, "replications": 7}, tmp_path)
    assert not fixed.precision
    own = fixed.studies["fedgrem_real"]
    assert {n for s in own.settings.values() for n in own.replications_in(s).values()} == {7}
