"""Effects and what theory predicts of them: slopes, knees, promises, gains and power."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fedmix.cells.condensed import Contrast, condense, contrasts, differences
from fedmix.cells.effects import (
    Effect,
    PrintedMean,
    Replications,
    all_of,
    any_of,
    exponent,
    knee,
    mean_effect,
    paired_effect,
    share_effect,
    slope,
)
from fedmix.errors import ConfigurationError, DataError
from fedmix.experiments.federation import federation_gain
from fedmix.simulate.mixtures import draw_points, draw_truth
from fedmix.theory import alignment_conditions, assumption_holds

ROOT = Path(__file__).parents[1]


def exact(values) -> list[Effect]:
    return [Effect(float(value), 0.0, 10) for value in values]


def test_an_effect_is_written_with_three_digits_and_without_an_exponent():
    assert str(Effect(-0.01234, float("inf"), 1)) == "-0.0123 (n=1)"
    assert str(Effect(999.4, 0.0, 5)) == "+999 ± 0 (n=5)"
    assert str(Effect(-1_482_113.2, 30_000.0, 20)) == "-1,482,113 ± 85,828 (n=20)"


def cell(**changes) -> dict:
    plain = {"row": "r", "label": "A", "variant": "v", "setting": "s", "metric": "error"}
    plain |= {"n": 4, "scale": 1.0, "replications": [0, 1, 2, 3], "printed_mean": np.nan}
    return plain | changes


def scored(label: str, metric: str, values: list[float], **changes) -> dict:
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    return cell(label=label, metric=metric, values=values, mean=mean, sd=sd, se=sd / 2, **changes)


ADVICE = {"kind": "advice", "metric": "error", "alone": "alone", "harmed": "harmed"}


def condensed(cells: pd.DataFrame, option: dict) -> dict[str, str]:
    """Return column -> text of a condensed table of one row."""
    return {column: text for _, column, text, _ in condense(cells, option)}


def test_effects_know_their_interval():
    effect = mean_effect([1.0, 2.0, 3.0])
    assert effect.se == pytest.approx(1 / np.sqrt(3))
    assert effect.half_width == pytest.approx(9.924843 * effect.se, rel=1e-6)
    found = effect.above(), effect.below(), effect.below(10)
    assert [finding.answer for finding in found] == ["unclear", "unclear", "yes"]
    assert Effect(0.0, 0.0, 5).below().answer == "no"
    assert Effect(0.0, 0.0, 5).within(0.0).answer == "yes"
    assert [Effect(mean, 0.1, 9).within(1.0).answer for mean in (-2.0, 2.0)] == ["no", "no"]
    assert Effect(1.0, 0.1, 10).with_interval() == "1.00 [0.77, 1.23]"  # 95 %: 2.26 errors


def test_effects_of_different_data_add_their_errors_in_squares():
    one, other = Effect(3.0, 0.3, 5), Effect(1.0, 0.4, 9)
    assert one - other == Effect(2.0, pytest.approx(0.5), 5)
    assert one + other == Effect(4.0, pytest.approx(0.5), 5)
    assert (one - 1.0, -one) == (Effect(2.0, 0.3, 5), Effect(-3.0, 0.3, 5))
    ratio = one.log_over(other)
    assert ratio == Effect(pytest.approx(np.log(3)), pytest.approx(np.hypot(0.1, 0.4)), 5)
    assert Effect(0.0, 0.1, 5).log_over(one) is None


def test_all_of_several_findings_are_as_good_as_the_worst_and_any_as_the_best():
    effects = {"yes": 2.0, "unclear": 0.1, "no": -3.0}
    found = {name: Effect(mean, 0.1, 9).above() for name, mean in effects.items()}
    assert [finding.answer for finding in found.values()] == list(effects)
    whole = list(found.values())
    assert (all_of(whole), any_of(whole)) == (found["no"], found["yes"])
    assert (all_of(whole[:2]), any_of(whole[1:])) == (found["unclear"], found["unclear"])
    assert any_of(whole[2:]).answer == "no"
    noisy, precise = Effect(2.5, 1.0, 9).above(), Effect(2.0, 0.1, 9).above()
    assert [noisy.answer, precise.answer] == ["unclear", "yes"]
    assert all_of([precise, noisy]) == noisy  # it decides, though its margin is larger
    noisy = Effect(-2.5, 1.0, 9).above()
    assert any_of([Effect(-2.0, 0.1, 9).above(), noisy]) == noisy
    outside = [Effect(mean, 0.1, 9).within(1.0).margin.mean for mean in (-3.0, 3.0)]
    assert outside == [-2.0, -2.0]


def test_only_shared_replications_are_paired():
    a = pd.Series([1.0, 2.0, 3.0], index=[0, 1, 2])
    b = pd.Series([0.0, 0.0], index=[2, 5])
    assert paired_effect(a, b).mean == 3.0
    assert paired_effect(a, b.iloc[1:]) is None
    assert (Replications.of(a).effect - Replications.of(b).effect).n == 2


def test_the_slope_of_a_power_law_is_its_exponent():
    xs = [1.0, 2.0, 8.0, 100.0]
    assert exponent(xs, exact(3 * x**-0.5 for x in xs)).mean == pytest.approx(-0.5)


def test_what_adds_in_squares_is_measured_without_the_noise():
    xs, noise = [0.0, 1.0, 2.0, 4.0], 0.3
    effects = exact(np.hypot(noise, 0.1 * x) for x in xs)
    assert exponent(xs, effects, above_zero=True).mean == pytest.approx(1.0)


def test_a_slope_carries_the_errors_of_its_means():
    xs = [1.0, np.e]
    found = exponent(xs, [Effect(1.0, 0.1, 10), Effect(1.0, 0.1, 10)])
    assert found.mean == pytest.approx(0.0)
    assert found.se == pytest.approx(0.1 * np.sqrt(2))


def test_a_slope_above_a_base_carries_the_errors_of_score_and_base():
    base = Effect(3.0, 0.2, 9)
    effects = [base, Effect(5.0, 0.1, 9), Effect(5.0, 0.1, 8)]
    found = exponent([0.0, 1.0, np.e], effects, above_zero=True)
    assert exponent([1.0, np.e], effects[1:], above_zero=True) is None
    of_log = np.hypot(5.0 * 0.1, 3.0 * 0.2) / 4.0 / 4.0  # of the log of sqrt(25 - 9)
    assert found == Effect(pytest.approx(0.0), pytest.approx(of_log * np.sqrt(2)), 8)


def test_one_replication_has_no_interval_and_none_of_it_is_shown():
    once = Effect(2.0, float("inf"), 1)
    middle = slope([0.0, 1.0, 2.0], [Effect(1.0, 0.1, 9), once, Effect(3.0, 0.1, 9)])
    assert (middle.n, middle.above().answer) == (9, "yes")  # the value in the middle has no weight
    assert share_effect(1, 1, 0.5).half_width == float("inf")
    told = {"kind": "slopes", "metric": "error"}
    told["rows"] = [{"row": "points", "along": "n", "exponent": -0.5}]
    line = [cell(label="A", metric="error", setting_n=n, mean=n**-0.5) for n in (1, 4)]
    shown = pd.DataFrame([{**c, "n": 1, "se": np.nan} for c in line])
    assert condense(shown, told)[-1][2] == "-0.50"


def test_the_knee_is_where_half_of_the_way_is_done():
    xs = [0.0, 0.5, 1.0, 2.0, 4.0]
    assert np.exp(knee(xs, exact(min(x, 1.0) for x in xs)).mean) == pytest.approx(0.5)
    assert knee(xs, exact([1.0] * 5)) is None
    rising = [Effect(0.0, 0.1, 9), Effect(1.0, 0.2, 8), Effect(2.0, 0.3, 9)]
    of_score = np.sqrt(0.2**2 + (0.1**2 + 0.3**2) / 4)  # beside that of half of the way
    found = knee([0.0, 2.0, 4.0], rising)  # rises by a half for each x
    assert found == Effect(pytest.approx(np.log(2)), pytest.approx(of_score / 0.5 / 2), 8)


def test_a_federation_is_told_by_gain_harm_and_worst_decile():
    found = federation_gain([0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.2, 0.5])
    assert found["gain"] == pytest.approx(0.025)
    assert found["harmed"] == 0.25
    assert federation_gain([0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.2, 0.5], 0.2)["harmed"] == 0.0
    assert found["worst_decile"] == pytest.approx(np.quantile([0.1, 0, -0.1, 0.1], 0.1))
    with pytest.raises(DataError, match="one a client"):
        federation_gain([0.1], [0.1, 0.2])
    with pytest.raises(DataError, match="Errors hold NaN"):
        federation_gain([0.1, np.nan], [0.1, 0.2])


@pytest.mark.parametrize(
    ("together", "taken"),
    [
        ([0.10, 0.11, 0.10, 0.11], "A"),
        ([0.300, 0.301, 0.300, 0.301], "no exchange"),
        ([0.298, 0.298, 0.299, 0.299], "no exchange"),  # a gain, but of a fifth of a point
        ([0.292, 0.292, 0.293, 0.293], "no exchange"),  # below a point
        ([0.10, 0.60, 0.10, 0.40], "undecided"),
    ],
)
def test_a_method_is_advised_only_where_it_beats_the_best_fit_alone(together, taken):
    alone = [0.300, 0.300, 0.301, 0.301]
    cells = pd.DataFrame(
        [
            scored("A", "error", together),
            scored("A", "alone", [0.5, 0.5, 0.5, 0.51]),
            scored("B", "error", [0.7, 0.7, 0.7, 0.71]),
            scored("B", "alone", alone),
            scored("A", "harmed", [0.0, 0.0, 0.0, 0.0]),
        ]
    )
    said = condensed(cells, ADVICE)
    assert said["take"] == taken
    assert said["best fit alone"] == "B"


def test_methods_that_the_test_does_not_tell_from_the_best_are_named():
    cells = pd.DataFrame(
        [
            scored("A", "error", [0.10, 0.11, 0.10, 0.11]),
            scored("B", "error", [0.70, 0.70, 0.70, 0.71]),
            scored("B", "alone", [0.300, 0.300, 0.301, 0.301]),
            scored("C", "error", [0.11, 0.10, 0.11, 0.11]),
            scored("D", "error", [0.11, 0.11, 0.10], n=3, replications=[0, 1, 2]),  # too few
        ]
    )
    said = condensed(cells, ADVICE)
    assert (said["take"], said["not distinguished"]) == ("A", "C")
    assert said["gain over the best fit alone"].endswith(" ± 1.7")  # in points


def test_a_condition_is_met_where_every_replication_meets_it():
    told = {"kind": "slopes", "metric": "error"}
    told["rows"] = [{"row": "points", "along": "n", "exponent": -0.5, "condition": "holds"}]
    rows = [
        cell(metric=metric, setting_n=n, setting=f"n{n}", mean=mean, se=0.1)
        for n, held in ((1, 0.5), (4, 1.0))
        for metric, mean in (("error", n**-0.5), ("holds", held))
    ]
    said = condensed(pd.DataFrame(rows), told)
    assert said["conditions met (constants 1)"] == "1 of 2"
    # A condition can depend on the method, and holds where it does for all of them.
    other = [
        cell(metric="holds", setting_n=n, setting=f"n{n}", mean=1.0, label="B") for n in (1, 4)
    ]
    said = condensed(pd.DataFrame([*rows, *other]), told)
    assert said["conditions met (constants 1)"] == "1 of 2"


def test_four_times_the_replications_show_less_than_half_the_difference():
    [one] = differences(pd.DataFrame([scored("A", "gain", [0.0, 1.0, 2.0, 3.0])]), "gain")
    [two] = differences(pd.DataFrame([scored("A", "gain", [0.0, 1.0, 2.0, 3.0], n=16)]), "gain")
    # The noncentral t: 3.8 standard errors of five replications, 2.8 of ten thousand.
    assert two.visible < one.visible / 2
    assert Contrast(1.0, 5).visible == pytest.approx(3.761 / 5**0.5, abs=1e-3)
    assert Contrast(1.0, 10_000).visible == pytest.approx(0.0280, abs=1e-4)


def test_a_printed_difference_as_small_as_what_is_visible_needs_the_replications_at_hand():
    values = [0.0, 1.0, 2.0, 3.0]
    first = scored("A", "error", values, printed_mean=1.0)
    cells = pd.DataFrame([first, scored("B", "error", [0.0] * 4, printed_mean=1.1)])
    [found] = contrasts(cells, "lowest")
    cells.loc[1, "printed_mean"] = 1.0 + found.visible
    [again] = contrasts(cells, "lowest")
    assert again.needed == pytest.approx(4, abs=1)
    assert contrasts(cells, "none") == []


@pytest.mark.parametrize(("direction", "printed"), [("lowest", 1.0), ("highest", 2.0)])
def test_a_contrast_is_that_of_the_best_and_the_next_in_the_unit_shown(direction, printed):
    values = {1.0: [0.0] * 4, 2.0: [0.01, 0.03, 0.01, 0.03], 4.0: [0.0] * 4}
    rows = [
        scored(f"{mean}", "error", own, printed_mean=mean, scale=0.01)
        for mean, own in values.items()
    ]
    [found] = contrasts(pd.DataFrame(rows), direction)
    assert found == Contrast(pytest.approx(np.std([1, 3, 1, 3], ddof=1)), 4, printed)


def test_centres_are_equally_far_apart_and_clients_as_far_from_them_as_they_are_told():
    truth = draw_truth(np.random.default_rng(0), 6, 5, 4, 3.0, 0.5, 2, 7.0)
    alike = draw_truth(np.random.default_rng(0), 6, 5, 4, 3.0)
    apart = np.linalg.norm(alike.means[0][:, None] - alike.means[0], axis=-1)
    assert apart[np.triu_indices(4, 1)] == pytest.approx(3.0)
    moved = np.linalg.norm(truth.means[:4] - alike.means[:4], axis=-1)
    assert moved == pytest.approx(0.5)
    assert np.linalg.norm(truth.means[4:] - alike.means[4:], axis=-1).min() > 6.0
    assert truth.n_good == 4


def test_more_components_than_features_cannot_be_equally_far_apart():
    with pytest.raises(ConfigurationError, match="as many features"):
        draw_truth(np.random.default_rng(0), 2, 3, 4, 1.0)


def test_no_more_clients_can_be_contaminated_than_there_are():
    assert draw_truth(np.random.default_rng(0), 2, 3, 2, 1.0, n_contaminated=2).n_good == 0
    with pytest.raises(ConfigurationError, match="n_contaminated to be an integer from 0 to 2"):
        draw_truth(np.random.default_rng(0), 2, 3, 2, 1.0, n_contaminated=3)


def test_points_lie_about_the_means_of_their_components():
    truth = draw_truth(np.random.default_rng(0), 2, 3, 2, 10.0)
    clients, labels = draw_points(np.random.default_rng(1), truth, 4000)
    for k in range(2):
        for r in range(2):
            mean = clients[k][labels[k] == r].mean(axis=0)
            assert mean == pytest.approx(truth.means[k, r], abs=0.1)


def test_theorems_promise_less_the_worse_the_start_and_the_more_clients_are_contaminated():
    assert alignment_conditions(10.0, 0.0, 1.0, 10, 0) == (True, True)
    assert alignment_conditions(5.0, 0.0, 1.0, 10, 0) == (True, False)
    assert alignment_conditions(5.0, 0.0, 1.0, 10, 4) == (False, False)
    assert alignment_conditions(1e9, 0.0, 1.0, 10, 5) == (False, False)
    assert assumption_holds(400, 10, 10, 3, 5.0)
    assert not assumption_holds(20, 10, 10, 3, 5.0)


def test_ratios_and_logarithms_of_zero_are_undefined():
    zero, two = PrintedMean(0.0, 0.1, 10), PrintedMean(2.0, 0.2, 10)
    assert zero.over(two) is two.over(zero) is zero.log() is None
    assert two.over(two).mean == 1.0
    assert two.over(two).log().effect.mean == 0.0
    scores = Replications(np.arange(2), np.array([0.0, 1.0]))
    assert scores.log() is None


@pytest.mark.parametrize("path", sorted(ROOT.glob("config/*/*/claims.yaml")), ids=str)
def test_replications_can_show_and_refute_every_share(path):
    for claim in yaml.safe_load(path.read_text("utf-8")):
        if claim.get("predicate") == "predicted":
            (study,) = path.parent.glob(f"studies/{claim['study']}.yaml")
            n = yaml.safe_load(study.read_text("utf-8"))["replications"]
            for count, answer in ((n, "yes"), (0, "no")):
                found = share_effect(count, n, claim["parameters"]["share"]).above()
                assert found.answer == answer, claim["id"]
