"""One column on its way in, and what was decided about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb

import shoal.engines.type_inference.value_forms as forms
from shoal.core.column import describe_name
from shoal.core.errors import InputError

HINT = re.compile(r"zip|postal|post.?code|plz|code|icd", re.IGNORECASE)
"""Names of columns whose numbers identify rather than count."""

EXACT = 15
"""Digits that a 64-bit float always holds exactly."""

_POSTAL = re.compile(r"zip|postal|post.?code|plz", re.IGNORECASE)
_WIDE = 5
_WIDE_POSTAL = 4
"""Digits from which integers of one width may be a code: many countries' postal codes have four."""

Engine = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Column:
    """A column as it comes: its name in the query, its public name, and the query."""

    raw: str
    name: str
    query: str
    forced: str | None = None

    def value(self) -> str:
        """The column as SQL."""
        return forms.name(self.raw)


@dataclass(frozen=True)
class Select:
    """Columns, each an expression under a name, of a query; as text, all of them."""

    columns: tuple[tuple[str, str], ...]
    query: str

    def __str__(self) -> str:
        picked = ", ".join(f"{sql} AS {forms.name(name)}" for name, sql in self.columns)
        return f"SELECT {picked} FROM ({self.query})"


@dataclass(frozen=True)
class Found:
    """A decision: the kind, the SQL that yields typed values, and notes."""

    kind: str
    sql: str
    notes: tuple[str, ...] = ()
    ordered: bool = False
    null_marks: tuple[tuple[str, int], ...] = ()
    doubtful_marks: tuple[tuple[str, int], ...] = ()
    decimal_comma: bool = False


def is_wide(name: str, shortest: int, longest: int) -> bool:
    """Whether integers of so many digits are codes, by the name of their column.

    >>> is_wide("plz", 4, 4), is_wide("code", 4, 4), is_wide("code", 5, 5), is_wide("zip", 4, 5)
    (True, False, True, False)
    """
    least = _WIDE_POSTAL if _POSTAL.search(name) else _WIDE
    return shortest == longest >= least and HINT.search(name) is not None


def infinite(name: str, count: int) -> None:
    """Infinite values have no place on a scale: say so by column and count."""
    if count:
        raise InputError(
            f"Column {describe_name(name)} holds {count:,} infinite values.",
            "Replace them with a number or leave them empty.",
        )


def exact_sql(number: str) -> str:
    """Whether a DOUBLE is whole, and no digit of it is lost, as SQL."""
    return f"{number} = floor({number}) AND abs({number}) < 1e{EXACT}"


def whole(engine: Engine, column: Column, sql: str) -> str:
    """The number as BIGINT where every value is whole, so that `34` and `34.0` are one value."""
    checked = engine.execute(
        f"SELECT count(*) FILTER (isinf(x)), bool_and({exact_sql('x')})"
        f" FROM (SELECT {sql} AS x FROM ({column.query}))"
    ).fetchall()[0]
    endless, exact = checked
    infinite(column.name, endless)
    return f"CAST({sql} AS BIGINT)" if exact else sql
