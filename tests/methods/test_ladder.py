"""Levels as methods tell them, and what all methods refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.lattices import table

from shoal.core.axis import Axis, Level
from shoal.core.errors import UsageError
from shoal.methods import load_methods, publishes_levels
from shoal.methods._lattice.ladder import build_ladder, describe_levels, find_rung
from shoal.methods._lattice.lattice import PASSES, NodeLattice, sum_over_rungs
from shoal.models import rule
from shoal.testing.random_tables import sample

PAIRS = Level(np.array([0, 2]), ("ab", "cd"))
SAME = Level(np.array([0, 2]), ("a-b", "c-d"))
FOUR = Axis("a", "category", "tree", ("a", "b", "c", "d"), levels=(PAIRS, SAME))
"""As it is, in pairs, in the same pairs again, and *."""


def test_a_level_that_joins_nothing_more_is_not_searched_but_can_be_asked_for():
    assert [rung.number for rung in build_ladder(FOUR)] == [0, 1, 3]
    assert [find_rung(FOUR, level).number for level in range(5)] == [0, 1, 2, 3, 3]
    assert find_rung(FOUR, 2).node.tolist() == find_rung(FOUR, 1).node.tolist()


def test_levels_are_told_with_their_tops():
    whole = Level(np.array([0]), ("all",))
    closed = replace(FOUR, name="b", levels=(PAIRS, whole))  # its last level is all of it
    single = Axis("c", "category", "flat", ("x",))
    tally = replace(table(0), quasi=(FOUR, closed, single))
    rungs = [build_ladder(FOUR)[1], build_ladder(closed)[-1], build_ladder(single)[0]]
    assert describe_levels(tally, rungs) == {
        "levels": {"a": 1, "b": 2, "c": 0},
        "levels_of": {"a": 3, "b": 3, "c": 0},
    }


@pytest.mark.parametrize("name", [name for name in load_methods() if publishes_levels(name)])
def test_methods_by_levels_tell_them_alike(name):
    tally = table(1)
    facts = load_methods()[name](tally, rule("k-anonymity k=3"), hold_back=20).facts
    if name == "local":  # a column has several
        assert "levels" not in facts
        return
    tops = {axis.name: axis.height for axis in tally.quasi}
    assert facts["levels_of"] == tops
    assert all(0 <= level <= tops[column] for column, level in facts["levels"].items())
    assert list(facts["levels"]) == list(tops)


@pytest.mark.parametrize("name", load_methods())
def test_without_quasi_identifiers_there_is_nothing_to_generalise(name):
    tally, _ = sample(0)
    none = replace(tally, quasi=(), keys=tally.keys[:0], population=None)
    with pytest.raises(UsageError, match="There is no quasi-identifier to generalise"):
        load_methods()[name](none, rule("k-anonymity k=2"))


@pytest.mark.parametrize("shape", [(1,), (4,), (3, 1, 4), (2, 3, 2)])
def test_minimal_nodes_are_those_under_which_nothing_passes(shape):
    rng = np.random.default_rng(0)
    for _ in range(20):
        lattice = NodeLattice(np.zeros(shape), bounds_known=True)
        lattice.status[rng.random(shape) < 0.5] = PASSES
        before = lattice.status.copy()
        passing = {tuple(map(int, node)) for node in np.argwhere(lattice.status == PASSES)}
        below = {
            node: {(*node[:j], at - 1, *node[j + 1 :]) for j, at in enumerate(node)}
            for node in passing
        }
        assert set(lattice.minimal()) == {node for node in passing if not below[node] & passing}
        assert (lattice.status == before).all()


def test_sums_over_columns_are_those_of_each_node():
    parts = [np.array([1.0, 2.0]), np.array([0.5]), np.array([0.0, 3.0, 7.0])]
    found = sum_over_rungs(parts)
    assert found.shape == (2, 1, 3)
    for node in np.ndindex(found.shape):
        assert found[node] == sum(part[at] for part, at in zip(parts, node, strict=True))
