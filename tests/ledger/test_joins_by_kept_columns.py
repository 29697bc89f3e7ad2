"""Columns that releases publish as they are join their rows, when an admission is judged.

The oracle goes through rows and classes with plain sets.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.seeds import seeds

import shoal
from shoal.adversary.context import build_context
from shoal.ledger import pair_judgement
from shoal.ledger.admission_options import AdmissionOptions
from shoal.ledger.pair_judgement import WORST_PAIR, judge_joined_rows

SCHEMA = shoal.Schema.of(quasi=["age", "sex"], sensitive=["d"], keep=["ward"])
AGES = ("[30-39]", "[40-49]", "[30-49]")


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "releases.db") as made:
        yield made


def rows_of(table):
    columns = (table[name].to_pylist() for name in ("age", "sex", "ward", "d"))
    return list(zip(*columns, strict=True))


def ages(label):
    low, high = label.strip("[]").split("-")
    return set(range(int(low), int(high) + 1))


def meets(one, other):
    return bool(ages(one[0]) & ages(other[0])) and one[1] == other[1]


def classes(rows):
    found = {}
    for age, sex, ward, d in rows:
        found.setdefault((age, sex), {}).setdefault(ward, set()).add(d)
    return found


def left_by_classes(parts):
    """Of classes by ward: what all have beside the same ward."""
    wards = set.intersection(*(set(part) for part in parts))
    return {d for ward in wards for d in set.intersection(*(part[ward] for part in parts))}


def exposed_rows(first, second, l):
    """How many rows of the second are in a class that some class of the first exposes."""
    one, other, number = classes(first), classes(second), 0
    for age, sex, ward, _ in second:
        own = other[age, sex]
        everything = set().union(*own.values())
        is_exposed = False
        for key, part in one.items():
            if not meets(key, (age, sex)):
                continue
            left = left_by_classes([part, own])
            fewest = min(len(everything), len(set().union(*part.values())))
            is_exposed |= 0 < len(left) < l and len(left) < fewest
            if ward in part:
                known = part[ward] & own[ward]
                alone = min(len(part[ward]), len(own[ward]))
                is_exposed |= 0 < len(known) < l and len(known) < alone
        number += is_exposed
    return number


def exposed_people(releases, people, l):
    """How many are left fewer than l values by all together, and by none alone; of how many."""
    exposed = there = 0
    for age, sex in people:
        fitting = [
            [part for key, part in classes(rows).items() if age in ages(key[0]) and key[1] == sex]
            for rows in releases
        ]
        left = set().union(*(left_by_classes(parts) for parts in product(*fitting)))
        alone = [
            len({d for part in parts for values in part.values() for d in values})
            for parts in fitting
        ]
        there += bool(left)
        exposed += 0 < len(left) < l and min(alone) >= l
    return exposed, there


def random_table(rng):
    number = int(rng.integers(4, 25))
    return pa.table(
        {
            "age": rng.choice(AGES, number),
            "sex": rng.choice(["f", "m"], number),
            "ward": rng.choice(["a", "b", "c"], number),
            "d": rng.choice(list("uvwxy"), number),
        }
    )


@pytest.mark.parametrize("seed", seeds(12, 60))
def test_pairs_agree_with_plain_sets(seed):
    rng = np.random.default_rng(seed)
    tables, l = [random_table(rng), random_table(rng)], 2 + seed % 2
    known = build_context(tables, SCHEMA, publisher=True)
    found = judge_joined_rows(WORST_PAIR, known, (0, 1), (1,), "d", AdmissionOptions(l=l))
    expected = exposed_rows(*map(rows_of, tables), l)
    assert found is not None
    assert (found.beyond, found.finding.people) == (expected, tables[1].num_rows)


@pytest.mark.parametrize("seed", seeds(12, 60))
def test_people_agree_with_plain_sets(seed):
    rng = np.random.default_rng(seed)
    tables, l = [random_table(rng) for _ in range(2 + seed % 2)], 2 + seed % 2
    people = [(int(rng.integers(28, 52)), str(rng.choice(["f", "m"]))) for _ in range(12)]
    given = pa.table({"age": [age for age, _ in people], "sex": [sex for _, sex in people]})
    known = build_context(tables, SCHEMA, targets=given, publisher=True)
    which = range(len(tables))
    found = judge_joined_rows(
        "intersection", known, which, (1,), "d", AdmissionOptions(l=l, people=given)
    )
    exposed, there = exposed_people([rows_of(one) for one in tables], people, l)
    assert (exposed, there) == (0, 0) if found is None else True
    if found is not None:
        assert (found.beyond, found.finding.people) == (exposed, there)


def ward(values, wards, age="[30-39]"):
    number = len(values)
    columns = {"age": [age] * number, "sex": ["f"] * number, "ward": wards, "d": list(values)}
    return pa.table({name: list(column) for name, column in columns.items()})


FIRST = ward("AABBCC", "pqrstu")
SECOND = ward("AABBCC", "pvwxyz", age="[30-49]")
"""Everybody is in the second class too, but only ward p is in both: beside A."""


def test_a_kept_column_that_two_releases_share_plays_its_part(ledger):
    ledger.add_foreign(FIRST, schema=SCHEMA, by="a hospital")
    judged = ledger.judge(SECOND, schema=SCHEMA)
    (exceeding,) = (judgement for judgement in judged.weighed if judgement.exceeds)
    assert (exceeding.on, exceeding.joined_by) == ("d", ("ward",))
    (reason,) = judged.reasons
    assert "where rows are joined by column 'ward'" in reason
    assert any("--drop ward" in way for way in judged.ways)
    without = ledger.judge(SECOND.drop_columns(["ward"]), schema=SCHEMA)
    assert without.admitted


def test_the_same_of_people_who_are_given(ledger):
    ledger.add_foreign(FIRST, schema=SCHEMA, by="a hospital")
    people = pa.table({"age": [30 + i for i in range(6)], "sex": ["f"] * 6})
    judged = ledger.judge(SECOND, schema=SCHEMA, people=people)
    assert any(
        one.exceeds and one.finding.attack == "intersection" and one.joined_by == ("ward",)
        for one in judged.weighed
    )


def test_a_column_with_one_value_joins_nothing(ledger):
    ledger.add_foreign(ward("AABBCC", "pppppp"), schema=SCHEMA, by="a hospital")
    assert ledger.judge(ward("AABBCC", "pppppp", age="[30-49]"), schema=SCHEMA).admitted


def test_what_three_say_by_a_kept_column_is_not_evaluated_without_the_people(ledger):
    for age in AGES[::2]:
        ledger.add_foreign(ward("AABBCC", "pqpqpq", age=age), schema=SCHEMA, by="a hospital")
    judged = ledger.judge(ward("AABBCCC", "pqpqpqp"), schema=SCHEMA)
    assert not judged.admitted
    assert any("what their rows say together is not evaluated" in why for _, why in judged.unjudged)


def test_too_many_combinations_are_not_evaluated(ledger, monkeypatch):
    monkeypatch.setattr("shoal.attacks._shared.joined_rows.MAX_COMBINATIONS", 0)
    ledger.add_foreign(ward("AABBCC", "pqpqpq"), schema=SCHEMA, by="a hospital")
    judged = ledger.judge(ward("AABBCC", "pqpqpq", age="[30-49]"), schema=SCHEMA)
    assert not judged.admitted
    assert any("more than the 0 that are looked at" in reason for reason in judged.reasons)


def test_a_column_that_is_learnt_joins_nothing():
    known = build_context([FIRST, SECOND], SCHEMA, publisher=True)
    assert pair_judgement.find_shared_kept_columns(known.releases, "d") == ("ward",)
    assert pair_judgement.find_shared_kept_columns(known.releases, "ward") == ()
