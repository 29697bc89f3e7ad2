"""Axis: one column's leaves, coded in tree order, so that every generalised value is a range.

The codes run from 0 to size - 1. Null, where the column has one, is the last code: a leaf directly
under the root, never inside an interval. Three shapes say what may be published:

    ordered   any range of leaves                          [20-29]
    tree      a leaf, a node of a level, or the root       20  [20-29]  130**  Europe  *
    flat      any set of leaves (kept as bitsets)          {A, B}

An axis is grown from a `shoal.core.hierarchy.Hierarchy` and the column's values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.label_parser import Between, Everything, ValueSet, parse_label
from shoal.core.labels import (
    ROOT,
    format_value,
    join_range,
    read_range,
    read_set,
    to_position,
    write_set,
)
from shoal.core.labels import to_positions as as_positions

Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
_NOWHERE = (-1, -1)


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a tree: its nodes' first codes (ascending from 0) and their labels.

    `ends` (nodes, 2) are the numbers a label states, where they reach further than the node's
    outermost leaves: ``[20-29]`` is 9 wide although nobody may be 29.
    """

    starts: Codes
    labels: tuple[str, ...]
    ends: NDArray[np.float64] | None = None


class _Nodes(NamedTuple):
    """Root, the levels' nodes from coarse to fine, then the leaves: one row each."""

    of: list[Codes]  # per level, coarse to fine, and for the leaves: code -> node
    first: Codes
    last: Codes
    width: NDArray[np.float64]
    label: NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Axis:
    """A column's leaves in tree order; everything about them is vectorised over codes.

    `leaves` is without null; `levels` run from fine to coarse, without leaves and root;
    `positions` are the leaves as ascending numbers (a date is its ordinal day), `span` the ends
    of the range that widths are measured against, and `root` what a taxonomy calls everything: it
    is read like ``*``, which is what is written. Levels stay as they were given, also those whose
    nodes are the same ranges as another's: a range is printed as the lowest of them unless its
    level is said.

    >>> ages = (20.0, 25.0, 30.0)
    >>> axis = Axis("age", "number", "ordered", ages, positions=np.array(ages))
    >>> axis.labels([0, 0, 0], [0, 1, 2]).tolist()
    ['20', '[20-25]', '*']
    >>> axis.width([0, 0, 0], [0, 1, 2]).tolist()
    [0.0, 0.5, 1.0]
    """

    name: str
    kind: str
    shape: str
    leaves: tuple[Any, ...]
    null: bool = False
    levels: tuple[Level, ...] = ()
    positions: NDArray[np.float64] | None = None
    span: tuple[float, float] | None = None
    root: str = ROOT
    unknown: bool = False
    """Null stands for a value that nobody knows, any of the column's, not for one of its own."""

    @classmethod
    def numbered(cls, name: str, size: int, unknown: bool = False) -> Axis:
        """A flat axis of `size` values without meaning, for codes that stand for combinations."""
        leaves = tuple(map(str, range(size)))
        return cls(name, "category", "flat", leaves, null=unknown, unknown=unknown)

    @property
    def size(self) -> int:
        """How many codes there are: the leaves, and null where the column has one."""
        return len(self.leaves) + self.null

    @property
    def null_code(self) -> int:
        """The code of null: the last one; -1 where the column has no null."""
        return len(self.leaves) if self.null else -1

    @property
    def height(self) -> int:
        """How many levels there are above the leaves, ``*`` among them; a lone leaf has none."""
        return len(self.levels) + 1 if self.levels or self.size > 1 else 0

    @property
    def words(self) -> int:
        """How many 64-bit words a set of leaves takes."""
        return (self.size + 63) // 64

    # Values to codes

    def codes(self, values: Sequence[Any] | NDArray[Any]) -> Codes:
        """The code of each value; -1 for a value that is no leaf. None and nan are null."""
        if self.kind not in ("number", "date"):
            find = {**self._code_of, None: self.null_code}
            return np.array([find.get(value, -1) for value in values], dtype=np.int32)
        places = as_positions(values, self.kind)
        codes = np.where(np.isnan(places), self.null_code, -1).astype(np.int32)
        if self.leaves:
            order, line = self._line
            at = np.minimum(np.searchsorted(line, places), len(line) - 1)
            codes = np.where(line[at] == places, order[at], codes)
        return codes

    # Ranges of codes

    def cover(self, low: ArrayLike, high: ArrayLike) -> tuple[Codes, Codes]:
        """The smallest publishable range around each low..high."""
        low, high = np.asarray(low, dtype=np.int32), np.asarray(high, dtype=np.int32)
        if self.shape == "tree":
            node = self._node(low, high)
            return self._nodes.first[node], self._nodes.last[node]
        mixed = (low < high) & (high == self.null_code)
        return np.where(mixed, np.int32(0), low), high

    def level_of(self, low: ArrayLike, high: ArrayLike) -> NDArray[np.int64]:
        """The lowest level with a node around each low..high: 0 a leaf, ``height`` is ``*``.

        ``*`` alone holds null and anything else.
        """
        low, high = np.asarray(low), np.asarray(high)
        level_of = np.full(low.shape, len(self.levels) + 1)
        for number, level in reversed(list(enumerate(self.levels, 1))):
            starts = np.append(level.starts, self.null_code) if self.null else level.starts
            first, last = (np.searchsorted(starts, end, side="right") for end in (low, high))
            level_of[first == last] = number
        level_of[low == high] = 0
        return level_of

    def level_to_print(self, level: ArrayLike, low: ArrayLike, high: ArrayLike) -> Codes:
        """The level by which a node of `level` is printed; -1: as the lowest with its leaves."""
        level = np.asarray(level)
        repeated = (np.asarray(low) < np.asarray(high)) & (self.level_of(low, high) < level)
        return np.where(repeated, level, -1).astype(np.int32)

    def width(self, low: ArrayLike, high: ArrayLike, level: ArrayLike = -1) -> NDArray[np.float64]:
        """How much of the axis the published label of low..high spans: 0 one leaf, 1 everything.

        Normalised certainty penalty of one cell: the label's width over the range for numbers and
        dates, (leaves - 1) / (domain - 1) otherwise (Xu et al., Utility-based anonymization using
        local recoding, KDD 2006).
        """
        low, high = np.asarray(low, dtype=np.int32), np.asarray(high, dtype=np.int32)
        if self.shape == "tree":
            return self._nodes.width[self._node(low, high, level)]
        low, high = self.cover(low, high)
        return self._spread(low, high)

    def set_width(self, members: ArrayLike) -> NDArray[np.float64]:
        """The width of sets with so many members: (members - 1) / (size - 1)."""
        return (np.asarray(members, dtype=np.float64) - 1) / max(self.size - 1, 1)

    def labels(self, low: ArrayLike, high: ArrayLike, level: ArrayLike = -1) -> NDArray[np.object_]:
        """The published text of each low..high; None for null alone.

        Where several levels have a node of just these leaves, `level` says whose label it is
        (``level_to_print``); -1 is the lowest.
        """
        low, high = np.asarray(low, dtype=np.int32), np.asarray(high, dtype=np.int32)
        if self.shape == "tree":
            return self._nodes.label[self._node(low, high, level)]
        low, high = self.cover(low, high)
        labels = np.empty(low.shape, dtype=object)
        pairs = zip(low.ravel().tolist(), high.ravel().tolist(), strict=True)
        labels.ravel()[:] = [self._label(*pair) for pair in pairs]
        return labels

    def set_labels(self, members: NDArray[Any]) -> NDArray[np.object_]:
        """The published text of each set: bool (n, size), or bitsets uint64 (n, words)."""
        if members.dtype != np.bool_:
            raw = np.ascontiguousarray(members, dtype="<u8").view(np.uint8)
            members = np.unpackbits(raw, axis=1, count=self.size, bitorder="little").view(np.bool_)
        labels = np.empty(len(members), dtype=object)
        labels[:] = [self._set_label(np.flatnonzero(row)) for row in members]
        return labels

    def parse(self, texts: Sequence[Any] | NDArray[Any]) -> tuple[Codes, Codes, Flags]:
        """The range each label stands for, and whether it could be read.

        Values and what `labels` writes first, then what others write (`shoal.core.label_parser`). A
        text that is both a value and a node's label is read as the node's label. A label that
        covers no leaf, or leaves that are no range, cannot be read.

        >>> axis = Axis("age", "number", "flat", (20.0, 30.0, 40.0))
        >>> [ends.tolist() for ends in axis.parse(["20", "[20, 40[", ">=30", "old"])]
        [[0, 0, 1, -1], [0, 1, 2, -1], [True, True, True, False]]
        """
        texts = list(texts)
        distinct = {text: self._range(text) for text in set(texts)}
        ranges = np.array([distinct[text] for text in texts], dtype=np.int32).reshape(-1, 2)
        return ranges[:, 0], ranges[:, 1], ranges[:, 0] >= 0

    def parse_sets(self, texts: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[np.uint64], Flags]:
        """The set each label stands for, as bitsets (n, words): the inverse of `set_labels`."""
        texts = list(texts)
        members = {text: self._members(text) for text in set(texts)}
        bits = {text: self._bitset(codes) for text, codes in members.items()}
        sets = np.array([bits[text] for text in texts], dtype=np.uint64).reshape(-1, self.words)
        return sets, np.array([len(members[text]) > 0 for text in texts], dtype=np.bool_)

    # Behind the labels: one leaf, one range, one set

    def _label(self, low: int, high: int) -> str | None:
        if low == high:
            return self._leaf_label(low)
        if (low, high) == (0, self.size - 1):
            return ROOT
        if self.shape == "flat":
            return self._set_label(np.arange(low, high + 1))
        ends = self._texts[low], self._texts[high]
        return join_range(*ends, isinstance(self.leaves[low], str))

    def _set_label(self, codes: NDArray[np.intp]) -> str | None:
        if len(codes) == 1:
            return self._leaf_label(int(codes[0]))
        if len(codes) == self.size:
            return ROOT
        members = sorted(self.leaves[code] for code in codes if code != self.null_code)
        absent = [None] if self.null and self.null_code in codes else []
        return write_set([*map(format_value, members), *absent])

    def _leaf_label(self, code: int) -> str | None:
        """The leaf's text; in braces where it would be read as something else."""
        if code == self.null_code:
            return None
        plain = format_value(self.leaves[code])
        marks = ("{", "[") if self.shape == "ordered" else ("{",)
        return write_set([plain]) if plain in ("", ROOT) or plain.startswith(marks) else plain

    def _range(self, label: Any) -> tuple[int, int]:
        if isinstance(label, str) and self.shape != "flat":
            if self.shape == "tree" and label in self._ranges_by_label:
                return self._ranges_by_label[label]
            ends = read_range(label)
            between = self._between(*ends) if ends else _NOWHERE
            if between != _NOWHERE:
                return between
        codes = self._members(label)
        contiguous = len(codes) > 0 and codes[-1] - codes[0] == len(codes) - 1
        return (codes[0], codes[-1]) if contiguous else _NOWHERE

    def _between(self, low: str, high: str) -> tuple[int, int]:
        """The leaves from one text to the other; the ends of a number's range need be no leaves."""
        if self.positions is None:
            codes = self._code(low), self._code(high)
            return codes if 0 <= codes[0] < codes[1] else _NOWHERE
        try:
            ends = to_position(low, self.kind), to_position(high, self.kind)
        except ValueError:
            return _NOWHERE
        first = int(np.searchsorted(self.positions, ends[0], side="left"))
        last = int(np.searchsorted(self.positions, ends[1], side="right")) - 1
        return (first, last) if first <= last else _NOWHERE

    def _members(self, label: Any) -> Sequence[int]:
        if label == ROOT:
            return range(self.size)
        members = read_set(label) if isinstance(label, str) else None
        if members and (codes := self._codes_of(members)):
            return codes
        if label == "" and self.null:  # as CSV writes it
            return [self.null_code]
        code = self._code(label)
        return [code] if code >= 0 else self._parse_foreign(label) if isinstance(label, str) else ()

    def _parse_foreign(self, label: str) -> Sequence[int]:
        """The codes of a label in the notation of others; empty when it is not certain."""
        meaning = parse_label(label, self.kind)
        if isinstance(meaning, Everything):
            return range(self.size)
        if isinstance(meaning, ValueSet):
            return self._codes_of(meaning.texts)
        if isinstance(meaning, Between):
            if self.positions is not None:
                return range(*meaning.within(self.positions))
            order, line = self._line
            return sorted(order[slice(*meaning.within(line))].tolist())
        codes, texts = self._spelling
        return sorted(codes[at] for at in meaning.among(texts)) if meaning else ()

    def _codes_of(self, texts: Sequence[str | None]) -> Sequence[int]:
        """The codes of these values, ascending; empty when one of them is no leaf."""
        codes = sorted({self._code(text) for text in texts})
        return codes if codes[0] >= 0 else ()

    def _code(self, value: Any) -> int:
        if self.kind not in ("number", "date"):
            return self.null_code if value is None else self._code_of.get(value, -1)
        try:
            place = to_position(value, self.kind)
        except ValueError:
            return -1
        unknown = isinstance(value, str) and math.isnan(place)  # the word nan is not null
        return -1 if unknown else int(self.codes([place])[0])

    def _bitset(self, codes: Sequence[int]) -> NDArray[np.uint64]:
        bits = np.zeros(self.words * 64, dtype=np.uint8)
        bits[list(codes)] = 1
        return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)

    # Tables, made once

    @cached_property
    def _code_of(self) -> dict[Any, int]:
        return {leaf: code for code, leaf in enumerate(self.leaves)}

    @cached_property
    def _line(self) -> tuple[Codes, NDArray[np.float64]]:
        """The leaves' codes by ascending position, and the positions."""
        places = as_positions(self.leaves, self.kind)
        order = np.argsort(places, kind="stable").astype(np.int32)
        return order, places[order]

    @cached_property
    def _texts(self) -> list[str]:
        return [format_value(leaf) for leaf in self.leaves]

    @cached_property
    def _spelling(self) -> tuple[list[int], list[str]]:
        """The leaves' codes by their text, and the texts, ascending."""
        order = sorted(range(len(self.leaves)), key=self._texts.__getitem__)
        return order, [self._texts[code] for code in order]

    def _spread(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Width by the outermost leaves of ranges that are publishable already."""
        whole = (low == 0) & (high == self.size - 1) & (self.size > 1)
        if self.positions is None or not self.leaves:
            return (high - low) / max(self.size - 1, 1)
        place = np.append(self.positions, self.positions[-1])  # null's is never looked at
        wide = self._share(place[low], place[high])
        return np.where(whole, 1.0, np.where(low == high, 0.0, wide))

    def _share(self, low: ArrayLike, high: ArrayLike) -> NDArray[np.float64]:
        assert self.positions is not None
        start, end = self.span or (self.positions[0], self.positions[-1])
        share = np.clip(high, start, end) - np.clip(low, start, end)
        return np.asarray(share / (end - start if end > start else 1.0), dtype=np.float64)

    def _node(self, low: Codes, high: Codes, level: ArrayLike = -1) -> Codes:
        """The lowest node around each low..high: from coarse to fine, as long as both are in it.

        From a `level` that is said on, no finer one.
        """
        node = np.zeros(np.broadcast_shapes(low.shape, high.shape), dtype=np.int32)
        level = np.asarray(level)
        for number, of in zip(range(len(self.levels), -1, -1), self._nodes.of, strict=True):
            inner = of[low]
            node = np.where((inner == of[high]) & (number >= level), inner, node)
        return node

    @cached_property
    def _nodes(self) -> _Nodes:
        count, size = len(self.leaves), self.size
        coarse = self.levels[::-1]
        codes = np.arange(size, dtype=np.int32)
        first = [np.zeros(1, np.int32), *(level.starts for level in coarse), codes]
        last = [
            np.full(1, size - 1, np.int32),
            *(_lasts(level.starts, count) for level in coarse),
            codes,
        ]
        bases = np.cumsum([len(part) for part in first])
        low, high = np.concatenate(first), np.concatenate(last)
        of = []
        for base, level in zip(bases, coarse, strict=False):
            inner = np.searchsorted(level.starts, codes, side="right") - 1 + base
            inner[count:] = bases[-2] + count  # null is in no node but its own leaf
            of.append(inner.astype(np.int32))
        of.append(np.arange(bases[-2], bases[-1], dtype=np.int32))
        return _Nodes(of, low, high, self._node_widths(low, high), self._node_labels(low, high))

    def _node_widths(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        width = self._spread(low, high)
        base = 1
        for level in self.levels[::-1]:
            if level.ends is not None:
                width[base : base + len(level.starts)] = self._share(*level.ends.T)
            base += len(level.starts)
        width[0] = float(self.size > 1)
        return width

    def _node_labels(self, low: Codes, high: Codes) -> NDArray[np.object_]:
        names = [ROOT, *(label for level in self.levels[::-1] for label in level.labels)]
        groups = {n for n, a, b in zip(names, low, high, strict=False) if a < b}
        label = np.empty(len(low), dtype=object)
        label[: len(names)] = names
        for code in range(self.size):
            leaf = self._leaf_label(code)
            while leaf in groups:  # the group keeps the name
                leaf = "{" + str(leaf) + "}"
            label[len(names) + code] = leaf
        return label

    @cached_property
    def _ranges_by_label(self) -> dict[str, tuple[int, int]]:
        """Every printable label to its range; groups before leaves, and those before lone nodes."""
        nodes = self._nodes
        rows = list(zip(nodes.label, nodes.first.tolist(), nodes.last.tolist(), strict=True))
        leaves = rows[len(rows) - self.size :]
        ranges: dict[str, tuple[int, int]] = {}
        for label, low, high in [*(r for r in rows if r[1] < r[2]), *leaves, *rows]:
            if label is not None:
                ranges.setdefault(label, (low, high))
        ranges.setdefault(self.root, (0, self.size - 1))
        return ranges


def _lasts(starts: Codes, count: int) -> Codes:
    return np.append(starts[1:], count)[: len(starts)].astype(np.int32) - np.int32(1)
