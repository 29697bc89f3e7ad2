"""Precision and height against the definition, cell by cell, and on tables worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.test_chain import Plain, cells, tables, tally

from shoal.core.tally import Cut
from shoal.measures.height import height
from shoal.measures.height import raw as levels_lifted
from shoal.measures.precision import precision
from shoal.measures.precision import raw as shares_lost
from shoal.methods.chain import chain
from shoal.models import rule
from shoal.testing.checks import check_measure

AGES = Plain("tree", 8, starts=((0, 2, 4, 6), (0, 4)))
"""As they are, in pairs, in fours, and *."""
SEX = Plain("flat", 2)


def level(column, cell):
    """The lowest level that has a node around the cell."""
    around = {number for number, nodes in column.levels().items() if any(cell <= n for n in nodes)}
    return min(around)


def cut_of(ours, class_):
    present = sorted(set(class_) - {-1})
    number = [present.index(c) if c >= 0 else -1 for c in class_]
    entry = np.arange(ours.entries, dtype=np.int32)
    return Cut.of(ours, entry, np.array(number, np.int32))


@given(tables(), st.data())
@settings(max_examples=80, deadline=None)
def test_both_are_what_their_definitions_say(table, data):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    cut = cut_of(ours, [data.draw(st.integers(-1, 3)) for _ in range(ours.entries)])
    tops = [len(c.starts) + 1 if c.starts or c.size > 1 else 0 for c in plain]
    shown = [cells(ours, cut, class_) for class_ in range(cut.classes)]
    levels = [[level(c, cell) for c, cell in zip(plain, row, strict=True)] for row in shown]
    lost = sum(
        count * weight * (1 if class_ < 0 else levels[class_][j] / tops[j] if tops[j] else 0)
        for class_, count in zip(cut.class_, cut.count, strict=True)
        for j, weight in enumerate(weights)
    )
    assert shares_lost(ours, cut) == pytest.approx(lost)
    assert precision(ours, cut) == pytest.approx(lost / len(rows) / sum(weights))
    highest = [max((row[j] for row in levels), default=0) for j in range(len(plain))]
    lifted = np.dot(highest, weights)
    assert levels_lifted(ours, cut) == pytest.approx(lifted)
    share = lifted / np.dot(tops, weights) if any(tops) else 0
    published = len(rows) - cut.suppressed
    assert height(ours, cut) == pytest.approx((published * share + cut.suppressed) / len(rows))


def test_worked_out_by_hand():
    """Two of four people in a pair of ages, two in a class of both sexes and a four of ages."""
    people = [(0, 0, 0), (1, 0, 0), (4, 0, 0), (7, 1, 0)]
    ours = tally([AGES, SEX], people)
    cut = cut_of(ours, [0, 0, 1, 1])
    assert shares_lost(ours, cut) == pytest.approx(2 * (1 / 3 + 0) + 2 * (2 / 3 + 1))
    assert precision(ours, cut) == pytest.approx(1 / 2)
    assert levels_lifted(ours, cut) == 2 + 1
    assert height(ours, cut) == 3 / 4
    assert levels_lifted(ours, cut_of(ours, [0, 0, -1, -1])) == 1
    assert height(ours, cut_of(ours, [0, 0, -1, -1])) == (1 / 4 + 1) / 2


def test_null_beside_anything_else_is_the_top_and_alone_it_is_untouched():
    ours = tally([Plain("tree", 4, null=True, starts=((0, 2),))], [(4, 0), (3, 0), (2, 0)])
    assert levels_lifted(ours, cut_of(ours, [0, 1, 1])) == 1
    assert levels_lifted(ours, cut_of(ours, [0, 0, 1])) == 2


def test_a_table_with_one_level_for_each_column_has_the_sum_of_them():
    people = [(age, sex, 0) for age in range(8) for sex in range(2)]
    cut = chain(ours := tally([AGES, SEX], people), rule("k-anonymity k=4"))
    assert cut.facts["levels"] == {"a": 2, "b": 0}
    assert levels_lifted(ours, cut) == 2
    assert precision(ours, cut) == pytest.approx((2 / 3 + 0) / 2)


def test_the_contract_of_measures_holds():
    check_measure(precision)
    check_measure(height)
