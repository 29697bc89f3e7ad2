"""Classes that withstand colluding providers: their cost in time and loss, and large verdicts.

Making: a million rows of 20 providers, provider-aware with m = 5 against plain Mondrian under the
same k and l, the method alone and the whole of publish. Verifying: one class of 200 providers.
Loss: Adult over ten providers, provider-aware against Mondrian with the same rule; every class of
every release is judged again by trying all coalitions, from the file and the private companion,
with nothing of Shoal's but the file formats.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import shoal
from bench import tallies
from bench.data import CACHE, QUASI, Codes, adult_codes, remixed, source
from bench.measure import Line, Spent, Unavailable, against, seconds
from shoal import Release, Schema
from shoal.core.axis import Axis
from shoal.core.tally import Cut, Groups, Tally
from shoal.methods import load_methods
from shoal.models import rule
from shoal.studies.splits import KINDS, split

SENSITIVE, PROVIDER = "occupation", "provider"
COLUMNS = tuple(name for name in QUASI if name != SENSITIVE)
ADULT = tuple("education" if name == "education_num" else name for name in COLUMNS)
K, L = 30, 4
PLAIN = f"k-anonymity k={K} & distinct-diversity l={L}"
OWN, BASE = "provider-aware", "mondrian"
WAYS: tuple[dict[str, Any], ...] = (
    {"method": OWN},
    {"method": OWN, "choice": "quasi"},
    {"method": BASE},
)
"""The way that is measured, the paper's with providers as the last resort, and the baseline."""
PROVIDERS, MEMBERS = 20, 5
WIDE, WIDEST = 200, 247
SMALL = {"collude": {"rows": 100_000, "seeds": (0,)}}


def run(rows: int = 1_000_000, seeds: Sequence[int] = range(5)) -> Iterator[Line]:
    """Time to make, time to verify, loss."""
    yield from _made(rows)
    yield from _verified()
    yield from _lost(seeds)


# Making


def _made(rows: int) -> Iterator[Line]:
    """The method alone on both splits; the whole of publish on the last."""
    table = tallies.by_frequency(remixed(rows))
    case = f"{OWN} m={MEMBERS}, {rows:,} rows, {PROVIDERS} providers"
    for kind in KINDS:
        who = split(rows, PROVIDERS, kind)
        tally = counted(table, who)
        pair = against(_cutting(OWN, tally), _cutting(BASE, tally), 3)
        yield _line(f"{case}, {kind}, method: Mondrian k & l", *pair)
    with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
        both = (_publishing(method, table, who, scratch) for method in (OWN, BASE))
        yield _line(f"{case}, {kind}, publish: Mondrian k & l", *against(*both, 2), 4)


def _line(case: str, own: Spent, plain: Spent, limit: float | None = None) -> Line:
    told = f"{seconds(own.cpu)} : {seconds(plain.cpu)}"
    return Line(case, told, own.cpu / plain.cpu, limit)


def _asked(method: str) -> str:
    return f"m-privacy m={MEMBERS} ({PLAIN})" if method == OWN else PLAIN


def _cutting(method: str, tally: Tally) -> Callable[[], object]:
    cut, model = load_methods()[method], rule(_asked(method))
    return lambda: cut(tally, model)


def _publishing(
    method: str, table: Codes, who: NDArray[np.int32], scratch: str
) -> Callable[[], object]:
    columns, out = rows_of(table, who, COLUMNS), Path(scratch) / method
    return lambda: shoal.publish(
        columns, schema(COLUMNS), _asked(method), method=method, out=out, replace=True
    )


def counted(table: Codes, who: NDArray[np.int32]) -> Tally:
    """The distinct rows with counts; categories as sets."""
    names = (*COLUMNS, SENSITIVE)
    codes = [*(table.codes[name] for name in names), who]
    sizes = [*(len(table.values[name]) for name in names), int(who.max()) + 1]
    packed, count = np.unique(np.ravel_multi_index(codes, sizes), return_counts=True)
    *keys, values, providers = np.unravel_index(packed, sizes)
    axes = [
        tallies.axis(name, size, "flat" if table.values[name].dtype.kind == "U" else "ordered")
        for name, size in zip(names, sizes, strict=False)
    ]
    small = np.uint8 if max(sizes[:-2]) <= 256 else np.uint16
    return Tally(
        tuple(axes[:-1]),
        (axes[-1],),
        np.stack(keys).astype(small),
        values[np.newaxis].astype(np.int32),
        count.astype(np.int64),
        Axis.numbered(PROVIDER, sizes[-1]),
        providers.astype(np.int32),
    )


def rows_of(table: Codes, who: NDArray[np.int32], quasi: Sequence[str]) -> pa.Table:
    """The table as values, and who brought each row."""
    columns = {
        name: pa.array(table.values[name]).take(pa.array(table.codes[name]))
        for name in (*quasi, SENSITIVE)
    }
    names = pa.array([f"P{i + 1:02}" for i in range(int(who.max()) + 1)])
    return pa.table({**columns, PROVIDER: names.take(pa.array(who))})


def schema(quasi: Sequence[str]) -> Schema:
    """The roles of the columns."""
    return Schema.of(quasi=quasi, sensitive=SENSITIVE, provider=PROVIDER)


# Verifying


def _verified() -> Iterator[Line]:
    """The slowest of many classes: so many values, rows, skews, rules and coalitions."""
    slowest, told, cases = 0.0, "", 0
    rule(f"m-privacy m=1 ({PLAIN})").holds(wide(14, 400, 0.0))  # warm
    for values, rows, skew in product((14, 50, 120, WIDEST), (400, 2_000, 10_000), (0.0, 1.0, 2.0)):
        class_ = wide(values, rows, skew)
        for l, m in product((2, 4, 7, 10), (5, 20, 60, 120, 190)):
            model = rule(f"m-privacy m={m} (k-anonymity k={K} & distinct-diversity l={l})")
            begun = time.perf_counter()
            model.holds(class_)
            took, cases = time.perf_counter() - begun, cases + 1
            if took > slowest:
                slowest, told = took, f"{values} values, {rows:,} rows, l={l}, m={m}"
    case = f"one class, {WIDE} providers, l ≤ 10: the slowest of {cases}"
    yield Line(case, f"{seconds(slowest)} ({told})", slowest, 1, unit=" s")


def wide(values: int, rows: int, skew: float, seed: int = 0) -> Groups:
    """A class of 200 providers, whose values' frequencies fall with their rank, or do not."""
    rng = np.random.default_rng((seed, values, rows))
    share = 1.0 / np.arange(1, values + 1) ** skew
    drawn = rng.choice(values, rows, p=share / share.sum()).astype(np.int32)
    tally = Tally(
        (Axis.numbered("class", 1),),
        (Axis.numbered(SENSITIVE, values),),
        np.zeros((1, rows), np.uint8),
        drawn[np.newaxis],
        np.ones(rows, np.int64),
        Axis.numbered(PROVIDER, WIDE),
        split(rows, WIDE, "uniform", seed),
    )
    cut = Cut.of(tally, np.arange(rows, dtype=np.int32), np.zeros(rows, np.int32))
    return Groups.of(tally, cut)


# Loss


def _lost(seeds: Sequence[int]) -> Iterator[Line]:
    if source() != "Adult":
        raise Unavailable("the stand-in for Adult says nothing about loss; set SHOAL_DATA")
    case = f"{OWN}, Adult, 10 providers, exponential"
    for m in (3, 5):
        found = [_losses(m, seed) for seed in seeds]
        own, quasi, base = (fmean(losses) for losses in zip(*found, strict=True))
        worst = max(one[0] / one[-1] for one in found)
        told = f"{own:.4f} : {base:.4f} ({len(found)} seeds, at worst {worst:.3g}×)"
        yield Line(f"{case}, m={m}, NCP: Mondrian m-private", told, own / base, 0.9)
        told = f"{quasi:.4f} : {base:.4f}"
        yield Line(f"the same, quasi-identifiers first, m={m}", told, quasi / base)


def _losses(m: int, seed: int) -> list[float]:
    """Of each way on one split; every class is tried against all coalitions."""
    table = adult_text()
    who = split(table.num_rows, 10, "exponential", seed)
    sizes = ", ".join(f"{size:,}" for size in np.bincount(who))
    print(f"  seed {seed}, m={m}, rows of the ten providers: {sizes}", file=sys.stderr, flush=True)
    names = pa.array([f"P{i + 1:02}" for i in range(10)])
    brought = table.append_column(PROVIDER, names.take(pa.array(who)))
    asked, found = f"m-privacy m={m} ({PLAIN})", []
    with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
        for i, how in enumerate(WAYS):
            made = shoal.publish(brought, schema(ADULT), asked, out=Path(scratch) / str(i), **how)
            check(made, m)
            found.append(float(made.private["loss"]))
    return found


def adult_text() -> pa.Table:
    """Adult's complete rows: the seven quasi-identifiers and occupation."""
    from shoal.studies.datasets import load_dataset

    table = load_dataset("adult").columns()
    if table.num_rows != adult_codes().rows:
        raise AssertionError("the study and the bench read different rows of Adult")
    return table


def check(release: Release, m: int) -> None:
    """Judge every class of a release by brute force; a class that breaks stops the case."""
    assert release.companion is not None
    classes: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    providers = pq.read_table(release.companion / "rows.parquet")["provider"].to_pylist()
    with release.path.open(encoding="utf-8", newline="") as lines:
        for row, who in zip(csv.DictReader(lines), providers, strict=True):
            classes[tuple(row[name] for name in ADULT)].append((str(who), row[SENSITIVE]))
    broken = sum(breaks(rows, m) for rows in classes.values())
    if broken or sum(map(len, classes.values())) != len(providers):
        raise AssertionError(f"{broken} of {len(classes)} classes break for m={m}")


def breaks(rows: Sequence[tuple[str, str]], m: int) -> bool:
    """Whether some coalition, its rows taken away, leaves fewer than k rows or l values."""
    who, row = np.unique([one for one, _ in rows], return_inverse=True)
    values, column = np.unique([value for _, value in rows], return_inverse=True)
    counts = np.zeros((len(who), len(values)), np.int64)
    np.add.at(counts, (row, column), 1)
    most = min(m, len(who) - 1)
    coalitions = np.array(list(combinations(range(len(who)), most)), np.int64)
    left = counts.sum(axis=0) - counts[coalitions].sum(axis=1)
    return bool(((left.sum(axis=1) < K) | ((left > 0).sum(axis=1) < L)).any())


def _cache() -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE
