"""Correspondence attacks against every valid correspondence of tiny tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.attacks import release_views as releases

from shoal.attacks._shared.growing_table import find_class_pairs, match_growing_table
from shoal.attacks.backward import backward
from shoal.attacks.cross import cross
from shoal.attacks.forward import forward
from shoal.core.axis import Axis
from shoal.core.errors import InputError
from shoal.core.theory.adversary_view import NobodyFoundError
from shoal.kernels import assignment
from shoal.kernels.assignment import assign

SEEDS = range(80)
VALUE = Axis("value", "category", "flat", ("ague", "boil"))


def tiny(seed, added=None):
    """A table of up to five, with up to three newcomers; many rows are twins."""
    rng = np.random.default_rng(seed)
    rows, more, alike = (int(rng.integers(*ends)) for ends in ((2, 6), (0, 4), (1, 4)))
    more = more if added is None else added
    return replace(releases.random_view(rng, rows, 4, 2, more, alike=alike), sensitive=VALUE)


def every(view):
    """All valid correspondences, as pairs of rows."""
    found = [tuple(one.items()) for one in releases.assignments(view)]
    assert all(len(one) == len(view.releases[0].class_) for one in found)
    return found


def classes(view, pair):
    return tuple(int(one.class_[row]) for one, row in zip(view.releases, pair, strict=True))


def distinct(release, class_):
    return len(set(release.values[release.class_ == class_].tolist()))


# What is left


def left_of_pairs(view, known):
    """Per pair of classes the rows that can be there at once, value by value."""
    most = Counter()
    for one in known:
        taken = Counter((*classes(view, pair), view.releases[0].values[pair[0]]) for pair in one)
        for key, rows in taken.items():
            most[key] = max(most[key], rows)
    return most


def exposed_pairs(view, most):
    one, other = view.releases
    found = set()
    for c, d in {key[:2] for key in most}:
        left = [rows for key, rows in most.items() if key[:2] == (c, d)]
        alone = sum(left) == 1 and min(one.rows[c], other.rows[d]) > 1
        if alone or (len(left) == 1 and min(distinct(one, c), distinct(other, d)) > 1):
            found.add((c, d))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_is_what_some_correspondence_has(seed):
    view = tiny(seed)
    most, pairs = left_of_pairs(view, every(view)), find_class_pairs(match_growing_table(view))
    rows = Counter()
    for (c, d, _), number in most.items():
        rows[c, d] += number
    both = [tuple(map(int, each)) for each in zip(*pairs.classes, strict=True)]
    assert {
        pair: left for pair, left in zip(both, pairs.remaining.rows, strict=True) if left
    } == rows
    weak = {pair for pair, is_so in zip(both, pairs.remaining.exposed, strict=True) if is_so}
    assert weak == exposed_pairs(view, most)
    assert pairs.n_cut_short == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_exposed_are_so_in_every_correspondence(seed):
    view = tiny(seed)
    known = every(view)
    most = left_of_pairs(view, known)
    weak = exposed_pairs(view, most)
    number = [sum(classes(view, pair) in weak for pair in one) for one in known]
    finding = forward(view)
    assert finding.exposed == min(number)
    assert max(number) <= finding.details["could_be_exposed"]
    assert bool(finding.worst) == bool(finding.exposed)
    other = cross(view)
    assert (other.exposed, other.sure) == (finding.exposed, finding.sure)
    for told in (finding, other):
        assert told.witness["before"] - told.witness["cracked"] == told.witness["left"]
        assert told.witness["exposed"] == bool(weak)
        assert weak or told.witness["left"] == told.details["lowest"]


@pytest.mark.parametrize("seed", SEEDS)
def test_newcomers_are_exposed_whatever_the_correspondence(seed):
    view = tiny(seed, added=1 + seed % 3)
    second, known = view.releases[1], every(view)
    keys = [(int(c), int(v)) for c, v in zip(second.class_, second.values, strict=True)]
    old = [Counter(keys[j] for _, j in one) for one in known]
    new = {key: rows - min(one[key] for one in old) for key, rows in Counter(keys).items()}
    left = {c: [n for (d, _), n in new.items() if c == d and n] for c, _ in keys}
    several = {c: distinct(second, c) > 1 for c in left}
    alone = {c for c, n in left.items() if sum(n) == 1 and second.rows[c] > 1}
    weak = alone | {c for c, n in left.items() if len(n) == 1 and several[c]}
    came = [sum(c in weak for c in newcomers(second, one)) for one in known]
    finding = backward(view)
    assert finding.people == len(second.class_) - len(view.releases[0].class_)
    assert finding.exposed == min(came)
    assert max(came) <= finding.details["could_be_exposed"]
    there = [sum(n) for n in left.values() if n]
    assert finding.details["lowest"] == min(there)
    hidden = min(
        size
        for size in there
        if all(any(sum(left[c]) <= size for c in newcomers(second, one)) for one in known)
    )
    assert finding.details["k_after"] == hidden


def newcomers(second, one):
    taken = {j for _, j in one}
    return [int(c) for j, c in enumerate(second.class_) if j not in taken]


# The paper's formulas


def formulas(known):
    """The crack of each pair forward and cross, and of each place backward, as the paper has it."""
    one, other = known.earlier.count, known.later.count
    fewer = np.minimum(one[known.twins], other[known.partner])
    back = []
    for place, rows in enumerate(other):
        could = np.unique(known.twins[known.partner == place])
        places = np.unique(known.partner[np.isin(known.twins, could)])
        spare = other[places].sum() - rows
        back.append(max(0, one[could].sum() - spare) if len(could) else 0)
    return one[known.twins] - fewer, other[known.partner] - fewer, np.array(back)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_formulas_are_the_least_that_is_cracked(seed):
    known = match_growing_table(tiny(seed))
    ahead, across, back = formulas(known)
    assert (known.earlier.count[known.twins] - known.max_rows_per_pair[0] >= ahead).all()
    assert (known.later.count[known.partner] - known.max_rows_per_pair[0] >= across).all()
    assert (known.min_old_rows[0] >= back).all()


COUNTRY = (releases.category("Country", "France", "Italy", "UK"),)


def table(**rows):
    words = {"Europe": "*"}
    return [
        {"Country": words.get(country, country), "Disease": disease}
        for country, diseases in rows.items()
        for disease in diseases.split()
    ]


def of(first, second):
    return releases.joined(COUNTRY, {"first": first, "second": second}, "Disease")


def test_others_may_need_the_places():
    """Two rows in the UK, two places in Europe, but France's row has no other place."""
    view = of(table(UK="ague ague", France="ague"), table(Europe="ague ague", UK="ague"))
    known = match_growing_table(view)
    pair = (known.earlier.class_[known.twins] == 1) & (known.later.class_[known.partner] == 0)
    assert formulas(known)[0][pair].tolist() == [0]
    assert (known.earlier.count[known.twins] - known.max_rows_per_pair[0])[pair].tolist() == [1]


def test_a_part_may_be_worse_off_than_the_whole():
    """France's row can only be Europe's; that Italy's has other places is no help."""
    view = of(table(France="ague", Italy="ague"), table(Europe="ague", Italy="ague ague ague"))
    known = match_growing_table(view)
    europe = known.later.class_ == 0
    assert formulas(known)[2][europe].tolist() == [0]
    assert known.min_old_rows[0][europe].tolist() == [1]


def test_the_exposed_are_counted_in_whole_correspondences():
    """Seven could be where nobody is exposed, but not while the other two are somewhere too."""
    rng = np.random.default_rng(8095)
    rng.integers([5, 2, 0, 1], [14, 5, 5, 6])  # a table that was searched for
    view = replace(releases.random_view(rng, 9, 4, 2, 1, alike=3), sensitive=VALUE)
    known, pairs = every(view), find_class_pairs(match_growing_table(view))
    weak = exposed_pairs(view, left_of_pairs(view, known))
    assert min(sum(classes(view, pair) in weak for pair in one) for one in known) == 3
    assert (
        match_growing_table(view).count_placeable(~pairs.remaining.exposed[pairs.pair_of_twins])
        == 7
    )
    assert (forward(view).exposed, cross(view).exposed) == (3, 3)


def test_all_must_be_somewhere_although_fewer_could_be_elsewhere_at_once():
    """Three could do without the pairs each by itself, but not all rows together."""
    one, other, start = np.array([1, 2, 2]), np.array([3, 3]), np.array([0, 1, 3, 5])
    pairs, some = np.array([0, 0, 1, 0, 1]), np.array([1, 0, 1, 0, 1], bool)
    spared = assign(one, other, np.array([0, 0, 1, 2]), pairs[~some]).rows.sum()
    assert one.sum() - spared == 2
    assert assignment.count_min_rows_on_pairs(one, other, start, pairs, some) == 3


# What helps, and what cannot be


@pytest.mark.parametrize("attack", [forward, cross, backward])
def test_old_classes_kept_and_new_ones_beside_them_give_nobody_away(attack):
    old, new = table(France="ague boil", UK="ague cold"), table(Italy="boil cold")
    finding = attack(of(old, old + new))
    assert (finding.exposed, finding.details["could_be_exposed"]) == (0, 0)
    assert finding.details["most_cracked"] == 0
    assert finding.details["k_before"] == finding.details["k_after"] == 2
    assert finding.sure == 0.5


@pytest.mark.parametrize("attack", [forward, cross, backward])
def test_a_row_that_left_is_an_error(attack):
    view = of(table(UK="ague boil cold"), table(UK="ague boil boil gout"))
    with pytest.raises(InputError, match="1 of 3 rows of the first release"):
        attack(view)
    with pytest.raises(InputError):
        attack(replace(view, releases=view.releases[::-1]))


def test_where_nobody_came_nobody_is_looked_for():
    old = table(UK="ague boil")
    with pytest.raises(NobodyFoundError, match="Nobody has come"):
        backward(of(old, old))


def test_without_values_rows_are_counted_all_the_same():
    """One value left exposes three more newcomers, where a value is to be learned."""
    view = of(
        table(Europe="flu flu flu HIV HIV"),
        table(France="flu flu flu HIV cold", UK="HIV cold cold cold cold"),
    )
    assert backward(view).exposed == 5
    bare = [replace(one, values=None) for one in view.releases]
    assert backward(replace(view, sensitive=None, releases=tuple(bare))).exposed == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_search_cut_short_says_less_and_says_so(seed, monkeypatch):
    view = tiny(seed, added=2)
    exact = forward(view), cross(view), backward(view)
    monkeypatch.setattr(assignment, "MAX_STEPS", -1)
    for known, short in zip(exact, (forward(view), cross(view), backward(view)), strict=True):
        assert short.exposed <= known.exposed
        assert short.details["most_cracked"] <= known.details["most_cracked"]
        assert (len(short.assumptions) > len(known.assumptions)) == bool(short.details["limits"])
        assert ("cut short" in short.sentence) == bool(short.details["limits"])
        assert "cut short" not in known.sentence
    assert backward(view).details["most_cracked"] == 0
