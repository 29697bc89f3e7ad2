"""Martin et al. 2007: what their Figure 3 and Adult disclose to somebody who knows k things."""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from tests.oracles.worlds import Worlds

import shoal
from shoal.core.theory.worst_case_disclosure import IMPLICATIONS, NEGATIONS

EXPECTED = {IMPLICATIONS: "max_disclosure_by_k", NEGATIONS: "negated_atoms_by_k"}
ADULT = {
    IMPLICATIONS: ".3158 .4081 .5019 .6009 .6877 .7669 .8280 .8780 .9132 .9403 .9584 .9746 1",
    NEGATIONS: ".3158 .4081 .4905 .5923 .6552 .7152 .7788 .8329 .8757 .9153 .9432 .9746 1",
}
"""By k = 0 … 12: occupation among Adult's 45,222 complete rows, age by twenties, nothing else."""


@pytest.fixture
def martin(golden):
    return golden("martin_fig1_3")


def buckets(martin):
    return [Counter(bucket["Disease"]) for bucket in martin["fig2_buckets"]]


@pytest.mark.parametrize("knowledge", EXPECTED)
def test_figure_3_discloses_two_fifths_then_two_thirds_then_all(martin, knowledge):
    """The paper prints 10/19 for k = 1, which is the risk of one implication, not the largest."""
    expected = [Fraction(p) for p in martin["expected"][EXPECTED[knowledge]]]
    assert expected[:3] == [Fraction(2, 5), Fraction(2, 3), 1]
    for classes in (buckets(martin), martin["buckets_sorted_counts"]):
        k = len(expected) - 1
        found = shoal.max_disclosure(classes, k, knowledge=knowledge, exact=True)
        assert found == expected
        floats = shoal.max_disclosure(classes, k, knowledge=knowledge)
        assert floats == pytest.approx([float(p) for p in expected], abs=1e-12)


def test_the_formulas_of_the_paper_have_their_risk_in_the_1800_worlds_of_figure_3(martin):
    worlds, told = Worlds(martin["buckets_sorted_counts"]), martin["expected"]["conditional"]
    assert worlds.number == martin["n_worlds"]
    for formula in told:
        given = [implied(text) for text in formula["given"]]
        assert worlds.belief(atom(formula["target"]), given) == Fraction(formula["p"])


PEOPLE = {"Charlie": (0, 1), "Ed": (0, 3), "Hannah": (1, 1)}
CODES = {(0, "Flu"): 0, (0, "Lung Cancer"): 1, (0, "Mumps"): 2, (1, "Flu"): 0}


def atom(text):
    name, value = text.split("=")
    class_, person = PEOPLE[name]
    return class_, person, CODES[class_, value]


def implied(text):
    """An implication; that somebody does not have a value implies another of hers."""
    if "->" in text:
        given, then = text.split(" -> ")
        return atom(given), atom(then)
    class_, person, value = atom(text.replace("!=", "="))
    return (class_, person, value), (class_, person, (value + 1) % 3)


def test_the_further_golden_cases(martin):
    for case in martin["golden_extra"]:
        k, counts = case["k"], case["hists"]
        assert shoal.max_disclosure(counts, k, exact=True)[k] == Fraction(case["max_disclosure"])
        found = shoal.max_disclosure(counts, k, knowledge=NEGATIONS, exact=True)
        assert found[k] == Fraction(case["neg"])


@pytest.fixture(scope="module")
def twenties(real_data):
    """The occupations of Adult's complete rows by age in [0, 20), [20, 40), …"""
    classes = defaultdict(Counter)
    with gzip.open(real_data / "adult.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if "?" not in row.values():
                classes[int(row["age"]) // 20][row["occupation"]] += 1
    return [classes[age] for age in sorted(classes)]


@pytest.mark.parametrize("knowledge", ADULT)
def test_adult_in_twenties_discloses_what_figure_5_draws(twenties, knowledge):
    assert sum(map(Counter.total, twenties)) == 45_222
    expected = [float(p) for p in ADULT[knowledge].split()]
    found = shoal.max_disclosure(twenties, 12, knowledge=knowledge)
    assert [round(p, 4) for p in found] == expected
    exact = shoal.max_disclosure(twenties, 12, knowledge=knowledge, exact=True)
    assert found == pytest.approx([float(p) for p in exact], abs=1e-12)
