"""Random order: nothing lost, nothing changed, every place equally likely."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal.engines.row_shuffle import shuffle_rows


def table(rows: int, batch: int = 1000) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows, batch):
        number = np.arange(start, min(start + batch, rows), dtype=np.int32)
        words = [None if i % 5 == 0 else f"w{i % 3}" for i in number]
        yield pa.record_batch(
            {
                "n": number,
                "few": pa.array(words),
                "many": pa.array([f"id{i}" for i in number]),
                "coded": pa.array(words).dictionary_encode(),
            }
        )


@pytest.mark.parametrize("in_memory", [2**30, 20_000])
def test_same_rows_in_another_order(in_memory: int) -> None:
    before = pa.Table.from_batches(table(20_000))
    after = pa.Table.from_batches(shuffle_rows(table(20_000), in_memory=in_memory))
    assert after.schema == before.schema
    assert after["n"].to_pylist() != before["n"].to_pylist()
    assert after.sort_by("n").to_pylist() == before.to_pylist()


@pytest.mark.parametrize("in_memory", [2**30, 1])
def test_every_order_is_as_likely(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.row_shuffle._BUCKETS", 8)  # as random as more, and quicker
    seen = Counter[tuple[int, ...]]()
    for _ in range(120 if in_memory == 1 else 1200):
        batches = shuffle_rows(table(3, batch=2), in_memory=in_memory)
        seen[tuple(pa.Table.from_batches(batches)["n"].to_pylist())] += 1
    assert set(seen) == set(permutations(range(3)))
    expected = seen.total() / 6
    # Chi-squared with 5 degrees of freedom exceeds 36 once in a million runs.
    assert sum((n - expected) ** 2 / expected for n in seen.values()) < 36


def test_no_rows() -> None:
    assert list(shuffle_rows(iter([]))) == []
    empty = pa.record_batch({"n": pa.array([], pa.int32()), "t": pa.array([], pa.string())})
    assert sum(b.num_rows for b in shuffle_rows(iter([empty]))) == 0


def test_nothing_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stream = shuffle_rows(table(5000), in_memory=1000)
    before = len(os.listdir("/proc/self/fd"))
    next(stream)
    assert len(os.listdir("/proc/self/fd")) >= before + 60  # buckets, none of which has a name
    assert list(tmp_path.iterdir()) == []
    stream.close()  # type: ignore[attr-defined]
    assert len(os.listdir("/proc/self/fd")) <= before
    assert list(tmp_path.iterdir()) == []
