"""Keys: the codes of a row packed into one integer, and the table key → class a recoding joins.

An engine groups and joins on one 64-bit key many times faster than on a dozen columns.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frames.frame import Codes, Coding, Pieces

_LIMIT = 2**63
_MANY = 2**24

Keys = list[NDArray[np.uint64]]
Draw = Callable[[pa.RecordBatch], pa.RecordBatch]


def packing(sizes: Sequence[int]) -> list[list[int]]:
    """Which columns share a key: in order, as many as have a product of sizes below 2**63.

    >>> packing([2**40, 2**20, 2**10, 7])
    [[0, 1], [2, 3]]
    """
    plan: list[list[int]] = [[]]
    for i, size in enumerate(sizes):
        if prod(sizes[j] for j in plan[-1]) * size >= _LIMIT:
            plan.append([])
        plan[-1].append(i)
    return plan


def code_type(size: int) -> type[np.uint8] | type[np.uint16] | type[np.int32]:
    """The smallest type that holds codes 0..size-1."""
    return np.uint8 if size <= 2**8 else np.uint16 if size <= 2**16 else np.int32


def packed_sql(codes: Sequence[str], sizes: Sequence[int]) -> str:
    """The key as an expression: mixed radix, first column highest.

    >>> packed_sql(["a", "b"], [3, 7])
    '(a * 7::UBIGINT + b)'
    """
    key = codes[0] if codes else "0::UBIGINT"
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        key = f"({key} * {size}::UBIGINT + {code})"
    return key


def pack(codes: Sequence[Codes], sizes: Sequence[int], rows: int) -> NDArray[np.uint64]:
    """The same on arrays: one key for each of the ``rows`` entries."""
    key = np.zeros(rows, np.uint64)
    for column, size in zip(codes, sizes, strict=True):
        key *= np.uint64(size)
        # In place, a block at a time; signed codes would else be added as doubles, exact to 2**53.
        np.add(key, column, out=key, dtype=np.uint64, casting="unsafe")
    return key


def unpack(key: NDArray[np.uint64], sizes: Sequence[int]) -> list[Codes]:
    """The codes in the keys, each column in the smallest type that holds it.

    >>> [codes.tolist() for codes in unpack(np.array([20], np.uint64), [3, 7])]
    [[2], [6]]
    """
    codes: list[Codes] = []
    for size in reversed(sizes):
        rest = key // np.uint64(size)
        codes.append((key - rest * np.uint64(size)).astype(code_type(size)))
        key = rest
    return codes[::-1]


def assignment(
    plan: Sequence[Sequence[int]], by: Sequence[Coding], pieces: Pieces
) -> tuple[pa.Table, Draw]:
    """The table key → class to join, and what replaces divided entries' numbers by classes.

    An undivided entry has its class; one that is held back is absent, and so are its rows.
    Divided entry d stands in the table as -1 - d: its classes, each as often as its count says,
    wait in random order and are dealt to the entry's rows as these come by. So the counts are
    exact, and each row of the entry is as likely as any other to be in a given piece.
    """
    keys = [
        pack([pieces.codes[i] for i in column], [by[i].size for i in column], len(pieces.class_))
        for column in plan
    ]
    kept = pieces.class_ >= 0
    parts, entry = _divided(keys)
    if not len(parts):
        if not kept.all():
            return _table([key[kept] for key in keys], pieces.class_[kept]), _as_it_is
        return _table(keys, pieces.class_), _as_it_is
    kept[parts] = False
    first = parts[np.flatnonzero(np.diff(entry, prepend=-1))]
    table = _table(
        [np.concatenate([key[kept], key[first]]) for key in keys],
        np.concatenate([pieces.class_[kept], -1 - np.arange(len(first), dtype=np.int32)]),
    )
    return table, _dealer(entry, pieces.class_[parts], pieces.count[parts])


def _as_it_is(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _table(keys: Keys, classes: NDArray[np.int32]) -> pa.Table:
    columns: dict[str, NDArray[Any]] = {f"k{j}": key for j, key in enumerate(keys)}
    return pa.table({**columns, "class_": classes.astype(np.int32, copy=False)})


def _divided(keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pieces that share their key with another, entry by entry, and the number of the entry."""
    if len(keys) == 1 and not _any_twice(keys[0]):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys)
    same = np.ones(max(len(order) - 1, 0), bool)
    for key in keys:
        same &= key[order[1:]] == key[order[:-1]]
    as_before = np.concatenate([[False], same])
    shared = as_before | np.concatenate([same, [False]])
    return order[shared[: len(order)]], np.cumsum(~as_before[shared]) - 1


def _any_twice(key: NDArray[np.uint64]) -> bool:
    """Whether a key repeats: sorting is far cheaper than ordering, and nearly always enough."""
    lots = 8 if len(key) > _MANY else 1  # an eighth at a time: a copy of all keys is too much
    low = key.astype(np.uint8) % lots
    for lot in range(lots):
        ranked = np.sort(key[low == lot])
        if np.any(ranked[1:] == ranked[:-1]):
            return True
    return False


def _dealer(entry: NDArray[np.int64], classes: NDArray[np.int32], count: NDArray[np.int64]) -> Draw:
    """Deals the classes of each divided entry, in an order drawn from the operating system."""
    owner, hand = np.repeat(entry, count), np.repeat(classes, count)
    rng = np.random.Generator(np.random.PCG64DXSM(secrets.randbits(256)))
    hand = hand[np.lexsort([rng.random(len(hand)), owner])]
    sizes = np.bincount(owner, minlength=int(entry[-1]) + 1)
    end = np.cumsum(sizes)
    following = end - sizes

    def deal(batch: pa.RecordBatch) -> pa.RecordBatch:
        class_ = batch.column(0).to_numpy().copy()
        waiting = np.flatnonzero(class_ < 0)
        waiting = waiting[np.argsort(class_[waiting], kind="stable")]
        which = -1 - class_[waiting]
        _, start, times = np.unique(class_[waiting], return_index=True, return_counts=True)
        present = which[start]
        if np.any(following[present] + times > end[present]):
            raise InputError(
                "The table has more rows than when it was counted.",
                "Publish from a copy that nobody writes to.",
            )
        class_[waiting] = hand[following[which] + np.arange(len(which)) - np.repeat(start, times)]
        following[present] += times
        columns = [pa.array(class_), *batch.columns[1:]]
        return pa.RecordBatch.from_arrays(columns, batch.schema.names).filter(pa.array(class_ >= 0))

    return deal
