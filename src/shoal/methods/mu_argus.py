"""μ-Argus: recode columns, then blank the cells that make a rare pair or triple of values.

Every column is said to be not identifying (0), most identifying (1), more identifying (2) or
identifying (3). A combination of values of two or three columns is *unsafe* where fewer than k rows
have it. Tested are those with at least one most identifying column, at most one more identifying
and at most one identifying:

    1×1  2×1  3×1    1×1×1  2×1×1  3×1×1  3×2×1

First whole columns are recoded to a level of their hierarchy; then, in each row, the cell that is
in the most unsafe combinations becomes ``*`` (for a weight: combinations ÷ weight; the first of
equals), and all is counted again, until none is unsafe. A ``*`` that stands for one row's value is
in no combination any more, neither in that row nor in others' counts. k is the fewest rows of a
class that meets the rule.

A. Hundepool, L. Willenborg: μ- and τ-Argus, software for statistical disclosure control, Third
International Seminar on Statistical Confidentiality, 1996; as described by L. Sweeney: Achieving
k-anonymity privacy protection using generalization and suppression, 2002.

What it does not give: the rule. Four columns together may single out somebody whom no three of them
do (the sixteen rows of four binary values), and whether a class meets more than a count is not
asked. So the result is judged like any other and, where it fails, refused. Mondrian, the chain,
Datafly and full-domain make no class that breaks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations as chosen
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells, all_leaves
from shoal.core.errors import UsageError
from shoal.core.model import Mask, Model, min_class_rows, parse_fraction
from shoal.core.tally import Cut, Tally
from shoal.kernels import grouping
from shoal.kernels.grouping import number_combinations
from shoal.methods._lattice.ladder import (
    Rung,
    build_ladder,
    describe_levels,
    find_rung,
    recode_to_rungs,
    relabel_cells,
)
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._shared.refusals import check_quasi

PUBLISHES_LEVELS = True
"""What is not blanked is published at one level of its hierarchy."""
GUARANTEES_RULE = False
"""Nothing in it makes the classes meet the rule."""

AUTO, NONE = "auto", "none"
Combination = tuple[int, ...]
"""Two or three columns, by number."""
KERNELS = (grouping,)
"""What is compiled when it first runs on a machine."""


def mu_argus(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
    identifying: str = "",
    recode: str = AUTO,
    unsafe: float = 0.01,
) -> Cut:
    """The recoded table without rare pairs and triples; whether it meets the model is not asked.

    ``identifying``: ``"zip=1,age=2,sex=3"``, or 0; a column that is not named is most identifying
    (1). ``recode``: the levels to start from, ``"age=1"``; ``"none"``: all columns as they are;
    ``"auto"``: while more than the share ``unsafe`` of all rows' combinations is unsafe, the column
    is lifted by a level that makes the most of them safe for the loss it adds. Nothing is held
    back, whatever ``hold_back`` says, and nothing is random. The cut's facts: the level of each
    column (0: as it is), how many combinations of columns were tested, how many cells are blank.
    """
    check_quasi(tally)
    share = float(parse_fraction(unsafe, "unsafe", 0, 1, example="0.01"))
    degrees = _numbers(tally, identifying, "identifying", [3] * len(tally.quasi))
    tested = _tested([degrees.get(axis.name, 1) for axis in tally.quasi])
    advance = Advance(progress)
    rungs = _recoded(tally, recode, tested, min_class_rows(model), share, advance.half(0))
    cut = recode_to_rungs(tally, rungs)
    blank = _blank(tally, cut, tested, min_class_rows(model), advance.half(1))
    advance.end()
    names = [axis.name for axis in tally.quasi]
    facts = describe_levels(tally, rungs) | {
        "combinations": len(tested),
        "blank": dict(zip(names, (_rows(cut) @ blank).tolist(), strict=True)),
    }
    return replace(cut, cells=_blanked(tally, cut.cells, blank), facts=facts).merged()


def _tested(degrees: Sequence[int]) -> list[Combination]:
    """The pairs and triples of columns that are tested."""
    named = [column for column, degree in enumerate(degrees) if degree]
    several = (combination for size in (2, 3) for combination in chosen(named, size))
    return [
        combination
        for combination in several
        if _counts([degrees[column] for column in combination])
    ]


def _counts(degrees: Sequence[int]) -> bool:
    """Whether columns of these degrees are tested together.

    >>> [_counts(degrees) for degrees in ([1, 1], [1, 2, 3], [2, 3], [1, 2, 2])]
    [True, True, False, False]
    """
    return 1 in degrees and degrees.count(2) <= 1 and degrees.count(3) <= 1


# Recoding whole columns


def _recoded(
    tally: Tally,
    recode: str,
    tested: Sequence[Combination],
    k: int,
    share: float,
    progress: Progress,
) -> list[Rung]:
    """The level of each column to start from."""
    if recode == AUTO:
        ladders = [build_ladder(axis) for axis in tally.quasi]
        return _Lifting.of(tally, ladders, tested, k).run(share, progress)
    tops = [axis.height for axis in tally.quasi]
    wanted = {} if recode == NONE else _numbers(tally, recode, "recode", tops)
    levels = [wanted.get(axis.name, 0) for axis in tally.quasi]
    return [find_rung(axis, level) for axis, level in zip(tally.quasi, levels, strict=True)]


@dataclass(frozen=True)
class _Lifting:
    """Lift columns until few combinations are unsafe: what each combination of columns holds."""

    ladders: list[tuple[Rung, ...]]
    lost: list[NDArray[np.float64]]
    """Per column the mean width of its cells on each rung, times its weight."""
    values: dict[Combination, tuple[NDArray[Any], NDArray[Any]]]
    """Of each combination of columns the codes (columns, distinct) and their rows."""
    k: int
    rows: int

    @classmethod
    def of(
        cls,
        tally: Tally,
        ladders: list[tuple[Rung, ...]],
        tested: Sequence[Combination],
        k: int,
    ) -> _Lifting:
        lost = [_losses(tally, column, rungs) for column, rungs in enumerate(ladders)]
        values = {combination: _distinct(tally, combination) for combination in tested}
        return cls(ladders, lost, values, k, tally.rows)

    def run(self, share: float, progress: Progress) -> list[Rung]:
        """The rungs at which no more than this share of all rows' combinations is unsafe."""
        at = [0] * len(self.ladders)
        bad = {combination: self._unsafe(combination, at) for combination in self.values}
        columns = sorted({column for combination in bad for column in combination})
        while sum(bad.values()) > share * self.rows * len(bad):
            able = [column for column in columns if at[column] < len(self.ladders[column]) - 1]
            if not able:
                break
            tried = [self._lifted(column, at, bad) for column in able]
            _, column, left = max(tried, key=lambda one: one[0])
            at[column] += 1
            bad |= left
            progress(sum(at), sum(len(rungs) - 1 for rungs in self.ladders))
        return [rungs[i] for rungs, i in zip(self.ladders, at, strict=True)]

    def _lifted(
        self, column: int, at: Sequence[int], bad: Mapping[Combination, float]
    ) -> tuple[tuple[float, float], int, dict[Combination, float]]:
        """How good it is to lift a column, its number, and what of its combinations stays unsafe.

        By how much becomes safe for the loss that it adds; of equals by how little that is.
        """
        above = [i + (j == column) for j, i in enumerate(at)]
        left = {
            combination: self._unsafe(combination, above)
            for combination in bad
            if column in combination
        }
        safe = sum(bad[combination] - rows for combination, rows in left.items())
        cost = float(self.lost[column][above[column]] - self.lost[column][at[column]])
        return (safe / max(cost, 1e-12), -cost), column, left

    def _unsafe(self, combination: Combination, at: Sequence[int]) -> float:
        """How many rows have a rare combination of values in these columns."""
        codes, rows = self.values[combination]
        rungs = [self.ladders[column][at[column]] for column in combination]
        nodes = [rung.node[own] for rung, own in zip(rungs, codes, strict=True)]
        counted = np.bincount(number_combinations(nodes, map(len, rungs))[0], weights=rows)
        return float(counted[counted < self.k].sum())


def _losses(tally: Tally, column: int, rungs: Sequence[Rung]) -> NDArray[np.float64]:
    axis, codes = tally.quasi[column], tally.keys[column]
    rows = np.bincount(codes, weights=tally.count, minlength=axis.size)
    wide = np.array([axis.width(rung.low, rung.high)[rung.node] for rung in rungs])
    return np.asarray(wide @ rows * (tally.importance[column] / max(tally.rows, 1)))


def _distinct(tally: Tally, combination: Combination) -> tuple[NDArray[Any], NDArray[Any]]:
    codes = tally.keys[list(combination)]
    number, first = number_combinations(codes, [tally.quasi[column].size for column in combination])
    rows = np.bincount(number, weights=tally.count, minlength=len(first))
    return codes[:, first], rows


# Blanking single cells


def _blank(
    tally: Tally, cut: Cut, tested: Sequence[Combination], k: int, progress: Progress
) -> Mask:
    """Which cells become ``*``, (classes, columns): in each round one of every unsafe class."""
    rows, cells = _rows(cut), cut.cells
    telling = ((cells.low > 0) | (cells.high < _tops(tally))).any(axis=0)
    blank = np.zeros(cells.low.shape, dtype=bool)
    while True:
        times = np.zeros(blank.shape)
        for combination in tested:
            at = _rare(tally, cells.low, rows, blank, combination, k)
            times[at[:, np.newaxis], combination] += 1
        times *= telling  # a column that is * everywhere cannot be blanked
        times /= tally.importance
        unsafe = times.any(axis=1)
        progress(int(rows[~unsafe].sum()), tally.rows)
        if not unsafe.any():
            return blank
        blank[np.flatnonzero(unsafe), times[unsafe].argmax(axis=1)] = True


def _rare(
    tally: Tally, node: NDArray[Any], rows: NDArray[Any], blank: Mask, found: Combination, k: int
) -> NDArray[np.int64]:
    """The classes whose values in some columns, none of them blank, fewer than k rows have."""
    columns = list(found)
    known = np.flatnonzero(~blank[:, columns].any(axis=1))
    nodes = [node[known, column] for column in columns]
    number, _ = number_combinations(nodes, [tally.quasi[column].size for column in columns])
    return known[np.bincount(number, weights=rows[known])[number] < k]


def _blanked(tally: Tally, cells: Cells, blank: Mask) -> Cells:
    """The cells, those that are blank as ``*``."""
    low = np.where(blank, np.int32(0), cells.low)
    high = np.where(blank, _tops(tally), cells.high)
    sets = {
        j: np.where(blank[:, j, np.newaxis], all_leaves(tally.quasi[j]), bits)
        for j, bits in cells.sets.items()
    }
    tops = [axis.height for axis in tally.quasi]
    stars = relabel_cells(tally.quasi, Cells(low, high, sets), tops).levels
    if stars is None and cells.levels is None:
        return Cells(low, high, sets)
    shown = np.full_like(low, -1) if cells.levels is None else cells.levels
    over = np.full_like(low, -1) if stars is None else stars
    return Cells(low, high, sets, np.where(blank, over, shown))


def _rows(cut: Cut) -> NDArray[np.int64]:
    return np.bincount(cut.class_, weights=cut.count, minlength=cut.classes).astype(np.int64)


def _tops(tally: Tally) -> NDArray[np.int32]:
    return np.array([axis.size - 1 for axis in tally.quasi], dtype=np.int32)


# Parameters


def _numbers(tally: Tally, text: str, name: str, most: Sequence[int]) -> dict[str, int]:
    """The whole number of each column that is named: ``"age=1,zip=2"``."""
    tops = dict(zip((axis.name for axis in tally.quasi), most, strict=True))
    hint = f"write COLUMN=NUMBER, several with commas; the columns are: {', '.join(tops)}."
    numbers: dict[str, int] = {}
    for part in filter(str.strip, text.split(",")):
        column, _, number = (piece.strip() for piece in part.rpartition("="))
        if column not in tops or column in numbers:
            raise UsageError(f"{name} does not name quasi-identifiers, each once.", hint)
        if not number.isdecimal() or int(number) > tops[column]:
            raise UsageError(f"{name} of {column} is not one of 0 to {tops[column]}.", hint)
        numbers[column] = int(number)
    return numbers
