"""The tables that studies run on: the papers' own data sets, a user's table, or a stand-in.

| name | rows | of |
|---|---|---|
| ``adult`` | 45,222 | UCI Adult, training and test rows without missing values |
| ``adult-train`` | 30,162 | its training rows |
| ``ipums-1970`` | 70,187 | IPUMS Los Angeles, the file that Ganta et al. call 1997 |
| ``ipums-stacked`` | 233,584 | the three IPUMS files, 1970, 1980 and 1990, one under the other |

They lie in the folder that ``SHOAL_DATA`` names, or where ``shoal data fetch`` has put them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import shoal
from shoal import Schema, UsageError
from shoal.engines.protocol import Coding, Distinct

OWN = "own"
"""The name of a user's own table."""
PROVIDER = "drawn provider"
"""The column of those who are supposed to have brought the rows."""


@dataclass(frozen=True)
class Sample:
    """Quasi-identifiers and sensitive columns of a table, in memory."""

    name: str
    description: str
    """What it is, for people."""
    table: pa.Table
    schema: Schema
    """With one sensitive column."""
    others: tuple[str, ...] = ()
    """Further columns that can be the sensitive one."""
    empty: Mapping[str, Any] = field(default_factory=dict)
    """For a column the value that says "not applicable"."""
    stand_in: bool = False
    """Whether it is made up, and not the data that the paper had."""

    @property
    def sensitive(self) -> str:
        """The sensitive column's name."""
        name: str = self.schema.sensitive[0].name
        return name

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers' names."""
        return tuple(column.name for column in self.schema.quasi)

    @property
    def rows(self) -> int:
        """How many people."""
        number: int = self.table.num_rows
        return number

    @cached_property
    def sha256(self) -> str:
        """A hash of names, roles and values."""
        digest = hashlib.sha256(self.schema.to_toml().encode())
        for batch in self.table.combine_chunks().to_batches():
            digest.update(batch.serialize())
        return digest.hexdigest()

    def on(self, column: str) -> Sample:
        """The same with another sensitive column."""
        if column not in (self.sensitive, *self.others):
            raise UsageError(
                f"{column!r} is not a sensitive column of {self.name}.",
                f"one of {', '.join((self.sensitive, *self.others))}.",
            )
        others = tuple(name for name in (self.sensitive, *self.others) if name != column)
        schema = Schema.of(quasi=self.quasi, sensitive=column)
        return replace(self, schema=schema, others=others)

    def applicable(self) -> Sample:
        """Without the people to whom the sensitive column does not apply."""
        if self.sensitive not in self.empty:
            return self
        keep = pc.not_equal(self.table[self.sensitive], self.empty[self.sensitive])
        return replace(self, table=self.table.filter(keep))

    def columns(self) -> pa.Table:
        """The quasi-identifiers and the sensitive column alone."""
        return self.table.select([*self.quasi, self.sensitive])

    def with_providers(self, provider: NDArray[np.int32]) -> tuple[pa.Table, Schema]:
        """The table with a provider for each row, and its schema."""
        names = pa.array([f"P{i + 1:02}" for i in range(int(provider.max()) + 1)])
        column = names.take(pa.array(provider))
        return (
            self.columns().append_column(PROVIDER, column),
            self.schema.set({PROVIDER: shoal.provider}),
        )


# A user's own


def read_own_table(data: Any, schema: Schema | None, **reading: Any) -> Sample:
    """Anything that ``shoal.open`` takes, with the schema of its columns."""
    if schema is None:
        raise UsageError("Nothing says what the columns are.", "give a schema with the data.")
    name = Path(data).name if isinstance(data, str | Path) else "a table in memory"
    return _read_table(name, data, schema, reading)


def _read_table(name: str, data: Any, schema: Schema, reading: dict[str, Any]) -> Sample:
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
        return Sample(OWN, name, _rows(frame, settled.names), settled)
    finally:
        if frame is not data:
            frame.close()


def _rows(frame: shoal.Frame, names: Sequence[str]) -> pa.Table:
    values = frame.values(names)
    by = [_coding(name, values[name]) for name in names]
    codes = frame.rows(by)
    return pa.table(
        {coding.column: _column(coding, code) for coding, code in zip(by, codes, strict=True)}
    )


def _coding(name: str, distinct: Distinct) -> Coding:
    size = len(distinct.values)
    return Coding(name, distinct.values, np.arange(size, dtype=np.int32), size, size + 1)


def _column(coding: Coding, codes: NDArray[Any]) -> pa.Array:
    index = pa.array(codes.astype(np.int64), mask=codes == coding.null_code)
    return pa.array(coding.values).take(index)
