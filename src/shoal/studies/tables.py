"""The tables that studies run on: the user's own, Adult where it is there, else a bundled one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import shoal
from shoal import Schema, UsageError, bundled
from shoal.frames.frame import Coding, Distinct

ADULT = Schema.of(
    quasi=("age", "workclass", "education", "marital_status", "race", "sex", "native_country"),
    sensitive="occupation",
)
HARBOUR = Schema.of(quasi=("age", "sex", "zip"), sensitive="diagnosis")
PROVIDER = "drawn provider"
"""The column of those who are supposed to have brought the rows."""


@dataclass(frozen=True)
class Sample:
    """Quasi-identifiers and one sensitive column of a table, in memory."""

    name: str
    table: pa.Table
    schema: Schema

    @property
    def sensitive(self) -> str:
        """The sensitive column's name."""
        name: str = self.schema.sensitive[0].name
        return name

    def brought(self, who: NDArray[np.int32]) -> tuple[pa.Table, Schema]:
        """The table with a provider for each row, and its schema."""
        names = pa.array([f"P{i + 1:02}" for i in range(int(who.max()) + 1)])
        column = names.take(pa.array(who))
        return (
            self.table.append_column(PROVIDER, column),
            self.schema.set({PROVIDER: shoal.provider}),
        )


def sample(data: Any = None, schema: Schema | None = None, **reading: Any) -> Sample:
    """The table to study; without ``data``, Adult's complete rows or the bundled hospital."""
    if data is not None:
        if schema is None:
            raise UsageError("Nothing says what the columns are.", "give a schema with the data.")
        name = Path(data).name if isinstance(data, str | Path) else "a table in memory"
        return _read(name, data, schema, reading)
    if schema is not None or reading:
        raise UsageError("A schema needs its data.", "name the table as well.")
    folder = os.environ.get("SHOAL_DATA")
    if folder and (Path(folder) / "adult.csv.gz").is_file():
        adult = _read("Adult", Path(folder) / "adult.csv.gz", ADULT, {})
        return replace(adult, table=adult.table.drop_null())  # the papers take complete rows
    return _read("harbour.csv (bundled)", bundled.path("harbour.csv"), HARBOUR, {})


def _read(name: str, data: Any, schema: Schema, reading: dict[str, Any]) -> Sample:
    """The columns that a study needs; others, and a provider of the table's own, are left."""
    if not schema.quasi or not schema.sensitive:
        raise UsageError(
            "A study needs quasi-identifiers and a sensitive column.", "give columns these roles."
        )
    columns = (*schema.quasi, schema.sensitive[0])
    frame = shoal.open(data, kinds=schema.kinds, **reading)
    try:
        names = {column.name for column in columns}
        fields = [field for field in frame.fields if field.name in names]
        settled = Schema(columns).fit(fields)
        return Sample(name, _rows(frame, settled.names), settled)
    finally:
        if frame is not data:
            frame.close()


def _rows(frame: shoal.Frame, names: Sequence[str]) -> pa.Table:
    found = frame.values(names)
    by = [_coding(name, found[name]) for name in names]
    codes = frame.rows(by)
    return pa.table({one.column: _column(one, code) for one, code in zip(by, codes, strict=True)})


def _coding(name: str, found: Distinct) -> Coding:
    size = len(found.values)
    return Coding(name, found.values, np.arange(size, dtype=np.int32), size, size + 1)


def _column(coding: Coding, codes: NDArray[Any]) -> pa.Array:
    index = pa.array(codes.astype(np.int64), mask=codes == coding.null_code)
    return pa.array(coding.values).take(index)
