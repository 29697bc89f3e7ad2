"""A missing value is none that a person has twice, nor one more that releases leave possible."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import shoal

SCHEMA = shoal.Schema.of(quasi=["city"], sensitive="illness", person="patient")


def encounters(rows: list[tuple[str, str, str | None]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(("patient", "city", "illness"), map(list, columns), strict=True)))


def certain_by_classes(rows: list[tuple[str, str, str | None]]) -> int:
    """How many people's classes, those with a known value of theirs, leave one value."""
    inside: dict[str, set[str | None]] = {}
    for _, city, illness in rows:
        inside.setdefault(city, set()).add(illness)
    exposed = 0
    for patient in {row[0] for row in rows}:
        own = [inside[city] for who, city, illness in rows if who == patient and illness]
        left = set.intersection(*own) if own else set()
        exposed += None not in left and len(left) == 1
    return exposed


def test_one_missing_value_does_not_hide_what_several_classes_tell() -> None:
    rows = [
        ("1", "a", "hiv"),
        ("2", "a", "flu"),
        ("1", "b", "hiv"),
        ("3", "b", "cold"),
        ("4", "c", "x"),
        ("4", "c", None),
        ("5", "c", "y"),
        ("6", "c", "z"),
    ]
    finding = shoal.attack("homogeneity", [encounters(rows)], schema=SCHEMA)
    assert finding.details["certain_by"]["several classes"] == 1
    assert finding.exposed == 1


@pytest.mark.parametrize("seed", range(40))
def test_several_classes_are_intersected_whatever_is_missing(seed: int) -> None:
    draw = random.Random(seed)
    own = {str(i): draw.choice("xyz") for i in range(8)}
    rows = [
        (who, draw.choice("abcd"), None if draw.random() < 0.2 else own[who])
        for who in own
        for _ in range(draw.randint(1, 3))
    ]
    rows.append(rows[0])  # somebody has two rows for certain
    finding = shoal.attack("homogeneity", [encounters(rows)], schema=SCHEMA)
    assert finding.details["certain_by"]["several classes"] == certain_by_classes(rows)


def published(values: list[str | None]) -> pa.Table:
    size = len(values)
    return pa.table({"age": ["30-39"] * size, "sex": ["f"] * size, "illness": values})


ROLES = shoal.Schema.of(quasi=["age", "sex"], sensitive="illness")


def test_rows_without_a_value_are_no_further_value_of_two_releases() -> None:
    pair = [published(["hiv", "flu", None]), published(["hiv", "cold", None])]
    found = shoal.attack("worst-pair", pair, schema=ROLES, l=2)
    assert (found.exposed, found.sure) == (3, 1.0)


def test_rows_without_a_value_are_no_further_value_of_three_releases() -> None:
    values = [["a", "b", "c"], ["a", "b", "d"], ["a", "c", "d"]]
    three = [published([*own, *own, None]) for own in values]
    assert shoal.attack("worst-pair", three[:2], schema=ROLES, l=2).exposed == 0
    assert shoal.attack("worst-pair", three, schema=ROLES, l=2).exposed == 7


@pytest.mark.parametrize("is_known_who", [False, True])
def test_a_ledger_judges_missing_values_as_the_worst(tmp_path, is_known_who: bool) -> None:
    people = pa.table({"age": ["30-39"] * 3, "sex": ["f"] * 3}) if is_known_who else None
    with shoal.Ledger.init(tmp_path / "releases.db") as ledger:
        ledger.admit(published(["hiv", "flu", None]), schema=ROLES, people=people, name="one")
        with pytest.raises(shoal.Refused):
            ledger.admit(published(["hiv", "cold", None]), schema=ROLES, people=people, name="two")
