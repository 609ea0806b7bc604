"""
Methods for clients that follow different regressions
=====================================================

Each client follows one of three regressions with 20 coefficients. Most clients have 8 points. One
model for all is wrong for everyone, and IFCA often misses a regression. The two-phase method is as
good as the oracle, which starts from the true models.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedmix import methods
from fedmix.simulate.mixed_regression import draw_clients, draw_truth

settings = {"rounds": 100}
errors = {name: [] for name in ("FedAvg", "IFCA", "OneShotClustering", "TwoPhase", "Oracle")}
for seed in range(10):
    rng = np.random.default_rng([1, seed])
    truth = draw_truth(rng, sizes=[8] * 250 + [60] * 12, n_clusters=3, n_features=20)
    clients = draw_clients(rng, truth)
    models = {
        "FedAvg": methods.FedAvg(**settings),
        "IFCA": methods.IFCA(n_clusters=3, random_state=seed, **settings),
        "OneShotClustering": methods.OneShotClustering(n_clusters=3, **settings),
        "TwoPhase": methods.TwoPhase(n_clusters=3, random_state=seed, **settings),
        "Oracle": methods.OracleClustering(models=truth.models, **settings),
    }
    for name, model in models.items():
        model.fit(clients)
        used = model.models_[model.predict_clients(clients)]
        distances = np.linalg.norm(used - truth.models[truth.labels], axis=1)
        errors[name].append(distances.mean())

# %%
# One dot per replication: the mean error of the coefficients that clients use.

figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for place, values in enumerate(errors.values()):
    axis.plot(values, np.full(10, place), "o", alpha=0.5)
axis.set_yticks(range(len(errors)), errors)
axis.invert_yaxis()
limits = axis.set(xscale="log", xlabel="mean error of a client's coefficients")
