"""What the files of studies, and ``config/methods.yaml``, may say."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from fedmix.declarations import Declared, Template, Unique

Replications = Annotated[int, Field(ge=1)]
Condition = dict[str, Any] | Annotated[list[dict[str, Any]], Field(min_length=1)]
Values = Annotated[list[Any], Field(min_length=1, json_schema_extra={"uniqueItems": True}), Unique]


class MethodEntry(Declared):
    """A method as `config/methods.yaml` has it, by its name."""

    estimator: str = Field(description="A class registered in fedmix.methods.")
    label: str = Field(description="The name in tables and figures, as the paper prints it.")
    parameters: dict[str, Any] = Field(
        {}, description="Parameters of the constructor that differ from its defaults."
    )


class SettingsEntry(Declared):
    """Values as they stand, and values that are swept."""

    model_config = ConfigDict(extra="allow")

    grid: dict[str, Values] = Field(
        {},
        min_length=1,
        description="Lists that are swept: the entry stands for every combination of their values.",
    )

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("expected values, got none")
        return self


Settings = Annotated[list[SettingsEntry], Field(min_length=1)]


class Variant(Declared):
    """What a variant of a study changes."""

    role: Literal["authors", "written", "nearest", "fair", "diagnostic"] = Field(
        "diagnostic",
        description="Whose way of running the experiment it is: as the authors ran it, what the "
        "text says, the protocol nearest to the published values, or slips mended and strong "
        "baselines. One variant of a study can be each; a diagnostic one only shows what one "
        "switch does, and decides nothing.",
    )
    replications: Replications | None = Field(
        None, description="Fewer than the study's, for a variant that needs fewer."
    )
    only: list[str] = Field(
        [], min_length=1, description="The methods that run in this variant; by default all."
    )
    constants: dict[str, Any] = Field({}, description="Values that all its settings share.")
    settings: Settings = Field([], description="Instead of the study's.")
    methods: dict[str, dict[str, Any]] = Field(
        {}, description="Method name -> parameters in this variant."
    )


class ListedMethod(Declared):
    """A method of a study, with what sets it apart from its entry in `config/methods.yaml`."""

    name: str = Field(pattern="^[A-Za-z0-9._-]+$")
    method: str = Field("", description="The entry of config/methods.yaml that this one varies.")
    label: str = ""
    parameters: dict[str, Any] = Field({}, description="Besides those of its entry.")
    replications: Replications | None = Field(
        None, description="Fewer than the study's, for a method that takes long."
    )
    where: Condition = Field(
        {},
        description="Values that a setting must have for the method to run there; of several "
        "mappings, the values of one of them.",
    )


class StudyFile(Declared):
    """Settings times methods times replications."""

    experiment: str = Field(description="A module of fedmix.experiments.")
    replications: int = Field(ge=1, le=100_000)
    block: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None,
        description="Replications a job. Without it, a job is cut to last minutes, by "
        "config/costs.csv.",
    )
    constants: dict[str, Any] = Field({}, description="Values that all settings share.")
    settings: Settings = Field(description="The study's settings, some by a grid of values.")
    setting_id: Template = Field(
        description="A format string of the settings' values, short and safe in a path."
    )
    variants: dict[str, Variant] = Field({}, description="Variant name -> what it changes.")
    methods: Literal["registered"] | Annotated[list[str | ListedMethod], Field(min_length=1)] = (
        Field(
            description='The methods to run, or "registered": every method of fedmix.methods that '
            "can label the points of Gaussian data."
        )
    )
