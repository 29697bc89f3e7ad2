"""Order (unsorted matching): two releases whose rows stand in the same order.

Row i of one release and row i of the other are comparable if their cells meet in every column and
the columns that both publish as they are agree. If all rows are comparable and that is no
accident, the releases have one order, and each row is narrowed to the meet of its two cells.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, section 4.1. Whether it
is an accident is a permutation test (Fisher 1935): the share of comparable rows against the same
with the second release's rows in random order, p = (1 + as many or more) / (1 + draws).

Where all rows are comparable, but are so in many a random order too, the test cannot tell: one
release hides what the other says, or the rows are few. Whoever puts such releases side by side may
be right about every row, so that the rows that would be alone count as exposed, and the adversary
is as sure as even odds beforehand allow: 1 / (1 + p), which is one half at p = 1.

It does not see an order that only some rows share (one row that is not comparable and nothing is
counted; the sentence tells when the others are more than chance). It cannot tell a common order
from two tables sorted by the same published column, which look alike to the test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.row_matching import (
    describe_class,
    describe_rows,
    number_shared_values,
    require_two_releases,
    show_cell_labels,
)
from shoal.core.cells import Cells, meet
from shoal.core.errors import InputError, UsageError
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import WORST_LISTED, Needs, View

NEEDS = Needs(releases=2, max_releases=2, sensitive=False, learns=False)

SIGNIFICANCE = 0.01
"""The order says something if chance explains it with less than this probability."""
MAX_ROWS_PER_DRAW = 5_000
"""A draw compares at most so many rows, chosen anew at random."""

ASSUMPTIONS = (
    "both releases are of one table, and their rows stand as they did in it",
    "the adversary knows the quasi-identifiers of the person looked for",
)
DEFENCE = "publish the rows of every release in a random order, drawn anew each time."
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class _OrderTest(NamedTuple):
    comparable: float
    by_chance: float
    p: float

    @property
    def order(self) -> str:
        """Whether the rows stand in one order: ``same``, ``other`` or ``cannot be tested``.

        Rows in one order are all comparable, so that no order could do better in the test.
        """
        if self.comparable < 1:
            return "other"
        return "same" if self.p < SIGNIFICANCE else "cannot be tested"

    @property
    def belief(self) -> float:
        """How likely the orders are the same for whoever gave that even odds beforehand."""
        return 1 / (1 + self.p) if self.comparable == 1 else 0.0


class _RowByRow(NamedTuple):
    """The rows of both releases side by side."""

    cells: Cells
    """The meet of each row's cells."""
    rows_alike: Ints
    """How many rows have the same meet; of a row that is not comparable, all have."""
    class_rows: Ints
    """How many rows the smaller of the row's two classes has."""
    narrower: Flags
    """Whether the meet says more than either cell."""

    @property
    def unique(self) -> Ints:
        """Rows that are alone now and were so in neither release; from the largest class first."""
        rows = np.flatnonzero((self.rows_alike == 1) & (self.class_rows > 1))
        return rows[np.lexsort((rows, -self.class_rows[rows]))]


def order(view: View, *, rng: np.random.Generator | None = None, draws: int = 999) -> Finding:
    """Put the two releases side by side, and count who is alone afterwards.

    Parameters
    ----------
    view
        What the adversary has: two releases with equally many rows.
    rng
        Draws the random orders.
    draws
        With how many random orders the given one is compared.

    Returns
    -------
    Finding
        How many rows are alone with what both releases say, if their order is the same. The
        adversary is as sure of a row as 1 / (1 + p) of the order, divided by the rows with the same
        meet; the baseline takes any row of a class.

    Raises
    ------
    InputError
        The releases have different numbers of rows.
    UsageError
        So few draws cannot tell an order from chance.
    """
    first, second = require_two_releases(view)
    if len(first.class_) != len(second.class_):
        raise InputError(
            f"Rows in one order are equally many, but the releases have {len(first.class_):,} and "
            f"{len(second.class_):,} rows.",
            "the complementary and temporal attacks do without the order.",
        )
    if draws < 1 / SIGNIFICANCE:
        raise UsageError(f"{draws} draws cannot tell an order from chance.", "draws=999")
    test = _test_order(view, rng or np.random.default_rng(0), draws)
    row_by_row = _meet_row_by_row(view)
    sizes = [release.rows[release.class_] for release in (first, second)]
    details = {
        "order": test.order,
        "comparable": test.comparable,
        "comparable_by_chance": test.by_chance,
        "p_value": test.p,
        "draws": draws,
        "rows_per_draw": min(len(first.class_), MAX_ROWS_PER_DRAW),
        "unique_if_same_order": len(row_by_row.unique),
        "unique_before": [int((rows == 1).sum()) for rows in sizes],
        "k_before": [int(rows.min()) for rows in sizes],
    }
    guessing = max(float((1 / rows).mean()) for rows in sizes)
    report = _report_other_order if test.order == "other" else _report_recovered
    return report(view, test, row_by_row, guessing, details)


def _test_order(view: View, rng: np.random.Generator, draws: int) -> _OrderTest:
    rows = len(view.releases[0].class_)
    compared = min(rows, MAX_ROWS_PER_DRAW)
    numbers = number_shared_values(view)
    comparable = _share_comparable(view, numbers, np.arange(rows), np.arange(rows))
    chance = np.empty(draws)
    for draw in range(draws):
        first_rows = (
            rng.choice(rows, compared, replace=False) if rows > compared else np.arange(rows)
        )
        chance[draw] = _share_comparable(
            view, numbers, first_rows, rng.choice(rows, compared, replace=False)
        )
    as_many = int((chance >= comparable).sum())
    return _OrderTest(comparable, float(chance.mean()), (1 + as_many) / (1 + draws))


def _share_comparable(
    view: View, numbers: tuple[Ints, Ints], first_rows: Ints, second_rows: Ints
) -> float:
    first, second = view.releases
    _, is_meeting = meet(
        first.cells.take(first.class_[first_rows]), second.cells.take(second.class_[second_rows])
    )
    return float((is_meeting & (numbers[0][first_rows] == numbers[1][second_rows])).mean())


def _meet_row_by_row(view: View) -> _RowByRow:
    first, second = view.releases
    first_cells, second_cells = first.cells.take(first.class_), second.cells.take(second.class_)
    cells, is_meeting = meet(first_cells, second_cells)
    values = number_shared_values(view)
    comparable = is_meeting & (values[0] == values[1])
    number = Cells.joined([cells, first_cells, second_cells]).unique()[1].reshape(3, -1)
    rows_alike = np.bincount(number[0][comparable], minlength=number.max() + 1)[number[0]]
    return _RowByRow(
        cells,
        np.where(comparable, rows_alike, len(rows_alike)),
        np.minimum(first.rows[first.class_], second.rows[second.class_]),
        comparable & (number[0] != number[1]) & (number[0] != number[2]),
    )


def _report_recovered(
    view: View, test: _OrderTest, row_by_row: _RowByRow, guessing: float, details: dict[str, Any]
) -> Finding:
    unique_rows, k = row_by_row.unique, min(details["k_before"])
    after = min(k, int(row_by_row.rows_alike.min()))
    unique, recovered = int((row_by_row.rows_alike == 1).sum()), int(row_by_row.narrower.sum())
    return Finding(
        attack="order",
        people=len(row_by_row.rows_alike),
        exposed=len(unique_rows),
        sure=max(test.belief / after, 1 / k),
        guessing=guessing,
        sentence=_describe(view, test, row_by_row, recovered),
        defence=DEFENCE,
        example="If the order is the same: " * (test.order != "same")
        + _describe_example(view, row_by_row),
        assumptions=ASSUMPTIONS,
        worst=tuple((unique_rows[:WORST_LISTED] + 1).tolist()),
        table="release 1",
        witness=_build_witness(view, row_by_row),
        details=details | {"unique_after": unique, "k_after": after, "recovered": recovered},
    )


def _describe(view: View, test: _OrderTest, row_by_row: _RowByRow, recovered: int) -> str:
    first, second = view.releases
    rows, unique = len(row_by_row.rows_alike), len(row_by_row.unique)
    if test.order == "same":
        return (
            f"{first.name} and {second.name} have their rows in one order (all are comparable, by "
            f"chance {test.by_chance:.0%}; p = {test.p:.3g}): side by side {recovered:,} of "
            f"{rows:,} rows say more than either release does, and {unique:,} are alone that were "
            "not so in either."
        )
    return (
        f"Whether {first.name} and {second.name} have their rows in one order cannot be tested: "
        "all "
        f"are comparable, but chance explains that too ({test.by_chance:.0%} are in a random "
        f"order; p = {test.p:.3g}). If the order is the same, {unique:,} of {rows:,} rows are "
        "alone "
        "that were not so in either release; if the rows of one were shuffled, nothing is learned."
    )


def _report_other_order(
    view: View, test: _OrderTest, row_by_row: _RowByRow, guessing: float, details: dict[str, Any]
) -> Finding:
    first, second = view.releases
    rows, k = len(first.class_), min(details["k_before"])
    why = f"{test.comparable:.1%} of their rows are comparable, by chance {test.by_chance:.1%}"
    if test.p < SIGNIFICANCE:
        sentence = (
            f"{first.name} and {second.name} agree in their order more than by chance ({why}; "
            f"p = {test.p:.3g}), but not in every row, so that no row is counted as recovered; "
            f"{len(row_by_row.unique):,} would be alone side by side."
        )
    else:
        sentence = (
            f"The order of {first.name} and {second.name} says nothing: {why} (p = {test.p:.3g})."
        )
    before = max(details["unique_before"])
    return Finding(
        attack="order",
        people=rows,
        exposed=0,
        sure=1 / k,
        guessing=guessing,
        sentence=sentence,
        defence=DEFENCE,
        example=f"Row 1 of release 1 stays one of {first.rows[first.class_[0]]:,} rows of its "
        "class.",
        assumptions=ASSUMPTIONS,
        table="release 1",
        details=details | {"unique_after": before, "k_after": k, "recovered": 0},
    )


def _describe_example(view: View, row_by_row: _RowByRow) -> str:
    row, (first, second) = _find_worst_row(row_by_row), view.releases
    labels = show_cell_labels(view, row_by_row.cells, row)
    return (
        f"Row {row + 1:,} stands in a class of {first.rows[first.class_[row]]:,} rows in "
        "release 1 and "
        f"of {second.rows[second.class_[row]]:,} in release 2. What both say together is true of "
        f"{describe_rows(int(row_by_row.rows_alike[row]), labels)}"
    )


def _find_worst_row(row_by_row: _RowByRow) -> int:
    """The first exposed row, or else the one that is hidden among fewest."""
    return (
        int(row_by_row.unique[0]) if len(row_by_row.unique) else int(row_by_row.rows_alike.argmin())
    )


def _build_witness(view: View, row_by_row: _RowByRow) -> dict[str, Any]:
    row = _find_worst_row(row_by_row)
    number, labels = np.array([row + 1]), show_cell_labels(view, row_by_row.cells, row)
    return {
        "row": row + 1,
        "releases": [describe_class(each, int(each.class_[row]), number) for each in view.releases],
        "linked_rows": int(row_by_row.rows_alike[row]),
        **({"labels": labels} if labels else {}),
    }
