"""A release based on an m-invariant one: everybody who stays keeps the set of values of the class.

Whoever knows that somebody is in several releases takes the values that all their classes have in
common. m-invariance keeps that set what it was in the first of them: a person who stays is again
in a class with the same values, its signature. By the private companion the row of each person is
known, and so are the value published in it and the class. People who left leave gaps, which
counterfeit rows fill, that are about nobody; or, if asked, newcomers as far as there are any with
those values, which tells which values are counterfeit. What the rule asks for besides m-invariance
is judged on the rows about somebody alone. The cells need not be those of the earlier release, nor
wider. Nobody of the earlier release is suppressed.

X. Xiao and Y. Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets,
SIGMOD 2007.

What it does not protect: people whose value changed (refused), and people who were away in between
and come back, who are new here. Cells of two releases may together say more about somebody's
quasi-identifiers than either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import InputError, NotMetError, SchemaError, UsageError
from shoal.core.model import Model, list_joint_columns
from shoal.core.release import Verdict
from shoal.core.schema import Schema
from shoal.core.tally import Cut, Groups, Tally
from shoal.engines.protocol import Frame
from shoal.methods._invariance.balancing import NEW, Balance
from shoal.methods._invariance.groups import (
    explain_indistinct_groups,
    gather_classes,
    suppress_missing_rows,
)
from shoal.methods._invariance.requirement import (
    APART,
    NAME,
    check_newcomers,
    drop_invariance,
    find_invariance,
    read_requirement,
)
from shoal.methods._shared.points import order_people
from shoal.methods._shared.progress import Advance
from shoal.releases.companion import find_release, hash_counterfeit_person
from shoal.releases.draft import TableDraft, recode_rows
from shoal.releases.options import PARTITION, Request
from shoal.releases.reader import open_labels, parse_released_schema
from shoal.releases.recount import Recount, code_leaves, leaf_value, list_labels
from shoal.releases.successors.based_on import split_off_old_classes, tally_with_old_classes
from shoal.releases.successors.counterfeits import (
    COLUMN,
    append_counterfeits,
    judge_with_counterfeits,
    refuse_value_models,
    write_counterfeits,
)
from shoal.releases.successors.earlier import (
    ClassifiedRows,
    EarlierRelease,
    find_classes_in_both,
)
from shoal.releases.suppression import count_suppressible, suppress_failing_classes
from shoal.releases.tallying import Survey

METHOD = "invariant"


@dataclass(frozen=True)
class SignedRelease:
    """An earlier release whose rows are numbered by class and value together."""

    earlier: EarlierRelease
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
    def all_values(self) -> list[Any]:
        """All values that the release has."""
        return list(frozenset().union(*self.sets))

    def codes(self, axis: Axis) -> tuple[list[NDArray[np.int32]], NDArray[np.int32]]:
        """The signature of each class, and the value of each number, as codes of an axis."""
        sets = [np.sort(axis.codes(list(values))).astype(np.int32) for values in self.sets]
        return sets, axis.codes(list(self.value)).astype(np.int32)


def read_signatures(
    source: Any, earlier: EarlierRelease, schema: Schema, rule: Model
) -> SignedRelease:
    """Read the earlier release's value of each row, beside the classes that are read already."""
    (column,), release = schema.sensitive, find_release(source)
    assert release is not None, "checked when the earlier release was read"
    table, manifest = release
    old_schema = parse_released_schema(manifest)
    if [c.kind for c in old_schema.sensitive if c.name == column.name] != [column.kind]:
        raise SchemaError(
            f"Column {column.name!r} is not the same sensitive column in the earlier release.",
            "publish both releases with it, read as the same kind.",
        )
    count = earlier.rows.count
    axis = next(axis for axis in count.tally.sensitive if axis.name == column.name)
    with open_labels(table, old_schema, exact=True) as frame:
        values = frame.rows([code_leaves(axis)])[0]
    pairs, number = np.unique(
        earlier.rows.class_.astype(np.int64) * axis.size + values, return_inverse=True
    )
    rows = replace(earlier.rows, class_=number.reshape(-1).astype(np.int32))
    holds = rule.holds(Groups.of(count.tally, count.cut))
    # A value that was defused is another in the file than in the table; others are as they stand.
    is_defused = bool(manifest.get("defused_cells"))
    leaves = _list_values(axis, is_defused)
    sets = list_value_sets(count, column.name, is_defused)
    people = int(pc.sum(pc.not_equal(rows.person, hash_counterfeit_person(earlier.key))).as_py())
    return SignedRelease(
        replace(earlier, rows=rows),
        sets,
        uneven=~holds,
        class_=pairs // axis.size,
        value=tuple(leaves[code] for code in pairs % axis.size),
        people=people,
    )


def _list_values(axis: Axis, is_defused: bool) -> list[Any]:
    if is_defused:
        return list_labels(axis)
    return [leaf_value(axis, code) for code in range(axis.size)]


def list_value_sets(
    count: Recount, column: str, is_defused: bool = True
) -> tuple[frozenset[Any], ...]:
    """The sensitive values of each class, as they were before formulas were defused."""
    histogram = Groups.of(count.tally, count.cut).on(column)
    values = _list_values(histogram.axis, is_defused)
    return tuple(
        frozenset(values[code] for code in codes)
        for codes in np.split(histogram.value, histogram.start[1:-1])
    )


def check_values_unchanged(column: str, count: int) -> None:
    """Refuse people whose value is another than it was: their signature need not hold it."""
    if count:
        raise InputError(
            f"{count:,} people have another value in column {column!r} than in the earlier "
            "release, and m-invariance is for values that stay.",
            "leave these people out, give them their earlier values, or publish without "
            "--based-on and attack the releases together.",
        )


def check_classes_even(classes: int, rule: Model) -> None:
    """Refuse an earlier release whose classes are not what the new rule asks of one."""
    if classes:
        raise NotMetError(
            f"{classes:,} classes of the earlier release do not meet {rule}: their people would "
            "keep a signature that does not either.",
            "publish the first release with --method invariant and this rule, or ask for the m "
            "that it has.",
        )


def check_nobody_suppressed(people: int) -> None:
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
    frame: Frame,
    schema: Schema,
    earlier: EarlierRelease,
    now: ClassifiedRows,
    key: bytes,
    counterfeits: int,
) -> None:
    """Compare the written release with the earlier one: everybody's set of values is the same."""
    old, new = find_classes_in_both(frame, schema, earlier, now, key, counterfeits)
    name = schema.sensitive[0].name
    old_sets, new_sets = (list_value_sets(count, name) for count in (earlier.rows.count, now.count))
    pairs, people = np.unique(np.stack((old, new)), axis=1, return_counts=True)
    differ = [old_sets[old_class] != new_sets[new_class] for old_class, new_class in pairs.T]
    if any(differ):
        raise NotMetError(
            f"{int(people[np.array(differ)].sum()):,} people have other values in their class "
            "than in the earlier release.",
            "publish again; if it stays, the table cannot be published by this method.",
        )


def parse_newcomers(request: Request) -> str:
    """What newcomers do."""
    return check_newcomers(request.parameters.get("newcomers", APART))


def keeps_signatures(request: Request) -> bool:
    """Whether a release is to keep the signatures of the one that it is based on."""
    return request.based_on is not None and request.method == METHOD


def check_invariant(request: Request) -> None:
    """Refuse what would not keep signatures, and what counterfeit rows could not have."""
    if request.based_on is None:
        return
    if request.method != METHOD:
        if find_invariance(request.rule) is not None:
            raise UsageError(
                f"Based on an earlier release, {NAME} needs the method {METHOD}: the method "
                f"{request.method} does not keep signatures.",
                f"add --method {METHOD}.",
            )
        return
    parse_newcomers(request)
    schema = request.schema
    if COLUMN in schema.names:
        raise UsageError(
            f"{COLUMN!r} is what the file calls how many counterfeits a class has.",
            "rename the column in the table.",
        )
    if len(schema.sensitive) != 1 or schema.keep or schema.provider or request.form != PARTITION:
        raise UsageError(
            f"Based on an earlier release, the method {METHOD} publishes generalised cells and one "
            "sensitive column, no kept columns and no providers: counterfeit rows have none.",
            "give the other columns the role identifier, so that they are left out.",
        )


class InvariantDraft(TableDraft):
    """The classes of a table in which everybody who stays has the signature of before."""

    def __init__(self, frame: Frame, plan: Survey, request: Request, signed: SignedRelease) -> None:
        encoded = tally_with_old_classes(frame, plan, signed.earlier)
        tally, old_class = split_off_old_classes(encoded.tally)
        with_counterfeits, cut = _make_classes(tally, old_class, signed, request)
        self._tally, self._real, self._values = tally, tally.entries, with_counterfeits.values[0]
        self._axis = tally.sensitive[0]
        super().__init__(frame, encoded, with_counterfeits, cut, request)
        counterfeits = self.counterfeits()
        real = _select_pieces(
            self._cut, (self._cut.entry < tally.entries) & (self._cut.class_ >= 0)
        )
        new = int(real.count[old_class[real.entry] < 0].sum())
        self._facts |= {
            COLUMN: int(counterfeits.sum()),
            "counterfeit_classes": int((counterfeits > 0).sum()),
            "rows_signature_kept": int(real.count.sum()) - new,
            "rows_new": new,
            "rows_gone": signed.people - int(tally.count[old_class >= 0].sum()),
            "rows_waiting": int(tally.count[old_class < 0].sum()) - new,
            "newcomers": parse_newcomers(request),
        }

    def judge(self) -> Verdict:
        """The verdict on the classes, by construction: on people, not on counterfeits."""
        rule, real = self._request.rule, _select_pieces(self._cut, self._cut.entry < self._real)
        people = Groups.of(self._tally, real, list_joint_columns(rule))
        counterfeits = int(self.counterfeits().sum())
        return judge_with_counterfeits(rule, self._groups, people, counterfeits, "by construction")

    def counterfeits(self) -> NDArray[np.int64]:
        """How many rows of each class are about nobody."""
        pieces = self._counterfeit_pieces()
        return np.bincount(pieces.class_, pieces.count, pieces.classes).astype(np.int64)

    def rows(self, key: bytes) -> Iterator[pa.RecordBatch]:
        """Every published row with the number of its class, counterfeits among them."""
        cut, counterfeits = self._cut, self._counterfeit_pieces()
        real = _select_pieces(cut, cut.entry < self._real)
        stream = recode_rows(self._frame, self._encoded, real, self._request.schema, key)
        values = [leaf_value(self._axis, int(code)) for code in self._values[counterfeits.entry]]
        return append_counterfeits(stream, counterfeits.class_, values, key)

    def write_counterfeits(self, folder: Path) -> dict[str, Any]:
        """Write how many counterfeits each class has; what the manifest tells of it."""
        return write_counterfeits(folder, self.labels(), self.counterfeits())

    def _counterfeit_pieces(self) -> Cut:
        return _select_pieces(self._cut, (self._cut.entry >= self._real) & (self._cut.class_ >= 0))


def _select_pieces(cut: Cut, some: NDArray[np.bool_]) -> Cut:
    return replace(cut, entry=cut.entry[some], class_=cut.class_[some], count=cut.count[some])


def _make_classes(
    tally: Tally, old_class: NDArray[Any], signed: SignedRelease, request: Request
) -> tuple[Tally, Cut]:
    """The classes, and the tally with an entry for each counterfeit."""
    rule, axis, values = find_invariance(request.rule), tally.sensitive[0], tally.values[0]
    m, on, _ = read_requirement(tally, request.rule)
    sets, old = signed.codes(axis)
    stays = old_class >= 0
    check_values_unchanged(axis.name, int(tally.count[stays & (values != old[old_class])].sum()))
    class_ = signed.class_[old_class]
    check_classes_even(int(signed.uneven[np.unique(class_[stays])].sum()), rule)
    signatures = sorted({tuple(sets[number].tolist()) for number in np.unique(class_[stays])})
    number = {codes: i for i, codes in enumerate(signatures)}
    of_class = np.array([number.get(tuple(codes.tolist()), NEW) for codes in sets], np.int64)
    entry = order_people(tally, np.random.default_rng(0))
    signature = np.where(stays, of_class[class_], NEW)[entry]
    asks = parse_newcomers(request)
    balance = Balance(tally, entry, values[entry], signature, axis.size, asks)
    advance = Advance(lambda done, total: request.progress("making classes", done, total))
    balance.fill([np.array(codes) for codes in signatures])
    balance.deal(m, on, advance, count_suppressible(tally, request))
    return _gather_cut(tally, balance, stays, request, advance)


def _gather_cut(
    tally: Tally, balance: Balance, stays: NDArray[np.bool_], request: Request, advance: Advance
) -> tuple[Tally, Cut]:
    """The buckets split into classes; counterfeits that are not published are none."""
    rows, allowed = balance.rows(), count_suppressible(tally, request)
    counterfeits = len(balance.counterfeits)
    with_counterfeits = replace(
        tally,
        keys=np.concatenate(
            (tally.keys, np.zeros((len(tally.keys), counterfeits), tally.keys.dtype)), 1
        ),
        values=np.concatenate((tally.values, rows.value[np.newaxis, rows.is_counterfeit]), 1),
        count=np.concatenate((tally.count, np.ones(counterfeits, np.int64))),
    )
    first = np.append(stays, np.zeros(counterfeits, np.bool_))
    with_counterfeits, cut, _ = gather_classes(
        with_counterfeits, request.rule, rows, advance, first
    )
    cut = suppress_missing_rows(with_counterfeits, cut)
    cut = _select_pieces(cut, (cut.class_ >= 0) | (cut.entry < tally.entries))
    check_nobody_suppressed(int(cut.count[(cut.class_ < 0) & first[cut.entry]].sum()))
    if cut.suppressed > allowed:
        raise explain_indistinct_groups(cut.suppressed)
    advance.end()
    cut = _suppress_failing(tally, with_counterfeits, cut, request.rule, allowed)
    check_nobody_suppressed(int(cut.count[(cut.class_ < 0) & first[cut.entry]].sum()))
    return with_counterfeits, _select_pieces(cut, (cut.class_ >= 0) | (cut.entry < tally.entries))


def _suppress_failing(
    tally: Tally, with_counterfeits: Tally, cut: Cut, rule: Model, allowed: int
) -> Cut:
    """The cut without classes that break the rule: all but m-invariance by people alone."""
    real = _select_pieces(cut, cut.entry < tally.entries)
    counterfeits, other = int(cut.count.sum() - real.count.sum()), drop_invariance(rule)
    if not counterfeits:
        return suppress_failing_classes(with_counterfeits, cut, rule, allowed)
    refuse_value_models(rule, counterfeits)
    if other is None:
        return cut
    held = real.class_ >= 0
    left = suppress_failing_classes(tally, real, other, allowed)
    gone = np.zeros(cut.classes, np.bool_)
    gone[real.class_[held & (left.class_ < 0)]] = True
    return cut.without(gone)
