"""Bands, sizes and chapters are categories with an order, and stand in it everywhere."""

from __future__ import annotations

import random
import re

import pyarrow as pa
import pytest

import shoal
from shoal.core.errors import HierarchyError
from shoal.core.labels import order_bands

ORDERS = [
    ("[0-10)", "[10-20)", "[20-30)", "[90-100)"),
    ("5-9", "10-14", "15-19", "100-104"),
    ("<30", "30-79", "80+"),
    ("under 18", "18 to 64", "65 and over"),
    ("(0,5]", "(5,10]", "(10,15]"),
    ("0-4 years", "5-9 years", "10-14 years"),
    ("S", "M", "L", "XL"),
    ("low", "medium", "high"),
    ("mild", "moderate", "severe"),
    ("A00-B99", "C00-D48", "S00-T98"),
    ("001-139", "140-239", "800-999"),
    ("I", "II", "IX", "XI"),
    ("0", "1-2", ">2"),
]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
def test_bands_are_recognised_and_sorted(order: tuple[str, ...]) -> None:
    mixed = sorted(order, reverse=True)
    assert order_bands(mixed) == order
    frame = shoal.open(pa.table({"x": mixed * 5}))
    assert frame.fields[0].ordered
    assert frame.fields[0].kind == "category"


@pytest.mark.parametrize(
    "values",
    [
        ("flu", "asthma", "hiv"),
        ("f", "m"),
        ("S", "M"),
        ("M", "D", "C"),
        ("10-19", "15-29"),
        ("10-19", "young"),
        ("yes", "no", "NA"),
        ("1", "2", "3"),
        ("A01", "B02", "C03"),
        ("10-20", "10 to 20", "20-30"),
        ("<30", ">30", "NO"),
    ],
)
def test_what_has_no_order_of_its_own_has_none(values: tuple[str, ...]) -> None:
    assert order_bands(values) is None


def people(seed: int = 3, rows: int = 400) -> pa.Table:
    draw = random.Random(seed)
    bands = ORDERS[1]
    return pa.table(
        {
            "age": [draw.choice(bands) for _ in range(rows)],
            "size": [draw.choice(("S", "M", "L")) for _ in range(rows)],
            "illness": [draw.choice(("flu", "hiv", "cold")) for _ in range(rows)],
        }
    )


def test_a_release_and_an_attack_on_it_keep_the_order(tmp_path) -> None:
    schema = shoal.Schema.of(quasi=["age", "size"], sensitive="illness")
    table = people()
    release = shoal.publish(table, schema, "k-anonymity k=50", out=tmp_path / "release")
    labels = {line.split(",")[0] for line in release.path.read_text().splitlines()[1:]}
    allowed = set(ORDERS[1]) | {
        f"[{low} - {high}]" for i, low in enumerate(ORDERS[1]) for high in ORDERS[1][i + 1 :]
    }
    assert labels <= allowed | {"*"}
    assert labels & allowed
    finding = shoal.attack("linking", [release], targets=table)
    assert finding.people == table.num_rows
    # whoever is read in another order is outside of the class, or in a smaller one
    assert int(re.search(r"fits (\d+) rows", finding.example)[1]) >= 50
    assert finding.exposed == 0


def test_an_order_that_the_publisher_gives_is_kept(tmp_path) -> None:
    table = pa.table({"grade": ["b", "a", "c", "d"] * 25, "illness": ["x", "y", "z", "x"] * 25})
    order = shoal.ordered("d", "c", "b", "a")
    schema = shoal.Schema.of(sensitive="illness").set(grade=shoal.quasi(order))
    assert shoal.Schema.parse(schema.to_toml()).column("grade").hierarchy == order
    release = shoal.publish(table, schema, "k-anonymity k=50", out=tmp_path / "release")
    labels = {line.split(",")[0] for line in release.path.read_text().splitlines()[1:]}
    assert labels == {"[d - c]", "[b - a]"}
    finding = shoal.attack("linking", [release], targets=table)
    assert finding.exposed == 0
    assert "fits 50 rows" in finding.example


def test_an_order_that_misses_a_value_is_an_error() -> None:
    table = pa.table({"grade": ["b", "a", "c"] * 5})
    schema = shoal.Schema(()).set(grade=shoal.quasi(shoal.ordered("a", "b")))
    with pytest.raises(HierarchyError, match="1 values that its order does not name"):
        shoal.publish(table, schema, "k-anonymity k=2")
    with pytest.raises(HierarchyError, match="twice"):
        shoal.ordered("a", "a")
