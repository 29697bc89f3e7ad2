"""The axis: codes, covers, widths and labels, on random axes of every shape."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.axis import Axis
from shoal.core.hierarchy import (
    Hierarchy,
    dates,
    equal_frequency,
    equal_width,
    flat,
    intervals,
    ordered,
    prefixes,
    tree,
)

AWKWARD = st.text(alphabet="ab01-*{}[],\\ N.;\n", max_size=5)
WHOLE = st.integers(-300, 300).map(float)
FRACTIONS = st.integers(-300, 300).map(lambda tenths: tenths / 10)
DAYS = st.integers(0, 20_000).map(lambda days: date(1955, 1, 1) + timedelta(days))
TAKEN = {"ends": {"top": 80, "bottom": -50}, "open": {}}


def distinct(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=1, max_size=12, unique=True)


@st.composite
def axes(draw: st.DrawFn) -> Axis:
    """An axis of any shape and kind, with and without null."""
    null = draw(st.booleans())
    kind = draw(st.sampled_from(["number", "date", "code"]))
    if kind == "number":
        values = draw(distinct(draw(st.sampled_from([WHOLE, FRACTIONS]))))
        ends = TAKEN[draw(st.sampled_from(sorted(TAKEN)))]
        forms: list[Hierarchy] = [
            intervals(5, 10, 20, **ends),
            intervals(0.5, 5, origin=2.5, **ends),
        ]
        forms += [ordered(), flat(), prefixes(), equal_width(4, 2), equal_frequency(6, 3)]
    elif kind == "date":
        values = draw(distinct(DAYS))
        forms = [dates(), dates("year", "decade"), ordered(), equal_width(3), flat()]
    else:
        values = draw(distinct(AWKWARD))
        rows = [(value, f"g{i // 2}", f"h{i // 4}", "any") for i, value in enumerate(values)]
        forms = [flat(), ordered(), prefixes(), prefixes(2, 1), tree(rows)]
    return draw(st.sampled_from(forms)).grow("column", kind, values, None, null)


def every_range(axis: Axis) -> tuple[Any, Any]:
    low, high = np.triu_indices(axis.size)
    return low.astype(np.int32), high.astype(np.int32)


@settings(deadline=None)
@given(axes())
def test_labels_read_back_as_the_range_they_were_written_for(axis: Axis) -> None:
    low, high = axis.cover(*every_range(axis))
    shown = axis.labels(low, high)
    back_low, back_high, ok = axis.parse(shown)
    assert ok.all()
    assert (back_low == low).all()
    assert (back_high == high).all()
    assert [label is None for label in shown] == ((low == high) & (low == axis.null_code)).tolist()


@settings(deadline=None)
@given(axes())
def test_labels_of_any_range_are_those_of_its_cover(axis: Axis) -> None:
    low, high = every_range(axis)
    assert axis.labels(low, high).tolist() == axis.labels(*axis.cover(low, high)).tolist()


def publishable(axis: Axis) -> set[tuple[int, int]]:
    """By definition and in plain Python: leaves, root, and what the shape allows."""
    count, size = len(axis.leaves), axis.size
    ranges = {(code, code) for code in range(size)} | {(0, size - 1)}
    if axis.shape != "tree":
        ranges |= {(a, b) for a in range(count) for b in range(a, count)}
    for level in axis.levels:
        starts = [*level.starts.tolist(), count]
        ranges |= {(a, b - 1) for a, b in pairwise(starts)}
    return ranges


@settings(deadline=None)
@given(axes())
def test_cover_is_the_smallest_publishable_range_and_idempotent(axis: Axis) -> None:
    allowed = publishable(axis)
    low, high = every_range(axis)
    covers = list(zip(*(end.tolist() for end in axis.cover(low, high)), strict=True))
    for a, b, cover in zip(low.tolist(), high.tolist(), covers, strict=True):
        around = [r for r in allowed if r[0] <= a and b <= r[1]]
        assert cover == min(around, key=lambda r: r[1] - r[0])
    again = axis.cover(*axis.cover(low, high))
    assert list(zip(*(end.tolist() for end in again), strict=True)) == covers


@settings(deadline=None)
@given(axes())
def test_levels_nest(axis: Axis) -> None:
    for fine, coarse in pairwise(axis.levels):
        assert set(coarse.starts.tolist()) <= set(fine.starts.tolist())
    for level in axis.levels:
        assert level.starts[0] == 0
        assert (np.diff(level.starts) > 0).all()
        assert len(level.labels) == len(level.starts)


@settings(deadline=None)
@given(axes())
def test_width_grows_with_the_range(axis: Axis) -> None:
    low, high = every_range(axis)
    width = axis.width(low, high)
    assert ((width >= 0) & (width <= 1)).all()
    assert (width[low == high] == 0).all()
    if axis.size > 1:
        assert axis.width(0, axis.size - 1) == 1
    inside = (low[:, None] >= low) & (high[:, None] <= high)
    assert (width[:, None] <= width + 1e-12)[inside].all()


@settings(deadline=None)
@given(axes())
def test_codes_are_the_leaves_in_order(axis: Axis) -> None:
    assert axis.codes(axis.leaves).tolist() == list(range(len(axis.leaves)))
    assert axis.codes([None]).tolist() == [axis.null_code]


@settings(deadline=None)
@given(distinct(AWKWARD), st.booleans(), st.data())
def test_sets_read_back(values: list[str], null: bool, data: st.DataObject) -> None:
    axis = flat().grow("c", "category", values, None, null)
    members = data.draw(st.lists(st.integers(0, axis.size - 1), min_size=1, unique=True))
    wanted = np.zeros((1, axis.size), dtype=bool)
    wanted[0, members] = True
    label = axis.set_labels(wanted)
    bits, ok = axis.parse_sets(label)
    assert ok.all()
    assert bits.dtype == np.uint64
    assert bits.shape == (1, axis.words)
    assert [(int(bits[0, code // 64]) >> code % 64) & 1 for code in range(axis.size)] == [
        int(bit) for bit in wanted[0]
    ]
    assert axis.set_labels(bits).tolist() == label.tolist()


def test_sets_are_written_sorted_and_escaped() -> None:
    axis = flat().grow("c", "category", ["b", "a, b", "{x}"], np.array([5, 1, 1]), True)
    assert axis.leaves == ("b", "a, b", "{x}")
    shown = axis.set_labels(np.array([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0], [1] * 4], bool))
    assert shown.tolist() == [r"{a\, b, b}", r"{b, \N}", r"{\{x\}}", "*"]
    assert axis.set_labels(np.array([[0, 0, 0, 1]], bool)).tolist() == [None]
    assert axis.set_width([1, 2, 4]).tolist() == [0, 1 / 3, 1]


def test_sets_of_more_than_a_word() -> None:
    axis = Axis.numbered("c", 130)
    bits, ok = axis.parse_sets(["{0, 64, 129}", "*", "none", "7"])
    assert ok.tolist() == [True, True, False, True]
    assert bits[0].tolist() == [1, 1, 2]
    assert bits[1].tolist() == [2**64 - 1, 2**64 - 1, 3]
    assert axis.set_labels(bits[:1]).tolist() == ["{0, 129, 64}"]


@pytest.mark.parametrize(
    ("values", "kind", "label"),
    [
        ([20.0, 29.0, 40.0], "number", "[20-29]"),
        ([-5.0, -1.0, 40.0], "number", "[-5 - -1]"),
        ([2.5, 3.0, 40.0], "number", "[2.5 - 3]"),
        (
            [date(1965, 9, 3), date(1966, 1, 1), date(1970, 1, 1)],
            "date",
            "[1965-09-03 - 1966-01-01]",
        ),
        (["A-1", "B", "C"], "code", "[A-1 - B]"),
        (["9", "10", "11"], "code", "[9 - 10]"),
    ],
)
def test_range_labels(values: list[Any], kind: str, label: str) -> None:
    axis = ordered().grow("c", kind, values)
    assert axis.labels([0], [1]).tolist() == [label]
    assert [part.tolist() for part in axis.parse([label])] == [[0], [1], [True]]


def test_null_is_never_inside_a_range() -> None:
    axis = ordered().grow("age", "number", [20.0, 30.0, 40.0], None, True)
    assert axis.null_code == 3
    assert axis.labels([0, 2, 3, 0], [2, 3, 3, 3]).tolist() == ["[20-40]", "*", None, "*"]
    assert axis.width([0, 2, 3], [2, 3, 3]).tolist() == [1, 1, 0]
    assert [int(end[0]) for end in axis.parse([""])] == [3, 3, 1]
    assert axis.codes(np.array([20, np.nan, 99])).tolist() == [0, 3, -1]


def test_plain_values_and_others_labels_are_read() -> None:
    axis = ordered().grow("age", "number", [21.0, 25.0, 29.0, 35.0])
    texts = ["21", "25.0", "[20-30]", "*", "x", "22", "", None, "[50-60]", "nan"]
    low, high, ok = axis.parse(texts)
    assert ok.tolist() == [True] * 4 + [False] * 6
    assert list(zip(low[:4], high[:4], strict=True)) == [(0, 0), (1, 1), (0, 2), (0, 3)]
    assert axis.parse([29.0, 1.0])[2].tolist() == [True, False]


def test_an_empty_text_is_not_null() -> None:
    axis = flat().grow("c", "category", ["", "a", "*"], None, True)
    shown = axis.labels(np.arange(4), np.arange(4)).tolist()
    assert shown == ["{}", "{*}", "a", None]
    assert axis.parse([*shown, ""])[0].tolist() == [0, 1, 2, 3, 3]


def test_one_leaf_and_no_leaf() -> None:
    one = ordered().grow("age", "number", [20.0])
    assert one.size == 1
    assert one.width([0], [0]).tolist() == [0]
    assert one.labels([0], [0]).tolist() == ["20"]
    only_null = intervals(5).grow("age", "number", [], None, True)
    assert (only_null.size, only_null.null_code) == (1, 0)
    assert only_null.labels([0], [0]).tolist() == [None]
    assert only_null.width([0], [0]).tolist() == [0]
    for form in (flat(), ordered(), intervals(5), equal_width(2), equal_frequency(2)):
        assert form.grow("age", "number", []).size == 0


@settings(deadline=None)
@given(st.integers(1, 5))
def test_shapes_of_arrays_are_kept(rows: int) -> None:
    axis = intervals(5, 10).grow("age", "number", [20.0, 21.0, 29.0])
    low = np.zeros((rows, 2), dtype=np.int32)
    assert axis.cover(low, low + 1)[0].shape == (rows, 2)
    assert axis.labels(low, low + 1).shape == (rows, 2)
    assert axis.width(low, low + 1).shape == (rows, 2)


def test_a_range_among_thirty_thousand_codes_is_covered_by_its_common_prefix() -> None:
    codes = [f"{code:05d}" for code in range(30_000)]
    axis = prefixes().grow("zip", "code", codes)
    low, high = np.sort(np.random.default_rng(1).integers(0, 30_000, (2, 100_000)), axis=0)
    first, last = axis.cover(low, high)
    labels, width = axis.labels(low, high), axis.width(low, high)
    for place in range(0, 100_000, 97):
        ends = zip(codes[low[place]], codes[high[place]], strict=True)
        prefix = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], ends))
        assert labels[place] == (prefix.ljust(5, "*") if prefix else "*")
        assert first[place] == int(prefix.ljust(5, "0"))
        assert last[place] == min(int(prefix.ljust(5, "9")), 29_999)
        assert width[place] == pytest.approx((last[place] - first[place]) / 29_999)
