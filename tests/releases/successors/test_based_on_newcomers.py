"""Newcomers: whoever takes the old rows from the new ones has theirs, so they need each other."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest

import shoal
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Tally
from shoal.models import rule
from shoal.releases.successors.based_on import _add_newcomers


def second(town, rows, model="k-anonymity k=4", **settings):
    table = town.write(town.folder / "later.csv", rows)
    settings = {"based_on": town.folder / "release", "out": town.folder / "second"} | settings
    return town.publish(model, source=table, **settings)


def newcomers(town, places):
    """People like others who are far from each other, with a diagnosis that nobody has."""
    rows = [town.rows[i] | {"patient": f"N{i}", "diagnosis": f"new {i}"} for i in places]
    return [*town.rows, *rows]


def cells_of_newcomers(town, release):
    rows = town.published(release)
    return Counter(
        tuple(row[n] for n in town.quasi) for row in rows if row["diagnosis"].startswith("new")
    )


PLACES = (0, 9, 21, 33, 47, 58, 66, 79)


@pytest.mark.parametrize("number", [4, 8])
def test_enough_newcomers_have_classes_of_their_own(town, number):
    town.publish()
    release = second(town, newcomers(town, PLACES[:number]))
    assert release.private["rows_frozen"] == 80
    assert release.private["rows_new_few"] == 0
    assert min(cells_of_newcomers(town, release).values()) >= 4


def test_too_few_newcomers_are_kept_together_and_counted(town):
    """Each alone in an old class would be told apart from it; together they are three."""
    first = town.publish()
    release = second(town, newcomers(town, PLACES[:3]))
    old = Counter(tuple(row[n] for n in town.quasi) for row in town.published(first))
    found = cells_of_newcomers(town, release)
    assert list(found.values()) == [3]
    assert not found.keys() & old.keys()
    assert release.private["rows_new_few"] == 3
    assert town.companion(release)["rows_new_few"] == 3


def test_where_rows_may_be_held_back_too_few_newcomers_are(town):
    town.publish()
    release = second(town, newcomers(town, PLACES[:3]), hold_back=0.05)
    assert not cells_of_newcomers(town, release)
    assert release.private["held_back"] == 3
    assert release.private["rows_frozen"] == 80
    assert release.private["rows_new_few"] == 0


@pytest.mark.parametrize("model", ["k-anonymity k=2", "k-anonymity k=2 & distinct-diversity l=2"])
def test_newcomers_join_an_old_class_only_where_they_meet_the_rule_alone(model):
    """Two old classes, 0-4 and 5-9; two newcomers with one diagnosis lie in each, or one."""
    axis, ill = Axis.numbered("age", 10), Axis.numbered("ill", 3)
    was = np.array([0, 0, 1, 1, -1, -1, -1], np.int32)
    keys = np.array([[0, 4, 5, 9, 1, 2, 7]], np.uint8)
    values = np.array([[0, 1, 0, 1, 2, 2, 2]], np.int32)
    tally = Tally((axis,), (ill,), keys, values, np.ones(7, np.int64))
    cells = Cells(np.array([[0], [5]], np.int32), np.array([[4], [9]], np.int32), {})
    joined = _add_newcomers(tally, was, cells, was, rule(model))
    together = [-1, -1] if "diversity" in model else [0, 0]
    assert joined.tolist() == [0, 0, 1, 1, *together, -1]


def test_releases_with_one_base_can_be_linked_and_in_a_row_they_cannot(tmp_path):
    """So the third is based on the second."""
    rng = np.random.default_rng(5)

    def table(name, rows):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as handle:
            csv.writer(handle).writerows([("id", "age", "sex", "zip", "dx"), *rows])
        return tmp_path / name

    def somebody(i):
        zip_ = rng.choice(["10110", "10220", "10111", "20110"])
        return f"P{i}", rng.integers(20, 80), rng.choice(["f", "m"]), zip_, f"d{rng.integers(40)}"

    people = [somebody(i) for i in range(260)]
    tables = [table(f"{n}.csv", people[:n]) for n in (120, 200, 260)]
    schema = shoal.Schema.of(quasi=["age", "sex", "zip"], sensitive="dx", person="id")

    def publish(source, name, based_on=None):
        return shoal.publish(
            source, schema, "k-anonymity k=4", out=tmp_path / name, based_on=based_on
        )

    first = publish(tables[0], "first")
    middle = publish(tables[1], "second", first)
    alone = [
        shoal.attack("temporal", [middle, publish(tables[2], name, on)]).exposed
        for name, on in (("sibling", first), ("third", middle))
    ]
    assert alone[0] > 0
    assert alone[1] == 0
