"""m-privacy, Table I: T*a and T*b against coalitions, through the public functions."""

from __future__ import annotations

from itertools import combinations

import pytest

import shoal
from shoal.data import bundled
from shoal.models._verifiers import verifiers

CASES = [f"{name},m={m},k={k},l=2" for name in ("Ta", "Tb") for m in (0, 1, 2) for k in (3, 2)]


@pytest.fixture
def given(golden):
    return golden("mprivacy_table1")


def asked(case):
    name, *numbers = case.split(",")
    return name, *(int(number.split("=")[1]) for number in numbers)


def rule(k, l):
    return shoal.KAnonymity(k) & shoal.DistinctDiversity(l)


def roles(given):
    return shoal.Schema.of(
        quasi=given["qi"],
        sensitive=[given["sensitive"]],
        provider="Provider",
        identifier=["Name"],
    )


def answer(given, table, case, **more):
    name, m, k, l = asked(case)
    return shoal.m_privacy(table(name, given[name]), roles(given), rule(k, l), m, **more)


def classes(given, name):
    """The rows of each class by its labels."""
    found = {}
    for row in given[name]:
        found.setdefault(tuple(row[column] for column in given["qi"]), []).append(row)
    return found


def told(breach):
    """A breach as the golden file lists it."""
    return (
        list(breach.labels.values()),
        list(breach.coalition),
        breach.left,
        breach.distinct["Disease"],
    )


def listed(given, case):
    found = given["expected"]["violations"].get(case, [])
    return [(one["group"], one["coalition"], one["n"], one["distinct"]) for one in found]


def test_every_case_of_the_golden_file_is_asked(given):
    assert set(CASES) == set(given["expected"]["is_m_private"])
    assert set(given["expected"]["violations"]) <= set(CASES)


def test_the_bundled_tables_are_the_golden_ones(given):
    for name in ("Ta", "Tb"):
        text = bundled.path(f"mprivacy_table1_{name.lower()}.csv").read_text(encoding="utf-8")
        head, *rows = (line.split(",") for line in text.split())
        assert [dict(zip(head, row, strict=True)) for row in rows] == given[name]


def check(given, case, found):
    assert found.holds == given["expected"]["is_m_private"][case]
    assert found.holds == (found.coalition is None) == (found.worst is None)
    assert found.checks >= found.classes
    if not found.holds:
        assert told(found.worst) in listed(given, case)
        assert found.coalition == found.worst.coalition


@pytest.mark.parametrize("case", CASES)
def test_each_table_holds_as_the_paper_should_say(given, table, case):
    found = answer(given, table, case, show=True)
    check(given, case, found)
    name, m, _, _ = asked(case)
    broken = {tuple(group) for group, *_ in listed(given, case)}
    assert found.survive[m] == len(classes(given, name)) - len(broken)
    assert (found.largest_m >= m) == found.holds


@pytest.mark.parametrize("verifier", sorted({*verifiers()} - {"exact"}))
@pytest.mark.parametrize("case", ["Ta,m=2,k=3,l=2", "Tb,m=1,k=2,l=2"])
def test_the_paper_s_verifiers_say_the_same(given, table, case, verifier):
    found = answer(given, table, case, verifier=verifier, show=True)
    check(given, case, found)
    assert found.verifier == verifier


@pytest.mark.parametrize("case", [case for case in CASES if "m=0" not in case])
def test_exactly_the_listed_coalitions_break_a_class(given, table, case):
    """Each is taken away in a table of its own class beside it, where no provider is needed."""
    name, m, k, l = asked(case)
    tried = {}
    for labels, rows in classes(given, name).items():
        present = sorted({row["Provider"] for row in rows})
        for size in range(1, min(m, len(present) - 1) + 1):
            for coalition in combinations(present, size):
                left = [row for row in rows if row["Provider"] not in coalition]
                tried[labels, coalition] = left
    rows = [
        {"case": str(number), "Disease": row["Disease"]}
        for number, left in enumerate(tried.values())
        for row in left
    ]
    schema = shoal.Schema.of(quasi=["case"], sensitive=["Disease"])
    verdict = shoal.verify(table("left", rows), schema, rule(k, l))
    expected = given["expected"]["violations"].get(case, [])
    for one in expected:
        left = tried[tuple(one["group"]), tuple(one["coalition"])]
        assert [row["Name"] for row in left] == one["remaining"]
        assert (len(left), len({row["Disease"] for row in left})) == (one["n"], one["distinct"])
        assert one["n"] < k or one["distinct"] < l
    small, plain = verdict.judgements
    assert small.failing_classes == sum(one["n"] < k for one in expected)
    assert plain.failing_classes == sum(one["distinct"] < l for one in expected)


@pytest.mark.parametrize("k", [2, 3])
def test_the_headline(given, table, k):
    """One provider of T*a is left with Sara alone, and so learns what she has."""
    headline = given["expected"]["headline_witness"]
    found = answer(given, table, f"{headline['table']},m=1,k={k},l=2", show=True)
    assert found.coalition == tuple(headline["coalition"])
    assert list(found.worst.labels.values()) == headline["group"]
    left = [
        row
        for row in classes(given, headline["table"])[tuple(headline["group"])]
        if row["Provider"] not in found.coalition
    ]
    assert [(row["Name"], row["Disease"]) for row in left] == [
        (headline["isolated"], headline["learns"])
    ]
    assert (found.worst.left, found.largest_m) == (1, 0)
    names = [row["Name"] for row in given[headline["table"]]]
    assert [names[row - 1] for row in found.worst.records] == [headline["isolated"]]
    assert found.each == ((0, 1, 0) if k == 2 else (0, 0, 0))
    assert found.unnamed().each == ()


def test_the_second_table_survives_one_provider_for_k_2_only(given, table):
    """As counted: the paper offers it for k = 3, which a class of three rows cannot keep."""
    found = answer(given, table, "Tb,m=1,k=2,l=2", show=True)
    assert (found.holds, found.largest_m, found.survive) == (True, 1, (3, 3, 0, 0))
    assert told(found.breaks) in listed(given, "Tb,m=2,k=2,l=2")
    found = answer(given, table, "Tb,m=1,k=3,l=2")
    assert (found.holds, found.largest_m, found.survive) == (False, 0, (3, 0, 0, 0))
