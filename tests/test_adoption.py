"""Evidence outlives changes of the code that change no number, and no others."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedmix.errors import ConfigurationError
from fedmix.experiments import runner
from fedmix.pipeline.evidence import COLUMNS, write_evidence
from fedmix.pipeline.kept_embeddings import embedding_key
from fedmix.pipeline.rerun import adopt, prepare_rerun
from fedmix.pipeline.status import evidence_lines
from fedmix.revision import origin
from fedmix.storage import sha256_of, write_text
from small_run import METHODS, ROOT, STUDY, current, kept, planned, request_in

CONSTANT, CHANGED = "- 0.5 * row[i]", "- 0.500001 * row[i]"

VALUES = dict.fromkeys(COLUMNS, 0) | {
    **{"metric": "m", "status": "ok", "message": ""},
    **{"converged": True, "warm": True, "made": origin(), "round": None},
}


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Return a folder with the evidence of two replications of two methods in one setting."""
    return kept(tmp_path_factory.mktemp("run"))


def changed(work: Path, tmp_path: Path, method: str, factor: float) -> Path:
    """Return a copy of the evidence whose keys are old, and one method's values multiplied."""
    copy = shutil.copytree(work, tmp_path / "copy")
    evidence = request_in(copy).coverage.evidence
    rows = evidence.rows(STUDY)
    rows["key"] = rows["key"].str[:12] + "of other code"
    rows.loc[rows["method"] == method, "value"] *= factor
    write_evidence(evidence.folder, STUDY, rows, evidence.index(STUDY).data)
    return copy


def test_current_evidence_needs_no_check(work):
    [told] = adopt(request_in(work), work)
    assert told == "Nothing to check: no kept replication of the preset has another key."


def test_a_replication_in_the_foreground_gives_what_is_kept(work):
    request = request_in(work)
    place = STUDY, planned(request)[1].folder, "FedEM"
    rows = request.coverage.evidence.rows(STUDY)
    for replication in range(2):
        own = rows[(rows["method"] == "FedEM") & (rows["replication"] == replication)]
        final = own[own["round"].isna()].set_index("metric")["value"].to_dict()
        outcome = prepare_rerun(request, *place, replication, work)()
        assert outcome.metrics == pytest.approx(final, rel=1e-12)
    with pytest.raises(ConfigurationError, match="no replication -1: the first is 0"):
        prepare_rerun(request, *place, -1, work)


def test_equal_numbers_get_the_new_keys_and_a_record(work, tmp_path):
    copy = changed(work, tmp_path, "FedEM", 1.0)
    assert current(copy) == {"LocalEM": 0, "FedEM": 0}

    lines = list(adopt(request_in(copy), copy))

    assert [line.partition(": ")[2] for line in lines] == [
        f"{method} is adopted: 2 of 2 replications run again, equal" for method in METHODS
    ]
    assert current(copy) == {"LocalEM": 2, "FedEM": 2}
    for made in request_in(copy).coverage.evidence.rows(STUDY)["made"].unique():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d at commit \S+", json.loads(made)["checked"])
    records = request_in(copy).coverage.evidence.index(STUDY).adoptions
    assert [(r["method"], r["run_again"], r["largest_difference"]) for r in records] == [
        ("LocalEM", 2, 0.0),
        ("FedEM", 2, 0.0),
    ]


def test_the_last_record_of_a_method_is_kept(work, tmp_path):
    copy = changed(work, tmp_path, "FedEM", 1.0)
    list(adopt(request_in(copy), copy))
    evidence = request_in(copy).coverage.evidence
    rows, first = evidence.rows(STUDY), evidence.index(STUDY).adoptions
    stale = rows.assign(key=rows["key"].str[:12] + "of other code")
    earlier = [{**record, "run_again": 1} for record in first]
    write_evidence(evidence.folder, STUDY, stale, {}, earlier)

    list(adopt(request_in(copy), copy))

    assert request_in(copy).coverage.evidence.index(STUDY).adoptions == first


def test_a_method_with_another_number_stays_stale_and_the_others_are_adopted(work, tmp_path):
    copy = changed(work, tmp_path, "FedEM", 1 + 1e-6)
    lines = list(adopt(request_in(copy), copy))
    assert re.search("LocalEM is adopted", lines[0])
    assert re.search("FedEM is stale: of 2 run again, one differs by 1e-06", lines[1])
    assert current(copy) == {"LocalEM": 2, "FedEM": 0}


def test_the_sample_is_of_the_methods_own_replications(work, tmp_path):
    copy = changed(work, tmp_path, "FedEM", 1.0)
    evidence = request_in(copy).coverage.evidence
    rows = evidence.rows(STUDY)
    rows = rows[(rows["method"] != "FedEM") | (rows["replication"] == 1)]
    write_evidence(evidence.folder, STUDY, rows, {})
    local, federated = adopt(request_in(copy), copy)
    assert local.endswith("LocalEM is adopted: 2 of 2 replications run again, equal")
    assert federated.endswith("FedEM is adopted: 1 of 1 replications run again, equal")


def test_evidence_stays_as_it_is_where_nothing_is_adopted(work, tmp_path):
    copy = changed(work, tmp_path, "FedEM", 1.0)
    evidence = request_in(copy).coverage.evidence
    rows = evidence.rows(STUDY)
    write_evidence(evidence.folder, STUDY, rows.assign(value=rows["value"] + 1.0), {})
    before = {path: path.stat().st_mtime_ns for path in evidence.folder.iterdir()}
    assert all(" is stale: " in line for line in adopt(request_in(copy), copy))
    assert {path: path.stat().st_mtime_ns for path in evidence.folder.iterdir()} == before


def test_a_replication_may_not_take_longer_than_in_a_run(work, tmp_path, monkeypatch):
    # An alarm in a real fit could interrupt coverage while it holds its lock, for good.
    monkeypatch.setattr(runner, "run_replication", lambda *_: time.sleep(60))
    copy = changed(work, tmp_path, "FedEM", 1.0)
    request = request_in(copy)
    request = replace(request, coverage=replace(request.coverage, limit=0.05))
    assert all(
        line.endswith("in its values, status, rounds or floats") for line in adopt(request, copy)
    )


def test_data_are_asked_for_only_where_they_can_be_checked_on(tmp_path):
    request = request_in(tmp_path)
    study = request.studies["fedgrem_real"]
    setting = next(iter(study.settings.values()))
    path = setting.embedded
    values = VALUES | {"setting": setting.folder}
    embedding = setting.dataset, setting.values["embedding"]
    known = embedding_key(*embedding, request.datasets[setting.dataset])

    def told(by: str, keys: dict[str, str]) -> list[str]:
        rows = pd.DataFrame([values | {"method": m, "key": key} for m, key in keys.items()])
        data = {path: {"sha256": "0", "key": by}}
        write_evidence(tmp_path / "evidence", study.name, rows, data)
        return list(adopt(request_in(tmp_path), tmp_path))

    other = {"FedEM": "of other parameters"}
    stale = "fedgrem_real, paper_like: FedEM is stale: parameters have changed, in settings: 1"
    asks = f"fedgrem_real: not checked on {path}, which `snakemake --cores 2 {path}` makes"
    assert told(known, other) == [stale]
    keys = request_in(tmp_path).coverage.keys(study, setting)
    assert told(known, {"LocalEM": keys["LocalEM"][:12] + "other code"} | other) == [asks, stale]
    assert told("of other code", other) == [asks]


def test_data_that_other_code_makes_equal_are_recorded(tmp_path):
    request = request_in(tmp_path)
    study = request.studies["fedgrem_real"]
    setting = next(iter(study.settings.values()))
    path = tmp_path / setting.embedded
    write_text(path, "the same")
    [key] = {made["key"] for made in request.coverage.data_used(study).values()}
    keys = request.coverage.keys(study, setting)
    values = VALUES | {"setting": setting.folder, "method": "FedEM", "key": keys["FedEM"]}
    values["made"] = origin()
    data = {setting.embedded: {"sha256": sha256_of(path), "key": "of other code"}}
    write_evidence(tmp_path / "evidence", study.name, pd.DataFrame([values]), data)
    lines = list(adopt(request_in(tmp_path), tmp_path))
    assert lines == [f"fedgrem_real: embedded data are equal: {setting.embedded}"]
    path.unlink()
    coverage = request_in(tmp_path).coverage
    assert coverage.evidence.index(study.name).data[setting.embedded]["key"] == key
    assert coverage.keys(study, setting) == keys


@pytest.mark.parametrize(("column", "added"), [("floats_up", 1), ("value", np.nan)])
def test_other_floats_and_missing_values_are_told_in_words(work, tmp_path, column, added):
    copy = changed(work, tmp_path, "FedEM", 1.0)
    evidence = request_in(copy).coverage.evidence
    rows = evidence.rows(STUDY)
    rows.loc[rows["method"] == "FedEM", column] += added
    write_evidence(evidence.folder, STUDY, rows, evidence.index(STUDY).data)
    lines = list(adopt(request_in(copy), copy))
    assert lines[1].endswith("one differs in its values, status, rounds or floats")


@pytest.mark.slow
def test_evidence_of_other_parameters_is_stale_though_its_numbers_are_equal(work, tmp_path):
    copy = changed(work, tmp_path, "FedEM", 1.0)
    evidence = request_in(copy).coverage.evidence
    rows = evidence.rows(STUDY)
    rows.loc[rows["method"] == "FedEM", "key"] = "of other parameters"
    write_evidence(evidence.folder, STUDY, rows, evidence.index(STUDY).data)
    [stale, adopted] = adopt(request_in(copy), copy)
    assert "FedEM is stale: parameters have changed, in settings: 1" in stale
    assert "LocalEM is adopted" in adopted


def test_a_changed_constant_of_a_kernel_is_refused(work, tmp_path):
    copy = shutil.copytree(work, tmp_path / "copy")
    source = shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.nb*"))
    kernel = source / "fedmix" / "kernels" / "responsibilities.py"
    text = kernel.read_text()
    assert CONSTANT in text
    kernel.write_text(text.replace(CONSTANT, CHANGED))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "fedmix", "evidence", "adopt", "--workflow", ROOT),
            *("--directory", copy, "--config", "preset=quick", f"evidence={copy / 'evidence'}"),
        ],
        env=os.environ | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "LocalEM is stale" in done.stdout, done.stdout + done.stderr


def with_versions(work: Path, tmp_path: Path, factor: float) -> Path:
    """Return a copy of the evidence as of another NumPy, with one method's values multiplied."""
    copy = shutil.copytree(work, tmp_path / "copy")
    evidence = request_in(copy).coverage.evidence
    rows = evidence.rows(STUDY)
    others = {"numpy": "1.0", "numba": "0.1"}  # the first is told
    rows["made"] = [json.dumps({**json.loads(made), **others}) for made in rows["made"]]
    rows.loc[rows["method"] == "FedEM", "value"] *= factor
    write_evidence(evidence.folder, STUDY, rows, evidence.index(STUDY).data)
    return copy


def status(work: Path) -> str:
    return next(line for line in evidence_lines(request_in(work)) if line.startswith(f"{STUDY}: "))


def test_evidence_of_another_numpy_is_unverified_until_it_is_checked(work, tmp_path):
    copy = with_versions(work, tmp_path, 1.0)
    assert f"4 unverified with the installed numpy {np.__version__}, not 1.0" in status(copy)
    assert [line.partition(": ")[2] for line in adopt(request_in(copy), copy)] == [
        f"{method} is adopted: 2 of 2 replications run again, equal" for method in METHODS
    ]
    assert "unverified" not in status(copy)
    for made in request_in(copy).coverage.evidence.rows(STUDY)["made"].unique():
        assert json.loads(made)["numpy"] == "1.0"  # by which it was made


def test_evidence_that_another_numpy_does_not_give_stays_unverified(work, tmp_path):
    copy = with_versions(work, tmp_path, 1 + 1e-6)
    assert re.search("FedEM is stale", list(adopt(request_in(copy), copy))[1])
    assert "2 unverified" in status(copy)
