"""Reports: JSON first; the HTML page and its charts are renderings of it.

`page` holds the structure (a `Page` of `Section`s of blocks), `charts` turns numbers into
Vega-Lite specifications, `drawing` turns those into SVG. Nothing here computes a guarantee.
"""

from __future__ import annotations

from shoal.report import charts
from shoal.report.drawing import svg
from shoal.report.page import Callout, Chart, Code, Fact, Facts, Page, Section, Table

__all__ = [
    "Callout",
    "Chart",
    "Code",
    "Fact",
    "Facts",
    "Page",
    "Section",
    "Table",
    "charts",
    "svg",
]
