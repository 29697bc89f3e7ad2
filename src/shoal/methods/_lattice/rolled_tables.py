"""The classes of a table at any node of the lattice, rolled up from the smallest finer table.

A node is one rung for each column. Its classes are kept as packed keys with their rows, and per
judged column the counts of its values; a coarser node is made of any finer one without the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import Model, list_joint_columns
from shoal.core.tally import Cut, Groups, Tally, number_provider_pairs, sensitive_columns
from shoal.kernels import rollup
from shoal.kernels.grouping import tabulate
from shoal.methods._lattice.ladder import Rung, recode_to_rungs
from shoal.methods._shared.judged_columns import (
    JudgedColumn,
    SparseCounts,
    build_histograms,
    sum_values,
)

Node = tuple[int, ...]
Fields = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
CACHE_FACTOR = 4
"""Tables are kept until they hold so many times the classes of the finest."""
WORD = 64


@dataclass(frozen=True)
class Packing:
    """Where in the words of a key each column's node lies."""

    word: NDArray[np.int64]
    shift: NDArray[np.int64]
    bits: NDArray[np.int64]
    words: int

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Packing:
        """Fields wide enough for so many nodes, side by side; none lies in two words."""
        bits = [max(1, (size - 1).bit_length()) for size in sizes]
        word, shift, used, at = [], [], 0, 0
        for width in bits:
            if used + width > WORD:
                at, used = at + 1, 0
            word.append(at)
            shift.append(used)
            used += width
        return cls(np.array(word), np.array(shift), np.array(bits), at + 1)

    @property
    def fields(self) -> Fields:
        """What kernels need to read a key."""
        return self.word, self.shift, self.bits


@dataclass(frozen=True)
class RolledTable:
    """The classes of one node: packed nodes, rows, and the counts of each judged column."""

    node: Node
    key: NDArray[np.uint64]
    rows: NDArray[np.int64]
    counts: tuple[SparseCounts, ...]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass
class RolledTables:
    """The classes at every node that is asked for."""

    tally: Tally
    model: Model
    ladders: tuple[tuple[Rung, ...], ...]
    packing: Packing
    columns: list[JudgedColumn]
    """What is judged: sensitive values, or their pairs with the provider."""
    totals: tuple[NDArray[np.int64], ...]
    """Of each the rows of its values: of the whole table, where this is a part of one."""
    cached: list[RolledTable] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._levels = np.zeros((64, len(self.ladders)), dtype=np.int64)
        self._sizes = np.zeros(64, dtype=np.int64)
        self._above: dict[tuple[int, int, int], NDArray[np.int32]] = {}

    @classmethod
    def of(cls, tally: Tally, model: Model, ladders: tuple[tuple[Rung, ...], ...]) -> RolledTables:
        """The table at the first rung of each column, from which all others are rolled up."""
        needs = model.needs
        sensitive = sensitive_columns(tally, list_joint_columns(model))
        pairs: list[tuple[Any, Any]] = (
            number_provider_pairs(tally, sensitive) if "provider" in needs else []
        )
        judged = pairs or (sensitive if needs & {"sensitive", "total"} else [])
        packing = Packing.of([len(rungs[0]) for rungs in ladders])
        totals = sum_values(tally, sensitive) or (np.zeros(0, np.int64),)
        tables = cls(tally, model, ladders, packing, [column for column, _ in judged], totals)
        columns = zip(ladders, tally.keys, strict=True)
        nodes = np.stack([rungs[0].node[codes] for rungs, codes in columns])
        key = rollup.pack_nodes(nodes, packing.word, packing.shift, packing.words)
        nothing = np.zeros(0, dtype=np.int64)
        key, rows, number = rollup.lift_columns(
            key, tally.count, nothing, *packing.fields, nothing.astype(np.int32), nothing
        )
        counts = tuple(
            tabulate(number, codes, tally.count, len(rows), column.size) for column, codes in judged
        )
        tables._cache(RolledTable((0,) * len(ladders), key, rows, counts))
        return tables

    def roll_up(self, node: Node) -> RolledTable:
        """The classes of a node."""
        number = len(self.cached)
        finer = (self._levels[:number] <= np.array(node)).all(axis=1)
        sizes = np.where(finer, self._sizes[:number], np.iinfo(np.int64).max)
        source = self.cached[int(sizes.argmin())]
        if source.node == node:
            return source
        rolled = self._lift(source, node)
        if self._sizes.sum() + len(rolled) <= CACHE_FACTOR * self._sizes[0]:
            self._cache(rolled)
        return rolled

    def _cache(self, table: RolledTable) -> None:
        number = len(self.cached)
        if number == len(self._sizes):  # room for twice as many
            self._levels = np.concatenate((self._levels, np.zeros_like(self._levels)))
            self._sizes = np.concatenate((self._sizes, np.zeros_like(self._sizes)))
        self._levels[number], self._sizes[number] = table.node, len(table)
        self.cached.append(table)

    def _lift(self, source: RolledTable, node: Node) -> RolledTable:
        moved = [j for j, (old, new) in enumerate(zip(source.node, node, strict=True)) if new > old]
        tables = [self._map_nodes(j, source.node[j], node[j]) for j in moved]
        at = np.cumsum([0, *map(len, tables)])[:-1]
        key, rows, number = rollup.lift_columns(
            source.key,
            source.rows,
            np.array(moved, dtype=np.int64),
            *self.packing.fields,
            np.concatenate(tables),
            at,
        )
        counts = tuple(
            tabulate(
                np.repeat(number, np.diff(start)), value, count, len(rows), self.columns[i].size
            )
            for i, (start, value, count) in enumerate(source.counts)
        )
        return RolledTable(node, key, rows, counts)

    def _map_nodes(self, column: int, old: int, new: int) -> NDArray[np.int32]:
        """The node of a higher rung above each node of a lower one."""
        key = column, old, new
        if key not in self._above:
            rungs = self.ladders[column]
            self._above[key] = rungs[new].node[rungs[old].low]
        return self._above[key]

    def count_groups(
        self, table: RolledTable, published: NDArray[np.int64] | None = None
    ) -> Groups:
        """The classes for a model; of some only, as if the others were not published."""
        if self.model.needs & {"cells", "population"}:
            return self._recount_rows(table, published)
        whole = Groups(table.rows, *build_histograms(self.columns, table.counts, self.totals))
        if published is None:
            return whole
        return whole.take(published) if self.tally.reference else _take_published(whole, published)

    def _recount_rows(self, table: RolledTable, published: NDArray[np.int64] | None) -> Groups:
        """The classes by the rows themselves, with their cells and whom of the population these
        cover: whoever lies in none of them is left out once a class is not published."""
        cut = self.cut(table.node)
        if published is not None:
            suppressed = np.ones(len(table), dtype=bool)
            suppressed[published] = False
            cut = cut.without(suppressed)
        return Groups.of(self.tally, cut, list_joint_columns(self.model))

    def cut(self, node: Node) -> Cut:
        """The table at a node, as a cut of the tally; classes are numbered alike."""
        return recode_to_rungs(self.tally, self.rungs(node))

    def rungs(self, node: Node) -> list[Rung]:
        """The rung of each column at a node."""
        return [rungs[at] for rungs, at in zip(self.ladders, node, strict=True)]


def _take_published(groups: Groups, published: NDArray[np.int64]) -> Groups:
    some = groups.take(published)
    sensitive = tuple(
        replace(h, total=np.bincount(h.value, h.count, len(h.total)).astype(np.int64))
        for h in some.sensitive
    )
    shares = tuple(
        replace(s, total=np.bincount(s.value, s.count, len(s.total)).astype(np.int64))
        for s in some.contributions
    )
    return replace(some, sensitive=sensitive, contributions=shares)
