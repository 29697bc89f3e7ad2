"""Full-domain and local recoding against ARX 3.9.2: the same optima, less time, less memory.

ARX's times are those of its search, the table loaded and the machine warm, unless said. Ours are
CPU seconds scaled by the bare Mondrian that is run beside them (see yardstick).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pyarrow import csv

from bench import arx
from bench.data import CACHE, adult_codes
from bench.measure import ROOT, Line, Unavailable, environment, program, seconds
from bench.yardstick import beside, scale, scaled
from shoal.core.tally import Cut, Groups, Tally
from shoal.methods.full_domain import full_domain
from shoal.methods.local import local
from shoal.models import rule

K = "k-anonymity k=5"
L, T = f"{K} & entropy-diversity l=4", f"{K} & t-closeness t=0.2"
APART = ("occupation",)
GOLDEN = (
    ("k-anonymity k=5", (), 407289.5389, (1, 2, 1, 1, 3, 2, 2, 1, 1)),
    ("k-anonymity k=100", (), 453196.8932, (0, 4, 1, 1, 3, 2, 2, 1, 1)),
    ("entropy-diversity l=5", APART, 324620.5270, (1, 1, 1, 1, 3, 2, 2, 1)),
)
"""Optima of ARX's own tests, by non-uniform entropy: rule, sensitive columns, value, levels."""
QUALITY = (
    (K, (), 0.0, 0.292),
    (K, (), 0.05, 0.698),
    (L, APART, 0.0, 0.231),
    (L, APART, 0.05, 0.668),
    (T, APART, 0.0, 0.076),
    (T, APART, 0.05, 0.184),
)
"""Optima of ARX by Loss: rule, sensitive columns, share held back at most, granularity."""
TIMES = {0.0: (0.02, ".03 s"), 0.05: (0.25, ".92 s")}
"""By the share held back at most: our limit in seconds, and what ARX took."""
COMMAND, COMMAND_ARX = 2.5, "4.8 s"
LOCAL, LOCAL_ARX, LOCAL_QUALITY = 2.0, "3.3 s", 0.932
LARGE = {1_000_000: (15.0, "47 s", 0.93), 10_000_000: (40.0, "94 s", 3.9)}
"""By rows: our limit in seconds, ARX's time, and its memory in GB, which is our limit too."""
SMALL = {"lattice": {"large": {100_000: (None, "not measured", None)}}}

Limits = Mapping[int, tuple[float | None, str, float | None]]


def run(large: Limits = LARGE) -> Iterator[Line]:
    """Optima, times on Adult, larger tables, local recoding."""
    tables = {(): arx.nine(), APART: arx.nine(APART)}
    yield from _golden(tables)
    yield from _quality(tables)
    yield from _times(tables[()])
    yield _command(tables[()])
    for rows, limits in large.items():
        yield from _large(rows, *limits)
    yield from _local(tables[()])


def _golden(tables: dict[tuple[str, ...], Tally]) -> Iterator[Line]:
    """How far value and levels are from ARX's."""
    for text, apart, value, levels in GOLDEN:
        found = full_domain(tables[apart], rule(text), measure="non-uniform-entropy").facts
        own = tuple(found["levels"].values())
        off = round(abs(found["value"] - value), 4) + sum(map(int.__ne__, own, levels))
        told = f"{found['value']:.4f} : {value:.4f}, levels {' '.join(map(str, own))}"
        yield Line(f"Optimum, {text}, non-uniform entropy: ARX", told, off, 0, unit=" apart")


def _quality(tables: dict[tuple[str, ...], Tally]) -> Iterator[Line]:
    for text, apart, share, quality in QUALITY:
        tally = tables[apart]
        cut = _searching(tally, text, share)()
        _judge(tally, cut, text)
        own = round(arx.granularity(tally, cut), 3)
        told = f"{own:.3f} : {quality:.3f}, {cut.suppressed:,} held back"
        case = f"Granularity by Loss, {text}, {share:.0%}: ARX"
        yield Line(case, told, own, quality, at_least=True, unit="")


def _searching(tally: Tally, text: str, share: float) -> Callable[[], Cut]:
    model, most = rule(text), int(share * tally.rows)
    return lambda: full_domain(tally, model, hold_back=most)


def _judge(tally: Tally, cut: Cut, text: str) -> None:
    """A cut that breaks its rule stops the case."""
    if not rule(text).holds(Groups.of(tally, cut)).all():
        raise AssertionError(f"a cut breaks {text}")


def _times(tally: Tally) -> Iterator[Line]:
    for share, (limit, peer) in TIMES.items():
        own, value = beside(_searching(tally, K, share), 5)
        case = f"Full-domain, Adult, k=5, {share:.0%}, warm"
        yield scaled(case, own.cpu, value, limit, f"ARX {peer}")


def _command(tally: Tally) -> Line:
    """The command as it is typed, start-up included; it must find what the method finds."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        table = Path(scratch) / "adult.csv"
        csv.write_csv(adult_codes("train").arrow(arx.NINE), table)
        trees = arx.copied(Path(scratch) / "hierarchies")
        asked = ["-m", K, "--method", "full-domain", "--hierarchies", str(trees)]
        asked += ["--hold-back", "0.05", "--dry-run", "--json"]
        command = [sys.executable, "-m", "shoal.cli", "publish", str(table), *asked]
        _same_levels(command, _searching(tally, K, 0.05)())
        own = program(command, 3)
    case = f"shoal publish, Adult, 5%, start-up and all, {own.peak / 1e6:.0f} MB"
    return scaled(case, own.cpu, own.cpu * scale(), COMMAND, f"ARX {COMMAND_ARX}, 447 MB")


def _same_levels(command: Sequence[str], cut: Cut) -> None:
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"shoal publish failed: {done.stderr.strip().splitlines()[-1:]}")
    found = json.loads(done.stdout)
    if (found["levels"], found["held_back"]) != (cut.facts["levels"], cut.suppressed):
        raise AssertionError("the command and the method find different levels")


def _large(rows: int, limit: float | None, peer: str, memory: float | None) -> Iterator[Line]:
    """A program of its own, for its memory; its search alone, for the time."""
    source = arx.large(rows)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        out = Path(scratch) / "found.json"
        own = program([sys.executable, "-m", "bench.by_lattice", str(source), "0.05", str(out)])
        found = json.loads(out.read_text(encoding="utf-8"))
    times = scale()
    case = f"Full-domain, {rows:,} rows, 5%"
    yield scaled(case, found["search"], found["search"] * times, limit, f"ARX {peer}")
    yield Line(f"{case}: memory, reading included", "", own.peak / 1e9, memory, unit=" GB")
    told = f"{found['entries']:,} distinct rows read in {seconds(found['read'])}"
    yield Line("the same", f"{told}, {found['checked']:,} nodes checked")


def _local(tally: Tally) -> Iterator[Line]:
    model = rule(K)
    cut = local(tally, model)
    _judge(tally, cut, K)
    quality = arx.granularity(tally, cut)
    told = f"{cut.facts['rounds']} rounds, {cut.suppressed:,} held back"
    case = "Local, Adult, k=5"
    yield Line(f"{case}: granularity", told, quality, LOCAL_QUALITY, at_least=True, unit="")
    own, value = beside(lambda: local(tally, model))
    yield scaled(f"{case}, warm", own.cpu, value, LOCAL, f"ARX {LOCAL_ARX}")
