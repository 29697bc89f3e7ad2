"""Which sign is a text column's decimal one, comma or point, and in which order its dates are.

A sign or an order is taken where every value of the column can be read with it: one value that
cannot makes it wrong. Where both can, the point is taken before the comma and the day before the
month, and the field's notes say so.
"""

from __future__ import annotations

from shoal.core.errors import InputError
from shoal.engines.type_inference.column_records import RawColumn, ReadingOptions
from shoal.engines.type_inference.text_census import COMMA_FORMS, POINT_FORMS, Census


def find_decimal_sign(census: Census, column: RawColumn, reading: ReadingOptions) -> str | None:
    """The decimal sign under which every value is a number."""
    extra = ("inf", "zeros") if column.forced else ("inf",)
    fits = {".": census.rows(*POINT_FORMS, *extra), ",": census.rows(*COMMA_FORMS, *extra)}
    signs = [reading.decimal] if reading.decimal else [".", ","]
    if census.live and census.live != census.rows("inf"):
        for sign in signs:
            if fits[sign] == census.live:
                return sign
    if column.forced == "number":
        _refuse(column, census.live - max(fits[sign] for sign in signs), "numbers")
    return None


def find_date_order(census: Census, column: RawColumn, reading: ReadingOptions) -> str | None:
    """How every date is written: iso, day first, month first; None where not all are dates."""
    bad = {order: census.total(f"bad_{order}") for order in ("iso", "day", "month")}
    live = census.live
    if live and census.rows("iso") == live and not bad["iso"]:
        return "iso"
    if live and census.rows("parts") == live:
        orders = (
            ["day", "month"]
            if reading.day_first is None
            else (["day"] if reading.day_first else ["month"])
        )
        for order in orders:
            if not bad[order]:
                return order
    if column.forced == "date":
        other = live - census.rows("iso", "parts")
        wrong = bad["iso"] + min(bad["day"], bad["month"])
        _refuse(
            column,
            other + wrong or min(census.rows("iso"), census.rows("parts")) or live,
            "dates in one order",
        )
    return None


def _refuse(column: RawColumn, count: int, what: str) -> None:
    raise InputError(
        f"{count:,} values of column {column.name!r} are not {what}.",
        f"Correct them, name them in nulls=, or leave {column.name!r} out of kinds=.",
    )
