"""The main options of a run, from config.yaml and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import Field, field_validator

from fedmix.configuration import Document, read_document, validate
from fedmix.declarations import Declared, Keys, Names
from fedmix.pipeline.plan import RUNTIME

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]


class Options(Declared):
    """The main options, to edit or to override with --config key=value."""

    preset: str = Field(
        description="A file of config/presets. quick needs no network; paper has the published "
        "sizes."
    )
    mirror: str | None = Field(
        description="A folder with copies of the raw files, used before the network. "
        "FEDMIX_MIRROR does the same."
    )
    plugins: str | None = Field(
        description="A folder with your own methods, relative to where Snakemake works. "
        "FEDMIX_PLUGINS does the same."
    )
    replications: Count | None = Field(
        description="Replications of every study, instead of the preset's numbers or rule."
    )
    block: Count | None = Field(
        description="Replications per job; by default sized with config/costs.csv to last minutes."
    )
    replication_timeout: Seconds | None = Field(
        description="Seconds one replication of one method may take before it counts as timed out."
    )
    download_timeout: Seconds = Field(
        description="Seconds a server may stay silent before the next source is tried."
    )
    methods: Names | None = Field(
        description="Methods that the matrix compares, in this order; all without it."
    )
    metrics: Names | None = Field(
        description="Metrics in the tables and figures of the matrix, in this order; all "
        "without it."
    )
    partial: bool = Field(
        description="Make tables and figures from finished blocks, with n in every cell."
    )
    evidence: str | Literal[False] = Field(
        description="The folder of kept replications, relative to the repository. They are used "
        "instead of running them again; false runs everything."
    )

    @field_validator("replication_timeout")
    @classmethod
    def _shorter_than_its_job(cls, timeout: float | None) -> float | None:
        if timeout and timeout > RUNTIME * 60:
            raise ValueError(
                f"{timeout:g} s is more than the {RUNTIME} minutes of a job: a replication that "
                "takes this long would end its job at every attempt. Finished replications of a "
                "job that ran out of time are kept."
            )
        return timeout


def read_options(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the top-level configuration, checked.

    Parameters
    ----------
    folder : pathlib.Path
        The ``config`` folder.
    options : mapping
        ``config.yaml`` with the changes of the command line. Snakemake leaves some of them as
        text, such as the ``true`` of ``--config partial=true``.

    Raises
    ------
    ConfigurationError
        With each problem, and whether it is in the file or on the command line.
    """
    file = read_document(folder / "config.yaml", empty={})
    given = {key for key, value in options.items() if value != file.content.get(key)}
    values = {
        key: plain(value) if key in given and not _may_be_text(key) else value
        for key, value in options.items()
    }

    def find(keys: Keys) -> str | None:
        return f"the command line (--config): {keys[0]}" if keys and keys[0] in given else None

    document = Document(values, (find, *file.finders))
    validate(document, Options)
    return values


def _may_be_text(key: str) -> bool:
    field = Options.model_fields.get(key)
    return field is None or str in (field.annotation, *get_args(field.annotation))


def plain(value: Any) -> Any:
    """Return the value of a text from the command line."""
    try:
        return yaml.safe_load(value) if isinstance(value, str) else value
    except yaml.YAMLError:
        return value
