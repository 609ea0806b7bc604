"""An archive is safe to read, and holds the evidence."""

import io
import os
import shutil
import zipfile
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from fedmix.errors import DataError
from fedmix.pipeline import evidence as store
from fedmix.pipeline.evidence import TIMINGS, Evidence, write_evidence
from fedmix.pipeline.keep import add, evidence_files, write_zip
from fedmix.storage import write_table
from small_run import METHODS, STUDY, current, kept, planned, request_in

MEMBER = f"evidence/{STUDY}.parquet"


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    """Return the file of evidence of two replications of two methods."""
    return (kept(tmp_path_factory.mktemp("run")) / MEMBER).read_bytes()


def altered(content: bytes, tmp_path, change) -> bytes:
    """Return the file with changed rows, as somebody may have written it."""
    rows = pd.read_parquet(io.BytesIO(content))
    change(rows).to_parquet(tmp_path / "altered.parquet", index=False)
    return (tmp_path / "altered.parquet").read_bytes()


def received(tmp_path, files: dict[str, bytes]) -> list[str]:
    """Add an archive in an empty folder, and return what is said."""
    write_zip(tmp_path / "archive.zip", files)
    return list(add(request_in(tmp_path), tmp_path, [tmp_path / "archive.zip"]))


def test_what_comes_out_is_what_went_in(content, tmp_path):
    assert received(tmp_path, {MEMBER: content}) == [f"{STUDY}: 4 replications added"]
    assert (tmp_path / MEMBER).read_bytes() == content
    assert current(tmp_path) == dict.fromkeys(METHODS, 2)


def test_text_that_is_kept_as_categories_gives_the_same_bytes(content, tmp_path):
    repeated = altered(content, tmp_path, lambda rows: rows.astype({"made": "category"}))
    assert received(tmp_path, {MEMBER: repeated}) == [f"{STUDY}: 4 replications added"]
    assert (tmp_path / MEMBER).read_bytes() == content


def test_an_archive_without_replications_is_told(tmp_path):
    [told] = received(tmp_path, {"README.md": b"another archive"})
    assert told == f"{tmp_path / 'archive.zip'}: there are no replications in it."


def test_a_file_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(DataError, match=r"There is no file .*none\.zip\.$"):
        list(add(request_in(tmp_path), tmp_path, [tmp_path / "none.zip"]))


def test_a_file_of_evidence_is_added_like_an_archive(content, tmp_path):
    (tmp_path / f"{STUDY}.parquet").write_bytes(content)
    request = request_in(tmp_path)
    lines = list(add(request, tmp_path, [tmp_path / f"{STUDY}.parquet"]))
    assert lines == [f"{STUDY}: 4 replications added"]


@pytest.mark.parametrize(
    "name",
    [
        "../Snakefile",
        "/tmp/evil.py",
        "evidence/../../evil.py",
        "results/a/b/0-1.parquet",
        "evil.py",
    ],
)
def test_other_members_are_written_nowhere(content, tmp_path, name):
    work = tmp_path / "deep" / "work"
    work.mkdir(parents=True)
    before = {path for path in tmp_path.rglob("*")}
    received(work, {name: b"import os\n", MEMBER: content})
    new = {path.name for path in tmp_path.rglob("*") if path not in before}
    assert new <= {"archive.zip", "evidence", f"{STUDY}.parquet", f"{STUDY}.json"}
    assert not os.path.exists("/tmp/evil.py")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows.drop(columns="key"), "is not evidence: .* key"),
        (lambda rows: rows.assign(extra=1), "is not evidence: .* extra"),
        (lambda rows: rows.assign(value="high"), "column value is of type"),
        (lambda rows: rows.assign(replication=0.5), "column replication is of type"),
        (lambda rows: rows.assign(made=pd.Timestamp(0)), "column made is of type"),
        (lambda rows: rows.assign(metric=[["a"]] * len(rows)), "column metric is of type list"),
    ],
)
def test_a_file_of_another_shape_is_refused(content, tmp_path, change, says):
    with pytest.raises(DataError, match=says):
        received(tmp_path, {MEMBER: altered(content, tmp_path, change)})


def _in_one_fit(column, value, first_row=False):
    """Return a change of a column in replication 1 of FedEM, or in the first row of it."""

    def change(rows):
        own = (rows["method"] == "FedEM") & (rows["replication"] == 1)
        own = rows.index == own.idxmax() if first_row else own
        return rows.assign(**{column: rows[column].mask(own, value)})

    return change


_in_one_row = partial(_in_one_fit, first_row=True)
COUNTS = ("replication", "rounds", "floats_up", "floats_down")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_in_one_row("value", float("nan")), "a value that is not finite"),
        (_in_one_row("value", float("inf")), "a value that is not finite"),
        (_in_one_row("metric", "profit"), "the metric is unknown"),
        (_in_one_row("metric", None), "a text, count or flag is missing"),
        (
            lambda rows: _in_one_fit("rounds", pd.NA)(rows.astype({"rounds": "Int64"})),
            "a text, count or flag is missing",
        ),
        (_in_one_fit("status", "splendid"), "the status is unknown"),
        (_in_one_fit("made", "me"), "the text of what made it is damaged"),
        (_in_one_fit("made", "[]"), "the text of what made it is damaged"),
        (_in_one_fit("status", "error"), "a failed replication has a value"),
        (
            lambda rows: _in_one_fit("status", "error")(_in_one_fit("value", float("nan"))(rows)),
            "a failed replication has a value",
        ),
        *((_in_one_fit(count, -1), "a count is negative") for count in COUNTS),
        (_in_one_fit("seconds", float("inf")), "a time is negative or not finite"),
        (_in_one_fit("seconds", -1.0), "a time is negative or not finite"),
        (_in_one_row("rounds", 99), "its rows disagree"),
        (_in_one_row("status", "error"), "its rows disagree"),
        (
            lambda rows: pd.concat([rows, rows[(rows["method"] == "FedEM") & rows["replication"]]]),
            "a value occurs twice",
        ),
    ],
)
def test_an_unsound_replication_is_left_out_and_the_others_are_used(
    content, tmp_path, change, reason
):
    lines = received(tmp_path, {MEMBER: altered(content, tmp_path, change)})
    assert any("archive.zip" in line and reason in line for line in lines), lines
    assert lines[-1] == f"{STUDY}: 3 replications added"
    assert current(tmp_path) == {"LocalEM": 2, "FedEM": 1}


def test_replications_that_are_unsound_for_different_reasons_are_all_left_out(content, tmp_path):
    def change(rows):
        local = (rows["method"] == "LocalEM") & (rows["replication"] == 0)
        return _in_one_fit("rounds", -1)(rows.assign(memory=rows["memory"].mask(local, -1.0)))

    lines = received(tmp_path, {MEMBER: altered(content, tmp_path, change)})
    assert [": 1 replications left out, because" in line for line in lines] == [True, True, False]
    assert current(tmp_path) == {"LocalEM": 1, "FedEM": 1}


@pytest.mark.parametrize(
    "change",
    [
        _in_one_fit("key", "of other code"),
        _in_one_fit("setting", "unknown"),
        _in_one_fit("method", "Unknown"),
    ],
)
def test_what_is_not_planned_is_left_out(content, tmp_path, change):
    [line] = received(tmp_path, {MEMBER: altered(content, tmp_path, change)})
    assert line == f"{STUDY}: 3 replications added, 1 of other code, data or settings left out"


def test_a_truncated_or_altered_file_is_named(content, tmp_path):
    for end in (0, 10, len(content) // 2, len(content) - 1):
        with pytest.raises(DataError, match=r"parquet"):
            received(tmp_path, {MEMBER: content[:end]})
    middle = len(content) // 4
    with pytest.raises(DataError):
        received(tmp_path, {MEMBER: content[:middle] + b"\0" * 64 + content[middle + 64 :]})


def refused(path):
    with pytest.raises(DataError, match=path.name):
        list(add(request_in(path.parent), path.parent, [path]))


def test_a_truncated_zip_is_named(content, tmp_path):
    write_zip(tmp_path / "archive.zip", {MEMBER: content})
    whole = (tmp_path / "archive.zip").read_bytes()
    (tmp_path / "archive.zip").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / "archive.zip")


@pytest.mark.parametrize(
    ("what", "other"),
    [
        (b"PK\x01\x02", b"PK\x00\x02"),  # the list of members
        (b"PK\x03\x04", b"PK\x03\x05"),  # a member
        (b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"),  # encrypted
    ],
)
def test_a_zip_that_is_damaged_or_encrypted_is_named(content, tmp_path, what, other):
    write_zip(tmp_path / "archive.zip", {MEMBER: content})
    whole = (tmp_path / "archive.zip").read_bytes()
    assert what in whole
    (tmp_path / "archive.zip").write_bytes(whole.replace(what, other))
    refused(tmp_path / "archive.zip")


def test_a_study_that_the_preset_does_not_have_is_left_out_and_named(content, tmp_path):
    [told, added] = received(tmp_path, {MEMBER: content, "evidence/other.parquet": content})
    assert told.endswith("archive.zip: other is left out: the preset has no study of this name.")
    assert added == f"{STUDY}: 4 replications added"


def test_a_missing_file_is_named(tmp_path):
    refused(tmp_path / "none.zip")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("fedmix.pipeline.keep._LARGEST", 1000)
    with pytest.raises(DataError, match="is larger than 1000 bytes"):
        received(tmp_path, {MEMBER: bytes(10_000)})


def test_too_many_rows_are_refused_before_they_are_read(content, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_MOST_ROWS", len(pd.read_parquet(io.BytesIO(content))))
    assert received(tmp_path, {MEMBER: content}) == [f"{STUDY}: 4 replications added"]
    monkeypatch.setattr(store, "_MOST_ROWS", 3)
    with pytest.raises(DataError, match="rows; at most 3 are expected"):
        received(tmp_path, {MEMBER: content})


def test_a_changed_member_is_found_by_its_checksum(content, tmp_path):
    write_zip(tmp_path / "whole.zip", {"evidence/other.parquet": b"x", MEMBER: content})
    damaged = bytearray((tmp_path / "whole.zip").read_bytes())
    damaged[300] ^= 0xFF
    (tmp_path / "archive.zip").write_bytes(damaged)
    refused(tmp_path / "archive.zip")


def test_damaged_evidence_of_the_repository_is_named_and_not_made_again(content, tmp_path):
    rows = pd.read_parquet(io.BytesIO(content))
    write_evidence(tmp_path / "evidence", STUDY, rows, {})
    whole = (tmp_path / MEMBER).read_bytes()
    (tmp_path / MEMBER).write_bytes(whole[:200] + bytes(64) + whole[264:])
    with pytest.raises(DataError, match="is not the index of"):
        Evidence(tmp_path / "evidence").index(STUDY)
    with pytest.raises(DataError, match="It is an original"):
        Evidence(tmp_path / "evidence").rows(STUDY)
    shutil.rmtree(tmp_path / "evidence")


def test_replications_of_an_optional_setting_are_added_without_its_embedding(content, tmp_path):
    (tmp_path / f"{STUDY}.parquet").write_bytes(content)
    request = request_in(tmp_path)
    study, setting = planned(request)
    others = {name: each for name, each in study.settings.items() if each is not setting}
    request = replace(
        request, studies={STUDY: replace(study, settings=others)}, left_out={STUDY: (setting,)}
    )
    lines = list(add(request, tmp_path, [tmp_path / f"{STUDY}.parquet"]))
    assert lines == [f"{STUDY}: 4 replications added"]


def collect(work, rows: pd.DataFrame) -> None:
    """Write the collected results of all studies: rows of one setting, and nothing else."""
    request = request_in(work)
    setting = planned(request)[1]
    own = rows.assign(variant=setting.variant, setting=setting.name)
    for part in request.parts.values():
        shown = own if setting in part.settings else own.iloc[:0]
        fits = shown.drop_duplicates(["method", "replication"])
        folder = work / request.folder_of(part)
        folder.mkdir(parents=True, exist_ok=True)
        write_table(folder / "results.parquet", shown.drop(columns=[*TIMINGS, "key"]))
        write_table(folder / "timings.parquet", fits)


def test_studies_that_have_not_run_are_not_in_an_archive(content, tmp_path):
    collect(tmp_path, pd.read_parquet(io.BytesIO(content)))
    files = evidence_files(request_in(tmp_path), tmp_path)
    assert files.keys() == {MEMBER, MEMBER.replace("parquet", "json")}
    assert received(tmp_path, files) == [f"{STUDY}: 4 replications added"]


def test_an_archive_of_nothing_is_refused(content, tmp_path):
    collect(tmp_path, pd.read_parquet(io.BytesIO(content)).iloc[:0])
    with pytest.raises(DataError, match="No method has run yet"):
        evidence_files(request_in(tmp_path), tmp_path)


def test_results_that_were_not_collected_are_named(content, tmp_path):
    collect(tmp_path, pd.read_parquet(io.BytesIO(content)))
    [lost, *_] = sorted(tmp_path.rglob("timings.parquet"))
    lost.unlink()
    with pytest.raises(DataError, match=r"timings\.parquet does not exist, so it cannot be"):
        evidence_files(request_in(tmp_path), tmp_path)


def test_equal_files_give_equal_archives_that_everybody_can_read(tmp_path):
    files = {"a/b.txt": b"numbers", "c.txt": b""}
    for name in ("one.zip", "other.zip"):
        write_zip(tmp_path / name, files)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "other.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as bundle:
        assert {entry.filename: bundle.read(entry) for entry in bundle.infolist()} == files
        assert {entry.external_attr >> 16 for entry in bundle.infolist()} == {0o100644}
