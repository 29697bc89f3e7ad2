"""Coalitions of providers against one release: plain loops over rows, and over all coalitions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from tests.attacks.release_views import golden

import shoal
from shoal.attacks import coalition as module
from shoal.attacks.coalition import coalition
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError, UsageError
from shoal.core.theory.adversary_view import ReleaseView, View
from shoal.data import bundled

ILLNESS = Axis("illness", "category", "flat", ("asthma", "flu", "ulcer"), null=True)
CLINICS = Axis(
    "clinic",
    "category",
    "flat",
    ("Eastside", "Northgate", "South, upper", "West", "Harbour", "Hillside", "Market", "Station"),
)
TABLES = {"Ta": "mprivacy_table1_ta.csv", "Tb": "mprivacy_table1_tb.csv"}
SCHEMA = shoal.Schema.of(
    quasi=["Age", "Zip"], sensitive=["Disease"], provider="Provider", identifier=["Name"]
)


def view_of(classes, values, whos, *, show=False):
    """Rows by class, value and provider; the classes' cells are single ages."""
    number = np.arange(max(classes) + 1, dtype=np.int32)[:, np.newaxis]
    axis = Axis("age", "number", "ordered", tuple(range(9)), positions=np.arange(9.0))
    class_, value, who = (np.array(part, dtype=np.int32) for part in (classes, values, whos))
    labels = {"labels": lambda c: {"age": f"label {c}"}, "providers": who}
    release = ReleaseView("r", Cells(number, number), class_, value, **labels)
    return View((axis,), (release,), ILLNESS, show=show, providers=CLINICS)


def random_rows(seed, providers=4):
    rng = np.random.default_rng(seed)
    rows, shares = int(rng.integers(2 * providers, 30)), np.arange(providers, 0, -1.0)
    classes = np.unique(rng.integers(0, rows // 3, rows), return_inverse=True)[1]
    values = rng.choice(4, rows, p=(0.55, 0.25, 0.1, 0.1))
    more = rng.choice(providers, rows - providers, p=shares / shares.sum())
    whos = np.concatenate((np.arange(providers), more))
    return classes.tolist(), values.tolist(), rng.permutation(whos).tolist()


def learnt(rows, members, sure):
    """What a coalition learns, row by row: (exposed rows, alone, with one value, belief)."""
    others = [(i, c, v) for i, (c, v, w) in enumerate(zip(*rows, strict=True)) if w not in members]
    left = {c: Counter(v for _, d, v in others if d == c) for _, c, _ in others}
    share = {i: Fraction(left[c][v], left[c].total()) for i, c, v in others}
    exposed = [i for i, *_ in others if share[i] >= sure]
    alone = [i for i, c, _ in others if left[c].total() == 1]
    certain = [i for i, c, _ in others if len(left[c]) == 1]
    return exposed, alone, certain, max(share.values())


def key(rows, members, sure):
    exposed, alone, _, belief = learnt(rows, members, sure)
    return len(exposed), len(alone), belief


def names(members):
    return [CLINICS.leaves[one] for one in members]


@pytest.mark.parametrize("seed", range(40))
def test_a_named_coalition_learns_what_the_definition_says(seed):
    rows, sure = random_rows(seed), (Fraction(9, 10), Fraction(2, 3), Fraction(1), "0.5")[seed % 4]
    for size in (1, 2, 3):
        members = tuple(np.random.default_rng(seed).permutation(4)[:size].tolist())
        found = coalition(view_of(*rows), coalition=names(members), sure=sure)
        exposed, alone, certain, belief = learnt(rows, members, Fraction(sure))
        outside = set(learnt(rows, (), Fraction(sure))[0])
        others = [i for i, who in enumerate(rows[2]) if who not in members]
        assert (found.people, found.exposed) == (len(others), len(exposed))
        assert found.sure == float(belief)
        assert found.guessing == max(Counter(rows[1]).values()) / len(rows[1])
        details = found.details
        assert details["after"] == {
            "exposed": len(exposed),
            "isolated": len(alone),
            "certain": len(certain),
        }
        assert details["before"]["exposed"] == len(outside & set(others))
        assert details["own_rows"] == len(rows[2]) - len(others)
        victims = [
            {
                "exposed": sum(rows[2][i] == who for i in exposed),
                "isolated": sum(rows[2][i] == who for i in alone),
                "rows": rows[2].count(who),
            }
            for who in set(rows[2]) - set(members)
        ]
        victims.sort(key=lambda one: [-number for number in one.values()])
        assert details["victims"] == victims
        if exposed:
            assert set(found.worst) == {i + 1 for i in exposed} or len(exposed) > 20
            assert set(found.worst[: len(alone)]) == {i + 1 for i in alone}
        json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize("seed", range(40))
def test_the_worst_coalition_is_the_worst_of_all(seed):
    rows, sure = random_rows(seed), (Fraction(9, 10), Fraction(1, 2))[seed % 2]
    for size in (1, 2, 3):
        every = list(combinations(range(4), size))
        worst = max(every, key=lambda members: key(rows, members, sure))  # the first among equals
        found = coalition(view_of(*rows, show=True), members=size, sure=sure)
        assert found.witness["coalition"] == names(worst)
        assert found.exposed == len(learnt(rows, worst, sure)[0])
        assert found.details["coalitions_tried"] == found.details["coalitions"] == comb(4, size)
        assert not any("tried" in one for one in found.assumptions)


@pytest.mark.parametrize("seed", range(20))
def test_where_there_are_too_many_it_climbs_and_says_so(monkeypatch, seed):
    rows, sure = random_rows(seed, providers=8), Fraction(9, 10)
    for most in (1, 55):  # after adding one by one no swaps; then swaps until none is better
        monkeypatch.setattr(module, "MAX_TRIED", most)
        found = coalition(view_of(*rows, show=True), members=3, sure=sure)
        members = [CLINICS.leaves.index(name) for name in found.witness["coalition"]]
        reached = key(rows, members, sure)
        assert (found.exposed, found.details["after"]["isolated"]) == reached[:2]
        largest = sorted(range(8), key=lambda one: -rows[2].count(one))[:3]
        assert reached >= key(rows, largest, sure)
        tried, possible = found.details["coalitions_tried"], found.details["coalitions"]
        assert tried < possible == comb(8, 3)
        assert f"worst of {tried:,} tried of 56" in found.assumptions[-1]
    for out, into in product(members, set(range(8)) - set(members)):
        assert key(rows, {*members} - {out} | {into}, sure) <= reached


def test_the_order_of_rows_and_classes_does_not_matter():
    rows = random_rows(3)
    found = coalition(view_of(*rows), members=2)
    order = np.random.default_rng(0).permutation(len(rows[0]))
    turned = max(rows[0]) - np.array(rows[0])
    again = coalition(
        view_of(*(np.array(p)[order].tolist() for p in (turned, *rows[1:]))), members=2
    )
    assert again.details == found.details
    assert sorted(order[row - 1] + 1 for row in again.worst) == sorted(found.worst)


def test_a_tie_is_decided_exactly():
    rows = [0] * 10 + [0], [0] * 9 + [1] + [1], [1] * 10 + [0]
    assert coalition(view_of(*rows), coalition=["Eastside"], sure="0.9").exposed == 9
    assert coalition(view_of(*rows), coalition=["Eastside"], sure="0.90000001").exposed == 0


def test_names_and_values_are_told_to_who_asks_only():
    rows = [0, 0, 0, 1, 1], [0, 1, 2, 3, 0], [0, 0, 1, 2, 2]
    quiet = coalition(view_of(*rows), coalition="Eastside")
    told = json.dumps(quiet.to_json())
    assert not any(word in told for word in (*CLINICS.leaves, "asthma", "ulcer", "label"))
    assert quiet.witness == {
        "members": 1,
        "class": 0,
        "rows": 3,
        "left": 1,
        "most_common": 1,
        "distinct": 1,
    }
    shown = coalition(view_of(*rows, show=True), coalition="Eastside")
    assert shown.witness["coalition"] == ["Eastside"]
    assert (shown.witness["value"], shown.witness["labels"]) == ("ulcer", {"age": "label 0"})
    assert shown.details["victims"][0] == {
        "provider": "Northgate",
        "exposed": 1,
        "isolated": 1,
        "rows": 1,
    }
    assert "Eastside" in shown.sentence
    assert "ulcer" in shown.example


def test_a_class_of_the_coalition_alone_hurts_nobody():
    rows = [0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 2]
    found = coalition(view_of(*rows), coalition=["Eastside"])
    assert (found.people, found.exposed, found.sure) == (2, 0, 0.5)


def test_names_are_read_as_they_are_written():
    rows = [0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 2, 3]
    asked = [" Eastside"], ["South, upper", "Eastside", "Eastside"], "South, upper"
    expected = ["Eastside"], ["Eastside", "South, upper"], ["South, upper"]
    for written, names in zip(asked, expected, strict=True):
        found = coalition(view_of(*rows, show=True), coalition=written)
        assert found.witness["coalition"] == names


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"coalition": "Nowhere"}, "1 provider of the coalition provided no row"),
        ({"coalition": "West"}, "provided no row"),  # on the axis, and in no row
        ({"coalition": ""}, "no name"),
        ({"coalition": ["Eastside", " "]}, "no name"),
        ({"coalition": "Eastside,Northgate"}, "1 provider of the coalition provided no row"),
        ({"coalition": ["Eastside", "South, upper"], "members": 2}, "named already"),
        ({"coalition": ["Eastside", "Northgate", "South, upper"]}, "leaves nobody"),
        ({"members": 3}, "leaves nobody"),
        ({"members": 0}, "members must be a whole number"),
        ({"members": 1.5}, "members must be a whole number"),
        ({"sure": 0}, "sure"),
        ({"sure": 1.1}, "sure"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, error):
    rows = [0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 2, 2]
    with pytest.raises(UsageError, match=error):
        coalition(view_of(*rows), **asked)


def test_without_providers_it_does_not_run():
    view = view_of([0, 0], [0, 1], [0, 1])
    bare = replace(view, releases=(replace(view.releases[0], providers=None),))
    for blind in (replace(view, providers=None), bare):
        with pytest.raises(InputError, match="who provided the rows"):
            coalition(blind)
    with pytest.raises(UsageError, match="leaves nobody"):
        coalition(view_of([0, 0], [0, 1], [1, 1]))
    with pytest.raises(InputError, match="sensitive"):
        coalition(replace(view, sensitive=None))


# The paper's tables, through files


def attacked(table, **asked):
    return shoal.attack("coalition", bundled.path(TABLES[table]), schema=SCHEMA, **asked)


def test_the_headline_of_the_paper():
    expected = golden("mprivacy_table1")["expected"]["headline_witness"]
    found = attacked(expected["table"], coalition=expected["coalition"], show=True)
    rows = golden("mprivacy_table1")[expected["table"]]
    assert [rows[row - 1]["Name"] for row in found.worst] == [expected["isolated"]]
    assert found.witness["value"] == expected["learns"]
    assert list(found.witness["labels"].values()) == expected["group"]
    assert (found.witness["rows"], found.witness["left"]) == (3, 1)
    assert (found.exposed, found.people, found.sure) == (1, 7, 1.0)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("m", [1, 2])
def test_the_coalitions_of_the_paper_isolate_whom_it_says(table, m):
    told = golden("mprivacy_table1")
    rows, violations = told[table], told["expected"]["violations"]
    broken = violations.get(f"{table},m={m},k=2,l=2", [])
    present = {}
    for row in rows:
        present.setdefault((row["Age"], row["Zip"]), set()).add(row["Provider"])
    for members in combinations(("P1", "P2", "P3", "P4"), m):
        alone = {
            one["remaining"][0]
            for one in broken
            if set(one["coalition"]) == present[tuple(one["group"])] & set(members)
        }
        found = attacked(table, coalition=members, sure=1)
        assert found.details["after"]["isolated"] == len(alone)
        assert {rows[row - 1]["Name"] for row in found.worst[: len(alone)]} == alone
    worst = attacked(table, members=m, sure=1)
    assert (worst.exposed > 0) is bool(broken)
