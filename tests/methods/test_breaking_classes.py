"""Mending: classes along an order are joined until the rule holds, and no further than needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from tests.oracles.joint_model import AtMost

from shoal.core.axis import Axis
from shoal.core.errors import NotMetError
from shoal.core.model import Rule, list_joint_columns
from shoal.core.tally import Cut, Groups, Tally
from shoal.methods._shared.breaking_classes import mend_classes
from shoal.models import rule
from shoal.testing.random_tables import sample

AGES = tuple(map(float, range(20)))


def line(ages, values, count=None):
    """A table of one quasi-identifier, sorted by it."""
    age = Axis("age", "number", "ordered", AGES, positions=np.array(AGES))
    disease = Axis("disease", "category", "flat", ("a", "b", "c"))
    keys, codes = np.array([ages], np.int32), np.array([values], np.int32)
    return Tally((age,), (disease,), keys, codes, np.array(count or [1] * len(ages)))


def mend(tally, text, classes, **how):
    entry = np.arange(tally.entries, dtype=np.int32)
    model = rule(text) if isinstance(text, str) else text
    return mend_classes(tally, model, entry, np.array(classes), tally.count, **how)


def ends(cut):
    return list(zip(cut.cells.low[:, 0].tolist(), cut.cells.high[:, 0].tolist(), strict=True))


def test_what_holds_is_left_alone():
    cut = mend(line([0, 1, 5, 6], [0, 1, 0, 1]), "k-anonymity k=2", [0, 0, 1, 1])
    assert ends(cut) == [(0, 1), (5, 6)]
    assert cut.facts == {"joined": 0}


def test_a_class_that_breaks_the_rule_is_joined_with_its_nearer_neighbour():
    table = line([0, 1, 5, 6, 8, 9], [0, 1, 0, 0, 0, 1])
    cut = mend(table, "distinct-diversity l=2", [0, 0, 1, 1, 2, 2], facts={"order": "by hand"})
    assert ends(cut) == [(0, 1), (5, 9)]
    assert cut.facts == {"order": "by hand", "joined": 1}


def test_neighbours_who_are_all_bad_are_joined_in_pairs():
    cut = mend(line(range(8), [0] * 8), "k-anonymity k=2", range(8))
    assert ends(cut) == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_classes_with_equal_cells_are_judged_as_the_one_class_they_are_published_as():
    cut = mend(line([3, 3, 9, 9], [0, 1, 0, 1]), "distinct-diversity l=2", range(4))
    assert ends(cut) == [(3, 3), (9, 9)]
    assert cut.facts["joined"] == 0


def test_numbers_without_people_and_pieces_held_back_are_no_classes():
    cut = mend(line([0, 1, 9], [0, 1, 2]), "k-anonymity k=2", [2, 7, -1])
    assert ends(cut) == [(0, 1)]
    assert cut.suppressed == 1


def test_a_rule_that_everybody_together_breaks_is_refused():
    with pytest.raises(NotMetError, match="as a single class"):
        mend(line([0, 1], [0, 0]), "distinct-diversity l=2", [0, 1])


def test_or_the_fewest_rows_are_held_back_that_break_it():
    table = line([0, 1, 8, 9], [0, 1, 0, 0], [1, 1, 2, 9])
    cut = mend(table, "alpha-k alpha=0.5 k=2", [0, 0, 1, 1], hold_back=11)
    assert ends(cut) == [(0, 1)]
    assert cut.suppressed == 11


@dataclass(frozen=True)
class Pairs(Rule):
    """Exactly two rows: what joining breaks."""

    monotone: ClassVar[bool] = False

    def holds(self, groups):
        return np.asarray(groups.rows == 2)

    def per_class(self, groups):
        return self.holds(groups).astype(float)


def test_a_rule_that_joining_breaks_is_checked_too():
    assert mend(line([0, 1, 2, 3], [0] * 4), Pairs(), [0, 0, 1, 2]).classes == 2
    with pytest.raises(NotMetError):
        mend(line([0, 1, 2], [0] * 3), Pairs(), [0, 0, 1])
    assert mend(line([0, 1, 2], [0] * 3), Pairs(), [0, 0, 1], hold_back=1).suppressed == 1


def test_a_rule_about_all_classes_together_is_mended_too():
    cut = mend(line(range(8), [0] * 8), AtMost(3), range(8))
    assert cut.classes <= 3


RULES = (
    "k-anonymity k=4",
    "distinct-diversity l=3",
    "t-closeness t=0.3",
    "ck-safety c=0.8 k=1",
    "m-privacy m=1 (k-anonymity k=3 & distinct-diversity l=2)",
    "delta-presence low=0 high=0.9",
    "k-map k=6",
)


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_every_rule_is_met_in_the_end(text, seed):
    tally, _ = sample(seed)
    model = rule(text)
    entry = np.lexsort(tally.keys[::-1]).astype(np.int32)
    cut = mend_classes(tally, model, entry, np.arange(tally.entries), tally.count[entry])
    assert model.holds(Groups.of(tally, cut, list_joint_columns(model))).all()
    assert (np.bincount(cut.entry, cut.count) == tally.count).all()
    again = Cut.of(tally, cut.entry, cut.class_, cut.count)
    assert (again.cells.low == cut.cells.low).all()
    assert (again.cells.high == cut.cells.high).all()
