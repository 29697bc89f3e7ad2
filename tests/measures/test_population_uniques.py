"""Pitman's estimate is the highest point of its likelihood, and near the truth of populations."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.adult_nine import ADULT_NINE

from shoal.measures.risk.assessment import estimate_population_uniqueness
from shoal.measures.risk.pitman import best_thetas, fit_pitman, log_likelihood, pitman
from shoal.measures.risk.sizes import ClassSizes
from shoal.measures.risk.snb import snb
from shoal.measures.risk.zayatz import zayatz

RISK_PAGE = Path(__file__).parents[2] / "docs/theory/risk.md"
SAMPLES = 5
FEW_REPEATS = [1] * 80 + [2] * 2 + [3] * 2


def sum_logs(sizes: list[int], theta: float, alpha: float) -> float:
    """Pitman's formula factor by factor."""
    fresh = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
    drawn = sum(math.log(theta + i) for i in range(1, sum(sizes)))
    return fresh - drawn + sum(math.log(i - alpha) for size in sizes for i in range(1, size))


def highest_on_a_grid(sizes: list[int]) -> float:
    """The largest likelihood over a grid of both parameters that supposes nothing of its shape."""
    alphas = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-7, 9, 33)))])
    more = np.exp(np.linspace(-5, 2 * math.log(sum(sizes)) + 1, 45))
    alpha, theta = alphas[:, None, None], more[None, :, None] - alphas[:, None, None]
    fresh = np.log(theta + np.arange(1, len(sizes)) * alpha).sum(axis=-1)
    drawn = np.log(theta + np.arange(1, sum(sizes))).sum(axis=-1)
    joined = np.array([i for size in sizes for i in range(1, size)])
    return float((fresh - drawn + np.log(joined - alpha).sum(axis=-1)).max())


def draw_population(theta: float, alpha: float, people: int, seed: int) -> np.ndarray:
    """Each person's class, people entering by Pitman's formula (α = 0: Ewens's)."""
    rng = np.random.default_rng(seed)
    chances, picks = rng.random((people, 64)), rng.random((people, 64))
    of_person, sizes = [0], [1]
    for n in range(1, people):
        if chances[n, 0] < (theta + alpha * len(sizes)) / (theta + n):
            of_person.append(len(sizes))
            sizes.append(1)
            continue
        # A class of size j is joined in proportion to j - α: by a person, refused α in j times.
        joined = next(
            c
            for pick, chance in zip(picks[n], chances[n, 1:], strict=False)
            if chance >= alpha / sizes[c := of_person[int(pick * n)]]
        )
        of_person.append(joined)
        sizes[joined] += 1
    return np.array(of_person)


def adult_population(folder: Path) -> np.ndarray:
    """The class of each complete row of Adult's training part, by nine columns."""
    with gzip.open(folder / "adult.csv.gz", "rt") as file:
        header, *lines = (line.rstrip("\n").split(",") for line in file)
    complete = [row for row in lines if row[-1] == "train" and "?" not in row]
    places = [header.index(name) for name in ADULT_NINE]
    keys = ["\x1f".join(row[place] for place in places) for row in complete]
    return np.unique(keys, return_inverse=True)[1]


def sampled_shares(
    population: np.ndarray, fraction: float, estimator: Callable[..., object] = pitman
) -> tuple[float, list[float]]:
    """The true share of unique people, and the estimates from samples."""
    truth = float((np.bincount(population) == 1).sum() / len(population))
    estimates = []
    for seed in range(SAMPLES):
        rng = np.random.default_rng(seed)
        sample = rng.choice(population, round(len(population) * fraction), replace=False)
        estimates.append(estimator(ClassSizes.of(np.bincount(sample)), fraction).share)
    return truth, estimates


SIMULATED = {
    "Pitman θ = 200, α = 0.4": (200.0, 0.4),
    "Pitman θ = 50, α = 0.8": (50.0, 0.8),
    "Ewens θ = 5000": (5000.0, 0.0),
}


def printed_figures(row: str) -> list[float]:
    (line,) = (line for line in RISK_PAGE.read_text("utf-8").splitlines() if f"| {row} |" in line)
    return [float(number) for number in re.findall(r"0\.\d{3}", line)]


def check_printed(row: str, truth: float, estimates: list[float]) -> None:
    error = math.sqrt(sum((estimate - truth) ** 2 for estimate in estimates) / len(estimates))
    mean = sum(estimates) / len(estimates)
    assert printed_figures(row) == pytest.approx([truth, mean, error], abs=0.002), (
        f"{truth:.3f} | {mean:.3f} | {error:.3f}"
    )


def test_eighty_single_values_two_pairs_and_two_triples() -> None:
    estimate = pitman(ClassSizes.of(FEW_REPEATS), 0.05)
    assert estimate.share == pytest.approx(0.664, abs=5e-4)
    assert estimate.parameters["theta"] == pytest.approx(47, abs=0.1)
    assert estimate.parameters["alpha"] == pytest.approx(0.888, abs=5e-4)


@given(
    st.tuples(*(st.integers(0, most) for most in (60, 6, 3, 2, 1, 1))).filter(
        lambda numbers: sum(numbers) > 1 and sum(numbers[1:]) > 0
    )
)
@settings(max_examples=20, deadline=None)
def test_no_point_of_a_grid_over_both_parameters_is_higher(numbers: tuple[int, ...]) -> None:
    sizes = [s for s, times in zip((1, 2, 3, 4, 9, 40), numbers, strict=True) for _ in range(times)]
    theta, alpha = fit_pitman(ClassSizes.of(sizes))
    assert sum_logs(sizes, theta, alpha) >= highest_on_a_grid(sizes) - 1e-6


@pytest.mark.parametrize("sizes", [FEW_REPEATS, [1] * 9 + [2], [1, 5], [2, 2], [1] * 30 + [90]])
def test_the_likelihood_is_pitmans_formula(sizes: list[int]) -> None:
    counted = ClassSizes.of(sizes)
    for alpha in (0.0, 1e-5, 0.3, 0.999):
        thetas = best_thetas(counted, np.array([alpha]))
        by_factors = sum_logs(sizes, float(thetas[0]), alpha)
        assert log_likelihood(counted, thetas, np.array([alpha]))[0] == pytest.approx(by_factors)
        for factor in (0.9, 0.999, 1.001, 1.1):
            other = factor * (float(thetas[0]) + alpha) - alpha
            assert sum_logs(sizes, other, alpha) <= by_factors + 1e-9


def test_one_pair_among_a_million_single_values_has_an_estimate() -> None:
    estimate = pitman(ClassSizes.of([2] + [1] * 1_000_000), 0.01)
    assert estimate.is_available
    assert 0 < estimate.share <= 1
    assert math.isfinite(estimate.parameters["theta"])


@pytest.mark.parametrize("row", SIMULATED)
def test_simulated_populations_are_estimated_as_the_page_says(row: str) -> None:
    population = draw_population(*SIMULATED[row], 20_000, seed=1)
    truth, estimates = sampled_shares(population, 0.05)
    check_printed(row, truth, estimates)


@pytest.mark.parametrize("fraction", [0.05, 0.1])
def test_adult_is_estimated_as_the_page_says(real_data: Path, fraction: float) -> None:
    truth, estimates = sampled_shares(adult_population(real_data), fraction)
    assert truth == pytest.approx(0.514, abs=5e-4)
    assert min(estimates) > 0.4
    check_printed(
        f"Adult, nine columns, {fraction:.0%} sample".replace("%", " %"), truth, estimates
    )


def test_the_other_estimators_stay_between_nobody_and_everybody() -> None:
    rng = np.random.default_rng(2)
    for _ in range(150):
        numbers = rng.integers([1, 0, 0, 0, 0], [90, 20, 9, 4, 2])
        sizes = ClassSizes.of(np.repeat([1, 2, 3, 5, 40], numbers))
        for fraction in (0.001, 0.2, 0.9):
            for estimator in (zayatz, snb):
                estimate = estimator(sizes, fraction)
                assert estimate.reason if not estimate.is_available else 0 <= estimate.share <= 1


def test_without_a_solution_the_rule_names_what_stands_in() -> None:
    sizes = ClassSizes.of([1] * 50 + [3] * 4)
    assert not snb(sizes, 0.5).is_available
    believed = estimate_population_uniqueness(sizes, 0.5)["dankar"]
    assert believed.estimator == "dankar: zayatz"
    assert "no class has two rows" in believed.reason
