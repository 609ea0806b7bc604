"""From a data set to clients: who owns which point, who is contaminated, and in which scale."""

from fedmix.partition.contamination import (
    CONTAMINATIONS,
    Reference,
    choose_contaminated,
    contaminate,
)
from fedmix.partition.scaling import (
    SCALINGS,
    jitter_constant_columns,
    scale,
    standardize_clients,
)
from fedmix.partition.split import by_group, train_test_split, uniform

__all__ = [
    "CONTAMINATIONS",
    "SCALINGS",
    "Reference",
    "by_group",
    "choose_contaminated",
    "contaminate",
    "jitter_constant_columns",
    "scale",
    "standardize_clients",
    "train_test_split",
    "uniform",
]
