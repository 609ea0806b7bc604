"""The registry of data sets is strict and says everything that is wrong at once."""

import copy
import inspect
from pathlib import Path
from typing import get_args

import pytest
import yaml

from fedmix.configuration import read_yaml
from fedmix.data import read_registry
from fedmix.data.readers import READERS
from fedmix.data.registry import AnyEmbedding, AnySource, SourceFile
from fedmix.declarations import Like
from fedmix.embed import EMBEDDINGS
from fedmix.errors import ConfigurationError
from fedmix.pipeline.kept_embeddings import raw_parameters

ROOT = Path(__file__).parents[1]
REGISTRY = ROOT / "config" / "datasets.yaml"

GOOD = {
    "tiny": {
        "title": "Tiny",
        "n_points": 5,
        "n_features": 2,
        "class_counts": [2, 3],
        "licence": "none",
        "citation": "nobody",
        "sources": [{"reader": "table", "options": {"label": "y"}, "files": [{"name": "t.csv"}]}],
        "embeddings": {"raw": {"kind": "identity"}},
    }
}


def read(tmp_path, **changes):
    document = copy.deepcopy(GOOD)
    document["tiny"] |= changes
    path = tmp_path / "datasets.yaml"
    path.write_text(yaml.safe_dump(document))
    return read_registry(path)["tiny"]


def test_every_entry_is_complete():
    for name, entry in read_registry(REGISTRY).items():
        assert entry.name == name
        assert entry.title
        assert entry.licence
        assert entry.citation
        assert entry.embeddings


def test_offline_defaults_need_nothing():
    registry = read_registry(REGISTRY)
    for name in ("digits", "waveform_generated"):
        assert registry[name].sources[0].needs_nothing


def test_every_download_is_checked_by_checksums_or_by_its_content_or_refused():
    unchecked = {
        (entry.name, source.reader): entry.allow_unverified
        for entry in read_registry(REGISTRY).values()
        for source in entry.sources
        if not source.needs_nothing and source.downloadable and not entry.verifies(source)
    }
    assert unchecked == {("emnist", "table"): False, ("cifar10_barlow", "npy"): False}


def test_a_source_is_unverified_if_one_of_its_files_is():
    entry = read_registry(REGISTRY)["emnist"]
    archive = entry.sources[1]
    another = SourceFile(name="another", url="https://example.org/another")
    assert entry.verifies(archive)
    assert not entry.verifies(archive.model_copy(update={"files": (*archive.files, another)}))


def test_accepting_unverified_data_does_not_change_what_depends_on_them():
    raw = read_yaml(REGISTRY)["cifar10_barlow"]
    accepted = raw_parameters("cifar10_barlow", {**raw, "allow_unverified": True})
    assert accepted == raw_parameters("cifar10_barlow", raw)


def test_every_embedding_is_one_that_exists():
    for entry in read_registry(REGISTRY).values():
        for spec in entry.embeddings.values():
            known = inspect.signature(EMBEDDINGS[spec["kind"]]).parameters
            assert set(spec) - {"kind"} <= set(known)


def test_classes_are_numbered_in_order_by_default(tmp_path):
    assert read(tmp_path).class_names == ("0", "1")


def test_all_errors_are_listed_at_once(tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, class_counts=[2, 2], class_names=["a", "b", "c"])
    message = str(caught.value)
    assert "2 errors" in message
    assert "2 class counts for 3 classes" in message
    assert "add up to 4, not to 5" in message


def test_more_principal_components_than_features_are_an_error(tmp_path):
    wide = {"pca9": {"kind": "pca", "n_components": 9}, "raw": {"kind": "identity"}}
    with pytest.raises(ConfigurationError, match="pca9: n_components is 9, but the data have 3"):
        read(tmp_path, n_features=3, embeddings=wide)
    assert read(tmp_path, n_features=9, embeddings=wide).embedded_shape("pca9")[1] == 9


def test_unknown_reader_names_the_nearest(tmp_path):
    with pytest.raises(ConfigurationError, match="Did you mean 'table'"):
        read(tmp_path, sources=[{"reader": "tabel"}])


def test_unknown_and_missing_options_of_a_reader_are_errors(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"(?s)missing label.*'labl'\. Did you mean 'label'"
    ):
        read(tmp_path, sources=[{"reader": "table", "options": {"labl": "y"}}])


def declared(union, field):
    """Return the models of a union by what a field of them may say."""
    models = get_args(get_args(union)[0])
    return {n: m for m in models for n in get_args(m.model_fields[field].annotation)}


def test_every_reader_is_declared_with_its_options():
    sources = declared(AnySource, "reader")
    assert set(sources) == set(READERS)
    for name, source in sources.items():
        options = next(n for n in source.model_fields["options"].metadata if isinstance(n, Like))
        _, *taken = inspect.signature(READERS[name]).parameters
        assert set(options.kind.model_fields) == set(taken), name


def test_every_embedding_is_declared_with_its_defaults():
    embeddings = declared(AnyEmbedding, "kind")
    assert set(embeddings) == set(EMBEDDINGS)
    for name, embedding in embeddings.items():
        taken = inspect.signature(EMBEDDINGS[name]).parameters
        for key, field in embedding.model_fields.items():
            if key != "kind" and not field.is_required():
                assert field.default == taken[key].default, (name, key)


def test_unknown_key_names_the_nearest(tmp_path):
    with pytest.raises(ConfigurationError, match="'licence'"):
        read(tmp_path, license="MIT")


def test_unknown_embedding_kind_names_the_valid_ones(tmp_path):
    with pytest.raises(ConfigurationError, match="Did you mean 'tsne'"):
        read(tmp_path, embeddings={"small": {"kind": "tsn"}})


def test_checksum_of_wrong_length_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match="sha256"):
        read(tmp_path, sources=[{"reader": "npz", "files": [{"name": "a", "sha256": "12"}]}])


def test_five_lines_make_a_federated_data_set_of_a_table(tmp_path):
    path = tmp_path / "datasets.yaml"
    path.write_text((ROOT / "docs" / "examples" / "wards.yaml").read_text())
    entry = read_registry(path)["wards"]
    assert entry.n_groups == 6
    assert entry.embedded_shape("raw") == (None, None)
    assert len(path.read_text().splitlines()) <= 6


def test_clients_of_a_table_are_counted_in_the_registry(tmp_path):
    source = GOOD["tiny"]["sources"][0] | {"options": {"label": "y", "client": "who"}}
    with pytest.raises(ConfigurationError, match=r"give n_groups, .* in the column 'who'"):
        read(tmp_path, sources=[source])


def test_a_download_needs_a_size_to_be_stopped_beyond(tmp_path):
    document = copy.deepcopy(GOOD)
    del document["tiny"]["n_points"], document["tiny"]["class_counts"]
    document["tiny"]["sources"] = [{"reader": "table", "options": {"label": "y"}, "openml": 3}]
    path = tmp_path / "datasets.yaml"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(ConfigurationError, match="give n_points and n_features"):
        read_registry(path)


def test_bundled_or_generated_data_need_no_size(tmp_path):
    document = {name: GOOD["tiny"][name] for name in ("title", "embeddings")}
    path = tmp_path / "datasets.yaml"
    path.write_text(yaml.safe_dump({"tiny": {**document, "sources": [{"reader": "waveform"}]}}))
    assert not read_registry(path)["tiny"].sources[0].downloadable


@pytest.mark.parametrize(("name", "value"), [("perplexity", 1.0), ("n_samples", 1)])
def test_what_tsne_refuses_when_it_runs_is_refused_before(tmp_path, name, value):
    with pytest.raises(ConfigurationError, match=f"embeddings.small.{name}: expected greater than"):
        read(tmp_path, embeddings={"small": {"kind": "tsne", name: value}})


def test_a_raw_file_may_be_as_large_as_its_numbers_as_text(tmp_path):
    small = read(tmp_path)
    assert 5 * 3 * 25 < small.largest_file < 1e8
    wide = small.model_copy(update={"n_points": 70_000, "n_features": 784})
    assert 70_000 * 785 * 25 < wide.largest_file < 70_000 * 785 * 50  # 25: a float64 in full


def test_source_has_files_or_openml_not_both(tmp_path):
    source = {"reader": "table", "openml": 3, "files": [{"name": "a"}]}
    source["options"] = {"label": "class"}
    with pytest.raises(ConfigurationError, match="not both"):
        read(tmp_path, sources=[source])
