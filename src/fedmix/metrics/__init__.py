"""Scores of labels and estimates."""

from fedmix.metrics.mixture import estimation_error, misclustering

__all__ = ["estimation_error", "misclustering"]
