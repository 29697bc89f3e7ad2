"""Look: roles with reasons, and how risk grows with what is known."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

import shoal


def alone(rows, columns):
    found = Counter(tuple(row[name] for name in columns) for row in rows)
    return sum(size == 1 for size in found.values())


def test_every_column_has_a_role_with_a_reason(town):
    seen = shoal.look(town.table)
    assert [column.name for column in seen.schema.columns] == list(town.columns)
    for column in seen.to_json()["columns"]:
        assert column["role"] in (
            "identifier",
            "quasi",
            "sensitive",
            "provider",
            "person",
            "weight",
            "keep",
            "undecided",
        )
        assert column["reason"], column["name"]
    roles = {column.name: column.role for column in seen.schema.columns}
    assert {roles["age"], roles["sex"], roles["zip"]} == {"quasi"}
    assert seen.rows == 80


def test_growth_and_subsets_are_counted(town):
    seen = shoal.look(town.table, town.schema())
    assert seen.unique == alone(town.rows, town.quasi)
    growth = seen.growth()
    assert {name for name, _ in growth} == set(town.quasi)
    known = []
    for name, unique in growth:
        known.append(name)
        assert unique == alone(town.rows, known)
    assert growth[0][1] == max(alone(town.rows, [name]) for name in town.quasi)
    told = {tuple(one["columns"]): one["unique"] for one in seen.to_json()["subsets"]}
    for size in (1, 2):
        for columns in combinations(town.quasi, size):
            assert told[columns] == alone(town.rows, columns)


def test_a_column_wrongly_left_out_is_noticed(town):
    """Sweeney's misjudged quasi-identifier: who leaves ``born`` out overlooks nearly everybody."""
    seen = shoal.look(town.table, town.schema(born=shoal.keep))
    found = {name: (without, with_) for name, without, with_ in seen.overlooked()}
    assert found["born"] == (alone(town.rows, town.quasi), alone(town.rows, (*town.quasi, "born")))
    assert seen.overlooked()[0][0] == "born"
    assert "With born as well" in str(seen)


def test_what_is_decided_stays_decided(town):
    seen = shoal.look(town.table, shoal.Schema.of(sensitive="zip"))
    assert seen.schema.column("zip").role == "sensitive"
    assert "zip" not in [name for name, _ in seen.growth()]


def test_null_is_a_value_when_counting_the_unique(town):
    rows = [{"age": age, "sex": "f"} for age in ("", "30", "30")]
    table = town.write(town.folder / "n.csv", rows)
    assert shoal.look(table, shoal.Schema.of(quasi=["age", "sex"])).unique == 1


def test_an_empty_table_is_an_error(town):
    empty = town.folder / "e.csv"
    empty.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(shoal.InputError):
        shoal.look(empty)


def test_json_holds_no_cell_value(town):
    text = str(shoal.look(town.table).to_json())
    for row in town.rows[:5]:
        assert row["name"] not in text
        assert row["born"] not in text
