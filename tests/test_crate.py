"""An archive is a Workflow Run RO-Crate, by the validator of those who made the profile."""

import json
import zipfile
from pathlib import Path

import pytest
import requests

from fedmix.pipeline.archive import DOCUMENTS, METADATA, describe_crate, write_zip

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
RESULT = "evidence/study.parquet"
# The part of RO-Crate 1.1's context that is used; the whole lies on a server.
SCHEMA_ORG = [
    "about", "citation", "CreateAction", "CreativeWork", "ComputerLanguage", "Dataset",
    "datePublished", "description", "encodingFormat", "endTime", "hasPart", "identifier",
    "instrument", "isBasedOn", "license", "mainEntity", "mentions", "name", "object",
    "programmingLanguage", "result", "SoftwareSourceCode", "url", "version",
]  # fmt: skip
CONTEXT = {
    "@context": {
        **{term: f"http://schema.org/{term}" for term in SCHEMA_ORG},
        "File": "http://schema.org/MediaObject",
        "conformsTo": "http://purl.org/dc/terms/conformsTo",
        "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    }
}


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
        "ended": "2026-01-02T03:04:05+00:00",
    }
    return describe_crate(**(values | changes))


@pytest.fixture
def made(tmp_path):
    files = {name: (ROOT / path).read_bytes() for name, path in DOCUMENTS.items()}
    files |= {METADATA: json.dumps(described()).encode(), RESULT: b"numbers"}
    write_zip(tmp_path / "archive.zip", files)
    return tmp_path / "archive.zip"


def served(url):
    """What a server would answer."""
    answer = requests.Response()
    answer.status_code = 200 if url == "https://w3id.org/ro/crate/1.1/context" else 404
    answer.headers["Content-Type"] = "application/ld+json"
    answer._content = json.dumps(CONTEXT).encode()
    return answer


def validate(folder, monkeypatch):
    services = pytest.importorskip("rocrate_validator.services")
    from rocrate_validator.models import Severity
    from rocrate_validator.utils.http import HttpRequester

    monkeypatch.setattr(HttpRequester, "get", lambda self, url, **_: served(url), raising=False)
    outcome = services.validate(
        services.ValidationSettings(
            rocrate_uri=str(folder),
            profile_identifier="workflow-run-crate-0.5",
            requirement_severity=Severity.REQUIRED,
        )
    )
    return [issue.message for issue in outcome.get_issues()]


def test_the_validator_finds_nothing_wrong(made, tmp_path, monkeypatch):
    with zipfile.ZipFile(made) as bundle:
        bundle.extractall(tmp_path / "crate")
    assert validate(tmp_path / "crate", monkeypatch) == []


def test_the_validator_would_find_what_is_wrong(made, tmp_path, monkeypatch):
    with zipfile.ZipFile(made) as bundle:
        bundle.extractall(tmp_path / "crate")
    path = tmp_path / "crate" / METADATA
    metadata = json.loads(path.read_text())
    for entity in metadata["@graph"]:
        entity.pop("license", None)
        entity.pop("instrument", None)
    path.write_text(json.dumps(metadata))
    assert validate(tmp_path / "crate", monkeypatch)


def test_tables_name_their_results_and_data_their_licence():
    entities = {entity["@id"]: entity for entity in described()["@graph"]}
    assert entities["#table1"]["isBasedOn"] == [{"@id": RESULT}]
    assert entities["#data-digits"]["license"] == "CC BY 4.0"
    assert entities["#run"]["object"] == [{"@id": "#data-digits"}]
    assert entities["#run"]["result"] == [{"@id": RESULT}]


def test_metadata_say_the_same_each_time():
    assert described() == described()
