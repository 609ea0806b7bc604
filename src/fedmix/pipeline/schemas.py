"""Models of the configuration's files, from which ``workflow/schemas`` is made."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, create_model, field_validator, model_validator

from fedmix.declarations import Count, Declared, Names, Positive, Template, Unique
from fedmix.pipeline.plan import RUNTIME

#: The key for the variants of a study that a preset runs; without it, all of them run.
ONLY = "only_variants"
Condition = dict[str, Any] | Annotated[list[dict[str, Any]], Field(min_length=1)]
Values = Annotated[list[Any], Field(min_length=1, json_schema_extra={"uniqueItems": True}), Unique]


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
        description="A folder with your own methods, relative to where Snakemake works or to the "
        "repository. FEDMIX_PLUGINS does the same."
    )
    papers: Names | None = Field(
        min_length=1,
        description="Papers that `all`, its audit and its pages show, by their folders in "
        "config/papers and config/beyond; without it, all but those on request.",
    )
    replications: Count | None = Field(
        description="Replications of every study, instead of the preset's numbers or rule."
    )
    block: Count | None = Field(
        description="Replications per job; by default sized with config/costs.csv to last minutes."
    )
    replication_timeout: Positive | None = Field(
        description="Seconds one replication of one method may take before it counts as timed out."
    )
    download_timeout: float = Field(
        gt=0, description="Seconds a server may stay silent before the next source is tried."
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

    @field_validator("papers", "methods", "metrics", mode="before")
    @classmethod
    def _in_brackets(cls, names: Any) -> Any:
        if isinstance(names, str):
            raise ValueError(f"expected a list of names, got {names!r}. Write [{names}].")
        return names

    @field_validator("evidence", mode="before")
    @classmethod
    def _folder_or_false(cls, folder: Any) -> Any:
        if folder is True:
            raise ValueError(
                "expected a folder or false, got true. By default it is used: leave it out."
            )
        return folder

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


class MethodEntry(Declared):
    """A method in `config/methods.yaml`, by its name."""

    estimator: str = Field(description="A class registered in fedmix.methods.")
    label: str = Field(description="The name in tables and figures, as the paper prints it.")
    parameters: dict[str, Any] = Field(
        {}, description="Parameters of the constructor that differ from its defaults."
    )
    paper: str = Field(
        "", pattern="^https://", description="The address of its paper, to which the page links."
    )


class SettingsEntry(Declared):
    """Settings with fixed values and with values that are swept."""

    model_config = ConfigDict(extra="allow")

    grid: dict[str, Values] = Field(
        {},
        min_length=1,
        description="Lists that are swept: a setting for every combination of their values.",
    )

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("expected values, got none")
        return self


Settings = Annotated[list[SettingsEntry], Field(min_length=1)]


class Variant(Declared):
    """The changes of a variant of a study."""

    role: Literal["authors", "inferred", "written", "searched", "fair", "diagnostic"] = Field(
        "diagnostic",
        description="The way of running the experiment: as the authors' program ran it, inferred "
        "from the published values, as the text says, the protocol that a search chose, or with "
        "errors corrected and strong baselines. A study has at most one variant of each. A "
        "diagnostic variant shows the effect of one switch, and decides no verdict.",
    )
    replications: Count | None = Field(
        None, description="Fewer than the study's, for a variant that needs fewer."
    )
    only: list[str] = Field(
        [], min_length=1, description="The methods that run in this variant; by default all."
    )
    constants: dict[str, Any] = Field({}, description="Values that all its settings share.")
    settings: Settings = Field([], description="Replaces the study's settings.")
    methods: dict[str, dict[str, Any]] = Field(
        {}, description="Method name -> parameters in this variant."
    )


class ListedMethod(Declared):
    """A method of a study, with its changes to its entry in `config/methods.yaml`."""

    name: str = Field(pattern="^[A-Za-z0-9._-]+$")
    method: str = Field("", description="The entry of config/methods.yaml that this one varies.")
    label: str = ""
    parameters: dict[str, Any] = Field({}, description="Added to those of its entry.")
    replications: Count | None = Field(
        None, description="Fewer than the study's, for a method that takes long."
    )
    where: Condition = Field(
        {},
        description="Values that a setting must have for the method to run there. With several "
        "mappings, one of them must match.",
    )


class StudyFile(Declared):
    """Settings times methods times replications."""

    experiment: str = Field(description="A module of fedmix.experiments.")
    replications: int = Field(ge=1, le=100_000)
    block: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None,
        description="Replications per job. By default a job is sized to last minutes, from "
        "config/costs.csv.",
    )
    constants: dict[str, Any] = Field({}, description="Values that all settings share.")
    settings: Settings = Field(description="The study's settings; a grid gives several.")
    setting_id: Template = Field(
        description="A format string with settings' values, short and safe in a path."
    )
    variants: dict[str, Variant] = Field(
        {}, min_length=1, description="Variant name -> what it changes."
    )
    methods: Literal["registered"] | Annotated[list[str | ListedMethod], Field(min_length=1)] = (
        Field(
            description='The methods to run, or "registered": every method of fedmix.methods that '
            "can label the points of Gaussian data."
        )
    )

    @field_validator("methods", mode="before")
    @classmethod
    def _listed(cls, methods: Any) -> Any:
        if isinstance(methods, str) and methods != "registered":
            raise ValueError(f"expected a list such as [{methods}], or registered, got {methods!r}")
        return methods


class ReplicationRule(Declared):
    """When a setting has enough replications."""

    steps: list[Count] = Field(
        min_length=1,
        description="Numbers of replications after which the precision is looked at. The last step "
        "of a study is its own number, whatever the precision.",
    )
    precision: float = Field(
        gt=0,
        description="The half-width of the 90 % interval of our mean, in published standard "
        "deviations, at which a setting needs no more replications.",
    )
    other_variants: Count = Field(
        description="The most replications of a variant that does not count for the paper's tables."
    )

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if any(a >= b for a, b in pairwise(self.steps)):
            raise ValueError(f"steps: expected rising numbers, got {self.steps}")
        return self


_FIELDS = {
    name: (Annotated[field.rebuild_annotation(), Field(description=field.description)], None)
    for name, field in StudyFile.model_fields.items()
}
_ONLY = Annotated[Names, Field(description="The variants to run; all of them by default.")]
#: A preset's changes of a study: any of its keys.
StudyChange = create_model(
    "StudyChange",
    __base__=Declared,
    __doc__="Keys of a study's file to change.",
    **{**_FIELDS, ONLY: (_ONLY, None)},  # type: ignore[call-overload]
)


class PresetFile(Declared):
    """The studies to run, and their changes."""

    studies: Literal["all"] | dict[str, StudyChange] = Field(  # type: ignore[valid-type]
        {},
        description="Study name -> keys to change in its file (an empty mapping changes nothing); "
        'or "all" for every study at its published size.',
    )
    on_request: Names = Field(
        [],
        description="Folders of studies that `all`, its audit and its pages leave out. They run if "
        "a target names them, such as `snakemake --cores 2 beyond`.",
    )
    replications: ReplicationRule | None = Field(
        None,
        description="When a setting has enough replications; by default at its study's number.",
    )
    items: dict[str, dict[str, Any]] = Field(
        {},
        description="Item name -> keys to change, e.g. the stand-in data set that a table shows.",
    )

    @field_validator("studies", mode="before")
    @classmethod
    def _by_name(cls, studies: Any) -> Any:
        if isinstance(studies, list) or (isinstance(studies, str) and studies != "all"):
            raise ValueError(f"expected studies with their changes, or all, got {studies!r}")
        return studies
