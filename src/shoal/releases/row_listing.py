"""A table column by column, in its own order: the distinct values, and which of them each row has.

This is how an adversary reads: rows as they stand, whatever the values mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.labels import format_value, restore_cell
from shoal.core.theory.adversary_view import UNPUBLISHED
from shoal.engines.protocol import Codes, Coding, Distinct, Frame


@dataclass(frozen=True)
class Listing:
    """One column: its distinct values (None, the last one if any: null), and each row's place."""

    values: tuple[Any, ...]
    codes: Codes

    def words(self) -> list[str | None]:
        """The values as text, as they were before a spreadsheet's formulas were defused."""
        return [
            None if value is None else restore_cell(format_value(value)) for value in self.values
        ]

    def on(self, axis: Axis) -> NDArray[np.int32]:
        """Each row's code on an axis; -1 for a value that the axis does not have."""
        return axis.codes(self.values)[self.codes]


def read_columns(frame: Frame, names: Sequence[str]) -> dict[str, Listing]:
    """Some columns of a frame."""
    distinct = frame.values(names)
    rows = frame.rows([_coding(name, distinct[name]) for name in names])
    return {
        name: Listing((*distinct[name].values, *([None] if distinct[name].nulls else [])), codes)
        for name, codes in zip(names, rows, strict=True)
    }


def _coding(name: str, distinct: Distinct) -> Coding:
    size = len(distinct.values)
    null = size if distinct.nulls else None
    codes = np.arange(size, dtype=np.int32)
    return Coding(name, distinct.values, codes, null, size + (distinct.nulls > 0))


def unify_spellings(listings: Sequence[Listing]) -> tuple[str, list[Listing]]:
    """The same columns with their values written alike, and the kind that they are written as.

    Numbers are equal as numbers (50.0 is 50) where every table holds numbers only and none tells
    two of them apart by how they are written; dates are dates, and all else is text.

    >>> listings = [Listing(("50.0",), np.zeros(1)), Listing((50.0,), np.zeros(1))]
    >>> kind, (one, two) = unify_spellings(listings)
    >>> kind, one.values == two.values
    ('number', True)
    """
    for kind, read in {"number": _number, "date": _date}.items():
        unified = [_read(listing, read) for listing in listings]
        if all(listing is not None for listing in unified):
            return kind, [listing for listing in unified if listing is not None]
    return "category", [Listing(tuple(listing.words()), listing.codes) for listing in listings]


def code_on_axis(listing: Listing, axis: Axis) -> NDArray[np.int32]:
    """Each row's code on an axis of values written alike; -2 for what it does not have.

    -1 for null where the axis has none: in a table of people an empty cell is a value not known.
    """
    read = {"number": _number, "date": _date}.get(
        axis.kind, lambda value: restore_cell(format_value(value))
    )
    codes = [
        axis.null_code if value is None else _code(axis, read, value) for value in listing.values
    ]
    return np.array(codes, np.int32)[listing.codes]


def _code(axis: Axis, read: Callable[[Any], Any], value: Any) -> int:
    try:
        code = int(axis.codes([read(value)])[0])
    except ValueError:
        return UNPUBLISHED
    return code if code >= 0 else UNPUBLISHED


def _number(value: Any) -> float:
    number = math.nan if isinstance(value, date) or "_" in str(value) else float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _date(value: Any) -> date:
    if not isinstance(value, date | str):
        raise ValueError
    return date.fromisoformat(str(value))


def _read(listing: Listing, read: Callable[[Any], Any]) -> Listing | None:
    """The listing with its values read; None where one cannot be, or two become one."""
    try:
        values = tuple(None if value is None else read(value) for value in listing.values)
    except ValueError:
        return None
    return Listing(values, listing.codes) if len(set(values)) == len(values) else None
