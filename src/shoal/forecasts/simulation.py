"""The simulation: releases that another could make, made; and the real attack on each.

Our release stays as it is. Of each other release so many people are drawn from ours, of whom, where
there are several, a share is the same in all (``same_people``); the rest are people like ours:
somebody's quasi-identifiers (of ours, or of the population where it is given) with a value drawn
from the local distribution there (`shoal.forecasts.local_distribution`), never the person's own,
which would make the two tables more alike than they will be. The supposed method publishes them
under the supposed rule, and every class of ours is looked at as in
`shoal.forecasts.real_intersection`.

The mean over repeats is the forecast. The interval is one of prediction: one more release drawn
alike lies in it nine times in ten, however risks are distributed. Its ends are the repeats' risks
at the places .05 (n + 1) and .95 (n + 1) of their order (Wilks, Determination of sample sizes for
setting tolerance limits, 1941), which n < 19 repeats do not have: then there is none. It knows
nothing of how wrong the suppositions are. How well the mean itself is known is its standard error,
in the details.

It follows the bootstrap of Efron, Bootstrap methods: another look at the jackknife, 1979, with the
sensitive values smoothed. Does not know more of the others than is supposed: their method, rule,
size and overlap; nor of people who are unlike ours, unless a population is given.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from shoal.core.tally import Cut, Tally
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.local_distribution import LocalDistribution
from shoal.forecasts.our_table import OurTable, OverlapScenario, check_whole_number, tally_codes
from shoal.forecasts.real_intersection import (
    NOBODY,
    OtherRelease,
    build_other_release,
    count_values_left,
)

Publish = Callable[[Tally, np.random.Generator], Cut]
"""How the others are supposed to make their classes."""

STRANGERS = "like ours", "drawn from the population"
"""Who of the others' people are not ours: without a population, and with one."""
NO_ONE = np.zeros(0, np.int64)
INTERVAL_ENDS, MIN_REPEATS = (0.05, 0.95), 19
"""The ends of the interval, and how many repeats have them."""


@dataclass(frozen=True, eq=False)
class SimulationRuns:
    """``left`` (repeats, classes): the fewest values left to somebody in both; 0: nobody is."""

    left: NDArray[np.int32]
    assumptions: tuple[str, ...]
    details: dict[str, object]

    def at(self, l: int) -> ExposureEstimate:
        """The estimate for one l: what was drawn does not depend on it."""
        exposed = (self.left != NOBODY) & (self.left < l)
        risks = exposed.mean(axis=1)
        error = risks.std(ddof=1) / len(risks) ** 0.5 if len(risks) > 1 else float("nan")
        details = {**self.details, "repeats": len(risks), "standard_error": float(error)}
        return ExposureEstimate(
            "simulation",
            float(risks.mean()),
            exposed.mean(axis=0),
            compute_prediction_interval(risks),
            self.assumptions,
            details,
        )


def compute_prediction_interval(risks: NDArray[np.float64]) -> tuple[float, float] | None:
    """Where one more of these lies nine times in ten; None where they are too few to say.

    >>> compute_prediction_interval(np.arange(1.0, 20.0))
    (1.0, 19.0)
    >>> compute_prediction_interval(np.arange(1.0, 19.0)) is None
    True
    """
    if len(risks) < MIN_REPEATS:
        return None
    low, high = np.quantile(risks, INTERVAL_ENDS, method="weibull")
    return float(low), float(high)


def simulate(
    ours: OurTable,
    local: LocalDistribution,
    scenario: OverlapScenario,
    publish: Publish,
    *,
    repeats: int = 20,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationRuns:
    """So many repeats, from which the estimate for any l can be read.

    They depend on the seed, not on the threads. ``progress`` gets how many are done; it may
    raise to stop.
    """
    check_whole_number("repeats", repeats, 1, 20)
    check_whole_number("seed", seed, 0)
    scenario.shared(ours.people)  # there is room for them
    crowd = SimulatedPopulation.of(ours, local)
    seeds = np.random.SeedSequence(seed).spawn(repeats)
    repeat = partial(_simulate_once, crowd, scenario, publish)
    left = np.empty((repeats, ours.classes), np.int32)
    with closing(_run_in_threads(repeat, seeds, threads)) as each:
        for done, (i, result) in enumerate(each, start=1):
            left[i] = result
            if progress:
                progress(done, repeats)
    assumptions = (
        *list_simulation_assumptions(ours),
        *scenario.coincidence,
        *ours.blank_assumption,
    )
    return SimulationRuns(left, assumptions, {**local.description, "seed": seed})


def list_simulation_assumptions(ours: OurTable) -> tuple[str, ...]:
    """What the simulation takes to be so."""
    strangers = STRANGERS[ours.population is not None]
    return (
        "the others publish by the method and rule that were supposed",
        f"their people who are not ours are {strangers}, and like people have like values",
        "everybody of ours is as likely as any other to be in another release",
        "an adversary knows in which class of each release a person is",
    )


def _run_in_threads(
    work: Callable[[np.random.SeedSequence], NDArray[np.int32]],
    seeds: Sequence[np.random.SeedSequence],
    threads: int | None,
) -> Generator[tuple[int, NDArray[np.int32]], None, None]:
    """Every repeat as it is done; those not begun are dropped when the caller stops."""
    pool = ThreadPoolExecutor(threads or cpu_count() or 1, thread_name_prefix="forecast")
    try:
        waiting = {pool.submit(work, seed): i for i, seed in enumerate(seeds)}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _simulate_once(
    crowd: SimulatedPopulation,
    scenario: OverlapScenario,
    publish: Publish,
    seed: np.random.SeedSequence,
) -> NDArray[np.int32]:
    rng = np.random.default_rng(seed)
    people = crowd.ours.people
    many = scenario.in_all(people)
    in_all = rng.choice(people, many, replace=False) if many else NO_ONE
    others = [crowd.released(scenario, publish, rng, in_all) for _ in range(scenario.others)]
    return count_values_left(crowd.ours, others)


@dataclass(frozen=True, eq=False)
class SimulatedPopulation:
    """Whom another release could be about: our people, and people like them."""

    ours: OurTable
    local: LocalDistribution
    nodes: NDArray[np.int64] | None
    """The node of each point of the population, where there is one."""

    @classmethod
    def of(cls, ours: OurTable, local: LocalDistribution) -> SimulatedPopulation:
        """The crowd around our people."""
        people = ours.population
        return cls(ours, local, None if people is None else local.nodes_of(people.keys))

    def released(
        self,
        scenario: OverlapScenario,
        publish: Publish,
        rng: np.random.Generator,
        in_all: NDArray[np.int64] = NO_ONE,
    ) -> OtherRelease:
        """Another release, drawn and made; ``in_all`` are people of ours who are in all of them."""
        ours = self.ours
        free = np.delete(np.arange(ours.people), in_all) if len(in_all) else ours.people
        rest = rng.choice(free, scenario.shared(ours.people) - len(in_all), replace=False)
        shared = np.concatenate([in_all, rest])
        keys, values = self.strangers(scenario.rows - len(shared), rng)
        keys = np.concatenate([ours.keys[:, shared], keys], axis=1)
        values = ours.on_everywhere(np.concatenate([ours.values[shared], values]))
        axis = ours.everywhere
        tally, entry = tally_codes(ours.quasi, axis, keys, values)
        cut = publish(tally, rng)
        release = build_other_release(cut, entry, values, axis.words, shared, ours.people, rng)
        return OtherRelease(
            release.class_, release.bits[:, : ours.sensitive.words]
        )  # as far as ours go

    def strangers(
        self, number: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """So many people who are not ours: quasi-identifiers (columns, people), and values."""
        people = self.ours.population
        if people is None or self.nodes is None:
            like = rng.integers(0, self.ours.people, number)
            return self.ours.keys[:, like], self.local.draw(like, rng)
        upto = np.cumsum(people.count)
        points = np.searchsorted(upto, rng.integers(0, upto[-1], number), side="right")
        return people.keys[:, points], self.local.draw_at(self.nodes[points], rng)
