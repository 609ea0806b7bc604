"""Pictures of clients, models and comparisons: Matplotlib axes in, axes out.

Each function draws on the axes that it is given, or on new ones, and returns them. Methods keep
their colours in all pictures; :func:`fedmix.plot.style.house_style` gives the style of fedmix's own
figures.
"""

from fedmix.plot.points import clusters, weights
from fedmix.plot.scores import contamination, ranks, trajectories

__all__ = ["clusters", "contamination", "ranks", "trajectories", "weights"]
