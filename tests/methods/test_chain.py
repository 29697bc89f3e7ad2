"""The chain on tiny tables, against a scan of every step in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.joint_model import AtMost

from shoal.core.axis import Axis, Level
from shoal.core.errors import NotMetError, UsageError
from shoal.core.tally import Groups, Population, Tally
from shoal.methods.chain import chain
from shoal.models import rule
from shoal.testing.checks import check_method
from shoal.testing.random_tables import groups

FEW = settings(max_examples=80, deadline=None)
RULES = (
    "k-anonymity k=2",
    "k-anonymity k=4",
    "distinct-diversity l=2",
    "entropy-diversity l=1.8",
    "recursive-diversity c=2 l=2",
    "t-closeness t=0.3",
    "ck-safety c=0.7 k=1",
    "k-anonymity k=2 & beta-likeness beta=1.5",
)

HARD = (
    "distinct-diversity l=3",
    "ck-safety c=0.6 k=1",
    "t-closeness t=0.1 & alpha-k alpha=0.6 k=2",
)


@dataclass(frozen=True)
class Plain:
    """A column as the oracle sees it: its leaves, whether null follows, its levels' first codes."""

    shape: str
    leaves: int
    null: bool = False
    starts: tuple[tuple[int, ...], ...] = ()
    """From fine to coarse."""

    @property
    def size(self):
        return self.leaves + self.null

    def axis(self, name):
        levels = tuple(
            Level(np.array(starts, np.int32), tuple(f"{name}/{i}/{s}" for s in starts))
            for i, starts in enumerate(self.starts)
        )
        leaves = tuple("abcdefgh"[: self.leaves])
        return Axis(name, "category", self.shape, leaves, self.null, levels)

    def levels(self):
        """Per level the cell of each code, by the level's number; those that join nothing left out.

        Null is alone everywhere but at the root.
        """
        found = {0: tuple(frozenset([code]) for code in range(self.size))}
        for number, starts in enumerate(self.starts, 1):
            ends = (*starts[1:], self.leaves)
            nodes = [frozenset(range(a, b)) for a, b in zip(starts, ends, strict=True)]
            nodes += [frozenset([self.leaves])] if self.null else []
            found[number] = tuple(next(n for n in nodes if c in n) for c in range(self.size))
        found[len(self.starts) + 1] = (frozenset(range(self.size)),) * self.size
        kept = {}
        for number, cells in found.items():
            if cells not in kept.values():
                kept[number] = cells
        return kept


def steps(plain, rows, weights, order=()):
    """The chain as a list of dictionaries {column: level}, from the finest to the coarsest."""
    ladders = [list(column.levels().items()) for column in plain]
    at = [0] * len(plain)
    found = [tuple(at)]
    while True:
        able = [j for j, ladder in enumerate(ladders) if at[j] < len(ladder) - 1]
        if not able:
            return [{j: ladders[j][a][0] for j, a in enumerate(one)} for one in found]
        first = [j for j in order if j in able]
        labels = {j: len({ladders[j][at[j]][1][row[j]] for row in rows}) / weights[j] for j in able}
        column = first[0] if first else next(j for j in able if labels[j] == max(labels.values()))
        at[column] += 1
        found.append(tuple(at))


def classes(plain, rows, step):
    """The rows of each combination of cells."""
    cells = [plain[j].levels()[level] for j, level in step.items()]
    found = {}
    for row in rows:
        key = tuple(cell[code] for cell, code in zip(cells, row, strict=False))
        found.setdefault(key, Counter())[row] += 1
    return found


def good(model, found):
    values = [["xyz"[row[-1]] for row in inside.elements()] for inside in found.values()]
    return bool(model.holds(groups(values)).all())


def scanned(plain, rows, weights, model, order=()):
    """The finest step that is good, judged one by one; None where none is."""
    line = steps(plain, rows, weights, order)
    found = ((step, classes(plain, rows, step)) for step in line)
    return next((one for one in found if good(model, one[1])), None), len(line)


@st.composite
def columns(draw):
    shape = draw(st.sampled_from(("ordered", "flat", "tree", "tree")))
    leaves = draw(st.integers(1, 6))
    starts = ()
    if shape == "tree" and leaves > 1:
        fine = (0, *sorted(draw(st.sets(st.integers(1, leaves - 1), max_size=4))))
        starts = (fine, tuple(s for s in fine if s == 0 or draw(st.booleans())))
    return Plain(shape, leaves, draw(st.booleans()), starts)


@st.composite
def tables(draw):
    plain = draw(st.lists(columns(), min_size=1, max_size=3))
    row = st.tuples(*(st.integers(0, c.size - 1) for c in plain), st.integers(0, 2))
    rows = draw(st.lists(row, min_size=1, max_size=16))
    weights = draw(st.sampled_from([(1.0, 1.0, 1.0), (3.0, 1.0, 0.5)]))
    return plain, rows, weights[: len(plain)]


def tally(plain, rows, weights=(), population=None):
    count = Counter(rows)
    codes = np.array(list(count), np.int32).T
    return Tally(
        tuple(c.axis(name) for c, name in zip(plain, "abc", strict=False)),
        (Axis("d", "category", "flat", tuple("xyz")),),
        np.ascontiguousarray(codes[:-1]),
        np.ascontiguousarray(codes[-1:]),
        np.array(list(count.values()), np.int64),
        population=population,
        weights=tuple(weights),
    )


def contents(table, cut):
    """The rows of each combination of published cells; None: held back."""
    found = {}
    for entry, class_, count in zip(cut.entry, cut.class_, cut.count, strict=True):
        row = (*table.keys[:, entry].tolist(), int(table.values[0, entry]))
        key = None if class_ < 0 else cells(table, cut, class_)
        found.setdefault(key, Counter())[row] += int(count)
    return found


def cells(table, cut, class_):
    found = []
    for j, axis in enumerate(table.quasi):
        if j in cut.cells.sets:
            word = int(cut.cells.sets[j][class_, 0])
            found.append(frozenset(c for c in range(axis.size) if word >> c & 1))
        else:
            low, high = cut.cells.low[class_, j], cut.cells.high[class_, j]
            found.append(frozenset(range(low, high + 1)))
    return tuple(found)


def levels(cut):
    return dict(enumerate(cut.facts["levels"].values()))


@FEW
@given(tables(), st.sampled_from(RULES))
def test_bisection_finds_what_a_scan_of_all_steps_finds(table, text):
    plain, rows, weights = table
    model, ours = rule(text), tally(plain, rows, weights)
    found, length = scanned(plain, rows, weights, model)
    if found is None:
        with pytest.raises(NotMetError, match="as a single class"):
            chain(ours, model)
        return
    cut = chain(ours, model)
    assert (levels(cut), contents(ours, cut)) == found
    assert cut.facts["steps"] == length
    assert cut.facts["judged"] <= math.ceil(math.log2(length)) + 1
    assert cut.suppressed == 0


@FEW
@given(tables(), st.integers(1, 6), st.integers(1, 3))
def test_a_rule_about_the_whole_table_alone_and_with_another(table, most, k):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    model = rule(f"k-anonymity k={min(k, len(rows))}") & AtMost(most)
    for one in (model, AtMost(most)):
        cut = chain(ours, one)
        assert (levels(cut), contents(ours, cut)) == scanned(plain, rows, weights, one)[0]


@dataclass(frozen=True)
class Even:
    """Merging classes may break it: the number of classes is even, or there is one."""

    needs = frozenset()
    monotone = False
    local = False

    def holds(self, groups):
        return np.full(len(groups), len(groups) % 2 == 0 or len(groups) == 1)

    def reached(self, groups):
        return float(len(groups))


@FEW
@given(tables())
def test_a_rule_that_merging_may_break_is_judged_step_by_step(table):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    cut = chain(ours, Even())
    assert (levels(cut), contents(ours, cut)) == scanned(plain, rows, weights, Even())[0]
    found = [levels(cut) == step for step in steps(plain, rows, weights)]
    assert cut.facts["judged"] == found.index(True) + 1


@FEW
@given(tables(), st.permutations(range(3)), st.integers(0, 3))
def test_columns_that_are_named_go_up_first_and_all_the_way(table, mixed, named):
    plain, rows, weights = table
    order = [j for j in mixed if j < len(plain)][:named]
    model = rule(f"k-anonymity k={min(3, len(rows))}")
    ours = tally(plain, rows, weights)
    cut = chain(ours, model, order=["abc"[j] for j in order])
    assert (levels(cut), contents(ours, cut)) == scanned(plain, rows, weights, model, order)[0]


@FEW
@given(
    tables(),
    st.sampled_from(HARD),
)
def test_held_back_is_as_little_as_at_any_step_and_the_rest_meets_the_rule(table, text):
    plain, rows, weights = table
    model, ours = rule(text), tally(plain, rows, weights)
    cut = chain(ours, model, hold_back=True)
    found = contents(ours, cut)
    assert sum(found.values(), Counter()) == Counter(rows)
    lost = found.pop(None, Counter()).total()
    if cut.classes:
        assert model.holds(Groups.of(ours, cut)).all()
    if scanned(plain, rows, weights, model)[0]:
        assert lost == 0
        return
    assert lost == min(
        fewest(model, classes(plain, rows, step)) for step in steps(plain, rows, weights)
    )


def fewest(model, found):
    """How many rows are lost when classes that fail are left out until none does.

    Where one class can spoil the others: first those that fail alone, then the worst.
    """
    values = [["xyz"[row[-1]] for row in inside.elements()] for inside in found.values()]
    total = sum(map(len, values))
    while values and not (holds := model.holds(groups(values))).all():
        if not model.local:
            alone = np.array([model.holds(groups([one])).item() for one in values])
            each = model.per_class(groups(values))
            holds = each < each.max() - 1e-9 if alone.all() else alone
        values = [one for one, kept in zip(values, holds, strict=True) if kept]
    return total - sum(map(len, values))


def test_what_is_left_is_judged_again_once_others_are_held_back():
    """The second class is close to the whole table, and far from it without the third."""
    counts = [(4, 0, 4), (0, 2, 3), (0, 0, 4)]
    rows = [(a, v) for a, one in enumerate(counts) for v, n in enumerate(one) for _ in range(n)]
    ours = tally([Plain("flat", 3)], rows)
    cut = chain(ours, rule("t-closeness t=0.3 & alpha-k alpha=0.6 k=2"), hold_back=True)
    assert (cut.suppressed, levels(cut)) == (9, {0: 0})
    assert set(contents(ours, cut)) == {None, (frozenset([0]),)}


def test_the_contract_of_methods_holds():
    for text in (None, "distinct-diversity l=3 & k-anonymity k=8", "k-map k=9"):
        check_method(chain, text and rule(text), seeds=range(2))
    check_method(chain, hold_back=True, seeds=range(1))
    check_method(chain, order=("zip",), seeds=range(1))


def test_a_population_is_counted_in_the_cells_of_the_level():
    """Nobody aged d is in the table, but the node c+ covers the two who are in the town."""
    town = Population(np.array([[0, 1, 2, 3, 3]], np.int32), np.ones(5, np.int64))
    plain = [Plain("tree", 4, starts=((0, 2),))]
    ours = tally(plain, [(0, 0), (1, 0), (2, 0)], population=town)
    cut = chain(ours, rule("delta-presence low=0.3 high=1"))
    assert levels(cut) == {0: 1}
    assert set(contents(ours, cut)) == {(frozenset([0, 1]),), (frozenset([2, 3]),)}
    assert cut.facts["judged"] == 2


def test_the_work_is_told_as_it_goes_on():
    told = []
    ours = tally([Plain("ordered", 6)] * 3, [(0, 1, 2, 0), (3, 4, 5, 1)])
    cut = chain(ours, rule("k-anonymity k=2"), progress=lambda *one: told.append(one))
    judged = [round(1000 * (i + 1) / 3) for i in range(cut.facts["judged"])]
    assert told == [(done, 1000) for done in (*judged, 1000)]


@pytest.mark.parametrize(
    "order", [("a", "x"), ("a", "a"), ["d"], "ab", 5, {"a": 1}, [1], [["a"]], b"a"]
)
def test_an_order_that_makes_no_sense_is_refused(order):
    ours = tally([Plain("ordered", 3)] * 2, [(0, 1, 2), (1, 1, 1)])
    with pytest.raises(UsageError, match="order names") as refused:
        chain(ours, rule("k-anonymity k=1"), order=order)
    assert "name some of: a, b" in refused.value.hint


def test_one_name_is_an_order_and_without_columns_there_is_no_chain():
    ours = tally([Plain("ordered", 3), Plain("ordered", 2)], [(0, 1, 2), (1, 1, 1)])
    assert levels(chain(ours, rule("k-anonymity k=2"), order="b")) == {0: 1, 1: 1}
    none = Tally((), ours.sensitive, ours.keys[:0], ours.values, ours.count)
    with pytest.raises(UsageError, match="no quasi-identifier"):
        chain(none, rule("k-anonymity k=1"))
