"""What a command printed and wrote, without what differs between machines, days and runs."""

from __future__ import annotations

import csv
import gzip
import hashlib
import html
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.feather
import pyarrow.parquet

import shoal

DIGITS = 6
"""Significant digits of a number that is not whole: more differ between processors."""
NOTHING = 1e-12
"""What is smaller is rounding: sums of numbers in a random order."""
LONGEST_LIST, LONGEST_TEXT, HEAD = 24, 400, 4
TIMED = re.compile(r"^(seconds|elapsed|duration|took)(_.*)?$|_seconds$")
"""Keys whose value is a time that was measured."""
DRAWINGS = ("spec",)
"""Keys whose value is a chart."""
COLUMNS = frozenset(
    "admitted age day diagnosis disease education hospital marital_status native_country "
    "occupation patient race sex weight workclass zip harbour st_anna".split()
)
NAMES_TOO = ("name", "person")
"""Names of columns, and of tables; the second are also words of documents."""
NOT_READ = (".db", ".key", ".db-wal", ".db-shm", ".lock", ".png", ".xlsx")
"""Files of which only the name is recorded: sealed, signed, drawn or binary."""
PATTERNS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d| UTC)?"), "<time>"),
    (re.compile(r"(?<!\.)\b[0-9a-f]{12,}\b"), "<hash>"),
    (re.compile(r'("seconds": )[\d.e-]+'), r"\1<seconds>"),
    (re.compile(r"\b[0-9a-f]{8,}…"), "<hash>…"),
    (re.compile(r"\b\d+(\.\d+)? ?(s|ms|seconds?|minutes?)\b(?! of)"), "<seconds>"),
    (re.compile(r"(\w+\.py):\d+"), r"\1:<line>"),
)
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{5,}(e[+-]?\d+)?(?![\w.])")


def normalise_text(text: str, folder: Path) -> str:
    """The text with paths, times, hashes, versions and digits beyond ``DIGITS`` replaced."""
    for path in {str(folder), str(folder.resolve())}:
        text = text.replace(path + "/", "<here>/").replace(path, "<here>")
    text = text.replace(str(shoal.bundled.path("st_anna.csv").parent), "<bundled>")
    text = re.sub(rf"(?<![\d.]){re.escape(shoal.__version__)}(?![\d.])", "<version>", text)
    text = NUMBER.sub(lambda number: f"{float(number[0]):.{DIGITS}g}", text)
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    for days in (-1, 0, 1):
        day = datetime.now(UTC) + timedelta(days=days)
        text = text.replace(day.strftime("%Y-%m-%d"), "<today>")
        for form in (f"{day.day} {day:%B %Y}", f"{day.day} {day:%b %Y}"):
            text = text.replace(form, "<today>")
    return text


def normalise_lines(text: str, folder: Path) -> list[str]:
    """A text by lines, without blank ends, and without what only a first run on a machine says."""
    lines, is_timed = [], False
    for line in map(str.rstrip, normalise_text(text, folder).splitlines()):
        is_timed = line.endswith("  seconds") or (is_timed and bool(line))
        if "compiling kernels" not in line:
            lines.append(re.sub(r" +[\d.]+$", " <seconds>", line) if is_timed else line)
    return lines


def normalise_json(value: Any, folder: Path) -> Any:
    """A document with every text and number normalised; keys stand in their order."""
    if isinstance(value, dict):
        if {"model", "failing_classes", "worst"} <= value.keys():
            value = _without_ties(value)
        return {
            normalise_text(str(key), folder): "<seconds>"
            if key == "before" and "seconds" in value
            else _normalise_member(str(key), inside, folder)
            for key, inside in value.items()
        }
    if isinstance(value, list):
        return [normalise_json(inside, folder) for inside in value]
    if isinstance(value, str):
        return normalise_text(value, folder)
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if abs(value) > NOTHING else 0.0
    return value


def _without_ties(judgement: dict[str, Any]) -> dict[str, Any]:
    """A judgement without the size of its worst class: of several alike, any may be named."""
    worst = judgement["worst"]
    if not isinstance(worst, dict) or str(judgement["model"]).startswith("k-anonymity"):
        return judgement
    return {**judgement, "worst": {**worst, "rows": "<one of the worst>"}}


def _normalise_member(key: str, inside: Any, folder: Path) -> Any:
    if TIMED.search(key) and not isinstance(inside, dict | list):
        return "<seconds>"
    normal = normalise_json(inside, folder)
    return f"a drawing, sha256 {digest(normal)}" if key in DRAWINGS else normal


def shorten(value: Any) -> Any:
    """The same with long lists and texts as their beginning, their length and their hash."""
    if isinstance(value, dict):
        return {key: shorten(inside) for key, inside in value.items()}
    if isinstance(value, list):
        if len(value) <= LONGEST_LIST:
            return [shorten(inside) for inside in value]
        return [*map(shorten, value[:HEAD]), f"… {len(value)} in all, sha256 {digest(value)}"]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:80]} … {len(value)} characters, sha256 {digest(value)}"
    return value


def digest(value: Any) -> str:
    """A short hash of a document."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_json(text: str) -> Any | None:
    """The document that a text is; None where it is something else."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def key_paths(value: Any, at: str = "") -> Iterator[str]:
    """Every key of a document by the way there; members of lists are ``[]``."""
    if isinstance(value, dict):
        for name, inside in value.items():
            key = "*" if _is_data(name, at) else name
            yield f"{at}{key}"
            if key not in DRAWINGS:
                yield from key_paths(inside, f"{at}{key}.")
    elif isinstance(value, list):
        for inside in value:
            yield from key_paths(inside, f"{at.removesuffix('.')}[].")


def _is_data(key: str, at: str) -> bool:
    """Whether a key is not the program's word: the name of a column or file, a count, a value."""
    if not re.fullmatch(r"[a-z][a-z_0-9]*", key) or key in COLUMNS:
        return True
    return at.endswith(("columns.", "labels.")) and key in NAMES_TOO


# Files


def describe_file(path: Path, folder: Path, *, is_secret: bool) -> Any:
    """What is recorded of a file; of one whose data must not be committed, hashes alone."""
    name = path.name
    if name.endswith(NOT_READ):
        return "present"
    if name.endswith((".csv", ".csv.gz")):
        data = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        return _describe_csv(data.decode("utf-8", errors="replace"), folder, is_secret=is_secret)
    if name.endswith((".parquet", ".feather", ".arrow")):
        read = pyarrow.parquet if name.endswith(".parquet") else pyarrow.feather
        table = read.read_table(path)
        rows = [[*map(_cell, row.values())] for row in table.to_pylist()]
        types = [f"{field.name}: {field.type}" for field in table.schema]
        return _describe_table(types, rows, is_secret=is_secret)
    text = path.read_text(encoding="utf-8", errors="replace")
    if (document := read_json(text)) is not None:
        normal = normalise_json(document, folder)
        return figures(normal) if is_secret else shorten(normal)
    if name.endswith(".html"):
        text = "\n".join(_page_text(text))
    lines = normalise_lines(text, folder)
    if is_secret:
        return {"lines": len(lines), "sha256": digest(lines)}
    return shorten(lines)


def figures(value: Any) -> Any:
    """A document with its keys and numbers as they are, and its texts as hashes."""
    if isinstance(value, dict):
        named = all(re.fullmatch(r"[a-z][a-z_0-9]*", key) for key in value)
        if not named or len(value) > LONGEST_LIST:
            return {"keys": len(value), "sha256": digest(value)}
        return {key: figures(inside) for key, inside in value.items()}
    if isinstance(value, list):
        if len(value) > LONGEST_LIST:
            return {"members": len(value), "sha256": digest(value)}
        return [figures(inside) for inside in value]
    return f"sha256 {digest(value)}" if isinstance(value, str) and value else value


def _cell(value: Any) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def _describe_csv(text: str, folder: Path, *, is_secret: bool) -> Any:
    header, *lines = text.splitlines() or [""]
    mark = max(",;\t|", key=header.count)
    normal = NUMBER.sub(lambda number: f"{float(number[0]):.{DIGITS}g}", "\n".join(lines))
    rows = list(csv.reader(io.StringIO(normal), delimiter=mark))
    columns = next(csv.reader([header], delimiter=mark), [])
    return {"delimiter": mark, **_describe_table(columns, rows, is_secret=is_secret)}


def _describe_table(columns: list[str], rows: list[list[str]], *, is_secret: bool) -> Any:
    """The table without the order of its rows, which is drawn; and each column by itself."""
    ordered = sorted(rows)
    described = {
        "columns": columns,
        "rows": len(rows),
        "sha256": digest(ordered),
        "sha256 of columns": {
            name: digest(sorted(row[place] for row in rows if place < len(row)))
            for place, name in enumerate(columns)
        },
    }
    return described if is_secret else {**described, "first rows": ordered[:HEAD]}


def _page_text(page: str) -> list[str]:
    """What a reader of a web page sees."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    page = re.sub(r"<(br|/p|/tr|/li|/h\d|/div|/text|/td|/th)\b[^>]*>", "\n", page)
    texts = html.unescape(re.sub(r"<[^>]+>", "", page)).splitlines()
    lines = (" ".join(line.split()) for line in texts)
    return [line for line in lines if line]
