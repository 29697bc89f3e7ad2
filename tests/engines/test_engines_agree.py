"""One small, awkward table in every form: the same tally, and the same release."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import xlsxwriter

import shoal
from shoal.releases.tallying import encode

ZIP, STREET, WEIGHT, WHY = 'the "zip"', "Straße, Nr.", "weight (kg)", "it's; why?"
NAMES = ["age", WEIGHT, ZIP, STREET, "born", WHY]
SCHEMA = shoal.Schema(()).set(
    {
        "age": shoal.quasi(shoal.intervals(5, 10)),
        WEIGHT: shoal.quasi(),
        ZIP: shoal.quasi(),
        STREET: shoal.quasi(),
        "born": shoal.quasi(),
        WHY: shoal.sensitive(),
    }
)
RULE = "k-anonymity k=3 & distinct-diversity l=2"


def people() -> list[dict[str, Any]]:
    """Nulls, repeated rows, leading zeros, dates, decimals, quotes, semicolons and umlauts."""
    streets = ["Zoë", "naïve", "Ærøvej; 3", 'the "Ring"', None]
    rows = []
    for i in range(40):
        rows.append(
            {
                "age": None if i % 13 == 5 else 20 + i * 7 % 60,
                WEIGHT: None if i % 11 == 3 else 50.5 + i % 8 * 2.25,
                ZIP: None if i % 17 == 4 else ["01301", "01302", "13053", "00999"][i % 4],
                STREET: streets[i % 5],
                "born": None
                if i % 19 == 7
                else dt.date(1950 + i % 9 * 5, 1 + i % 12, 1 + i * 3 % 28),
                WHY: ["a, b", "say 'x'", "été", None, "plain"][i * i % 5],
            }
        )
    return rows + rows[:6]


PEOPLE = people()
TABLE = pa.table({name: [row[name] for row in PEOPLE] for name in NAMES})


def text(delimiter: str = ",", decimal: str = ".") -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(NAMES)
    for row in PEOPLE:
        cells = ["" if cell is None else str(cell) for cell in row.values()]
        cells[1] = cells[1].replace(".", decimal)
        writer.writerow(cells)
    return out.getvalue()


def written(folder: Path, name: str, content: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content.encode(encoding))
    return path


def zipped(folder: Path) -> Path:
    path = folder / "t.csv.gz"
    path.write_bytes(gzip.compress(text().encode()))
    return path


def excel(folder: Path) -> Path:
    path = folder / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet, day = book.add_worksheet(), book.add_format({"num_format": "yyyy-mm-dd"})
        sheet.write_row(0, 0, NAMES)
        for number, row in enumerate(PEOPLE, 1):
            for place, cell in enumerate(row.values()):
                if isinstance(cell, dt.date):
                    sheet.write_datetime(number, place, dt.datetime(*cell.timetuple()[:3]), day)
                elif isinstance(cell, str):
                    sheet.write_string(number, place, cell)
                elif cell is not None:
                    sheet.write_number(number, place, cell)
    return path


def parquet(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "t.parquet")
    return folder / "t.parquet"


def arrow_file(folder: Path) -> Path:
    feather.write_feather(TABLE, folder / "t.feather")
    return folder / "t.feather"


def sqlite(folder: Path) -> str:
    database = sqlite3.connect(folder / "t.db")
    with database:
        listed = ", ".join('"' + name.replace('"', '""') + '"' for name in NAMES)
        database.execute(f"CREATE TABLE people ({listed})")
        rows = [[str(c) if isinstance(c, dt.date) else c for c in row.values()] for row in PEOPLE]
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)
    database.close()
    return f"sqlite:///{folder / 't.db'}?table=people"


DOORS: dict[str, Callable[[Path], Any]] = {
    "csv": lambda f: written(f, "t.csv", text()),
    "semicolon and decimal comma": lambda f: written(f, "t.csv", text(";", ",")),
    "tab": lambda f: written(f, "t.tsv", text("\t")),
    "gzip": zipped,
    "utf-16": lambda f: written(f, "t.csv", text(), "utf-16"),
    "byte order mark": lambda f: written(f, "t.csv", text(), "utf-8-sig"),
    "cp1252": lambda f: written(f, "t.csv", text(";"), "cp1252"),
    "excel": excel,
    "parquet": parquet,
    "feather": arrow_file,
    "sqlite": sqlite,
    "arrow": lambda _: TABLE,
    "pandas": lambda _: TABLE.to_pandas(),
    "pandas, index in disorder": lambda _: TABLE.to_pandas().set_index(pd.Index([0] * len(PEOPLE))),
    "polars": lambda _: pl.from_arrow(TABLE),
    "duckdb": lambda _: duckdb.connect().from_arrow(TABLE),
    "rows in another order": lambda _: TABLE.take(list(range(len(PEOPLE)))[::-1]),
}


def tallied(source: Any) -> Counter[tuple[Any, ...]]:
    """The tally, decoded: each combination of values with its count."""
    frame = shoal.open(source)
    schema = SCHEMA.fit(frame.fields)
    tally = encode(frame, schema).tally
    axes = (*tally.quasi, *tally.sensitive)
    codes = (*tally.keys, *tally.values)
    found: Counter[tuple[Any, ...]] = Counter()
    for entry, count in enumerate(tally.count.tolist()):
        found[
            tuple(
                None if axis.null and code[entry] == axis.size - 1 else axis.leaves[code[entry]]
                for axis, code in zip(axes, codes, strict=True)
            )
        ] += count
    return found


def published(source: Any, folder: Path) -> Counter[tuple[str, ...]]:
    release = shoal.publish(source, SCHEMA, RULE, out=folder / "release", csv_style="standard")
    with release.path.open(encoding="utf-8", newline="") as handle:
        head, *rows = csv.reader(handle)
    assert head == NAMES
    return Counter(map(tuple, rows))


def test_the_tally_is_that_of_plain_python() -> None:
    expected = Counter(tuple(row.values()) for row in PEOPLE)
    assert tallied(TABLE) == expected
    assert sum(expected.values()) == 46


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Counter[tuple[str, ...]]:
    return published(TABLE, tmp_path_factory.mktemp("arrow"))


@pytest.mark.parametrize("door", DOORS)
def test_the_same_tally_and_the_same_release(
    door: str, tmp_path: Path, release: Counter[tuple[str, ...]]
) -> None:
    source = DOORS[door](tmp_path)
    assert tallied(source) == tallied(TABLE)
    assert published(source, tmp_path) == release


def test_the_release_is_as_anonymous_as_asked(release: Counter[tuple[str, ...]]) -> None:
    sizes: Counter[tuple[str, ...]] = Counter()
    values: dict[tuple[str, ...], set[str]] = {}
    for row, count in release.items():
        sizes[row[:-1]] += count
        values.setdefault(row[:-1], set()).add(row[-1])
    assert min(sizes.values()) >= 3
    assert min(map(len, values.values())) >= 2
    assert len(sizes) > 3
    assert sum(sizes.values()) == 46
