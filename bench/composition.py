"""Composition-aware classes: what two independent releases give away, loss, and time against k.

Adult's 30,162 complete training rows, seven columns, two samples that share 5,000 people, 17,581
rows each, four seeds, strict Mondrian. An adversary knows each shared person's class in both and
intersects their values. The figures after the colon are another strict Mondrian's under the same
rules; it cuts less finely than ours, so the two are beside each other and no limits, but for loss.
NCP is by leaves / domain, the larger of the two conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import shoal
from bench import tallies
from bench.data import QUASI, adult_codes, folder, remixed
from bench.loss import ncp
from bench.measure import Line, Unavailable, against, seconds
from shoal.core.tally import Cut, Tally
from shoal.kernels.grouping import collect_code_sets
from shoal.methods import find_method
from shoal.models import rule
from shoal.releases.tallying import encode

SENSITIVE, SHARED, SEEDS = "occupation", 5_000, range(4)
SEVEN = tuple(name for name in QUASI if name != SENSITIVE)
AWARE = "k-anonymity k=5 & composition l={} alpha={}"
CARELESS = "k-anonymity k=5"
BOTH: dict[str, tuple[float, float, float] | None] = {
    "k-anonymity k=10": (0.0493, 0.56, 5.06),
    AWARE.format(2, 0.95): (0.0445, 0.05, 4.02),
    AWARE.format(2, 0.97): None,
    "k-anonymity k=20": (0.0803, 0.0, 0.58),
    AWARE.format(3, 0.95): (0.0595, 0.0, 0.29),
}
"""The rule of both publishers; NCP, percent with one value and with at most two, elsewhere."""
ONE_SIDED = {"k-anonymity k=10": 2.47, AWARE.format(2, 0.95): 2.29}
"""The rule of one publisher; percent with one value where the other asks for k = 5, elsewhere."""
METHODS = ("mondrian", "greedy", "tree-order", "hilbert")
SLOWER = 3
SMALL = {"composition": {"rows": 100_000}}


def run(rows: int = 1_000_000) -> Iterator[Line]:
    """What is given away, against a careful and a careless partner; then time."""
    if folder() is None:
        raise Unavailable("the stand-in for Adult says nothing about exposure; set SHOAL_DATA")
    halves = [_halves(_adult("train"), seed) for seed in SEEDS]
    for text, elsewhere in BOTH.items():
        yield _given_away(halves, text, elsewhere)
    for text, percent in ONE_SIDED.items():
        alone = _measured(halves, text, CARELESS)[1]
        yield Line(f"{text}, the other k = 5: one value left", f"{alone:.2f} % : {percent:.2f} %")
    yield from _times(rows)


# What is given away


def _given_away(
    halves: list[list[Half]], text: str, elsewhere: tuple[float, float, float] | None
) -> Line:
    """Loss, one value left, at most two left."""
    ours = _measured(halves, text, text)
    told = [f"NCP {ours[0]:.4f}", f"one value {ours[1]:.2f} %", f"at most two {ours[2]:.2f} %"]
    if elsewhere is None:
        return Line(f"both {text}", ", ".join(told))
    units = f"{elsewhere[0]:.4f}", f"{elsewhere[1]:.2f} %", f"{elsewhere[2]:.2f} %"
    beside = ", ".join(f"{own} : {other}" for own, other in zip(told, units, strict=True))
    return Line(f"both {text}", beside, ours[0] / elsewhere[0], 1)


Half = tuple[Tally, NDArray[np.int64]]
"""A table, and the entry of each of its people; those who are in both tables come first."""


def _halves(tally: Tally, seed: int) -> list[Half]:
    people = np.repeat(np.arange(tally.entries), tally.count)
    people = np.random.default_rng(seed).permutation(people)
    half = (len(people) - SHARED) // 2
    sides = people[: SHARED + half], np.append(people[:SHARED], people[SHARED + half :])
    return [_part(tally, side) for side in sides]


def _part(tally: Tally, people: NDArray[np.int64]) -> Half:
    count = np.bincount(people, minlength=tally.entries)
    kept = np.flatnonzero(count)
    keys, values = tally.keys[:, kept], tally.values[:, kept]
    some = replace(tally, keys=keys, values=values, count=count[kept])
    return some, (np.cumsum(count > 0) - 1)[people]


def _measured(halves: list[list[Half]], one: str, other: str) -> NDArray[np.float64]:
    """NCP, and percent of the shared people with one value left and with at most two; means."""
    found = []
    for first, second in halves:
        (lost, here), (also, there) = _published(first, one), _published(second, other)
        left = np.bitwise_count(here & there)
        found.append(((lost + also) / 2, 100 * (left == 1).mean(), 100 * (left <= 2).mean()))
    mean: NDArray[np.float64] = np.mean(found, axis=0)
    return mean


def _published(half: Half, text: str) -> tuple[float, NDArray[np.uint64]]:
    """NCP, and of the shared people the values of their classes as bits."""
    tally, people = half
    cut = _cutting(tally, "mondrian", text)()
    bits = collect_code_sets(tally.values[0], cut.entry, cut.class_, cut.classes, 1)[:, 0]
    class_ = np.empty(tally.entries, np.int32)
    class_[cut.entry] = cut.class_
    return ncp(tally, cut), bits[class_[people[:SHARED]]]


def _adult(split: str | None = None) -> Tally:
    frame = shoal.open(adult_codes(split).arrow((*SEVEN, SENSITIVE)))
    try:
        schema = shoal.Schema.of(quasi=SEVEN, sensitive=SENSITIVE).fit(frame.fields)
        return encode(frame, schema).tally
    finally:
        frame.close()


# Time


def _times(rows: int) -> Iterator[Line]:
    """The rule beside k against k alone: all of Adult, then a large table by Mondrian."""
    adult, aware = _adult(), AWARE.format(2, 0.95)
    for name in METHODS:
        yield _slower(f"{name}, Adult", adult, name, aware, SLOWER if name == "mondrian" else None)
    large = tallies.tally(remixed(rows), sets=True)
    yield _slower(f"mondrian, {rows:,} rows", large, "mondrian", aware, SLOWER)


def _slower(case: str, tally: Tally, name: str, aware: str, limit: float | None) -> Line:
    own, plain = against(_cutting(tally, name, aware), _cutting(tally, name, CARELESS), 3)
    told = f"{seconds(own.cpu)} : {seconds(plain.cpu)}"
    return Line(f"{case}, with the rule: k = 5 alone", told, own.cpu / plain.cpu, limit)


def _cutting(tally: Tally, name: str, text: str) -> Callable[[], Cut]:
    cut, model = find_method(name), rule(text)
    return lambda: cut(tally, model)
