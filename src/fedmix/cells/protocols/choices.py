"""One choice that a paper leaves open: values by name, and ranges of numbers.

A protocol says its choice in one text: a value's name, or a number and then the name of a range, as
in "3 sqrt(n) spreads".
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from fedmix.declarations import Declared, Named
from fedmix.errors import ConfigurationError, nearest_names

PARTS = 4  # of a range, where its numbers are compared as categories


class Value(Declared):
    """One value of a choice, or a range of numbers, with a weight that says how natural it is."""

    name: SkipJsonSchema[str]
    given: Any = Field(None, alias="value", description="The value itself; the name by default.")
    between: list[float] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="The least and the largest number of a range. In a protocol the number stands "
        "before the name.",
    )
    log: bool = Field(False, description="Whether the range has a logarithmic scale.")
    units: list[str] = Field(
        [],
        min_length=1,
        description="Units of the experiment that multiply the number.",
    )
    weight: float = Field(gt=0, description="How natural the value is.")
    natural: bool = Field(
        True, description="Whether it is one that most people would choose without a reason."
    )
    reported: bool = Field(
        False,
        description="Whether the paper reports it, so that the choice's other values are not.",
    )

    @model_validator(mode="after")
    def _is_a_range_or_a_value(self) -> Self:
        if self.between and (
            "given" in self.model_fields_set or self.between[0] >= self.between[1]
        ):
            raise ValueError("a range has no value, and ends above its start")
        if self.log and not (self.between and self.between[0] > 0):
            raise ValueError("log needs a range (between) of positive numbers")
        return self

    @property
    def examples(self) -> list[Any]:
        """The value, or both ends of the range."""
        if self.between:
            return [self._in_units(end) for end in self.between]
        return [self._in_units(self.given if "given" in self.model_fields_set else self.name)]

    def text(self, share: float) -> str:
        """Return what a protocol says: the name, after the number at a share of the range."""
        return f"{self._number(share):.3g} {self.name}" if self.between else self.name

    def is_meant(self, text: str) -> bool:
        """Return whether a protocol's text means this value, or a number of this range."""
        return text.partition(" ")[2] == self.name if self.between else text == self.name

    def value(self, text: str) -> Any:
        """Return the value that a protocol's text means, with its units if it has any."""
        return self._in_units(float(text.partition(" ")[0])) if self.between else self.examples[0]

    @property
    def categories(self) -> list[str]:
        """The name, or the names of the range's parts."""
        if not self.between:
            return [self.name]
        ends = [float(f"{self._number(i / PARTS):.2g}") for i in range(PARTS + 1)]
        return [f"{a:g} to {b:g} {self.name}" for a, b in pairwise(ends)]

    def category(self, text: str) -> str:
        """Return the category of a protocol's text."""
        if not self.between:
            return self.name
        number = float(text.partition(" ")[0])
        part = sum(number >= self._number(i / PARTS) for i in range(1, PARTS))
        return self.categories[part]

    def _number(self, share: float) -> float:
        low, high = self.between or (0.0, 0.0)
        return low * (high / low) ** share if self.log else low + (high - low) * share

    def _in_units(self, value: Any) -> Any:
        return {"value": value, "units": self.units} if self.units else value


class Choice(Declared):
    """One choice that the paper leaves open: a value of the setting, or parameters of methods."""

    name: SkipJsonSchema[str]
    silent: str = Field(description="Where the paper is silent or vague.")
    by_name: Annotated[dict[str, Value], Named] = Field(alias="values", min_length=1)
    setting: str = Field("", description="The value of the setting that the choice fills in.")
    methods: dict[str, str] = Field(
        {},
        description="Method, or the entry that methods vary -> the parameter that the choice fills "
        "in.",
    )
    tables: list[str] | None = Field(
        None, description="The tables that depend on the choice; all by default."
    )
    drawn_apart: bool = Field(
        False,
        description="Whether it has a random stream of its own. Adding it to a search then leaves "
        "the other choices of drawn protocols as they were.",
    )

    @model_validator(mode="after")
    def _fills_one(self) -> Self:
        if bool(self.setting) == bool(self.methods):
            raise ValueError("expected either setting or methods: what the choice fills")
        return self

    @property
    def values(self) -> list[Value]:
        """The values, in the order of the file."""
        return list(self.by_name.values())

    @property
    def categories(self) -> list[str]:
        """The values' names, with the parts of a range."""
        return [name for value in self.values for name in value.categories]

    def concerns(self, *tables: str) -> bool:
        """Return whether one of some tables depends on the choice."""
        return self.tables is None or not set(tables).isdisjoint(self.tables)

    def meant(self, text: str) -> Value:
        """Return the value that a protocol's text means.

        It is an error if it means none, because the space was changed after the protocol was kept.
        """
        for value in self.values:
            if value.is_meant(text):
                return value
        hint = nearest_names(text, self.by_name)
        raise ConfigurationError(f"choice {self.name}: no value is meant by {text!r}. {hint}")

    def tried(self, text: str) -> str | float:
        """Return the optimiser's parameter for a protocol's text: a name, or a number of a range.

        The optimiser does not try single values beside a range, so they are an error.
        """
        if self.meant(text).between:
            return float(text.partition(" ")[0])
        if any(value.between for value in self.values):
            raise ConfigurationError(
                f"choice {self.name}: the optimiser does not try {text!r}. Give a number of the "
                'range, such as "3 spreads"'
            )
        return text

    def draw(self, share: float) -> str:
        """Return a protocol's text at a share, in [0, 1), of the summed weights."""
        left = share * sum(value.weight for value in self.values)
        for value in self.values:
            if left < value.weight:
                break
            left -= value.weight
        return value.text(min(left / value.weight, 1.0))
