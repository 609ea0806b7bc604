"""
Which methods differ?
=====================

``fedmix.compare`` gives all methods the same splits and starts. The rank plot shows which methods
the replications can tell apart.
"""

import numpy as np

from fedmix import compare, methods

rng = np.random.default_rng(0)
centres = 2.8 * np.eye(4)
labels = [rng.integers(4, size=40) for _ in range(15)]
xs = [centres[own] + rng.normal(size=(40, 4)) for own in labels]

# %%
# A method is an estimator with its own parameters, a class, or a name.

found = compare(
    [methods.FedGrEM(), "FedEM", "LocalEM", "KFED", "FedKMeans"],
    xs,
    labels,
    replications=10,
    progress=False,
)
axis = found.plot("ari_pooled")

# %%
# Grey lines on the right join methods that do not differ. Clients with 40 points gain by an
# exchange in every round, and it hardly matters by which method. The table has all scores:

found
