"""A page: a title, sections, and blocks of seven kinds; JSON first, HTML a rendering of it.

The HTML is one file that needs nothing: no script, no network, no font; its content policy forbids
them. It follows the reader's light or dark setting, prints well, and keeps a table of the numbers
behind every chart.

>>> page = Page("Release", (Section("Result", ("All is well.",), (KeyFacts((Fact("k", 10),)),)),))
>>> Page.from_json(page.to_json()) == page
True
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.core.atomic_file import write_file
from shoal.core.errors import InputError, OutputError, UsageError
from shoal.reports.charts.theme import PALETTE, Spec, draw_svg, join_title, tabulate_chart

if TYPE_CHECKING:
    import jinja2
    import markupsafe

EDITION = 1
TONES = ("note", "good", "warning", "danger")
_NEARBY = re.compile(r"(?!/)[\w./#-]+")
_UP = ".."
_ENDINGS = (".html", ".htm", ".json")
_SKIP = '<a class="skip" href="#main">Skip to the report</a>'
"""What every page has, by which it is known again."""
_NUMERIC = re.compile(r"[<>≤≥~−-]?\s?[\d,.]+\s?%?(\s±\s[\d,.]+)?|∞|–")


@dataclass(frozen=True)
class NotedText:
    """Text in a table, with a note below it; lines are kept, `backticks` set code in the note.

    ``tone`` sets the text off, for a word that also reads without colour; ``link`` leads to a file
    beside the page or below it, for a page refers to nothing else.
    """

    text: str
    note: str = ""
    tone: str = ""
    link: str = ""

    def __post_init__(self) -> None:
        if self.tone and self.tone not in TONES:
            raise UsageError("A note has an unknown tone.", f"Use one of {', '.join(TONES)}.")
        parts = self.link.partition("#")[0].split("/")
        if self.link and (_UP in parts or not _NEARBY.fullmatch(self.link)):
            raise UsageError(
                "A page links to files beside it only.", "Name the file relative to the page."
            )


Scalar = str | int | float | bool | None
Entry = Scalar | tuple[NotedText, ...]


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification; its title becomes the caption, its data a table to unfold."""

    kind: ClassVar[str] = "chart"
    spec: Spec = field(hash=False)
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Headings and rows of numbers (numpy's too), text, or text with a note.

    A ``folded`` one shows its caption alone until it is opened.
    """

    kind: ClassVar[str] = "table"
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    folded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        rows = tuple(tuple(_to_entry(cell) for cell in row) for row in self.rows)
        object.__setattr__(self, "rows", rows)
        ragged = sum(len(row) != len(self.columns) for row in rows)
        if ragged:
            raise UsageError(
                f"{ragged} rows of a table do not have its {len(self.columns)} columns.",
                "Give one cell for each column.",
            )


@dataclass(frozen=True)
class Callout:
    """A sentence that must not be missed; ``tone`` is note, good, warning or danger."""

    kind: ClassVar[str] = "callout"
    text: str
    tone: str = "note"
    heading: str = ""

    def __post_init__(self) -> None:
        if self.tone not in TONES:
            raise UsageError("A callout has an unknown tone.", f"Use one of {', '.join(TONES)}.")


@dataclass(frozen=True)
class Fact:
    """One number with its name, and a few words on what it means."""

    label: str
    value: Any
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _to_scalar(self.value))


def _to_facts(items: Iterable[Fact | dict[str, Any]]) -> tuple[Fact, ...]:
    return tuple(item if isinstance(item, Fact) else Fact(**item) for item in items)


@dataclass(frozen=True)
class KeyFacts:
    """The numbers to see first, in a row."""

    kind: ClassVar[str] = "facts"
    items: tuple[Fact, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _to_facts(self.items))


@dataclass(frozen=True)
class Code:
    """Text to be typed or read as it is."""

    kind: ClassVar[str] = "code"
    text: str
    caption: str = ""


@dataclass(frozen=True)
class Text:
    """A smaller heading and paragraphs, to begin a part of a section."""

    kind: ClassVar[str] = "text"
    heading: str
    paragraphs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "paragraphs", tuple(self.paragraphs))


@dataclass(frozen=True)
class Fields:
    """Names and what is filled in for them; nothing leaves a line to fill in by hand."""

    kind: ClassVar[str] = "fields"
    items: tuple[Fact, ...]
    caption: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _to_facts(self.items))


Block = Chart | Table | Callout | KeyFacts | Code | Text | Fields
_BLOCKS: tuple[type[Block], ...] = (Chart, Table, Callout, KeyFacts, Code, Text, Fields)
_KINDS: dict[str, type[Block]] = {block.kind: block for block in _BLOCKS}


@dataclass(frozen=True)
class Section:
    """A heading, some paragraphs (`backticks` set code), and blocks below them."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "paragraphs", tuple(self.paragraphs))
        object.__setattr__(self, "blocks", tuple(self.blocks))


@dataclass(frozen=True)
class Page:
    """A whole report. ``lead`` stands under the title, ``foot`` at the end.

    ``data`` holds the facts for programs: it is in the JSON only.
    """

    title: str
    sections: tuple[Section, ...]
    lead: str = ""
    foot: str = ""
    language: str = "en-GB"
    data: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sections", tuple(self.sections))

    def to_json(self) -> dict[str, Any]:
        """The page as plain lists, dicts and scalars, with its edition."""
        return {"edition": EDITION, **_to_plain(self)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Page:
        """The page that `to_json` wrote."""
        if document.get("edition") != EDITION:
            raise InputError(
                f"The report is not of edition {EDITION}.", "Read it with the Shoal that wrote it."
            )
        try:
            rest = {k: v for k, v in document.items() if k not in ("edition", "sections")}
            return cls(sections=tuple(_read_section(s) for s in document["sections"]), **rest)
        except (KeyError, TypeError) as error:
            raise InputError("The report's JSON lacks a field or has one too many.") from error

    def html(self) -> str:
        """The page as one self-contained HTML document."""
        return _load_templates().get_template("page.html").render(page=self, palette=PALETTE)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write ``.html`` or ``.json``, whole or not at all; returns the path.

        Only a page that Shoal wrote is replaced. One whose ``data`` says that it is not public is
        for its owner's eyes, and never goes into a release folder.
        """
        target, internal = Path(path), self.data.get("public") is False
        check_page_place(target, internal, "page")
        if target.suffix == ".json":
            text = json.dumps(self.to_json(), ensure_ascii=False, indent=1, allow_nan=False)
        else:
            text = self.html()
        write_file(target, text, mode=0o600 if internal else 0o666)
        return target


def check_page_place(target: Path, internal: bool, name: str = "report") -> None:
    """Refuse where a page, by its ``name`` for people, cannot be written, or must not be."""
    if target.suffix not in _ENDINGS:
        raise UsageError(f"A {name} is written as HTML or JSON.", f"Name it {name}.html.")
    folder = target.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"The {name} cannot be written: its folder does not exist or is closed to you.",
            "Choose a folder you can write to.",
        )
    if target.exists() and not _is_own_page(target):
        raise OutputError(
            f"{target.name!r} exists and is not a {name}; it is not replaced.",
            "Name another file.",
        )
    if internal and any(_is_release(parent) for parent in target.resolve().parents):
        raise OutputError(
            f"A {name} that is not for the public may not lie in a release folder.",
            f"Write it elsewhere{', or make it public: --public' if name == 'report' else ''}.",
        )


def _is_own_page(target: Path) -> bool:
    """Whether a file is a page that Shoal wrote, or empty."""
    if target.suffix == ".json" and _has_keys(target, {"edition", "title", "sections"}):
        return True
    try:
        text = target.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return not text or (target.suffix != ".json" and _SKIP in text)


def _is_release(folder: Path) -> bool:
    """Whether a release lies there: its manifest says what file and columns it publishes."""
    return _has_keys(folder / "manifest.json", {"edition", "file", "columns"})


def _has_keys(path: Path, keys: set[str]) -> bool:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and keys <= document.keys()


def _to_plain(value: Any) -> Any:
    """Dataclasses as dicts (a block with its kind), tuples as lists."""
    if hasattr(value, "__dataclass_fields__"):
        kind = {"kind": value.kind} if hasattr(value, "kind") else {}
        return kind | {f.name: _to_plain(getattr(value, f.name)) for f in fields(value)}
    return [_to_plain(v) for v in value] if isinstance(value, tuple | list) else value


def _read_section(document: dict[str, Any]) -> Section:
    blocks = []
    for block in document["blocks"]:
        values = dict(block)
        blocks.append(_KINDS[values.pop("kind")](**values))
    return Section(document["heading"], tuple(document["paragraphs"]), tuple(blocks))


def _to_entry(value: Any) -> Entry:
    """What stands in a table; several texts with notes stand one below the other."""
    if isinstance(value, list | tuple):
        return tuple(NotedText(**part) if isinstance(part, dict) else part for part in value)
    if isinstance(value, dict):
        return (NotedText(**value),)
    return (value,) if isinstance(value, NotedText) else _to_scalar(value)


def _to_scalar(value: Any) -> Scalar:
    """A cell that JSON can hold; numpy's numbers become Python's, infinity becomes its sign."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("∞" if value > 0 else "−∞")
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _format_cell(value: Entry) -> str:
    """A cell as people read it: thousands separated, three significant digits, a dash for none."""
    if isinstance(value, tuple):
        return "\n".join(part.text for part in value)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value == int(value)):
        return f"{int(value):,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return value


def _find_numeric_columns(rows: tuple[tuple[Entry, ...], ...]) -> list[bool]:
    """Which columns hold only numbers, to be set flush right; one with notes is text."""
    return [
        not any(isinstance(cell, tuple) and any(part.note for part in cell) for cell in column)
        and all(_NUMERIC.fullmatch(_format_cell(cell)) for cell in column)
        for column in zip(*rows, strict=True)
    ]


def _mark_up_code(text: str) -> markupsafe.Markup:
    """Escaped text in which `backticks` set code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part)
        for i, part in enumerate(parts)
    )


def _draw_chart(spec: Spec) -> markupsafe.Markup:
    from markupsafe import Markup

    return Markup(draw_svg(spec, heading=False))  # escaped by the drawing: it is well-formed XML


def _load_templates() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shoal.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "numeric_columns": _find_numeric_columns,
        "chart_table": lambda spec: Table(*tabulate_chart(spec)),
        "draw": _draw_chart,
        "headline": join_title,
        "inline": _mark_up_code,
        "format_cell": _format_cell,
    }
    environment.tests["noted"] = lambda value: isinstance(value, tuple)
    return environment
