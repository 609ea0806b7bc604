"""The figures of a search show all protocols and replications, with the names that readers know."""

import numpy as np
import pandas as pd

from fedmix.cells.protocols.running import draw_protocols
from fedmix.views.figures.protocols import _curve, _nearest, _path, _replications
from synthetic_search import CLAIM, ITEM, PRINTED, column, runs_of, space


def test_a_caption_has_the_fewest_and_the_most_replications_of_drawn_protocols():
    scores = pd.DataFrame({"kind": ["drawn", "drawn", "judged"], "replications": [3, 10, 20]})
    said = "n = 3 to 10 replications per drawn protocol, 20 per judged one."
    assert _replications(scores) == said
    said = "n = 3 replications per drawn protocol, 20 per judged one."
    assert _replications(scores.drop(index=1)) == said


def test_a_path_is_the_least_objective_so_far():
    objectives = [3.0, np.inf, 2.0, 5.0]  # the second did not come to an end
    trials = pd.DataFrame({"trial": range(4), "objective": objectives})
    [line] = _path(trials.assign(seed=1, start=0, complete=True)).axes[0].get_lines()
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([0, 2, 3], [3.0, 2.0, 2.0])


def test_panels_that_share_an_axis_show_all_protocols_of_each_table():
    own = space(("one", "two"))
    design = draw_protocols(own).assign(distance=1.0)
    drawn = pd.concat(
        [
            design.assign(table=table, effect=scale * np.linspace(-1.0, 1.0, len(design)))
            for table, scale in (("one", 5.0), ("two", 0.1))  # the last has the least range
        ]
    )
    drawn = drawn.assign(effect_low=drawn["effect"] - 0.1, effect_high=drawn["effect"] + 0.1)
    shares = pd.DataFrame({"outcome": "lowest", "choice": list(own.choices), "share": 0.5})
    first, second = _curve(own, ITEM, drawn, shares).axes[:2]
    assert first.get_ylim() == second.get_ylim()
    least, most = first.get_ylim()
    assert least < drawn["effect_low"].min() / ITEM.scale
    assert most > drawn["effect_high"].max() / ITEM.scale


def test_the_best_protocol_stands_beside_the_published_values_in_the_unit_shown():
    printed = PRINTED.rename(columns={"mean": "printed_mean", "sd": "printed_sd"})
    runs = runs_of({"s1.0": 1.0}).merge(printed, on=["n_contaminated", "method"])
    figure = _nearest(space(), ITEM, runs.assign(rank=1))
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["table one\nn contaminated 0", "table one\nn contaminated 2 (held out)"]
    for axis in figure.axes:
        np.testing.assert_allclose(axis.containers[0].lines[0].get_ydata(), [30, 20, 10])
        [mean] = [line for line in axis.get_lines() if line.get_label() == "their mean"]
        np.testing.assert_allclose(mean.get_ydata(), [31, 21, 11])


def test_values_below_zero_are_seen_and_methods_have_their_labels():
    own = space()
    labels = {"LocalEM": "Local-EM", "FedEM": "Fed-EM", "FedGrEM": "Fed-GrEM"}
    methods = {m: column(m).model_copy(update={"label": label}) for m, label in labels.items()}
    claim = CLAIM.model_copy(update={"than": ["LocalEM", "FedEM"]})
    own = own.model_copy(update={"methods": methods, "claim": claim})
    printed = PRINTED.rename(columns={"mean": "printed_mean", "sd": "printed_sd"})
    runs = runs_of({"s1.0": 1.0}).merge(printed, on=["n_contaminated", "method"]).assign(rank=1)
    runs.loc[(runs["n_contaminated"] == 2) & (runs["replication"] == 0), "value"] = -0.2
    first, second = _nearest(own, ITEM, runs).axes
    assert [text.get_text() for text in first.get_xticklabels()] == list(labels.values())
    assert first.get_ylim()[0] == 0
    assert second.get_ylim()[0] < -0.2 / ITEM.scale
    drawn = draw_protocols(own).assign(
        table="one", distance=1.0, effect=1.0, effect_low=0.0, effect_high=2.0
    )
    shares = pd.DataFrame({"outcome": "lowest", "choice": list(own.choices), "share": 0.5})
    said = _curve(own, ITEM, drawn, shares).axes[0].get_ylabel()
    assert said.startswith("Fed-GrEM less\nLocal-EM and Fed-EM\n")
