"""What a validation found: settings, what came true in each, and every estimator's score.

error (MAE)   mean of |estimated - real| over the settings, in shares of classes
bias          mean of estimated - real
correlation   of estimated and real over the settings
covered       share of the settings whose real risk lies in the estimate's interval, nine in
              ten where it is right
Brier score   mean over all classes of (chance - what came true)²; Brier, Verification of
              forecasts expressed in terms of probability, 1950
reliability   classes in ten bins by their chance: the mean chance, and how many came true
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.release import EDITION, to_json_value
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.simulation import MIN_REPEATS
from shoal.reports.document import Page
from shoal.reports.pages.forecast import render_validation

BINS = 10


@dataclass(frozen=True)
class Trial:
    """One setting: what came true, and what each estimator said; shares of classes."""

    seed: int
    overlap: int
    k: int
    l: int
    classes: int
    real: float
    estimated: Mapping[str, float]
    interval: tuple[float, float] | None = None
    """The simulation's, where there were enough repeats for one."""


@dataclass(frozen=True)
class Bin:
    """The classes whose chance lies between two tenths."""

    low: float
    high: float
    classes: int
    expected: float | None
    """The mean chance of these classes; None where there are none."""
    exposed: float | None
    """The share of them that came to be exposed."""


@dataclass(frozen=True)
class Score:
    """How well one estimator did over all settings."""

    mae: float
    bias: float
    correlation: float | None
    """None where the real or the estimated risk is the same in all settings."""
    brier: float
    covered: float | None
    """The share of trials whose real risk lies in the interval; None where there is none."""
    reliability: tuple[Bin, ...]


@dataclass(frozen=True, eq=False)
class Validation:
    """Estimators held against releases that were really made."""

    on: str
    rows: int
    """How many rows the table has."""
    settings: Mapping[str, Any]
    trials: tuple[Trial, ...]
    scores: Mapping[str, Score]
    notes: tuple[str, ...] = ()
    by_column: tuple[Validation, ...] = ()
    """Where several columns were tried: each, the one that was forecast worst first."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edition": EDITION,
            "on": self.on,
            "rows": self.rows,
            "settings": to_json_value(self.settings),
            "scores": {name: to_json_value(asdict(score)) for name, score in self.scores.items()},
            "trials": [to_json_value(asdict(trial)) for trial in self.trials],
            "notes": list(self.notes),
            "by_column": [validation.to_json() for validation in self.by_column],
        }

    def page(self) -> Page:
        """The validation as a page: estimated against real, and reliability."""
        return render_validation(self.to_json())

    def __str__(self) -> str:
        real = 100 * np.array([trial.real for trial in self.trials])
        lines = [
            f"{len(self.trials):,} trials on samples of {self.settings['size']:,} of {self.rows:,} "
            f"rows: {real.min():.2f} to {real.max():.2f} % of the classes were exposed, "
            f"{real.mean():.2f} % on average.",
            "",
            f"{'estimator':20}{'error':>8}{'bias':>8}{'corr.':>8}{'Brier':>8}{'covered':>9}",
        ]
        for name, score in self.scores.items():
            alike = "–" if score.correlation is None else f"{score.correlation:.3f}"
            error, bias = f"{100 * score.mae:.2f}", f"{100 * score.bias:+.2f}"
            inside = "–" if score.covered is None else f"{score.covered:.0%}"
            lines.append(f"{name:20}{error:>8}{bias:>8}{alike:>8}{score.brier:>8.4f}{inside:>9}")
        return "\n".join([*lines, "", *self.legend, *self.notes])

    @property
    def legend(self) -> tuple[str, ...]:
        """What the columns of scores mean."""
        few = any(trial.interval is None for trial in self.trials)
        return (
            "Error and bias in percentage points of classes; Brier score over classes, 0 is best.",
            f"No interval was told: it takes {MIN_REPEATS} repeats."
            if few
            else "Covered: trials whose real risk lay in the interval told; nine in ten should.",
        )


def select_worst_validation(each: Sequence[Validation]) -> Validation:
    """The column of which the estimate to go by, the first, was the furthest from the truth."""
    ranked = sorted(
        each, key=lambda validation: next(iter(validation.scores.values())).mae, reverse=True
    )
    return ranked[0] if len(ranked) == 1 else replace(ranked[0], by_column=tuple(ranked))


@dataclass(frozen=True, eq=False)
class TrialOutcome:
    """A trial with all its classes: who was exposed, and what the estimators said before."""

    trial: Trial
    exposed: NDArray[np.bool_]
    estimates: Sequence[ExposureEstimate]


def score_estimators(outcomes: Sequence[TrialOutcome]) -> dict[str, Score]:
    """Every estimator's score over all trials and all their classes."""
    real = np.array([outcome.trial.real for outcome in outcomes])
    truth = np.concatenate([outcome.exposed for outcome in outcomes])
    scores = {}
    for at, estimate in enumerate(outcomes[0].estimates):
        risk = np.array([outcome.estimates[at].risk for outcome in outcomes])
        chance = np.concatenate([outcome.estimates[at].classes for outcome in outcomes])
        varied = real.std() > 0 and risk.std() > 0
        scores[estimate.name] = Score(
            float(np.abs(risk - real).mean()),
            float((risk - real).mean()),
            float(np.corrcoef(risk, real)[0, 1]) if varied else None,
            float(((chance - truth) ** 2).mean()),
            _measure_coverage([outcome.estimates[at].interval for outcome in outcomes], real),
            _bin_by_chance(chance, truth),
        )
    return scores


def _measure_coverage(
    intervals: Sequence[tuple[float, float] | None], real: NDArray[np.float64]
) -> float | None:
    """How many of the intervals hold what came true, of those that there are."""
    holds = [
        low_high[0] <= risk <= low_high[1]
        for low_high, risk in zip(intervals, real, strict=True)
        if low_high is not None
    ]
    return sum(holds) / len(holds) if holds else None


def _bin_by_chance(chance: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[Bin, ...]:
    """Classes in bins of equal width by their chance; the last holds certainty too."""
    at = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(at, minlength=BINS)
    sums = (np.bincount(at, weights, BINS) for weights in (chance, truth.astype(np.float64)))
    expected, exposed = (
        [float(sum_ / n) if n else None for sum_, n in zip(total, count, strict=True)]
        for total in sums
    )
    return tuple(
        Bin(i / BINS, (i + 1) / BINS, int(count[i]), expected[i], exposed[i]) for i in range(BINS)
    )
