"""The documentation builds offline, strictly and without a warning, with what is generated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import shoal

pytestmark = pytest.mark.long
"""It draws every chart and writes every page: `test_docs` has each page's links and blocks."""

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(docs_copy, started):
    """The site as `make docs` makes it, from a copy."""
    if find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: make test installs it")
    told = started(docs_copy / "docs/papers.py")
    unreachable = "http://127.0.0.1:9"  # whatever asks for the network, fails
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "NO_MKDOCS_2_WARNING": "1",
        "http_proxy": unreachable,
        "https_proxy": unreachable,
    }
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=docs_copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return docs_copy / "site", told + done.stdout + done.stderr


def test_every_chart_of_every_study_is_drawn(site, docs_copy):
    drawn = {path.stem: path.read_text("utf-8") for path in docs_copy.glob("docs/papers/images/*")}
    results = docs_copy / "docs" / "papers" / "results"
    rows = {path.stem: json.loads(path.read_text("utf-8"))["rows"] for path in results.iterdir()}
    expected = {
        f"{study}-{chart}"
        for study, (_, declared) in shoal.experiments().items()
        for chart in declared.charts(rows[study])
    }
    assert set(drawn) == expected
    assert [name for name, picture in drawn.items() if "<text" not in picture] == []


def test_it_builds_without_a_warning(site):
    _, told = site
    assert told.strip() == ""


@pytest.mark.parametrize(
    "page",
    [
        "index",
        "tutorial",
        "glossary",
        "which-guarantee",
        "papers/index",
        "papers/ganta",
        "reference/python",
        "reference/command-line",
        "reference/schema",
        "reference/formats",
    ],
)
def test_its_pages_are_there(site, page):
    text = (site[0] / f"{page}.html").read_text(encoding="utf-8")
    assert "<h1" in text


def test_it_asks_for_nothing_from_elsewhere(site):
    folder, _ = site
    asked = [
        page.name
        for page in folder.rglob("*.html")
        if 'src="http' in (text := page.read_text(encoding="utf-8"))
        or '<link rel="stylesheet" href="http' in text
    ]
    assert asked == []
