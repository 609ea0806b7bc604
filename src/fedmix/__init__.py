"""fedmix reproduces and audits the experiments of federated mixture learning.

``Clients`` holds the data of many clients, ``methods`` the estimators, and ``align`` matches
component labels across clients. A module is imported when its name is first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.5.0"

_LAZY_OBJECTS = {
    "Clients": "fedmix.clients",
    "align": "fedmix.alignment",
    "compare": "fedmix.comparison",
}
_LAZY_MODULES = (
    "data",
    "embed",
    "families",
    "methods",
    "metrics",
    "plot",
    "preprocessing",
    "selection",
    "simulate",
)

__all__ = [*_LAZY_OBJECTS, *_LAZY_MODULES]


def __getattr__(name: str) -> Any:
    if name in _LAZY_OBJECTS:
        return getattr(import_module(_LAZY_OBJECTS[name]), name)
    if name in _LAZY_MODULES:
        return import_module(f"fedmix.{name}")
    raise AttributeError(f"module 'fedmix' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
