"""One row a person: which of a person's rows stands for them, chosen before anything is counted.

``latest by COLUMN``  the row whose column is largest; ``first by COLUMN`` the smallest. A row where
                      it is empty stands for somebody only where all of their rows are so
``random``            any of their different rows, each as likely

Rows that are equally early or late are drawn from too. What is drawn comes from the operating
system: a key, by which rows are put in the order of their keyed hashes. Whoever has the key (in the
private companion) finds the same rows again; nobody else does.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import shoal.engines.type_inference.value_forms as forms
from shoal.core.errors import InputError, UsageError
from shoal.core.labels import format_count
from shoal.core.schema import Field
from shoal.engines.readers.header import clean_names
from shoal.engines.type_inference.column_kind import recognise_columns
from shoal.engines.type_inference.column_records import DuckConnection, ReadingOptions, Select

EXAMPLE = "latest by COLUMN"
FIRST, LATEST, RANDOM = "first", "latest", "random"
PERSON, ORDER, TIME, TIE = "shoal person", "shoal order", "shoal time", "shoal tie"
"""The columns by which rows are chosen, while they are."""
_TABLE = "shoal_one_row"
_PATTERN = re.compile(rf"({FIRST}|{LATEST})\s+by\s+(\S(?:.*\S)?)", re.DOTALL)


def is_one_row(text: object) -> bool:
    """Whether it says which row stands for a person."""
    return isinstance(text, str) and (text == RANDOM or _PATTERN.fullmatch(text) is not None)


@dataclass(frozen=True)
class OneRow:
    """Which row stands for each person of a table; ``by`` is empty where it is drawn at random.

    >>> print(OneRow.parse("latest  by admitted", "patient", b"secret"))
    latest by admitted
    """

    which: str
    by: str
    person: str
    key: bytes

    @classmethod
    def parse(cls, text: str, person: str, key: bytes) -> OneRow:
        """As somebody writes it."""
        text = text.strip() if isinstance(text, str) else ""
        if text == RANDOM:
            return cls(RANDOM, "", person, key)
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise UsageError(
                "One row a person is the first or the latest by a column, or a random one.",
                f'write --one-row "{EXAMPLE}", "first by COLUMN" or "{RANDOM}".',
            )
        return cls(match[1], match[2], person, key)

    def __str__(self) -> str:
        return f"{self.which} by {self.by}" if self.by else self.which

    def keep(
        self,
        engine: DuckConnection,
        raw: str,
        reading: ReadingOptions,
        longest: Mapping[str, int] | None = None,
    ) -> tuple[Select, tuple[Field, ...]]:
        """The typed columns of the rows that stand for people, as a query, and their fields."""
        raw_names = [str(row[0]) for row in engine.execute(f"DESCRIBE {raw}").fetchall()]
        names = dict(zip(clean_names(raw_names), map(forms.quote_column, raw_names), strict=True))
        self._check(names)
        more, kinds = self._choice_sql(names), {**reading.kinds, TIE: "label"}
        for name, column in ((PERSON, self.person), (ORDER, self.by)):
            if name in more and (kind := reading.kinds.get(column, "label")) != "label":
                kinds[name] = kind
        extra = ", ".join(f"{sql} AS {forms.quote_column(name)}" for name, sql in more.items())
        typed, fields = recognise_columns(
            engine, f"SELECT *, {extra} FROM ({raw})", replace(reading, kinds=kinds), longest
        )
        self._check_order({field.name: field.kind for field in fields})
        query = f"SELECT count(*) FROM ({typed}) WHERE {forms.quote_column(PERSON)} IS NULL"
        refuse_nameless_rows(self.person, int(engine.execute(query).fetchall()[0][0]))
        shown = tuple(field for field in fields if field.name not in more)
        picked = ", ".join(forms.quote_column(field.name) for field in shown)
        way = "DESC" if self.which == LATEST else "ASC"
        order = [
            f"{forms.quote_column(name)} {way} NULLS LAST" for name in (ORDER, TIME) if name in more
        ]
        engine.execute(
            f"CREATE OR REPLACE TEMP TABLE {_TABLE} AS SELECT {picked} FROM ({typed}) QUALIFY"
            f" row_number() OVER (PARTITION BY {forms.quote_column(PERSON)}"
            f" ORDER BY {', '.join([*order, forms.quote_column(TIE)])}) = 1"
        )
        own = tuple((field.name, forms.quote_column(field.name)) for field in shown)
        return Select(own, f"SELECT * FROM {_TABLE}"), shown

    def _choice_sql(self, names: Mapping[str, str]) -> dict[str, str]:
        """What rows are chosen by, as SQL by name; a date that is read has lost its time of day."""
        every = ", ".join(f"coalesce('=' || {sql}::VARCHAR, '-')" for sql in names.values())
        secret = forms.quote_text(hashlib.sha256(self.key).hexdigest())
        chosen = {
            PERSON: names[self.person],
            TIE: f"sha256({secret} || concat_ws(chr(31), {every}))",
        }
        if self.by:
            chosen[ORDER] = names[self.by]
            chosen[TIME] = f"epoch_ms(TRY_CAST({names[self.by]}::VARCHAR AS TIMESTAMP))"
        return chosen

    def _check(self, names: Mapping[str, str]) -> None:
        for name in filter(None, (self.person, self.by)):
            if name not in names:
                raise UsageError(
                    f"One row a person is chosen by the column {name!r}, and the table has none.",
                    "name a column of the table that is a number or a date.",
                )

    def _check_order(self, kinds: Mapping[str, str]) -> None:
        if self.by and kinds[ORDER] not in ("number", "date"):
            raise UsageError(
                f"Column {self.by!r} is no number and no date, so that nothing says which row is "
                f"the {self.which}.",
                'choose another column, or state its kind in the schema: kind = "date".',
            )


@dataclass(frozen=True)
class OneRowSource:
    """A table of which one row a person is read, wherever it is opened; a path stays one."""

    source: Any
    one_row: OneRow

    def __fspath__(self) -> str:
        return str(os.fspath(self.source))

    def __str__(self) -> str:
        return str(self.source)


def split_one_row(source: Any, one_row: OneRow | None) -> tuple[Any, OneRow | None]:
    """A table, and which row of it stands for a person, whichever of the two says so."""
    return (
        (source.source, source.one_row) if isinstance(source, OneRowSource) else (source, one_row)
    )


def refuse_nameless_rows(name: str, rows: int) -> None:
    """Refuse rows that are about nobody: they would pass for different people."""
    if rows:
        does, they = ("does", "it is") if rows == 1 else ("do", "they are")
        raise InputError(
            f"{format_count(rows, 'row')} {does} not say who {they} about (column {name!r} is "
            "empty).",
            "give every row its person, or leave these rows out.",
        )


def refuse_open_table(one_row: OneRow | None) -> None:
    """Refuse to choose rows of a table that is open already."""
    if one_row is not None:
        raise UsageError(
            "One row a person is chosen while a table is read, and this one is open already.",
            "give the table itself (a path, a DataFrame), not what shoal.open returned.",
        )
