"""The generated reference covers what there is: every role, kind, hierarchy, key and format."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

import shoal
from shoal.core.column import KINDS, ROLES
from shoal.core.schema_toml import COLUMN_KEYS

DOCS = Path(__file__).parent.parent / "docs"
FORMATS = (
    "manifest",
    "counts manifest",
    "companion",
    "verdict",
    "audit",
    "finding",
    "red team",
    "forecast",
    "report",
    "admission",
    "ledger entry",
    "study",
)


@pytest.fixture(scope="module")
def generator():
    """The modules that write the reference, by name."""
    sys.path.insert(0, str(DOCS))
    try:
        names = ("reference", "reference_schema", "reference_formats", "reference_words")
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def pages(docs_copy) -> dict[str, str]:
    """Every page, as it is written."""
    written = (docs_copy / "docs/reference").glob("*.md")
    return {page.stem: page.read_text(encoding="utf-8") for page in written}


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without its head."""
    part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_every_page_is_written(generator, pages):
    assert set(pages) == set(generator["reference"].PAGES)
    assert all(text.startswith("# ") for text in pages.values())


def test_every_public_name_and_verb_is_there(pages):
    assert re.findall(r"^## (\w+)$", pages["python"], re.M) == list(shoal.__all__)
    verbs = re.findall(r"^## shoal ([a-z-]+)$", pages["command-line"], re.M)
    assert {"publish", "verify", "audit", "attack", "study"} <= set(verbs)


@pytest.mark.parametrize(
    ("heading", "known"), [("Keys of a column", COLUMN_KEYS), ("Roles", ROLES), ("Kinds", KINDS)]
)
def test_the_schema_s_words_are_all_there(pages, heading, known):
    found = rows(pages["schema"], heading)
    assert [row[0] for row in found] == [f"`{word}`" for word in known]
    assert all(cell for row in found for cell in row)


def test_every_hierarchy_is_shown_at_work(generator, pages):
    schema = generator["reference_schema"]
    shown = {type(schema._hierarchy(one)) for one in schema.HIERARCHIES}
    assert shown == set(schema.kinds_of_hierarchy())
    for one in schema.HIERARCHIES:
        labels = schema.widening(one)
        assert len(labels) > 2
        assert labels[-1] == "*"
        assert f"### `{one.written}`\n" in pages["schema"]


def test_a_hierarchy_is_shown_from_the_value_to_everything(generator):
    schema = generator["reference_schema"]
    (intervals,) = [one for one in schema.HIERARCHIES if "intervals" in one.written]
    assert schema.widening(intervals) == ["21", "[20-24]", "[20-29]", "[20-39]", "*"]


def test_every_format_is_described_with_its_edition(pages):
    headings = re.findall(r"^## (.+)$", pages["formats"], re.M)
    assert [one.lower() for one in headings] == list(FORMATS)
    assert len(re.findall(r"; edition \d+\.$", pages["formats"], re.M)) == len(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_every_key_has_a_type_and_a_meaning(pages, name):
    found = rows(pages["formats"], name.capitalize())
    assert found[0][0] == "`edition`"
    assert [row[0] for row in found if len(row) != 4 or not (row[1] and row[3])] == []


def test_keys_are_those_of_the_documents(generator, pages):
    formats = generator["reference_formats"]
    told = {row[0].strip("`") for row in rows(pages["formats"], "Verdict")}
    verdict = shoal.Verdict(True, "counted", 5, 1, (), 5)
    assert {line.path for line in formats.lines(verdict.to_json())} <= told
    tidy = {"a": [{"b": 1}, {"c": [True]}], "rows": [{"any": 1}]}
    assert [(one.path, one.type) for one in formats.lines(tidy)] == [
        ("a", "list of tables"),
        ("a[].b", "whole number"),
        ("a[].c", "list of true or false"),
        ("rows", "list of tables"),
    ]


def test_nothing_of_the_machine_is_on_a_page(pages):
    everything = "\n".join(pages.values())
    assert str(DOCS.parent) not in everything
    assert "/tmp" not in everything
