"""Risk against plain Python, exact fractions, simulated populations and ARX's figures on Adult."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.adult_nine import ADULT_NINE

from shoal.core.errors import UsageError
from shoal.measures.risk import subsets
from shoal.measures.risk.assessment import (
    assess,
    choose_estimate,
    estimate_population_uniqueness,
)
from shoal.measures.risk.pitman import expected_uniques, fit_pitman, pitman
from shoal.measures.risk.sizes import ClassSizes, UniquenessEstimate
from shoal.measures.risk.snb import leaves_one, leaves_two, population_classes, snb
from shoal.measures.risk.subsets import subset_risks
from shoal.measures.risk.zayatz import zayatz

CLASS_SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=40)
USA = 318_900_000
"""The population that reproduces ARX's figures: its region USA."""


def adult_codes() -> np.ndarray:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA is not set: the Adult table is not at hand")
    with gzip.open(Path(folder) / "adult.csv.gz", "rt") as file:
        header, *lines = (line.rstrip("\n").split(",") for line in file)
    complete = [row for row in lines if row[-1] == "train" and "?" not in row]
    places = [header.index(name) for name in ADULT_NINE]
    columns = [[row[place] for row in complete] for place in places]
    return np.array([np.unique(column, return_inverse=True)[1] for column in columns])


@given(CLASS_SIZES)
@settings(deadline=None)
def test_class_risks_are_those_of_people(sizes: list[int]) -> None:
    risk = assess(np.array(sizes), threshold=0.25)
    people = [Fraction(1, n) for n in sizes for _ in range(n)]
    assert risk.rows == len(people)
    assert risk.classes == len(sizes)
    assert risk.prosecutor == float(max(people))
    assert risk.marketer == pytest.approx(float(sum(people) / len(people)))
    assert risk.uniques == sum(p == 1 for p in people)
    assert risk.above == sum(p > Fraction(1, 4) for p in people) / len(people)


@given(CLASS_SIZES, st.lists(st.integers(0, 9), min_size=40, max_size=40))
@settings(deadline=None)
def test_journalist_is_the_mean_and_highest_over_the_population(
    sizes: list[int], more: list[int]
) -> None:
    population = [n + extra for n, extra in zip(sizes, more, strict=False)]
    risk = assess(sizes, population)
    risks = [1 / n for rows, n in zip(sizes, population, strict=True) for _ in range(rows)]
    assert risk.journalist == max(risks)
    assert risk.marketer_population == pytest.approx(sum(risks) / len(risks))
    assert risk.journalist <= risk.prosecutor


def test_a_population_that_lacks_the_people_gives_no_journalist_risk() -> None:
    risk = assess([2, 3], [5, 2])
    assert math.isnan(risk.journalist)
    assert "1 classes" in risk.notes["journalist"]
    with pytest.raises(UsageError):
        assess([2, 3], [5])


def test_the_threshold_is_exact() -> None:
    assert assess([5, 5], threshold=0.2).above == 0
    assert assess([4, 6], threshold=0.2).above == 0.4


def test_json_has_no_nan() -> None:
    for rows in ([], [1, 1], [1, 1, 2, 3, 5]):
        for fraction in (None, 0.01, 0.5):
            json.dumps(assess(rows, None, fraction).to_dict(), allow_nan=False)
    assert assess([]).to_dict()["prosecutor"] is None


@pytest.mark.parametrize("fraction", [0.0, -1.0, 1.5, math.nan])
def test_a_fraction_outside_its_bounds_is_refused(fraction: float) -> None:
    with pytest.raises(UsageError):
        assess([1, 2], sampling_fraction=fraction)


@given(CLASS_SIZES, st.integers(0, 60))
@settings(deadline=None)
def test_zayatz_is_bayes_with_the_hypergeometric(sizes: list[int], outside: int) -> None:
    n = sum(sizes)
    population = n + outside
    ones = sizes.count(1)

    def one_drawn(i: int) -> Fraction:
        ways = i * math.comb(population - i, n - 1) if i <= population else 0
        return Fraction(ways, math.comb(population, n))

    estimate = zayatz(ClassSizes.of(sizes), n / population)
    if not ones:
        assert estimate.uniques == 0
        assert estimate.reason
        return
    certain = ones * one_drawn(1) / sum(one_drawn(i) for i in sizes)
    assert estimate.uniques == pytest.approx(float(ones * certain * population / n), rel=1e-6)


def likelihood(sizes: list[int], theta: float, alpha: float) -> float:
    n, u = sum(sizes), len(sizes)
    fresh = sum(math.log(theta + i * alpha) for i in range(1, u))
    drawn = sum(math.log(theta + i) for i in range(1, n))
    return fresh - drawn + sum(math.log(i - alpha) for j in sizes for i in range(1, j))


@given(CLASS_SIZES)
@settings(max_examples=40, deadline=None)
def test_pitman_is_at_the_maximum_of_the_likelihood(sizes: list[int]) -> None:
    if len(sizes) == 1 or max(sizes) == 1:
        return
    theta, alpha = fit_pitman(ClassSizes.of(sizes))
    best = likelihood(sizes, theta, alpha)
    for step in (1e-3, 1e-2, 0.1):
        for t, a in ((step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)):
            other_theta, other_alpha = theta + t * (theta + alpha), alpha + a
            if 0 <= other_alpha < 1 and other_theta > -other_alpha:
                assert likelihood(sizes, other_theta, other_alpha) <= best + 1e-6


@pytest.mark.parametrize(("theta", "alpha"), [(5.0, 0.5), (300.0, 0.3), (20.0, 0.0)])
def test_expected_uniques_of_pitman_by_growing_a_population(theta: float, alpha: float) -> None:
    """E[S₁] person by person: a unique stays one unless the next person joins it."""
    expected = 1.0
    classes = 1.0
    for n in range(1, 400):
        fresh = (theta + alpha * classes) / (theta + n)
        expected, classes = expected * (1 - (1 - alpha) / (theta + n)) + fresh, classes + fresh
    assert expected_uniques(theta, alpha, 400) == pytest.approx(expected, rel=1e-9)


def test_pitman_finds_back_a_population_it_describes() -> None:
    rng = np.random.default_rng(7)
    theta, alpha, people = 200.0, 0.4, 20_000
    of_person = np.zeros(people, dtype=np.int64)
    classes = 1
    for n in range(1, people):
        if rng.random() < (theta + alpha * classes) / (theta + n):
            of_person[n], classes = classes, classes + 1
        else:
            joined = of_person[rng.integers(n)]
            while rng.random() < alpha / np.count_nonzero(of_person[:n] == joined):
                joined = of_person[rng.integers(n)]
            of_person[n] = joined
    truth = int((np.bincount(of_person) == 1).sum())
    sample = rng.choice(of_person, people // 20, replace=False)
    estimate = pitman(ClassSizes.of(np.bincount(sample)), 0.05)
    assert estimate.uniques == pytest.approx(truth, rel=0.25)


@pytest.mark.parametrize(("alpha", "beta", "f"), [(0.4, 0.3, 0.2), (2.5, 0.6, 0.5), (1, 0.1, 0.9)])
def test_snb_probabilities_add_up_the_population(alpha: float, beta: float, f: float) -> None:
    def size(j: int) -> float:
        log = math.lgamma(alpha + j - 1) - math.lgamma(alpha) - math.lgamma(j)
        return math.exp(log) * beta**alpha * (1 - beta) ** (j - 1)

    leaving_one = sum(size(j) * j * f * (1 - f) ** (j - 1) for j in range(1, 900))
    two = sum(size(j) * math.comb(j, 2) * f * f * (1 - f) ** (j - 2) for j in range(2, 900))
    assert leaves_one(alpha, beta, f) == pytest.approx(leaving_one)
    assert leaves_two(alpha, beta, f) == pytest.approx(two)


@given(CLASS_SIZES, st.sampled_from([0.001, 0.05, 0.3, 0.8, 1.0]))
@settings(deadline=None)
def test_snb_solves_its_equations_or_says_that_it_cannot(sizes: list[int], f: float) -> None:
    estimate = snb(ClassSizes.of(sizes), f)
    if not estimate.is_available:
        assert estimate.reason
        return
    if not sizes.count(1):
        return
    p = estimate.parameters
    f = sum(sizes) / ClassSizes.of(sizes).population(f)
    ones = p["classes"] * leaves_one(p["alpha"], p["beta"], f)
    twos = p["classes"] * leaves_two(p["alpha"], p["beta"], f)
    assert ones == pytest.approx(sizes.count(1), rel=1e-4)
    assert twos == pytest.approx(sizes.count(2), rel=1e-4)


def test_snb_and_zayatz_find_back_a_large_sample() -> None:
    rng = np.random.default_rng(3)
    population = 1 + rng.negative_binomial(0.5, 0.3, 30_000)
    sample = rng.binomial(population, 0.4)
    sizes = ClassSizes.of(sample)
    truth = int((population == 1).sum())
    assert population_classes(sizes, 0.4) == pytest.approx(30_000, rel=0.1)
    assert snb(sizes, sample.sum() / population.sum()).uniques == pytest.approx(truth, rel=0.15)


def test_no_estimate_is_nan_with_a_reason_and_never_zero() -> None:
    unique = ClassSizes.of([1] * 20)
    for estimate in (pitman(unique, 0.01), snb(unique, 0.01)):
        assert math.isnan(estimate.uniques)
        assert math.isnan(estimate.share)
        assert estimate.reason
    believed = estimate_population_uniqueness(unique, 0.01)["dankar"]
    assert believed.estimator == "dankar: zayatz"
    assert "pitman has no estimate" in believed.reason


def test_nobody_is_unique_where_no_row_is() -> None:
    for estimate in assess([2, 2, 3], None, 0.01).population_uniques.values():
        assert estimate.uniques == 0
        assert estimate.reason


def test_dankars_rule() -> None:
    def estimate(name: str, uniques: float) -> UniquenessEstimate:
        return UniquenessEstimate(name, uniques, uniques / 100, "")

    of_pitman, low, high = estimate("pitman", 9.0), estimate("snb", 3.0), estimate("zayatz", 5.0)
    assert choose_estimate(of_pitman, high, low, 0.1).estimator == "dankar: pitman"
    assert choose_estimate(of_pitman, high, low, 0.11).estimator == "dankar: snb"
    assert choose_estimate(of_pitman, estimate("zayatz", 2.0), low, 0.5).uniques == 2.0
    assert choose_estimate(of_pitman, high, estimate("snb", math.nan), 0.5).uniques == 5.0


def test_every_estimate_states_its_assumptions() -> None:
    for estimate in assess([1, 1, 1, 2, 3], None, 0.05).population_uniques.values():
        assert "sampl" in estimate.assumptions


def test_adult_as_arx() -> None:
    """ARX 3.9.2 prints 0 for the slide negative binomial, its mark for no convergence."""
    codes = adult_codes()
    sizes = np.unique(codes, axis=1, return_counts=True)[1]
    risk = assess(sizes, None, codes.shape[1] / USA)
    shares = {name: e.share for name, e in risk.population_uniques.items()}
    assert risk.rows == 30_162
    assert risk.marketer == pytest.approx(0.6466, abs=5e-5)
    assert risk.unique_share == pytest.approx(0.514, abs=5e-4)
    assert shares["pitman"] == pytest.approx(0.039, abs=5e-4)
    assert shares["zayatz"] == pytest.approx(0.265, abs=5e-4)
    assert shares["dankar"] == shares["pitman"]
    assert 0 < shares["snb"] < shares["zayatz"]


# Subsets of columns


def by_hand(rows: list[tuple[int, ...]], columns: tuple[int, ...]) -> tuple[int, int]:
    counts = Counter(tuple(row[c] for c in columns) for row in rows)
    return sum(n == 1 for n in counts.values()), len(counts)


@given(
    st.integers(1, 4).flatmap(
        lambda q: st.lists(st.tuples(*[st.integers(0, 3)] * q), min_size=1, max_size=30)
    )
)
@settings(deadline=None)
def test_subsets_by_hand(rows: list[tuple[int, ...]]) -> None:
    keys = np.array(rows, dtype=np.uint8).T
    subset_list = subset_risks(keys, [4] * len(keys), np.ones(len(rows), dtype=np.int64))
    every = [c for k in range(1, len(keys) + 1) for c in combinations(range(len(keys)), k)]
    assert [subset.columns for subset in subset_list] == every
    for subset in subset_list:
        assert (subset.uniques, subset.classes) == by_hand(rows, subset.columns)
        assert subset.rows == len(rows)


def test_subsets_count_people_not_entries() -> None:
    (subset,) = subset_risks(np.array([[0, 1, 2]]), [3], np.array([1, 2, 1]))
    assert (subset.uniques, subset.classes, subset.rows) == (2, 3, 4)
    assert subset.average_class == pytest.approx(4 / 3)
    assert subset.marketer == 0.75
    assert subset.unique_share == 0.5


def test_many_or_wide_columns() -> None:
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 60_000, (14, 50))
    keys[:, 25:] = keys[:, :25]
    keys[0, 0] = 1
    subset_list = subset_risks(keys, [60_000] * 14, np.ones(50, dtype=np.int64))
    assert {len(s.columns) for s in subset_list} == {1, 2, 3, 13, 14}
    assert subset_list[-1].columns == tuple(range(14))
    rows = [tuple(row) for row in keys.T.tolist()]
    for subset in subset_list[::40] + subset_list[-15:]:
        assert (subset.uniques, subset.classes) == by_hand(rows, subset.columns)


def test_a_large_tally_is_restricted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsets, "WORK", 10)
    keys = np.eye(5, dtype=np.int64)
    subset_list = subset_risks(keys, [2] * 5, np.ones(5, dtype=np.int64))
    assert len(subset_list) == 5 + 10 + 10 + 5 + 1
    assert subset_risks(keys[:, :0], [2] * 5, np.zeros(0, dtype=np.int64)) == []


def test_adult_has_511_subsets() -> None:
    codes = adult_codes()
    subset_list = subset_risks(
        codes, codes.max(axis=1) + 1, np.ones(codes.shape[1], dtype=np.int64)
    )
    assert len(subset_list) == 511
    assert (subset_list[-1].uniques, subset_list[-1].classes) == (15_512, 19_502)
