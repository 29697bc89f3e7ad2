"""Adult's 45,222 complete rows with seven quasi-identifiers: what losses are compared on."""

from __future__ import annotations

import csv
import gzip
from functools import cache

import pyarrow as pa

import shoal
from shoal.releases.tallying import encode

SEVEN = ("age", "workclass", "education_num", "marital_status", "race", "sex", "native_country")


@cache
def adult_seven(folder, sensitive="occupation"):
    """The tally, numbers as numbers and all other columns as sets."""
    with gzip.open(folder / "adult.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if "?" not in row.values()]
    columns = {
        name: [int(row[name]) if row[name].isdigit() else row[name] for row in rows]
        for name in (*SEVEN, sensitive)
    }
    frame = shoal.open(pa.table({name: pa.array(cells) for name, cells in columns.items()}))
    return encode(frame, shoal.Schema.of(quasi=SEVEN, sensitive=sensitive).fit(frame.fields)).tally
