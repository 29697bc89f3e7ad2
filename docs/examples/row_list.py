"""Row list: an engine on plain Python dictionaries, one for each row."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.core.column import Field, Profile
from shoal.engines.protocol import CodeCounts, Codes, Coding, Distinct, Frame, Pieces
from shoal.engines.source import SourceFile


class RowList:
    """A table of categories. It counts and recodes; every algorithm stays where it is."""

    source: SourceFile | None = None

    def __init__(self, rows: Sequence[Mapping[str, str | None]]) -> None:
        self._rows = list(rows)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first row."""
        return tuple(Field(name, "category") for name in self._rows[0])

    def check_header(self) -> None:
        """Keys are names."""

    def close(self) -> None:
        """Nothing is held."""

    def count_rows(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def profile(self, columns: Sequence[str] | None = None) -> Mapping[str, Profile]:
        """Counts over each column."""
        names = columns or [field.name for field in self.fields]
        return {name: self._profile(name) for name in names}

    def _profile(self, name: str) -> Profile:
        counts = Counter(row[name] for row in self._rows)
        nulls, known = counts.pop(None, 0), sum(counts.values())
        shares = [count / known for count in counts.values()]
        lengths = [len(str(value)) for value in counts] or [0]
        return Profile(
            len(self._rows),
            nulls,
            len(counts),
            sum(count == 1 for count in counts.values()),
            -sum(share * math.log2(share) for share in shares),
            min(lengths),
            max(lengths),
        )

    def values(self, columns: Sequence[str]) -> Mapping[str, Distinct]:
        """The distinct values of each column."""
        distinct = {}
        for name in columns:
            counts = Counter(row[name] for row in self._rows)
            nulls = counts.pop(None, 0)
            values = sorted(value for value in counts if value is not None)
            rows = np.array([counts[value] for value in values], dtype=np.int64)
            distinct[name] = Distinct(values, rows, nulls)
        return distinct

    def only(self, column: str, values: Sequence[Any], null: bool = False) -> Frame:
        """Some of the rows."""
        wanted = {*values, *([None] if null else [])}
        return RowList([row for row in self._rows if row[column] in wanted])

    def rows(self, by: Sequence[Coding]) -> tuple[Codes, ...]:
        """The codes of every row."""
        columns = []
        for coding in by:
            code: dict[Any, Any] = dict(zip(coding.values, coding.codes.tolist(), strict=True))
            code[None] = coding.null_code
            columns.append(np.array([code[row[coding.column]] for row in self._rows], np.int32))
        return tuple(columns)

    def tally(self, by: Sequence[Coding]) -> CodeCounts:
        """The distinct combinations of codes."""
        counts = Counter(zip(*(codes.tolist() for codes in self.rows(by)), strict=True))
        keys = np.array(sorted(counts), dtype=np.int32).reshape(len(counts), len(by))
        return CodeCounts(
            tuple(keys.T), np.array([counts[key] for key in sorted(counts)], np.int64)
        )

    def column(self, name: str) -> pa.Array:
        """A column as it stands."""
        return pa.array([row[name] for row in self._rows], pa.string())

    def recode(
        self,
        by: Sequence[Coding],
        pieces: Pieces,
        carry: Sequence[str],
        person: str | None = None,
        key: bytes = b"",
    ) -> Iterator[pa.RecordBatch]:
        """Each row with its class; rows of a divided entry are dealt out at random."""
        hands: dict[tuple[int, ...], list[int]] = {}
        entries = zip(*(codes.tolist() for codes in pieces.codes), strict=True)
        counted = zip(entries, pieces.class_.tolist(), pieces.count.tolist(), strict=True)
        for entry, class_, count in counted:
            hands.setdefault(entry, []).extend([class_] * count)
        for hand in hands.values():
            random.SystemRandom().shuffle(hand)
        entries = zip(*(codes.tolist() for codes in self.rows(by)), strict=True)
        classes = [hands[entry].pop() for entry in entries]
        kept = [number for number, class_ in enumerate(classes) if class_ >= 0]
        columns = {"class_": pa.array([classes[number] for number in kept], pa.int32())}
        for name in carry:
            columns[name] = self.column(name).take(pa.array(kept, pa.int64()))
        if person is not None:
            names = [str(self._rows[number][person]).encode() for number in kept]
            digests = [hashlib.blake2b(name, key=key).digest() for name in names]
            columns["person_"] = pa.array(digests, pa.binary())
        yield pa.RecordBatch.from_pydict(columns)
