"""Packed axes: every width a kernel asks for is that of the cell which would be published."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.test_axis import axes

from shoal.core.axis import Axis
from shoal.core.cells import cover_classes
from shoal.kernels.cell_width import find_next_equal, measure_width
from shoal.methods._shared.cell_widths import pack_axis_widths


def widths(columns, rows):
    """What the kernel says of a class of these rows, column by column."""
    reach = pack_axis_widths(columns)
    codes = np.array(rows).T
    return [
        measure_width(reach, j, c.min(), c.max(), len(set(c.tolist()))) for j, c in enumerate(codes)
    ]


@st.composite
def classes(draw):
    columns = draw(st.lists(axes(), min_size=1, max_size=3))
    row = st.tuples(*(st.integers(0, axis.size - 1) for axis in columns))
    return columns, draw(st.lists(row, min_size=1, max_size=4))


@given(classes())
@settings(max_examples=150, deadline=None)
def test_a_width_is_that_of_the_published_cell(made):
    columns, rows = made
    keys = np.array(rows, np.int32).T
    entry = np.arange(len(rows), dtype=np.int32)
    cells = cover_classes(columns, keys, entry, np.zeros_like(entry))
    assert widths(columns, rows) == cells.widths(columns)[0].tolist()


@given(axes())
@settings(max_examples=60, deadline=None)
def test_every_range_of_an_axis_is_as_wide_as_the_axis_says(axis):
    reach = pack_axis_widths([axis], [2.0])
    assert reach.weight.tolist() == [2.0]
    low, high = np.triu_indices(axis.size)
    expected = axis.width(low, high)
    if axis.shape == "flat":
        mixed = axis.null & (high == axis.size - 1) & (low < high)
        expected = axis.set_width(np.where(mixed, axis.size, high - low + 1))
    found = [measure_width(reach, 0, a, b, b - a + 1) for a, b in zip(low, high, strict=True)]
    assert found == expected.tolist()


def test_a_span_wider_than_the_values_counts_until_everything_is_covered():
    ages = (20.0, 40.0, 60.0)
    axis = Axis("age", "number", "ordered", ages, positions=np.array(ages), span=(0.0, 100.0))
    assert [measure_width(pack_axis_widths([axis]), 0, 0, high, 0) for high in range(3)] == [
        0.0,
        0.2,
        1.0,
    ]


def test_the_next_equal_code_of_each_place():
    assert find_next_equal(np.array([2, 0, 2, 1, 0]), 3).tolist() == [2, 4, 5, 5, 5]
