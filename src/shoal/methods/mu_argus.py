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

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        Only its fewest rows of a class are used, as k.
    rng
        Not used: nothing is random.
    progress
        Called with how much of how much is done.
    hold_back
        Not used: no row is suppressed.
    identifying
        How identifying columns are, ``"zip=1,age=2,sex=3"``, or 0; a column that is not named is
        most identifying (1).
    recode
        The levels to start from, ``"age=1"``; ``"none"``: all columns as they are; ``"auto"``:
        while too many combinations are unsafe, the column is lifted that makes the most of them
        safe for the loss it adds.
    unsafe
        Which share of all rows' combinations may be unsafe before cells are blanked (``"auto"``).

    Returns
    -------
    Cut
        The classes; its facts: the level of each column (0: as it is), how many ``combinations`` of
        columns were tested, and how many cells of each are ``blank``.

    Raises
    ------
    UsageError
        ``identifying`` or ``recode`` names a column or a number that there is not.
    """
    check_quasi(tally)
    share = float(parse_fraction(unsafe, "unsafe", 0, 1, example="0.01"))
    degrees = _parse_column_numbers(tally, identifying, "identifying", [3] * len(tally.quasi))
    tested = _list_tested_combinations([degrees.get(axis.name, 1) for axis in tally.quasi])
    advance = Advance(progress)
    rungs = _choose_rungs(tally, recode, tested, min_class_rows(model), share, advance.half(0))
    cut = recode_to_rungs(tally, rungs)
    blanks = _choose_blanks(tally, cut, tested, min_class_rows(model), advance.half(1))
    advance.end()
    names = [axis.name for axis in tally.quasi]
    facts = describe_levels(tally, rungs) | {
        "combinations": len(tested),
        "blank": dict(zip(names, (_count_rows(cut) @ blanks).tolist(), strict=True)),
    }
    return replace(cut, cells=_blank_cells(tally, cut.cells, blanks), facts=facts).merged()


def _list_tested_combinations(degrees: Sequence[int]) -> list[Combination]:
    named = [column for column, degree in enumerate(degrees) if degree]
    several = (combination for size in (2, 3) for combination in chosen(named, size))
    return [
        combination
        for combination in several
        if _is_tested([degrees[column] for column in combination])
    ]


def _is_tested(degrees: Sequence[int]) -> bool:
    """Whether columns of these degrees are tested together.

    >>> [_is_tested(degrees) for degrees in ([1, 1], [1, 2, 3], [2, 3], [1, 2, 2])]
    [True, True, False, False]
    """
    return 1 in degrees and degrees.count(2) <= 1 and degrees.count(3) <= 1


# Recoding whole columns


def _choose_rungs(
    tally: Tally,
    recode: str,
    tested: Sequence[Combination],
    k: int,
    share: float,
    progress: Progress,
) -> list[Rung]:
    if recode == AUTO:
        ladders = [build_ladder(axis) for axis in tally.quasi]
        return _Lifting.of(tally, ladders, tested, k).run(share, progress)
    tops = [axis.height for axis in tally.quasi]
    requested = {} if recode == NONE else _parse_column_numbers(tally, recode, "recode", tops)
    levels = [requested.get(axis.name, 0) for axis in tally.quasi]
    return [find_rung(axis, level) for axis, level in zip(tally.quasi, levels, strict=True)]


@dataclass(frozen=True)
class _Lifting:
    """Lift columns until few combinations are unsafe: what each combination of columns holds."""

    ladders: list[tuple[Rung, ...]]
    losses: list[NDArray[np.float64]]
    """Per column the mean width of its cells on each rung, times its weight."""
    values: dict[Combination, tuple[NDArray[Any], NDArray[Any]]]
    """Of each combination of columns the codes (columns, distinct) and their rows."""
    k: int
    rows: int

    @classmethod
    def of(
        cls, tally: Tally, ladders: list[tuple[Rung, ...]], tested: Sequence[Combination], k: int
    ) -> _Lifting:
        losses = [_compute_losses(tally, column, rungs) for column, rungs in enumerate(ladders)]
        values = {combination: _count_distinct(tally, combination) for combination in tested}
        return cls(ladders, losses, values, k, tally.rows)

    def run(self, share: float, progress: Progress) -> list[Rung]:
        """The rungs at which no more than this share of all rows' combinations is unsafe."""
        standing = [0] * len(self.ladders)
        unsafe = {
            combination: self._count_unsafe_rows(combination, standing)
            for combination in self.values
        }
        columns = sorted({column for combination in unsafe for column in combination})
        while sum(unsafe.values()) > share * self.rows * len(unsafe):
            liftable = [
                column for column in columns if standing[column] < len(self.ladders[column]) - 1
            ]
            if not liftable:
                break
            attempts = [self._rate_lift(column, standing, unsafe) for column in liftable]
            _, column, unsafe_after = max(attempts, key=lambda attempt: attempt[0])
            standing[column] += 1
            unsafe |= unsafe_after
            progress(sum(standing), sum(len(rungs) - 1 for rungs in self.ladders))
        return [
            rungs[rung_number] for rungs, rung_number in zip(self.ladders, standing, strict=True)
        ]

    def _rate_lift(
        self, column: int, standing: Sequence[int], unsafe: Mapping[Combination, float]
    ) -> tuple[tuple[float, float], int, dict[Combination, float]]:
        """How good it is to lift a column, its number, and what of its combinations stays unsafe.

        By how much becomes safe for the loss that it adds; of equals by how little that is.
        """
        above = [i + (j == column) for j, i in enumerate(standing)]
        unsafe_after = {
            combination: self._count_unsafe_rows(combination, above)
            for combination in unsafe
            if column in combination
        }
        made_safe = sum(unsafe[combination] - rows for combination, rows in unsafe_after.items())
        cost = float(self.losses[column][above[column]] - self.losses[column][standing[column]])
        return (made_safe / max(cost, 1e-12), -cost), column, unsafe_after

    def _count_unsafe_rows(self, combination: Combination, standing: Sequence[int]) -> float:
        codes, rows = self.values[combination]
        rungs = [self.ladders[column][standing[column]] for column in combination]
        nodes = [rung.node[own] for rung, own in zip(rungs, codes, strict=True)]
        rows_by_combination = np.bincount(
            number_combinations(nodes, map(len, rungs))[0], weights=rows
        )
        return float(rows_by_combination[rows_by_combination < self.k].sum())


def _compute_losses(tally: Tally, column: int, rungs: Sequence[Rung]) -> NDArray[np.float64]:
    axis, codes = tally.quasi[column], tally.keys[column]
    rows = np.bincount(codes, weights=tally.count, minlength=axis.size)
    wide = np.array([axis.width(rung.low, rung.high)[rung.node] for rung in rungs])
    return np.asarray(wide @ rows * (tally.importance[column] / max(tally.rows, 1)))


def _count_distinct(tally: Tally, combination: Combination) -> tuple[NDArray[Any], NDArray[Any]]:
    codes = tally.keys[list(combination)]
    number, first = number_combinations(codes, [tally.quasi[column].size for column in combination])
    rows = np.bincount(number, weights=tally.count, minlength=len(first))
    return codes[:, first], rows


# Blanking single cells


def _choose_blanks(
    tally: Tally, cut: Cut, tested: Sequence[Combination], k: int, progress: Progress
) -> Mask:
    """Which cells become ``*``, (classes, columns): in each round one of every unsafe class."""
    rows, cells = _count_rows(cut), cut.cells
    narrows = ((cells.low > 0) | (cells.high < _list_last_codes(tally))).any(axis=0)
    blanks = np.zeros(cells.low.shape, dtype=bool)
    while True:
        unsafe_counts = np.zeros(blanks.shape)
        for combination in tested:
            rare = _find_rare_classes(tally, cells.low, rows, blanks, combination, k)
            unsafe_counts[rare[:, np.newaxis], combination] += 1
        unsafe_counts *= narrows  # a column that is * everywhere cannot be blanked
        unsafe_counts /= tally.importance
        unsafe = unsafe_counts.any(axis=1)
        progress(int(rows[~unsafe].sum()), tally.rows)
        if not unsafe.any():
            return blanks
        blanks[np.flatnonzero(unsafe), unsafe_counts[unsafe].argmax(axis=1)] = True


def _find_rare_classes(
    tally: Tally,
    node: NDArray[Any],
    rows: NDArray[Any],
    blanks: Mask,
    combination: Combination,
    k: int,
) -> NDArray[np.int64]:
    """The classes whose values in some columns, none of them blank, fewer than k rows have."""
    columns = list(combination)
    known = np.flatnonzero(~blanks[:, columns].any(axis=1))
    nodes = [node[known, column] for column in columns]
    number, _ = number_combinations(nodes, [tally.quasi[column].size for column in columns])
    return known[np.bincount(number, weights=rows[known])[number] < k]


def _blank_cells(tally: Tally, cells: Cells, blanks: Mask) -> Cells:
    low = np.where(blanks, np.int32(0), cells.low)
    high = np.where(blanks, _list_last_codes(tally), cells.high)
    sets = {
        j: np.where(blanks[:, j, np.newaxis], all_leaves(tally.quasi[j]), bits)
        for j, bits in cells.sets.items()
    }
    tops = [axis.height for axis in tally.quasi]
    stars = relabel_cells(tally.quasi, Cells(low, high, sets), tops).levels
    if stars is None and cells.levels is None:
        return Cells(low, high, sets)
    own_levels = np.full_like(low, -1) if cells.levels is None else cells.levels
    star_levels = np.full_like(low, -1) if stars is None else stars
    return Cells(low, high, sets, np.where(blanks, star_levels, own_levels))


def _count_rows(cut: Cut) -> NDArray[np.int64]:
    return np.bincount(cut.class_, weights=cut.count, minlength=cut.classes).astype(np.int64)


def _list_last_codes(tally: Tally) -> NDArray[np.int32]:
    return np.array([axis.size - 1 for axis in tally.quasi], dtype=np.int32)


# Parameters


def _parse_column_numbers(
    tally: Tally, text: str, name: str, max_numbers: Sequence[int]
) -> dict[str, int]:
    """The whole number of each column that is named: ``"age=1,zip=2"``."""
    max_of_column = dict(zip((axis.name for axis in tally.quasi), max_numbers, strict=True))
    hint = f"write COLUMN=NUMBER, several with commas; the columns are: {', '.join(max_of_column)}."
    numbers: dict[str, int] = {}
    for part in filter(str.strip, text.split(",")):
        column, _, number = (piece.strip() for piece in part.rpartition("="))
        if column not in max_of_column or column in numbers:
            raise UsageError(f"{name} does not name quasi-identifiers, each once.", hint)
        if not number.isdecimal() or int(number) > max_of_column[column]:
            raise UsageError(
                f"{name} of {column} is not one of 0 to {max_of_column[column]}.", hint
            )
        numbers[column] = int(number)
    return numbers
