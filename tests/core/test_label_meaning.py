"""What labels mean, whoever wrote them: notations, peers' tables, what nobody can tell."""

from __future__ import annotations

import math
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.axis import Axis
from shoal.core.errors import InputError
from shoal.core.hierarchy import Hierarchy, dates, flat, intervals, ordered, prefixes, tree
from shoal.core.label_parser import Between, Everything, ValueSet, infer_label_kind, parse_label
from shoal.core.schema import Column
from shoal.releases.label_examples import (
    find_examples,
    find_values_in_labels,
    list_named_values,
    pick_values_inside,
    respell_labels,
)
from shoal.releases.reader import open_frame, open_labels
from shoal.releases.recount import read_cells, recount
from shoal.releases.tallying import encode

AGES = [float(age) for age in (9, 19, 20, 29, 30, 31, 39, 40, 41)]
ALL = "all"

NUMBERS: list[tuple[str, Any]] = [
    ("[20-30]", [20, 29, 30]),
    ("[20 - 30]", [20, 29, 30]),
    ("[20, 40[", [20, 29, 30, 31, 39]),
    ("[20,40)", [20, 29, 30, 31, 39]),
    ("(20,30]", [29, 30]),
    ("]20; 40]", [29, 30, 31, 39, 40]),
    ("(20, 40)", [29, 30, 31, 39]),
    ("20-40", [20, 29, 30, 31, 39, 40]),
    ("20 - 30", [20, 29, 30]),
    ("20–30", [20, 29, 30]),
    ("20~30", [20, 29, 30]),
    ("20 to 30", [20, 29, 30]),
    ("20..30", [20, 29, 30]),
    ("<30", [9, 19, 20, 29]),
    ("< 30", [9, 19, 20, 29]),
    ("<=30", [9, 19, 20, 29, 30]),
    ("≤30", [9, 19, 20, 29, 30]),
    (">40", [41]),
    (">=40", [40, 41]),
    ("≥40", [40, 41]),
    ("40+", [40, 41]),
    ("3*", [30, 31, 39]),
    ("3x", [30, 31, 39]),
    ("(-Inf,20]", [9, 19, 20]),
    ("[40, Inf)", [40, 41]),
    ("(3e+01,4e+01]", [31, 39, 40]),
    ("20.0-30.0", [20, 29, 30]),
    ("*", ALL),
    ("***", ALL),
    ("29", [29]),
    ("29.0", [29]),
    ("{20, 30}", None),
    ("{29, 30}", [29, 30]),
    ("−5-30", [9, 19, 20, 29, 30]),
    # what is no reading, or not a certain one
    ("30-20", None),
    ("(20-30)", None),
    ("(20, 20]", None),
    ("20,40", None),
    ("young", None),
    ("21", None),
    ("[50-60]", None),
    ("2.000-3.000.000", None),
    ("20-", None),
    ("<", None),
    ("inf", None),
    ("nan", None),
    ("20-30-40", None),
    ("1_0-20", None),
    ("2_0", None),
    ("110-90", None),
    ("30-1", None),
    ("20-9", None),
    ("20-1", None),
    ("1" + "*" * 400, None),
    ("9" * 400 + "*", None),
    ("9" * 5000 + "*", None),
    ("20-" + "9" * 5000, None),
    ("<1e999", None),
]
MORE_NUMBERS: list[tuple[list[float], str, Any]] = [
    ([1959, 1960, 1965, 1969, 1970], "1960-69", [1960, 1965, 1969]),
    ([1959, 1960, 1965, 1969, 1970], "[1960-69]", [1960, 1965, 1969]),
    ([1959, 1960, 1965, 1969, 1970], "1965-60", None),
    ([1959, 1960, 1965, 1969, 1970], "1965-9", None),
    ([10, 19, 100, 110, 150, 190], "110-90", None),
    ([10, 19, 100, 110, 150, 190], "100-50", None),
    ([10, 19, 100, 110, 150, 190], "10-9", None),
    ([1959, 1960, 1965, 1969, 1970], "196*", [1960, 1965, 1969]),
    ([130, 1300, 1399, 1400, 13000], "13**", [1300, 1399]),
    ([-40, -35, -30, -1, 0, 3], "-3*", [-35, -30]),
    ([-40, -35, -30, -1, 0, 3], "[-35 - -1]", [-35, -30, -1]),
    ([-40, -35, -30, -1, 0, 3], "-35--1", [-35, -30, -1]),
    ([-40, -35, -30, -1, 0, 3], "<-30", [-40, -35]),
    ([0.1, 0.25, 0.5], "0.1-0.25", [0.1, 0.25]),
    ([0.1, 0.25, 0.5], "[.1, .5[", [0.1, 0.25]),
]


def numbers(values: list[float], shape: str = "ordered", null: bool = True) -> Axis:
    form = {"ordered": ordered(), "flat": flat(), "tree": intervals(5, 10)}[shape]
    return form.grow("c", "number", values, None, null)


def meant(axis: Axis, label: Any) -> Any:
    """The leaves that a label is read as; ALL with null, None where it cannot be read."""
    if axis.shape == "flat":
        bits, ok = axis.parse_sets([label])
        codes = [c for c in range(axis.size) if int(bits[0, c // 64]) >> c % 64 & 1]
    else:
        low, high, ok = axis.parse([label])
        codes = list(range(int(low[0]), int(high[0]) + 1))
    if not ok[0]:
        return None
    return ALL if len(codes) == axis.size else sorted(axis.leaves[code] for code in codes)


@pytest.mark.parametrize("shape", ["ordered", "tree", "flat"])
@pytest.mark.parametrize(("label", "wanted"), NUMBERS)
def test_numbers(label: str, wanted: Any, shape: str) -> None:
    wanted = [20, 30] if (label, shape) == ("{20, 30}", "flat") else wanted
    assert meant(numbers(AGES, shape), label) == wanted


@pytest.mark.parametrize(("values", "label", "wanted"), MORE_NUMBERS)
def test_more_numbers(values: list[float], label: str, wanted: Any) -> None:
    assert meant(numbers(values), label) == wanted


DAYS = [
    date(1959, 12, 31),
    date(1960, 1, 1),
    date(1965, 8, 31),
    date(1965, 9, 1),
    date(1965, 9, 30),
    date(1965, 12, 31),
    date(1969, 12, 31),
    date(1970, 1, 1),
]


@pytest.mark.parametrize("form", [dates(), ordered(), flat()])
@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("1965", slice(2, 6)),
        ("1965-09", slice(3, 5)),
        ("1965-Q3", slice(2, 5)),
        ("1965Q3", slice(2, 5)),
        ("9/1965", slice(3, 5)),
        ("09/1965", slice(3, 5)),
        ("1965-09-01", slice(3, 4)),
        ("1965-09-01 00:00:00", slice(3, 4)),
        ("1960-69", slice(1, 7)),
        ("1960-1969", slice(1, 7)),
        ("196*", slice(1, 7)),
        ("1965-**-**", slice(2, 6)),
        ("1965-09-**", slice(3, 5)),
        ("1965-0*", slice(2, 5)),
        ("[1965-01-01 - 1965-12-31]", slice(2, 6)),
        ("1965-01-01 to 1965-09-01", slice(2, 4)),
        ("[1960, 1970[", slice(1, 7)),
        ("]1960, 1970]", slice(2, 8)),
        ("<1960", slice(1)),
        ("<=1960", slice(2)),
        (">1965", slice(6, 8)),
        (">=1960", slice(1, 8)),
        ("[1965-Q3 - 1965-Q4]", slice(2, 6)),
        ("****-**-**", None),
    ],
)
def test_dates(label: str, wanted: slice | None, form: Hierarchy) -> None:
    axis = form.grow("born", "date", DAYS, None, True)
    assert meant(axis, label) == (ALL if wanted is None else DAYS[wanted])


@pytest.mark.parametrize(
    "label", ["1965-13", "1965-02-30", "65", "1969-1960", "13/1965", "1966", "**65", "summer"]
)
def test_what_is_no_date(label: str) -> None:
    assert meant(dates().grow("born", "date", DAYS), label) is None


ZIPS = ["13012", "13053", "13068", "14850"]
LONG = ["13053", "13053-1234", "14850"]


@pytest.mark.parametrize("form", [prefixes(), ordered(), flat()])
@pytest.mark.parametrize(
    ("values", "label", "wanted"),
    [
        (ZIPS, "130**", ZIPS[:3]),
        (ZIPS, "130*", None),
        (LONG, "130**", ["13053"]),
        (ZIPS, "130xx", ZIPS[:3]),
        (ZIPS, "*****", ALL),
        (ZIPS, "13053", ["13053"]),
        (ZIPS, "15***", None),
        (ZIPS, "1*053", None),
        (ZIPS, "13000-13060", ["13012", "13053"]),
        (ZIPS, "13053-1306", None),
        (ZIPS, "[13012, 13068[", ["13012", "13053"]),
        (ZIPS, "]13012 - 14850]", ZIPS[1:]),
        (["A1", "A2", "B1"], "A1-A9", ["A1", "A2"]),
        (["A1", "A2", "B1"], "A1,A2", ["A1", "A2"]),
        (["12X", "121", "122"], "12X", ["12X"]),
        (["12X", "121", "122"], "1XX", None),
        # a set of two, or a range?
        (ZIPS, "[13012, 13068]", None),
        (ZIPS, "13012~13068", None),
    ],
)
def test_codes(values: list[str], label: str, wanted: Any, form: Hierarchy) -> None:
    assert meant(form.grow("zip", "code", values), label) == wanted


@pytest.mark.parametrize(
    "label",
    [
        "{A, B}",
        "{A,B}",
        "A,B",
        "B, A",
        "A;B",
        "A; B",
        "A|B",
        "A~B",
        "[A, B]",
        "['A', 'B']",
        "A/B",
        "A / B",
        "A+B",
        "A & B",
        "A or B",
        "A and B",
    ],
)
def test_sets_of_categories(label: str) -> None:
    axis = flat().grow("c", "category", ["A", "B", "C D"], None, True)
    assert meant(axis, label) == ["A", "B"]
    assert meant(axis, label.replace("B", "C D")) == ["A", "C D"]
    assert meant(axis, label.replace("B", "E")) is None, "not every member is a value"
    told = flat().grow("c", "category", ["A", "B", label])
    if not label.startswith("{"):
        assert meant(told, label) == [label], "a value is a value"


def test_a_text_that_is_separated_in_two_ways_is_not_read() -> None:
    axis = flat().grow("c", "category", ["A", "B", "C", "A,B", "B;C"])
    assert meant(axis, "A,B;C") is None
    assert meant(axis, "A,A") is None
    assert meant(axis, "A,,B") is None


@pytest.mark.parametrize("label", ["20,40", "20~40", "[20, 40]", "1,200", "1,200,300"])
def test_numbers_among_words_may_be_a_range_or_one_number(label: str) -> None:
    axis = flat().grow("c", "category", ["1", "20", "40", "200", "300"])
    assert meant(axis, label) is None
    assert meant(axis, "{20, 40}") == ["20", "40"]
    assert meant(axis, "1,20,300") == ["1", "20", "300"]


def test_a_taxonomy_s_own_name_for_everything() -> None:
    races = tree([("Asian", "Person"), ("Black", "Person"), ("White", "Person")])
    axis = races.grow("race", "category", ["Asian"], None, True)
    assert meant(axis, "Person") == meant(axis, "*") == ALL
    assert axis.labels([0], [3]).tolist() == ["*"]
    assert meant(axis, "person") is None
    same = tree([("b", "y", "any"), ("any", "any", "any")])
    assert meant(same.grow("c", "category", []), "any") == ["any"], "a value is a value"


def test_foreign_ranges_on_a_taxonomy_of_numbers() -> None:
    axis = shoal.from_arx_csv("1;0-4;*\n5;5-9;*\n9;5-9;*").grow("age", "number", [])
    assert meant(axis, "5-9") == [5, 9]
    assert meant(axis, "[0, 5]") == [1, 5]
    assert meant(axis, "<9") == [1, 5]


# Against brute force

ENDS = st.integers(-20, 20).map(lambda halves: halves / 2)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[str, Any]:
    """A range in one of the notations, and the test of whether a number is inside."""
    low, high = sorted((draw(ENDS), draw(ENDS)))
    one = draw(st.sampled_from(["<", "<=", "≤", ">", ">=", "≥", "+", "-", " to ", "~", "brackets"]))
    signs = {
        "<": lambda x: x < low,
        "<=": lambda x: x <= low,
        "≤": lambda x: x <= low,
        ">": lambda x: x > low,
        ">=": lambda x: x >= low,
        "≥": lambda x: x >= low,
    }
    if one in signs:
        return f"{one}{low}", signs[one]
    if one == "+":
        return f"{low}+", signs[">="]
    if one != "brackets":
        return f"{low}{one}{high}", lambda x: low <= x <= high
    left, right = draw(st.sampled_from("[(]")), draw(st.sampled_from("])["))
    mark = draw(st.sampled_from([",", ", ", ";", "; "]))
    return (
        f"{left}{low}{mark}{high}{right}",
        lambda x: (
            (low <= x if left == "[" else low < x) and (x <= high if right == "]" else x < high)
        ),
    )


@settings(deadline=None)
@given(st.lists(ENDS, min_size=1, unique=True), ranges(), st.sampled_from(["ordered", "flat"]))
def test_ranges_hold_what_they_say(values: list[float], asked: Any, shape: str) -> None:
    label, inside = asked
    wanted = sorted(value for value in values if inside(value)) or None
    assert meant(numbers(values, shape), label) == wanted


@settings(deadline=None)
@given(st.lists(ranges(), min_size=1, max_size=5), st.lists(ENDS, max_size=3, unique=True))
def test_examples_make_labels_readable_and_keep_them_apart(asked: list[Any], own: Any) -> None:
    said = {label: parse_label(label, "number") for label, _ in asked}
    labels = [label for label, meaning in said.items() if meaning is not None]
    column = Column("x", "quasi", "number")
    axis = ordered().grow("x", "number", sorted({*find_values_in_labels(labels, column), *own}))
    low, high, ok = axis.parse(labels)
    assert ok.all()
    found = dict(zip(labels, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    for one in labels:
        for other in labels:
            if found[one] == found[other]:
                assert _alike(said[one], said[other], axis)


def _alike(one: Any, other: Any, axis: Axis) -> bool:
    """Ranges that hold the same leaves state the same ends, but for what lies between leaves."""
    places = axis.positions
    return one.within(places) == other.within(places) and {
        one.low,
        other.low,
        one.high,
        other.high,
    } <= {*axis.leaves, math.inf, -math.inf}


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["130**", "13***", "131**", "1300*", "13000", "14850", "1****"]),
        min_size=1,
        unique=True,
    )
)
def test_examples_keep_masks_apart(labels: list[str]) -> None:
    axis = prefixes().grow(
        "zip", "code", sorted(set(find_values_in_labels(labels, Column("z", "quasi", "code"))))
    )
    low, high, ok = axis.parse(labels)
    assert ok.all()
    assert len(set(zip(low.tolist(), high.tolist(), strict=True))) == len(labels)


@settings(deadline=None)
@given(st.integers(0, 40_000), st.sampled_from(["%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-**", "%Y-**-**"]))
def test_a_date_lies_in_its_own_label(days: int, form: str) -> None:
    day = date(1900, 1, 1) + timedelta(days)
    label = day.strftime(form)
    meaning = parse_label(label, "date")
    assert isinstance(meaning, Between)
    shown = label.replace("-**", "").replace("*", "")
    for offset in (-400, -31, -1, 0, 1, 31, 400):
        other = day + timedelta(offset)
        inside = meaning.low <= other.toordinal() <= meaning.high
        assert inside == other.isoformat().startswith(shown)


# Values that axes must know


@pytest.mark.parametrize(
    ("labels", "kind", "wanted"),
    [
        (["[20, 40["], "number", [20, 30, 40]),
        (["(20,21)"], "number", [20, 20.5, 21]),
        (["[20,21)"], "number", [20, 21]),
        ([">40"], "number", [40, 41]),
        (["41.7"], "number", [41.7]),
        (["1*5"], "code", []),
        (["A*"], "category", []),
        (["*", "**"], "number", []),
        ([None, "NA"], "number", [None]),
        (["1965"], "date", [date(1965, 1, 1), date(1965, 12, 31)]),
        (["5000-5100"], "code", ["5000", "5100"]),
        (["(5000-5100]"], "code", ["5000", "5050", "5100"]),
        (["A,B", "C"], "category", ["A", "B", "C"]),
        (["Black, other"], "category", []),
        (["A, B", "A", "B"], "category", ["A", "B"]),
        (["NA ", "?", "Any"], "category", []),
        (["A/B", "A", "B"], "category", ["A", "B"]),
        (["A/B"], "category", ["A/B"]),
        (["A/B", "A"], "category", ["A"]),
        (["not A", "A"], "category", ["A"]),
        (["[20-30]"], "category", []),
        (["20,40"], "category", []),
        (["20~40"], "code", []),
    ],
)
def test_examples(labels: list[str | None], kind: str, wanted: list[Any]) -> None:
    assert sorted(find_values_in_labels(labels, Column("c", "quasi", kind)), key=str) == wanted


@settings(deadline=None)
@given(st.lists(ranges(), min_size=1, max_size=6), st.lists(ENDS, max_size=3, unique=True))
def test_ranges_meet_on_the_axis_where_they_meet(asked: list[Any], own: list[float]) -> None:
    asked = [(label, test) for label, test in asked if parse_label(label, "number") is not None]
    labels, tests = [label for label, _ in asked], [test for _, test in asked]
    column = Column("x", "quasi", "number")
    said = [parse_label(label, "number") for label in labels]
    leaves = {*list_named_values(said, column), *own}
    axis = ordered().grow(
        "x", "number", sorted({*leaves, *pick_values_inside(said, column, leaves)})
    )
    low, high, ok = axis.parse(labels)
    assert ok.all()
    whole = all(float(leaf).is_integer() for leaf in axis.leaves)
    fine = [step / 2 if whole else step / 8 for step in range(-400, 401)]
    for i in range(len(labels)):
        for j in range(i):
            met = any(tests[i](x) and tests[j](x) for x in fine if not whole or x == int(x))
            assert met == (max(low[i], low[j]) <= min(high[i], high[j])), (labels[i], labels[j])


def test_examples_of_shoal_s_own_labels_are_values() -> None:
    said = ["Black, other", "NA", "[20-30]", "{A, B}", "*", "**"]
    column = Column("c", "quasi", "category")
    assert find_values_in_labels(said, column, own=True) == [
        "Black, other",
        "NA",
        "[20-30]",
        "A",
        "B",
    ]
    assert find_values_in_labels(["130**", "*"], Column("c", "quasi", "code"), own=True) == [
        "13000",
        "13011",
    ]


def test_examples_stay_in_the_schema_s_bounds_and_domain() -> None:
    age = Column("age", "quasi", "number", bounds=(0, 100))
    assert find_values_in_labels([">=100", "<0.5"], age) == [100, 0.5]
    race = Column("race", "quasi", "category", domain=("Black, other", "White", "Asian"))
    assert find_values_in_labels(["Black, other", "White, Asian"], race) == [
        "Black, other",
        "White",
        "Asian",
    ]


@pytest.mark.parametrize(
    ("labels", "kind", "known", "wanted"),
    [
        (["1990-99", "2000-09"], "date", [], {"2000-09": "2000-2009"}),
        (["1990-99", "2000-09"], "number", [], {"2000-09": "2000-2009"}),
        (["[2001-05]", "2003-11"], "date", [], {"2003-11": "2003-2011"}),
        (["1965-09", "2000-09"], "date", [], {}),
        (["2000-09-**", "2000-09"], "date", [], {}),
        (["2001-05", "2003-11"], "number", [], {"2001-05": None, "2003-11": None}),
        (["2001-05", "2003-11"], "date", [], {"2001-05": None, "2003-11": None}),
        (["1965-09", "1990-99", "2000-09"], "date", [], {"2000-09": None}),
        (["1965-09", "2000-09"], "number", [], {"2000-09": None}),
        (["130*", "1305*", "3*"], "number", [13053.0], {"130*": None, "3*": None}),
        (["3*", "10*", "<30"], "number", [105.0], {}),
        (["3*"], "number", [28.0], {}),
        (["130*", "130**"], "code", ["13053"], {"130*": None}),
        (["130*", "14850"], "code", [], {"130*": None}),
        (["130*"], "code", [], {}),
        (["130*", "130**"], "code", [], {"130*": None}),
        (["m/f", "x/y"], "category", ["m", "f"], {"m/f": "{m, f}", "x/y": "{x/y}"}),
        (
            ["m/x", "not m", "all but f"],
            "category",
            ["m", "f"],
            {"m/x": None, "not m": None, "all but f": None},
        ),
        (
            ["m/f", "Black, other"],
            "category",
            ["m", "f", "m/f", "Black, other"],
            {"m/f": "{m/f}", "Black, other": "{Black\\, other}"},
        ),
    ],
)
def test_what_the_column_decides(labels: Any, kind: str, known: Any, wanted: Any) -> None:
    assert respell_labels(labels, kind, known, labels) == wanted


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["<30", "3*", ">=40"], "number"),
        (["20-40", "[20, 40[", "*", None], "number"),
        (["1965", "1960-69"], "number"),
        (["1.5", "2"], "number"),
        (["50**", "5***"], "number"),
        (["25000", "31000"], "number"),
        (["(20,30]", "NA"], "number"),
        (["1965-09", "1964"], "date"),
        (["1965-Q3"], "date"),
        (["2001-03", "2001-09"], "date"),
        (["[1960-01-01 - 1969-12-31]"], "date"),
        (["2000-09", "2010-19"], "number"),
        (["02138", "02139"], "code"),
        (["0213*", "02141"], "code"),
        (["130**", "*****"], "code"),
        (["A0*", "A12"], "code"),
        (["02138,02139", "02141"], "code"),
        (["m", "f", "*"], "category"),
        (["A,B", "C"], "category"),
        (["20-30", "old"], "category"),
        ([None, "*", "NA"], "category"),
        ([], "category"),
    ],
)
def test_kind_of(labels: list[str | None], kind: str) -> None:
    assert infer_label_kind(labels) == kind


def test_meanings_are_plain_values() -> None:
    assert parse_label("<30", "number") == Between(-math.inf, 30, True, False)
    assert parse_label("***", "category") == Everything()
    assert parse_label("A, B", "category") == ValueSet(("A", "B"), is_certain=False)


# Tables that others made

PEOPLE = "age,zip,sex,job\n25,13012,f,cook\n35,13053,m,nurse\n45,14850,f,clerk\n60,14853,m,cook\n"
PEERS = {
    "ARX": (
        'age,zip,sex,job\n"[20, 40[",130**,*,"{cook, nurse}"\n>=40,1485*,*,*\n',
        [[0, 1], [2, 3]],
    ),
    "sdcMicro": (
        '"age","zip","sex","job"\n"(20,40]",13012,NA,NA\n"(40,60]",NA,"f","clerk"\n'
        '"(40,60]",,"m","cook"\n',
        [[0], [2], [3]],
    ),
    "anjana": ('age,zip,sex,job\n"[20, 40)",130**,*,*\n"[40, 60)",148**,*,*\n', [[0, 1], [2]]),
    "anonypy": (
        'age,zip,sex,job\n25-35,"13012,13053","f,m","nurse,cook"\n'
        '45-60,"14850,14853","m,f","clerk,cook"\n',
        [[0, 1], [2, 3]],
    ),
    "centroids": ("age,zip,sex,job\n41.25,*,*,*\n35.0,*,m,*\n", [[], [1]]),
    "strings": (
        "age,zip,sex,job\n20~40,130xx,f~m,cook|nurse\n41+,*****,*,clerk;cook\n",
        [[0, 1], [2, 3]],
    ),
}
SCHEMA = shoal.Schema.of().set(
    age=shoal.quasi(kind="number"),
    zip=shoal.quasi(kind="code"),
    sex=shoal.quasi(kind="category"),
    job=shoal.quasi(kind="category"),
)


def cells_of(folder: Path, release: str, suppressed: bool = True) -> list[list[int]]:
    """Which people each row of a release covers, classes in the order of the file."""
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "release.csv").write_text(release)
    with open_labels(folder / "release.csv", SCHEMA, exact=False) as frame:
        count = recount(frame, SCHEMA)
    with open_frame(folder / "people.csv", kinds=SCHEMA.kinds) as frame:
        fitted = SCHEMA.fit(frame.fields)
        tally = encode(frame, fitted, more_values=find_examples(count, fitted)).tally
    cells = read_cells(count, tally.quasi, suppressed=suppressed)
    ages = [int(tally.quasi[0].leaves[code]) for code in tally.keys[0]]
    found = [
        sorted(ages[p] for p in range(4) if holds(cells, c, tally.keys[:, p]))
        for c in range(len(cells))
    ]
    return sorted(found)


def holds(cells: Any, class_: int, person: Any) -> bool:
    return all(
        int(cells.sets[j][class_, code // 64]) >> int(code) % 64 & 1
        if j in cells.sets
        else cells.low[class_, j] <= code <= cells.high[class_, j]
        for j, code in enumerate(person.tolist())
    )


@pytest.mark.parametrize("peer", PEERS)
def test_the_tables_of_others(tmp_path: Path, peer: str) -> None:
    release, wanted = PEERS[peer]
    ages = [25, 35, 45, 60]
    assert cells_of(tmp_path, release) == sorted(sorted(ages[p] for p in row) for row in wanted)


def test_an_empty_cell_is_null_in_shoal_s_own_tables(tmp_path: Path) -> None:
    release = "age,zip,sex,job\n25,13012,,cook\n"
    assert cells_of(tmp_path, release) == [[25]]
    assert cells_of(tmp_path, release, suppressed=False) == [[]]


def test_what_cannot_be_read_is_told_by_column_and_count(tmp_path: Path) -> None:
    release = "age,zip,sex,job\nyoung,1*053,f,cook\nyoung,1*05*,f,cook\nold,130**,f,cook\n"
    with pytest.raises(InputError) as caught:
        cells_of(tmp_path, release)
    told = str(caught.value)
    fact = "Column 'age' has 2 labels (3 rows) that cannot be read; column 'zip' has 2 (2 rows)."
    assert fact in told
    assert "hierarchy the labels were made with" in told
    assert "young" not in told


def test_reading_many_labels_is_quick() -> None:
    values = np.arange(50_000, dtype=float)
    axis = ordered().grow("x", "number", values)
    labels = [f"[{low}, {low + 20_000}[" for low in range(20_000)]
    low, high, ok = axis.parse(labels)
    assert ok.all()
    assert (high - low == 19_999).all()
