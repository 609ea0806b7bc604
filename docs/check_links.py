"""Find dead links in the built documentation: ``python docs/check_links.py docs/_build``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The addresses that a page links to, and the names that can be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.names: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and its names."""
        values = {name: value for name, value in attrs if value}
        self.addresses += [values[name] for name in ("href", "src") if name in values]
        self.names |= {values[name] for name in ("id", "name") if name in values}


def dead_links(folder: Path) -> Iterator[str]:
    """Yield every link within a folder of pages that leads nowhere, with its page.

    Addresses in the network are not asked for.
    """
    folder = folder.resolve()
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            named = not parts.fragment or target not in pages
            if not target.exists() or not (named or unquote(parts.fragment) in pages[target].names):
                yield f"{path.relative_to(folder)}: {address}"


if __name__ == "__main__":
    dead = list(dead_links(Path(sys.argv[1])))
    sys.exit("\n".join(dead) if dead else 0)
