"""The page of the calibration: confusion matrices of known truths and verdicts, with a figure."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedmix.cells.verdicts import DIFFERS
from fedmix.plot.style import house_style
from fedmix.storage import write_text
from fedmix.views.figures.build import copy_light, save_figure
from fedmix.views.format import to_markdown

_ABOUT = """\
# Calibration: the error rates of the verdicts

This page says how often the audit's verdicts are wrong. `snakemake calibration` writes it from
made-up results whose truth is known. A made-up paper has one table, with five methods in four
settings. Its values are drawn, rounded and "published". Our replications are drawn again: exactly
as published, or with a known error. They pass through the same code as real results, up to the
verdicts. The claims are tested where our replications are drawn exactly as published. We know which
of them are true. One is false because its two methods have equal means.
"""


def calibration_page(
    numbers: pd.DataFrame,
    claims: pd.DataFrame,
    page: str | os.PathLike,
    picture: str | os.PathLike,
) -> None:
    """Write the page in Markdown, and its figure as SVG in the same folder.

    The frames are those of :func:`fedmix.cells.calibration.calibrate`.
    """
    lines = [_ABOUT, goals(numbers, claims), "", f"![Shares of verdicts]({Path(picture).name})", ""]
    lines += ["## Published values", "", _tables(numbers)]
    lines += ["## Claims", "", _tables(claims)]
    write_text(page, "\n".join(lines).rstrip() + "\n")
    with house_style():
        figure = Figure(figsize=(9, 7), layout="constrained")
        axes = figure.subplots(2, 1)
        _matrix(axes[0], numbers, "published values, mean over designs")
        _matrix(axes[1], claims, "claims, mean over designs")
    save_figure(figure, [picture], "Confusion matrices of known truths and verdicts.")
    copy_light(picture, picture)


def goals(numbers: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Return the goals beside what was measured, over all designs."""
    exact = numbers[numbers["truth"] == "exact replication"]
    is_true = claims["truth"].str.startswith("true")

    def share(rows: pd.DataFrame, verdict: str) -> str:
        return f"{(rows[verdict] * rows['n']).sum() / rows['n'].sum():.1%} of {rows['n'].sum()}"

    return (
        f"- An exact replication *differs* in {share(exact, DIFFERS)} values (goal: under 5 %).\n"
        f"- A false claim *holds* in {share(claims[~is_true], 'holds')} cases (goal: under 1 %).\n"
        f"- A true claim is *reversed* in {share(claims[is_true], 'reversed')} cases (goal: under "
        "1 %)."
    )


def _tables(shares: pd.DataFrame) -> str:
    """Return one table per design, in percent; verdicts that never occur are left out."""
    kept = [c for c in shares.columns[3:] if shares[c].any()]
    parts = []
    for design, own in shares.groupby("design", sort=False):
        percent = (100 * own[kept]).round(1)
        table = own[["truth", "n"]].join(percent).set_index("truth")
        about = f"Replications: {design}. Shares of the verdicts in percent:"
        parts.append(f"{about}\n\n{to_markdown(table)}")
    return "\n".join(parts)


def _matrix(axis: Axes, shares: pd.DataFrame, title: str) -> None:
    mean = shares.groupby("truth", sort=False)[list(shares.columns[3:])].mean()
    mean = mean.loc[:, mean.any()]
    axis.imshow(mean.to_numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axis.set_xticks(range(mean.shape[1]), list(mean.columns), rotation=20, ha="right")
    axis.set_yticks(range(len(mean)), list(mean.index))
    axis.set_title(title)
    axis.grid(False)
    for (row, column), share in np.ndenumerate(mean):
        if share > 0:
            color = "white" if share > 0.6 else "black"
            axis.text(column, row, f"{share:.0%}", ha="center", va="center", c=color, fontsize=8)
