"""VAE embeddings: end to end where PyTorch is installed, a clear message where it is not."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fedmix.embed import embed
from fedmix.errors import ConfigurationError, DataError, DivergenceError, MissingExtraError


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return load_digits().data[:300]


def test_without_pytorch_the_message_says_what_to_install(images, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fedmix\[vae\]'"):
        embed({"kind": "vae"}, images)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("layout", ["images", "vectors"])
def test_an_epoch_embeds_some_hundred_images(torch, images, layout):
    seen = []
    spec = {"kind": "vae", "n_components": 5, "epochs": 1, "layout": layout}
    result = embed(spec, images, callback=seen.append)
    assert result.embedding.shape == (300, 5)
    assert result.embedding.dtype == np.float64
    assert np.isfinite(result.embedding).all()
    assert result.embedding.std() > 0
    assert result.details["parameters"]["batch_size"] == 256
    assert str(seen[-1]).startswith("VAE epoch 1 of 1: loss ")
    assert seen[-1].loss == result.details["loss"]


def test_training_lowers_the_loss_and_finds_the_classes(torch, images):
    seen = []
    spec = {"kind": "vae", "n_components": 8, "epochs": 60, "batch_size": 32}
    embedding = embed(spec, images, callback=seen.append).embedding
    assert seen[-1].loss < 0.8 * seen[0].loss
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    labels = load_digits().target[:300]
    assert cross_val_score(KNeighborsClassifier(), embedding, labels).mean() > 0.7


def test_the_seed_decides_and_the_global_generator_is_left_alone(torch, images):
    spec = {"kind": "vae", "n_components": 3, "epochs": 2}
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    first = embed(spec, images, random_state=1).embedding
    after = torch.rand(3)
    torch.manual_seed(5)
    assert (after == torch.rand(3)).all()
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(first, embed(spec, images, random_state=1).embedding)
    assert (first != embed(spec, images, random_state=2).embedding).any()


def test_the_layout_is_found_from_the_features(torch, images):
    spec = {"kind": "vae", "n_components": 2, "epochs": 1}

    def embedding(features, **more):
        return embed({**spec, **more}, features).embedding

    np.testing.assert_array_equal(embedding(images), embedding(images, layout="images"))
    centred = images - images.mean()
    np.testing.assert_array_equal(embedding(centred), embedding(centred, layout="vectors"))
    wide = np.c_[images, images[:, :1]]
    np.testing.assert_array_equal(embedding(wide), embedding(wide, layout="vectors"))


def test_the_layers_are_those_of_the_public_program(torch):
    from fedmix.embed.vae_network import ImageVAE

    model = ImageVAE(784, 64)
    shapes = [tuple(p.shape) for name, p in model.named_parameters() if name.endswith("weight")]
    assert shapes == [
        (32, 1, 3, 3),
        (64, 32, 3, 3),
        (128, 64 * 7 * 7),
        (64 * 7 * 7, 64),  # straight from the code
        (64, 64, 3, 3),
        (64, 32, 3, 3),
        (32, 1, 3, 3),
        (64, 128),  # means
        (64, 128),  # log variances
    ]
    assert model.decoder(torch.zeros(2, 64)).shape == (2, 784)


def test_convolutions_start_at_the_upper_left_corner_as_in_tensorflow(torch):
    from fedmix.embed.vae_network import ImageVAE

    model = ImageVAE(64, 2)
    torch.nn.init.ones_(model.encoder[2].weight)
    pixels = torch.arange(64.0).reshape(1, 8, 8)
    sums = model.encoder[:3](pixels.reshape(1, 64))[0, 0]
    assert sums[0, 0] == pixels[0, :3, :3].sum()
    assert sums[3, 3] == pixels[0, 6:, 6:].sum()
    torch.nn.init.ones_(model.decoder[3].weight)
    point = torch.zeros(1, 64, 2, 2)
    point[0, 0, 0, 0] = 1
    [spread] = model.decoder[3:5](point)
    assert spread.shape == (64, 4, 4)
    assert spread[0].nonzero().tolist() == [[i, j] for i in range(3) for j in range(3)]


def test_points_that_are_held_back_do_not_change_the_training(torch, images):
    spec = {"kind": "vae", "n_components": 3, "epochs": 2, "n_training": 200}
    changed = images.copy()
    changed[200:] = changed[200:][::-1]
    first, second = (embed(spec, features).embedding for features in (images, changed))
    np.testing.assert_allclose(first[:200], second[:200], atol=1e-6)
    np.testing.assert_allclose(first[200:], second[200:][::-1], atol=1e-6)


def test_the_loss_is_reconstruction_plus_divergence(torch):
    from fedmix.embed.vae_network import ImageVAE

    model = ImageVAE(64, 2)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        model.mean.bias[:] = 3.0  # KL of N(3, 1) to N(0, 1) is 9 / 2 a dimension
    pixels = torch.rand(5, 64)
    expected = 5 * (64 * np.log(2) + 2 * 4.5)  # log odds of zero cost log 2 a pixel
    assert model.loss(pixels).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_components": 0}, ConfigurationError, "n_components"),
        ({"epochs": 0}, ConfigurationError, "epochs"),
        ({"learning_rate": -1}, ConfigurationError, "learning_rate"),
        ({"n_training": 301}, ConfigurationError, "n_training is 301, but there are 300"),
        ({"layout": "circles"}, ConfigurationError, "layout"),
        ({"learning_rate": 1e30, "epochs": 3}, DivergenceError, "learning_rate"),
    ],
)
def test_parameters_out_of_range(torch, images, change, error, message):
    with pytest.raises(error, match=message):
        embed({"kind": "vae", "n_components": 2, **change}, images)


def test_features_that_are_no_images(torch, images):
    with pytest.raises(ConfigurationError, match="use layout 'vectors'"):
        embed({"kind": "vae", "layout": "images"}, images[:, :60])
    with pytest.raises(DataError, match="black"):
        embed({"kind": "vae"}, np.zeros((5, 64)))
