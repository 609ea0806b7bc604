"""
How fast a method converges
===========================

The two-phase method starts with a few rounds that bring it near the true models. IFCA starts at
random, and in some replications it never finds all of them.
"""

import numpy as np

from fedmix import methods, plot
from fedmix.metrics.matching import model_errors
from fedmix.simulate.mixed_regression import draw_clients, draw_truth

errors = {"TwoPhase": [], "IFCA": []}
for seed in range(8):
    rng = np.random.default_rng([0, seed])
    truth = draw_truth(rng, sizes=[10] * 200 + [50] * 12, n_clusters=3, n_features=20)
    clients = draw_clients(rng, truth)
    for name, paths in errors.items():
        model = methods.get(name)(n_clusters=3, rounds=100, random_state=seed).fit(clients)
        paths.append(model_errors(model.history_["models"], truth.models))

# %%
# The error is the distance to the true models under the best matching. Lines are medians over eight
# replications, bands are quartiles.

length = min(len(path) for paths in errors.values() for path in paths)
shown = {name: np.stack([path[:length] for path in paths]) for name, paths in errors.items()}
axis = plot.trajectories(shown, ylabel="distance to the true models")
