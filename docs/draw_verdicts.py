"""Draw the zones of the rule that compares our mean with a published one."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rcParams
from matplotlib.figure import Figure

from fedmix.cells.verdicts import AGREES, AGREES_CLOSELY, DIFFERS, NARROW, UNDECIDED, WIDE

PICTURE = Path(__file__).with_name("verdicts.svg")
# Difference and half width of the interval, in published standard deviations.
_EXAMPLES = {
    AGREES_CLOSELY: (0.08, 0.12),
    AGREES: (-0.2, 0.2),
    UNDECIDED: (0.45, 0.25),
    DIFFERS: (-0.8, 0.18),
}


def main() -> None:
    """Draw one interval of each verdict over the two margins."""
    rcParams["svg.hashsalt"] = "fedmix"
    figure = Figure(figsize=(7, 2.4), layout="constrained")
    axis = figure.subplots()
    axis.axvspan(-WIDE, WIDE, color="#56B4E9", alpha=0.25, lw=0)
    axis.axvspan(-NARROW, NARROW, color="#0072B2", alpha=0.25, lw=0)
    for place, (middle, half) in enumerate(_EXAMPLES.values()):
        axis.errorbar(middle, place, xerr=half, fmt="o", color="black", capsize=4)
    axis.set_yticks(range(len(_EXAMPLES)), list(_EXAMPLES))
    axis.set_ylim(len(_EXAMPLES) - 0.4, -0.6)
    axis.set_xticks([-1, -WIDE, -NARROW, 0, NARROW, WIDE, 1])
    axis.set_xlabel("our mean minus the published mean, in published sd (90 % interval)")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(left=False)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
