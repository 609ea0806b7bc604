"""One style for all figures: a method keeps its colour and marker in each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE_FILE = Path(__file__).with_name("style.mplstyle")

# Okabe and Ito's palette, safe for the common kinds of colour blindness; its yellow is too light
# for lines on white and is replaced by Tol's olive.
COLORS = {
    "vermillion": "#D55E00",
    "blue": "#0072B2",
    "green": "#009E73",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "orange": "#E69F00",
    "olive": "#8A8A1F",
    "black": "#222222",
    "grey": "#8C8C8C",
}
#: Method or variant -> its ``color`` (a name in :data:`COLORS`), ``marker`` and ``line``, as in
#: ``about.yaml``.
Looks = Mapping[str, Mapping[str, str]]
#: For many marks: pixels within a vector figure, which take a tenth of the bytes.
MANY: Mapping[str, Any] = {"rasterized": True}
# No paper's methods have these markers, so a method without a look of its own is never mistaken
# for one of theirs. It is black or grey only if no colour is left.
_SPARE_MARKERS = ("H", "d", "8", "+", "x")
_QUIET = ("black", "grey")
_LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class MethodStyle:
    """How a method is drawn; the marker and the line distinguish methods without colour."""

    color: str
    marker: str
    linestyle: str

    def keywords(self) -> dict[str, Any]:
        """Return the keywords for ``Axes.plot`` and ``Axes.errorbar``."""
        return {"color": self.color, "marker": self.marker, "linestyle": self.linestyle}


def looks_of(names: Iterable[str], looks: Looks) -> dict[str, MethodStyle]:
    """Return the styles of the methods, or variants, of one figure.

    A name without a look gets one derived from the name. It is the same in all figures, unless
    another method of the figure has its colour: then it gets the next free colour.

    Examples
    --------
    >>> looks_of(["FedGrEM"], {"FedGrEM": {"color": "blue", "marker": "o", "line": "-"}})
    {'FedGrEM': MethodStyle(color='#0072B2', marker='o', linestyle='-')}
    """
    names = list(names)
    found = {
        name: MethodStyle(COLORS[look["color"]], look["marker"], look["line"])
        for name, look in looks.items()
        if name in names
    }
    for name in names:
        if name not in found:
            found[name] = _look_by_name(name, {style.color for style in found.values()})
    return {name: found[name] for name in names}


def _look_by_name(name: str, taken: set[str]) -> MethodStyle:
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    palette = [color for key, color in COLORS.items() if key not in _QUIET]
    number, first = divmod(number, len(palette))
    in_turn = [*palette[first:], *palette[:first], *(COLORS[key] for key in _QUIET)]
    color = next((c for c in in_turn if c not in taken), in_turn[0])
    number, marker = divmod(number, len(_SPARE_MARKERS))
    return MethodStyle(color, _SPARE_MARKERS[marker], _LINES[number % len(_LINES)])


def style_for(axes: Any) -> AbstractContextManager:
    """Return the style to draw in: that of the given axes, or the house style for new ones."""
    return house_style() if axes is None else nullcontext()


@contextmanager
def drawing_on(axis: Axes | None, size: tuple[float, float] | None = None) -> Iterator[Axes]:
    """Yield the given axis to draw on, or the axis of a new figure of this size in house style."""
    with style_for(axis):
        if axis is None:
            import matplotlib.pyplot as plt

            axis = plt.subplots(figsize=size)[1]
        yield axis


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house style and leave Matplotlib's settings as they were.

    Examples
    --------
    >>> with house_style():
    ...     import matplotlib.pyplot as plt
    ...     figure, axes = plt.subplots()
    """
    import matplotlib

    with matplotlib.rc_context(fname=STYLE_FILE):
        yield
        interactive = matplotlib.is_interactive()
    matplotlib.interactive(interactive)  # on since the first figure of a notebook
