"""The recoding of a release, done to other people: the tables of later months look alike.

Where the release has one level of each column for everybody, those levels are applied to every new
value. Its private companion says so; the table's labels have to be those of these levels, and new
data may not change what the levels are. Otherwise a new row goes into a class whose cells, as the
labels say, contain it: of several the narrowest, as long as the wider ones keep enough people
(`shoal.methods._shared.placement`). Hierarchies that follow the data (bins of equal width or
frequency) are known by the labels they left, as ranges.

What the recoding does not cover is counted and refused, or suppressed where that is allowed: a
value that its hierarchy, domain or bounds do not know, and where cells are used, a row that lies in
no class, or only in that of nothing but ``*``, where suppressed rows stand. Then the rule is judged
on the new people alone, and the written file verified like any other.

What it does not protect: somebody who is in both tables. Whoever links the two releases has both
cells and both sensitive values of such a person; `shoal.releases.successors.based_on` is for the
same people again. Nor which class somebody is in: where cells overlap, the way a row is placed is
public, so that the class must be taken as known to whoever knows the quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError, NotMetError, SchemaError, UsageError
from shoal.core.hierarchy import (
    EqualFrequency,
    EqualWidth,
    Flat,
    Hierarchy,
    Ordered,
    Prefixes,
    Tree,
)
from shoal.core.labels import ROOT
from shoal.core.model import Model
from shoal.core.schema import Column, Schema
from shoal.core.tally import SUPPRESSED, Cut, Tally
from shoal.engines.protocol import Coding, Distinct, Frame
from shoal.methods._lattice.ladder import find_rung, recode_to_rungs
from shoal.methods._shared.placement import place_in_cells
from shoal.releases.companion import (
    Companion,
    find_release,
    find_rows,
    hash_people,
    read_companion,
    read_people,
)
from shoal.releases.draft import TableDraft
from shoal.releases.label_examples import find_examples, is_allowed_value
from shoal.releases.options import PARTITION, Request
from shoal.releases.reader import open_labels, parse_released_schema
from shoal.releases.recount import Recount, list_labels, read_cells, recount
from shoal.releases.suppression import count_suppressible, suppress_failing_classes
from shoal.releases.tallying import Survey, list_tallied_columns, survey

ANEW = "make a new release without --like"
UNKNOWN = (
    "How many people are in the other release too is not known: both need a column that says who "
    'each row is about (role "person").'
)
_TOP = 1_000_000
"""More than any hierarchy has levels: ``*``."""

Levels = dict[str, int]
Flags = NDArray[np.bool_]


def sort_narrowest_first(count: Recount, tally: Tally) -> Cells:
    """A release's cells on a tally's axes, the narrowest first; equals by their labels."""
    cells = read_cells(count, tally.quasi)
    width = np.round(cells.widths(tally.quasi) @ tally.importance, 12)
    ordered = cells.take(np.lexsort((*count.cut.cells.low.T, width)))
    return ordered.take(np.sort(ordered.unique()[0]))


def find_covered_codes(cells: Cells, axis: Axis, column: int) -> NDArray[np.bool_]:
    """Whether each code of a column lies in any class's cell there."""
    sets = {0: cells.sets[column]} if column in cells.sets else {}
    alone = Cells(cells.low[:, [column]], cells.high[:, [column]], sets)
    first, _ = alone.unique()
    start, _ = alone.take(first).contains(np.arange(axis.size, dtype=np.int32)[np.newaxis])
    return np.asarray(np.diff(start) > 0)


@dataclass(frozen=True)
class Recoding:
    """A release, as far as it says what became of values."""

    table: Path
    manifest: Mapping[str, Any]
    companion: Companion

    @property
    def sha256(self) -> str:
        """The hash of the release's table."""
        return self.companion.table_sha256

    @property
    def rule(self) -> str:
        """What the release promises."""
        return str(self.companion.promised.get("rule", self.manifest.get("rule", "")))

    @property
    def method(self) -> str:
        """The method that made the release's classes."""
        return str(self.manifest.get("method", ""))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of that method."""
        parameters = self.manifest.get("parameters", {})
        if not isinstance(parameters, Mapping):
            raise InputError("The manifest is damaged: parameters.", "publish the release again.")
        return dict(parameters)

    def schema(self, schema: Schema | None) -> Schema:
        """The release's own schema, or a given one that agrees with it on quasi-identifiers."""
        return (
            self.companion.schema
            if schema is None
            else _complete_schema(schema, self.companion.schema)
        )

    @cached_property
    def count(self) -> Recount:
        """The release's classes by their labels."""
        shown = parse_released_schema(dict(self.manifest))
        with open_labels(self.table, shown, exact=True) as frame:
            return recount(frame, shown)

    @cached_property
    def classes(self) -> Recount:
        """The same without the class of nothing but ``*``, unless it is the only one.

        Suppressed rows may stand there: it is not what became of values.
        """
        cut, axes = self.count.cut, self.count.tally.quasi
        hidden = np.ones(cut.classes, np.bool_)
        for axis, codes in zip(axes, cut.cells.low.T, strict=True):
            hidden &= np.array([label == ROOT for label in list_labels(axis)])[codes]
        return self.count if hidden.all() else replace(self.count, cut=cut.without(hidden))

    def levels(self, schema: Schema) -> tuple[Schema, Levels] | None:
        """One level of each column for everybody, under hierarchies that new data does not change.

        None where the release has no such levels, or what they are depends on its own people.
        """
        levels = self.companion.levels
        if self.manifest.get("based_on") or any(c.name not in levels for c in schema.quasi):
            return None
        pairs = [_fix_level(c, levels[c.name], self._labels(c.name)) for c in schema.quasi]
        fixed = [pair for pair in pairs if pair is not None]
        if len(fixed) < len(pairs):
            return None
        columns = {column.name: column for column, _ in fixed}
        settled = tuple(columns.get(c.name, c) for c in schema.columns)
        return Schema(settled), {column.name: level for column, level in fixed}

    def readable(self, schema: Schema) -> Schema:
        """The schema by which the release's labels are read: bins of its own data are ranges."""
        by_level = self.levels(schema)
        if by_level is not None:
            return by_level[0]
        columns = (
            replace(c, hierarchy=Ordered())
            if c.role == "quasi" and isinstance(c.hierarchy, EqualWidth | EqualFrequency)
            else c
            for c in schema.columns
        )
        return Schema(tuple(columns))

    def label_examples(self, schema: Schema) -> dict[str, list[Any]]:
        """By column, values that let an axis print the release's labels as they were.

        Null is one of them where ``*`` could be taken for the only value, or a set for ``*``.
        """
        read = self.readable(schema)
        values_by_column = find_examples(self.count, read, own=True)
        for column in read.quasi:
            values = values_by_column[column.name]
            if _needs_null(column, values, self._labels(column.name)):
                values.append(None)
        return values_by_column

    def check_levels(self) -> None:
        """Refuse levels that cannot give the labels of the table: they are not the release's."""
        own = self.companion.schema
        by_level = self.levels(own)
        if by_level is None:
            return
        unfitted = [c for c in by_level[0].quasi if c == own.column(c.name)]  # not by their labels
        examples = self.label_examples(own)
        wrong = [
            c.name
            for c in unfitted
            if not _has_labels(
                c, by_level[1][c.name], examples[c.name], self._labels(c.name) - {ROOT}
            )
        ]
        if wrong:
            raise InputError(
                f"The private companion {self.companion.folder.name!r} has levels that do not give "
                f"the labels of the table: {', '.join(wrong)}.",
                f"take the release and the companion that were written together, or {ANEW}.",
            )

    def _labels(self, name: str) -> set[str]:
        axis = next(axis for axis in self.count.tally.quasi if axis.name == name)
        return {label for label in list_labels(axis) if label is not None}


def read_recoding(source: Any) -> Recoding:
    """Read how a release (its folder, or a ``Release``) was recoded, with its companion."""
    release = find_release(source)
    if release is None:
        raise UsageError(
            "Only a release's folder says how its table was recoded.",
            "give the folder, not the table.",
        )
    table, manifest = release
    if manifest.get("form", PARTITION) != PARTITION:
        raise UsageError(
            "The release has no generalised cells that others could be given.",
            "name one that was published with --form partition.",
        )
    companion = read_companion(source, table)
    recoding = Recoding(table, manifest, companion)
    recoding.check_levels()
    return recoding


def check_not_combined(settings: Mapping[str, Any], form: str, auto_hierarchies: bool) -> None:
    """Refuse what decides how classes are made: where a recoding is applied, it is decided."""
    chosen = [f"--{name.replace('_', '-')}" for name, value in settings.items() if value]
    chosen += [f"--form {form}"] * (form != PARTITION)
    chosen += ["--auto-hierarchies"] * auto_hierarchies
    if chosen:
        raise UsageError(
            f"With --like how rows are recoded is decided: it cannot be combined with {chosen[0]}.",
            "leave one of the two out; for the same people again there is --based-on.",
        )


def _complete_schema(schema: Schema, released: Schema) -> Schema:
    """A given schema, its quasi-identifiers completed by the release's and checked against them."""
    before = {column.name: column for column in released.quasi}
    differ = sorted({column.name for column in schema.quasi} ^ before.keys())
    for now in (column for column in schema.quasi if column.name in before):
        old = before[now.name]
        differ += [f"{now.name} (kind)"] * (now.kind not in ("", old.kind))
        differ += [f"{now.name} (hierarchy)"] * (not _continues(old.hierarchy, now.hierarchy))
    if differ:
        raise SchemaError(
            "The quasi-identifiers are not those of the release whose recoding is asked for: "
            f"{', '.join(differ)}.",
            f"leave the schema out, so that the release's own is used, or {ANEW}.",
        )
    return replace(
        schema,
        columns=tuple(
            _complete_column(c, before[c.name]) if c.name in before else c for c in schema.columns
        ),
    )


def _continues(old: Hierarchy | None, new: Hierarchy | None) -> bool:
    if isinstance(old, Tree) and isinstance(new, Tree):
        return set(old.rows) <= set(new.rows)
    return new is None or old == new


def _complete_column(now: Column, then: Column) -> Column:
    return replace(
        now,
        kind=then.kind,
        hierarchy=now.hierarchy or then.hierarchy,
        domain=now.domain or then.domain,
        bounds=now.bounds or then.bounds,
    )


def _needs_null(column: Column, values: Sequence[Any], labels: set[str]) -> bool:
    """Whether one more leaf is needed to tell ``*`` from what else is printed."""
    if isinstance(column.hierarchy, Tree):
        return len(column.hierarchy.rows) < 2
    between = isinstance(column.hierarchy, Flat | Ordered) and ROOT in labels
    return len(values) < 2 or (between and labels != {ROOT})


def _has_labels(column: Column, level: int, values: Sequence[Any], labels: set[str]) -> bool:
    """Whether a level has these labels, in a column with these values (None: null).

    >>> from shoal.core.hierarchy import Intervals
    >>> age = Column("age", "quasi", "number", Intervals((10, 20)))
    >>> [_has_labels(age, level, [20.0, 29.0, 30.0], {"[20-29]"}) for level in (0, 1, 2)]
    [False, True, False]
    """
    assert column.hierarchy is not None, "the schema of a companion is complete"
    there = dict.fromkeys(v for v in (*values, *(column.listed_values or ())) if v is not None)
    named = column.name, column.kind, list(there)
    axis = column.hierarchy.grow(*named, null=None in values, bounds=column.bounds)
    low, high, readable = axis.parse(sorted(labels))
    rung = find_rung(axis, level)
    node = rung.node[low]
    return bool((readable & (rung.low[node] == low) & (rung.high[node] == high)).all())


def _fix_level(column: Column, level: int, labels: set[str]) -> tuple[Column, int] | None:
    """A column and its level so that they mean what they did, whatever values there are now.

    Without stated lengths, which prefixes are a level is decided by the codes that there are; a
    label is as long as the codes under it allow, so that the shortest one is the level's.

    >>> zips = Column("zip", "quasi", "code", Prefixes())
    >>> fixed = _fix_level(zips, 2, {"130**", "1485*", "22222", "*"})
    >>> fixed and (fixed[0].hierarchy, fixed[1])
    (Prefixes(lengths=(3,)), 1)
    """
    if level == 0:
        return column, 0
    if labels == {ROOT}:
        return column, _TOP
    if isinstance(column.hierarchy, EqualWidth | EqualFrequency):
        return None
    if column.hierarchy != Prefixes():
        return column, level
    masked = (label.rstrip("*") for label in labels - {ROOT} if label.endswith("*"))
    shortest = min(map(len, masked), default=0)
    return (replace(column, hierarchy=Prefixes((shortest,))), 1) if shortest else None


def survey_with_unknown_values(
    frame: Frame,
    schema: Schema,
    people: Frame | None,
    more_values: Mapping[str, Sequence[Any]] | None,
) -> Survey:
    """A survey of a table that has values which its hierarchies, domains and bounds do not know.

    Such a value of a quasi-identifier has the code after the axis's last: it lies in no cell.
    """
    distinct = dict(frame.values([column.name for column in list_tallied_columns(schema)]))
    fits = {column.name: _find_allowed(column, distinct[column.name]) for column in schema.quasi}
    allowed = {name: _select_values(distinct[name], fit) for name, fit in fits.items()}
    plan = survey(frame, schema, people, more_values, {**distinct, **allowed})
    codings = tuple(
        _widen_coding(c, distinct[c.column], fits[c.column]) if c.column in fits else c
        for c in plan.codings
    )
    return replace(plan, codings=codings, distinct=distinct)


def _find_allowed(column: Column, distinct: Distinct) -> Flags:
    fits = np.array([is_allowed_value(value, column) for value in distinct.values], dtype=np.bool_)
    if isinstance(column.hierarchy, Tree):
        fits &= column.hierarchy.grow(column.name, column.kind, []).codes(distinct.values) >= 0
    return fits


def _select_values(distinct: Distinct, fits: Flags) -> Distinct:
    values = [value for value, fit in zip(distinct.values, fits, strict=True) if fit]
    return Distinct(values, distinct.counts[fits], distinct.nulls)


def _widen_coding(coding: Coding, distinct: Distinct, fits: Flags) -> Coding:
    codes = np.full(len(fits), coding.size, np.int32)
    codes[fits] = coding.codes
    return replace(coding, values=distinct.values, codes=codes, size=coding.size + 1)


class LikeDraft(TableDraft):
    """The classes of a table that is recoded as a release was."""

    def __init__(self, frame: Frame, plan: Survey, request: Request, recoding: Recoding) -> None:
        encoded = plan.encode(frame)
        tally, by_level = encoded.tally, recoding.levels(request.schema)
        sizes = np.array([[axis.size] for axis in tally.quasi])
        # -1 for values that do not fit: it lies in no cell
        points = np.where(tally.keys < sizes, tally.keys.astype(np.int32), -1).astype(np.int32)
        if by_level is not None:
            levels = {c.name: recoding.companion.levels[c.name] for c in request.schema.quasi}
            cut = _cut_at_levels(tally, points, by_level[1], {"levels": levels})
            inside = [np.ones(axis.size, np.bool_) for axis in tally.quasi]
        else:
            cells = sort_narrowest_first(recoding.classes, tally)
            cut = place_in_cells(tally, points, cells, request.rule)
            inside = [find_covered_codes(cells, axis, j) for j, axis in enumerate(tally.quasi)]
        if cut.suppressed > count_suppressible(tally, request) or cut.suppressed == tally.rows:
            raise _not_covered_error(cut, tally, plan, inside, request.rule)
        super().__init__(frame, encoded, tally, _suppress_failing(tally, cut, request), request)
        self._facts["rows_not_covered"] = cut.suppressed
        self._facts["people_in_both"] = _count_in_both(frame, request.schema, recoding)


def _cut_at_levels(
    tally: Tally, points: NDArray[np.int32], levels: Levels, facts: dict[str, Any]
) -> Cut:
    rungs = [find_rung(axis, levels[axis.name]) for axis in tally.quasi]
    fit = np.flatnonzero((points >= 0).all(axis=0))
    fitting = replace(
        tally, keys=tally.keys[:, fit], values=tally.values[:, fit], count=tally.count[fit]
    )
    cut = recode_to_rungs(fitting, rungs)
    class_ = np.full(tally.entries, SUPPRESSED, np.int32)
    class_[fit[cut.entry]] = cut.class_
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut(entry, class_, tally.count, cut.cells, facts).merged()


def _count_in_both(frame: Frame, schema: Schema, recoding: Recoding) -> int | None:
    if schema.person is None or recoding.companion.schema.person is None:
        return None
    name, rows = schema.person.name, int(recoding.count.cut.count.sum())
    people = frame.values([name])[name]
    if not people.values:
        return 0
    keyed = hash_people(frame, name, people, recoding.companion.key)
    return int((find_rows(keyed, read_people(recoding.companion.folder, rows)) >= 0).sum())


def _suppress_failing(tally: Tally, cut: Cut, request: Request) -> Cut:
    try:
        return suppress_failing_classes(
            tally, cut, request.rule, count_suppressible(tally, request)
        )
    except NotMetError as error:
        raise NotMetError(
            f"By the release's recoding, too few people share their cells. {error.fact}",
            _suggest_instead(_count_needed(tally, cut, request.rule), tally.rows),
        ) from None


def _count_needed(tally: Tally, cut: Cut, rule: Model) -> int:
    """How many rows must be suppressed so that the others meet the rule; all where none can."""
    try:
        return suppress_failing_classes(tally, cut, rule, tally.rows).suppressed
    except NotMetError:
        return tally.rows


def _suggest_instead(needed: int, rows: int) -> str:
    if needed == rows:
        return f"weaken the rule, or {ANEW}."
    share = min(1.0, needed / rows + 0.0005)
    return f"let {needed:,} rows be held back with --hold-back {share:.3f}, or {ANEW}."


def _not_covered_error(
    cut: Cut, tally: Tally, plan: Survey, inside: Sequence[Flags], rule: Model
) -> InputError:
    """What the recoding does not cover, by column and count, and who is too few without it."""
    rows, needed = cut.suppressed, _count_needed(tally, cut, rule)
    uncovered, anywhere = [], np.zeros(tally.entries, np.bool_)
    for j, known in enumerate(inside):
        coding = plan.codings[j]
        out = np.append(~known, True)  # the last: what no cell could have
        distinct, here = plan.distinct[coding.column], out[tally.keys[j]]
        null = distinct.nulls > 0 and coding.null_code is not None and bool(out[coding.null_code])
        values = int(out[coding.codes].sum()) + null
        if values:
            count = int(tally.count[here].sum())
            uncovered.append(f"{values:,} values of column {coding.column!r} ({count:,} rows)")
        anywhere |= here
    if apart := rows - int(tally.count[anywhere].sum()):
        uncovered.append(f"{apart:,} rows with values that no class has together")
    few = f" Of the others, {needed - rows:,} do not meet the rule." if needed > rows else ""
    return InputError(
        f"The release's recoding does not cover {rows:,} of {tally.rows:,} rows: "
        f"{'; '.join(uncovered)}.{few}",
        f"{ANEW}." if rows == tally.rows else _suggest_instead(needed, tally.rows),
    )
