"""Labels that could hide a risk: read for what they are, or refused, by every attack."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.adversary.context import build_context
from shoal.core.axis import Axis
from shoal.core.cells import Cells, find_meeting_classes, meet, ranges_to_sets
from shoal.kernels.box_tree import find_set_ends

Table = pd.DataFrame


def roles(name: str, **more: object) -> shoal.Schema:
    schema = shoal.Schema.of(quasi=[name], sensitive=["d"])
    return schema.set(**{name: shoal.quasi(**more)}) if more else schema


def linking(name: str, labels: list[str], people: list[object], values: str = "", **more: object):
    release = Table({name: labels, "d": [*(values or "abcdefghijklmnop"[: len(labels)])]})
    return shoal.attack(
        "linking", [release], targets=Table({name: people}), schema=roles(name, **more)
    )


# Words


@pytest.mark.parametrize(
    "label",
    [
        "m or f",
        "m/f",
        "m+f",
        "m & f",
        "m, f",
        "any",
        "all",
        "Person",
        "human",
        "unknown",
        "-",
        ".",
        "suppressed",
        "not released",
        "None",
        "none",
        "NaT",
        "NA ",
        "n/a",
        "?",
        "",
    ],
)
def test_a_word_for_several_values_or_for_any_hides_nobody(label):
    found = linking("sex", [label, label, "m", "m"], ["m", "f"], "AAfx")
    assert found.details["absent"] == 0
    assert found.exposed == 1, "whoever is f has A"
    assert found.sure == 1


@pytest.mark.parametrize("label", ["not m", "Non-m", "all but m", "m/x", "m or x", "m, x"])
def test_a_word_that_speaks_of_a_value_and_is_no_set_of_values_is_refused(label):
    with pytest.raises(shoal.InputError, match=r"'sex' has 1 labels \(1 rows\) that cannot be"):
        linking("sex", [label, "m", "f", "f"], ["m", "f"])


@pytest.mark.parametrize("label", ["any", "m/f", "Asian/Pacific", "unknown", "Black, other"])
def test_a_value_is_a_value(label):
    found = linking("sex", [label, "m", "m", "f"], ["m", "f", label])
    assert found.details["absent"] == 0
    assert found.exposed == 2, "one row each for f and for the label itself"
    stated = roles("sex", kind="category", domain=("m", "f", label))
    release = Table({"sex": [label, "m", "m", "f"], "d": [*"abcd"]})
    found = shoal.attack("linking", [release], targets=Table({"sex": ["m", "f"]}), schema=stated)
    assert found.exposed == 1
    assert "unmatched_labels" not in found.details


def test_words_that_no_person_has_are_counted_and_said():
    labels = ["Europe", "Europe", "Japan", "Japan", "Japan"]
    found = linking("land", labels, ["Italy", "Japan"])
    assert found.details["unmatched_labels"] == {"land": {"labels": 1, "rows": 2}}
    said = "In column 'land' 1 labels (2 rows) are values that none of the people has"
    assert said in found.assumptions[-1]
    assert "Europe" not in " ".join(found.assumptions)
    assert "hierarchy" in found.assumptions[-1]


def test_words_that_are_most_likely_groups_are_refused():
    with pytest.raises(shoal.InputError) as caught:
        linking("land", ["Europe"] * 3 + ["Japan"] * 3, ["Italy", "France", "Japan"])
    assert "release 1: Column 'land' has 1 labels (3 rows) that are no value" in str(caught.value)
    assert "Europe" not in str(caught.value)
    tree = shoal.tree([["Italy", "Europe", "*"], ["France", "Europe", "*"], ["Japan", "Asia", "*"]])
    labels, people = ["Europe"] * 3 + ["Japan"] * 3, ["Italy", "France", "Japan"]
    found = linking("land", labels, people, hierarchy=tree, kind="category")
    assert found.details["absent"] == 0
    domain = ("Europe", *people)
    found = linking("land", labels, people, kind="category", domain=domain)
    assert found.details["absent"] == 2, "the schema says that Europe is a value"


def test_few_targets_do_not_make_the_values_of_others_groups():
    found = linking("town", ["Bern", "Chur", "Chur", "Genf", "Genf"], ["Bern"])
    assert found.exposed == 1
    assert found.details["unmatched_labels"] == {"town": {"labels": 2, "rows": 4}}
    zips = ["13053", "14850", "14850", "14853"]
    found = linking("zip", zips, ["13053"], kind="code")
    assert "unmatched_labels" not in found.details, "written like the codes that are known"


def test_every_attack_of_the_red_team_says_so():
    release = Table({"town": ["Bern", "Chur", "Chur", "Bern"], "d": [*"aabb"]})
    found = shoal.red_team([release], targets=Table({"town": ["Bern"]}), schema=roles("town"))
    assert len(found.findings) > 1
    assert all("unmatched_labels" in one.details for one in found.findings)


def test_without_people_the_other_releases_are_what_is_known():
    one = Table({"land": ["Europe", "Europe", "Japan", "Japan"], "d": [*"abab"]})
    two = Table({"land": ["Italy", "Italy", "Japan", "Japan"], "d": [*"abab"]})
    found = shoal.attack("temporal", [one, two], schema=roles("land"))
    assert found.details["unmatched_labels"] == {"land": {"labels": 2, "rows": 4}}
    assert "no other release has" in found.assumptions[-1]
    assert (
        "unmatched_labels" not in shoal.attack("homogeneity", [one], schema=roles("land")).details
    )


# Masks


@pytest.mark.parametrize("people", [["13053", "13012", "14850"], [13053, 13012, 14850]])
@pytest.mark.parametrize("label", ["130*", "130x", "1*"])
def test_a_mask_as_long_as_no_code_is_refused(label, people):
    with pytest.raises(
        shoal.InputError, match=r"'zip' has 1 labels \(3 rows\) that cannot be read"
    ):
        linking("zip", [label] * 3 + ["14850"] * 3, people)
    found = linking("zip", ["130**"] * 3 + ["14850"] * 3, people)
    assert found.details["absent"] == 0


def test_a_prefix_without_its_mask_is_no_code_of_its_own():
    with pytest.raises(shoal.InputError, match=r"'zip' has 1 labels \(3 rows\) that are no value"):
        linking("zip", ["130"] * 3 + ["14850"] * 3, ["13053", "13012", "14850"], kind="code")


# Ranges that leave their ends out


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        (["[20, 30[", "[30, 60["], ["(25,40]", "(40,60]"], None),
        (["(20,30)", "[30,60)"], ["(25,35)", "[35,60)"], None),
        (["[1960, 1970[", "[1970, 1990["], ["]1965, 1975]", "]1975, 1990]"], "date"),
        (["[05000,05100)", "[05100,05200)"], ["(05050,05150]", "(05150,05200]"], "code"),
        (["[A10,A20)", "[A20,A30)"], ["(A15,A25]", "(A25,A30]"], "code"),
        (["(1.5,2.5)", "[2.5,9)"], ["(2,3)", "[3,9)"], None),
    ],
)
def test_half_open_ranges_meet_where_they_overlap(one, two, kind):
    releases = [Table({"x": [a, a, b, b], "d": [*"abab"]}) for a, b in (one, two)]
    schema = roles("x", kind=kind) if kind else roles("x")
    cells = build_context(releases, schema).cells
    others = find_meeting_classes(*cells)[1] if len(cells[0]) == 2 else ()
    assert len(others) == 3, "the first with both of the others, the second with the second"
    found = shoal.attack("complementary", releases, schema=schema, relation="same table")
    assert found.people == 4
    gone = shoal.attack("temporal", releases, schema=schema, relation="over time")
    assert gone.people == 4


# Sets in one release, ranges in another


def test_releases_of_different_shapes_are_brought_to_one_form():
    sets = Table({"e": ["{a, b}"] * 2 + ["{c, d}"] * 2 + ["{a, d}"] * 2, "d": [*"xyxyxy"]})
    ranges = Table({"e": ["[a - b]"] * 2 + ["[c - d]"] * 2 + ["[a - d]"] * 2, "d": [*"xyxyxy"]})
    flat, line = (
        roles("e", hierarchy=form, kind="category") for form in (shoal.flat(), shoal.ordered())
    )
    people = Table({"e": [*"abcd"]})
    for releases, schemas in (([sets, ranges], [flat, line]), ([ranges, sets], [line, flat])):
        both = build_context(releases, schemas, people)
        assert [list(cells.sets) for cells in both.cells] == [[0], [0]]
        start, others = find_meeting_classes(*both.cells)
        assert np.diff(start).sum() == len(others) == 7  # {a, b} and {c, d} share nothing
        for name in ("complementary", "temporal", "order"):
            assert shoal.attack(name, releases, schema=schemas).people == 6
        found = shoal.attack("intersection", releases, targets=people, schema=schemas)
        assert found.people == 4


def test_cells_of_different_forms_are_not_compared():
    axis = Axis.numbered("e", 130)
    low, high = np.array([[3], [60], [0]], np.int32), np.array([[3], [70], [129]], np.int32)
    bits = ranges_to_sets(axis, low[:, 0], high[:, 0])
    assert [axis.set_labels(bits[i : i + 1])[0] for i in (0, 2)] == ["3", "*"]
    assert [list(map(int, end)) for end in find_set_ends(bits)] == [[3, 60, 0], [3, 70, 129]]
    assert [list(map(int, end)) for end in find_set_ends(bits & np.uint64(0))] == [
        [0] * 3,
        [-1] * 3,
    ]
    ranges, sets = Cells(low, high), Cells(low, high, {0: bits})
    for compare in (meet, find_meeting_classes):
        for pair in ((ranges, sets), (sets, ranges)):
            with pytest.raises(ValueError, match="same columns hold sets"):
                compare(*pair)
    assert meet(sets, sets)[1].all()


def test_the_ends_of_sets_are_those_of_their_members():
    rng = np.random.default_rng(0)
    held = rng.random((200, 192)) < rng.choice([0.0, 0.01, 0.3], (200, 1))
    bits = np.packbits(held, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    low, high = find_set_ends(bits)
    for row, first, last in zip(held, low, high, strict=True):
        members = np.flatnonzero(row)
        wanted = (members[0], members[-1]) if len(members) else (0, -1)
        assert (first, last) == wanted


# Values that are suppressed


@pytest.mark.parametrize("hidden", ["*", "***", "suppressed", "Not released"])
def test_a_suppressed_value_is_not_taken_for_one_of_its_own(hidden):
    one = Table({"q": ["1", "1"], "d": [hidden, "flu"]})
    two = Table({"q": ["1", "1"], "d": ["AIDS", "flu"]})
    told = r"release 1: Column 'd' is suppressed in 1 rows"
    with pytest.raises(shoal.InputError, match=told):
        shoal.attack("intersection", [one, two], targets=Table({"q": ["1"]}), schema=roles("q"))
    with pytest.raises(shoal.InputError, match=told):
        shoal.attack("homogeneity", [one], schema=roles("q"))
    plain = one.replace(hidden, "none")
    assert shoal.attack("homogeneity", [plain], schema=roles("q")).people == 2


# Years and months


BORN = [date(1995, 3, 2), date(2003, 5, 1), date(2004, 5, 1)]


@pytest.mark.parametrize("people", [BORN, [day.year for day in BORN]], ids=["days", "years"])
def test_a_decade_beside_decades_is_no_month(people):
    found = linking("born", ["1990-99"] * 3 + ["2000-09"] * 3, people)
    assert found.details["absent"] == 0
    with pytest.raises(shoal.InputError, match=r"'born' has 2 labels \(6 rows\) that cannot be"):
        linking("born", ["2001-05"] * 3 + ["2003-11"] * 3, people)


def test_a_month_beside_months_is_no_decade():
    found = linking("born", ["1995-03", "2003-05", "2004-05", "2012-01"], BORN)
    assert found.exposed == 3
    assert found.details["absent"] == 0
