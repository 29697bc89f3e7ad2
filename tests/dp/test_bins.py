"""Bins come from the schema alone, are labelled like a release, and say what they lack."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.column import Column
from shoal.core.errors import InputError, SchemaError
from shoal.core.hierarchy import (
    dates,
    equal_frequency,
    equal_width,
    flat,
    intervals,
    ordered,
    prefixes,
    tree,
)
from shoal.core.label_parser import parse_label
from shoal.core.schema import Schema, keep, quasi
from shoal.dp.bins import MAX_READABLE_BINS, build_all_bins, build_bins, infer_column_kind

CENTURY = (date(1950, 6, 1), date(1953, 2, 1))


def column(kind="", hierarchy=None, **stated):
    return Column("x", "quasi", kind, hierarchy, **stated)


@pytest.mark.parametrize(
    ("stated", "labels"),
    [
        (column("number", intervals(5, 10), bounds=(17, 31)), "[15,20[ [20,25[ [25,30[ [30,35["),
        (
            column("number", intervals(10, bottom=20, top=40), bounds=(0, 90)),
            "<20 [20,30[ [30,40[ >=40",
        ),
        (column("number", intervals(0.5), bounds=(0, 1.2)), "[0,0.5[ [0.5,1[ [1,1.5["),
        (column("number", bounds=(3, 6)), "3 4 5 6"),
        (
            column("number", ordered(), bounds=(0, 60)),
            " ".join([f"[{low},{low + 5}[" for low in range(0, 60, 5)] + ["60"]),
        ),
        (column("number", intervals(5), bounds=(10, 20)), "[10,15[ [15,20[ 20"),
        (column("number", intervals(5), bounds=(-10, 0)), "[-10,-5[ [-5,0[ 0"),
        (column("number", intervals(0.5), bounds=(0, 1)), "[0,0.5[ [0.5,1[ 1"),
        (column("number", intervals(1, top=3), bounds=(1, 9)), "[1,2[ [2,3[ >=3"),
        (column("number", equal_frequency(4, 2), bounds=(1, 2)), "1 2"),
        (column("number", equal_width(3), bounds=(0, 8)), "[0,3[ [3,6[ [6,9["),
        (column("number", domain=(2, 0.5)), "2 0.5"),
        (column("date", bounds=CENTURY), "1950 1951 1952 1953"),
        (column("date", dates(), bounds=CENTURY), "1950 1951 1952 1953"),
        (
            column("date", dates("quarter", "year"), bounds=(CENTURY[0], date(1950, 12, 1))),
            "1950-Q2 1950-Q3 1950-Q4",
        ),
        (
            column("date", dates("day"), bounds=(date(2000, 1, 1), date(2000, 1, 2))),
            "2000-01-01 2000-01-02",
        ),
        (column("category", flat(), domain=("b", "a")), "b a"),
        (column("", domain=("*", "a")), "{*} a"),
        (column("code", prefixes(), domain=("130", "131")), "130 131"),
        (column("category", tree({"N": ["a", "b"], "S": ["c"]})), "a b c"),
        (column("category", tree({"N": ["a", "b"]}), domain=("b",)), "b"),
        (column("category", domain=("1", 2)), "1 2"),
    ],
)
def test_labels_follow_from_the_schema(stated, labels):
    found = build_bins(stated)
    assert [label.replace(" ", "") for label in found.labels] == labels.split()
    assert found.size == len(found.labels)
    assert found.read(found.labels).tolist() == list(range(found.size))


@pytest.mark.parametrize(
    ("stated", "label"),
    [
        (column("category", domain=("F", "")), "F"),
        (column("number", bounds=(0, 1), domain=("",)), "0"),
        (column("date", bounds=CENTURY, domain=("",)), "1950"),
        (column("category", tree({"N": ["a", "b"]}), domain=("",)), "a"),
    ],
)
def test_empty_cells_are_the_last_bin_where_the_domain_has_them(stated, label):
    found = build_bins(stated)
    assert (found.labels[0], found.labels[-1]) == (label, "")
    assert found.printed[-1] == r"{\N}"
    assert found.codes([None]).tolist() == [found.size - 1]
    assert found.read(["", None, r"{\N}", "?"]).tolist() == [found.size - 1] * 3 + [-1]


def test_numbers_and_dates_beyond_the_bounds_count_as_the_nearest_bound():
    age = build_bins(column("number", intervals(10), bounds=(20, 49)))
    assert age.codes([-5, 20, 29.5, 30, 1e9]).tolist() == [0, 0, 0, 1, 2]
    born = build_bins(column("date", bounds=CENTURY))
    assert born.codes([date(1900, 1, 1), date(1951, 1, 1), date(2020, 1, 1)]).tolist() == [0, 1, 3]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(-(10**7), 10**7),
    st.integers(1, 10**7),
    st.sampled_from([1, 0.1, 0.25]),
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
)
def test_readable_bins_are_few_cover_the_bounds_and_keep_the_order(low, span, unit, shares):
    bounds = (low * unit, (low + span) * unit)
    found = build_bins(column("number", bounds=bounds))
    values = sorted(bounds[0] + share * (bounds[1] - bounds[0]) for share in shares)
    values = np.floor(values) if found.single else np.array(values)
    codes = found.codes(values)
    assert found.size <= MAX_READABLE_BINS
    assert len(set(found.labels)) == found.size
    ends = np.floor(bounds) if found.single else list(bounds)
    assert found.codes(ends).tolist() == [0, found.size - 1]
    assert (np.diff(codes) >= 0).all()
    assert (np.array(found.starts)[codes] <= np.maximum(values, bounds[0])).all()


@pytest.mark.parametrize("value", [20, 24, 24.5, 24.999, 25, 59.9, 60, 61])
def test_a_label_says_which_numbers_are_in_its_interval(value):
    found = build_bins(column("number", intervals(5), bounds=(10, 60)))
    label = found.labels[found.codes([value])[0]]
    meant = parse_label(label, "number")
    inside = min(value, 60)
    assert meant.low <= inside
    assert inside < meant.high or (inside == meant.high and meant.high_in)


def test_the_same_intervals_as_a_release_has():
    axis = intervals(5, 10).grow("x", "number", [18.0, 22.0, 31.0], None, False, (17, 31))
    found = build_bins(column("number", intervals(5, 10), bounds=(17, 31)))
    values = np.arange(17.0, 32)
    low, high, sure = axis.parse([found.labels[code] for code in found.codes(values)])
    at = axis.codes(values)
    assert sure.all()
    assert ((low <= at) & (at <= high)).all()


@pytest.mark.parametrize(
    ("stated", "values", "fact"),
    [
        (column("category", domain=("a",)), ["a", "b"], "7 rows"),
        (column("category", domain=("a",)), ["a", None], "empty in 7 rows"),
        (column("number", bounds=(0, 60)), [1.0, float("nan")], "empty in 7 rows"),
        (column("number", bounds=(0, 1)), [1.0, 0.5], "in 7 rows it is none"),
    ],
)
def test_what_has_no_bin_is_counted_and_never_shown(stated, values, fact):
    with pytest.raises(InputError) as error:
        build_bins(stated).codes(values, np.array([2, 7]))
    assert fact in error.value.fact
    assert error.value.hint
    assert "'b'" not in str(error.value)
    assert "0.5" not in error.value.fact


@pytest.mark.parametrize(
    ("stated", "line"),
    [
        (column("number"), "bounds = [0, 120]"),
        (column("number", intervals(5)), "bounds = [0, 120]"),
        (column("date"), "bounds = [1900-01-01, 2029-12-31]"),
        (column("category"), 'domain = ["A", "B"]'),
        (column("category", domain=("",)), 'domain = ["A", "B", ""]'),
        (column("code", domain=("",)), 'domain = ["A", "B", ""]'),
        (column(), "bounds = [0, 120]  # if it holds numbers"),
        (column(), '# domain = ["A", "B"]  # if it holds other values'),
        (column("", intervals(5)), "bounds = [0, 120]"),
        (column("code", prefixes()), 'domain = ["A", "B"]'),
        (column("number", domain=("young",)), 'kind = "category"'),
        (column("number", intervals(0.001), bounds=(0, 1000)), "coarser"),
        (column("date", bounds=(date(1500, 1, 1), date(2000, 1, 1))), "narrower"),
    ],
)
def test_an_open_column_says_the_line_to_add(stated, line):
    with pytest.raises(SchemaError) as error:
        build_bins(stated)
    assert '"x"' in error.value.fact
    assert line in error.value.hint


@pytest.mark.parametrize(("values", "marked"), [(("?", "a"), True), (("a", "b"), False)])
def test_a_listed_mark_that_is_read_as_empty_is_told(values, marked):
    with pytest.raises(InputError) as error:
        build_bins(column("category", domain=values)).codes(["a", None])
    assert ("read as empty, such as ?, which it lists" in error.value.fact) == marked
    assert (
        "to read ? as a value" in error.value.hint and "--null ''" in error.value.hint
    ) == marked
    assert 'domain = [""]' in error.value.hint


def test_all_open_columns_are_named_at_once():
    schema = Schema.of(quasi=["age", "home town"], sensitive="disease")
    schema = schema.set(age=quasi(kind="number"))
    with pytest.raises(SchemaError) as error:
        build_all_bins(schema)
    facts = error.value.fact.split(".")
    assert [name in fact for name, fact in zip(schema.names, facts, strict=False)] == [True] * 3
    assert error.value.hint.count("bounds = [0, 120]") == 3


@pytest.mark.parametrize(
    "columns",
    [
        (column("number"),),
        (column("number", intervals(5), domain=("",), weight=2),),
        (column("date"), Column("home town", "sensitive", "category")),
        (column(), Column('say "no"', "sensitive")),
        (column("code", prefixes(1, 2)),),
    ],
)
@pytest.mark.parametrize(
    "before", ["", '[columns]\nsex = "keep"\n', '[columns.z]\nrole = "keep"\n']
)
def test_the_lines_to_type_stand_in_a_schema_and_close_it(columns, before):
    with pytest.raises(SchemaError) as error:
        build_all_bins(Schema(columns))
    found = Schema.parse(before + error.value.hint)
    named = Schema(tuple(found.column(one.name) for one in columns))
    assert [one.name for one in build_all_bins(named)] == [one.name for one in columns]
    assert [one.role for one in named.columns] == [one.role for one in columns]
    assert [one.hierarchy for one in named.columns] == [one.hierarchy for one in columns]
    assert [one.weight for one in named.columns] == [one.weight for one in columns]


def test_leaves_of_a_taxonomy_that_the_domain_leaves_out_have_no_bin():
    groups = tree({"N": ["a", "b"], "S": ["c"]})
    axis = groups.grow("x", "category", ["a", "c"], None, True)
    found = build_bins(column("category", groups, domain=("c", "a", ""))).of_leaves(axis)
    assert dict(zip([*axis.leaves, None], found.tolist(), strict=True)) == {
        "a": 1,
        "b": -1,
        "c": 0,
        None: 2,
    }


def test_leaves_of_numbers_have_the_bin_they_lie_in():
    stated = column("number", intervals(10), bounds=(0, 29))
    axis = flat().grow("x", "number", [5.0, 25.0, 99.0], None, False)
    assert build_bins(stated).of_leaves(axis).tolist() == [0, 2, 2]


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        (column(), ""),
        (column("code", bounds=(0, 1)), "code"),
        (column(bounds=(0, 1)), "number"),
        (column("", intervals(5)), "number"),
        (column("", dates()), "date"),
        (column("", prefixes()), "code"),
        (column("", flat()), "category"),
        (column("", domain=(1, 2.5, "")), "number"),
        (column("", domain=(True, False)), "category"),
        (column("", domain=CENTURY), "date"),
        (column("", tree({"N": [1, 2]}), domain=(1, 2)), "category"),
    ],
)
def test_a_kind_follows_from_what_is_stated_and_never_from_nothing(stated, kind):
    assert infer_column_kind(stated) == kind


def test_columns_in_order_and_what_is_kept_is_refused():
    schema = Schema.parse(
        '[columns]\nname = "identifier"\n[columns.ill]\nrole = "sensitive"\ndomain = ["y", "n"]\n'
        '[columns.age]\nrole = "quasi"\nkind = "number"\nbounds = [0, 90]\n'
    )
    assert [one.name for one in build_all_bins(schema)] == ["age", "ill"]
    with pytest.raises(SchemaError, match="as it is"):
        build_all_bins(schema.set(ward=keep))
