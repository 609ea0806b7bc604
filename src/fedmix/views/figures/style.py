"""One look for every figure: a method keeps its colour and marker wherever it is drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
# No marker of _KNOWN beyond the first row of these: a method without an entry draws from the
# second row, so that it is never mistaken for one that has an entry.
_SPARE_MARKERS = ("H", "d", "8", "1", "2", "3", "4", "+", "x", "|")
_SPARE_LINES = ("-", "--", "-.", ":")

_KNOWN = {
    # Each paper's own method stands out; methods that meet in a figure differ in both properties.
    "FedGrEM": ("vermillion", "o", "-"),
    "FedEM": ("blue", "s", "-"),
    "TGMM": ("green", "^", "-"),
    "FedGMM": ("purple", "D", "-"),
    "LocalEM": ("sky", "v", "--"),
    "LocalGradientEM": ("orange", "<", "--"),
    "PooledEM": ("black", "P", ":"),
    "PooledGradientEM": ("grey", "X", ":"),
    "TwoPhase": ("vermillion", "h", "-"),
    "TwoPhase-FedAvg-s1": ("sky", "v", "-"),
    "TwoPhase-FedAvg-s5": ("vermillion", "h", "-"),
    "TwoPhase-FedAvg-s10": ("green", "^", "-"),
    "TwoPhase-FedAvg-s20": ("blue", "s", "-"),
    "TwoPhase-FedProx": ("purple", "D", "--"),
    "FedAvg": ("grey", "X", ":"),
    "OneShotClustering": ("orange", "<", "--"),
    "IFCA": ("blue", "p", "-."),
    "OracleClustering": ("black", "P", ":"),
    "FedGEM": ("vermillion", "*", "-"),
    "GMM": ("black", "s", "--"),
    "DP-GMM": ("grey", "D", "--"),
    "k-FED": ("blue", "v", "-"),
    "FFCM-avg1": ("purple", "<", "-"),
    "FFCM-avg2": ("green", ">", "-"),
    "FedKmeans": ("sky", "^", "-"),
    "AFCL": ("orange", "p", "-."),
    "LocalKMeans": ("olive", "X", ":"),
}


@dataclass(frozen=True)
class MethodStyle:
    """How a method is drawn.

    Parameters
    ----------
    color : str
        Hexadecimal colour, of a palette that is safe for colour-blind readers.
    marker, linestyle : str
        Matplotlib's codes; they tell methods apart without any colour.
    """

    color: str
    marker: str
    linestyle: str

    def keywords(self) -> dict[str, Any]:
        """Return the keywords for ``Axes.plot`` and ``Axes.errorbar``."""
        return {"color": self.color, "marker": self.marker, "linestyle": self.linestyle}


def method_style(name: str) -> MethodStyle:
    """Return the colour, marker and line of a method, the same in every figure.

    A method without an entry gets a look by its name alone, so that it does not change with the
    company it is drawn in; it never equals the look of a method that has an entry.

    Parameters
    ----------
    name : str
        A method's name in the results, e.g. ``"FedGrEM"``.

    Returns
    -------
    MethodStyle

    Examples
    --------
    >>> method_style("FedGrEM").keywords()
    {'color': '#D55E00', 'marker': 'o', 'linestyle': '-'}
    """
    if name in _KNOWN:
        color, marker, linestyle = _KNOWN[name]
        return MethodStyle(COLORS[color], marker, linestyle)
    rest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    looks: list[str] = []
    for choices in (list(COLORS.values()), _SPARE_MARKERS, _SPARE_LINES):
        rest, chosen = divmod(rest, len(choices))
        looks.append(choices[chosen])
    return MethodStyle(*looks)


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
