"""Methods outside fedmix, in the user's own folder or in installed packages.

The setting ``plugins`` of the configuration, or the environment variable FEDMIX_PLUGINS, names the
folder. Its files become modules below this one: ``my_methods/mine.py`` is ``fedmix.plugins.mine``.
An installed package declares its modules as entry points of the group ``fedmix.methods``. A module
is imported when one of its methods is first used. Planning a run only reads the source text.
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

#: Where Python looks for the modules below this one. It makes this module a package.
__path__: list[str] = []


def use_folder(folder: str | os.PathLike | None) -> None:
    """Use the methods of a folder from now on, in this process and in those that it starts.

    By default it is the folder of the environment variable FEDMIX_PLUGINS, if that is set. Raises
    ConfigurationError if the folder does not exist or is a file.
    """
    folder = folder or os.environ.get(VARIABLE)
    if folder and Path(folder).is_file():
        raise ConfigurationError(
            f"{folder} is a file, not a folder of plug-ins. Set plugins=<folder> (or {VARIABLE}) "
            f"to its folder, {Path(folder).resolve().parent}."
        )
    if folder and not Path(folder).is_dir():
        raise ConfigurationError(
            f"The folder of plug-ins {folder} does not exist. Set plugins=<folder> (or {VARIABLE}) "
            "to an existing folder with methods, or leave it out."
        )
    __path__.clear()
    if folder:
        os.environ[VARIABLE] = str(Path(folder).resolve())
        __path__.append(os.environ[VARIABLE])


def modules() -> dict[str, Path]:
    """Return the modules that can contain methods, with their files. Nothing is imported.

    Files whose names begin with an underscore or a dot are left out. Raises ConfigurationError if
    an entry point names a module that does not exist.
    """
    own = {f"{__name__}.{p.stem}": p for f in __path__ for p in sorted(Path(f).glob("[!_.]*.py"))}
    return {**own, **_installed()}


def packages() -> set[str]:
    """Return the top-level packages of installed methods."""
    return {name.partition(".")[0] for name in _installed()}


def path_of(module: str) -> Path | None:
    """Return the file of a plug-in's or an installed module; None if there is none."""
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
                "does not exist. Reinstall or uninstall its package."
            )
        found[point.module] = path
    return found


use_folder(None)
