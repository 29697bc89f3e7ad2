"""Loss and time of every method that parts the people by likeness, on Adult and IPUMS, and at 1 M.

Loss is shoal's own: (leaves - 1) / (domain - 1), width / range for numbers; the best method's is
printed by leaves / domain too, without a limit. Adult: 45,222 complete rows, seven columns,
education as a number, columns without an order as sets; the same with ARX's hierarchies, education
by words; and the 70,187 rows of IPUMS Los Angeles 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import shoal
from bench import arx, tallies
from bench.data import QUASI, adult_codes, folder, remixed
from bench.loss import ncp
from bench.measure import Line, Spent, Unavailable, seconds, spent
from bench.yardstick import yardstick
from shoal.core.tally import Cut, Groups, Tally
from shoal.measures.loss import loss
from shoal.methods import load_methods
from shoal.models import rule
from shoal.releases.tallying import encode

METHODS = ("mondrian", "greedy", "tree-order", "hilbert", "k-similar", "microaggregation")
BEST, LINEAR = "tree-order", "microaggregation"
LIMITS = {5: 0.0105, 10: 0.0198, 25: 0.0389, 50: 0.0601}
"""By k the most that tree-order may lose on Adult."""
SLOWER, GROWTH, K = 30, 12, 5
SENSITIVE = "occupation"
SEVEN = tuple(name for name in QUASI if name != SENSITIVE)
TREES = tuple("education" if name == "education_num" else name for name in SEVEN)
IPUMS = ("age", "classwkg", "educrec", "marst", "raceg", "sex", "bplg")
WARM_ROWS = 20_000
SMALL = {"orders": {"rows": 100_000, "sizes": (5, 50)}}


def run(rows: int = 1_000_000, sizes: Sequence[int] = tuple(LIMITS)) -> Iterator[Line]:
    """Loss on three tables, then time on a large one."""
    if folder() is None:
        raise Unavailable("the stand-in for Adult says nothing about loss; set SHOAL_DATA")
    for name, tally in _tables():
        for method in METHODS:
            yield from _lost(name, tally, method, sizes)
    yield from _large(rows)


# Loss


def _tables() -> Iterator[tuple[str, Tally]]:
    adult = adult_codes().arrow((*SEVEN, SENSITIVE))
    yield "Adult", _encoded(adult, shoal.Schema.of(quasi=SEVEN, sensitive=SENSITIVE))
    yield "Adult, trees", arx.tally(adult_codes().arrow((*TREES, SENSITIVE)), TREES, (SENSITIVE,))
    yield "IPUMS", _ipums()


def _ipums() -> Tally:
    """Age is a number; all other columns are codes of words."""
    where = folder()
    assert where is not None
    path = where / "ipums_la_97.csv.gz"
    if not path.is_file():
        raise Unavailable("IPUMS Los Angeles is not beside Adult")
    roles = {name: shoal.quasi(kind="category") for name in IPUMS[1:]}
    schema = shoal.Schema.of(quasi=IPUMS, sensitive="occ1950").set(roles)
    return _encoded(path, schema, kinds=schema.kinds)


def _encoded(source: Any, schema: shoal.Schema, **reading: Any) -> Tally:
    frame = shoal.open(source, **reading)
    try:
        fields = [field for field in frame.fields if field.name in schema.names]
        return encode(frame, schema.fit(fields)).tally
    finally:
        frame.close()


def _lost(table: str, tally: Tally, method: str, sizes: Sequence[int]) -> Iterator[Line]:
    """One line of losses by k and the time at the least k; the best method's against limits."""
    cuts = {k: _checked(tally, method, k) for k in sizes}
    took = spent(_cutting(tally, method, sizes[0]), 2)
    case = f"{table}, {method}: loss"
    told = _told(loss(tally, cut) for cut in cuts.values())
    by = " / ".join(map(str, sizes))
    yield Line(f"{case}, k = {by}", f"{told}, {seconds(took.cpu)} at k = {sizes[0]}")
    if (table, method) != ("Adult", BEST):
        return
    yield Line("the same by leaves / domain", _told(ncp(tally, cut) for cut in cuts.values()))
    for k, cut in cuts.items():
        value, limit = loss(tally, cut), LIMITS[k]
        yield Line(f"{case}, k = {k}: limit", f"{value:.4f} : {limit:.4f}", value / limit, 1)


def _told(losses: Iterable[float]) -> str:
    return " / ".join(f"{value:.4f}" for value in losses)


def _cutting(tally: Tally, method: str, k: int) -> Callable[[], Cut]:
    cut, model = load_methods()[method], rule(f"k-anonymity k={k}")
    return lambda: cut(tally, model)


def _checked(tally: Tally, method: str, k: int) -> Cut:
    """The cut; a class of fewer than k people stops the case."""
    cut = _cutting(tally, method, k)()
    rows = Groups.of(tally, cut).rows
    if cut.suppressed or rows.min() < k or rows.sum() != tally.rows:
        raise AssertionError(f"{method} breaks k = {k}, or loses people")
    return cut


# Time


def _large(rows: int) -> Iterator[Line]:
    """All methods against the bare Mondrian of a million rows; growth from a part of the rows."""
    bare = spent(yardstick(), 3)
    tally = tallies.tally(remixed(rows), sets=True)
    for method in METHODS:
        own, cut = _timed(tally, method)
        told = f"{seconds(own.cpu)} : {seconds(bare.cpu)}, loss {loss(tally, cut):.4f}"
        limit = SLOWER if method == BEST else None
        yield Line(f"{method}, k = {K}, {rows:,} rows: bare", told, own.cpu / bare.cpu, limit)
        if method in (BEST, LINEAR):
            yield from _growth(rows, method, own)


def _growth(rows: int, method: str, own: Spent) -> Iterator[Line]:
    """From an eighth of the rows, which halving cuts into blocks as large."""
    part = rows // 8
    before, _ = _timed(tallies.tally(remixed(part), sets=True), method)
    most = GROWTH if method == LINEAR else None
    case = f"{method}, growth, {part:,} to {rows:,} rows"
    yield Line(case, f"{seconds(own.cpu)} : {seconds(before.cpu)}", own.cpu / before.cpu, most)


def _timed(tally: Tally, method: str) -> tuple[Spent, Cut]:
    """Once, because it is long, and its cut; a small table of the same types is cut before."""
    small, cuts = tallies.tally(remixed(WARM_ROWS), sets=True), list[Cut]()
    work = _cutting(tally, method, K)
    took = spent(lambda: cuts.append(work()), 1, warm=_cutting(small, method, K))
    return took, cuts[0]
