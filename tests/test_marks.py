"""Every verdict has a sign, and a colour that differs from the others."""

from itertools import combinations

import pytest

from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.verdicts import COUNTED, NOT_JUDGED, VERDICTS
from fedmix.views.marks import COLORS, MARKS, SIGNS, as_verb, number_of, tally


def test_every_verdict_has_a_mark():
    assert set(MARKS) == {*VERDICTS, *COUNTED, *CLAIM_VERDICTS}
    assert [verdict for verdict, sign in SIGNS.items() if not sign] == [NOT_JUDGED]


@pytest.mark.parametrize("verdicts", [COUNTED, CLAIM_VERDICTS])
def test_signs_and_colours_tell_verdicts_apart(verdicts):
    assert len({SIGNS[verdict] for verdict in verdicts}) == len(verdicts)
    for one, other in combinations(verdicts, 2):
        first, second = (bytes.fromhex(COLORS[name][1:]) for name in (one, other))
        assert sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) > 50**2, (one, other)


def test_counts_are_told_with_their_verbs():
    assert tally({"agrees": 12, "undecided": 0, "differs": 1}) == "12 agree, 1 differs"
    assert tally({"agrees": 0}) == "–"
    assert as_verb("holds", 0) == "hold"
    assert [number_of(n, "replication") for n in (1, 20)] == ["1 replication", "20 replications"]


def test_values_of_unknown_protocols_are_counted_together():
    counts = {"agrees": 1, "protocol unknown: near": 5, "protocol unknown: not near": 2}
    assert tally(counts) == "1 agrees; protocol unknown: 5 near, 2 not near"
    assert tally({"protocol unknown: near": 5}) == "protocol unknown: 5 near"
