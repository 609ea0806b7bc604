"""
Mixtures of regressions
=======================

Each point belongs to one of five regressions. Nine clients have nearly the same regressions, and
the tenth is an outlier. A client's own fit is poor with 150 points. An exchange helps, and helps
most if it withstands the outlier.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedmix import methods
from fedmix.metrics.matching import estimation_error
from fedmix.simulate.fedgrem import simulate_mixture

names = ["LocalEM", "FedEM", "FedGMM", "FedGrEM"]
errors = {name: [] for name in names}
for seed in range(5):
    data = simulate_mixture("regression", 0.2, np.random.default_rng(seed), n_points=150)
    for name in names:
        model = methods.get(name)(n_components=5, family="regression", tol=1e-3).fit(data.clients)
        errors[name].append(
            estimation_error(model.weights_, model.means_, data.weights, data.means)[1]
        )

figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.plot(names, [errors[name] for name in names], "o", color="tab:blue", alpha=0.6)
limits = axis.set(ylabel="error of the coefficients", ylim=(0, None))
