"""Auditing: how private a mechanism can be at most, found out by running it.

A mechanism M is (ε, δ)-differentially private if for all neighbouring tables D, D' and all events E

    P[M(D) in E]  <=  e^ε P[M(D') in E] + δ

so that any two tables and any event prove a lower bound: ε >= ln((P[M(D) in E] - δ) / P[M(D') in
E]). Both chances are estimated by runs: Clopper and Pearson (1934) bound the first from below and
the second from above, each with half of the doubt, so that the bound on ε holds with the stated
confidence, whatever the mechanism is.

Ding, Wang, Wang, Zhang, Kifer: Detecting violations of differential privacy, CCS 2018.
Jagielski, Ullman, Oprea: Auditing differentially private machine learning, NeurIPS 2020.

The event is a threshold on one of a few statistics of the output (`OutputStatistics`). It is chosen
on the first half of the runs and counted on the second, so that the choice does not flatter; either
table may be the likelier one. A bound above the claimed ε disproves the claim. One below it proves
nothing: other tables, another event or more runs may show more, and so many runs never show more
than ``most``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.errors import UsageError
from shoal.core.model import parse_whole_number
from shoal.core.release import EDITION, to_json_value
from shoal.core.spend import Number, Spend, parse_spend

# Lower bounds on ε and ρ, from how often an event happens


MAX_THRESHOLDS = 250
"""At most so many thresholds of a statistic are tried."""
ORDERS = np.concatenate((1 + np.geomspace(1e-3, 1, 8), np.geomspace(2.5, 100, 16)))
"""The orders α of divergence that ρ is bounded by."""


@dataclass(frozen=True)
class ThresholdEvent:
    """A statistic at or beyond a level: what it proves, and of which table it is the likelier."""

    bound: float
    statistic: int
    level: float
    above: bool
    of_other: bool

    def counts(
        self, before_runs: NDArray[np.float64], after_runs: NDArray[np.float64]
    ) -> tuple[int, int]:
        """How often it happens: on the table of which it is the likelier, and on the other."""
        first, second = (after_runs, before_runs) if self.of_other else (before_runs, after_runs)
        return self._often(first), self._often(second)

    def _often(self, runs: NDArray[np.float64]) -> int:
        values = runs[:, self.statistic]
        return int((values >= self.level if self.above else values <= self.level).sum())


@dataclass(frozen=True)
class BoundMaker:
    """How a bound is made of two counts: the δ that is taken off, the doubt of each count."""

    delta: float
    doubt: float
    concentrated: bool
    """Whether events are chosen by what they say of ρ."""

    def epsilon(self, hits: Any, other: Any, runs: int) -> NDArray[np.float64]:
        """Lower bounds on ε where an event happens so often on one table and on the other."""
        likely = np.maximum(bound_share_below(hits, runs, self.doubt) - self.delta, 0)
        with np.errstate(divide="ignore"):  # what proves nothing is minus infinity
            return np.asarray(np.log(likely / bound_share_above(other, runs, self.doubt)))

    def rho(self, hits: Any, other: Any, runs: int) -> NDArray[np.float64]:
        """Lower bounds on ρ, by the best of several orders; 0 where nothing is proven.

        With δ > 0 a bound on ε says little: Gaussian noise spends its ε on events as rare as δ.
        Where ρ of zero-concentrated privacy is claimed too, the same event bounds that: what is
        left of an output after asking for one event is no further apart than the outputs, so that
        for all α > 1 ρ >= D_α(P[M(D) in E] ‖ P[M(D') in E]) / α, D_α the Rényi divergence of two
        coins (Bun, Steinke: Concentrated differential privacy, TCC 2016).
        """
        p, q = bound_share_below(hits, runs, self.doubt), bound_share_above(other, runs, self.doubt)
        p = np.maximum(p, q)  # equal coins: nothing
        p, q = (np.clip(side, 1e-12, 1 - 1e-12)[..., np.newaxis] for side in (p, q))
        up = ORDERS * np.log(p) + (1 - ORDERS) * np.log(q)
        down = ORDERS * np.log1p(-p) + (1 - ORDERS) * np.log1p(-q)
        return np.asarray((np.logaddexp(up, down) / (ORDERS - 1) / ORDERS).max(axis=-1))

    def best(
        self, before_runs: NDArray[np.float64], after_runs: NDArray[np.float64], statistic: int
    ) -> ThresholdEvent:
        """The event of a statistic that proves most on these runs."""
        sides = [np.sort(side[:, statistic]) for side in (before_runs, after_runs)]
        runs, levels = len(before_runs), np.unique(np.concatenate(sides))
        levels = levels[np.unique(np.linspace(0, len(levels) - 1, MAX_THRESHOLDS).astype(int))]
        bound = self.rho if self.concentrated else self.epsilon
        above = [runs - np.searchsorted(side, levels, "left") for side in sides]
        below = [np.searchsorted(side, levels, "right") for side in sides]
        bounds = np.array(
            [
                bound(tail[of_other], tail[1 - of_other], runs)
                for tail in (above, below)
                for of_other in (0, 1)
            ]
        )
        row, at = divmod(int(bounds.argmax()), len(levels))
        return ThresholdEvent(
            float(bounds[row, at]), statistic, float(levels[at]), row < 2, row % 2 == 1
        )


def bound_share_below(hits: ArrayLike, runs: int, doubt: float) -> NDArray[np.float64]:
    """The lower end of a share by Clopper and Pearson, missed with a chance of ``doubt`` at most.

    >>> bound_share_below([0, 10], 10, 0.05).round(4).tolist()
    [0.0, 0.7411]
    """
    from scipy.special import betaincinv

    happened = np.asarray(hits)
    low = betaincinv(np.maximum(happened, 1), runs - happened + 1, doubt)
    return np.where(happened > 0, low, 0.0)


def bound_share_above(hits: ArrayLike, runs: int, doubt: float) -> NDArray[np.float64]:
    """The upper end of a share.

    >>> bound_share_above([0, 10], 10, 0.05).round(4).tolist()
    [0.2589, 1.0]
    """
    return 1.0 - bound_share_below(runs - np.asarray(hits), runs, doubt)


# What is looked at in the outputs of a mechanism


EVENTS = (
    "the sum of the person's cells",
    "which table the person's cells are nearer to",
    "in how many cells one table is met exactly",
    "the person's cells beside the others",
    "which cells are printed",
    "in how many of all cells a table is met exactly",
    "all cells, weighed as other runs tell",
)
"""What is looked at where nobody says: the best of them is chosen."""
FITTED = EVENTS[-1:]
"""Those that are learnt from outputs."""
MIN_STANDARD_ERRORS, MAX_WEIGHED_CELLS = 2.5, 100
"""A cell is weighed where its means differ by so many standard errors; at most so many cells."""
OWN_NOISE = 0.1
"""The share of a cell's covariance with others that is taken for chance."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RunOutputs:
    """What runs published: a row of cells for each, NaN where a cell is not printed."""

    cells: Floats
    lengths: NDArray[np.int64]
    """How many cells each run printed, where they are not even as many as there are."""

    @classmethod
    def of(cls, outputs: Sequence[Any], size: int) -> RunOutputs:
        """The outputs of runs on a table of so many cells; of other lengths only that is known."""
        rows = [np.asarray(output, np.float64).ravel() for output in outputs]
        lengths = np.array([len(row) for row in rows])
        cells = np.full((len(rows), size), np.nan)
        for row, into in zip(rows, cells, strict=True):
            if len(row) == size:
                into[:] = row
        return cls(cells, lengths)

    @classmethod
    def joined(cls, parts: Sequence[RunOutputs]) -> RunOutputs:
        """Several, one after the other."""
        cells, lengths = ([getattr(part, name) for part in parts] for name in ("cells", "lengths"))
        return cls(np.concatenate(cells), np.concatenate(lengths))


@dataclass(frozen=True)
class OutputStatistics:
    """Numbers that may tell two tables apart, of each output, in the order of ``EVENTS``.

    The person's own cells are those in which the two tables differ. Sum and nearness are the
    likelihood ratios of Gaussian and of Laplace noise, meeting exactly that of randomised response;
    the person's cells beside the others betray noise that is used twice. Two look at all cells: a
    linear separator, learnt from runs that nothing else is decided by, sees what leaks into cells
    that the person is not in; cells that are met exactly, the person's and all others together,
    betray counts that are now and then published without noise.

    It does not see what none of these numbers shows: a leak into the variance of a cell, into the
    order of rows, or into two cells together of which each alone is as it should be.
    """

    before: Floats
    after: Floats
    weights: Floats
    """Of all cells, and of whether each is printed."""

    @classmethod
    def of(
        cls, before: NDArray[Any], after: NDArray[Any], one: RunOutputs, other: RunOutputs
    ) -> OutputStatistics:
        """Looks at two tables; weights are learnt from outputs of the one and of the other."""
        unfitted = cls(before.astype(np.float64), after.astype(np.float64), np.zeros(0))
        weights = fit_separator(unfitted._features(one), unfitted._features(other))
        return cls(unfitted.before, unfitted.after, weights)

    def __call__(self, outputs: RunOutputs) -> Floats:
        """A row of statistics for each output."""
        own = self.before != self.after
        here, there, cells = self.before[own], self.after[own], self._fill(outputs)
        mine, others = cells[:, own], cells[:, ~own] - self.before[~own]
        noise = others.mean(axis=1) if others.shape[1] else np.zeros(len(cells))
        side, whole = np.sign(there - here), outputs.lengths == len(own)
        met_there, met_here = mine == there, mine == here
        which = met_there.all(axis=1) * 1.0 - met_here.all(axis=1)
        statistics = (
            (mine - (here + there) / 2) @ (there - here),
            (np.abs(mine - here) - np.abs(mine - there)).sum(axis=1),
            met_there.sum(axis=1) - met_here.sum(axis=1),
            np.round((side * (mine - here)).mean(axis=1) - side.mean() * noise, 9),
            np.where(whole, np.isfinite(outputs.cells[:, own]).sum(axis=1), outputs.lengths),
            which * (1 + (others == 0).sum(axis=1)),
            np.round(self._features(outputs) @ self.weights, 9),
        )
        return np.stack(statistics, axis=1).astype(np.float64)

    def _fill(self, outputs: RunOutputs) -> Floats:
        """The cells, with what says nothing of either table where none is printed."""
        middle = (self.before + self.after) / 2
        middle[self.before == self.after] += 0.5  # not met exactly
        return np.where(np.isnan(outputs.cells), middle, outputs.cells)

    def _features(self, outputs: RunOutputs) -> Floats:
        printed = np.isfinite(outputs.cells)
        middle = (self.before + self.after) / 2
        return np.hstack([np.where(printed, outputs.cells - middle, 0.0), printed])


def fit_separator(one: Floats, other: Floats) -> Floats:
    """The weights of Fisher's linear separator of two sets of rows; 0 for what tells nothing.

    Fisher: The use of multiple measurements in taxonomic problems, 1936.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(2, 500, 3))
    >>> (fit_separator(noise[0], noise[1] + [0, 1, 0]) > 0.3).tolist()
    [False, True, False]
    """
    difference = other.mean(axis=0) - one.mean(axis=0)
    error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other)) + 1e-9
    weights, significance = np.zeros(one.shape[1]), np.abs(difference) / error
    used = np.flatnonzero(significance > MIN_STANDARD_ERRORS)
    used = used[np.argsort(-significance[used], kind="stable")[:MAX_WEIGHED_CELLS]]
    if len(used):
        within = sum(np.atleast_2d(np.cov(side[:, used], rowvar=False)) for side in (one, other))
        own = np.diag(np.diag(within) + 1e-6)
        shrunk = (1 - OWN_NOISE) * within + OWN_NOISE * own
        weights[used] = np.linalg.solve(shrunk, difference[used])
    return weights


# The audit


Mechanism = Callable[[NDArray[np.int64], np.random.Generator | None], ArrayLike]
"""From counts (or codes) to what is published of them; a cell that is not printed is NaN.

Of many runs at once: from an array of runs × cells to one of the same shape.
"""
Statistic = Callable[[Any], float]
"""A number that an adversary makes of what is published."""

RUNS, MIN_RUNS = 4_000, 100
RUNS_PER_REPORT = 100
"""So many runs, one by one, between two words about progress."""
CONFIDENCE = 0.99


@dataclass(frozen=True)
class EpsilonAudit:
    """What runs on two neighbouring tables show of a mechanism's ε."""

    epsilon_low: float
    """ε is no smaller than this, with the confidence."""
    claimed: Spend
    runs: int
    """Runs on each of the two tables; the event is counted on half of them."""
    confidence: float
    most: float
    """The largest bound that so many runs can show, of a mechanism without any privacy."""
    event: str
    """The statistic that tells the tables apart best."""
    hits: tuple[int, int]
    """In how many of the counted runs the event happened: of the likelier table, of the other."""
    rho_low: float | None = None
    """ρ is no smaller than this, where one is claimed."""

    @property
    def holds(self) -> bool:
        """Whether the claimed ε withstood it."""
        return self.epsilon_low <= self.claimed.epsilon and self._holds_rho

    @property
    def _holds_rho(self) -> bool:
        claimed, low = self.claimed.rho, self.rho_low
        return claimed is None or low is None or low <= claimed

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edition": EDITION,
            "epsilon_low": self.epsilon_low,
            "claimed": self.claimed.to_json(),
            "holds": self.holds,
            "confidence": to_json_value(self.confidence),
            "runs": to_json_value(self.runs),
            "most": to_json_value(self.most),
            "event": self.event,
            "hits": list(self.hits),
            "rho_low": to_json_value(self.rho_low),
        }

    def __str__(self) -> str:
        against = "within" if self.holds else "MORE THAN"
        return (
            f"ε is at least {self.epsilon_low:.3g}, {against} the claimed {self.claimed} "
            f"({self.confidence:.4g} sure, by {self.runs:,} runs on each table, which can show "
            f"at most {self.most:.3g})"
        )


def audit_epsilon(
    mechanism: Mechanism,
    before: ArrayLike,
    after: ArrayLike,
    epsilon: Number,
    delta: Number = 0,
    *,
    rho: Number | None = None,
    runs: int = RUNS,
    at_once: int = 1,
    confidence: float = CONFIDENCE,
    statistic: Statistic | None = None,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> EpsilonAudit:
    """Run a mechanism on two neighbouring tables, and bound its ε from below.

    Parameters
    ----------
    mechanism : callable
        Called with one of the tables and a random generator (None without a ``seed``); returns
        what it publishes.
    before, after : array_like
        Counts (or codes) that one person makes different.
    epsilon, delta : number
        The privacy that is claimed.
    rho : number, optional
        The zero-concentrated privacy that is claimed too, as it is of Gaussian noise.
    runs : int
        How often the mechanism is run on each table.
    at_once : int
        Above 1 the mechanism is called with so many copies, a row each, and returns a row for each:
        noise that is drawn in one call is drawn sooner.
    confidence : float
        The chance with which the bounds hold.
    statistic : callable, optional
        Makes a number of one output; without it a few common ones are tried.
    seed : int, optional
        Makes the runs repeatable.
    progress : callable, optional
        Called with a step, how many runs are done and how many there are.

    Returns
    -------
    EpsilonAudit
        The bounds, and whether the claim withstood them.

    Raises
    ------
    UsageError
        Where the tables are no neighbours, or a parameter is out of its range.

    Examples
    --------
    >>> def bare(counts, rng):
    ...     return counts
    >>> audit_epsilon(bare, [3, 5], [3, 6], epsilon=1).holds
    False
    """
    spend, runs = parse_spend(epsilon, delta), parse_whole_number(runs, "runs", MIN_RUNS)
    claimed = Spend(spend.epsilon, spend.delta, rho)
    at_once = parse_whole_number(at_once, "at_once", 1)
    if not 0 < confidence < 1:
        raise UsageError("A confidence is between 0 and 1.", "write for example confidence=0.99.")
    rng = None if seed is None else np.random.default_rng(seed)
    running = _Running(mechanism, _neighbours(before, after), rng, at_once, statistic is not None)
    report = progress or (lambda step, done, of: None)
    before_runs, after_runs = _collect_statistics(running, runs, statistic, report)
    return _choose_and_count(
        before_runs, after_runs, claimed, confidence, EVENTS if statistic is None else ("",)
    )


def _neighbours(before: ArrayLike, after: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    first, second = (np.asarray(table, np.int64).ravel() for table in (before, after))
    if len(first) != len(second) or np.array_equal(first, second):
        raise UsageError(
            "Two neighbouring tables have the same cells, and differ in some of them.",
            "give the counts with a person and the counts without.",
        )
    return first, second


@dataclass(frozen=True)
class _Running:
    """A mechanism on two tables in turns, so that what changes with time hurts both alike."""

    mechanism: Mechanism
    tables: tuple[NDArray[np.int64], NDArray[np.int64]]
    rng: np.random.Generator | None
    at_once: int
    bare: bool
    """Whether somebody's own statistic is to see the outputs, whatever they are."""

    def parts(self, runs: int) -> Iterator[tuple[Any, Any]]:
        """The outputs of so many runs on each of the tables, some runs after the other."""
        done, batch = 0, RUNS_PER_REPORT if self.at_once == 1 else self.at_once
        while done < runs:
            number = min(batch, runs - done)
            yield self._run_singly(number) if self.at_once == 1 else self._run_in_batch(number)
            done += number

    def _run_singly(self, runs: int) -> tuple[Any, Any]:
        pair: tuple[list[Any], list[Any]] = ([], [])
        for _ in range(runs):
            for table, outputs in zip(self.tables, pair, strict=True):
                outputs.append(self.mechanism(table.copy(), self.rng))
        return pair if self.bare else (self._outputs(pair[0]), self._outputs(pair[1]))

    def _run_in_batch(self, runs: int) -> tuple[Any, Any]:
        first, second = (
            list(np.asarray(self.mechanism(np.tile(table, (runs, 1)), self.rng)))
            for table in self.tables
        )
        return (first, second) if self.bare else (self._outputs(first), self._outputs(second))

    def _outputs(self, outputs: Sequence[Any]) -> RunOutputs:
        return RunOutputs.of(outputs, len(self.tables[0]))


def _collect_statistics(
    running: _Running,
    runs: int,
    statistic: Statistic | None,
    progress: Callable[[str, int, int], None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The statistics of all runs on each table: a row for each run.

    What is learnt from outputs is learnt from the first quarter of the runs.
    """
    statistics: tuple[list[Any], list[Any]] = ([], [])
    look: Callable[[Any], Any]
    done, first = 0, runs // 4
    if statistic is not None:
        look = partial(_apply_statistic, statistic)
    else:
        parts = list(running.parts(first))
        learnt = [RunOutputs.joined([part[i] for part in parts]) for i in (0, 1)]
        look, done = OutputStatistics.of(*running.tables, *learnt), first
        for outputs, rows in zip(learnt, statistics, strict=True):
            rows.append(look(outputs))
    for pair in running.parts(runs - done):
        progress("auditing", done, runs)
        for outputs, rows in zip(pair, statistics, strict=True):
            rows.append(look(outputs))
        done += len(rows[-1])
    before_runs, after_runs = (np.concatenate(rows).astype(np.float64) for rows in statistics)
    return before_runs, after_runs


def _apply_statistic(statistic: Statistic, outputs: Any) -> list[tuple[float]]:
    """The number of each output; none at all is the smallest."""
    numbers = [float(statistic(output)) for output in outputs]
    return [(-math.inf if math.isnan(number) else number,) for number in numbers]


def _choose_and_count(
    before_runs: NDArray[np.float64],
    after_runs: NDArray[np.float64],
    claimed: Spend,
    confidence: float,
    names: Sequence[str],
) -> EpsilonAudit:
    """Choose the event on the first half of the runs, and count it on the second."""
    bounds = BoundMaker(float(claimed.delta), (1 - confidence) / 2, claimed.rho is not None)
    runs, half, quarter = len(before_runs), len(before_runs) // 2, len(before_runs) // 4

    def choose_event(statistic: int) -> ThresholdEvent:
        # What is learnt from runs is not chosen by the same runs.
        first = quarter if names[statistic] in FITTED else 0
        return bounds.best(before_runs[first:half], after_runs[first:half], statistic)

    events = map(choose_event, range(before_runs.shape[1]))
    event = max(events, key=lambda event: event.bound)
    hits, counted_runs = event.counts(before_runs[half:], after_runs[half:]), runs - half
    low, most = (bounds.epsilon(*pair, counted_runs) for pair in (hits, (counted_runs, 0)))
    rho_low = None if claimed.rho is None else float(bounds.rho(*hits, counted_runs))
    return EpsilonAudit(
        epsilon_low=max(float(low), 0.0),
        claimed=claimed,
        runs=runs,
        confidence=confidence,
        most=float(most),
        event=names[event.statistic],
        hits=hits,
        rho_low=rho_low,
    )
