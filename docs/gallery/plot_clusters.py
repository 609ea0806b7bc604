"""
Clusters that all clients share
===============================

Clients do not exchange points, but they find the same clusters. A label means the same cluster at
every client, although some clients have no points of some clusters.
"""

import numpy as np

from fedmix import methods, plot

rng = np.random.default_rng(0)
centres = np.array([[0, 0], [7, 0], [3.5, 6]])
shares = {
    "north": [0.4, 0.3, 0.3],
    "east": [0.1, 0.8, 0.1],
    "south": [0.5, 0.5, 0.0],
    "west": [0.0, 0.2, 0.8],
}
labels = {name: rng.choice(3, size=120, p=own) for name, own in shares.items()}
xs = {name: centres[own] + rng.normal(size=(120, 2)) for name, own in labels.items()}

# %%
# k-FED needs a single exchange: each client sends the centres of its own clusters, and the server
# clusters these centres. Each client says how many clusters it has.

model = methods.KFED(n_clusters=3, components_per_client=[3, 3, 2, 2], random_state=0).fit(xs)
axes = plot.clusters(xs, model.labels_)

# %%
# The floats that clients and server have sent to each other:

print(model.communication_)
