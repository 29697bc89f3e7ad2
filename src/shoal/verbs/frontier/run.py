"""A comparison at work: point after point, each kept as soon as it is finished.

Kept columns, published as they are: whoever knows them tells apart the people of a class.

No rule judges them, and methods do not see them. But the risk would be told too low without them:
a class of a hundred in which every row has a name is a hundred classes of one. The adversary is
taken to know them of everybody, as verifying does that counts k over kept columns too; one who does
not know them gains less.

The table as methods are given it: counted as it is, and where they need levels with some.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.errors import InputError, NotMetError, ShoalError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import list_joint_columns
from shoal.core.schema import Schema
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally
from shoal.engines.protocol import Frame
from shoal.kernels.grouping import number_combinations
from shoal.measures.loss import loss
from shoal.measures.risk.exposure import Exposure, measure_exposure
from shoal.methods import publishes_levels
from shoal.releases.auto_hierarchies import add_automatic_levels
from shoal.releases.draft import COMPILING, is_compiled, make_cut
from shoal.releases.options import Progress, Request, ignore_progress
from shoal.releases.people import ask_about_repeats, check_one_row_each, check_population
from shoal.releases.providers import check_surveyed_providers
from shoal.releases.reader import open_frame
from shoal.releases.tallying import Encoded, stack_codes, survey
from shoal.verbs.frontier.comparison import ROUND, Frontier, Point, mark_frontier
from shoal.verbs.frontier.saved_points import SavedComparison

# Kept columns, published as they are: whoever knows them tells apart the people of a class.


@dataclass(frozen=True)
class CountedTable:
    """A table as methods are given it, and with its kept columns, as the adversary knows it."""

    tally: Tally
    known: Tally
    """The kept columns are further quasi-identifiers here; without any it is the tally."""
    part_of: NDArray[np.int32]
    """Of which entry of the tally each entry of ``known`` is a part."""

    @classmethod
    def of(cls, frame: Frame, schema: Schema, encoded: Encoded) -> CountedTable:
        """The table, counted again by its kept columns too, if it has any."""
        tally = encoded.tally
        if not schema.keep:
            return cls(tally, tally, np.arange(tally.entries, dtype=np.int32))
        kept_columns = survey(
            frame, Schema(tuple(replace(column, role="quasi") for column in schema.keep))
        )
        counted = frame.tally((*encoded.codings, *kept_columns.codings))
        own, more = (counted.codes[: len(encoded.codings)], counted.codes[len(encoded.codings) :])
        entries, q, s = len(counted.count), len(tally.quasi), len(tally.sensitive)
        known = replace(
            tally,
            quasi=(*tally.quasi, *kept_columns.axes),
            keys=stack_codes((*own[:q], *more), entries),
            values=stack_codes(own[q : q + s], entries, np.int32),
            count=counted.count,
            providers=None if tally.provider is None else own[q + s].astype(np.int32),
            weights=(),
        )
        return cls(tally, known, _find_entries(encoded, own))

    def view(self, cut: Cut) -> tuple[Tally, Cut]:
        """What the adversary knows, and a cut's classes as it tells them apart."""
        kept_codes = self.known.keys[len(self.tally.quasi) :]
        if not len(kept_codes):
            return self.tally, cut
        entry, class_, count = self._pieces(cut)
        there = np.flatnonzero(class_ != SUPPRESSED)
        columns, sizes = (
            kept_codes[:, entry[there]],
            [axis.size for axis in self.known.quasi[-len(kept_codes) :]],
        )
        number, first = number_combinations((class_[there], *columns), (cut.classes, *sizes))
        divided = np.full_like(class_, SUPPRESSED)
        divided[there] = number
        cells = _with(cut.cells.take(class_[there[first]]), columns[:, first])
        return self.known, Cut(entry, divided, count, cells)

    def _pieces(self, cut: Cut) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """The pieces of a cut by the entries of ``known``: entry, class, count.

        Where an entry is divided, chance says which of its rows go where, as in publishing.
        """
        rows = np.repeat(np.arange(self.known.entries, dtype=np.int32), self.known.count)
        rows = np.random.default_rng(0).permutation(rows)
        rows = rows[np.argsort(self.part_of[rows], kind="stable")]
        order = np.argsort(cut.entry, kind="stable")
        class_ = np.repeat(cut.class_[order], cut.count[order])
        number, first = number_combinations(
            (rows, class_ + 1), (self.known.entries, cut.classes + 1)
        )
        return rows[first], class_[first], np.bincount(number)


def _find_entries(encoded: Encoded, codes: tuple[NDArray[Any], ...]) -> NDArray[np.int32]:
    """Which entry of a tally has these codes; its own entries differ, and are numbered first."""
    own = encoded.codes()
    both = [np.concatenate(pair, dtype=np.int64) for pair in zip(own, codes, strict=True)]
    number, _ = number_combinations(both, [coding.size for coding in encoded.codings])
    return number[encoded.tally.entries :]


def _with(cells: Cells, codes: NDArray[Any]) -> Cells:
    """The cells with further columns that hold one code each."""
    more = codes.T.astype(np.int32)
    return Cells(np.hstack((cells.low, more)), np.hstack((cells.high, more)), cells.sets)


# The table as methods are given it: counted as it is, and where they need levels with some.


@dataclass(frozen=True)
class FrontierTables:
    """One table, counted; the automatic levels of columns, if any, are for some methods only."""

    schema: Schema
    """The schema that was given, settled for the table."""
    plain: CountedTable
    levelled: CountedTable
    """The same table with automatic levels; where none were needed or asked for, it is plain."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Questions about columns that may say that somebody has several rows."""
    """What to tell of kept columns and of the columns' levels."""

    @classmethod
    def read(
        cls, table: Any, requests: Sequence[Request], population: Any, reading: Mapping[str, Any]
    ) -> FrontierTables:
        """The table, found to be one that every rule can judge."""
        schema, one_row = requests[0].schema, requests[0].one_row
        with ExitStack() as stack:
            frame = stack.enter_context(
                open_frame(table, kinds=schema.kinds, one_row=one_row, **reading)
            )
            frame.check_header()
            schema = schema.fit(frame.fields)
            check_one_row_each(frame, schema)
            quasi = {column.name: column.kind for column in schema.quasi}
            people = population and stack.enter_context(open_frame(population, kinds=quasi))
            if people:
                check_population(people, schema)
            plain = _count_table(frame, schema, people, requests)
            levels, notes = _levels(frame, schema, requests)
            levelled = plain if levels == schema else _count_table(frame, levels, people, requests)
            asked = ask_about_repeats(frame, schema)
        return cls(schema, plain, levelled, (*_note_kept_columns(schema), *notes), tuple(asked))

    def of(self, method: str) -> CountedTable:
        """The table as a method is given it."""
        return self.levelled if publishes_levels(method) else self.plain


def _note_kept_columns(schema: Schema) -> tuple[str, ...]:
    """What to tell of kept columns."""
    names = ", ".join(column.name for column in schema.keep)
    note = f"Kept columns are published as they are, and risks are of whoever knows them: {names}."
    return (note,) if names else ()


def _levels(
    frame: Frame, schema: Schema, requests: Sequence[Request]
) -> tuple[Schema, tuple[str, ...]]:
    """The schema of the methods that work by levels, and what to tell of it, once for them all."""
    needing = [request for request in requests if publishes_levels(request.method)]
    if not needing:
        return schema, ()
    fitted, notes = add_automatic_levels(frame, replace(needing[0], schema=schema))
    methods = ", ".join(dict.fromkeys(request.method for request in needing))
    return fitted.schema, (*notes, f"These methods work by levels: {methods}.") if notes else ()


def _count_table(
    frame: Frame, schema: Schema, people: Any, requests: Sequence[Request]
) -> CountedTable:
    plan = survey(frame, schema, people)
    encoded = plan.encode(frame)
    tally = encoded.tally
    for rule in dict.fromkeys(request.rule for request in requests):
        check_surveyed_providers(rule, plan)
        rule.holds(Groups.of(tally, _together(tally), list_joint_columns(rule)))
    return CountedTable.of(frame, schema, encoded)


def _together(tally: Tally) -> Cut:
    """One class of everybody: a rule that cannot judge it is one that the table does not allow."""
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut.of(tally, entry, np.zeros_like(entry))


# A comparison at work: point after point, each kept as soon as it is finished.


STEP, MAKING, FINE = "comparing methods", "making classes", 100
"""What is told while it works, what a method tells, and how many steps a point counts for."""
NO_MEMORY = "There is not enough memory."
"""The one reason that is the machine's: such a point is tried again by the next run."""
SOME = 5000
"""On so many entries of the table a method runs first, so that compiling it is not timed."""


@dataclass(frozen=True)
class FrontierRun:
    """What is compared, and where it is kept."""

    saved: SavedComparison
    tables: FrontierTables
    columns: tuple[int, ...]
    """The sensitive columns that the adversary is after; the worst of them is the risk."""
    risk: str
    progress: Progress
    options: tuple[str, ...] = ()
    """What publishing a point needs beside its method and rule."""

    def all(self, requests: Sequence[Request]) -> None:
        """Make every point that is not there yet, and keep it as soon as it is."""
        for at, request in enumerate(requests):
            self.progress(STEP, FINE * at, FINE * len(requests))
            known = self.saved.points.get((request.method, str(request.rule)))
            if known is None or known.reason == NO_MEMORY:
                report_progress = self._within(at, len(requests))
                self.saved.add(self._point(replace(request, progress=report_progress)))
                with self.saved.together():
                    self.saved.write(self.build_frontier())

    def build_frontier(self) -> Frontier:
        """What there is so far."""
        tables, saved = self.tables, self.saved
        return Frontier(
            mark_frontier(tuple(saved.points.values()), self.risk),
            tables.plain.tally.rows,
            self.risk,
            saved.settings,
            saved.place,
            notes=tables.notes,
            warnings=tables.warnings,
            known=tuple(column.name for column in tables.schema.keep),
            options=self.options,
        )

    def _within(self, at: int, of: int) -> Progress:
        """The progress of one point as a part of the whole."""

        def told(step: str, done: int, total: int) -> None:
            if step == MAKING:
                part = min(FINE - 1, FINE * done // max(total, 1))  # it is done once it is kept
                step, done, total = STEP, FINE * at + part, FINE * of
            self.progress(step, done, total)

        return told

    def _point(self, request: Request) -> Point:
        """What one method gives and costs under one rule, or why it made nothing."""
        table = self.tables.of(request.method)
        point = Point(request.method, str(request.rule))
        began = time.perf_counter()
        try:
            if not is_compiled(request.method, request.rule):
                _compile(table.tally, request)
                began = time.perf_counter()
            cut = make_cut(table.tally, request)
            seconds = _took(began)
            return replace(point, seconds=seconds, **self._measured(table, cut))
        except (NotMetError, UsageError, InputError) as error:
            return replace(point, seconds=_took(began), reason=error.fact)
        except MemoryError:
            return replace(point, seconds=_took(began), reason=NO_MEMORY)

    def _measured(self, table: CountedTable, cut: Cut) -> dict[str, Any]:
        """What a cut gives away, and what it costs."""
        tally = table.tally
        each = {at: measure_exposure(*table.view(cut), at) for at in self.columns or (None,)}
        worst, most_exposed = max(each.items(), key=lambda item: _gained(item[1]))
        several = worst is not None and len(each) > 1
        return {
            "column": tally.sensitive[worst].name if several and worst is not None else "",
            "by_column": {
                tally.sensitive[at].name: _shares(exposure_)
                for at, exposure_ in each.items()
                if several and at is not None and exposure_.value is not None
            },
            "loss": round(loss(tally, cut), ROUND),
            "risk_identity": round(most_exposed.identity.rate, ROUND),
            "risk_value": None
            if most_exposed.value is None
            else round(most_exposed.value.rate, ROUND),
            "base": most_exposed.base,
            "known_identity": most_exposed.identity.known,
            "known_value": None if most_exposed.value is None else most_exposed.value.known,
            "rows": tally.rows - cut.suppressed,
            "classes": cut.classes,
            "held_back": cut.suppressed,
            **_worst(*table.view(cut), self.columns),
        }


def _worst(tally: Tally, cut: Cut, columns: Sequence[int]) -> dict[str, int]:
    """The smallest class, and the surest value of any column, counted in people."""
    there = cut.class_ >= 0
    sizes = np.bincount(cut.class_[there], cut.count[there], cut.classes).astype(np.int64)
    facts = {"smallest": int(sizes[sizes > 0].min(initial=tally.rows))}
    surest = Fraction(0)
    for at in columns:
        codes = tally.values[at][cut.entry]
        h = Histogram.of(tally.sensitive[at], cut.class_, codes, cut.count, cut.classes)
        for most, size in set(zip(h.max_same_value.tolist(), h.rows.tolist(), strict=True)):
            if size and Fraction(most, size) > surest:
                surest = Fraction(most, size)
                facts |= {"likeliest": most, "likeliest_of": size}
    return facts


def _gained(exposure: Exposure) -> tuple[float, float]:
    """By which of several columns an adversary is right most often, and gains most."""
    rate = 0.0 if exposure.value is None else exposure.value.rate
    return rate, rate - (exposure.base or 0.0)


def _shares(exposure: Exposure) -> dict[str, float]:
    """What is guessed of one column, as a point tells it."""
    assert exposure.value is not None
    assert exposure.base is not None
    rate, known = round(exposure.value.rate, ROUND), exposure.value.known
    return {"risk_value": rate, "base": exposure.base, "known_value": known}


def _compile(tally: Tally, request: Request) -> None:
    """Let the method compile its kernels, on a part of the table."""
    request.progress(COMPILING, 0, 1)
    # What it says of a part is no finding: on the whole table it says it again, or does not.
    with suppress(ShoalError):
        make_cut(_some(tally), replace(request, progress=ignore_progress))


def _some(tally: Tally) -> Tally:
    """The first entries of a table, in arrays laid out as the whole table's: kernels are theirs."""
    if tally.entries <= SOME:
        return tally
    keys, values = (np.ascontiguousarray(array[:, :SOME]) for array in (tally.keys, tally.values))
    providers = None if tally.providers is None else tally.providers[:SOME]
    return replace(tally, keys=keys, values=values, count=tally.count[:SOME], providers=providers)


def _took(began: float) -> float:
    return round(time.perf_counter() - began, 3)
