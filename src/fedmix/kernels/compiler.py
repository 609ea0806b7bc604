"""Numba's compiler with an optional cache: a damaged or full cache is ignored."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache

_told = False


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable], Any]:
    """Compile as ``numba.njit`` does, and ignore a cache that cannot be used.

    Numba itself ends with an ``EOFError`` or an ``OSError`` where a file of its cache is cut off or
    the disk is full.
    """

    def decorate(function: Callable) -> Any:
        compiled = numba.njit(**options)(function)
        if cache:
            compiled._cache = _cache_of(function)
        return compiled

    return decorate


class _ForgivingCache(FunctionCache):
    """A cache that compiles if loading fails, and continues if saving fails."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle can raise any error
            _tell(self.cache_path, error)
        try:
            self.flush()  # start a new index, so that newly compiled code is found again
        except OSError:
            self.disable()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _tell(self.cache_path, error)
            self.disable()


def _cache_of(function: Callable) -> FunctionCache | NullCache:
    try:
        return _ForgivingCache(function)
    except (RuntimeError, OSError) as error:  # no folder is writable
        _tell("its folder", error)
        return NullCache()


def _tell(place: str, error: Exception) -> None:
    global _told
    if not _told:
        _told = True
        warnings.warn(
            f"Numba's cache of compiled code cannot be used ({place}: {type(error).__name__}: "
            f"{error}). Kernels are compiled anew, which takes up to a minute; deleting the folder "
            "is safe.",
            RuntimeWarning,
            stacklevel=4,
        )
