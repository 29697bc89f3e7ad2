"""One look for every chart, and the only place that draws: a Vega-Lite specification in, SVG out.

Colours are drawn from `PALETTE` and leave as CSS variables with the light colour as fallback, so
the same drawing follows a page into dark mode and still stands alone. The two main hues, blue and
orange, differ in lightness too: they stay apart for colour-blind readers and on a grey printer.
"""

from __future__ import annotations

import json
import textwrap
import unicodedata
from typing import Any
from xml.etree import ElementTree

from shoal.core.errors import UsageError

Spec = dict[str, Any]

#: name -> (on white, on dark); the page's style sheet gets both.
PALETTE = {
    "paper": ("#ffffff", "#141c22"),
    "ink": ("#1b2a35", "#e8edf0"),
    "quiet": ("#566570", "#a3b1bb"),
    "line": ("#dde3e7", "#323f49"),
    "track": ("#edf1f3", "#26323b"),
    "band": ("#d3e3ee", "#2b4558"),
    "before": ("#d0761a", "#f0b268"),
    "after": ("#12557f", "#6fb4df"),
    "alarm": ("#a8281e", "#e8604e"),
    "rest": ("#84919b", "#64727d"),
    "step-1": ("#539a85", "#4d8377"),
    "step-2": ("#3a858f", "#4f98a3"),
    "step-3": ("#2b6f93", "#5fb0cc"),
    "step-4": ("#225682", "#86c5ea"),
    "step-5": ("#1a3b66", "#b5d9f5"),
    "step-6": ("#121c38", "#e6f2fb"),
}
"""The steps are for what has an order: from near the page to far from it. What lines and marks are
drawn in has a contrast of 3 to 1 at the least, on white and on dark."""
COLOUR = {name: light for name, (light, _) in PALETTE.items()}
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
WIDTH = 680

_AXIS = {
    "labelColor": COLOUR["quiet"],
    "titleColor": COLOUR["quiet"],
    "gridColor": COLOUR["line"],
    "domainColor": COLOUR["line"],
    "labelFontSize": 12.5,
    "titleFontSize": 12.5,
    "titleFontWeight": "normal",
    "titlePadding": 12,
    "titleAnchor": "start",
    "labelPadding": 8,
    "labelLimit": 220,
    "ticks": False,
}
THEME: Spec = {
    "aria": False,  # the drawing is one image with one label; its parts are not read aloud
    "background": "transparent",
    "font": FONT,
    "padding": {"left": 0, "right": 6, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "axis": _AXIS,
    "title": {
        "anchor": "start",
        "color": COLOUR["ink"],
        "fontSize": 16,
        "fontWeight": 600,
        "lineHeight": 22,
        "offset": 16,
    },
    "legend": {
        "orient": "top",
        "title": None,
        "labelColor": COLOUR["ink"],
        "labelFontSize": 13,
        "labelLimit": 320,
        "symbolSize": 130,
        "columnPadding": 44,
        "rowPadding": 6,
        "offset": 14,
    },
    "text": {"fontSize": 12},
}
_SVG = "http://www.w3.org/2000/svg"


def make_chart(
    title: str, about: str, values: list[Spec], columns: dict[str, str], **body: Any
) -> Spec:
    """A Vega-Lite specification with its data inline.

    ``title`` says the finding and ``about`` what is drawn (the text for screen readers).
    ``columns`` maps the fields worth reading to their headings: the table behind the chart.
    Every text in it becomes `clean_text` here, whoever wrote it: a name, a value, a sentence.
    """
    spec: Spec = _plain(
        {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "title": textwrap.wrap(clean_text(title), 76) or "",
            "description": about,
            "width": WIDTH,
            "autosize": {"type": "fit-x", "contains": "padding"},
            "data": {"values": values},
            "usermeta": {"columns": columns},
            "config": THEME,
            **body,
        }
    )
    return spec


def make_empty_chart(title: str) -> Spec:
    """A chart without a drawing; its title says why."""
    return make_chart(title, "Nothing is drawn.", [], {}, height=1, mark="rule", encoding={})


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _plain(part) for key, part in node.items()}
    if isinstance(node, list | tuple):
        return [_plain(part) for part in node]
    if isinstance(node, str):
        return clean_text(node)
    return node.item() if hasattr(node, "item") else node


def join_title(spec: Spec) -> str:
    """Return the chart's title as one line."""
    title = spec.get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    return text if isinstance(text, str) else " ".join(text)


def tabulate_chart(spec: Spec) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """The headings and rows behind a chart that `make_chart` made; empty for any other."""
    columns: dict[str, str] = spec.get("usermeta", {}).get("columns", {})
    rows = spec.get("data", {}).get("values", []) if columns else []
    return tuple(columns.values()), tuple(tuple(row[f] for f in columns) for row in rows)


def draw_svg(spec: Spec, *, adaptive: bool = True, heading: bool = True) -> str:
    """Draw a specification as an SVG element without script, labelled for screen readers.

    ``adaptive`` writes colours as CSS variables (for a browser); turn it off for a PDF.
    ``heading=False`` leaves the title out of the picture, for pages that print it as text.
    """
    import vl_convert

    _refuse_addresses(spec)
    spec_drawn = spec if heading else {k: v for k, v in spec.items() if k != "title"}
    # JSON text and not the dict: vl-convert would read a NaN; json refuses it here.
    text = vl_convert.vegalite_to_svg(json.dumps(spec_drawn, allow_nan=False), allowed_base_urls=[])
    return _label(text, join_title(spec), str(spec.get("description", "")), adaptive)


def clean_text(text: object) -> str:
    """Text fit for a label: a missing value is named, control characters are gone.

    >>> clean_text(None), clean_text("a\\x00b")
    ('(missing)', 'ab')
    """
    if text is None:
        return "(missing)"
    return "".join(c for c in str(text) if unicodedata.category(c) not in ("Cc", "Cs", "Cn"))


def _label(text: str, title: str, about: str, adaptive: bool) -> str:
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(text)
    if adaptive:
        for element in root.iter():
            _follow_page(element)
    for place, (tag, words) in enumerate((("title", title), ("desc", about))):
        element = ElementTree.Element(f"{{{_SVG}}}{tag}")
        element.text = words
        root.insert(place, element)
    root.set("role", "img")
    root.set("aria-label", f"{title}. {about}" if title else about)
    return ElementTree.tostring(root, encoding="unicode")


def _follow_page(element: ElementTree.Element) -> None:
    names = {light: name for name, light in COLOUR.items()}
    for paint in ("fill", "stroke"):
        colour = (element.get(paint) or "").lower()
        if colour in names:
            element.set(paint, f"var(--{names[colour]}, {colour})")


def _refuse_addresses(node: Any) -> None:
    # A report must draw offline and tell nobody that it is read: data stands in the chart.
    if isinstance(node, dict):
        if "url" in node:
            raise UsageError(
                "A chart refers to data at an address.", "Put the numbers in data.values."
            )
        for key, part in node.items():
            if key != "values":
                _refuse_addresses(part)
    elif isinstance(node, list):
        for part in node:
            _refuse_addresses(part)
