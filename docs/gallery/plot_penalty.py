"""
Choosing a penalty without labels
=================================

FedGrEM's ``penalty_scale`` decides how strongly clients are tied together. A large value helps
similar clients and harms different ones. Held-out likelihood finds a good value without labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from fedmix import methods, selection
from fedmix.metrics.matching import misclustering

scales = [2.0**k for k in range(-5, 4)]
centres = 2.8 * np.eye(4)


def simulate(difference):
    """Return ten clients with 40 points. Their centres differ by ``difference`` from the mean."""
    rng = np.random.default_rng(1)
    labels = [rng.integers(4, size=40) for _ in range(10)]
    shifts = difference / 2 * rng.normal(size=(10, 4, 4))
    return [
        (centres + shift)[own] + rng.normal(size=(40, 4))
        for own, shift in zip(labels, shifts, strict=True)
    ], labels


def error(xs, labels, scale):
    """Return the share of wrong labels in percent, averaged over clients."""
    found = methods.FedGrEM(4, penalty_scale=scale, tol=1e-3).fit_predict(xs)
    return 100 * np.mean([misclustering(*pair) for pair in zip(labels, found, strict=True)])


# %%
# Each curve shows the error for one difference between clients. A circle marks the value that was
# chosen without labels.

figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
errors, chosen = {}, {}
for difference in (0.0, 2.0):
    xs, labels = simulate(difference)
    errors[difference] = [error(xs, labels, scale) for scale in scales]
    search = selection.choose(methods.FedGrEM(4, tol=1e-3), xs, {"penalty_scale": scales})
    chosen[difference] = search.best_parameters["penalty_scale"]
    (line,) = axis.plot(scales, errors[difference], ".-", label=f"difference {difference}")
    place = scales.index(chosen[difference])
    axis.plot(scales[place], errors[difference][place], "o", color=line.get_color(), ms=11)
axis.set(xlabel="penalty_scale", ylabel="wrong labels (%)")
axis.set_xscale("log", base=2)
legend = axis.legend()
