"""The methods, by their registered names: ``fedmix.methods.FedGrEM``."""

from __future__ import annotations

from fedmix.errors import nearest_names
from fedmix.methods.capabilities import get, index, use_plugins

__all__ = ["get", "index", "use_plugins"]


def __getattr__(name: str) -> type:
    if name in index():
        return get(name)
    raise AttributeError(f"fedmix.methods has no method {name!r}. {nearest_names(name, index())}")


def __dir__() -> list[str]:
    return sorted([*globals(), *index()])
