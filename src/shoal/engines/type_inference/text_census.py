"""What a text column is judged on: how its values are written, counted in the engine.

A column of a long table is asked by itself. Those of a wide table are counted in lots, because an
engine takes longer to plan a query for each column than to count its values: what a lot holds is
bounded by cells and by bytes, and each text is looked at once, in however many columns it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

import shoal.engines.type_inference.value_forms as forms
from shoal.core.labels import MAX_BANDS
from shoal.engines.type_inference.column_records import (
    DuckConnection,
    RawColumn,
    cast_whole,
    exact_sql,
    refuse_infinite,
)

MAX_WORDS = 1000
"""A column of more values is no column of plain words."""
POINT_FORMS = ("digits", "plain", "dotted", "either", "point", "spaced")
COMMA_FORMS = ("digits", "dotted", "either", "comma", "spaced")
NUMBER_FORMS = ("zeros", *POINT_FORMS, "comma")

MAX_LOT_COLUMNS = 1000
MAX_LOT_CELLS = 1_000_000
MAX_LOT_BYTES = 1 << 28
MAX_LOT_ROWS = MAX_LOT_CELLS // 4
"""Columns of more rows than this are asked one by one: that costs little beside counting them."""

_COUNTS, _TEXTS = "shoal_lot_counts", "shoal_lot_texts"
_READ_AS = {
    "plain": ("TRY_CAST(v AS DOUBLE)", ("digits", "plain")),
    ".": (forms.cast_number("v", ".", safe=True), (*POINT_FORMS, "zeros")),
    ",": (forms.cast_number("v", ",", safe=True), (*COMMA_FORMS, "zeros")),
}
"""How the text of a number is read, and the forms that are numbers when it is."""


class Census:
    """The counts of a text column's forms."""

    def __init__(self, counted: Iterable[Mapping[str, Any]]) -> None:
        self.all: dict[str, dict[str, int]] = {}
        for row in counted:
            counts = {label: count for label, count in row.items() if label != "form"}
            self.all.setdefault(row["form"], {}).update(counts)
        self.live = sum(row["rows"] for form, row in self.all.items() if ":" not in form)

    @property
    def nulls(self) -> dict[str, int]:
        """How often each mark that is always null is written; the empty cell is among them."""
        return {f[5:]: r["rows"] for f, r in sorted(self.all.items()) if f.startswith("null:")}

    def marks(self, *marks_wanted: str) -> dict[str, int]:
        """How often each of these marks is written where it is not always null."""
        written = {mark: self.all.get(f"soft:{mark}") for mark in marks_wanted}
        return {mark: row["rows"] for mark, row in written.items() if row}

    def rows(self, *forms_wanted: str) -> int:
        """How many rows are written in one of these forms."""
        return sum(self.all[form]["rows"] for form in forms_wanted if form in self.all)

    def total(self, what: str) -> int:
        """A count summed over the forms that are values; of dates 0 where none is among them."""
        return sum(
            row.get(what, 0) for form, row in self.all.items() if not form.startswith("null:")
        )

    def spread(self, *forms_wanted: str) -> tuple[int, int]:
        """Shortest and longest value written in one of these forms."""
        forms_present = [self.all[form] for form in forms_wanted if form in self.all]
        return (
            min((row["shortest"] for row in forms_present), default=0),
            max((row["longest"] for row in forms_present), default=0),
        )

    @property
    def may_be_bands(self) -> bool:
        """Whether there are few values, not all of them numbers."""
        return 1 < self.total("distinct") <= MAX_BANDS and self.rows(*NUMBER_FORMS) != self.live


class ColumnEvidence(Protocol):
    """What can be asked about the values of one text column."""

    @property
    def census(self) -> Census:
        """The counts of its forms."""

    def few_texts(self) -> list[str]:
        """Its texts as they are written, if they are few; none where some are no plain words."""

    def values(self) -> list[str]:
        """Its distinct values where they may be bands: without blanks around them, or nulls."""

    def whole(self, sql: str, read_as: str) -> str:
        """The number as BIGINT where every value is whole, so that `34` and `34.0` are one."""


class SingleColumn:
    """A column that is asked by itself."""

    def __init__(self, engine: DuckConnection, column: RawColumn, marks: Sequence[str]) -> None:
        self._engine = engine
        self._column = column
        self._marks = marks

    @cached_property
    def census(self) -> Census:
        """One query, and one more where there are dates."""
        raw, query = self._column.raw, self._column.query
        counted = _fetch_dicts(self._engine, forms.query_census(raw, query, self._marks))
        if any(row["form"] in ("iso", "parts") for row in counted):
            counted += _fetch_dicts(
                self._engine, forms.query_census(raw, query, self._marks, dates=True)
            )
        return Census(counted)

    def few_texts(self) -> list[str]:
        """One query that ends where there are too many."""
        texts = self._distinct(f"{self._column.value()}::VARCHAR", f" LIMIT {MAX_WORDS + 1}")
        return [] if len(texts) > MAX_WORDS else [text for text in texts if text is not None]

    def values(self) -> list[str]:
        """One query over the column with nulls in the place of marks."""
        marks = ", ".join(map(forms.quote_text, self.census.nulls)) or "NULL"
        value = forms.trim_blanks(f"{self._column.value()}::VARCHAR")
        texts = self._distinct(f"CASE WHEN {value} IN ({marks}) THEN NULL ELSE {value} END")
        return [text for text in texts if text is not None]

    def _distinct(self, sql: str, limit: str = "") -> list[str | None]:
        query = f"SELECT DISTINCT {sql} FROM ({self._column.query}){limit}"
        return [row[0] for row in self._engine.execute(query).fetchall()]

    def whole(self, sql: str, read_as: str) -> str:
        """One query, of all rows."""
        return cast_whole(self._engine, self._column, sql)


class ColumnLot:
    """Columns that are counted together."""

    def __init__(
        self, engine: DuckConnection, columns: Sequence[RawColumn], marks: Sequence[str]
    ) -> None:
        self._engine = engine
        self.columns = columns
        counts, texts = self._count()
        engine.register(_COUNTS, counts)
        engine.register(f"{_TEXTS}_read", texts)
        query = forms.query_forms(f"{_TEXTS}_read", marks)
        engine.execute(f"CREATE OR REPLACE TEMP TABLE {_TEXTS} AS {query}")
        engine.unregister(f"{_TEXTS}_read")
        rows = _fetch_dicts(engine, forms.query_lot_census(_COUNTS, _TEXTS))
        if any(row["form"] in ("iso", "parts") for row in rows):
            rows += _fetch_dicts(engine, forms.query_lot_census(_COUNTS, _TEXTS, dates=True))
        lists: list[list[dict[str, Any]]] = [[] for _ in columns]
        for row in rows:
            lists[row.pop("i")].append(row)
        self.censuses = [Census(own) for own in lists]
        self._whole: dict[str, dict[int, tuple[int, bool, int]]] = {}

    def _count(self) -> tuple[pa.Table, pa.Table]:
        """How often the i-th column holds the k-th text, and the texts."""
        picked = ", ".join(f"{c.value()}::VARCHAR AS c{i}" for i, c in enumerate(self.columns))
        cells = self._engine.sql(f"SELECT {picked} FROM ({self.columns[0].query})")
        value_counts = [column.value_counts() for column in cells.to_arrow_table().columns]
        texts = pa.chunked_array(
            [column_counts.field(0) for column_counts in value_counts]
        ).combine_chunks()
        texts = texts.dictionary_encode("encode")
        place = np.repeat(
            np.arange(len(value_counts), dtype=np.int32),
            [len(column_counts) for column_counts in value_counts],
        )
        number = pa.chunked_array([column_counts.field(1) for column_counts in value_counts])
        counts = pa.table({"i": place, "k": texts.indices, "n": number})
        keys = np.arange(len(texts.dictionary), dtype=np.int32)
        return counts, pa.table({"k": keys, "r": texts.dictionary})

    @cached_property
    def values(self) -> dict[int, list[str]]:
        """The distinct values of the columns that may be bands or plain words, without nulls."""
        wanted = [
            i
            for i, census in enumerate(self.censuses)
            if census.may_be_bands or self.may_be_words(i)
        ]
        texts: dict[int, list[str]] = {i: [] for i in wanted}
        if wanted:
            query = (
                f"SELECT DISTINCT i, v FROM {_COUNTS} JOIN {_TEXTS} USING (k)"
                f" WHERE i IN ({', '.join(map(str, wanted))}) AND NOT starts_with(form, 'null:')"
            )
            for i, text in self._engine.execute(query).fetchall():
                texts[i].append(text)
        return texts

    def may_be_words(self, i: int) -> bool:
        """Whether the i-th column has few values, neither marks nor anything with a digit first."""
        census = self.censuses[i]
        return (
            census.all.keys() <= {"word", "inf", "null:"}
            and not census.all.get("null:", {}).get("written")
            and not census.total("padded")
            and sum(row["raw"] for row in census.all.values()) <= MAX_WORDS
        )

    def whole(self, i: int, read_as: str) -> tuple[int, bool, int]:
        """Of the i-th column's numbers: how many are infinite, if all are whole, and unreadable."""
        if read_as not in self._whole:
            sql, numeric = _READ_AS[read_as]
            wanted = [
                i for i, census in enumerate(self.censuses) if census.rows(*numeric) == census.live
            ]
            listed = ", ".join(map(forms.quote_text, numeric))
            query = (
                "SELECT i, coalesce(sum(n) FILTER (isinf(x)), 0)::BIGINT,"
                f" bool_and({exact_sql('x')}), count(*) FILTER (x IS NULL)"
                f" FROM {_COUNTS} JOIN (SELECT k, {sql} AS x FROM {_TEXTS}"
                f" WHERE form IN ({listed})) USING (k)"
                f" WHERE i IN ({', '.join(map(str, wanted))}) GROUP BY i"
            )
            rows = self._engine.execute(query).fetchall()
            self._whole[read_as] = {row[0]: row[1:] for row in rows}
        return self._whole[read_as][i]

    def close(self) -> None:
        """Let the engine forget the lot."""
        self._engine.unregister(_COUNTS)
        self._engine.execute(f"DROP TABLE IF EXISTS {_TEXTS}")


class ColumnInLot:
    """A column that is counted together with others."""

    def __init__(self, engine: DuckConnection, lot: ColumnLot, at: int) -> None:
        self._engine = engine
        self._lot = lot
        self._at = at

    @property
    def census(self) -> Census:
        """As the lot counted it."""
        return self._lot.censuses[self._at]

    def few_texts(self) -> list[str]:
        """The values: where they may be plain words, they have no blanks around them."""
        return self._lot.values[self._at] if self._lot.may_be_words(self._at) else []

    def values(self) -> list[str]:
        """As the lot has them."""
        return self._lot.values[self._at]

    def whole(self, sql: str, read_as: str) -> str:
        """As the lot read them; what it could not read is asked alone, for the engine's error."""
        column = self._lot.columns[self._at]
        endless, exact, unread = self._lot.whole(self._at, read_as)
        if unread:
            return cast_whole(self._engine, column, sql)
        refuse_infinite(column.name, endless)
        return f"CAST({sql} AS BIGINT)" if exact else sql


class EvidenceCollector:
    """Evidence for the text columns of a table, one after the other, in their order.

    ``longest`` holds the bytes of each column's longest text; a column of unknown length is asked
    alone.
    """

    def __init__(
        self,
        engine: DuckConnection,
        columns: Sequence[RawColumn],
        marks: Sequence[str],
        rows: int,
        longest: Mapping[str, int],
    ) -> None:
        self._engine = engine
        self._marks = marks
        lots = _plan_lots(columns, rows, longest)
        self._places = {column.raw: (lot, at) for lot in lots for at, column in enumerate(lot)}
        self._lot: ColumnLot | None = None

    def ask(self, column: RawColumn) -> ColumnEvidence:
        """The evidence for a column; valid until the next one is asked for."""
        if column.raw not in self._places:
            return SingleColumn(self._engine, column, self._marks)
        columns, at = self._places[column.raw]
        if self._lot is None or self._lot.columns is not columns:
            self.close()
            self._lot = ColumnLot(self._engine, columns, self._marks)
        return ColumnInLot(self._engine, self._lot, at)

    def close(self) -> None:
        """Let the engine forget the last lot."""
        if self._lot is not None:
            self._lot.close()
        self._lot = None


def _plan_lots(
    columns: Sequence[RawColumn], rows: int, longest: Mapping[str, int]
) -> list[tuple[RawColumn, ...]]:
    """The columns that are counted together; those left out are asked alone."""
    if rows > MAX_LOT_ROWS:
        return []
    max_columns = min(MAX_LOT_COLUMNS, MAX_LOT_CELLS // max(1, rows))
    lots: list[list[RawColumn]] = []
    room = 0
    for column in columns:
        size = rows * longest.get(column.raw, MAX_LOT_BYTES)
        if size > MAX_LOT_BYTES // 4:
            continue
        if not lots or len(lots[-1]) == max_columns or size > room:
            lots.append([])
            room = MAX_LOT_BYTES
        lots[-1].append(column)
        room -= size
    return [tuple(lot) for lot in lots if len(lot) > 1]


def _fetch_dicts(engine: DuckConnection, query: str) -> list[dict[str, Any]]:
    result = engine.execute(query)
    labels = [item[0] for item in result.description or ()]
    return [dict(zip(labels, row, strict=True)) for row in result.fetchall()]
