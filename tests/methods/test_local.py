"""Local recoding: rounds of full-domain recoding, on tables small enough to look at every round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.lattices import every_node, table

from shoal.core.axis import Axis, Level
from shoal.core.errors import NotMetError, UsageError
from shoal.core.tally import Groups, Tally
from shoal.measures.loss import loss
from shoal.methods._lattice.ladder import build_ladder, recode_to_rungs
from shoal.methods.full_domain import full_domain
from shoal.methods.local import local
from shoal.models import rule

RULES = (
    "k-anonymity k=4",
    "k-anonymity k=2 & entropy-diversity l=1.7",
    "t-closeness t=0.3",
    "ck-safety c=0.8 k=1",
    "m-privacy m=1 (k-anonymity k=2 & distinct-diversity l=2)",
)


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_everybody_comes_into_a_class_that_meets_the_rule(text, share):
    for seed in range(4):
        tally, model = table(seed, rows=60), rule(text)
        try:
            whole = full_domain(tally, model)
        except NotMetError:
            with pytest.raises(NotMetError):
                local(tally, model, share=share)
            continue
        cut = local(tally, model, share=share)
        assert cut.suppressed == 0
        assert model.holds(Groups.of(tally, cut)).all()
        if share == 1.0 and model.local:
            assert loss(tally, cut) == pytest.approx(loss(tally, whole))


def test_the_first_round_publishes_the_finest_levels_that_place_the_share():
    tally, model = table(11, rows=80), rule("k-anonymity k=3")
    enough = [
        (loss(tally, recode_to_rungs(tally, rungs)), cut)
        for rungs, cut in every_node(tally, model)
        if tally.rows - cut.suppressed >= 0.25 * tally.rows
    ]
    first = min(enough, key=lambda one: one[0])[1]
    cut = local(tally, model, share=0.25)
    assert cut.facts["rounds"] > 1
    assert cells(first) <= cells(cut)


def cells(cut):
    """The ranges of every class."""
    return set(map(tuple, np.column_stack((cut.cells.low, cut.cells.high)).tolist()))


def test_cells_are_nodes_of_the_hierarchies():
    tally, model = table(3, rows=70), rule("k-anonymity k=3")
    cut = local(tally, model)
    for j, axis in enumerate(tally.quasi):
        if j in cut.cells.sets:
            continue
        nodes = {
            (int(a), int(b)) for r in build_ladder(axis) for a, b in zip(r.low, r.high, strict=True)
        }
        pairs = zip(cut.cells.low[:, j].tolist(), cut.cells.high[:, j].tolist(), strict=True)
        assert set(pairs) <= nodes


def test_the_last_people_are_held_back_where_they_may_be_and_else_join_the_latest_round():
    for seed in range(6):
        tally, model = table(seed, rows=61), rule("k-anonymity k=5")
        assert local(tally, model).suppressed == 0
        assert local(tally, model, hold_back=4).suppressed <= 4
    assert any(local(table(s, rows=61), model, hold_back=4).suppressed for s in range(6))


def test_rows_are_held_back_where_no_round_can_place_them():
    starts = np.array([0, 2, 4])
    axis = Axis("a", "category", "tree", tuple("abcdef"), levels=(Level(starts, tuple("xyz")),))
    keys = np.array([[0, 1, 2, 3, 4]], np.int32)
    tally = Tally((axis,), (), keys, np.zeros((0, 5), np.int32), np.array([30, 1, 30, 1, 1]))
    model = rule("k-anonymity k=3")
    with pytest.raises(NotMetError):
        local(tally, model, levels="a=0..1")
    for allowed in (1, 2, 3):
        cut = local(tally, model, levels="a=0..1", hold_back=allowed)
        assert 1 <= cut.suppressed <= allowed
    with pytest.raises(NotMetError):
        local(tally, rule(f"k-anonymity k={tally.rows + 1}"), hold_back=tally.rows)


def test_a_search_that_its_limit_stopped_says_so():
    tally, model = table(3, rows=70), rule("k-anonymity k=3")
    assert local(tally, model).facts["complete"]
    assert not local(tally, model, nodes=3).facts["complete"]
    with pytest.raises(NotMetError, match="tried last") as error:
        local(tally, model, nodes=1)
    assert "nodes" in error.value.hint


def test_classes_are_mended_whatever_the_order_of_entries():
    for seed in range(5):
        tally, model = table(seed, rows=60), rule("ck-safety c=0.75 k=1")
        order = np.random.default_rng(seed).permutation(tally.entries)
        other = replace(
            tally,
            keys=tally.keys[:, order],
            values=tally.values[:, order],
            count=tally.count[order],
            providers=tally.providers[order],
        )
        try:
            one = local(tally, model)
        except NotMetError:
            continue
        assert cells(one) == cells(local(other, model))


def test_it_does_not_depend_on_the_random_generator():
    tally, model = table(4), rule("k-anonymity k=3")
    one, two = (local(tally, model, rng=np.random.default_rng(seed)) for seed in (1, 2))
    assert one.class_.tolist() == two.class_.tolist()


@pytest.mark.parametrize("asked", [{"share": 0}, {"share": 2}, {"levels": "x=1"}])
def test_wrong_parameters_are_refused(asked):
    with pytest.raises(UsageError):
        local(table(0), rule("k-anonymity k=2"), **asked)
