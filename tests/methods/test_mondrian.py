"""Mondrian on tiny tables, against a recursive one in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.joint_model import AtMost

from shoal.core.axis import Axis, Level
from shoal.core.cells import Cells
from shoal.core.errors import NotMetError
from shoal.core.tally import Cut, Groups, Tally
from shoal.methods.mondrian import mondrian
from shoal.models import rule

FEW = settings(max_examples=150, deadline=None)
PLACES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class Plain:
    """A column as the oracle sees it: how many codes, which nodes, where the null is."""

    shape: str
    size: int
    null: bool = False
    starts: tuple[tuple[int, ...], ...] = ()
    """The first codes of the nodes of each level, from coarse to fine."""

    @property
    def leaves(self):
        return self.size - self.null

    def axis(self, name):
        levels = tuple(
            Level(np.array(starts, np.int32), tuple(f"{name}/{i}/{s}" for s in starts))
            for i, starts in enumerate(self.starts[::-1])
        )
        if self.shape == "number":
            places = np.array(PLACES[: self.leaves])
            return Axis(name, "number", "ordered", tuple(places), self.null, (), places)
        leaves = tuple("abcdefgh"[: self.leaves])
        return Axis(name, "category", self.shape, leaves, self.null, levels)

    def nodes(self, codes):
        """For each way to cut, from the coarsest level down, the node of each code."""
        ways = []
        if self.null:
            ways.append({c: int(c == self.size - 1) for c in range(self.size)})
        for starts in self.starts:
            nodes = {c: max(i for i, s in enumerate(starts) if s <= c) for c in range(self.leaves)}
            if self.null:
                nodes[self.size - 1] = len(starts)
            ways.append(nodes)
        return ways

    def cover(self, codes):
        """The codes of the smallest publishable cell."""
        codes, everything = set(codes), frozenset(range(self.size))
        if len(codes) == 1:
            return frozenset(codes)
        if self.null and self.size - 1 in codes:
            return everything
        if self.shape == "flat":
            return frozenset(codes)
        if self.shape != "tree":
            return frozenset(range(min(codes), max(codes) + 1))
        for starts in self.starts[::-1]:
            ends = (*starts[1:], self.leaves)
            for start, end in zip(starts, ends, strict=True):
                if codes <= set(range(start, end)):
                    return frozenset(range(start, end))
        return everything

    def width(self, codes):
        cell = self.cover(codes)
        if self.shape == "number" and cell != frozenset(range(self.size)):
            return (PLACES[max(cell)] - PLACES[min(cell)]) / (PLACES[self.leaves - 1] - PLACES[0])
        return (len(cell) - 1) / max(self.size - 1, 1)


def naive(rows, columns, weights, good):
    """Cut rows (tuples of codes, then a value) as long as both halves are good."""
    for left, right in candidates(rows, columns, weights):
        if good(left) and good(right):
            return naive(left, columns, weights, good) + naive(right, columns, weights, good)
    return [rows]


def candidates(rows, columns, weights):
    """The widest column first, cut nearest to half; inside the nodes of trees only at last."""
    codes = [[row[j] for row in rows] for j in range(len(columns))]
    wide = [j for j in range(len(columns)) if len(set(codes[j])) > 1]
    order = sorted(wide, key=lambda j: -columns[j].width(codes[j]) * weights[j])
    for j in order:
        node = next(
            (w for w in columns[j].nodes(codes[j]) if len({w[c] for c in codes[j]}) > 1), None
        )
        yield halves(rows, j, node)
    for j in order:
        if columns[j].starts or columns[j].null:
            yield halves(rows, j, None)


def halves(rows, j, node):
    place = (lambda row: row[j]) if node is None else (lambda row: node[row[j]])
    places = sorted({place(row) for row in rows})[:-1]

    def off(cut):
        return abs(2 * sum(place(row) <= cut for row in rows) - len(rows))

    cut = min(places, key=lambda p: (off(p), p))
    return [r for r in rows if place(r) <= cut], [r for r in rows if place(r) > cut]


@st.composite
def columns(draw, shapes=("number", "ordered", "flat", "tree"), nulls=True):
    shape = draw(st.sampled_from(shapes))
    null = nulls and draw(st.booleans())
    leaves = draw(st.integers(2, 6))
    starts = ()
    if shape == "tree":
        fine = draw(st.lists(st.integers(1, leaves - 1), unique=True, max_size=3))
        fine = (0, *sorted(fine))
        coarse = tuple(s for s in fine if s == 0 or draw(st.booleans()))
        starts = tuple(level for level in dict.fromkeys((coarse, fine)))
    return Plain(shape, leaves + null, null, starts)


@st.composite
def tables(draw, **kinds):
    plain = draw(st.lists(columns(**kinds), min_size=1, max_size=3))
    row = st.tuples(*(st.integers(0, c.size - 1) for c in plain), st.integers(0, 2))
    rows = draw(st.lists(row, min_size=1, max_size=14))
    weights = draw(st.sampled_from([(1.0, 1.0, 1.0), (3.0, 1.0, 0.5)]))
    return plain, rows, weights[: len(plain)]


def tally(plain, rows, weights=None, names="abc"):
    count = Counter(rows)
    entries = list(count)
    q = len(plain)
    keys = np.array([entry[:q] for entry in entries], np.int32).T
    values = np.array([[entry[q] for entry in entries]], np.int32)
    return Tally(
        tuple(c.axis(name) for c, name in zip(plain, names, strict=False)),
        (Axis("d", "category", "flat", tuple("xyz")),),
        np.ascontiguousarray(keys),
        values,
        np.array([count[entry] for entry in entries], np.int64),
        weights=tuple(weights or ()),
    )


def contents(tally_, cut):
    """Per published combination of cells the rows in it: nothing of numbering or order."""
    found = {}
    for entry, class_, count in zip(cut.entry, cut.class_, cut.count, strict=True):
        row = (*tally_.keys[:, entry].tolist(), int(tally_.values[0, entry]))
        found.setdefault(cell(tally_, cut.cells, class_), Counter())[row] += int(count)
    return found


def cell(tally_, cells: Cells, class_):
    if class_ < 0:
        return None
    found = []
    for j, axis in enumerate(tally_.quasi):
        if j in cells.sets:
            words = cells.sets[j][class_]
            members = [c for c in range(axis.size) if int(words[c // 64]) >> (c % 64) & 1]
            found.append(frozenset(members))
        else:
            found.append(frozenset(range(cells.low[class_, j], cells.high[class_, j] + 1)))
    return tuple(found)


def expected(plain, rows, weights, good):
    found = {}
    for part in naive(rows, plain, weights, good):
        key = tuple(c.cover(row[j] for row in part) for j, c in enumerate(plain))
        found.setdefault(key, Counter()).update(part)
    return found


def judge(k, l):
    return lambda rows: len(rows) >= k and len({row[-1] for row in rows}) >= l


def made(table, model, **settings_):
    try:
        return mondrian(table, rule(model), **settings_)
    except NotMetError:
        return None


@FEW
@given(tables(), st.integers(1, 4), st.integers(1, 3))
def test_strict_is_the_naive_mondrian(table, k, l):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    cut = made(ours, f"k-anonymity k={k} & distinct-diversity l={l}")
    if not judge(k, l)(rows):
        assert cut is None
        return
    assert contents(ours, cut) == expected(plain, rows, weights, judge(k, l))


@FEW
@given(tables(), st.integers(1, 4), st.booleans(), st.booleans())
def test_everybody_is_placed_once_in_cells_that_contain_them(table, k, relaxed, hold_back):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    model = f"k-anonymity k={k} & alpha-k alpha=0.7 k={k}"
    cut = made(ours, model, relaxed=relaxed, hold_back=hold_back)
    if cut is None:
        assert not hold_back
        return
    found = contents(ours, cut)
    assert sum(found.values(), Counter()) == Counter(rows)
    for cells, inside in found.items():
        if cells is None:
            assert hold_back
            continue
        for row in inside:
            assert all(code in one for code, one in zip(row, cells, strict=False))
        assert inside.total() >= k
        most = Counter()
        for row, count in inside.items():
            most[row[-1]] += count
        assert max(most.values()) * 10 <= 7 * inside.total()
    if cut.classes:
        assert rule(model).holds(Groups.of(ours, cut)).all()


@FEW
@given(tables(), st.integers(1, 4), st.booleans(), st.randoms(use_true_random=False))
def test_order_of_rows_and_names_of_columns_do_not_matter(table, k, relaxed, random):
    plain, rows, weights = table
    first = tally(plain, rows, weights)
    cut = made(first, f"k-anonymity k={k}", relaxed=relaxed)
    mixed = random.sample(rows, len(rows))
    second = tally(plain, mixed, weights, names=("odd name", "", "x\ny"))
    again = made(second, f"k-anonymity k={k}", relaxed=relaxed)
    if cut is None:
        assert again is None
        return
    assert contents(first, cut) == contents(second, again)


@FEW
@given(tables(), st.integers(1, 3), st.permutations(range(3)))
def test_names_of_the_sensitive_values_do_not_matter(table, l, order):
    plain, rows, weights = table
    renamed = [(*row[:-1], order[row[-1]]) for row in rows]
    model = f"distinct-diversity l={l}"
    first, second = tally(plain, rows, weights), tally(plain, renamed, weights)
    cut, again = made(first, model), made(second, model)
    if cut is None:
        assert again is None
        return
    told = {
        cells: Counter({(*row[:-1], order[row[-1]]): n for row, n in inside.items()})
        for cells, inside in contents(first, cut).items()
    }
    assert told == contents(second, again)


@FEW
@given(tables(), st.integers(1, 4))
def test_a_doubled_table_with_a_doubled_k_is_cut_alike(table, k):
    plain, rows, weights = table
    first, second = tally(plain, rows, weights), tally(plain, rows * 2, weights)
    cut, again = made(first, f"k-anonymity k={k}"), made(second, f"k-anonymity k={2 * k}")
    if cut is None:
        assert again is None
        return
    once = contents(first, cut)
    twice = {cells: inside + inside for cells, inside in once.items()}
    assert twice == contents(second, again)


@FEW
@given(tables(), st.integers(1, 4))
def test_relaxed_divides_people_and_never_below_k(table, k):
    """With k = 1 everybody who differs from anybody is told apart."""
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    cut = made(ours, f"k-anonymity k={k}", relaxed=True)
    if cut is None:
        assert len(rows) < k
        return
    found = contents(ours, cut)
    assert min(inside.total() for inside in found.values()) >= k
    if k == 1:
        assert all(len(one) == 1 for cells in found for one in cells)


class TwoPairs:
    """A user's own model in plain numpy: two values that each occur at least twice."""

    needs = frozenset({"sensitive"})
    monotone = True
    local = True

    def holds(self, groups):
        histogram = groups.on(None)
        return histogram.sum((histogram.count >= 2).astype(np.int64)) >= 2

    def reached(self, groups):
        return float(self.holds(groups).mean())


def two_pairs(rows):
    return sum(n >= 2 for n in Counter(row[-1] for row in rows).values()) >= 2


@FEW
@given(tables())
def test_a_user_s_own_model_runs_in_the_same_search(table):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    if not two_pairs(rows):
        with pytest.raises(NotMetError):
            mondrian(ours, TwoPairs())
        return
    cut = mondrian(ours, TwoPairs())
    assert contents(ours, cut) == expected(plain, rows, weights, two_pairs)


@FEW
@given(tables(shapes=("number", "ordered"), nulls=False), st.integers(1, 5))
def test_a_model_with_a_state_admits_cuts_one_by_one(table, most):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    cut = mondrian(ours, AtMost(most))
    assert cut.classes == min(most, len({row[:-1] for row in rows}))
    assert sum(contents(ours, cut).values(), Counter()) == Counter(rows)


@FEW
@given(tables(), st.integers(1, 5), st.integers(1, 3))
def test_a_state_and_a_local_model_together(table, most, k):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    if len(rows) < k:
        return
    cut = mondrian(ours, rule(f"k-anonymity k={k}") & AtMost(most))
    assert cut.classes <= most
    assert min(inside.total() for inside in contents(ours, cut).values()) >= k
    assert cut.suppressed == 0


@FEW
@given(tables(), st.integers(1, 4))
def test_merged_classes_and_codes_of_every_width(table, k):
    """Codes of one byte and of four give the same cut."""
    plain, rows, weights = table
    wide = tally(plain, rows, weights)
    cut = made(wide, f"k-anonymity k={k}")
    narrow = replace(wide, keys=wide.keys.astype(np.uint8))
    again = made(narrow, f"k-anonymity k={k}")
    if cut is None:
        assert again is None
        return
    assert contents(wide, cut) == contents(narrow, again)
    assert isinstance(again, Cut)
