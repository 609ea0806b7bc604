"""Check plug-ins by importing them, before any job does."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from fedmix import plugins
from fedmix.errors import ConfigurationError


def plugin_errors() -> Iterator[str]:
    """Yield why a module of plug-ins cannot be imported, with its file and line.

    The decorator ``register`` checks each method's constraints at import.
    """
    for module, path in plugins.modules().items():
        try:
            import_module(module)
        except ConfigurationError as error:
            yield from (f"{path}: {problem}" for problem in error.problems)
        except (Exception, SystemExit) as error:  # whatever a file does when it is imported
            yield f"{_place(path, error)}: {type(error).__name__}: {error}"


def _place(path: Path, error: BaseException) -> str:
    """Return the file and the last line of it that led to the error."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)
