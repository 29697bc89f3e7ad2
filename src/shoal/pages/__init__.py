"""Reports: JSON first; the HTML page and its charts are renderings of it.

`page` holds the structure (a `Page` of `Section`s of blocks); `charts`, `exposure` and `tested`
turn numbers into Vega-Lite specifications, `drawing` turns those into SVG. Nothing here computes
a guarantee.
"""

from __future__ import annotations

from shoal.pages import charts, exposure, tested
from shoal.pages.drawing import svg
from shoal.pages.noted import Noted
from shoal.pages.page import (
    Callout,
    Chart,
    Code,
    Fact,
    Facts,
    Fields,
    Page,
    Section,
    Table,
    Text,
)

__all__ = [
    "Callout",
    "Chart",
    "Code",
    "Fact",
    "Facts",
    "Fields",
    "Noted",
    "Page",
    "Section",
    "Table",
    "Text",
    "charts",
    "exposure",
    "svg",
    "tested",
]
