"""A claim is explained from the table of claims, with what each source of results answers."""

from pathlib import Path

import pytest

from fedmix.__main__ import main
from fedmix.cells.printed import rows_of
from fedmix.errors import ConfigurationError, DataError
from fedmix.pipeline.judged import explain_claim

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "reproduction"


def asked(*arguments):
    return main(["explain", *arguments, "--workflow", str(ROOT)])


def test_a_claim_is_told_with_its_sentence_verdict_answers_and_remarks():
    said = list(explain_claim(KEPT, "fedgrem-pendigits-lowest"))
    claim = next(c for c in rows_of(KEPT / "claims.csv") if c["id"] == "fedgrem-pendigits-lowest")
    assert said[0] == claim["claim"]
    assert said[1] == f"  the paper: “{claim['quote']}” ({claim['section']})"
    assert said[2].startswith(f"  verdict: {claim['verdict']} (beyond noise")
    [deciding] = [line for line in said if "decides the verdict" in line]
    assert deciding.startswith(f"  {claim['source']}, which decides the verdict (inferred from")
    assert f": yes in {claim['inferred_yes']}; margin " in deciding
    assert "  by chance: it holds in 0% of the shuffles" in said
    remarks = [line for line in said if line.startswith("  remark: ")]
    assert "; ".join(line.removeprefix("  remark: ") for line in remarks) == claim["remarks"]
    assert all(line.removeprefix("  remark: ")[0].isupper() for line in remarks)


@pytest.mark.parametrize("claim", rows_of(KEPT / "claims.csv"), ids=lambda claim: claim["id"])
def test_every_kept_claim_can_be_explained(claim):
    said = "\n".join(explain_claim(KEPT, claim["id"]))
    assert f"verdict: {claim['verdict']} (" in said
    assert ("decides the verdict" in said) == bool(claim["source"])


def test_an_unknown_claim_and_a_folder_without_claims_are_told(tmp_path):
    with pytest.raises(ConfigurationError, match="Did you mean 'two-phase-beats-ifca'"):
        list(explain_claim(KEPT, "two-phase-beats-ifka"))
    with pytest.raises(DataError, match="with --kept, explain shows the kept results"):
        list(explain_claim(tmp_path, "two-phase-beats-ifca"))


def test_of_two_reasons_for_inconclusive_the_one_that_applies_is_told():
    for claim in rows_of(KEPT / "claims.csv"):
        if claim["verdict"] == "inconclusive":
            verdict = list(explain_claim(KEPT, claim["id"]))[2]
            refutes_nothing = "A no does not refute the claim" in claim["remarks"]
            assert ("a no that cannot refute it" in verdict) == refutes_nothing
            assert ("unclear in at least half" in verdict) != refutes_nothing


def test_an_unknown_claim_without_a_similar_one_is_told_in_plain_sentences():
    with pytest.raises(ConfigurationError, match=r"There is no claim 'xyz'\. /"):
        list(explain_claim(KEPT, "xyz"))


def test_the_advice_to_run_the_audit_has_the_preset(tmp_path, capsys):
    own = "--config", "preset=smoke", "--directory", str(tmp_path)
    assert asked("two-phase-beats-ifca", *own) == 1
    assert "`snakemake --cores 2 audit --config preset=smoke` makes it" in capsys.readouterr().err


def test_the_command_takes_a_claim_or_a_table_with_its_row_and_column(capsys):
    assert asked("two-phase-beats-ifca", "--kept") == 0
    assert "which decides the verdict" in capsys.readouterr().out
    for given, got in ((["fedgrem_table1"], "no row"), (["fedgrem_table1", "0 %"], "'0 %'")):
        assert asked(*given, "--kept") == 1
        said = f"expected a table, a row and a column, got fedgrem_table1 and {got}."
        assert said in capsys.readouterr().err
