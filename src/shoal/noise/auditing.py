"""Auditing: how private a mechanism can be at most, found out by running it.

A mechanism M is (ε, δ)-differentially private if for all neighbouring tables D, D' and all events E

    P[M(D) in E]  <=  e^ε P[M(D') in E] + δ

so that any two tables and any event prove a lower bound: ε >= ln((P[M(D) in E] - δ) / P[M(D') in
E]). Both chances are estimated by runs: Clopper and Pearson (1934) bound the first from below and
the second from above, each with half of the doubt, so that the bound on ε holds with the stated
confidence, whatever the mechanism is.

Ding, Wang, Wang, Zhang, Kifer: Detecting violations of differential privacy, CCS 2018.
Jagielski, Ullman, Oprea: Auditing differentially private machine learning, NeurIPS 2020.

The event is a threshold on one of a few statistics of the output (`shoal.noise.looks`). It is
chosen on the first half of the runs and counted on the second, so that the choice does not flatter;
either table may be the likelier one. A bound above the claimed ε disproves the claim. One below it
proves nothing: other tables, another event or more runs may show more, and so many runs never show
more than ``most``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import UsageError
from shoal.model import whole
from shoal.noise.bounds import Doubts, Event
from shoal.noise.looks import EVENTS, FITTED, Looks, Outputs
from shoal.release import EDITION, jsonable
from shoal.spend import Number, Spend, asked

Mechanism = Callable[[NDArray[np.int64], np.random.Generator | None], ArrayLike]
"""From counts (or codes) to what is published of them; a cell that is not printed is NaN.

Of many runs at once: from an array of runs × cells to one of the same shape.
"""
Statistic = Callable[[Any], float]
"""A number that an adversary makes of what is published."""

RUNS, FEWEST = 4_000, 100
BLOCK = 100
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
            **jsonable({name: getattr(self, name) for name in (
                "confidence", "runs", "most", "event", "hits", "rho_low")}),
        }  # fmt: skip

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

    ``before`` and ``after`` are counts (or codes) that one person makes different; the mechanism
    is called with one of them and a random generator (None without a ``seed``), and returns what
    it publishes. With ``at_once`` above 1 it is called with so many copies, a row each, and returns
    a row for each: noise that is drawn in one call is drawn sooner. ``statistic`` makes a number of
    one output; without one, a few common ones are tried. ``rho`` is the zero-concentrated privacy
    that is claimed too, as it is of Gaussian noise.

    >>> def bare(counts, rng):
    ...     return counts
    >>> audit_epsilon(bare, [3, 5], [3, 6], epsilon=1).holds
    False
    """
    spent, runs = asked(epsilon, delta), whole(runs, "runs", FEWEST)
    claimed, at_once = Spend(spent.epsilon, spent.delta, rho), whole(at_once, "at_once", 1)
    if not 0 < confidence < 1:
        raise UsageError("A confidence is between 0 and 1.", "write for example confidence=0.99.")
    rng = None if seed is None else np.random.default_rng(seed)
    running = _Running(mechanism, _neighbours(before, after), rng, at_once, statistic is not None)
    told = progress or (lambda step, done, of: None)
    one, other = _seen(running, runs, statistic, told)
    return _audited(one, other, claimed, confidence, EVENTS if statistic is None else ("",))


def _neighbours(before: ArrayLike, after: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    one, other = (np.asarray(table, np.int64).ravel() for table in (before, after))
    if len(one) != len(other) or np.array_equal(one, other):
        raise UsageError(
            "Two neighbouring tables have the same cells, and differ in some of them.",
            "give the counts with a person and the counts without.",
        )
    return one, other


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
        done, most = 0, max(self.at_once, BLOCK if self.at_once == 1 else 1)
        while done < runs:
            many = min(most, runs - done)
            yield self._alone(many) if self.at_once == 1 else self._together(many)
            done += many

    def _alone(self, runs: int) -> tuple[Any, Any]:
        found: tuple[list[Any], list[Any]] = ([], [])
        for _ in range(runs):
            for table, outputs in zip(self.tables, found, strict=True):
                outputs.append(self.mechanism(table.copy(), self.rng))
        return found if self.bare else (self._outputs(found[0]), self._outputs(found[1]))

    def _together(self, runs: int) -> tuple[Any, Any]:
        one, other = (
            list(np.asarray(self.mechanism(np.tile(table, (runs, 1)), self.rng)))
            for table in self.tables
        )
        return (one, other) if self.bare else (self._outputs(one), self._outputs(other))

    def _outputs(self, found: Sequence[Any]) -> Outputs:
        return Outputs.of(found, len(self.tables[0]))


def _seen(
    running: _Running, runs: int, statistic: Statistic | None,
    progress: Callable[[str, int, int], None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """The statistics of all runs on each table: a row for each run.

    What is learnt from outputs is learnt from the first quarter of the runs.
    """
    found: tuple[list[Any], list[Any]] = ([], [])
    look: Callable[[Any], Any] = _numbered(statistic)
    done, first = 0, runs // 4
    if statistic is None:
        parts = list(running.parts(first))
        learnt = [Outputs.joined([part[i] for part in parts]) for i in (0, 1)]
        look, done = Looks.of(*running.tables, *learnt), first
        for outputs, rows in zip(learnt, found, strict=True):
            rows.append(look(outputs))
    for pair in running.parts(runs - done):
        progress("auditing", done, runs)
        for outputs, rows in zip(pair, found, strict=True):
            rows.append(look(outputs))
        done += len(rows[-1])
    one, other = (np.concatenate(rows).astype(np.float64) for rows in found)
    return one, other


def _numbered(statistic: Statistic | None) -> Callable[[Any], list[tuple[float]]]:
    """Somebody's own number of each output; none at all is the smallest."""

    def look(outputs: Any) -> list[tuple[float]]:
        assert statistic is not None
        numbers = [float(statistic(one)) for one in outputs]
        return [(-math.inf if math.isnan(one) else one,) for one in numbers]

    return look


def _audited(
    one: NDArray[np.float64], other: NDArray[np.float64], claimed: Spend, confidence: float,
    names: Sequence[str],
) -> EpsilonAudit:  # fmt: skip
    """Choose the event on the first half of the runs, and count it on the second."""
    doubts = Doubts(float(claimed.delta), (1 - confidence) / 2, claimed.rho is not None)
    half = len(one) // 2

    def best(statistic: int) -> Event:  # what is learnt from runs is not chosen by the same runs
        first = len(one) // 4 if names[statistic] in FITTED else 0
        return doubts.best(one[first:half], other[first:half], statistic)

    event = max((best(i) for i in range(one.shape[1])), key=lambda event: event.bound)
    hits, counted = event.counts(one[half:], other[half:]), len(one) - half
    low, most = (doubts.epsilon(*pair, counted) for pair in (hits, (counted, 0)))
    rho_low = None if claimed.rho is None else float(doubts.rho(*hits, counted))
    return EpsilonAudit(
        epsilon_low=max(float(low), 0.0), claimed=claimed, runs=len(one), confidence=confidence,
        most=float(most), event=names[event.statistic], hits=hits, rho_low=rho_low,
    )  # fmt: skip
