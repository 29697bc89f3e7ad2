"""Worst-case disclosure of many classes against sorting them; safe Mondrian against plain.

The limit on the first is what numpy needs to sort each class's counts: no answer can be had without
looking at the largest of them. The second is Mondrian on Adult under k-anonymity alone, and with
(c,k)-safety beside it, whose every result is counted again from the cut and judged as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bench import tallies
from bench.data import adult_codes, source
from bench.measure import Line, Unavailable, against, seconds, spent
from shoal.core.histogram import Histogram
from shoal.core.tally import Cut, Tally
from shoal.core.theory.worst_case_disclosure import disclosure_curve, max_disclosure
from shoal.measures.loss import loss
from shoal.methods.mondrian import mondrian
from shoal.models import rule

PEOPLE, LARGE, VALUES, PIECES = 40, 200, 14, 13
ADULT = ("age", "education_num", "marital_status", "race", "sex")
SENSITIVE = "occupation"
FLOOR = 5
RULES = {1: "0.5", 2: "0.6", 3: "0.7"}
"""By the pieces k of knowledge the bound c on belief."""
SMALL = {"disclosure": {"classes": 100_000}}


def run(classes: int = 1_000_000) -> Iterator[Line]:
    """Many classes at once, how the time grows with them, and Mondrian."""
    counts = drawn(classes)
    own, bare = against(_judging(counts), lambda: np.sort(counts, axis=1))
    told = f"{seconds(own.cpu)} : {seconds(bare.cpu)}"
    case = f"Disclosure k={PIECES}, {classes:,} classes"
    yield Line(f"{case}: np.sort", told, own.cpu / bare.cpu, 5)
    quarter = spent(_judging(counts[: classes // 4]))
    growth = own.cpu / quarter.cpu
    yield Line(f"{case}: a quarter of them", f"{growth:.3g}", growth, 4.6)
    large = drawn(classes // 4, LARGE)
    own, bare = against(_judging(large), lambda: np.sort(large, axis=1))
    told = f"{seconds(own.cpu)} : {seconds(bare.cpu)}"
    yield Line(f"the same, {classes // 4:,} classes of {LARGE}", told, own.cpu / bare.cpu)
    yield from _mondrian()


def drawn(classes: int, people: int = PEOPLE) -> NDArray[np.int64]:
    """The counts of each class's values: so many people, 14 values, shares of its own.

    With the same shares in every class few histograms differ, and those alike are judged once.
    """
    rng = np.random.default_rng(0)
    return rng.multinomial(people, rng.dirichlet(np.ones(VALUES), classes))


def _judging(counts: NDArray[np.int64]) -> Callable[[], object]:
    """The curve of 0 … 13 pieces, from a histogram that has nothing in its cache."""
    class_, value = np.nonzero(counts)
    axis = tallies.axis("value", VALUES, "flat")
    h = Histogram.of(axis, class_, value, counts[class_, value], len(counts))
    return lambda: disclosure_curve(replace(h), PIECES)


def _mondrian() -> Iterator[Line]:
    if source() != "Adult":
        raise Unavailable("the stand-in for Adult is not safe even as one class; set SHOAL_DATA")
    tally, plain = adult(), f"k-anonymity k={FLOOR}"
    before = mondrian(tally, rule(plain))
    for k, c in RULES.items():
        text = f"{plain} & ck-safety c={c} k={k}"
        own, other = against(_cutting(tally, text), _cutting(tally, plain))
        cut = mondrian(tally, rule(text))
        reached = judged(tally, cut, Fraction(c), k)
        told = f"{seconds(own.cpu)} : {seconds(other.cpu)}"
        yield Line(f"Mondrian, Adult, (c,k) = ({c}, {k}): k alone", told, own.cpu / other.cpu, 5)
        figures = f"NCP {loss(tally, cut):.4f} : {loss(tally, before):.4f}"
        classes = f"{cut.classes:,} : {before.classes:,} classes"
        yield Line(f"the same, reaches {float(reached):.4f}", f"{figures}, {classes}")


def _cutting(tally: Tally, text: str) -> Callable[[], Cut]:
    model = rule(text)
    return lambda: mondrian(tally, model)


def judged(tally: Tally, cut: Cut, c: Fraction, k: int) -> Fraction:
    """The disclosure of a cut that is safe as a whole; its classes are counted from scratch."""
    counts = np.zeros((cut.classes, tally.sensitive[0].size), np.int64)
    np.add.at(counts, (cut.class_, tally.values[0][cut.entry]), cut.count)
    reached = Fraction(max_disclosure(counts, k, exact=True)[k])
    if cut.suppressed or counts.sum(axis=1).min() < FLOOR or reached >= c:
        raise AssertionError(f"a cut that should be ({c}, {k})-safe discloses {float(reached)}")
    return reached


def adult() -> Tally:
    """Adult's complete rows with five quasi-identifiers, categories as sets."""
    table = tallies.by_frequency(adult_codes())
    codes = np.stack([table.codes[name] for name in (*ADULT, SENSITIVE)])
    codes, count = np.unique(codes, axis=1, return_counts=True)
    axes = [
        tallies.axis(n, len(v), "flat" if v.dtype.kind == "U" else "ordered")
        for n, v in ((name, table.values[name]) for name in (*ADULT, SENSITIVE))
    ]
    keys, values = codes[:-1].astype(np.uint8), codes[-1:].astype(np.int32)
    return Tally(tuple(axes[:-1]), (axes[-1],), keys, values, count.astype(np.int64))
