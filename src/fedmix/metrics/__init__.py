"""Scores of labels and estimates."""

from fedmix.metrics.matching import estimation_error, misclustering

__all__ = ["estimation_error", "misclustering"]
