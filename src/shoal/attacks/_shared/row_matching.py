"""Two releases joined row by row, for the attacks that do so: order, complementary, temporal.

Rows that agree in class and in every column that both releases publish as they are, are *twins*:
nobody can tell them apart. Twins of one release may be the same people as twins of the other if
the shared columns agree and the cells meet; the linked cell of a pair is the meet of its cells.
How many rows of some twins have a linked cell is settled if all largest assignments of rows agree.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, section 4.
It does not see columns that only one of the releases publishes as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells, all_leaves, find_meeting_classes, meet
from shoal.core.errors import InputError
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import WORST_LISTED, ReleaseView, View
from shoal.kernels.assignment import AssignablePairs, Assignment, PairBundles, assign, bundle_pairs
from shoal.kernels.grouping import number_combinations

Ints = NDArray[np.int64]

MEMORY_LIMIT = 2 * 10**9
"""So many bytes may be used to weigh pairs; with more pairs than fit, the join is refused."""
BYTES_PER_PAIR = 240
"""About the bytes that a pair takes, besides its cells."""


@dataclass(frozen=True)
class Twins:
    """The rows of one release, those put together that nobody can tell apart."""

    release: ReleaseView
    class_: Ints
    """The class of each set of twins."""
    of_row: Ints
    """Which twins each row is one of."""
    cells: Cells
    """The cells of the twins' class, and the number of their shared values as one more column."""

    @cached_property
    def count(self) -> Ints:
        """How many rows are each other's twins."""
        return np.bincount(self.of_row, minlength=len(self.class_))

    @property
    def class_rows(self) -> Ints:
        """How many rows the twins' class has."""
        return self.release.rows[self.class_]

    def rows(self, twins: int) -> Ints:
        """The rows of some twins, the first row of data being 1."""
        return np.flatnonzero(self.of_row == twins) + 1


@dataclass(frozen=True)
class JoinSide:
    """What is settled about the rows of one release when it is joined with another."""

    number: int
    """Which of the two releases it is, 1 or 2."""
    twins: Twins
    others: Twins
    settled: PairBundles
    """Where every largest assignment gives as many rows the linked cell."""
    unsettled: PairBundles
    """Where that differs between them."""

    @property
    def resolved(self) -> int:
        """How many rows have a settled linked cell."""
        return int(self.settled.rows.sum())

    def max_rows(self, cells: int) -> Ints:
        """How many rows have each linked cell at most."""
        settled, unsettled, count = self.settled, self.unsettled, self.twins.count
        unassigned = count - _sum_by_group(settled.twins, settled.rows, len(count))
        possible = _sum_by_group(unsettled.cell, unassigned[unsettled.twins], cells)
        return _sum_by_group(settled.cell, settled.rows, cells) + possible

    @cached_property
    def classes(self) -> Ints:
        """The rows of each class that holds a row of both releases, or may."""
        either = np.concatenate([self.settled.twins, self.unsettled.twins])
        classes = np.unique(self.twins.class_[either])
        return np.asarray(self.twins.release.rows[classes])

    def numbers(self, bundles: PairBundles) -> Ints:
        """A row for each bundle, the first row of data being 1; twins stand for each other."""
        twins, count = bundles.twins, self.twins.count
        order = np.argsort(twins, kind="stable")
        turn = np.empty(len(twins), np.int64)
        turn[order] = np.arange(len(twins)) - np.searchsorted(twins[order], twins[order])
        start = np.cumsum(count) - count
        return np.asarray(np.argsort(self.twins.of_row, kind="stable")[start[twins] + turn] + 1)


@dataclass(frozen=True)
class RowLinks:
    """What is settled when two releases are joined, and what is not."""

    sides: tuple[JoinSide, JoinSide]
    paired: int
    """How many rows a largest assignment pairs."""
    cells: Cells
    """The linked cells."""

    @cached_property
    def max_rows(self) -> Ints:
        """How many rows are in each linked cell, or may be: no assignment has more there."""
        first, second = (side.max_rows(len(self.cells)) for side in self.sides)
        return np.minimum(first, second)

    @cached_property
    def smallest(self) -> int:
        """How few rows somebody is hidden among now, never more than in either release alone."""
        settled = (self.max_rows[side.settled.cell] for side in self.sides)
        return int(np.concatenate([*settled, *(side.classes for side in self.sides)]).min())

    def find_unique(self, side: JoinSide) -> PairBundles:
        """The rows of a release that are settled, and the only ones with their linked cell."""
        return side.settled.take(self.max_rows[side.settled.cell] == 1)

    def exposed(self, side: JoinSide) -> PairBundles:
        """Rows that are alone now and were so in neither release; from the largest class first."""
        unique = self.find_unique(side)
        newly_unique = unique.take(unique.size > 1)
        return newly_unique.take(np.lexsort((side.numbers(newly_unique), -newly_unique.size)))

    @cached_property
    def more_exposed(self) -> JoinSide:
        """The release of which more rows are exposed, the first if equally many are."""
        return max(self.sides, key=lambda side: len(self.exposed(side).cell))

    @cached_property
    def worst(self) -> PairBundles | None:
        """The first exposed row, or else the settled row that is hidden among fewest."""
        side, settled = self.more_exposed, self.more_exposed.settled
        exposed = self.exposed(side)
        if len(exposed.cell) or not side.resolved:
            return exposed.take(np.arange(1)) if side.resolved else None
        order = side.numbers(settled), -settled.size, self.max_rows[settled.cell]
        return settled.take(np.lexsort(order)[:1])


def require_two_releases(view: View) -> tuple[ReleaseView, ReleaseView]:
    """The view's two releases; raises where there are not two, or one is empty."""
    if len(view.releases) != 2:
        raise InputError(
            f"Rows are joined between two releases, not {len(view.releases)}.",
            "give two releases about the same people.",
        )
    first, second = view.releases
    if not len(first.class_) or not len(second.class_):
        raise InputError("One of the releases has no rows.", "give two releases with rows.")
    return first, second


def number_shared_values(view: View) -> tuple[Ints, Ints]:
    """For each row of the two releases a number: alike where all shared columns agree."""
    first, second = require_two_releases(view)
    rows = len(first.class_)
    if first.shared is None or second.shared is None or not len(first.shared):
        return np.zeros(rows, np.int64), np.zeros(len(second.class_), np.int64)
    codes = np.concatenate([first.shared, second.shared], axis=1).astype(np.int64)
    codes -= codes.min(axis=1, keepdims=True)
    number, _ = number_combinations(codes, (codes.max(axis=1) + 1).tolist())
    return number[:rows].astype(np.int64), number[rows:].astype(np.int64)


def show_cell_labels(view: View, cells: Cells, number: int) -> dict[str, Any]:
    """What one of these cells says, by column, for who asked to see it."""
    if not view.show:
        return {}
    cell = cells.take(np.array([number]))
    return {axis.name: cell.labels(view.axes, j)[1][0] for j, axis in enumerate(view.axes)}


def describe_class(release: ReleaseView, class_: int, rows: Ints) -> dict[str, Any]:
    """One release's part of a witness: a class of it, and rows in it by number."""
    return {
        "release": release.name,
        "class": class_,
        "class_rows": int(release.rows[class_]),
        "rows": rows[:WORST_LISTED].tolist(),
    }


def describe_rows(rows: int, labels: dict[str, Any]) -> str:
    """How many rows it is that something is true of, and what where it may be shown."""
    shown = ", ".join(f"{name} {label}" for name, label in labels.items())
    return f"{rows:,} row{'s' * (rows > 1)}{': ' * bool(shown)}{shown}."


def join_twins(view: View) -> tuple[Twins, Twins, Ints, Ints, Assignment]:
    """The twins of both releases, and as many rows paired as possible.

    Twins ``i`` of the first could be the twins ``partner[start[i]:start[i + 1]]`` of the second:
    start and partner come before what is assigned.
    """
    releases = require_two_releases(view)
    _refuse_nothing_shared(view)
    first, second = (
        _group_twins(*each) for each in zip(releases, number_shared_values(view), strict=True)
    )
    start, partner = _find_meeting_twins(first.cells, second.cells)
    return first, second, start, partner, assign(first.count, second.count, start, partner)


def link_rows(view: View) -> RowLinks:
    """Pair the twins of both releases, and keep what all largest assignments agree on."""
    first_twins, second_twins, start, others, assigned = join_twins(view)
    twins = np.repeat(np.arange(len(first_twins.class_)), np.diff(start))[assigned.possible]
    partner, rows = others[assigned.possible], assigned.rows[assigned.possible]
    cell, cells = _meet_cells(first_twins, second_twins, twins, partner)
    size = np.minimum(first_twins.class_rows[twins], second_twins.class_rows[partner])
    first = bundle_pairs(AssignablePairs(twins, partner, cell, rows, size), assigned.loose)
    second = bundle_pairs(AssignablePairs(partner, twins, cell, rows, size), assigned.loose[::-1])
    sides = (
        JoinSide(1, first_twins, second_twins, *first),
        JoinSide(2, second_twins, first_twins, *second),
    )
    return RowLinks(sides, int(rows.sum()), cells)


def _find_meeting_twins(first: Cells, second: Cells) -> tuple[Ints, Ints]:
    """The twins of the other side that each twins' cells meet: where each one's begin, and which.

    They are counted part by part; raises where weighing them would take too much memory.
    """
    words = sum(bits.shape[1] for bits in first.sets.values())
    max_pairs = MEMORY_LIMIT // (BYTES_PER_PAIR + 24 * (first.low.shape[1] + words))
    step = max(64, max_pairs // max(1, len(second)))
    counts, partners, pairs = [], [], 0
    for begin in range(0, len(first), step):
        start, others = find_meeting_classes(
            first.take(np.arange(begin, min(begin + step, len(first)))), second
        )
        counts.append(np.diff(start))
        partners.append(others)
        pairs += len(others)
        if pairs > max_pairs:
            raise InputError(
                f"More than {max_pairs:,} pairs of rows could each be one person, too many to "
                "weigh.",
                "give more columns that both releases publish as they are (sensitive or kept), or "
                "releases of fewer rows.",
            )
    start = np.concatenate([[0], *counts]).cumsum()
    return start, np.concatenate(partners)


def _refuse_nothing_shared(view: View) -> None:
    """Raises where no column in common could tell one pair of rows from another."""
    joined = any(release.shared is not None and len(release.shared) for release in view.releases)
    common = (
        all(_narrows_anything(release, view, j) for release in view.releases)
        for j in range(len(view.axes))
    )
    if not joined and not any(common):
        raise InputError(
            "The releases have no column in common that tells rows apart.",
            "name the columns that both publish: quasi-identifiers, sensitive or kept ones.",
        )


def _narrows_anything(release: ReleaseView, view: View, column: int) -> bool:
    axis, cells = view.axes[column], release.cells
    if column in cells.sets:
        return bool((cells.sets[column] != all_leaves(axis)).any())
    return bool(((cells.low[:, column] > 0) | (cells.high[:, column] < axis.size - 1)).any())


def _group_twins(release: ReleaseView, number: Ints) -> Twins:
    sizes = len(release.cells), int(number.max()) + 1
    of, first = number_combinations((release.class_, number), sizes)
    class_ = release.class_[first].astype(np.int64)
    cells = release.cells.take(class_)
    value = number[first].astype(np.int32)[:, None]
    low, high = np.hstack([cells.low, value]), np.hstack([cells.high, value])
    return Twins(release, class_, of.astype(np.int64), Cells(low, high, cells.sets))


def _meet_cells(
    first_side: Twins, second_side: Twins, twins: Ints, partner: Ints
) -> tuple[Ints, Cells]:
    cells, others = first_side.release.cells, second_side.release.cells
    classes = first_side.class_[twins], second_side.class_[partner]
    number, first = number_combinations(classes, (len(cells), len(others)))
    met, _ = meet(cells.take(classes[0][first]), others.take(classes[1][first]))
    distinct, cell_number = met.unique()
    return cell_number[number], met.take(distinct)


def _sum_by_group(group: Ints, number: Ints, groups: int) -> Ints:
    return np.bincount(group, number, groups).astype(np.int64)


def report_links(
    name: str,
    view: View,
    links: RowLinks,
    assumptions: Sequence[str],
    defence: str,
    **more_details: Any,
) -> Finding:
    """What the joined releases give away, as a finding about the paired rows.

    Rows are those of the release that gives more away; somebody may be exposed in the other only.
    """
    side = links.more_exposed
    unique, exposed = (
        _count_cells(links, select) for select in (RowLinks.find_unique, RowLinks.exposed)
    )
    before = [joined.classes for joined in links.sides]
    details = {
        "joined_on": list(view.shared),
        "resolved": side.resolved,
        "unresolved": links.paired - side.resolved,
        "unique_before": [int((rows == 1).sum()) for rows in before],
        "unique_after": unique,
        "k_before": [int(rows.min()) for rows in before],
        "k_after": links.smallest,
        **more_details,
    }
    return Finding(
        attack=name,
        people=links.paired,
        exposed=exposed,
        sure=1 / links.smallest,
        guessing=compute_row_baseline(view),
        sentence=_describe(view, links, exposed),
        defence=defence,
        example=_describe_example(view, links),
        assumptions=tuple(assumptions),
        worst=tuple(side.numbers(links.exposed(side))[:WORST_LISTED].tolist()),
        table=f"release {side.number}",
        witness=_build_witness(view, links),
        details=details,
    )


def compute_row_baseline(view: View) -> float:
    """How sure somebody is of a row who takes any of a class."""
    return max(int((release.rows > 0).sum()) / len(release.class_) for release in view.releases)


def _count_cells(links: RowLinks, select: Callable[[RowLinks, JoinSide], PairBundles]) -> int:
    """How many linked cells these rows of either release have; each is one person."""
    return len(np.union1d(*(select(links, side).cell for side in links.sides)))


def _describe(view: View, links: RowLinks, exposed: int) -> str:
    first, second = view.releases
    side = links.more_exposed
    return (
        f"When {first.name} and {second.name} are joined, {side.resolved:,} of {links.paired:,} "
        "rows "
        f"{'' if side.number == 1 else f'of {second.name} '}can be told without doubt; {exposed:,} "
        "are then alone with what both say about them, though they were alone in neither."
    )


def _describe_example(view: View, links: RowLinks) -> str:
    bundle, side = links.worst, links.more_exposed
    if bundle is None:
        return "No row can be paired without doubt: each could be one of several."
    twins, partner = int(bundle.twins[0]), int(bundle.partner[0])
    hidden = int(links.max_rows[bundle.cell[0]])
    fits = f"fits it and agrees on {' and '.join(view.shared)}" if view.shared else "fits it"
    only = "no other could without leaving a row unpaired"
    only = only if bundle.sole[0] else "the others that could would say the same"
    return (
        f"{_describe_twins(side.twins, twins).capitalize()} of release {side.number}, in a class "
        f"of {side.twins.class_rows[twins]:,}: {_describe_twins(side.others, partner)} of release "
        f"{3 - side.number}, in a class of {side.others.class_rows[partner]:,}, {fits}, and "
        f"{only}. What both say together is true of "
        f"{describe_rows(hidden, _show_labels(view, links, bundle))}"
    )


def _describe_twins(twins_of_release: Twins, twins: int) -> str:
    rows = [f"{row:,}" for row in twins_of_release.rows(twins)]
    if len(rows) == 1:
        return f"row {rows[0]}"
    more = f" and {len(rows) - 3:,} more" if len(rows) > 3 else ""
    return f"one of the rows {', '.join(rows[:3])}{more} (alike in all that is published)"


def _show_labels(view: View, links: RowLinks, bundle: PairBundles) -> dict[str, Any]:
    """What both releases say together about a bundle, where it may be shown."""
    labels = show_cell_labels(view, links.cells, int(bundle.cell[0]))
    twins = links.more_exposed.twins
    values = twins.release.values
    if labels and view.sensitive is not None and values is not None:
        row = twins.rows(int(bundle.twins[0]))[0] - 1
        labels[view.sensitive.name] = view.format_sensitive(int(values[row]))
    return labels


def _build_witness(view: View, links: RowLinks) -> dict[str, Any]:
    bundle, side = links.worst, links.more_exposed
    if bundle is None:
        return {}
    pair = [(side.twins, int(bundle.twins[0])), (side.others, int(bundle.partner[0]))]
    classes = [
        describe_class(twins.release, int(twins.class_[i]), twins.rows(i)) for twins, i in pair
    ]
    labels = _show_labels(view, links, bundle)
    return {
        "row": int(side.numbers(bundle)[0]),
        "releases": classes if side.number == 1 else classes[::-1],
        "only_partner": bool(bundle.sole[0]),
        "linked_rows": int(links.max_rows[bundle.cell[0]]),
        **({"labels": labels} if labels else {}),
    }
