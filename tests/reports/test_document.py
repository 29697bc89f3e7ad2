"""Pages: JSON round trip, escaping, no script and no network, landmarks for screen readers."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from shoal.core.errors import InputError, OutputError, UsageError
from shoal.reports.charts import release
from shoal.reports.document import (
    Callout,
    Chart,
    Code,
    Fact,
    Fields,
    KeyFacts,
    Page,
    Section,
    Table,
    Text,
)

EVIL = "<script>alert(1)</script>&\"'"
VOID = {"meta", "br", "link", "img", "input"}


def sample(text: str = "plain") -> Page:
    blocks = (
        KeyFacts((Fact("People", 4812, text), Fact("Loss", np.float64(0.21345)))),
        Chart(release.chart_unique_by_columns(["age", text], [3, 4], 10), note=text),
        Table(("Column", text), (("age", np.int64(12345)), (text, 7)), caption=text),
        Callout(text, "danger", text),
        Code(text, text),
    )
    sections = tuple(Section(f"{text} {i}", (text,), blocks) for i in range(3))
    return Page(text, sections, lead=text, foot=text)


class Outline(HTMLParser):
    """Collects tags and their attributes, and checks that they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def outline(page: Page) -> Outline:
    parsed = Outline()
    parsed.feed(page.html())
    assert parsed.open == []
    return parsed


def test_json_round_trip_through_text() -> None:
    page = sample()
    document = json.loads(json.dumps(page.to_json(), allow_nan=False))
    assert document["edition"] == 1
    assert [block["kind"] for block in document["sections"][0]["blocks"]] == [
        "facts",
        "chart",
        "table",
        "callout",
        "code",
    ]
    assert Page.from_json(document) == page
    assert Page.from_json(document).html() == page.html()


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"edition": 2, "title": "x", "sections": []},
        {"edition": 1, "title": "x"},
        {"edition": 1, "title": "x", "sections": [], "surprise": 1},
        {
            "edition": 1,
            "title": "x",
            "sections": [{"heading": "h", "paragraphs": [], "blocks": [{"kind": "applet"}]}],
        },
    ],
)
def test_a_foreign_document_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Page.from_json(document)


def test_everything_is_escaped() -> None:
    page = sample(EVIL)
    assert "<script" not in page.html()
    assert not [tag for tag, _ in outline(page).seen if tag == "script"]


def test_nothing_runs_and_nothing_is_fetched() -> None:
    for _, attributes in outline(sample()).seen:
        assert not [name for name in attributes if name.startswith("on")]
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    html = sample().html()
    assert "default-src 'none'" in html
    assert "url(" not in html
    assert "@import" not in html


def test_landmarks_headings_and_anchors() -> None:
    elements = outline(sample()).seen
    tags = [tag for tag, _ in elements]
    for once in ("header", "nav", "main", "footer", "h1"):
        assert tags.count(once) == 1
    assert tags.count("h2") == 3
    identifiers = [a["id"] for _, a in elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    links = {(a["href"] or "")[1:] for tag, a in elements if tag == "a"}
    assert links <= set(identifiers)
    assert dict(elements)["html"]["lang"] == "en-GB"


def test_every_chart_has_its_table_and_a_name() -> None:
    elements = outline(sample()).seen
    drawings = [a for tag, a in elements if tag == "svg"]
    assert len(drawings) == 3 == sum(tag == "details" for tag, _ in elements)
    assert all(a["role"] == "img" and a["aria-label"] for a in drawings)


def test_light_dark_and_print() -> None:
    html = sample().html()
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    declared = set(re.findall(r"--(\w+):", html))
    assert set(re.findall(r"var\(--(\w+)", html)) <= declared


def test_backticks_set_code_and_an_odd_one_stays() -> None:
    html = Page("t", (Section("s", ("run `a<b>` now", "a lone ` mark")),)).html()
    assert "run <code>a&lt;b&gt;</code> now" in html
    assert "a lone ` mark" in html


def test_numbers_are_readable_and_set_flush_right() -> None:
    rows = (("age", 1234567, 0.21345, None), ("zip", 2, float("inf"), True))
    html = Page("t", (Section("s", (), (Table(("c", "n", "x", "y"), rows),)),)).html()
    for text in ("1,234,567", "0.213", "∞"):
        assert f'<td class="number">{text}</td>' in html
    assert "<td>–</td>" in html
    assert "<td>yes</td>" in html


def test_cells_that_json_cannot_hold_are_made_plain() -> None:
    table = Table(("a",), ((float("nan"),), (float("-inf"),), (np.int64(3),), (np.nan,)))
    assert table.rows == ((None,), ("−∞",), (3,), (None,))
    assert type(table.rows[2][0]) is int


def test_an_empty_table_and_an_empty_page_are_drawn() -> None:
    html = Page("t", (Section("s", (), (Table(("a", "b"), ()),)),)).html()
    assert '<th scope="col">a</th>' in html
    assert "<nav" not in Page("t", ()).html()


def test_wrong_blocks_are_refused() -> None:
    with pytest.raises(UsageError, match="1 rows"):
        Table(("a", "b"), ((1, 2), (1,)))
    with pytest.raises(UsageError, match="tone"):
        Callout("x", "shout")


def test_write_is_whole_or_nothing(tmp_path: Path) -> None:
    page = sample()
    assert page.write(tmp_path / "r.html").read_text(encoding="utf-8") == page.html()
    written = page.write(tmp_path / "r.json").read_text(encoding="utf-8")
    assert Page.from_json(json.loads(written)) == page
    assert sorted(os.listdir(tmp_path)) == ["r.html", "r.json"]
    with pytest.raises(UsageError, match="HTML or JSON"):
        page.write(tmp_path / "r.docx")
    with pytest.raises(OutputError, match="cannot be written"):
        page.write(tmp_path / "nowhere" / "r.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(OutputError):
        page.write(tmp_path / "folder.html")
    assert sorted(os.listdir(tmp_path)) == ["folder.html", "r.html", "r.json"]


def test_fields_leave_a_line_where_nothing_is_filled_in() -> None:
    fields = Fields((Fact("Publisher", "A `b` <c>", "(d)"), Fact("Approved by", ""), Fact("n", 0)))
    page = Page("t", (Section("s", (), (Text("Part", (EVIL,)), fields)),), data={"holds": True})
    html = page.html()
    assert html.count("to be filled in") == 1
    assert "A <code>b</code> &lt;c&gt;" in html
    assert "<h3>Part</h3>" in html
    assert "<script" not in html
    document = json.loads(json.dumps(page.to_json(), allow_nan=False))
    assert Page.from_json(document) == page
    assert document["data"] == {"holds": True}
    outline(page)
