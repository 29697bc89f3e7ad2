"""A release based on an earlier one of the same table, which may have grown since.

Two releases of one table can be linked, and the linked rows say more than either release: the
complementary and the temporal attack. Against both, the next release starts from the last one:
what is published of PT_t is made of GT_1 ∪ (PT_t - PT), so that each cell of somebody who was in
GT_1 equals or generalises the old one (Sweeney: k-anonymity, a model for protecting privacy,
2002, section 4). Whoever links the two then finds the old cells again, and nothing finer.

Classes of the earlier release whose people are still enough keep their cells; the method makes
classes of everybody else, and their cells cover the old ones of the people in them.

Whoever takes the old rows of a class from the new ones has the rows of the newcomers in it. So
newcomers come into a class that stays only where they meet the rule among themselves; where all of
them are too few for that they are kept together, and counted.

What it does not protect: somebody who is missing from one release and comes back in the next is
new there; a class that shrank or changed its sensitive values tells who left or changed; and of
newcomers who are too few the values are known to whoever compares, as those of so many people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells, all_leaves, cover_ranges
from shoal.core.errors import InputError, NotMetError
from shoal.core.labels import ROOT
from shoal.core.model import Model, list_joint_columns
from shoal.core.schema import Column, Schema
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally
from shoal.engines.protocol import Coding, Frame
from shoal.kernels.box_tree import find_set_ends
from shoal.kernels.grouping import collect_code_sets, find_extents
from shoal.releases.companion import hash_people
from shoal.releases.draft import TableDraft, run_method
from shoal.releases.label_examples import find_examples
from shoal.releases.options import Request
from shoal.releases.recount import Recount, list_labels, read_cells
from shoal.releases.successors.earlier import (
    ClassifiedRows,
    EarlierRelease,
    check_spelling,
    find_classes_in_both,
    list_people,
)
from shoal.releases.suppression import count_suppressible, suppress_failing_classes
from shoal.releases.tallying import Encoded, Survey

Codes = NDArray[Any]
Flags = NDArray[np.bool_]


class BasedOnDraft(TableDraft):
    """The classes of a table whose cells cover those of an earlier release, person by person."""

    def __init__(
        self, frame: Frame, plan: Survey, request: Request, earlier: EarlierRelease
    ) -> None:
        encoded = tally_with_old_classes(frame, plan, earlier)
        tally, old_class = split_off_old_classes(encoded.tally)
        cells = read_old_cells(earlier.rows.count, tally.quasi)
        super().__init__(
            frame, encoded, tally, extend_cut(tally, old_class, cells, request), request
        )
        self._facts |= _count_changes(self._cut, old_class, cells, len(earlier.rows.class_))
        self._facts["rows_new_few"] = _count_few_newcomers(
            tally, old_class, self._cut, request.rule
        )


def find_earlier_values(earlier: EarlierRelease, schema: Schema) -> dict[str, list[Any]]:
    """By column, values that let an axis read the earlier release's labels."""
    examples = find_examples(earlier.rows.count, schema, own=True)
    return {column.name: _select_allowed(column, examples[column.name]) for column in schema.quasi}


def _select_allowed(column: Column, values: Iterable[Any]) -> list[Any]:
    """The values that the column may take: where it has a domain, that lists them all anyway."""
    return [
        v for v in values if v is None or column.listed_values is None or v in column.listed_values
    ]


def tally_with_old_classes(frame: Frame, plan: Survey, earlier: EarlierRelease) -> Encoded:
    """The table's tally with one more sensitive column, the last: 1 + old class, 0 for the new."""
    person = plan.schema.person
    assert person is not None, "checked when the earlier release was read"
    people = list_people(frame, plan.schema)
    keyed = hash_people(frame, person.name, people, earlier.key)
    old_class = earlier.rows.classes(keyed) + np.int32(1)
    if not old_class.any():  # names written otherwise would make everybody new, and unprotected
        raise InputError(
            "Nobody of the earlier release is in the table.",
            f"check that column {person.name!r} names people as it did then.",
        )
    check_spelling(person.name, people.values, keyed, earlier)
    size = int(earlier.rows.class_.max()) + 2
    at = len(plan.schema.quasi) + len(plan.schema.sensitive)
    axis = Axis.numbered(person.name, size)
    coding = Coding(person.name, people.values, old_class, None, size)
    columns = (replace(c, role="sensitive") if c is person else c for c in plan.schema.columns)
    return replace(
        plan,
        schema=Schema(tuple(columns)),
        axes=(*plan.axes[:at], axis, *plan.axes[at:]),
        codings=(*plan.codings[:at], coding, *plan.codings[at:]),
    ).encode(frame)


def split_off_old_classes(linked: Tally) -> tuple[Tally, Codes]:
    """The tally that is judged, and the old class of each of its entries (negative: new)."""
    tally = replace(linked, sensitive=linked.sensitive[:-1], values=linked.values[:-1])
    return tally, linked.values[-1] - 1


def read_old_cells(count: Recount, axes: Sequence[Axis]) -> Cells:
    """The earlier release's cells on the axes of the new one.

    A cell that would be printed otherwise now, because nobody is left to tell it from another,
    becomes ``*``: that generalises every label.
    """
    read = read_cells(count, axes)
    low, high = read.low.copy(), read.high.copy()
    levels = np.full_like(low, -1)
    sets = {j: bits.copy() for j, bits in read.sets.items()}
    for j, axis in enumerate(axes):
        number, printed = read.labels(axes, j)
        other = printed[number] != _list_class_labels(count, axis.name)
        if other.any() and axis.size < 2:
            raise InputError(
                f"Column {axis.name!r} has one value left and the earlier release generalised it.",
                "state the column's domain in the schema, all values that it may take.",
            )
        low[other, j], high[other, j] = 0, axis.size - 1
        levels[other, j] = axis.level_to_print(axis.height, low[other, j], high[other, j])
        if j in sets:
            sets[j][other] = all_leaves(axis)
            low[:, j], high[:, j] = find_set_ends(sets[j])
    return Cells(low, high, sets, levels if (levels >= 0).any() else None)


def _list_class_labels(count: Recount, name: str) -> NDArray[np.object_]:
    j = [axis.name for axis in count.tally.quasi].index(name)
    axis = count.tally.quasi[j]
    texts = np.empty(axis.size, dtype=object)
    texts[:] = list_labels(axis)
    return texts[count.cut.cells.low[:, j]]


def extend_cut(tally: Tally, old_class: Codes, cells: Cells, request: Request) -> Cut:
    """A cut that meets the rule and whose cells cover the old cells of the people in them.

    First old classes stay as they are and everybody else is apart; then new people may join the
    old classes whose cells they lie in, where they meet the rule among themselves; at last classes
    are made of all people anew, in which the new ones are kept together.
    """
    staying = _find_staying(tally, old_class, cells, request.rule)
    nobody = np.full(tally.entries, SUPPRESSED, np.int32)
    if staying.max(initial=-1) < 0:
        return _combine_classes(tally, old_class, cells, nobody, request)
    for classes in (staying, _add_newcomers(tally, old_class, cells, staying, request.rule)):
        try:
            return _combine_classes(tally, old_class, cells, classes, request)
        except NotMetError:
            continue  # with more people in common the rule may be met
    return _combine_classes(tally, old_class, cells, nobody, request, together=True)


def _find_staying(tally: Tally, old_class: Codes, cells: Cells, rule: Model) -> Codes:
    """Per entry the old class that it stays in; negative where it cannot."""
    inside = (old_class >= 0) & _lies_in(tally.keys, cells, np.maximum(old_class, 0))
    classes = np.unique(old_class[inside])
    class_ = np.where(inside, np.searchsorted(classes, old_class), SUPPRESSED).astype(np.int32)
    if not len(classes):
        return class_
    entry = np.arange(tally.entries, dtype=np.int32)
    cut = Cut(entry, class_, tally.count, cells.take(classes))
    holds = inside & _meets_rule(tally, cut, rule)[class_]
    return np.where(holds, old_class, SUPPRESSED).astype(np.int32)


def _meets_rule(tally: Tally, cut: Cut, rule: Model) -> Flags:
    """Whether each class meets the rule, beside the values of the whole table."""
    groups = Groups.of(
        replace(tally, reference=_count_values(tally)), cut, list_joint_columns(rule)
    )
    return np.asarray(rule.holds(groups), dtype=np.bool_)


def _lies_in(keys: NDArray[Any], cells: Cells, class_: Codes) -> Flags:
    inside = np.ones(len(class_), dtype=np.bool_)
    for j, codes in enumerate(keys.astype(np.int64)):
        if j in cells.sets:
            words = cells.sets[j][class_, codes >> 6]
            inside &= (words >> (codes & 63).astype(np.uint64)) & np.uint64(1) > 0
        else:
            inside &= (cells.low[class_, j] <= codes) & (codes <= cells.high[class_, j])
    return inside


def _add_newcomers(
    tally: Tally, old_class: Codes, cells: Cells, staying: Codes, rule: Model
) -> Codes:
    """The same where new people are in the first old class that stays and has them in its cells.

    The old rows are known, so only newcomers who meet the rule as a class of their own may join.
    """
    classes, new = np.unique(staying[staying >= 0]), np.flatnonzero(old_class < 0)
    start, containing = cells.take(classes).contains(tally.keys[:, new])
    has = np.diff(start) > 0
    entry, to = new[has].astype(np.int32), classes[containing[start[:-1][has]]]
    alone = _meets_alone(tally, Cut(entry, to, tally.count[entry], cells), rule)
    joined = staying.copy()
    joined[entry[alone]] = to[alone]
    return joined


def _meets_alone(tally: Tally, cut: Cut, rule: Model) -> Flags:
    """Whether each piece of a cut, all of them published, is in a class that meets the rule."""
    if not len(cut.entry):
        return np.zeros(0, dtype=np.bool_)
    there, class_ = np.unique(cut.class_, return_inverse=True)
    some = replace(cut, class_=class_.astype(np.int32), cells=cut.cells.take(there))
    return _meets_rule(tally, some, rule)[class_]


def _count_few_newcomers(tally: Tally, old_class: Codes, cut: Cut, rule: Model) -> int:
    """How many new rows are in classes whose newcomers do not meet the rule among themselves."""
    new = (cut.class_ >= 0) & (old_class[cut.entry] < 0)
    newcomers = replace(cut, entry=cut.entry[new], class_=cut.class_[new], count=cut.count[new])
    return int(newcomers.count[~_meets_alone(tally, newcomers, rule)].sum())


def _count_values(tally: Tally) -> tuple[NDArray[np.int64], ...]:
    columns = zip(tally.sensitive, tally.values, strict=True)
    return tuple(
        np.bincount(codes, weights=tally.count, minlength=axis.size).astype(np.int64)
        for axis, codes in columns
    )


def _combine_classes(
    tally: Tally,
    old_class: Codes,
    cells: Cells,
    staying: Codes,
    request: Request,
    together: bool = False,
) -> Cut:
    """Old classes as far as entries stay in them, and the method's classes of the rest."""
    allowed = count_suppressible(tally, request)
    stay, rest = np.flatnonzero(staying >= 0), np.flatnonzero(staying < 0)
    classes = np.unique(staying[stay])
    old = Cut(
        stay.astype(np.int32),
        np.searchsorted(classes, staying[stay]).astype(np.int32),
        tally.count[stay],
        cells.take(classes),
    )
    if not len(rest):
        return suppress_failing_classes(tally, old.merged(), request.rule, allowed)
    new = run_method(_center_old_entries(tally, old_class, cells, rest, together), request, allowed)
    entry = rest[new.entry].astype(np.int32)
    covering = _cover_old_cells(tally, old_class, cells, replace(new, entry=entry))
    class_ = np.where(new.class_ < 0, SUPPRESSED, new.class_ + old.classes).astype(np.int32)
    both = Cut(
        np.concatenate((old.entry, entry)),
        np.concatenate((old.class_, class_)),
        np.concatenate((old.count, new.count)),
        Cells.joined([old.cells, covering]),
        new.facts,
    )
    return suppress_failing_classes(tally, both.merged(), request.rule, allowed)


def _center_old_entries(
    tally: Tally, old_class: Codes, cells: Cells, rest: Codes, together: bool = False
) -> Tally:
    """A tally of some entries, with a point in the middle of its old cell for each old one.

    People of one old class stand at one place: they are best kept together, since wherever one
    of them goes the whole old cell goes along. ``together``: so do the new ones.
    """
    middle = (cells.low + cells.high) // 2
    for j in cells.sets:
        middle[:, j] = cells.low[:, j]  # the middle of a set need not be a member
    old, own = old_class[rest], tally.keys[:, rest]
    if together and (old < 0).any():
        ordered = np.sort(own[:, old < 0], axis=1)
        own = ordered[:, ordered.shape[1] // 2, np.newaxis]
    keys = np.where(old >= 0, middle[np.maximum(old, 0)].T, own)
    return replace(
        tally,
        keys=keys.astype(tally.keys.dtype),
        values=tally.values[:, rest],
        count=tally.count[rest],
        providers=None if tally.providers is None else tally.providers[rest],
        reference=_count_values(tally),
    )


def _cover_old_cells(tally: Tally, old_class: Codes, cells: Cells, cut: Cut) -> Cells:
    """The smallest cells around each class's people as they are now and as they were published."""
    entry, class_ = cut.entry, cut.class_
    low, high = find_extents(tally.keys, entry, class_, cut.classes)
    old = (class_ >= 0) & (old_class[entry] >= 0)
    to, of = np.unique(np.stack((class_[old], old_class[entry[old]])), axis=1)
    np.minimum.at(low, to, cells.low[of])
    np.maximum.at(high, to, cells.high[of])
    sets = {}
    for j, bits in cells.sets.items():
        words = tally.quasi[j].words
        sets[j] = collect_code_sets(tally.keys[j], entry, class_, cut.classes, words)
        np.bitwise_or.at(sets[j], to, bits[of])
    return cover_ranges(tally.quasi, low, high, sets)


def _count_changes(cut: Cut, old_class: Codes, cells: Cells, rows: int) -> dict[str, int]:
    """Of how many rows the cells stayed or became wider, how many are new, and how many gone."""
    _, number = Cells.joined([cut.cells, cells]).unique()
    shown = cut.class_ >= 0
    class_, old, count = cut.class_[shown], old_class[cut.entry[shown]], cut.count[shown]
    same = (old >= 0) & (number[class_] == number[cut.classes + np.maximum(old, 0)])
    frozen, again = int(count[same].sum()), int(count[old >= 0].sum())
    return {
        "rows_frozen": frozen,
        "rows_widened": again - frozen,
        "rows_new": int(count.sum()) - again,
        "rows_gone": rows - again,
    }


def check_against_earlier(
    frame: Frame, schema: Schema, earlier: EarlierRelease, now: ClassifiedRows, key: bytes
) -> None:
    """Compare the written release with the earlier one, person by person, by their labels alone."""
    old, new = find_classes_in_both(frame, schema, earlier, now, key)
    inner, outer = np.unique(np.stack((old, new)), axis=1)
    wide = _generalises(schema, earlier.rows.count, inner, now.count, outer)
    if not wide.all():
        raise NotMetError(
            f"In {int((~wide).sum()):,} classes the written cells do not cover those that people "
            "had in the earlier release.",
            "use another method; --after is no substitute, it does not look at the linked rows.",
        )


def _generalises(
    schema: Schema, before: Recount, inner: Codes, now: Recount, outer: Codes
) -> Flags:
    """Whether each outer class's labels cover those of the inner class beside it."""
    axes = _grow_common_axes(
        schema, *(find_examples(count, schema, own=True) for count in (before, now))
    )
    old, new = read_cells(before, axes).take(inner), read_cells(now, axes).take(outer)
    wide = np.ones(len(inner), dtype=np.bool_)
    for j, axis in enumerate(axes):
        if j in old.sets:
            wide &= ~(old.sets[j] & ~new.sets[j]).any(axis=1)
        else:
            wide &= (new.low[:, j] <= old.low[:, j]) & (old.high[:, j] <= new.high[:, j])
        # Only * covers *: no list of values is all that the column may hold.
        labels = (
            _list_class_labels(before, axis.name)[inner],
            _list_class_labels(now, axis.name)[outer],
        )
        wide &= (labels[0] != ROOT) | (labels[1] == ROOT)
    return wide


def _grow_common_axes(schema: Schema, *several: Mapping[str, Sequence[Any]]) -> list[Axis]:
    """Axes on which the labels of all tables can be read, from values that the labels cover."""
    axes = []
    for column in schema.quasi:
        covered = [value for examples in several for value in examples[column.name]]
        values = dict.fromkeys([*(column.listed_values or ()), *_select_allowed(column, covered)])
        # Where every label is `*` no value is known, and null stands for whatever it may be.
        null = None in values or not values
        values.pop(None, None)
        assert column.hierarchy is not None, "the schema was fitted"
        grow = column.hierarchy.grow
        axes.append(grow(column.name, column.kind, list(values), None, null, column.bounds))
    return axes
