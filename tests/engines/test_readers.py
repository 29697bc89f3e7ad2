"""The same table through every door gives the same fields and the same values."""

from __future__ import annotations

import datetime as dt
import sqlite3
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

from shoal.core.schema import Field
from shoal.engines.open_table import open as open_table

PEOPLE = pa.table(
    {
        "age": pa.array([34, None, 51, 34], pa.int64()),
        "weight (kg)": [70.5, 81.0, None, 70.5],
        'the "zip"': ["01301", "13053", "13053", None],
        "Straße": ["Zoë", "naïve", None, "北京"],
        "born": [dt.date(1999, 12, 31), None, dt.date(1965, 9, 20), dt.date(1965, 9, 20)],
        "it's": ["a,b", 'say "x"', "line\nbreak", "?"],
    }
)
NAMES = PEOPLE.column_names
FIELDS = [
    ("age", "number"),
    ("weight (kg)", "number"),
    ('the "zip"', "code"),
    ("Straße", "category"),
    ("born", "date"),
    ("it's", "category"),
]


def csv(folder: Path) -> Any:
    PEOPLE.to_pandas(types_mapper=pd.ArrowDtype).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def parquet(folder: Path) -> Any:
    pq.write_table(PEOPLE, folder / "it's [1]*.parquet")
    return str(folder / "it's [1]*.parquet")


def feather_file(folder: Path) -> Any:
    feather.write_feather(PEOPLE, folder / "t.feather")
    return folder / "t.feather"


def arrow_stream(folder: Path) -> Any:
    with pa.ipc.new_stream(folder / "t.arrow", PEOPLE.schema) as writer:
        writer.write_table(PEOPLE)
    return folder / "t.arrow"


def excel(folder: Path) -> Any:
    with xlsxwriter.Workbook(folder / "t.xlsx") as book:
        sheet, day = book.add_worksheet(), book.add_format({"num_format": "yyyy-mm-dd"})
        sheet.write_row(0, 0, NAMES)
        for number, row in enumerate(PEOPLE.to_pylist(), 1):
            for place, cell in enumerate(row.values()):
                if isinstance(cell, dt.date):
                    sheet.write_datetime(number, place, dt.datetime(*cell.timetuple()[:3]), day)
                elif isinstance(cell, str):
                    sheet.write_string(number, place, cell)
                elif cell is not None:
                    sheet.write_number(number, place, cell)
    return folder / "t.xlsx"


def sqlite(folder: Path) -> Any:
    with sqlite3.connect(folder / "t.db") as database:
        listed = ", ".join('"' + name.replace('"', '""') + '"' for name in NAMES)
        database.execute(f'CREATE TABLE "my people" ({listed})')
        rows = [
            [str(c) if isinstance(c, dt.date) else c for c in row.values()]
            for row in PEOPLE.to_pylist()
        ]
        marks = ", ".join("?" * len(NAMES))
        database.executemany(f'INSERT INTO "my people" VALUES ({marks})', rows)
    database.close()
    return f"sqlite:///{folder / 't.db'}?table=my+people"


DOORS: list[Callable[[Path], Any]] = [
    csv,
    parquet,
    feather_file,
    arrow_stream,
    excel,
    sqlite,
    lambda _: PEOPLE,
    lambda _: PEOPLE.combine_chunks().to_batches()[0],
    lambda _: PEOPLE.to_reader(),
    lambda _: PEOPLE.to_pandas(),
    lambda _: PEOPLE.to_pandas().set_index(pd.Index([7, 7, 0, 1])),
    lambda _: PEOPLE.to_pandas(types_mapper=pd.ArrowDtype),
    lambda _: pl.from_arrow(PEOPLE),
    lambda _: pl.from_arrow(PEOPLE).lazy(),  # type: ignore[union-attr]
    lambda _: duckdb.connect().from_arrow(PEOPLE),
]


def content(source: Any) -> tuple[list[tuple[str, str]], list[tuple[str, ...]], dict[str, Any]]:
    frame = open_table(source)
    values = {
        name: (sorted(zip(map(str, found.values), found.counts.tolist(), strict=True)), found.nulls)
        for name, found in frame.values(NAMES).items()
    }
    fields: tuple[Field, ...] = frame.fields
    return [(f.name, f.kind) for f in fields], [f.notes for f in fields], values


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_table(door: Callable[[Path], Any], tmp_path: Path) -> None:
    fields, notes, values = content(door(tmp_path))
    assert fields == FIELDS
    assert notes == [(), (), (), (), (), ("1 nulls written '?'",)]
    assert values == content(PEOPLE)[2]
    assert values["Straße"] == ([("Zoë", 1), ("naïve", 1), ("北京", 1)], 1)
    assert values["it's"][1] == 1
