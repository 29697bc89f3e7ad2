"""The whole way, Parquet to verified Parquet, against hand-written SQL; time and memory."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.data import CACHE, QUASI, SENSITIVE, parquet
from bench.measure import Line, Spent, program, seconds
from shoal import Schema
from shoal import open as open_frame
from shoal.core.axis import Axis
from shoal.core.tally import Cut, Tally
from shoal.methods.mondrian import mondrian
from shoal.models import rule
from shoal.releases.tallying import encode

WARM_ROWS = 5_000
SMALL = {"publish": {"rows": 200_000}, "large": {"rows": 1_000_000}}


def run(rows: int = 10_000_000) -> Iterator[Line]:
    """Publish against SQL, both as programs of their own: start-up is in it."""
    source = parquet(rows)
    entries, classes = _classes(source)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        written = str(Path(scratch) / "by_sql.parquet")
        sql = [sys.executable, "-m", "bench.by_sql", str(source), str(entries), str(classes)]
        limit = program([*sql, written])
        own = _publish(source, Path(scratch))
    told = f"{seconds(own.cpu)} : {seconds(limit.cpu)}"
    yield Line(f"publish {rows:,} rows: SQL", told, own.cpu / limit.cpu, 4)
    yield _memory(f"publish {rows:,} rows: memory", own, own.peak / rows, 250, " B/row")
    yield Line("SQL: memory", f"{limit.peak / 1e9:.3g} GB", limit.peak / rows, unit=" B/row")


def large(rows: int = 100_000_000) -> Iterator[Line]:
    """Ten times more, in 4 GB."""
    source = parquet(rows)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        own = _publish(source, Path(scratch))
    yield _memory(f"publish {rows:,} rows: memory", own, own.peak / 1e9, 4, " GB")
    yield Line(f"publish {rows:,} rows: time", f"{seconds(own.cpu)} CPU, {seconds(own.wall)} wall")


def _publish(source: Path, scratch: Path) -> Spent:
    """Warm: a small table first, so that no kernel is compiled while the large one is measured."""
    for table in (parquet(WARM_ROWS), source):
        out = scratch / "release"
        spent = program([sys.executable, "-m", "bench.by_shoal", str(table), str(out)])
        shutil.rmtree(out)
        shutil.rmtree(out.with_name("release.private"))
    return spent


def _memory(case: str, own: Spent, value: float, limit: float, unit: str) -> Line:
    return Line(case, f"{own.peak / 1e9:.3g} GB", value, limit, unit=unit)


def _classes(source: Path) -> tuple[Path, Path]:
    """Files that say which class each distinct row belongs to, and each class's labels."""
    entries, classes = (source.with_suffix(f".{part}.parquet") for part in ("entries", "classes"))
    if not classes.is_file():
        frame = open_frame(source)
        schema = Schema.of(quasi=QUASI, sensitive=SENSITIVE).fit(frame.fields)
        tally = encode(frame, schema).tally
        cut = mondrian(tally, rule("k-anonymity k=10"))
        pq.write_table(_entries(tally, cut), entries)
        pq.write_table(_labels(tally, cut), classes)
    return entries, classes


def _entries(tally: Tally, cut: Cut) -> pa.Table:
    pairs = zip((*tally.quasi, *tally.sensitive), (*tally.keys, *tally.values), strict=True)
    columns = {a.name: _values(a).take(pa.array(codes[cut.entry])) for a, codes in pairs}
    return pa.table({**columns, "class": cut.class_})


def _values(axis: Axis) -> pa.Array:
    leaves = axis.leaves
    return pa.array(np.array(leaves).astype(np.int32) if axis.kind == "number" else leaves)


def _labels(tally: Tally, cut: Cut) -> pa.Table:
    columns = {}
    for j, axis in enumerate(tally.quasi):
        number, texts = cut.cells.labels(tally.quasi, j)
        columns[axis.name] = pa.array(texts.tolist(), pa.string()).take(pa.array(number))
    return pa.table({**columns, "class": np.arange(cut.classes, dtype=np.int32)})
