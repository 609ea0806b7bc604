"""Archives: a run's evidence in one file, described as a Workflow Run RO-Crate.

The archive is a zip with ``evidence/<study>.parquet`` of every study, which ``python -m fedmix
evidence add`` reads, and the documents of :data:`DOCUMENTS`. Its metadata name the workflow, its
data with their licences, and the results that each table and figure is made from: RO-Crate 1.1,
https://w3id.org/ro/crate/1.1, with the profile of workflow runs 0.5,
https://w3id.org/ro/wfrun/workflow/0.5.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fedmix.errors import DataError
from fedmix.pipeline.evidence import COLUMNS, TIMINGS, empty, write_evidence
from fedmix.pipeline.plan import Study, setting_folder
from fedmix.pipeline.request import Request
from fedmix.storage import atomic_path, concatenate

if TYPE_CHECKING:
    import pandas as pd
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

_EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip's earliest time: bytes do not depend on the clock
_RUN = ["variant", "setting", "method", "replication"]
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


def evidence_files(request: Request, workdir: Path) -> dict[str, bytes]:
    """Return the collected results of a request as files of evidence, by name in the archive.

    A study without results has none. Snakemake works in ``workdir``.

    Raises
    ------
    DataError
        If the results of a study were not collected, or if no study has any.
    """
    with TemporaryDirectory() as folder:
        for study in request.studies.values():
            rows = collected_rows(request, study, workdir)
            if len(rows):
                data = request.coverage.data_used(study)
                adoptions = request.coverage.evidence.index(study.name).adoptions
                write_evidence(Path(folder), study.name, rows, data, adoptions)
        files = {f"evidence/{path.name}": path.read_bytes() for path in Path(folder).iterdir()}
    if not files:
        raise DataError("No method has run yet, so there is nothing to archive.")
    return dict(sorted(files.items()))


def write_zip(path: str | os.PathLike, files: Mapping[str, bytes]) -> None:
    """Write files to a zip by name; equal files give equal bytes."""
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as bundle:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            bundle.writestr(entry, content, compress_type=zipfile.ZIP_DEFLATED)


def collected_rows(request: Request, study: Study, workdir: Path) -> pd.DataFrame:
    """Return the collected results of a study as rows of evidence."""
    folders = [workdir / request.folder_of(part) for part in request.parts_in(study.name)]
    results_in, timings_in = (
        [folder / f"{kind}.parquet" for folder in folders] for kind in ("results", "timings")
    )
    for path in (*results_in, *timings_in):
        if not path.is_file():
            raise DataError(f"{path} does not exist, so it cannot be archived.")
    results, timings = concatenate(results_in), concatenate(timings_in)
    if results.empty:
        return empty()
    rows = results.merge(timings[[*_RUN, *TIMINGS]], on=_RUN)
    rows["setting"] = list(map(setting_folder, rows["variant"], rows["setting"]))
    keys = {key: request.coverage.keys(study, own) for key, own in study.settings.items()}
    places = zip(rows["setting"], rows["method"], strict=True)
    rows["key"] = [keys[setting][method] for setting, method in places]
    return rows[list(COLUMNS)]


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
