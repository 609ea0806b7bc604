"""What a variant of a study stands for: whose way of running the experiment it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

AUTHORS, WRITTEN, NEAREST, FAIR, DIAGNOSTIC = "authors", "written", "nearest", "fair", "diagnostic"
#: What each role says, in words; of the roles that one variant of a study can have.
SOURCES = {
    AUTHORS: "as the authors ran it: their program, or what is inferred of it",
    WRITTEN: "what the text says",
    NEAREST: "the protocol of the search that comes nearest to the print",
    FAIR: "slips mended, and strong baselines",
}
#: Besides, any number of variants that only show what one switch does.
ROLES = (*SOURCES, DIAGNOSTIC)


def repeated(roles: Iterable[str]) -> Iterator[str]:
    """Yield every role but :data:`DIAGNOSTIC` that occurs again."""
    seen = set()
    for role in roles:
        if role in seen and role != DIAGNOSTIC:
            yield role
        seen.add(role)


def headline(roles: Iterable[str]) -> str:
    """Return the role that answers for a paper: the authors', else the text's.

    Where neither was run, nothing answers: the empty string.
    """
    present = set(roles)
    return next((role for role in (AUTHORS, WRITTEN) if role in present), "")
