"""Known truths come out of the whole path as what they are."""

import pytest

from fedmix.cells import calibration
from fedmix.views.calibration import calibration_page, goals


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "DESIGNS", ((100, 100),))
        return calibration.calibrate(exact=2, others=1)


@pytest.mark.slow
def test_every_truth_has_its_shares(found):
    numbers, claims = found
    assert list(numbers["truth"]) == [truth.name for truth in calibration.TRUTHS]
    assert list(numbers["n"]) == [40, 20, 20, 20, 20, 8, 4]
    assert list(claims["truth"]) == list(calibration.CLAIMS)
    for shares in found:
        assert shares.iloc[:, 3:].sum(axis=1).tolist() == pytest.approx([1.0] * len(shares))


@pytest.mark.slow
def test_what_is_true_agrees_and_what_is_false_differs(found):
    numbers, claims = (part.set_index("truth") for part in found)
    agreeing = numbers["agrees"] + numbers["agrees closely"]
    assert agreeing["exact replication"] > 0.7
    assert numbers.loc["two columns swapped", "differs"] == 1
    assert numbers.loc["shifted by one sd", "differs"] > 0.9
    assert numbers.loc["a third of the spread", "agrees in mean only"] > 0.9
    assert claims.loc["true: A is lowest", "holds"] == 1
    assert claims.loc["false: D is below A", "reversed"] == 1
    assert claims.loc["false in one setting: D is below E", "mixed"] == 1
    assert claims.loc["false by nothing: B is below C", "holds"] == 0


@pytest.mark.slow
def test_the_page_has_the_goals_beside_what_was_found(found, tmp_path):
    page, figure = calibration_page(*found, tmp_path / "calibration")
    text = page.read_text(encoding="utf-8")
    assert goals(*found) in text
    assert "of 40 values (goal: under 5 %)" in text
    assert "| two columns swapped | 8 |" in text
    assert "calibration.svg" in text
    assert figure.read_text(encoding="utf-8").lstrip().startswith("<!DOCTYPE svg")
