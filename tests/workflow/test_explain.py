"""A number of a table is told from its raw file to the verdict, and every name in it exists."""

import re

import pytest

from fedmix.__main__ import main
from fedmix.storage import sha256_of
from pipeline import COLLECTED

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def told(finished) -> str:
    arguments = ("fedgrem_table1", "0 %", "FedGrEM", "--directory", finished.work)
    return finished.command("explain", *arguments).stdout


def test_the_stages_come_in_the_order_of_the_data(told):
    stages = ["Raw data", "Embedding", "Partition and start", "Method", "Seeds", "Results"]
    stages += ["Published value", "Files"]
    assert re.findall(r"^([A-Z][a-z ]*)$", told, re.M) == stages


def test_checksums_and_files_are_those_on_disk(finished, told):
    raw = "data/raw/digits.npz"
    assert f"{raw}: sha256 {sha256_of(finished.work / raw)}" in told
    cells = COLLECTED.replace("results.parquet", "cells.parquet")
    assert (finished.work / cells).is_file()
    assert cells in told
    files = told.partition("\nFiles\n")[2].split()
    assert len(files) > 20
    for name in files:
        assert (finished.project / name).is_file(), name


def test_the_printed_number_is_told_as_printed_with_its_line(finished, told):
    text, file, line = re.search(r"(\S+ \(\S+\)) in (\S+), line (\d+)", told).groups()
    row = (finished.project / file).read_text().splitlines()[int(line) - 1]
    assert text == "9.62 (1.03)"
    assert row == "1,pendigits,0.0,FedGrEM,9.62,1.03"
    assert "verdict: stand-in" in told


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fedgrem_tabel1", "0 %", "FedGrEM"), "Did you mean 'fedgrem_table1'"),
        (("fedgrem_table1", "1 %", "FedGrEM"), "No cells with row '1 %'"),
        (("fedgrem_table1", "0 %", "FedGrME"), "Did you mean 'FedGrEM'"),
        (("fedgrem_table6", "0 %", "FedGrEM"), "FedGrEM"),
    ],
)
def test_a_wrong_name_is_told_with_the_nearest(finished, capsys, arguments, says):
    places = ["--workflow", str(finished.project), "--directory", str(finished.work)]
    main(["explain", *arguments, *places, "--config", "preset=smoke", "replications=1"])
    told = capsys.readouterr()
    assert says in told.out + told.err
    assert "Traceback" not in told.err
