"""Searches for protocols, checked against what their experiment and its methods take."""

from __future__ import annotations

from collections.abc import Iterator

from fedmix.cells.protocols.space import Space
from fedmix.configuration import Document
from fedmix.declarations import problems
from fedmix.experiments.settings import declared, units_of
from fedmix.pipeline.checking.studies import parameter_value_errors


def search_errors(space: Space, document: Document) -> Iterator[str]:
    """Yield values that a search fills in and that nothing takes.

    Parameters
    ----------
    space : Space
        What the document declares, for one preset.
    document : Document
        The search's file with what the preset changes.
    """
    yield from _parameter_errors(space, document)
    yield from _setting_errors(space, document)


def _parameter_errors(space: Space, document: Document) -> Iterator[str]:
    """Yield wrong parameters of methods, their own and those that choices fill."""
    units = units_of(space.experiment)
    for name, column in space.methods.items():
        for key, value in column.parameters.items():
            place = document.place("methods", name, "parameters", key)
            yield from parameter_value_errors(place, column.estimator, key, value, units)
    for name, choice in space.choices.items():
        filled = {(space.methods[m].estimator, p) for m, p in space.filled_by(choice).items()}
        for estimator, parameter in sorted(filled):
            for value in choice.values:
                place = document.place("choices", name, "values", value.name)
                yield from parameter_value_errors(place, estimator, parameter, value.value, units)


def _setting_errors(space: Space, document: Document) -> Iterator[str]:
    """Yield wrong values of a setting, each put into an otherwise plain one."""
    settings, _ = declared(space.experiment)
    for table in space.tables.values():
        choices = [choice for choice in space.choices_of(table.name) if choice.setting]
        plain = {choice.setting: choice.values[0].value for choice in choices}
        plain = {**table.setting, **plain, space.row: table.rows[0]}
        for keys, message in problems(settings, plain):
            yield f"{document.place('tables', table.name, 'setting', *keys)}: {message}"
        for i, row in enumerate(table.rows):
            for keys, message in problems(settings, {**plain, space.row: row}):
                if keys[:1] == (space.row,):
                    yield f"{document.place('tables', table.name, 'rows', i)}: {message}"
        for choice in choices:
            for value in choice.values:
                place = document.place("choices", choice.name, "values", value.name)
                for keys, message in problems(settings, {**plain, choice.setting: value.value}):
                    if keys[:1] == (choice.setting,):
                        yield f"{place}: {message}"
