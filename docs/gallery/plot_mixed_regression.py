"""
Clients with fewer points than features
=======================================

Each client follows one of three regressions with 20 coefficients. Alone, a client with 10 points
cannot estimate them. The two-phase method finds the clients that follow the same regression, and
fits each regression to all points of its clients.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedmix import methods
from fedmix.simulate.mixed_regression import draw_clients, draw_truth

rng = np.random.default_rng(0)
sizes = [10] * 300 + [60] * 20  # a few clients have enough points to start from
truth = draw_truth(rng, sizes, n_clusters=3, n_features=20)
clients = draw_clients(rng, truth)

# %%
# Two phases: 5 rounds with anchor clients, then 200 rounds with all clients.

model = methods.TwoPhase(n_clusters=3, rounds=200, random_state=0).fit(clients)

# %%
# The error of the coefficients that each client uses, alone and in the federation.

true = truth.models[truth.labels]
alone = [np.linalg.lstsq(x, clients.responses_of(k))[0] for k, x in enumerate(clients)]
error_alone = np.linalg.norm(np.array(alone) - true, axis=1)
error_together = np.linalg.norm(model.models_[model.labels_] - true, axis=1)

figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
bins = np.linspace(0, error_alone.max(), 40)
axis.hist(error_alone, bins, label="least squares at each client", alpha=0.8)
axis.hist(error_together, bins, label="two-phase", alpha=0.8)
axis.set(xlabel="error of a client's coefficients", ylabel="clients")
legend = axis.legend()
