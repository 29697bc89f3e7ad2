"""A hierarchy's levels stay as they were given, also one that joins nothing more than another."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.core.cells import Cells
from shoal.core.hierarchy import intervals, prefixes, to_arx_csv, tree
from shoal.core.tally import Cut, Groups, Tally
from shoal.measures.height import raw as levels_lifted
from shoal.measures.precision import precision
from shoal.methods._lattice.ladder import build_ladder, list_all_rungs, recode_to_rungs
from shoal.models import rule

MIDDLE = tree([["a", "m", "*"], ["b", "m", "*"], ["c", "m", "*"]])
"""One group of all values, below the root."""
REPEATED = tree([["a", "g", "G", "*"], ["b", "g", "G", "*"], ["c", "h", "H", "*"]])
"""The second level has the groups of the first."""


def axis_of(hierarchy, values=("a", "b", "c"), kind="category", null=False):
    return hierarchy.grow("x", kind, list(values), null=null)


def tally_of(axis, sensitive, keys, values):
    ones = np.ones(len(keys), np.int64)
    return Tally((axis,), (sensitive,), np.array([keys]), np.array([values], np.int32), ones)


def test_hierarchical_closeness_counts_every_level():
    """A sixth moves between values that are half of two levels apart."""
    axis = axis_of(MIDDLE)
    quasi = axis_of(tree([["x", "*"], ["y", "*"]]), ("x", "y"))
    ours = tally_of(quasi, axis, [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0])
    groups = Groups.of(ours, Cut.of(ours, np.arange(6, dtype=np.int32), np.repeat([0, 1], 3)))
    closeness = rule("t-closeness t=0.5 distance=hierarchical")
    equal = rule("t-closeness t=0.5").per_class(groups)
    assert equal.tolist() == pytest.approx([1 / 6, 1 / 6])
    assert closeness.per_class(groups).tolist() == pytest.approx([1 / 12, 1 / 12])


def test_a_distance_is_the_height_of_the_common_ancestor_over_all_levels():
    """One third of a unit moves under `m`, half the way up: a sixth, not a third."""
    axis = axis_of(MIDDLE)
    quasi = axis_of(tree([["x", "*"], ["y", "*"]]), ("x", "y"))
    ours = tally_of(quasi, axis, [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 2])
    groups = Groups.of(ours, Cut.of(ours, np.arange(6, dtype=np.int32), np.repeat([0, 1], 3)))
    assert rule("t-closeness t=1").per_class(groups).tolist() == pytest.approx([1 / 3, 1 / 3])
    hierarchical = rule("t-closeness t=1 distance=hierarchical")
    assert hierarchical.per_class(groups).tolist() == pytest.approx([1 / 6, 1 / 6])


def test_precision_and_height_are_shares_of_all_levels():
    axis, job = axis_of(MIDDLE), axis_of(tree([["x", "*"], ["y", "*"]]), ("x", "y"))
    ours = tally_of(axis, job, [0, 1, 2], [0, 1, 0])
    whole = Cut.of(ours, np.arange(3, dtype=np.int32), np.zeros(3, np.int32))
    assert precision(ours, whole) == 0.5
    assert levels_lifted(ours, whole) == 1
    starred = recode_to_rungs(ours, [list_all_rungs(axis)[2]])
    assert precision(ours, starred) == 1
    assert levels_lifted(ours, starred) == 2


def test_a_group_of_all_values_keeps_its_label():
    axis = axis_of(MIDDLE)
    assert axis.labels([0, 0], [2, 0]).tolist() == ["m", "a"]
    assert axis.labels([0], [2], 2).tolist() == ["*"]
    assert [ends.tolist() for ends in axis.parse(["m", "*", "a"])] == [
        [0, 0, 0],
        [2, 2, 0],
        [True, True, True],
    ]
    assert axis_of(MIDDLE, null=True).labels([0, 0], [2, 3]).tolist() == ["m", "*"]
    assert to_arx_csv(axis) == "a;m;*\nb;m;*\nc;m;*\n"


def test_intervals_and_prefixes_keep_a_level_that_is_everything():
    ages = intervals(5, 20).grow("age", "number", [20.0, 23.0, 31.0])
    assert ages.labels([0], [2]).tolist() == ["[20-39]"]
    zips = prefixes(4, 2).grow("zip", "code", ["13053", "13068"])
    assert zips.labels([0], [1]).tolist() == ["13***"]


@pytest.mark.parametrize("level", range(4))
def test_each_level_prints_its_own_labels(level):
    axis = axis_of(REPEATED)
    rung = list_all_rungs(axis)[level]
    ours = tally_of(axis, axis_of(MIDDLE), [0, 1, 2], [0, 1, 2])
    cut = recode_to_rungs(ours, [rung])
    number, labels = cut.cells.labels((axis,), 0)
    by_level = [["a", "b", "c"], ["g", "g", "c"], ["G", "G", "c"], ["*", "*", "*"]]
    assert labels[number][cut.class_].tolist() == by_level[level]
    again = Cells.joined([cut.cells, cut.cells]).take(np.arange(cut.classes))
    assert again.labels((axis,), 0)[1].tolist() == labels.tolist()


def test_the_search_leaves_out_what_joins_nothing_more():
    assert [rung.number for rung in build_ladder(axis_of(REPEATED))] == [0, 1, 3]
    assert [rung.number for rung in build_ladder(axis_of(MIDDLE))] == [0, 1]


# Through the door


def publish(folder: Path, **more) -> tuple[list[dict[str, str]], shoal.Release]:
    rows = [(x, job) for x in "abc" for job in ("cook", "nurse", "clerk")]
    (folder / "people.csv").write_text(
        "x,job\n" + "".join(f"{x},{job}\n" for x, job in rows), encoding="utf-8"
    )
    schema = shoal.Schema(
        (
            shoal.Column("x", "quasi", hierarchy=REPEATED),
            shoal.Column("job", "sensitive"),
        )
    )
    release = shoal.publish(
        folder / "people.csv", schema, "k-anonymity k=3", out=folder / "release", **more
    )
    with (folder / "release" / "table.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)), release


@pytest.mark.parametrize(
    ("level", "labels"), [(1, {"g", "c"}), (2, {"G", "c"}), (3, {"*"}), ("2..", {"G", "c"})]
)
def test_a_release_at_a_level_that_was_asked_for_has_its_labels(tmp_path, level, labels):
    rows, _ = publish(tmp_path, method="full-domain", levels=f"x={level}")
    assert {row["x"] for row in rows} == labels
    assert shoal.verify(tmp_path / "release").holds
