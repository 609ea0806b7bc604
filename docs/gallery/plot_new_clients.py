"""
Labels for a new client
=======================

A fitted model with clusters that are the same for all clients also labels the points of clients
that joined later.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedmix import methods, plot
from fedmix.metrics.matching import misclustering

rng = np.random.default_rng(0)
centres = np.array([[0, 0], [7, 0], [3.5, 6]])


def draw(shares):
    """Return 100 points of a client, and their true labels."""
    own = rng.choice(3, size=100, p=shares)
    return centres[own] + rng.normal(size=(100, 2)), own


xs = {f"client {k}": draw([0.3, 0.3, 0.4])[0] for k in range(5)}
model = methods.FedKMeans(n_clusters=3, random_state=0).fit(xs)

# %%
# The new client has almost no points of one cluster, which it could not have found alone.

points, own = draw([0.6, 0.37, 0.03])
new = {"new client": points}
labels = model.predict(new)
print(f"{100 * misclustering(own, labels[0]):.0f} % wrong labels")

figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), sharex=True, sharey=True, layout="constrained")
both = {"client 0": xs["client 0"], **new}
drawn = plot.clusters(both, model.predict(both), axes=axes)
