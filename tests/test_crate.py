"""An archive is a Workflow Run RO-Crate: it describes the run, its data and its results."""

import json
import zipfile
from pathlib import Path

import pytest

from crates import validate
from fedmix.pipeline.keep import DOCUMENTS, METADATA, describe_crate, write_zip

ROOT = Path(__file__).parents[1]
RESULT = "evidence/study.parquet"
ENDED = "2026-01-02T03:04:05+00:00"


def described(**changes):
    values = {
        "results": [RESULT],
        "items": {"table1": {"title": "Table 1", "files": [RESULT]}},
        "datasets": {
            "digits": {
                "title": "Digits",
                "licence": "CC BY 4.0",
                "citation": "Somebody (1998)",
                "homepage": "https://example.org/digits",
            }
        },
        "run": {"Preset": "paper", "Runs": "2"},
        "ended": ENDED,
    }
    return describe_crate(**(values | changes))


@pytest.fixture
def made(tmp_path):
    files = {name: (ROOT / path).read_bytes() for name, path in DOCUMENTS.items()}
    files |= {METADATA: json.dumps(described()).encode(), RESULT: b"numbers"}
    write_zip(tmp_path / "archive.zip", files)
    return tmp_path / "archive.zip"


@pytest.mark.slow
def test_the_validator_finds_nothing_wrong_and_would_find_what_is(made, tmp_path, monkeypatch):
    with zipfile.ZipFile(made) as bundle:
        bundle.extractall(tmp_path / "crate")
    assert validate(tmp_path / "crate", monkeypatch) == []
    path = tmp_path / "crate" / METADATA
    metadata = json.loads(path.read_text())
    for entity in metadata["@graph"]:
        entity.pop("license", None)
        entity.pop("instrument", None)
    path.write_text(json.dumps(metadata))
    assert validate(tmp_path / "crate", monkeypatch)


@pytest.mark.slow
def test_tables_name_their_results_and_data_their_licence():
    entities = {entity["@id"]: entity for entity in described()["@graph"]}
    assert entities["#table1"]["isBasedOn"] == [{"@id": RESULT}]
    assert entities["#data-digits"]["license"] == "CC BY 4.0"
    assert entities["#run"]["object"] == [{"@id": "#data-digits"}]
    assert entities["#run"]["result"] == [{"@id": RESULT}]
    assert entities["#run"]["endTime"] == entities["./"]["datePublished"] == ENDED


@pytest.mark.slow
def test_all_files_of_an_archive_are_described_and_what_is_unknown_is_left_out():
    plain = {"digits": {"title": "Digits", "licence": None}}
    entities = {entity["@id"]: entity for entity in described(datasets=plain)["@graph"]}
    assert entities["#data-digits"] == {
        "@id": "#data-digits",
        "@type": "Dataset",
        "name": "Digits",
    }
    formats = {name: entities[name].get("encodingFormat") for name in (*DOCUMENTS, RESULT)}
    assert formats.pop(RESULT) == "application/vnd.apache.parquet"
    del formats["provenance/Snakefile"]  # is the workflow
    assert set(formats.values()) == {"text/plain"}
    parts = {part["@id"] for part in entities["./"]["hasPart"]}
    assert {*DOCUMENTS, RESULT} <= parts


@pytest.mark.slow
def test_metadata_say_the_same_each_time():
    assert described() == described()
