"""The recoding of a release, done to other people: the tables of later months look alike.

Where the release has one level of each column for everybody, those levels are applied to every new
value. Otherwise a new row goes into a class whose cells contain it: of several the narrowest, as
long as the wider ones keep enough people (`shoal.methods.lines.placed`). What the recoding does not
cover is counted and refused, or held back where that is allowed: a value that its hierarchy, domain
or bounds do not know, and where cells are used, a row that lies in no class, or only in that of
nothing but ``*``, where rows held back stand. Then the rule is judged on the new people alone, and
the written file verified like any other.

What it does not protect: somebody who is in both tables. Whoever links the two releases has both
cells and both sensitive values of such a person; `shoal.flow.based` is for the same people again.
Nor which class somebody is in: where cells overlap, the way a row is placed is public, so that the
class must be taken as known to whoever knows the quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, NotMetError
from shoal.flow.companion import hashed, read_people, rows_of
from shoal.flow.encode import Survey, survey, surveyed_columns
from shoal.flow.examples import allowed
from shoal.flow.made import Whole
from shoal.flow.make import allowance, settle
from shoal.flow.placing import covered, narrowest_first
from shoal.flow.recoding import ANEW, Levels, Recoding
from shoal.flow.request import Request
from shoal.frames.frame import Coding, Distinct, Frame
from shoal.hierarchy import Tree
from shoal.methods.lattice.ladder import levelled, rung_at
from shoal.methods.lines.placed import placed
from shoal.model import Model
from shoal.schema import Column, Schema
from shoal.tally import HELD_BACK, Cut, Tally

Flags = NDArray[np.bool_]
UNKNOWN = (
    "How many people are in the other release too is not known: both need a column that says who "
    'each row is about (role "person").'
)


def surveyed(
    frame: Frame, schema: Schema, people: Frame | None, also: Mapping[str, Sequence[Any]] | None
) -> Survey:
    """A survey of a table that has values which its hierarchies, domains and bounds do not know.

    Such a value of a quasi-identifier has the code after the axis's last: it lies in no cell.
    """
    found = dict(frame.values([column.name for column in surveyed_columns(schema)]))
    fits = {column.name: _fits(column, found[column.name]) for column in schema.quasi}
    plan = survey(frame, schema, people, also, {**found, **_only(found, fits)})
    codings = tuple(
        _widened(c, found[c.column], fits[c.column]) if c.column in fits else c
        for c in plan.codings
    )
    return replace(plan, codings=codings, found=found)


def _fits(column: Column, found: Distinct) -> Flags:
    """Which of the values the column may have."""
    fits = np.array([allowed(value, column) for value in found.values], dtype=np.bool_)
    if isinstance(column.hierarchy, Tree):
        fits &= column.hierarchy.grow(column.name, column.kind, []).codes(found.values) >= 0
    return fits


def _only(found: Mapping[str, Distinct], fits: Mapping[str, Flags]) -> dict[str, Distinct]:
    """The values that fit."""
    return {
        name: Distinct(
            [value for value, fit in zip(found[name].values, some, strict=True) if fit],
            found[name].counts[some],
            found[name].nulls,
        )
        for name, some in fits.items()
    }


def _widened(coding: Coding, found: Distinct, fits: Flags) -> Coding:
    codes = np.full(len(fits), coding.size, np.int32)
    codes[fits] = coding.codes
    return replace(coding, values=found.values, codes=codes, size=coding.size + 1)


class Like(Whole):
    """The classes of a table that is recoded as a release was."""

    def __init__(self, frame: Frame, plan: Survey, request: Request, of: Recoding) -> None:
        encoded = plan.encode(frame)
        tally, by_level = encoded.tally, of.levels(request.schema)
        points = _points(tally)
        if by_level is not None:
            facts = {"levels": {c.name: of.companion.levels[c.name] for c in request.schema.quasi}}
            cut = _at_levels(tally, points, by_level[1], facts)
            inside = [np.ones(axis.size, np.bool_) for axis in tally.quasi]
        else:
            cells = narrowest_first(of.classes, tally)
            cut = placed(tally, points, cells, request.rule)
            inside = [covered(cells, axis, j) for j, axis in enumerate(tally.quasi)]
        if cut.held_back > allowance(tally, request) or cut.held_back == tally.rows:
            raise _not_covered(cut, tally, plan, inside, request.rule)
        super().__init__(frame, encoded, tally, _settled(tally, cut, request), request)
        self._facts["rows_not_covered"] = cut.held_back
        self._facts["people_in_both"] = _in_both(frame, request.schema, of)


def _points(tally: Tally) -> NDArray[np.int32]:
    """The entries' codes, with -1 for values that do not fit: it lies in no cell."""
    sizes = np.array([[axis.size] for axis in tally.quasi])
    return np.where(tally.keys < sizes, tally.keys.astype(np.int32), -1).astype(np.int32)


def _at_levels(
    tally: Tally, points: NDArray[np.int32], levels: Levels, facts: dict[str, Any]
) -> Cut:
    """Every row whose values fit, at one level of each column."""
    rungs = [rung_at(axis, levels[axis.name]) for axis in tally.quasi]
    fit = np.flatnonzero((points >= 0).all(axis=0))
    some = replace(tally, keys=tally.keys[:, fit], values=tally.values[:, fit])
    cut = levelled(replace(some, count=tally.count[fit]), rungs)
    class_ = np.full(tally.entries, HELD_BACK, np.int32)
    class_[fit[cut.entry]] = cut.class_
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut(entry, class_, tally.count, cut.cells, facts).merged()


def _in_both(frame: Frame, schema: Schema, of: Recoding) -> int | None:
    """How many of the people are in the release too; None where nothing says who they are."""
    if schema.person is None or of.companion.schema.person is None:
        return None
    name, rows = schema.person.name, int(of.count.cut.count.sum())
    people = frame.values([name])[name]
    if not people.values:
        return 0
    keyed = hashed(frame, name, people, of.companion.key)
    return int((rows_of(keyed, read_people(of.companion.folder, rows)) >= 0).sum())


def _settled(tally: Tally, cut: Cut, request: Request) -> Cut:
    try:
        return settle(tally, cut, request.rule, allowance(tally, request))
    except NotMetError as error:
        told = f"By the release's recoding, too few people share their cells. {error.fact}"
        raise NotMetError(told, _instead(_needed(tally, cut, request.rule), tally.rows)) from None


def _needed(tally: Tally, cut: Cut, rule: Model) -> int:
    """How many rows must be held back so that the others meet the rule; all where none can."""
    try:
        return settle(tally, cut, rule, tally.rows).held_back
    except NotMetError:
        return tally.rows


def _instead(needed: int, rows: int) -> str:
    """What to do about rows that cannot be published by the recoding."""
    if needed == rows:
        return f"weaken the rule, or {ANEW}."
    share = min(1.0, needed / rows + 0.0005)
    return f"let {needed:,} rows be held back with --hold-back {share:.3f}, or {ANEW}."


def _not_covered(
    cut: Cut, tally: Tally, plan: Survey, inside: Sequence[Flags], rule: Model
) -> InputError:
    """What the recoding does not cover, by column and count, and who is too few without it."""
    rows, needed = cut.held_back, _needed(tally, cut, rule)
    told, anywhere = [], np.zeros(tally.entries, np.bool_)
    for j, known in enumerate(inside):
        coding = plan.codings[j]
        out = np.append(~known, True)  # the last: what no cell could have
        found, here = plan.found[coding.column], out[tally.keys[j]]
        null = found.nulls > 0 and coding.null_code is not None and bool(out[coding.null_code])
        values = int(out[coding.codes].sum()) + null
        if values:
            count = int(tally.count[here].sum())
            told.append(f"{values:,} values of column {coding.column!r} ({count:,} rows)")
        anywhere |= here
    if apart := rows - int(tally.count[anywhere].sum()):
        told.append(f"{apart:,} rows with values that no class has together")
    few = f" Of the others, {needed - rows:,} do not meet the rule." if needed > rows else ""
    return InputError(
        f"The release's recoding does not cover {rows:,} of {tally.rows:,} rows: "
        f"{'; '.join(told)}.{few}",
        f"{ANEW}." if rows == tally.rows else _instead(needed, tally.rows),
    )
