"""Scores of labels and estimates."""

from fedmix.metrics.matching import estimation_error, misclustering
from fedmix.metrics.normality import henze_zirkler

__all__ = ["estimation_error", "henze_zirkler", "misclustering"]
