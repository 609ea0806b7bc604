"""The page that a reader opens: scorecard, tables, figures, claims, discrepancies, provenance."""

from fedmix.views.page.build import Figure, PageContext, build_page

__all__ = ["Figure", "PageContext", "build_page"]
