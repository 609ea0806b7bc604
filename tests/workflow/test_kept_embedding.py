"""A kept embedding takes the place of raw data and of the code that made it."""

import shutil

import pytest

from fedmix.configuration import read_yaml
from fedmix.pipeline.kept_embeddings import keep_embeddings
from fedmix.storage import sha256_of
from pipeline import Pipeline, jobs_of

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
EMBEDDED = "data/embedded/digits/tsne10.npz"
TSNE = "kind: tsne, n_components: 10"


def test_an_embedding_is_taken_from_the_evidence(tmp_path):
    pipeline = Pipeline.new(tmp_path)
    pipeline.edit("config/datasets.yaml", TSNE, f"{TSNE}, n_iter: 20")  # it need not be good
    pipeline.run(EMBEDDED)
    made = pipeline.work / EMBEDDED
    digest, evidence = sha256_of(made), pipeline.project / "data" / "evidence"
    datasets = read_yaml(pipeline.project / "config" / "datasets.yaml")
    assert list(keep_embeddings(evidence, {("digits", "tsne10"): made}, datasets))
    shutil.rmtree(pipeline.work / "data")
    pipeline.edit("src/fedmix/embed/tsne.py", "_START_JITTER = 0.01", "_START_JITTER = 0.02")

    kept = pipeline.run(EMBEDDED, config={"evidence": "data/evidence"})
    assert jobs_of(kept) == {"embed_features": 1}
    assert sha256_of(made) == digest

    pipeline.run(EMBEDDED, config={"evidence": False})
    assert sha256_of(made) != digest
