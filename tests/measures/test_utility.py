"""Utility against plain Python, at its two ends, and against ARX's optimum on Adult."""

from __future__ import annotations

import gzip
import json
import math
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.adult_nine import ADULT_NINE

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Cut, Tally
from shoal.measures import average_class, discernibility, loss, marginals, measures, suppressed
from shoal.measures import non_uniform_entropy as entropy

AGES = Axis(
    "age",
    "number",
    "ordered",
    tuple(map(float, range(0, 50, 10))),
    null=True,
    positions=np.arange(0.0, 50.0, 10.0),
)
JOBS = Axis("job", "category", "flat", ("a", "b", "c", "d"))
ILLS = Axis("ill", "category", "flat", ("x", "y", "z"))
NAMES = (
    "average-class",
    "discernibility",
    "height",
    "loss",
    "marginals",
    "non-uniform-entropy",
    "precision",
    "suppressed",
)


def table(rows: list[tuple[int, int, int]], **more: object) -> Tally:
    """One entry for each row, so that equal rows are several entries."""
    codes = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    count = np.ones(len(rows), dtype=np.int64)
    return Tally((AGES, JOBS), (ILLS,), codes[:2], codes[2:], count, **more)  # type: ignore[arg-type]


def cut_of(tally: Tally, class_: list[int]) -> Cut:
    """Classes as given, numbered without gaps; -1 is held back."""
    present = sorted(set(class_) - {-1})
    number = np.array([present.index(c) if c >= 0 else -1 for c in class_], dtype=np.int32)
    return Cut.of(tally, np.arange(tally.entries, dtype=np.int32), number)


def untouched(tally: Tally) -> Cut:
    key = tally.keys[0].astype(int) * JOBS.size + tally.keys[1]
    return cut_of(tally, np.unique(key, return_inverse=True)[1].tolist())


def root(tally: Tally) -> Cut:
    high = np.array([[AGES.size - 1, JOBS.size - 1]], dtype=np.int32)
    everything = np.array([[0b1111]], dtype=np.uint64)
    zero = np.zeros(tally.entries, dtype=np.int32)
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut(entry, zero, tally.count, Cells(np.zeros_like(high), high, {1: everything}))


ROWS = st.tuples(
    st.integers(0, AGES.size - 1), st.integers(0, JOBS.size - 1), st.integers(0, ILLS.size - 1)
)
CASES = st.lists(st.tuples(ROWS, st.integers(-1, 3)), min_size=1, max_size=25)


def split(case: list[tuple[tuple[int, int, int], int]]) -> tuple[Tally, Cut]:
    tally = table([row for row, _ in case])
    return tally, cut_of(tally, [class_ for _, class_ in case])


def cell(cut: Cut, class_: int, column: int) -> list[int]:
    """The codes a class publishes in a column, from the definition of cells."""
    if column in cut.cells.sets:
        bits = int(cut.cells.sets[column][class_, 0])
        return [code for code in range(64) if bits >> code & 1]
    return list(range(cut.cells.low[class_, column], cut.cells.high[class_, column] + 1))


def class_rows(cut: Cut) -> list[int]:
    return [int(cut.count[cut.class_ == c].sum()) for c in range(cut.classes)]


def test_the_room() -> None:
    room = measures()
    assert tuple(room) == NAMES
    for measure in room.values():
        assert measure.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_ends(name: str) -> None:
    tally = table([(0, 0, 0), (0, 0, 1), (3, 1, 1), (4, 2, 2), (5, 3, 0), (1, 1, 0)])
    measure = measures()[name]
    assert measure(tally, untouched(tally)) == 0
    assert measure(tally, cut_of(tally, [-1] * 6)) == pytest.approx(1)
    if name != "suppressed":
        assert measure(tally, root(tally)) == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
def test_no_rows_lose_nothing(name: str) -> None:
    tally = table([])
    assert measures()[name](tally, cut_of(tally, [])) == 0


@pytest.mark.parametrize("name", NAMES)
@given(case=CASES)
@settings(max_examples=30, deadline=None)
def test_between_0_and_1_and_whatever_the_order(
    name: str, case: list[tuple[tuple[int, int, int], int]]
) -> None:
    measure = measures()[name]
    value = measure(*split(case))
    assert 0 <= value <= 1
    assert measure(*split(case[::-1])) == pytest.approx(value, abs=1e-12)


def test_dividing_equal_people_is_no_gain() -> None:
    tally = table([(0, 0, 0), (0, 0, 1), (0, 0, 2), (3, 1, 1)])
    assert measures()["discernibility"](tally, cut_of(tally, [0, 1, 2, 3])) == 0


@given(CASES)
@settings(deadline=None)
def test_loss_is_the_mean_width(case: list[tuple[tuple[int, int, int], int]]) -> None:
    tally, cut = split(case)
    lost = 0.0
    for class_ in cut.class_.tolist():
        if class_ < 0:
            lost += 2
            continue
        ages, jobs = cell(cut, class_, 0), cell(cut, class_, 1)
        numbers = [code for code in ages if code != AGES.null_code]
        lost += 1 if len(ages) == AGES.size else (len(numbers) - 1) / 4 if numbers else 0
        lost += (len(jobs) - 1) / 3
    assert loss.raw(tally, cut) == pytest.approx(lost)
    assert loss.loss(tally, cut) == pytest.approx(lost / len(case) / 2)


def test_loss_respects_weights() -> None:
    rows = [(0, 0, 0), (4, 0, 0)]
    assert loss.loss(table(rows), cut_of(table(rows), [0, 0])) == 0.5
    weighted = table(rows, weights=(3.0, 1.0))
    assert loss.loss(weighted, cut_of(weighted, [0, 0])) == 0.75


@given(CASES)
@settings(deadline=None)
def test_class_sizes(case: list[tuple[tuple[int, int, int], int]]) -> None:
    tally, cut = split(case)
    held = sum(class_ == -1 for _, class_ in case)
    sizes = class_rows(cut)
    assert discernibility.raw(tally, cut) == sum(n * n for n in sizes) + held * len(case)
    assert suppressed.raw(tally, cut) == held
    if sizes:
        assert average_class.raw(tally, cut) == pytest.approx(sum(sizes) / len(sizes))


def test_discernibility_does_not_overflow() -> None:
    """ARX's 32 bits end at classes of 46,340 rows, and 64 bits at 3,037,000,499."""
    tally = table([(0, 0, 0), (1, 0, 0)])
    count = np.array([4_000_000_000, 1], dtype=np.int64)
    tally = Tally(tally.quasi, tally.sensitive, tally.keys, tally.values, count)
    assert discernibility.raw(tally, cut_of(tally, [0, 0])) == 4_000_000_001**2
    assert discernibility.discernibility(tally, untouched(tally)) == 0


@given(CASES)
@settings(deadline=None)
def test_entropy_is_the_bits_to_guess_the_values(
    case: list[tuple[tuple[int, int, int], int]],
) -> None:
    tally, cut = split(case)
    bits = 0.0
    for (row, _), class_ in zip(case, cut.class_.tolist(), strict=True):
        for column in (0, 1):
            values = [other[column] for other, _ in case]
            inside = set(values) if class_ < 0 else set(cell(cut, class_, column))
            node = sum(value in inside for value in values)
            bits -= math.log2(values.count(row[column]) / node)
    assert entropy.raw(tally, cut) == pytest.approx(bits, abs=1e-9)


def spread(tally: Tally, cut: Cut, columns: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The release's rows on each combination of leaves, one cell after the other."""
    shares: dict[tuple[int, ...], float] = {}
    for entry, class_, count in zip(cut.entry, cut.class_, cut.count, strict=True):
        if class_ < 0:
            continue
        boxes = [
            cell(cut, class_, c) if c < 2 else [int(tally.values[c - 2, entry])] for c in columns
        ]
        points = [()]
        for box in boxes:
            points = [(*point, code) for point in points for code in box]
        for point in points:
            shares[point] = shares.get(point, 0.0) + count / len(points)
    return shares


@given(CASES)
@settings(deadline=None)
def test_distances_by_spreading_every_cell(case: list[tuple[tuple[int, int, int], int]]) -> None:
    tally, cut = split(case)
    distances, names = marginals.raw(tally, cut), ("age", "job", "ill")
    original = untouched(tally)
    for columns in [(0,), (1,), (2,), *combinations(range(3), 2)]:
        old, new = spread(tally, original, columns), spread(tally, cut, columns)
        apart = sum(abs(old.get(p, 0) - new.get(p, 0)) for p in {*old, *new}) + cut.suppressed
        name = tuple(names[c] for c in columns)
        distance = distances.columns[name[0]] if len(name) == 1 else distances.pairs[name]
        assert distance == pytest.approx(apart / 2 / len(case), abs=1e-12)


def test_distances_are_json() -> None:
    tally = table([(0, 0, 0), (4, 1, 1)])
    document = marginals.raw(tally, cut_of(tally, [0, 0])).to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["pairs"][0]["columns"] == ["age", "job"]


@pytest.mark.parametrize("size", [129, 300, 1000])
def test_wide_columns_are_binned_in_pairs(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins of the exact joint distribution are what the binned one is."""
    rng = np.random.default_rng(size)
    axes = tuple(Axis.numbered(name, size) for name in "ab")
    keys = rng.integers(0, size, (2, 60)).astype(np.int32)
    count = rng.integers(1, 4, 60)
    tally = Tally(axes, (), keys, np.zeros((0, 60), np.int32), count)
    class_ = rng.integers(0, 9, 60).astype(np.int32)
    ends = np.sort(rng.integers(0, size, (2, 9, 2)), axis=0).astype(np.int32)
    bits = np.zeros((9, -(-size // 64)), dtype=np.uint64)
    for row in range(9):
        for code in rng.integers(0, size, 7).tolist():
            bits[row, code // 64] |= np.uint64(1 << code % 64)
    cells = Cells(ends[0], ends[1], {1: bits})
    first, second = marginals._list_columns(
        tally, Cut(np.arange(60, dtype=np.int32), class_, count, cells)
    )
    binned = marginals._count_by_pair(first, second)
    monkeypatch.setattr(marginals, "BINS", size)
    exact = marginals._count_by_pair(first, second)
    width = -(-size // 128)
    starts = np.arange(0, size, width)
    expected = np.add.reduceat(np.add.reduceat(exact, starts, axis=0), starts, axis=1)
    np.testing.assert_allclose(binned, expected, atol=1e-9)
    assert binned.sum() == pytest.approx(count.sum())


def test_adult_as_arx() -> None:
    """ARX's own golden optima of non-uniform entropy: k = 5 and k = 100 on the nine columns."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA is not set: the Adult table is not at hand")
    for levels, bits in (
        ((1, 2, 1, 1, 3, 2, 2, 1, 1), 407289.5389),
        ((0, 4, 1, 1, 3, 2, 2, 1, 1), 453196.8932),
    ):
        assert entropy.raw(*full_domain(Path(folder), levels)) == pytest.approx(bits, abs=1e-3)


def full_domain(folder: Path, levels: tuple[int, ...]) -> tuple[Tally, Cut]:
    """Adult with each column at one level of its hierarchy."""
    columns = ADULT_NINE
    with gzip.open(folder / "adult.csv.gz", "rt") as file:
        header, *rows = (line.rstrip("\n").split(",") for line in file)
    rows = [row for row in rows if row[-1] == "train" and "?" not in row]
    axes, keys, low, high = [], [], [], []
    for name, level in zip(columns, levels, strict=True):
        file = "salary_class" if name == "income" else name
        lines = (folder / "hierarchies/adult" / f"{file}.csv").read_text().split("\n")
        paths = sorted(
            (line.strip().split(";") for line in lines if line.strip()), key=lambda path: path[::-1]
        )
        code = {path[0]: i for i, path in enumerate(paths)}
        nodes = [path[level:] for path in paths]
        first = [nodes.index(node) for node in nodes]
        last = [len(nodes) - 1 - nodes[::-1].index(node) for node in nodes]
        column = np.array([code[row[header.index(name)]] for row in rows], dtype=np.int32)
        axes.append(Axis.numbered(name, len(paths)))
        keys.append(column)
        low.append(np.array(first, dtype=np.int32)[column])
        high.append(np.array(last, dtype=np.int32)[column])
    count = np.ones(len(rows), dtype=np.int64)
    tally = Tally(tuple(axes), (), np.array(keys), np.zeros((0, len(rows)), np.int32), count)
    entry = np.arange(len(rows), dtype=np.int32)
    return tally, Cut(entry, entry, count, Cells(np.array(low).T, np.array(high).T)).merged()
