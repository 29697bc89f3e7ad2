"""Hierarchies: what each grows into, what it refuses, and its form in a schema."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.axis import Axis
from shoal.core.errors import HierarchyError
from shoal.core.hierarchy import (
    Hierarchy,
    Intervals,
    dates,
    equal_frequency,
    equal_width,
    flat,
    from_arx_csv,
    intervals,
    ordered,
    prefixes,
    to_arx_csv,
    tree,
)

EUROPE = {"Europe": {"South": ["Italy", "Spain"], "North": ["Norway"]}, "Asia": ["Japan"]}


def node_labels(axis: Axis) -> list[tuple[str, ...]]:
    return [level.labels for level in axis.levels]


def test_intervals_of_whole_numbers() -> None:
    axis = intervals(5, 10).grow("age", "number", [21.0, 23.0, 28.0, 40.0], None, True)
    assert node_labels(axis) == [("[20-24]", "[25-29]", "[40-44]"), ("[20-29]", "[40-49]")]
    assert axis.labels([0, 0, 0, 1], [1, 2, 3, 1]).tolist() == ["[20-24]", "[20-29]", "*", "23"]
    # the label's ends, clipped to what occurs: [20-29] is 21..29 of 21..40
    assert axis.width([0, 0, 0], [1, 2, 3]).tolist() == [3 / 19, 8 / 19, 1]


def test_interval_ends_are_coded_from_the_finest_level() -> None:
    values = [3.0, 7.0, 19.0, 20.0, 23.0, 81.0, 82.0, 99.0]
    axis = intervals(5, 20, bottom=20, top=82).grow("age", "number", values)
    assert node_labels(axis) == [
        ("<20", "[20-24]", "[80-81]", ">=82"),
        ("<20", "[20-39]", "[80-81]", ">=82"),
    ]
    assert axis.labels([0, 6], [2, 7]).tolist() == ["<20", ">=82"]
    assert axis.width([0], [2]).tolist() == [16 / 96]


def test_intervals_of_fractions_are_half_open_and_exact() -> None:
    axis = intervals(0.1, 0.2).grow("x", "number", [0.1, 0.15, 0.3, 0.35, 0.7])
    assert node_labels(axis)[0] == ("[0.1, 0.2[", "[0.3, 0.4[", "[0.7, 0.8[")
    assert axis.parse(["[0.3, 0.4["])[0].tolist() == [2]


def test_negative_intervals_have_readable_labels() -> None:
    axis = intervals(5).grow("x", "number", [-5.0, -1.0, 0.0, 4.0])
    assert node_labels(axis) == [("[-5 - -1]", "[0-4]")]


def test_whole_bounds_make_all_whole_numbers_leaves() -> None:
    axis = intervals(5).grow("age", "number", [3.0], None, False, (0, 9))
    assert axis.leaves == tuple(float(x) for x in range(10))
    assert ordered().grow("age", "number", [0.5], None, False, (0, 9)).leaves == (0.5,)
    with pytest.raises(HierarchyError, match=r"'age': 2 of 3 values \(7 rows\) lie outside"):
        ordered().grow("age", "number", [1.0, 50.0, 70.0], np.array([1, 3, 4]), False, (0, 9))


def test_intervals_refuse_what_does_not_nest() -> None:
    for widths in [(5, 12), (10, 5), (5, 5), (0,), (-5,), (), (float("nan"),)]:
        with pytest.raises(HierarchyError):
            Intervals(widths)
    with pytest.raises(HierarchyError, match="bottom"):
        intervals(5, bottom=80, top=20)
    with pytest.raises(HierarchyError, match="'sex' is of kind category"):
        intervals(5).grow("sex", "category", ["f"])
    with pytest.raises(HierarchyError, match="1 of 2 values are infinite"):
        intervals(5).grow("age", "number", [1.0, float("inf")])


def test_prefixes() -> None:
    axis = prefixes().grow("zip", "code", ["13068", "13053", "14850", "13055"])
    assert axis.leaves == ("13053", "13055", "13068", "14850")
    assert axis.labels([0, 0, 0, 3], [1, 2, 3, 3]).tolist() == ["1305*", "130**", "*", "14850"]
    assert axis.width([0, 0], [1, 2]).tolist() == [1 / 3, 2 / 3]
    chosen = prefixes(4, 2).grow("zip", "code", ["13068", "13053"], None, True)
    assert node_labels(chosen) == [("1305*", "1306*"), ("13***",)]
    assert chosen.labels([0, 0], [1, 2]).tolist() == ["13***", "*"]


def test_prefixes_of_codes_of_different_lengths() -> None:
    axis = prefixes(3, 1).grow("icd", "code", ["A01", "A01.1", "A02", "A", "B20"])
    assert axis.leaves == ("A", "A01", "A01.1", "A02", "B20")
    assert node_labels(axis) == [("A", "A01**", "A02", "B20"), ("A****", "B**")]
    masked = prefixes().grow("zip", "code", ["130**", "130*", "13053", "13055", "14"])
    shown = masked.labels(*masked.cover([0, 0, 0], [0, 1, 3]))
    assert len(set(shown)) == 3
    assert masked.parse(shown)[1].tolist() == masked.cover([0, 0, 0], [0, 1, 3])[1].tolist()


def test_dates() -> None:
    days = [date(1965, 9, 3), date(1965, 9, 30), date(1965, 7, 1), date(1965, 1, 1)]
    axis = dates().grow("born", "date", [*days, date(1969, 5, 5), date(2001, 1, 1)])
    labels = axis.labels([2, 1, 0, 0, 0], [3, 3, 3, 4, 5]).tolist()
    assert labels == ["1965-09", "1965-Q3", "1965", "1960-69", "*"]
    assert axis.width([2], [3]) * (date(2001, 1, 1) - date(1965, 1, 1)).days == pytest.approx(29)


def test_a_decade_is_never_read_as_a_month() -> None:
    days = [date(2000, 9, 1), date(2000, 9, 2), date(2005, 1, 1), date(1, 1, 1), date(9999, 12, 31)]
    axis = dates().grow("born", "date", days)
    assert axis.labels([1, 1], [2, 3]).tolist() == ["2000-09", "2000-2009"]
    assert axis.width([0], [4]) == 1
    with pytest.raises(HierarchyError):
        dates("year", "month")
    with pytest.raises(HierarchyError):
        dates("week")


def test_tree_from_a_mapping() -> None:
    axis = tree(EUROPE).grow("country", "category", ["Spain", "Japan"])
    assert axis.leaves == ("Italy", "Spain", "Norway", "Japan")
    assert axis.labels([0, 0, 0, 3], [1, 2, 3, 3]).tolist() == ["South", "Europe", "*", "Japan"]


def test_tree_counts_what_it_does_not_cover_and_shows_no_value() -> None:
    with pytest.raises(HierarchyError) as caught:
        tree(EUROPE).grow("country", "category", ["Spain", "Secret"], np.array([5, 7]))
    assert "'country': 1 of 2 values (7 rows) are not in its hierarchy" in str(caught.value)
    assert "Secret" not in str(caught.value)


def test_tree_over_numbers_matches_text_and_sorts_leaves() -> None:
    text = "\ufeff10;5-10;*\n9;5-10;*\n\n1;0-4;*\n?;?;*\n"
    axis = from_arx_csv(text).grow("age", "number", [1.0, 9.0])
    assert axis.leaves == (9.0, 10.0, 1.0)
    assert axis.positions is None
    assert axis.parse(["5-10", "9", "9.0", "*"])[1].tolist() == [1, 0, 0, 2]
    rising = from_arx_csv("1,young,*\n2,young,*\n11,old,*").grow("age", "number", [1.0])
    assert rising.width([0], [1]).tolist() == [0.1]


def test_a_leaf_that_is_called_like_its_group() -> None:
    axis = from_arx_csv("Other;Other;*\nArmy;Other;*\nClerk;Office;*").grow("job", "category", [])
    assert axis.labels([0, 0, 2], [0, 1, 2]).tolist() == ["{Other}", "Other", "Clerk"]
    assert axis.parse(["{Other}", "Other", "Office"])[1].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a;b;*\n\nc;*\n", r"1 rows of the hierarchy \(line 3\) differ"),
        ("a\nb\n", "one level only"),
        ("a;b;*\nc;;*", "line 2.*without a label"),
        ("a;b;*\na;c;*", "line 2.*repeat a leaf"),
        ("a;x;y;*\nb;x;z;*", "line 2.*level 1 under a second parent"),
        ("a;x;*\nb;x;all", "line 2.*second root"),
        ("a;x;y;*\nb;y;x;*", "cycle through 2 groups"),
        ("*;x;*\nb;x;*", "cycle through 2 groups"),
        ('a;*\n"' + "b" * 200_000 + ';*"', "Line 2 of the hierarchy is not CSV"),
        ("a;x;x;*\nb;x;x;*\nc;z;x;*", "1 labels .* several groups"),
        ("a;*;x;r\nb;*;x;r\nc;z;x;r", "1 labels .* several groups"),
    ],
)
def test_broken_taxonomies_are_refused(text: str, fact: str) -> None:
    with pytest.raises(HierarchyError, match=fact):
        from_arx_csv(text)


def test_two_spellings_of_a_number_are_refused() -> None:
    with pytest.raises(HierarchyError, match="1 leaves of its hierarchy are written in two ways"):
        from_arx_csv("1;x;*\n1.0;x;*").grow("age", "number", [1.0])


@settings(deadline=None)
@given(st.lists(st.text(alphabet='ab;",\n', min_size=1, max_size=3), min_size=1, unique=True))
def test_arx_csv_round_trip(values: list[str]) -> None:
    rows = [(value, f"g{i % 3}", "all") for i, value in enumerate(values)]
    axis = tree(rows).grow("c", "category", values)
    again = from_arx_csv(to_arx_csv(axis)).grow("c", "category", values)
    assert again.leaves == axis.leaves
    assert node_labels(again) == node_labels(axis)


def test_any_axis_can_be_written_for_arx() -> None:
    assert to_arx_csv(flat().grow("c", "category", ["a", "b"], None, True)) == "a;*\nb;*\n"
    axis = intervals(5, 10).grow("age", "number", [1.0, 6.0])
    assert to_arx_csv(axis) == "1;[0-4];[0-9];*\n6;[5-9];[0-9];*\n"


def test_equal_width_and_equal_frequency() -> None:
    values, counts = [0.0, 1.0, 2.0, 9.0, 10.0], np.array([90, 5, 5, 50, 50])
    wide = equal_width(4, 2).grow("x", "number", values, counts)
    assert node_labels(wide) == [("[0-2]", "[9-10]"), ("[0-2]", "[9-10]")]
    often = equal_frequency(4, 2).grow("x", "number", values[::-1], counts[::-1])
    assert node_labels(often) == [
        ("[0-0]", "[1-2]", "[9-9]", "[10-10]"),
        ("[0-2]", "[9-10]"),
    ]
    for bins in [(), (4, 3), (2, 4), (0,), (2.5,)]:
        with pytest.raises(HierarchyError, match="bins"):
            equal_width(*bins)  # type: ignore[arg-type]


def test_infinities_are_refused_by_every_number_hierarchy() -> None:
    for form in (flat(), ordered(), equal_width(2)):
        with pytest.raises(HierarchyError, match="1 of 1 values are infinite"):
            form.grow("x", "number", [float("inf")])


def test_ordered_codes_are_sorted_as_numbers_only_when_all_are() -> None:
    assert ordered().grow("c", "code", ["10", "9", "2.5"]).leaves == ("2.5", "9", "10")
    assert ordered().grow("c", "code", ["10", "9", "nan"]).leaves == ("10", "9", "nan")


def test_flat_is_ordered_by_falling_frequency() -> None:
    axis = flat().grow("c", "category", ["x", "b", "a"], np.array([9, 2, 2]))
    assert axis.leaves == ("x", "a", "b")
    assert axis.width([0, 0, 0], [0, 1, 2]).tolist() == [0, 0.5, 1]


FORMS: list[tuple[Hierarchy, Any]] = [
    (flat(), "flat"),
    (ordered(), "ordered"),
    (prefixes(), "prefixes"),
    (prefixes(3, 1), {"prefixes": [3, 1]}),
    (intervals(5, 10, origin=1, top=80), {"intervals": [5, 10], "origin": 1, "top": 80}),
    (intervals(5, bottom=0), {"intervals": [5], "bottom": 0}),
    (dates(), "dates"),
    (dates("year", "decade"), {"dates": ["year", "decade"]}),
    (tree({"x": ["a", "b"]}), {"tree": [["a", "x", "*"], ["b", "x", "*"]]}),
    (equal_width(4, 2), {"equal-width": [4, 2]}),
    (equal_frequency(4, 2), {"equal-frequency": [4, 2]}),
]


@pytest.mark.parametrize(("hierarchy", "plain"), FORMS)
def test_schema_form_round_trips(hierarchy: Hierarchy, plain: Any) -> None:
    assert hierarchy.to_toml() == plain
    assert Hierarchy.from_toml(plain) == hierarchy


def test_a_tree_remembers_its_file() -> None:
    assert from_arx_csv("a;*", source="age.csv").to_toml() == {"file": "age.csv"}


@pytest.mark.parametrize(
    "plain",
    [
        "fancy",
        3,
        None,
        {},
        [],
        {"intervals": 5},
        {"intervals": ["x"]},
        {"intervals": [5], "up": 3},
        {"prefixes": [1], "dates": ["year"]},
        {"prefixes": ["a"]},
        {"tree": None},
        "intervals",
        {"dates": "year"},
        {"intervals": [5], "top": "x"},
    ],
)
def test_schema_forms_that_are_not_understood(plain: Any) -> None:
    with pytest.raises(HierarchyError):
        Hierarchy.from_toml(plain)
