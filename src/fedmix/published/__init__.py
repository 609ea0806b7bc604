"""The papers' printed numbers, each matched to a cell of ours.

``data/published/*.csv`` holds the numbers as printed, ``config/published.yaml`` says which cell of
ours (study, setting, method, metric) each one is held against.
"""

from fedmix.published.cells import load, read_mapping
from fedmix.published.matching import unmatched

__all__ = ["load", "read_mapping", "unmatched"]
