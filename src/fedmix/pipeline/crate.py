"""The metadata of an archive as a Workflow Run RO-Crate.

They name the workflow, its data with their licences, the collected results, and the results that
each table and figure is made from. RO-Crate 1.1, https://w3id.org/ro/crate/1.1, with the profile of
workflow runs 0.5, https://w3id.org/ro/wfrun/workflow/0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

METADATA = "ro-crate-metadata.json"
#: Files of the repository in an archive: name in the archive -> path.
DOCUMENTS = {
    f"provenance/{path}": path
    for path in ("Snakefile", "environment.yml", "requirements.lock", "LICENSE", "CITATION.cff")
}
_WORKFLOW = "provenance/Snakefile"
_LICENCE = "https://spdx.org/licenses/BSD-3-Clause"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}


def describe_crate(
    results: Sequence[str],
    items: Mapping[str, Mapping[str, Any]],
    datasets: Mapping[str, Mapping[str, Any]],
    run: Mapping[str, str],
    ended: str,
) -> dict[str, Any]:
    """Return the metadata of an archive in JSON-LD.

    Parameters
    ----------
    results : sequence of str
        Names of the evidence in the archive.
    items : mapping of str to mapping
        Table or figure -> its ``title``, and ``files``, the evidence that it is made from.
    datasets : mapping of str to mapping
        Entries of ``config/datasets.yaml`` for the data of the run.
    run : mapping of str to str
        The description of the run.
    ended : str
        The day of its last result, ISO 8601.
    """
    from rocrate.rocrate import ROCrate  # takes over a second, which a plan does not need

    crate = ROCrate(version="1.1")
    crate.name = f"fedmix: results of the preset {run['Preset']}"
    crate.description = "; ".join(f"{name}: {value}" for name, value in run.items())
    crate.datePublished = ended
    crate.license = _about(crate, _LICENCE, "CreativeWork", name="BSD 3-Clause licence")
    crate.root_dataset["conformsTo"] = [
        _about(crate, profile, "CreativeWork", name=name, version=version)
        for profile, (name, version) in _PROFILES.items()
    ]
    workflow = crate.add_workflow(
        dest_path=_WORKFLOW,
        main=True,
        lang="snakemake",
        properties={"name": "fedmix", "license": {"@id": _LICENCE}},
    )
    for name in DOCUMENTS:
        if name != _WORKFLOW:
            _file(crate, name)
    files = {name: _file(crate, name) for name in results}
    used = [_dataset(crate, key, entry) for key, entry in sorted(datasets.items())]
    crate.add_action(
        workflow,
        identifier="#run",
        object=used,
        result=list(files.values()),
        properties={"name": crate.name, "description": crate.description, "endTime": ended},
    )
    crate.root_dataset["mentions"] = [
        {"@id": "#run"},
        *(
            _about(
                crate,
                f"#{name}",
                "CreativeWork",
                name=item["title"],
                isBasedOn=[files[file] for file in item["files"]],
            )
            for name, item in items.items()
        ),
    ]
    return crate.metadata.generate()


def _about(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> ContextEntity:
    """Add an entity that is not a file of the archive."""
    from rocrate.model.contextentity import ContextEntity

    entity = crate.add(ContextEntity(crate, identifier, {"@type": kind}))
    for name, value in properties.items():
        entity[name] = value
    return entity


def _file(crate: ROCrate, name: str) -> Any:
    suffix = name.rpartition(".")[2]
    kind = "application/vnd.apache.parquet" if suffix == "parquet" else "text/plain"
    properties = {"name": name.rpartition("/")[2], "encodingFormat": kind}
    return crate.add_file(dest_path=name, properties=properties)


def _dataset(crate: ROCrate, key: str, entry: Mapping[str, Any]) -> ContextEntity:
    """Add a data set, which is not in the archive: its authors and where to find it."""
    given = {
        "name": entry["title"],
        "license": entry.get("licence"),
        "citation": entry.get("citation"),
        "url": entry.get("homepage"),
    }
    return _about(crate, f"#data-{key}", "Dataset", **{k: v for k, v in given.items() if v})
