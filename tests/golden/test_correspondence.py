"""A growing table: Sweeney's Example 7, and a table small enough to follow by hand."""

from __future__ import annotations

import pytest
from tests.attacks import release_views as releases

from shoal.attacks import load_attacks

FIG = releases.golden("sweeney_fig4_5")
ADDED = FIG["temporal"]["added_released"]
COUNTRY = (releases.category("Country", "France", "UK"),)


def sweeney(second):
    return releases.joined(releases.FIG4, {"GT1": FIG["GT1"], "grown": second}, "Problem")


@pytest.mark.parametrize("name", ["forward", "cross"])
def test_example_7_cracks_the_same_two_people_as_the_join(name):
    finding = load_attacks()[name](sweeney(FIG["GT3"] + ADDED))
    assert (finding.people, finding.exposed, finding.sure) == (12, 2, 1)
    assert finding.details["could_be_exposed"] == 2
    assert (finding.details["k_before"], finding.details["k_after"]) == (2, 1)
    table = FIG["GT1"] if name == "forward" else FIG["GT3"]
    expected = {row["Problem"] for row in FIG["expected"]["unique_rows"]}
    assert {table[row - 1]["Problem"] for row in finding.worst} == expected


def test_example_7_leaves_the_two_newcomers_to_each_other():
    finding = load_attacks()["backward"](sweeney(FIG["GT3"] + ADDED))
    assert (finding.people, finding.exposed, finding.sure) == (2, 0, 0.5)


@pytest.mark.parametrize("name", ["forward", "cross", "backward"])
def test_the_first_release_with_new_rows_added_gives_nobody_away(name):
    finding = load_attacks()[name](sweeney(FIG["GT1"] + ADDED))
    assert (finding.exposed, finding.details["most_cracked"]) == (0, 0)


def countries():
    """Both releases have k = 5. Of Europe's rows the second tells who was where."""
    first = [("*", "flu")] * 3 + [("*", "HIV")] * 2
    second = [("France", "flu")] * 3 + [("France", "HIV"), ("France", "cold")]
    second += [("UK", "HIV")] + [("UK", "cold")] * 4
    tables = {
        name: [dict(zip(("Country", "Disease"), row, strict=True)) for row in rows]
        for name, rows in (("first", first), ("second", second))
    }
    return releases.joined(COUNTRY, tables, "Disease", show=True)


@pytest.mark.parametrize(
    ("name", "people", "exposed", "worst", "cracked"),
    [
        ("forward", 5, 1, (4,), 4),  # in the UK: only HIV is left, and 4 of Europe's 5 are not it
        ("cross", 5, 1, (6,), 4),  # the UK's four colds are newcomers
        ("backward", 5, 5, (5, 7, 8, 9, 10), 4),  # every newcomer has a cold
    ],
)
def test_by_hand(name, people, exposed, worst, cracked):
    finding = load_attacks()[name](countries())
    assert (finding.people, finding.exposed, finding.worst) == (people, exposed, worst)
    assert (finding.witness["cracked"], finding.witness["left"]) == (cracked, 1)
    assert (finding.details["k_before"], finding.details["k_after"]) == (5, 1)
    assert finding.sure == 1
