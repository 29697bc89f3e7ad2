"""The invented town of Sweeney's Figure 1: a medical table without names, and a voter list."""

from __future__ import annotations

import csv
from collections import Counter
from datetime import date

from shoal.data import bundled
from shoal.data.bundled.make import MEDICAL, TREATMENTS, VOTER_LIST, town

LINK = ("zip", "birth_date", "sex")


def rows(name):
    with bundled.path(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def linked(row):
    return tuple(row[column] for column in LINK)


def test_the_files_are_what_the_generator_makes():
    for name, header, made in zip(
        ("medical.csv", "voters.csv"), (MEDICAL, VOTER_LIST), town(), strict=True
    ):
        assert tuple(rows(name)[0]) == header
        assert [tuple(row.values()) for row in rows(name)] == [tuple(map(str, r)) for r in made]


def test_most_patients_are_one_voter_some_nobody_and_a_few_several():
    patients, voters = rows("medical.csv"), Counter(map(linked, rows("voters.csv")))
    assert len(patients) == 600
    assert voters.total() == 2_500
    alone = Counter(map(linked, patients))
    assert sum(n for n in alone.values() if n == 1) > 590
    outcomes = Counter(min(voters[linked(row)], 2) for row in patients)
    assert outcomes[1] > 400  # named
    assert 100 < outcomes[0] < 200  # too young, or not registered
    assert outcomes[2] > 10  # twins
    assert sum(1 for one in voters if one not in alone) > 1_500


def test_nobody_votes_before_coming_of_age_nor_is_treated_for_nothing():
    for row in rows("voters.csv"):
        born, registered = map(date.fromisoformat, (row["birth_date"], row["registered"]))
        assert 18 * 365 < (registered - born).days < 100 * 366
    for row in rows("medical.csv"):
        assert TREATMENTS[row["diagnosis"]][:2] == (row["procedure"], row["medication"])
        assert row["birth_date"] < row["visit_date"]
        assert int(row["total_charge"]) > 0
