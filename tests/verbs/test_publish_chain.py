"""Releases in which every column is at one level: what the method chain publishes."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import shoal
from shoal import NotMetError, UsageError

COUNTRIES = {"Bern": "Swiss", "Basel": "Swiss", "Graz": "Austrian", "Wien": "Austrian"}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Three hundred people with nulls in every column but the last."""
    path = tmp_path_factory.mktemp("chain") / "people.csv"
    rng = np.random.default_rng(4)
    with path.open("w", newline="", encoding="utf-8") as handle:
        out = csv.writer(handle)
        out.writerow(["age", "zip", "born", "town", "sex", "income", "illness"])
        for _ in range(300):
            row = [
                20 + int(rng.integers(40)),
                f"1{rng.integers(2)}{rng.integers(3)}",
                f"{1960 + rng.integers(3)}-0{1 + rng.integers(3)}-01",
                str(rng.choice(list(COUNTRIES))),
                "mfd"[rng.integers(3)],
                int(rng.integers(4)),
            ]
            missing = [cell if rng.random() > 0.05 else "" for cell in row]
            out.writerow([*missing, str(rng.choice(["flu", "cold", "gout"]))])
    return path


@pytest.fixture(scope="module")
def schema():
    towns = [(*pair, "*") for pair in COUNTRIES.items()]
    return shoal.Schema.of(quasi=["sex", "income"], sensitive=["illness"]).set(
        age=shoal.quasi(shoal.intervals(5, 10, 20)),
        zip=shoal.quasi(shoal.prefixes(), kind="category"),
        born=shoal.quasi(shoal.dates("month", "year"), kind="date"),
        town=shoal.quasi(shoal.tree(towns)),
    )


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("k-anonymity k=1", ()),
        ("k-anonymity k=5", ()),
        ("k-anonymity k=5 & distinct-diversity l=2", ("born", "income", "sex", "town", "zip")),
        ("k-anonymity k=100", ("town",)),
        ("t-closeness t=0.2", ("age", "zip", "sex", "town", "income", "born")),
    ],
)
def test_a_release_verifies_and_each_column_is_at_one_level(people, schema, tmp_path, text, order):
    out = tmp_path / "release"
    release = shoal.publish(people, schema, text, method="chain", order=order, out=out)
    assert release.verdict.holds
    assert shoal.verify(out).holds
    assert release.private["judged"] <= release.private["steps"].bit_length()
    with (out / "table.csv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 300
    assert any(row["age"] == "" for row in rows) or release.private["levels"]["age"] == 4
    for column, level in release.private["levels"].items():
        shown = {row[column] for row in rows}
        assert shown <= LABELS[column][level], column


def span(low, width):
    return f"[{low}-{low + width - 1}]"


MONTHS = [(year, month) for year in (1960, 1961, 1962) for month in (1, 2, 3)]
"""A node with one leaf is printed as the leaf: so is each month, where nobody has another day."""
LABELS = {
    "age": [
        {"", *map(str, range(20, 60))},
        *({"", *(span(low, w) for low in range(20, 60, w))} for w in (5, 10, 20)),
        {"*"},
    ],
    "zip": [
        {"", *(f"1{i}{j}" for i in range(2) for j in range(3))},
        {"", "10*", "11*"},
        {"", "1**"},
        {"*"},
    ],
    "born": [
        {"", *(f"{year}-{month:02d}-01" for year, month in MONTHS)},
        {"", *(f"{year}-{month:02d}-01" for year, month in MONTHS)},
        {"", "1960", "1961", "1962"},
        {"*"},
    ],
    "town": [{"", *COUNTRIES}, {"", "Swiss", "Austrian"}, {"*"}],
    "sex": [{"", *"mfd"}, {"*"}],
    "income": [{"", *"0123"}, {"*"}],
}


def test_classes_that_fail_are_held_back_where_the_whole_table_fails(tmp_path):
    """In the north all have the flu: the whole fails, by town the south alone does not."""
    path = tmp_path / "towns.csv"
    north = [("Kiel", "flu")] * 20
    south = [("Ulm", "flu"), ("Ulm", "cold")] * 5
    lines = [f"{town},{illness}" for town, illness in (*north, *south)]
    path.write_text("\n".join(["town,illness", *lines]) + "\n", encoding="utf-8")
    schema = shoal.Schema.of(quasi=["town"], sensitive=["illness"])
    text = "alpha-k alpha=0.5 k=5"
    release = shoal.publish(path, schema, text, method="chain", hold_back=0.7, out=tmp_path / "r")
    assert shoal.verify(tmp_path / "r").holds
    assert (release.verdict.rows, release.private["held_back"]) == (10, 20)
    assert release.private["levels"] == {"town": 0}
    with pytest.raises(NotMetError, match="20 of 30 rows"):
        shoal.publish(path, schema, text, method="chain", hold_back=0.6)


def test_what_cannot_be_is_refused_at_the_door(people, schema):
    with pytest.raises(NotMetError, match="as a single class"):
        shoal.publish(people, schema, "k-anonymity k=301", method="chain")
    with pytest.raises(NotMetError, match="no class was found that meets it"):
        shoal.publish(people, schema, "k-anonymity k=301", method="chain", hold_back=0.1)
    with pytest.raises(UsageError, match="order names"):
        shoal.publish(people, schema, "k-anonymity k=3", method="chain", order=["illness"])
    with pytest.raises(UsageError, match="no parameter 'relaxed'"):
        shoal.publish(people, schema, "k-anonymity k=3", method="chain", relaxed=True)
