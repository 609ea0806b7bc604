"""The real data, where a mirror has them, are what the registry promises."""

from pathlib import Path

import numpy as np
import pytest

from fedmix.data import fetch, load, read_registry
from fedmix.data.fetching import _local_files
from fedmix.simulate.waveform import PAIRS, base_waves

REGISTRY = read_registry(Path(__file__).parents[1] / "config" / "datasets.yaml")

pytestmark = pytest.mark.mirror


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return tmp_path_factory.mktemp("raw")


def loaded(name, raw, mirror):
    fetch(REGISTRY[name], raw, mirror=mirror)
    return load(REGISTRY[name], raw)


@pytest.mark.parametrize("name", list(REGISTRY))
def test_data_set_passes_all_checks(name, raw, mirror):
    entry = REGISTRY[name]
    if not any(_local_files(source, [mirror]) is not None for source in entry.sources):
        pytest.skip("not in this mirror")
    data = loaded(name, raw, mirror)
    assert data.features.shape == (entry.n_points, entry.n_features)
    if entry.class_counts is not None:
        assert tuple(np.bincount(data.labels)) == entry.class_counts


def test_pen_digits_have_44_writers_of_about_250_digits_each(raw, mirror):
    data = loaded("pendigits", raw, mirror)
    counts = np.bincount(data.groups)
    assert len(counts) == 44
    assert counts.min() >= 247
    assert counts.max() == 250
    # 30 people wrote the first file's 7,494 digits, 14 others the second's 3,498
    assert data.groups[:7494].max() == 29
    assert data.groups[7494:].min() == 30


def test_published_embeddings_belong_to_the_images_row_by_row(raw, mirror):
    images, embeddings = (loaded(name, raw, mirror) for name in ("mnist", "mnist_vae"))
    np.testing.assert_array_equal(images.labels, embeddings.labels)


def test_the_waveform_file_fits_the_generator(raw, mirror):
    data = loaded("waveform", raw, mirror)
    for label, pair in enumerate(PAIRS):
        own = data.features[data.labels == label]
        np.testing.assert_allclose(
            own.mean(axis=0), base_waves()[list(pair)].mean(axis=0), atol=0.2
        )
