"""Kinds: what a column is, judged on all its values; doubts told in notes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from shoal.core.errors import InputError, UsageError
from shoal.engines.open_table import open as open_table


def seen(values: list[Any], name: str = "x", **options: Any) -> tuple[str, list[Any], int, str]:
    """Kind, sorted distinct values, nulls and notes of one column."""
    frame = open_table(pa.table({name: values}), **options)
    found = frame.values([name])[name]
    return frame.fields[0].kind, sorted(found.values), found.nulls, "; ".join(frame.fields[0].notes)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1", "-2", "+3"], [-2, 1, 3]),
        (["1.5", ".5", "2.", "1e3"], [0.5, 1.5, 2, 1000]),
        (["1,5", "2"], [1.5, 2]),
        (["1.234,5", "2.345.678", "1.234"], [1234, 1234.5, 2345678]),
        (["1,234.5", "2,345,678"], [1234.5, 2345678]),
        (["1 234,5", "7"], [7, 1234.5]),
        (["34", "34.0"], [34]),
        (["1.234", "5.5"], [1.234, 5.5]),
    ],
)
def test_numbers(values: list[str], numbers: list[float]) -> None:
    kind, found, nulls, _ = seen(values)
    assert (kind, found, nulls) == ("number", numbers, 0)


def test_thousands_or_decimals_is_told_and_settable() -> None:
    assert seen(["1,234"])[1] == [1234]
    assert "decimal=" in seen(["1,234"])[3]
    assert seen(["1,234"], decimal=",")[1] == [1.234]
    assert seen(["1.234"], decimal=",")[1] == [1234]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (["01301", "13053"], "x"),
        (["13053", "14850"], "zip"),
        (["8001", "3012"], "PLZ"),
        (["8001", "3012"], "home_zip"),
        (["13053", "14850"], "Postcode"),
        (["E11.9", "I10", "J45.901"], "diagnosis"),
        (["250.00", "038.9", "401"], "icd"),
        (["250.00", "V45.8"], "icd9"),
        (["12345678901234567", "1"], "person"),
    ],
)
def test_codes_keep_their_text(values: list[str], name: str) -> None:
    kind, found, _, _ = seen(values, name)
    assert (kind, found) == ("code", sorted(values))


def test_numbers_that_are_not_codes() -> None:
    assert seen(["13053", "14850"], "income")[0] == "number"
    assert seen(["1", "14850"], "zip")[0] == "number"
    assert seen(["20-29", "30-39"])[0] == "category"
    assert seen(["130**", "148**"])[0] == "category"
    assert seen(["ward1", "ward2"])[0] == "category"


@pytest.mark.parametrize(
    ("values", "date", "note"),
    [
        (["1999-12-31"], dt.date(1999, 12, 31), ""),
        (["1999/12/31"], dt.date(1999, 12, 31), ""),
        (["31.12.1999"], dt.date(1999, 12, 31), "day before month"),
        (["31/12/1999"], dt.date(1999, 12, 31), "day before month"),
        (["12/31/1999"], dt.date(1999, 12, 31), "month before day"),
        (
            ["9/20/65"],
            dt.date(1965, 9, 20),
            "month before day; two-digit years read as 1930 to 2029",
        ),
        (["1999-12-31T00:00:00"], dt.date(1999, 12, 31), ""),
        (["1999-12-31 10:30"], dt.date(1999, 12, 31), "1 times of day left out"),
    ],
)
def test_dates(values: list[str], date: dt.date, note: str) -> None:
    assert seen(values) == ("date", [date], 0, note)


def test_day_and_month_in_doubt() -> None:
    kind, found, _, note = seen(["01/02/1999"])
    assert (kind, found) == ("date", [dt.date(1999, 2, 1)])
    assert "day_first=" in note
    assert seen(["01/02/1999"], day_first=False)[1] == [dt.date(1999, 1, 2)]
    assert seen(["13/01/1999", "01/13/1999"])[0] == "category"
    assert seen(["2001-02-30"])[0] == "category"


def test_null_marks_are_noted_and_settable() -> None:
    kind, found, nulls, note = seen(["5", "?", "NA", "NA", "", None])
    assert (kind, found, nulls) == ("number", [5], 5)
    assert "1 nulls written '?'" in note
    assert "2 nulls written 'NA'" in note
    assert seen(["5", "99", "?"], nulls=["99"])[0] == "category"
    assert seen(["5", "99"], nulls=["99"])[1:3] == ([5], 1)


def test_a_dash_is_null_only_among_numbers_and_dates() -> None:
    assert seen(["5", "-", "none"])[:3] == ("number", [5], 2)
    assert seen(["+", "-"])[:3] == ("category", ["+", "-"], 0)
    assert seen(["mild", "none"])[:3] == ("category", ["mild", "none"], 0)


def test_mixtures_prose_blanks_and_nothing() -> None:
    kind, found, _, note = seen(["5", "six", "7"])
    assert (kind, found) == ("category", ["5", "7", "six"])
    assert note.startswith("2 of 3")
    assert seen(["the patient came in late", "she was sent home again today"])[0] == "text"
    assert seen([" a", "a"])[1:] == (["a"], 0, "1 values had blanks around them")
    assert seen([None, "?"])[:3] == ("category", [], 2)


@pytest.mark.parametrize(
    "values", [["1", "inf"], ["1", "-Infinity"], ["1", "1e999"], [1.0, float("inf")]]
)
def test_infinities_are_refused(values: list[Any]) -> None:
    with pytest.raises(InputError, match=r"'x' holds 1 infinite values"):
        seen(values)


def test_typed_columns() -> None:
    assert seen([True, False, None])[:3] == ("category", ["false", "true"], 1)
    assert seen([1.0, 2.0, float("nan")])[:3] == ("number", [1, 2], 1)
    assert seen([13053, 14850], "zip")[:2] == ("code", ["13053", "14850"])
    assert seen([8001, 3012], "plz")[:2] == ("code", ["3012", "8001"])
    assert seen([8001, 3012], "codes_seen")[0] == "number"
    assert seen([13053.0, 14850.0, None], "zip")[:2] == ("code", ["13053", "14850"])
    assert seen([2**60, 1])[:2] == ("code", ["1", str(2**60)])
    noon = dt.datetime(2020, 1, 2, 12)
    assert seen([noon, None]) == ("date", [dt.date(2020, 1, 2)], 1, "1 times of day left out")
    assert seen([dt.datetime(2020, 1, 2, tzinfo=dt.UTC)])[1] == [dt.date(2020, 1, 2)]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([[1], [2]], "lists"),
        ([{"a": 1}], "records"),
        ([b"x"], "binary data"),
    ],
)
def test_nested_columns_are_refused(values: list[Any], what: str) -> None:
    with pytest.raises(InputError, match=f"'x' is a column of {what}"):
        seen(values)


def test_kinds_can_be_set() -> None:
    assert seen(["5", "6"], kinds={"x": "category"})[:2] == ("category", ["5", "6"])
    assert seen(["007"], kinds={"x": "number"})[:2] == ("number", [7])
    assert seen([5, 6], kinds={"x": "code"})[:2] == ("code", ["5", "6"])
    with pytest.raises(InputError, match="1 values of column 'x' are not numbers"):
        seen(["5", "six"], kinds={"x": "number"})
    with pytest.raises(InputError, match="not dates"):
        seen(["1999-01-01", "six"], kinds={"x": "date"})
    with pytest.raises(UsageError):
        seen(["5"], kinds={"x": "colour"})
    with pytest.raises(UsageError):
        seen(["5"], kinds={"y": "number"})
    with pytest.raises(UsageError):
        seen(["5"], decimal=";")
