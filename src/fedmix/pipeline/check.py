"""Check everything that a run would check, before it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fedmix.configuration import raise_all
from fedmix.errors import ConfigurationError
from fedmix.pipeline.request import Request


def check(read: Callable[[], Request], paper: str | None = None) -> Iterator[str]:
    """Yield what was checked, if nothing is wrong.

    Parameters
    ----------
    read : callable
        Reads the request, which checks all of the configuration and imports the plug-ins.
    paper : str, optional
        A folder of ``config/papers`` or ``config/beyond``. Problems elsewhere are only counted.

    Raises
    ------
    ConfigurationError
        With all problems, one a line.
    """
    try:
        request = read()
    except ConfigurationError as error:
        own = [problem for problem in error.problems if paper and f"/{paper}/" in problem]
        if not paper:
            raise
        raise_all(own)
        elsewhere = len(error.problems)
        yield f"No problem in {paper}. Elsewhere there are {elsewhere}: leave out --paper."
        return
    if paper and paper not in request.papers:
        raise ConfigurationError(
            f"There is no paper {paper!r}. There are {', '.join(request.papers)}."
        )
    n_settings = sum(len(study.settings) for study in request.studies.values())
    yield (
        f"No problem found in {len(request.papers)} papers and comparisons, in all presets. The "
        f"preset {request.options['preset']} has {len(request.studies)} studies, {n_settings} "
        f"settings, and {len(request.items)} tables and figures."
    )
