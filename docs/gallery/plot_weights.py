"""
What each client's data consist of
==================================

Clients of a federation share components but mix them differently. The mixing weights say how much
of each component a client has.
"""

import numpy as np

from fedmix import methods, plot

rng = np.random.default_rng(0)
centres = np.array([[0, 0], [6, 0], [0, 6]])
shares = rng.dirichlet([0.6, 0.6, 0.6], size=8)
sizes = [40, 60, 300, 100, 80, 50, 150, 60]
xs = {
    f"clinic {letter}": centres[rng.choice(3, size=n, p=own)] + rng.normal(size=(n, 2))
    for letter, n, own in zip("ABCDEFGH", sizes, shares, strict=True)
}

# %%
# FedEM averages the clients' means in every round. Each client keeps its own weights.

model = methods.FedEM(n_components=3, random_state=0).fit(xs)
axis = plot.weights(model)

# %%
# The components have no natural order, so the true shares are sorted in the same way.

nearest = [np.linalg.norm(model.means_[0] - centre, axis=1).argmin() for centre in centres]
difference = np.abs(model.weights_[:, nearest] - shares).max()
print(f"largest difference to the true shares: {difference:.2f}")
