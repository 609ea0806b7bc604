"""Methods that lie outside fedmix: in a folder of one's own, and in installed packages.

The files of the folder that ``plugins`` of the configuration names, or the environment variable
FEDMIX_PLUGINS, are modules below this one: ``my_methods/mine.py`` is ``fedmix.plugins.mine``. An
installed package names modules as entry points of the group ``fedmix.methods``. Neither is imported
before one of its methods is used: planning a run reads source text.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from fedmix.errors import ConfigurationError

VARIABLE = "FEDMIX_PLUGINS"
GROUP = "fedmix.methods"

#: Where Python looks for the modules below this one; it makes this module a package to it.
__path__: list[str] = []


def use_folder(folder: str | os.PathLike | None) -> None:
    """Look for methods in a folder from now on, here and in all processes started from here.

    Parameters
    ----------
    folder : path-like, optional
        By default that of the environment variable FEDMIX_PLUGINS, if it is set.

    Raises
    ------
    ConfigurationError
        If it is not a folder.
    """
    folder = folder or os.environ.get(VARIABLE)
    if folder and not Path(folder).is_dir():
        raise ConfigurationError(
            f"The folder of plug-ins {folder} is not there. Give plugins=<folder> (or {VARIABLE}) "
            "an existing folder with methods, or leave it out."
        )
    __path__.clear()
    if folder:
        os.environ[VARIABLE] = str(Path(folder).resolve())
        __path__.append(os.environ[VARIABLE])


def modules() -> dict[str, Path]:
    """Return the modules that may hold methods, with their files; nothing is imported.

    Raises
    ------
    ConfigurationError
        If an entry point names a module that is not there.
    """
    own = {f"{__name__}.{p.stem}": p for f in __path__ for p in sorted(Path(f).glob("[a-z]*.py"))}
    return {**own, **_installed()}


def packages() -> set[str]:
    """Return the top-level packages of installed methods."""
    return {name.partition(".")[0] for name in _installed()}


def path_of(module: str) -> Path | None:
    """Return the file of a module below this one or an installed one; None if there is none."""
    if module.startswith(f"{__name__}."):
        return _file(__path__, module.removeprefix(f"{__name__}.").split("."))
    top, *rest = module.split(".")
    spec = find_spec(top)
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin else None
    return _file(spec.submodule_search_locations or [], rest)


def _file(folders: list[str], names: list[str]) -> Path | None:
    bases = [Path(folder, *names) for folder in folders]
    candidates = [p for base in bases for p in (base.with_suffix(".py"), base / "__init__.py")]
    return next((path for path in candidates if path.is_file()), None)


@cache
def _installed() -> dict[str, Path]:
    """Return the modules that entry points name."""
    found = {}
    for point in entry_points(group=GROUP):
        path = path_of(point.module)
        if path is None:
            raise ConfigurationError(
                f"The entry point {point.name!r} of {GROUP} names the module {point.module}, which "
                "is not there. Install its package again, or uninstall it."
            )
        found[point.module] = path
    return found


use_folder(None)
