"""Draw protocols that fill the space evenly, keep the nearest, and vary them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np

from fedmix import methods
from fedmix.cells.protocols.score import joint_distance
from fedmix.cells.protocols.space import Choice, Space
from fedmix.configuration import raise_all
from fedmix.errors import nearest_names
from fedmix.experiments.settings import units_of
from fedmix.protocols import settings_of
from fedmix.streams import Streams

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def draw_protocols(space: Space) -> pd.DataFrame:
    """Return the first rung's protocols: a Latin hypercube over the choices.

    Each choice takes its values in proportion to their weights. The protocols are sorted by the
    choices that fill the setting, so that the protocols of a job share data, which take longest to
    make.

    Returns
    -------
    DataFrame
        ``protocol``, its name; ``entered``, the rung in which it entered; and one column per choice
        with the names of its values.

    Raises
    ------
    ConfigurationError
        If a choice fills in a parameter that its method does not have, gives a setting that the
        experiment rejects, or has units that the experiment does not know.
    """
    import pandas as pd
    from scipy.stats import qmc

    raise_all([*_unknown_parameters(space), *_unknown_units(space), *_wrong_settings(space)])
    rng = Streams(space.study, "protocols", 0).generator("design")
    n = space.rungs[0].protocols
    points = qmc.LatinHypercube(len(space.choices), rng=rng).random(n)
    chosen = {
        name: take(choice, points[:, j]) for j, (name, choice) in enumerate(space.choices.items())
    }
    by = [name for name, choice in space.choices.items() if choice.setting]
    design = pd.DataFrame(chosen).sort_values(by, kind="stable", ignore_index=True)
    names = [f"p{i:0{len(str(n - 1))}d}" for i in range(n)]
    design.insert(0, "protocol", names)
    design.insert(1, "entered", "0")
    return design


def vary(space: Space, nearest: pd.DataFrame, rung: int, tables: Sequence[str]) -> pd.DataFrame:
    """Return a rung's variations: protocols near the nearest ones.

    The first rung runs only some rows, and it cannot fill a space this large. A better protocol may
    differ from a near one in only one or two choices.

    Parameters
    ----------
    space : Space
    nearest : DataFrame
        Rows of the design, nearest first. They are varied in this order, and again from the first
        if there are more variations than rows.
    rung : int
        The rung that runs the variations.
    tables : sequence of str
        Only choices that one of these tables depends on are varied.

    Returns
    -------
    DataFrame
        As in :func:`draw_protocols`. On average two choices are drawn anew. At least one choice
        differs from that of the protocol that is varied.
    """
    import pandas as pd

    rng = Streams(space.study, "protocols", rung).generator("variations")
    parents = nearest.to_dict("records")
    choices = [c for c in space.choices.values() if any(map(c.concerns, tables))]
    varied = []
    for i in range(space.rungs[rung].variations):
        parent = parents[i % len(parents)]
        name = f"{parent['protocol']}-{rung}.{i}"
        varied.append({**_varied(choices, parent, rng), "protocol": name, "entered": str(rung)})
    return pd.DataFrame(varied, columns=nearest.columns)


def _varied(
    choices: Sequence[Choice], parent: dict[str, str], rng: np.random.Generator
) -> dict[str, str]:
    while True:
        redrawn = rng.random(len(choices)) < 2 / len(choices)
        shares = rng.random(len(choices))
        drawn = {c.name: take(c, shares[[j]])[0] for j, c in enumerate(choices) if redrawn[j]}
        if any(parent[name] != value for name, value in drawn.items()):
            return {**parent, **drawn}


def _unknown_parameters(space: Space) -> Iterator[str]:
    for choice in space.choices.values():
        for method, parameter in space.filled_by(choice).items():
            known = signature(methods.get(space.methods[method].estimator)).parameters
            if parameter not in known:
                hint = nearest_names(parameter, known)
                yield f"choices: {choice.name}: {method} has no parameter {parameter!r}. {hint}"


def _unknown_units(space: Space) -> Iterator[str]:
    known = units_of(space.experiment)
    filled = {f"choices: {c.name}": [v.value for v in c.values] for c in space.choices.values()}
    filled |= {f"methods: {m.name}": list(m.parameters.values()) for m in space.methods.values()}
    for place, values in filled.items():
        given = [unit for v in values if isinstance(v, Mapping) for unit in v.get("units", ())]
        for unit in sorted({*given} - {*known}):
            yield f"{place}: unknown units {unit!r}. {nearest_names(unit, known)}"


def _wrong_settings(space: Space) -> Iterator[str]:
    """Yield an error for each value that the experiment rejects; each is tried by itself."""
    from pydantic import ValidationError

    for table in space.tables.values():
        choices = [c for c in space.choices_of(table.name) if c.setting]
        plain = {str(choice.setting): choice.values[0].value for choice in choices}
        for choice in choices:
            for value in choice.values:
                own = {**table.setting, **plain, choice.setting: value.value}
                try:
                    settings_of(space.experiment, {**own, space.row: table.rows[0]})
                except ValidationError as error:
                    first = error.errors()[0]
                    yield f"choices: {choice.name}: {value.name}: {first['loc']}: {first['msg']}"


def take(choice: Choice, shares: NDArray[np.float64]) -> list[str]:
    """Return the names of the values at shares (n,), each in [0, 1), of their summed weights."""
    weights = np.array([value.weight for value in choice.values])
    edges = np.cumsum(weights)[:-1] / weights.sum()
    return [choice.values[i].name for i in np.searchsorted(edges, shares, side="right")]


def without_idle(space: Space, protocols: pd.DataFrame, tables: Iterable[str]) -> pd.DataFrame:
    """Return protocols with empty choices where none of the tables depends on the choice."""
    idle = [c.name for c in space.choices.values() if not any(map(c.concerns, tables))]
    return protocols.assign(**dict.fromkeys(idle, ""))


def read_design(path: str | os.PathLike) -> pd.DataFrame:
    """Read protocols from CSV, with all columns as text."""
    import pandas as pd

    return pd.read_csv(path, dtype=str, keep_default_na=False)


def survivors(scores: pd.DataFrame, n_protocols: int) -> list[str]:
    """Return the nearest protocols, nearest first.

    Parameters
    ----------
    scores : DataFrame
        From :func:`fedmix.cells.protocols.score.score_tables`. The joint distance from all its
        tables counts.
    n_protocols : int
        Number of protocols to return.
    """
    return list(joint_distance(scores).sort_values(kind="stable").index[:n_protocols])
