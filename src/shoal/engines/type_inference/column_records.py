"""What goes into the decision on a column and what comes out: its kind, and the SQL to read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

import shoal.engines.type_inference.value_forms as forms
from shoal.core.column import describe_name
from shoal.core.errors import InputError, UsageError

CODE_NAME = re.compile(r"zip|postal|post.?code|plz|code|icd", re.IGNORECASE)
"""Names of columns whose numbers identify rather than count."""

EXACT_DIGITS = 15
"""Digits that a 64-bit float always holds exactly."""

_POSTAL = re.compile(r"zip|postal|post.?code|plz", re.IGNORECASE)
_WIDE = 5
_WIDE_POSTAL = 4
"""Digits from which integers of one width may be a code: many countries' postal codes have four."""

DuckConnection = duckdb.DuckDBPyConnection


READABLE_KINDS = ("number", "date", "code", "category", "text", "label", "numeral")
"""What a caller may state; a label is a word exactly as it stands, and only empty is null. A
numeral is a label of numbers, with a decimal point whatever sign is written."""

LeftOut = Callable[[Sequence[str]], Iterable[str]]
"""Picks, of the names of a table's columns, those that are left out of all that is done with it."""


@dataclass(frozen=True)
class ReadingOptions:
    """What the caller knows about how values are written; None is to be found out."""

    decimal: str | None = None
    day_first: bool | None = None
    nulls: tuple[str, ...] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    left_out: LeftOut | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise UsageError("The decimal sign must be '.' or ','.", "Set decimal=','.")
        if wrong := sorted(set(self.kinds.values()) - set(READABLE_KINDS)):
            raise UsageError(
                f"There is no kind {wrong[0]!r}.", f"Use one of {', '.join(READABLE_KINDS)}."
            )


@dataclass(frozen=True)
class RawColumn:
    """A column as it comes: its name in the query, its public name, and the query."""

    raw: str
    name: str
    query: str
    forced: str | None = None

    def value(self) -> str:
        """The column as SQL."""
        return forms.quote_column(self.raw)


@dataclass(frozen=True)
class Select:
    """Columns, each an expression under a name, of a query; as text, all of them."""

    columns: tuple[tuple[str, str], ...]
    query: str

    def __str__(self) -> str:
        picked = ", ".join(f"{sql} AS {forms.quote_column(name)}" for name, sql in self.columns)
        return f"SELECT {picked} FROM ({self.query})"


@dataclass(frozen=True)
class ColumnDecision:
    """A decision: the kind, the SQL that yields typed values, and notes."""

    kind: str
    sql: str
    notes: tuple[str, ...] = ()
    ordered: bool = False
    null_marks: tuple[tuple[str, int], ...] = ()
    doubtful_marks: tuple[tuple[str, int], ...] = ()
    decimal_comma: bool = False


def has_code_width(name: str, shortest: int, longest: int) -> bool:
    """Whether integers of so many digits are codes, by the name of their column.

    >>> has_code_width("plz", 4, 4), has_code_width("code", 4, 4)
    (True, False)
    >>> has_code_width("code", 5, 5), has_code_width("zip", 4, 5)
    (True, False)
    """
    min_digits = _WIDE_POSTAL if _POSTAL.search(name) else _WIDE
    return shortest == longest >= min_digits and CODE_NAME.search(name) is not None


def refuse_infinite(name: str, count: int) -> None:
    """Infinite values have no place on a scale: say so by column and count."""
    if count:
        raise InputError(
            f"Column {describe_name(name)} holds {count:,} infinite values.",
            "Replace them with a number or leave them empty.",
        )


def exact_sql(number: str) -> str:
    """Whether a DOUBLE is whole, and no digit of it is lost, as SQL."""
    return f"{number} = floor({number}) AND abs({number}) < 1e{EXACT_DIGITS}"


def cast_whole(engine: DuckConnection, column: RawColumn, sql: str) -> str:
    """The number as BIGINT where every value is whole, so that `34` and `34.0` are one value."""
    row = engine.execute(
        f"SELECT count(*) FILTER (isinf(x)), bool_and({exact_sql('x')})"
        f" FROM (SELECT {sql} AS x FROM ({column.query}))"
    ).fetchall()[0]
    infinite, exact = row
    refuse_infinite(column.name, infinite)
    return f"CAST({sql} AS BIGINT)" if exact else sql
