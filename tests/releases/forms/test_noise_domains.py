"""Domains: "" says that cells may be empty; what lies outside is told of all columns at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import shoal
from shoal.core.errors import InputError, SchemaError

TABLE = pd.DataFrame(
    {
        "age": [21.5, None, 33, 47, 52, 38, 29, 60],
        "born": pd.to_datetime(["1970-03-01", None, *["1980-05-05"] * 6]),
        "ward": ["A", "B", None, "A", "B", "A", "B", "A"],
        "bmi": [24.5, None, 31.2, 19.9, 25, 22, 60, 41],
    }
)
EMPTY = """
[columns.age]
role = "quasi"
kind = "number"
bounds = [10, 60]
hierarchy = { intervals = [5, 10] }
domain = [""]
[columns.born]
role = "quasi"
kind = "date"
bounds = [1960-01-01, 1999-12-31]
domain = [""]
[columns.ward]
role = "quasi"
domain = ["A", "B", ""]
[columns.bmi]
role = "sensitive"
kind = "number"
bounds = [10, 60]
hierarchy = { intervals = [5] }
domain = [""]
"""
"""One schema for all forms."""
STRICT = EMPTY.replace('domain = [""]\n', "").replace(', ""]', "]")


@pytest.mark.parametrize(
    "asked",
    [
        {"rule": "k-anonymity k=2"},
        {"rule": "k-anonymity k=2", "form": "centroids"},
        {"rule": "k-anonymity k=2", "form": "randomised", "epsilon": 1},
        {"form": "counts", "epsilon": 1},
    ],
)
def test_cells_may_be_empty_under_one_schema_for_all_forms(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    release = shoal.publish(TABLE, shoal.Schema.parse(EMPTY), out=tmp_path / "rel", **asked)
    assert shoal.verify(release).holds
    assert release.verdict.holds


def test_a_later_release_reads_the_same_domain(tmp_path: Path) -> None:
    schema = shoal.Schema.parse(EMPTY).set(id=shoal.person)
    people = TABLE.assign(id=range(len(TABLE)))
    first = shoal.publish(people, schema, "k-anonymity k=2", out=tmp_path / "one")
    again = shoal.publish(
        people, schema, "k-anonymity k=2", based_on=first.folder, out=tmp_path / "two"
    )
    assert again.verdict.holds


def test_the_empty_text_allows_no_other_value() -> None:
    schema = shoal.Schema.parse(EMPTY).set(ward=shoal.quasi(domain=["A", ""]))
    with pytest.raises(SchemaError, match="1 values outside its declared domain, in 3 rows"):
        shoal.publish(TABLE, schema, "k-anonymity k=2")


def test_all_columns_with_empty_cells_are_told_at_once(tmp_path: Path) -> None:
    schema = shoal.Schema.parse(STRICT)
    with pytest.raises(InputError) as error:
        shoal.publish(TABLE, schema, form="counts", epsilon=1, out=tmp_path / "rel")
    assert all(f'"{name}" is empty in 1 row' in error.value.fact for name in TABLE.columns)
    assert error.value.hint.count('domain = [""]') == 4


def test_all_columns_with_other_values_are_told_at_once() -> None:
    schema = shoal.Schema.of(quasi=["ward", "site"])
    schema = schema.set(ward=shoal.quasi(domain=["A"]), site=shoal.quasi(domain=["N"]))
    table = pd.DataFrame({"ward": ["A", "B"], "site": ["N", "S"]})
    with pytest.raises(SchemaError, match=r"'ward' has 1 values.*'site' has 1 values"):
        shoal.publish(table, schema, "k-anonymity k=1")


def test_randomised_columns_are_told_of_at_once() -> None:
    schema = shoal.Schema.parse(STRICT).set(
        ward=shoal.sensitive(domain=["A", "B"]), age=shoal.quasi(), born=shoal.quasi()
    )
    with pytest.raises(InputError, match=r'"ward" is empty.*"bmi" is empty'):
        shoal.publish(TABLE, schema, "k-anonymity k=2", form="randomised", epsilon=1)


def test_only_columns_that_are_counted_are_looked_at(tmp_path: Path) -> None:
    schema = shoal.Schema.parse(STRICT).set(
        ward=shoal.quasi(domain=["A", "B", ""]),
        bmi=shoal.sensitive(domain=["none"], kind="category"),
    )
    file = tmp_path / "table.csv"
    TABLE.to_csv(file, index=False)
    out = tmp_path / "rel"
    release = shoal.publish(file, schema, form="counts", epsilon=1, marginals=[["ward"]], out=out)
    assert shoal.verify(out).holds
    useful = release.private["utility"]
    assert 0 <= useful["bins"] < useful["marginals"] <= 1
    assert useful["bins"] == pytest.approx(0)  # a ward is its own bin
    found = shoal.attack("auditing", [out], original=file, runs=100)
    assert not found.exposed
