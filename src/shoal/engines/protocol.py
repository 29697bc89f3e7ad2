"""The seam between Shoal and an engine: what every kind of table can do, and nothing more.

A frame tallies and recodes. It holds no algorithm, and nothing that publishes relies on row
positions, so that another engine is one more file beside this one. Only an adversary reads rows in
their order, because the order of a published table is something that it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.schema import Field, Profile
from shoal.engines.source import SourceFile

Codes = NDArray[Any]
"""Small unsigned or 32-bit integers: one code per entry."""


@dataclass(frozen=True)
class Distinct:
    """One column's distinct values with their counts; null is counted apart, never dropped."""

    values: list[Any]
    counts: NDArray[np.int64]
    nulls: int


@dataclass(frozen=True)
class Coding:
    """How one column's values become codes 0..size-1: ``values[i]`` has code ``codes[i]``."""

    column: str
    values: Sequence[Any]
    codes: NDArray[np.int32]
    null_code: int | None
    size: int


@dataclass(frozen=True)
class CodeCounts:
    """The distinct combinations of codes (one array per coding, in their order) with counts."""

    codes: tuple[Codes, ...]
    count: NDArray[np.int64]


@dataclass(frozen=True)
class Pieces:
    """Which class each part of each entry goes to; an entry in several pieces is divided.

    ``codes`` are those of the pieces' entries, in the codings' order. Rows of a divided entry
    are spread over its pieces at random, ``count`` of them to each.
    """

    codes: tuple[Codes, ...]
    class_: NDArray[np.int32]
    count: NDArray[np.int64]


@runtime_checkable
class Frame(Protocol):
    """A table about people, wherever it lives."""

    source: SourceFile | None
    """The file behind the table, where there is one."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order, with the kind each was recognised as."""

    def check_header(self) -> None:
        """Raise where the names of the columns seem to be the first row's values."""

    def close(self) -> None:
        """Release what the frame was opened on."""

    def profile(self, columns: Sequence[str] | None = None) -> Mapping[str, Profile]:
        """For each column: rows, nulls, distinct values, values that occur once, entropy.

        Of all columns, or of those that are named.
        """

    def values(self, columns: Sequence[str]) -> Mapping[str, Distinct]:
        """The distinct values of each column with their counts."""

    def only(self, column: str, values: Sequence[Any], null: bool = False) -> Frame:
        """The rows whose column holds one of the values (or null): a part of the table."""

    def tally(self, by: Sequence[Coding]) -> CodeCounts:
        """One group-by in the engine: the distinct combinations of codes with counts."""

    def count_rows(self) -> int:
        """How many rows there are."""

    def rows(self, by: Sequence[Coding]) -> tuple[Codes, ...]:
        """The codes of every row in the table's own order: one array per coding."""

    def column(self, name: str) -> pa.Array:
        """A column's values in the table's own order."""

    def recode(
        self,
        by: Sequence[Coding],
        pieces: Pieces,
        carry: Sequence[str],
        person: str | None = None,
        key: bytes = b"",
    ) -> Iterator[pa.RecordBatch]:
        """Stream the rows as (``class_`` int32, then the carried columns as they are).

        Rows whose class is negative are left out. With ``person``, a last column ``person_``
        holds a hash of that column keyed with ``key``.
        """
