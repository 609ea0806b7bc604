"""
FedGrEM and contaminated clients
================================

Methods that average over clients are misled by a few contaminated clients. FedGrEM pulls clients
together by a penalty that has a bounded influence, and hardly changes.
"""

import numpy as np

from fedmix import methods, plot
from fedmix.metrics.matching import misclustering

centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])
shares = [0.0, 0.1, 0.2, 0.3, 0.4]


def simulate(n_contaminated, seed):
    """Return ten clients with 60 points; the last ones are moved away."""
    rng = np.random.default_rng(seed)
    labels = [rng.integers(4, size=60) for _ in range(10)]
    xs = [centres[own] + rng.normal(size=(60, 2)) for own in labels]
    return [x + 15.0 * (k >= 10 - n_contaminated) for k, x in enumerate(xs)], labels


def error(method, xs, labels, n_contaminated):
    """Return the error in percent, averaged over the good clients."""
    found = method.fit_predict(xs)
    good = range(10 - n_contaminated)
    return 100 * np.mean([misclustering(labels[k], found[k]) for k in good])


# %%
# Five replications. All methods see the same data.

errors = {name: np.empty((len(shares), 5)) for name in ("FedGrEM", "FedEM", "LocalEM")}
for i, share in enumerate(shares):
    for seed in range(5):
        xs, labels = simulate(int(10 * share), seed)
        for name, row in errors.items():
            method = methods.get(name)(n_components=4, tol=1e-3)
            row[i, seed] = error(method, xs, labels, int(10 * share))

axis = plot.contamination(shares, errors, ylabel="wrong labels at good clients (%)")
