"""
The methods for points, side by side
====================================

Fifteen methods cluster the same ten clients. The points of all clients are drawn together, coloured
by cluster. Each client is shifted a little, and each method knows that a client has three clusters.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedmix import Clients, methods

rng = np.random.default_rng(0)
centres = np.array([[0, 0], [6, 0], [3, 5]])
labels = [rng.integers(3, size=40) for _ in range(10)]
shifts = 0.5 * rng.normal(size=(10, 2))
xs = [centres[own] + rng.normal(size=(40, 2)) for own in labels]
clients = Clients.from_arrays([x + shift for x, shift in zip(xs, shifts, strict=True)])

# %%
# Some methods take the number of clusters of all clients together. FedGEM, LocalKMeans, AFCL and
# CentralDPGMM take the clients' own numbers, and find the number of all.

names = ["FedEM", "FedGrEM", "TGMM", "LocalEM", "LocalGradientEM", "PooledEM", "PooledGradientEM"]
names += ["CentralGMM", "KFED", "FedKMeans", "FFCM", "FedGEM", "LocalKMeans", "CentralDPGMM"]
names += ["AFCL"]
given = {"n_components": 3, "n_clusters": 3, "components_per_client": 3, "final_radius_scale": 0.5}

figure, axes = plt.subplots(3, 5, figsize=(10, 6.5), sharex=True, sharey=True, layout="constrained")
found = {}
for axis, name in zip(axes.flat, names, strict=True):
    method = methods.get(name)()
    own = given.keys() & method.get_params().keys()
    model = method.set_params(**{key: given[key] for key in own}).fit(clients)
    predict = getattr(model, "predict_clusters", model.predict)  # labels that clients share
    found[name] = np.unique(np.concatenate(predict(clients)), return_inverse=True)[1]
    axis.scatter(*clients.points.T, c=found[name], s=4, cmap="tab20", vmin=0, vmax=19)
    axis.set_title(f"{name}\n{1 + found[name].max()} clusters", fontsize="medium")
