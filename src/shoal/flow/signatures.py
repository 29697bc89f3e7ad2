"""Signatures: the set of sensitive values of everybody's class in an earlier release.

By the private companion the row of each person is known, and so is the value that was published
in it. A signature that stays, and a value that stays, are what m-invariance is about (X. Xiao and
Y. Tao, m-invariance, SIGMOD 2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.errors import InputError, NotMetError, SchemaError
from shoal.flow.companion import hashed, released
from shoal.flow.counterfeits import marker
from shoal.flow.earlier import Earlier, Rows, everybody
from shoal.flow.opening import opened_labels, released_schema
from shoal.flow.recount import Recount, as_coding, leaf
from shoal.frames.frame import Frame
from shoal.labels import restored
from shoal.model import Model
from shoal.schema import Schema
from shoal.tally import Groups

Codes = NDArray[Any]


@dataclass(frozen=True)
class Signed:
    """An earlier release whose rows are numbered by class and value together."""

    before: Earlier
    """With these numbers for classes."""
    sets: tuple[frozenset[Any], ...]
    """The values of each class."""
    uneven: NDArray[np.bool_]
    """Which classes are not what the rule asks of one."""
    class_: NDArray[np.int64]
    """The class of each number."""
    value: tuple[Any, ...]
    """The value of each number."""
    people: int
    """How many rows are about somebody."""

    @property
    def known(self) -> list[Any]:
        """All values that the release has."""
        return list(frozenset().union(*self.sets))

    def codes(self, axis: Axis) -> tuple[list[NDArray[np.int32]], NDArray[np.int32]]:
        """The signature of each class, and the value of each number, as codes of an axis."""
        sets = [np.sort(axis.codes(list(values))).astype(np.int32) for values in self.sets]
        return sets, axis.codes(list(self.value)).astype(np.int32)


def signed(source: Any, before: Earlier, schema: Schema, rule: Model) -> Signed:
    """Read the earlier release's value of each row, beside the classes that are read already."""
    (column,), found = schema.sensitive, released(source)
    assert found is not None, "checked when the earlier release was read"
    old = released_schema(found[1])
    then = [one for one in old.sensitive if one.name == column.name]
    if [one.kind for one in then] != [column.kind]:
        raise SchemaError(
            f"Column {column.name!r} is not the same sensitive column in the earlier release.",
            "publish both releases with it, read as the same kind.",
        )
    count = before.rows.count
    at = [axis.name for axis in count.tally.sensitive].index(column.name)
    with opened_labels(found[0], old, exact=True) as frame:
        values = frame.rows([as_coding(count.tally.sensitive[at])])[0]
    axis = count.tally.sensitive[at]
    pairs, number = np.unique(
        before.rows.class_.astype(np.int64) * axis.size + values, return_inverse=True
    )
    rows = replace(before.rows, class_=number.reshape(-1).astype(np.int32))
    judged = rule.holds(Groups.of(count.tally, count.cut))
    # A value that was defused is another in the file than in the table; others are as they stand.
    read = restored if found[1].get("defused_cells") else _as_it_is
    words = tuple(read(leaf(axis, int(code))) for code in pairs % axis.size)
    sets = value_sets(count, column.name, read)
    people = int(pc.sum(pc.not_equal(rows.person, marker(before.key))).as_py())
    named = replace(before, rows=rows)
    return Signed(named, sets, ~judged, pairs // axis.size, words, people)


def _as_it_is(value: Any) -> Any:
    return value


def value_sets(
    count: Recount, column: str, read: Callable[[Any], Any] = restored
) -> tuple[frozenset[Any], ...]:
    """The sensitive values of each class, as they were before formulas were defused."""
    found = Groups.of(count.tally, count.cut).on(column)
    words = [read(leaf(found.axis, code)) for code in range(found.axis.size)]
    return tuple(
        frozenset(words[code] for code in some) for some in np.split(found.value, found.start[1:-1])
    )


def check_unchanged(column: str, count: int) -> None:
    """Refuse people whose value is another than it was: their signature need not hold it."""
    if count:
        raise InputError(
            f"{count:,} people have another value in column {column!r} than in the earlier "
            "release, and m-invariance is for values that stay.",
            "leave these people out, give them their earlier values, or publish without "
            "--based-on and attack the releases together.",
        )


def check_even(classes: int, rule: Model) -> None:
    """Refuse an earlier release whose classes are not what the new rule asks of one."""
    if classes:
        raise NotMetError(
            f"{classes:,} classes of the earlier release do not meet {rule}: their people would "
            "keep a signature that does not either.",
            "publish the first release with --method invariant and this rule, or ask for the m "
            "that it has.",
        )


def check_staying(people: int) -> None:
    """Refuse to hold back people of the earlier release: the next one would take them for new."""
    if people:
        raise NotMetError(
            f"{people:,} people of the earlier release would have to be held back: no classes were "
            "found in which they keep their values and that meet the rule.",
            "leave out what the rule asks for besides m-invariance, use more quasi-identifiers or "
            "give them more values, or publish without --based-on and attack the releases "
            "together.",
        )


def check_signatures(
    frame: Frame, schema: Schema, before: Earlier, now: Rows, key: bytes, counterfeits: int
) -> None:
    """Compare the written release with the earlier one: everybody's set of values is the same."""
    assert schema.person is not None, "checked when the earlier release was read"
    people, name = everybody(frame, schema), schema.sensitive[0].name
    old, new = (
        rows.classes(hashed(frame, schema.person.name, people, secret))
        for rows, secret in ((before.rows, before.key), (now, key))
    )
    nobody = pc.sum(pc.equal(now.person, marker(key))).as_py() or 0
    if nobody != counterfeits or int((new >= 0).sum()) + nobody != len(now.class_):
        raise InputError(
            "The people of the table changed while it was published.",
            "publish from a copy that nobody writes to.",
        )
    sets = value_sets(before.rows.count, name), value_sets(now.count, name)
    both = (old >= 0) & (new >= 0)
    pairs, people_of = np.unique(np.stack((old[both], new[both])), axis=1, return_counts=True)
    differ = [sets[0][one] != sets[1][other] for one, other in pairs.T.tolist()]
    if any(differ):
        raise NotMetError(
            f"{int(people_of[np.array(differ)].sum()):,} people have other values in their class "
            "than in the earlier release.",
            "publish again; if it stays, the table cannot be published by this method.",
        )
