"""Mondrian on encoded columns, k = 10, against the bare kernel and against itself."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

import numpy as np

from bench import tallies
from bench.bare import bare
from bench.data import Codes, adult_codes, remixed
from bench.measure import Line, Spent, against, seconds, spent
from shoal.core.tally import Cut, Tally
from shoal.methods.mondrian import mondrian
from shoal.models import rule

K = "k-anonymity k=10"
ALL = f"{K} & entropy-diversity l=3 & t-closeness t=0.5"
SIZES = {"Adult": 0, "1 M": 1_000_000, "10 M": 10_000_000}
SMALL = {"mondrian": {"sizes": {"Adult": 0, "1 M": 1_000_000}}}


def run(sizes: dict[str, int] = SIZES) -> Iterator[Line]:
    """Each size against the limit, then how time grows from one size to the next."""
    times: dict[str, Spent] = {}
    for name, rows in sizes.items():
        table = remixed(rows) if rows else adult_codes()
        times[name] = yield from _size(name, table, 2 if rows > 5_000_000 else 5)
    if "1 M" in times and "10 M" in times:
        ratio = times["10 M"].cpu / times["1 M"].cpu
        yield Line("Mondrian, growth 1 M to 10 M", f"{ratio:.3g}", ratio, 11)


def _size(name: str, table: Codes, repeat: int) -> Generator[Line, None, Spent]:
    tally = tallies.tally(table)
    keys, sizes = tallies.keys(table)
    own, limit = against(_cutting(tally, K), lambda: bare(keys, sizes, 10), repeat)
    _same_classes(bare(keys, sizes, 10), mondrian(tally, rule(K)))
    case = f"Mondrian k=10, {name}"
    small = table.rows < 100_000
    yield _line(f"{case}: bare", own, limit, None if small else 3)
    if small:
        yield Line(f"{case}: under .1 s", seconds(own.cpu), own.cpu, 0.1, unit=" s")
    else:
        yield Line(f"{case}: CPU per wall, two threads", f"{own.cpu / own.wall:.3g}")
    flat = tallies.tally(table, sets=True)
    yield _line(f"{case}, categories as sets: bare", spent(_cutting(flat, K), repeat), limit)
    three = spent(_cutting(tally, ALL), repeat)
    yield _line(f"k & l & t, {name}: k alone", three, own, 3)
    return own


def _cutting(tally: Tally, text: str) -> Callable[[], Cut]:
    model = rule(text)
    return lambda: mondrian(tally, model)


def _line(case: str, own: Spent, other: Spent, limit: float | None = None) -> Line:
    told = f"{seconds(own.cpu)} : {seconds(other.cpu)}"
    return Line(case, told, own.cpu / other.cpu, limit)


def _same_classes(found: tuple[np.ndarray, np.ndarray], cut: Cut) -> None:
    """The bare kernel is a fair limit only while both make the same classes."""
    order, start = found
    limit = np.sort(np.diff(np.append(start, len(order))))
    own = np.sort(np.bincount(cut.class_, weights=cut.count).astype(np.int64))
    if not np.array_equal(limit, own):
        raise AssertionError(f"bare makes {len(limit)} classes, shoal {len(own)}, or other sizes")
