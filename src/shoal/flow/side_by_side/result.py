"""What came of a comparison of both schools: loss and exposure of each guarantee, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.flow.side_by_side.compared import Compared, compared
from shoal.flow.side_by_side.outcome import PARTITIONS, Figure, Outcome
from shoal.pages.page import Page
from shoal.pages.side_by_side import side_by_side_page
from shoal.pages.side_by_side_words import headline, loss_told, points, share_told
from shoal.release import EDITION, jsonable


@dataclass(frozen=True)
class SideBySide:
    """Both schools on one table: loss against what two overlapping releases give away."""

    outcomes: tuple[Outcome, ...]
    column: str
    """The sensitive column that the adversary is after."""
    rows: tuple[int, int]
    """How many rows each of the two tables has."""
    people: int
    """How many people are in both."""
    control: int
    base: float
    """The share guessed right by the most common value."""
    seeds: int
    by_column: tuple[SideBySide, ...] = ()
    """Where several columns are sensitive: each, the worst first, which is this."""

    @property
    def most_added(self) -> float:
        """What being in both tables adds to what is guessed right, by the worst rule of classes."""
        gains = (one.added.mean for one in self.made if one.added and one.school == PARTITIONS)
        return max(gains, default=0.0)

    @property
    def made(self) -> tuple[Outcome, ...]:
        """Those whose releases could be made."""
        return tuple(one for one in self.outcomes if one.loss is not None)

    @property
    def compared(self) -> tuple[Compared, ...]:
        """Each rule of classes beside each form of noise at about its loss."""
        return compared(self.made)

    @property
    def holds(self) -> bool | None:
        """Whether the paper's conclusion holds here; None: one seed, or one school, does not tell.

        Of the rule of classes that adds most: being in both tables adds more under it than under
        each form of noise at about its loss, in every seed.
        """
        found = self.compared
        if not found or self.seeds < 2:
            return None
        return all(one.worse for one in found if one.rule == found[0].rule)

    @property
    def sentence(self) -> str:
        """What stands above the chart."""
        return f"{headline(self.to_json())}." if self.made else "No release could be made."

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edition": EDITION,
            "column": self.column,
            "rows": list(self.rows),
            "people": self.people,
            "control": self.control,
            "base": self.base,
            "seeds": self.seeds,
            "holds": self.holds,
            "compared": [jsonable(one.to_json()) for one in self.compared],
            "outcomes": [jsonable(one.to_json()) for one in self.outcomes],
            "by_column": [one.in_short() for one in self.by_column],
        }

    def in_short(self) -> dict[str, Any]:
        """What came of one of several columns, in plain values."""
        added, holds = self.most_added, self.holds
        return {"column": self.column, "base": self.base, "added": added, "holds": holds}

    def page(self) -> Page:
        """The page that tells it."""
        return side_by_side_page(self.to_json())

    def __str__(self) -> str:
        head = (
            f"Two tables of {self.rows[0]:,} and {self.rows[1]:,} rows that share {self.people:,} "
            f"people; {self.column} guessed right, joined "
            f"(most common value: {share_told(self.base)})"
        )
        rows = [_HEAD, *map(_row, self.made)]
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        table = [
            "  ".join(
                cell.ljust(width) if at == 0 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        missing = [f"not made: {one.name}: {one.reason}" for one in self.outcomes if one.reason]
        columns = [
            f"{one.column}: being in both tables adds up to {100 * one.most_added:.1f} points by "
            f"classes (most common value: {share_told(one.base)})"
            for one in self.by_column
        ]
        return "\n".join([*columns, head, *table, *missing])


def worst_of(each: Sequence[SideBySide]) -> SideBySide:
    """The column by which being in both tables adds most under classes, with all of them."""
    ranked = sorted(each, key=lambda one: one.most_added, reverse=True)
    return ranked[0] if len(ranked) == 1 else replace(ranked[0], by_column=tuple(ranked))


_HEAD = ("guarantee", "loss", "no noise", "right", "control", "added", "settled", "sure",
         "at most")  # fmt: skip


def _row(one: Outcome) -> tuple[str, ...]:
    told = one.to_json()
    return (
        one.name,
        loss_told(told["loss"]),
        "" if one.noiseless is None else loss_told(told["noiseless"]),
        *(_share(share) for share in (one.right, one.control)),
        points(told["added"], len(one.gains)),
        *(_share(share) for share in (one.settled, one.sure)),
        "" if one.bound is None else share_told(one.bound),
    )


def _share(figure: Figure | None) -> str:
    return "" if figure is None else share_told(figure.mean)
