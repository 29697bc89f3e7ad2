"""The result of comparing both schools: loss and exposure of each guarantee, and a verdict.

Each rule of classes is set beside each form of noise, at the ε whose loss is the nearest to the
rule's. What is compared is what being in both tables adds to the share guessed right, seed by seed:
the halves of a seed are the same people under every guarantee.

Does not give: equal loss, where no ε that was tried comes near; both losses are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from shoal.core.release import EDITION, to_json_value
from shoal.reports.charts.side_by_side import (
    format_exact_share,
    format_gain,
    format_loss,
    summarise_comparison,
)
from shoal.reports.document import Page
from shoal.reports.pages.side_by_side import render_side_by_side

PARTITIONS, PRIVATE = "classes", "differential privacy"
"""The two schools."""


@dataclass(frozen=True)
class Figure:
    """A number over the seeds: its mean, the least and the most.

    >>> Figure.of([0.25, 0.5])
    Figure(mean=0.375, low=0.25, high=0.5)
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Figure:
        """Of one number for each seed."""
        return cls(math.fsum(numbers) / len(numbers), min(numbers), max(numbers))


@dataclass(frozen=True)
class GuaranteeOutcome:
    """One guarantee.

    ``right``, ``settled`` and ``sure`` are shares of the people who are in both releases,
    ``control`` and ``control_sure`` the shares guessed right, and surely, of people who are in
    neither.
    """

    name: str
    form: str
    epsilon: str | None = None
    """For each of the two releases."""
    loss: Figure | None = None
    """How far columns and pairs of columns have moved; None: no release was made."""
    noiseless: Figure | None = None
    """The loss without the noise: what its bins, or classes, cost alone."""
    width: Figure | None = None
    right: Figure | None = None
    control: Figure | None = None
    settled: Figure | None = None
    sure: Figure | None = None
    control_sure: Figure | None = None
    gains: tuple[float, ...] = ()
    """For each seed the share guessed right, beyond that of the control of the same seed."""
    bound: float | None = None
    """Under differential privacy: the largest share that could be guessed right."""
    seconds: float = 0.0
    """For all seeds together."""
    reason: str = ""
    """Why no release was made."""

    @property
    def school(self) -> str:
        """Which of the two schools it belongs to."""
        return PARTITIONS if self.epsilon is None else PRIVATE

    @property
    def added(self) -> Figure | None:
        """The share guessed right of people in both releases, beyond that of the control."""
        return Figure.of(self.gains) if self.gains else None

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        added = None if self.added is None else asdict(self.added)
        return {"school": self.school, **asdict(self), "added": added}


@dataclass(frozen=True)
class RuleComparison:
    """A rule of classes beside a form of noise: the names, losses, and what they add."""

    rule: str
    noise: str
    form: str
    epsilon: str
    losses: tuple[float, float]
    added: tuple[Figure, Figure]
    more: Figure
    """How much more the rule adds than the noise, by seeds."""

    @classmethod
    def of(cls, rule: GuaranteeOutcome, noise: GuaranteeOutcome) -> RuleComparison:
        """Two guarantees that were both made, for the same seeds."""
        assert rule.loss is not None
        assert noise.loss is not None
        assert rule.added is not None
        assert noise.added is not None
        more = [
            rule_gain - noise_gain
            for rule_gain, noise_gain in zip(rule.gains, noise.gains, strict=True)
        ]
        losses, added = (rule.loss.mean, noise.loss.mean), (rule.added, noise.added)
        return cls(
            rule.name, noise.name, noise.form, str(noise.epsilon), losses, added, Figure.of(more)
        )

    @property
    def worse(self) -> bool:
        """Whether the rule adds more in every seed."""
        return self.more.low > 0

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "worse": self.worse}


def compare_with_noise(outcomes: Sequence[GuaranteeOutcome]) -> tuple[RuleComparison, ...]:
    """Every rule with every form; the rule that adds most first, and its forms by their losses."""
    rules = [outcome for outcome in outcomes if outcome.school == PARTITIONS]
    forms = dict.fromkeys(outcome.form for outcome in outcomes if outcome.school != PARTITIONS)
    rules.sort(key=lambda rule: -_mean(rule.added))

    def nearest(form: str, loss: float) -> GuaranteeOutcome:
        same_form = (outcome for outcome in outcomes if outcome.form == form)
        return min(same_form, key=lambda outcome: abs(_mean(outcome.loss) - loss))

    return tuple(
        RuleComparison.of(rule, nearest(form, _mean(rule.loss))) for rule in rules for form in forms
    )


def _mean(figure: Figure | None) -> float:
    return 0.0 if figure is None else figure.mean


@dataclass(frozen=True)
class SideBySide:
    """Both schools on one table: loss against what two overlapping releases give away."""

    outcomes: tuple[GuaranteeOutcome, ...]
    column: str
    """The sensitive column that the adversary is after."""
    rows: tuple[int, int]
    """How many rows each of the two tables has."""
    people: int
    """How many people are in both."""
    control: int
    base: float
    """The share guessed right by the most common value."""
    seeds: int
    by_column: tuple[SideBySide, ...] = ()
    """Where several columns are sensitive: each, the worst first, which is this."""

    @property
    def most_added(self) -> float:
        """What being in both tables adds to what is guessed right, by the worst rule of classes."""
        gains = (
            outcome.added.mean
            for outcome in self.made
            if outcome.added and outcome.school == PARTITIONS
        )
        return max(gains, default=0.0)

    @property
    def made(self) -> tuple[GuaranteeOutcome, ...]:
        """Those whose releases could be made."""
        return tuple(outcome for outcome in self.outcomes if outcome.loss is not None)

    @property
    def compared(self) -> tuple[RuleComparison, ...]:
        """Each rule of classes beside each form of noise at about its loss."""
        return compare_with_noise(self.made)

    @property
    def holds(self) -> bool | None:
        """Whether the paper's conclusion holds here; None: one seed, or one school, does not tell.

        Of the rule of classes that adds most: being in both tables adds more under it than under
        each form of noise at about its loss, in every seed.
        """
        comparisons = self.compared
        if not comparisons or self.seeds < 2:
            return None
        return all(
            comparison.worse for comparison in comparisons if comparison.rule == comparisons[0].rule
        )

    @property
    def sentence(self) -> str:
        """What stands above the chart."""
        return (
            f"{summarise_comparison(self.to_json())}." if self.made else "No release could be made."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edition": EDITION,
            "column": self.column,
            "rows": list(self.rows),
            "people": self.people,
            "control": self.control,
            "base": self.base,
            "seeds": self.seeds,
            "holds": self.holds,
            "compared": [to_json_value(comparison.to_json()) for comparison in self.compared],
            "outcomes": [to_json_value(outcome.to_json()) for outcome in self.outcomes],
            "by_column": [column_result.in_short() for column_result in self.by_column],
        }

    def in_short(self) -> dict[str, Any]:
        """What came of one of several columns, in plain values."""
        added, holds = self.most_added, self.holds
        return {"column": self.column, "base": self.base, "added": added, "holds": holds}

    def page(self) -> Page:
        """The page that tells it."""
        return render_side_by_side(self.to_json())

    def __str__(self) -> str:
        head = (
            f"Two tables of {self.rows[0]:,} and {self.rows[1]:,} rows that share {self.people:,} "
            f"people; {self.column} guessed right, joined "
            f"(most common value: {format_exact_share(self.base)})"
        )
        rows = [_HEAD, *map(_row, self.made)]
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        table = [
            "  ".join(
                cell.ljust(width) if at == 0 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        missing = [
            f"not made: {outcome.name}: {outcome.reason}"
            for outcome in self.outcomes
            if outcome.reason
        ]
        columns = [
            f"{each.column}: being in both tables adds up to {100 * each.most_added:.1f} points by "
            f"classes (most common value: {format_exact_share(each.base)})"
            for each in self.by_column
        ]
        return "\n".join([*columns, head, *table, *missing])


def select_worst_comparison(each: Sequence[SideBySide]) -> SideBySide:
    """The column by which being in both tables adds most under classes, with all of them."""
    ranked = sorted(each, key=lambda result: result.most_added, reverse=True)
    return ranked[0] if len(ranked) == 1 else replace(ranked[0], by_column=tuple(ranked))


_HEAD = ("guarantee", "loss", "no noise", "right", "control", "added", "settled", "sure", "at most")


def _row(outcome: GuaranteeOutcome) -> tuple[str, ...]:
    values = outcome.to_json()
    return (
        outcome.name,
        format_loss(values["loss"]),
        "" if outcome.noiseless is None else format_loss(values["noiseless"]),
        *(_share(share) for share in (outcome.right, outcome.control)),
        format_gain(values["added"], len(outcome.gains)),
        *(_share(share) for share in (outcome.settled, outcome.sure)),
        "" if outcome.bound is None else format_exact_share(outcome.bound),
    )


def _share(figure: Figure | None) -> str:
    return "" if figure is None else format_exact_share(figure.mean)
