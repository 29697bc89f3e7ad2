"""What is measured on: Adult, and Adult remixed to any number of rows.

Remixed: each row starts as a row of Adult, half of its cells come from other rows, and age is in
days, so that hardly two rows are alike. (Adult merely resampled is a trap: a million rows of it
are 10-anonymous as they are.) Without ``SHOAL_DATA`` a synthetic stand-in of the same shape is
used, and results say so.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

CACHE = Path(__file__).parent / "cache"
QUASI = (
    "age",
    "workclass",
    "education_num",
    "marital_status",
    "occupation",
    "race",
    "sex",
    "native_country",
)
NUMBERS = ("age", "education_num", "hours_per_week")
SENSITIVE = "hours_per_week"
COLUMNS = (*QUASI, SENSITIVE)
DAYS = 365
KEEP_CELL = 0.5
PART_ROWS = 10_000_000


def folder() -> Path | None:
    """Where the real data lie, if they do."""
    named = os.environ.get("SHOAL_DATA")
    return Path(named) if named and (Path(named) / "adult.csv.gz").is_file() else None


def source() -> str:
    """What the numbers are about."""
    return "Adult" if folder() else "a synthetic stand-in for Adult (SHOAL_DATA is not set)"


@cache
def adult(split: str | None = None) -> dict[str, list[str]]:
    """The complete rows of Adult as text by column: 45,222, of which 30,162 are ``train``."""
    where = folder()
    if where is None:
        return _stand_in(30_162 if split else 45_222)
    with gzip.open(where / "adult.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        rows = [
            row
            for row in csv.DictReader(lines)
            if "?" not in row.values() and split in (None, row["split"])
        ]
    return {name: [row[name] for row in rows] for name in (*COLUMNS, "income", "education")}


def _stand_in(rows: int) -> dict[str, list[str]]:
    """Columns with Adult's domains and roughly its skew."""
    rng = np.random.default_rng(1)
    sizes = dict(zip(QUASI, (74, 7, 16, 7, 14, 5, 2, 41), strict=True))
    sizes |= {SENSITIVE: 96, "income": 2, "education": 16}
    columns = {}
    for name, size in sizes.items():
        if name == "age":
            codes = (rng.beta(2, 3.5, rows) * size).astype(int) + 17
        else:
            share = 1.0 / np.arange(1, size + 1) ** 1.3
            codes = rng.choice(size, rows, p=share / share.sum())
        columns[name] = [str(code) if name in NUMBERS else f"{name} {code}" for code in codes]
    return columns


@dataclass(frozen=True)
class Codes:
    """A table as codes, a column each, and the values they stand for, ascending."""

    values: dict[str, NDArray[Any]]
    codes: dict[str, NDArray[np.int32]]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.codes["age"])

    def arrow(self, names: Sequence[str] = ()) -> pa.Table:
        """The columns as values; all, or those that are named."""
        import pyarrow as pa

        wanted = names or self.codes
        return pa.table({n: pa.array(self.values[n]).take(pa.array(self.codes[n])) for n in wanted})


@cache
def adult_codes(split: str | None = None) -> Codes:
    """Adult as codes, age in years."""
    values, codes = {}, {}
    for name, cells in adult(split).items():
        typed = np.array(cells, dtype=np.int32 if name in NUMBERS else np.str_)
        values[name], inverse = np.unique(typed, return_inverse=True)
        codes[name] = inverse.astype(np.int32)
    return Codes(values, codes)


def mixed(small: Codes, names: Sequence[str], rows: int, rng: np.random.Generator) -> Codes:
    """Rows that start as one of a small table each; half of their cells come from other rows."""
    base = rng.integers(0, small.rows, rows, dtype=np.int32)
    values, codes = {}, {}
    for name in names:
        other = rng.integers(0, small.rows, rows, dtype=np.int32)
        pick = np.where(rng.random(rows, dtype=np.float32) < KEEP_CELL, base, other)
        values[name], codes[name] = small.values[name], small.codes[name][pick]
    return Codes(values, codes)


def remixed(rows: int, seed: int = 0) -> Codes:
    """Adult remixed: ``rows`` rows of the eight quasi-identifiers and hours per week."""
    rng = np.random.default_rng((rows, seed))
    table = mixed(adult_codes(), COLUMNS, rows, rng)
    values, codes = table.values, table.codes
    days = values["age"][codes["age"]] * DAYS + rng.integers(0, DAYS, rows, dtype=np.int32)
    first = int(days.min())
    present = np.flatnonzero(np.bincount(days - first))
    values["age"] = (present + first).astype(np.int32)
    codes["age"] = np.searchsorted(present, days - first).astype(np.int32)
    return table


def parquet(rows: int, make: Callable[[int, int], Codes] = remixed, suffix: str = "") -> Path:
    """A remixed table as a Parquet file, written a part at a time and kept in the cache."""
    import pyarrow.parquet as pq

    kind = "adult" if folder() else "stand-in"
    path = CACHE / f"{kind}{suffix}-{rows}.parquet"
    if path.is_file():
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    writer = None
    for done in range(0, rows, PART_ROWS):
        columns = make(min(rows - done, PART_ROWS), done).arrow()
        writer = writer or pq.ParquetWriter(part, columns.schema)
        writer.write_table(columns)
    assert writer is not None
    writer.close()
    part.rename(path)
    return path
