"""The experiment on real data: who holds which points."""

from types import SimpleNamespace

import numpy as np
import pytest

from fedmix.experiments import real_clustering
from fedmix.streams import Streams

SETTING = {
    "dataset": "two",
    "embedding": "raw",
    "partition": "uniform",
    "n_clients": 4,
    "n_contaminated": 1,
    "contamination": "gaussian",
    "train_fraction": 0.8,
    "scaling": "none",
    "initialization": "kmeans++",
    "n_components": 2,
}
DATA = SimpleNamespace(features=np.zeros((200, 2)), labels=np.arange(200) % 2, groups=None)


def rows_and_training(setting_name, replication, **change):
    """Return the clients' rows, training and test together, and those for training."""
    setting = real_clustering.Settings(**SETTING | change)
    streams = Streams("study", setting_name, replication)
    problem = real_clustering.make_problem(setting, DATA, streams)
    parts = [
        np.split(problem[part], problem[f"{part}_offsets"][1:-1]) for part in ("train", "test")
    ]
    return [set(np.concatenate(own)) for own in zip(*parts, strict=True)], problem["train"]


def test_images_are_dealt_once_and_split_in_every_replication():
    rows, training = rows_and_training("contaminated1", 0, assignment=0)
    for name, change in (("contaminated1", {}), ("contaminated0", {"n_contaminated": 0})):
        again, other = rows_and_training(name, 1, assignment=0, **change)
        assert again == rows
        assert set(other) != set(training)


@pytest.mark.parametrize("other", [{"assignment": 1}, {"assignment": 0, "dataset": "others"}])
def test_another_draw_or_data_set_deals_them_otherwise(other):
    rows, _ = rows_and_training("one", 0, assignment=0)
    assert rows_and_training("one", 0, **other)[0] != rows


def test_without_a_number_each_replication_deals_anew():
    assert rows_and_training("one", 0)[0] != rows_and_training("one", 1)[0]
