"""Rows in the table's own order, from every door, whatever the engine does elsewhere."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.protocol import Coding
from shoal.releases.row_listing import read_columns

ROWS = 30_000
NAMES = ["row", "town", "born", "weight"]


def cells() -> dict[str, list]:
    """A number that rises with the rows, and columns with nulls, blanks and quotes."""
    towns = ["Aix, lower", 'the "Ring"', "Zoë", None, "b"]
    day = dt.date(1950, 1, 1)
    return {
        "row": list(range(ROWS)),
        "town": [towns[i * i % 5] for i in range(ROWS)],
        "born": [None if i % 7 == 3 else day + dt.timedelta(days=i % 900) for i in range(ROWS)],
        "weight": [None if i % 11 == 5 else (i % 40) / 4 for i in range(ROWS)],
    }


CELLS = cells()
TABLE = pa.table(CELLS)


def as_csv(folder: Path) -> Path:
    path = folder / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        writer.writerows(
            ["" if cell is None else cell for cell in row]
            for row in zip(*CELLS.values(), strict=True)
        )
    return path


def as_parquet(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "t.parquet", row_group_size=700)
    return folder / "t.parquet"


def as_feather(folder: Path) -> Path:
    feather.write_feather(TABLE, folder / "t.feather", chunksize=900)
    return folder / "t.feather"


DOORS = {
    "csv": as_csv,
    "parquet in many groups": as_parquet,
    "feather in many chunks": as_feather,
    "arrow": lambda _: TABLE,
    "arrow in chunks": lambda _: pa.concat_tables([TABLE.slice(0, 17), TABLE.slice(17)]),
    "pandas": lambda _: TABLE.to_pandas(),
    "polars": lambda _: pl.from_arrow(TABLE),
}


@pytest.mark.parametrize("door", DOORS)
def test_rows_come_in_the_table_s_order(tmp_path, door):
    frame = shoal.open(DOORS[door](tmp_path), kinds={"town": "category"})
    for name, found in read_columns(frame, NAMES).items():
        assert [found.values[code] for code in found.codes] == CELLS[name], name
    frame.close()


def coding(values, codes, null=None, column="a"):
    return Coding(column, values, np.array(codes, np.int32), null, max(*codes, null or 0) + 1)


def test_codes_are_the_codings_and_narrow():
    frame = shoal.open(pa.table({"a": [3.0, 1.0, None, -0.0, 3.0]}))
    (codes,) = frame.rows([coding([0.0, 1.0, 3.0], [5, 0, 2], null=7)])
    assert codes.tolist() == [2, 0, 7, 5, 2]
    assert codes.dtype == np.uint8


@pytest.mark.parametrize(
    ("values", "codes", "null", "rows"),
    [
        ([1.0], [0], 1, 2),
        ([1.0, 3.0], [0, 1], None, 1),
    ],
)
def test_a_value_without_a_code_is_an_error_as_in_a_tally(values, codes, null, rows):
    frame = shoal.open(pd.DataFrame({"a": [3.0, 1.0, None, 3.0]}))
    by = [coding(values, codes, null)]
    for ask in (frame.rows, frame.tally):
        with pytest.raises(shoal.InputError, match=f"column 'a' in {rows} rows"):
            ask(by)


def test_the_engine_may_order_rows_as_it_likes_again_afterwards():
    frame = shoal.open(TABLE)
    read_columns(frame, ["row"])
    setting = "SELECT current_setting('preserve_insertion_order')"
    assert frame._connection.execute(setting).fetchall() == [(False,)]
