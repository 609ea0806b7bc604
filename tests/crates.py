"""Validation of an archive as a Workflow Run RO-Crate, without the network."""

import json

import pytest
import requests

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
