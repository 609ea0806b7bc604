"""A small frame of cells in the pipeline's own shape, for the tests of its layouts."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from fedmix.cells.equivalence import JUDGEMENT
from fedmix.cells.items import Item

_PLAIN = {
    "paper": "paper",
    "item": "item",
    "row": "row",
    "column": "column",
    "study": "study",
    "variant": "as_written",
    "setting": "setting",
    "setting_dataset": "digits",
    "method": "FedEM",
    "label": "FedEM",
    "metric": "error",
    "unit": "",
    "mean": 1.0,
    "sd": 0.1,
    "se": 0.05,
    "median": 1.0,
    "q1": 0.9,
    "q3": 1.1,
    "made": "2026-01-02 at commit abc1234",
    "checked": "",
    "n": 4,
    "failed": 0,
    "failures": "",
    "replications": (0, 1, 2, 3),
    "values": (0.9, 0.9, 1.1, 1.1),
    "scale": 1.0,
    "digits": 2,
    "printed_mean": float("nan"),
    "printed_sd": float("nan"),
    "printed_text": "",
    "printed_replications": None,
    "printed_file": "",
    "printed_line": None,
    "difference": float("nan"),
    "difference_in_sd": float("nan"),
    "difference_in_se": float("nan"),
    **dict.fromkeys(
        ["low", "high", "sd_ratio", "sd_ratio_low", "sd_ratio_high", "needed"], float("nan")
    ),
    "verdict": "",
    "draws": "",
    "draws_sd": 0.0,
    "n_draws": 2.0,
    "is_stand_in": False,
    "role": "written",
    "best": "",
}


def frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a frame of cells, with plain defaults for missing values."""
    cells = pd.DataFrame([{**_PLAIN, **row} for row in rows])
    return cells.astype({name: "Int64" for name in ("digits", "printed_line")})


def unjudged(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a frame of cells that wait for their verdicts."""
    cells = frame(rows).drop(columns=list(JUDGEMENT))
    return cells.assign(
        judged=True, other_draws=cells.get("other_draws", pd.Series(dtype=str)).fillna("")
    )


def laid_out(item: Item) -> dict[str, Any]:
    """Return an item of the configuration as the rules hand it to a builder, data sets unnamed."""
    names = ("name", "paper", "title", "caption", "builder", "direction", "options")
    return {name: getattr(item, name) for name in names} | {
        "preset": "paper",
        "variants": {},
        "datasets": {},
        "looks": {},
        "papers": {"FedGrEM": "https://example.org/fedgrem"},
        "left_out": {},
    }


def item(**changes: Any) -> dict[str, Any]:
    """Return an item as the rules hand it to a builder."""
    plain = {
        "name": "item",
        "paper": "paper",
        "title": "Paper, Table 1",
        "caption": "Errors.",
        "direction": "none",
        "options": {},
        "preset": "quick",
        "variants": {"as_written": "what the text says"},
        "datasets": {"digits": "Digits (8x8)"},
        "looks": {},
        "left_out": {},
    }
    return plain | changes
