"""The intersection attack on four Mondrian releases, and locating people by the index.

Every release holds all the targets, and a tenth as many people of its own; its publisher has its
own mind about which columns matter, so that no two releases have the same classes. The limit is
what numpy needs for the bare intersection: of each target the bitset of its true class, gathered
and AND-ed over the releases, without looking for the class, counting, weighing or explaining.
The targets come without their true values, as they do to an adversary: nothing is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bench import tallies
from bench.data import QUASI, remixed
from bench.measure import Line, against, seconds, spent
from shoal.attacks.intersection import intersection
from shoal.core.cells import Cells
from shoal.core.release import Finding
from shoal.core.tally import Tally
from shoal.core.theory.adversary_view import ReleaseView, Targets, View
from shoal.kernels.grouping import collect_code_sets
from shoal.methods.mondrian import mondrian
from shoal.models import rule

K = "k-anonymity k=5"
VALUES, RELEASES, OWN = 247, 4, 10
SCANNED = 500
SMALL = {"attack": {"targets": 50_000}}


def run(targets: int = 1_000_000) -> Iterator[Line]:
    """The attack without and with location, then location alone."""
    view = make(targets)
    yield from _intersection(view)
    yield from _location(view.releases[0].cells, view)


def _intersection(view: View) -> Iterator[Line]:
    """Only where classes are known is it the same question as numpy's, and has a limit."""
    bits = [_bitsets(release) for release in view.releases]
    classes = [release.true_class for release in view.releases]
    for case, location, limit in (("classes known", "assumed", 10), ("located", "honest", None)):
        own, bare = against(_attacking(view, location), lambda: gathered(bits, classes))
        told = f"{seconds(own.cpu)} : {seconds(bare.cpu)}"
        yield Line(f"{_of(view)}, {case}: gather and AND", told, own.cpu / bare.cpu, limit)


def _location(cells: Cells, view: View) -> Iterator[Line]:
    assert view.people is not None
    keys = view.people.keys
    index = spent(lambda: _fresh(cells).contains(keys), 3).cpu / keys.shape[1]
    some = np.ascontiguousarray(keys[:, :SCANNED].T, np.int32)
    scan = spent(lambda: scanned(some, cells.low, cells.high), 3).cpu / len(some)
    case = f"Locating a person, {len(cells):,} classes: scan : index"
    told = f"{scan * 1e6:.3g} : {index * 1e6:.3g} µs"
    yield Line(case, told, scan / index, 100, at_least=True)


def _attacking(view: View, location: str) -> Callable[[], Finding]:
    """The attack on cells that have no index yet: growing it is part of the work."""

    def attack() -> Finding:
        releases = tuple(replace(r, cells=_fresh(r.cells)) for r in view.releases)
        return intersection(replace(view, releases=releases), location=location)

    return attack


def _fresh(cells: Cells) -> Cells:
    return Cells(cells.low, cells.high, cells.sets)


def _of(view: View) -> str:
    assert view.people is not None
    return f"Intersection, {len(view.people):,} people × {len(view.releases)} releases"


# What it is compared with


def _bitsets(release: ReleaseView) -> NDArray[np.uint64]:
    rows = np.arange(len(release.class_), dtype=np.int32)
    return collect_code_sets(
        release.values, rows, release.class_, len(release.cells), -(-VALUES // 64)
    )


def gathered(
    bits: list[NDArray[np.uint64]], classes: list[NDArray[np.int32]]
) -> NDArray[np.uint64]:
    """The values that all releases leave each person, as bits."""
    left = bits[0][classes[0]]
    for of_class, class_ in zip(bits[1:], classes[1:], strict=True):
        left &= of_class[class_]
    return left


@njit(cache=True)
def scanned(points, low, high):
    """How many classes hold each point, by asking every class."""
    number = np.zeros(len(points), dtype=np.int64)
    for point in range(len(points)):
        for box in range(len(low)):
            for j in range(points.shape[1]):
                if points[point, j] < low[box, j] or points[point, j] > high[box, j]:
                    break
            else:
                number[point] += 1
    return number


# What is attacked


def make(targets: int) -> View:
    """Targets and releases; the releases' first rows are the targets, in their order."""
    rng = np.random.default_rng(0)
    table = remixed(targets + RELEASES * (targets // OWN))
    axes = tuple(tallies.axis(name, len(table.values[name]), "ordered") for name in QUASI)
    sensitive = tallies.axis("value", VALUES, "flat")
    share = 1 / np.arange(1, VALUES + 1)
    values = rng.choice(VALUES, table.rows, p=share / share.sum()).astype(np.int32)
    keys, _ = tallies.keys(table)
    releases = []
    for number in range(RELEASES):
        own = targets + (targets // OWN) * number
        rows = np.r_[:targets, own : own + targets // OWN]
        weights = tuple(rng.uniform(0.5, 1, len(axes)).tolist())
        tally = Tally(
            axes,
            (sensitive,),
            keys[:, rows],
            values[None, rows],
            np.ones(len(rows), np.int64),
            weights=weights,
        )
        releases.append(published(f"release {number + 1}", tally, targets))
    people = Targets(keys[:, :targets], np.arange(targets) + 1)
    return View(axes, tuple(releases), sensitive, people=people)


def published(name: str, tally: Tally, targets: int) -> ReleaseView:
    """A Mondrian release of a tally with one person per entry."""
    cut = mondrian(tally, rule(K))
    class_ = np.empty(tally.entries, dtype=np.int32)
    class_[cut.entry] = cut.class_
    return ReleaseView(name, cut.cells, class_, tally.values[0], true_class=class_[:targets])
