"""
How many clusters are there?
============================

FedGEM is given how many components each client has, and finds out which of them are the same. The
result depends on its parameter v (``final_radius_scale``). ``fedmix.selection.choose`` chooses v
without labels.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from fedmix import methods, selection
from fedmix.errors import SelectionWarning

warnings.simplefilter("ignore", SelectionWarning)  # v is chosen below

rng = np.random.default_rng(0)
centres = np.array([[0, 0], [8, 0], [0, 8], [8, 8], [16, 4]])
classes = [rng.permutation(5)[:3] for _ in range(12)]
xs = [centres[rng.choice(own, size=90)] + rng.normal(size=(90, 2)) for own in classes]

# %%
# Each of the 12 clients has points of three of the five clusters. With a small v nothing is merged,
# with a large v everything is.

scales = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]
model = methods.FedGEM(components_per_client=3, random_state=0)
chosen = selection.choose(model, xs, {"final_radius_scale": scales})
best = chosen.best_parameters["final_radius_scale"]
print(f"v = {best}: {chosen.best_estimator.n_clusters_} clusters")

# %%
# Held-out likelihood chooses a v on the flat part of the curve, where the number is right.

models = [methods.FedGEM(3, final_radius_scale=v, random_state=0) for v in scales]
numbers = [model.fit(xs).n_clusters_ for model in models]
figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
axis.plot(scales, numbers, "o-")
axis.axhline(len(centres), color="grey", linestyle=":", label="true number")
axis.axvline(best, color="tab:orange", label="chosen without labels")
axis.set(xscale="log", xlabel="v", ylabel="clusters found")
legend = axis.legend()
