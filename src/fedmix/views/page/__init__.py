"""The pages that a reader opens: the scorecard, and a page for each published table."""

from fedmix.views.page.build import build_pages
from fedmix.views.page.contents import Figure, PageContext, Search, read_context

__all__ = ["Figure", "PageContext", "Search", "build_pages", "read_context"]
