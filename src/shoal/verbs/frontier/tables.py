"""The table as a comparison counts it: as methods are given it, and as the adversary knows it.

Methods that work by levels may get automatic ones. Kept columns are published as they are: no rule
judges them and methods do not see them, but whoever knows them tells apart the people of a class,
and risks would be stated too low without them. A class of a hundred in which every row has a name
is a hundred classes of one. The adversary is taken to know them of everybody, as verification
counts k over kept columns too; one who does not know them gains less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.model import list_joint_columns
from shoal.core.schema import Schema
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally
from shoal.engines.protocol import Frame
from shoal.kernels.grouping import number_combinations
from shoal.methods import publishes_levels
from shoal.releases.auto_hierarchies import add_automatic_levels
from shoal.releases.options import Request
from shoal.releases.people import ask_about_repeats, check_one_row_each, check_population
from shoal.releases.providers import check_surveyed_providers
from shoal.releases.reader import open_frame
from shoal.releases.tallying import Encoded, stack_codes, survey


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
        cells = _add_columns(cut.cells.take(class_[there[first]]), columns[:, first])
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
    own_codes = encoded.codes()
    both = [np.concatenate(pair, dtype=np.int64) for pair in zip(own_codes, codes, strict=True)]
    number, _ = number_combinations(both, [coding.size for coding in encoded.codings])
    return number[encoded.tally.entries :]


def _add_columns(cells: Cells, codes: NDArray[Any]) -> Cells:
    further = codes.T.astype(np.int32)
    return Cells(np.hstack((cells.low, further)), np.hstack((cells.high, further)), cells.sets)


@dataclass(frozen=True)
class FrontierTables:
    """One table, counted; the automatic levels of columns, if any, are for some methods only."""

    schema: Schema
    """The schema that was given, settled for the table."""
    plain: CountedTable
    levelled: CountedTable
    """The same table with automatic levels; where none are needed or requested, it is plain."""
    notes: tuple[str, ...] = ()
    """What to tell of kept columns and of the columns' levels."""
    warnings: tuple[str, ...] = ()
    """Questions about columns that may say that somebody has several rows."""

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
            levels, notes = _choose_levels(frame, schema, requests)
            levelled = plain if levels == schema else _count_table(frame, levels, people, requests)
            questions = ask_about_repeats(frame, schema)
        return cls(schema, plain, levelled, (*_note_kept_columns(schema), *notes), tuple(questions))

    def of(self, method: str) -> CountedTable:
        """The table as a method is given it."""
        return self.levelled if publishes_levels(method) else self.plain


def _note_kept_columns(schema: Schema) -> tuple[str, ...]:
    names = ", ".join(column.name for column in schema.keep)
    note = f"Kept columns are published as they are, and risks are of whoever knows them: {names}."
    return (note,) if names else ()


def _choose_levels(
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
        rule.holds(Groups.of(tally, _join_everybody(tally), list_joint_columns(rule)))
    return CountedTable.of(frame, schema, encoded)


def _join_everybody(tally: Tally) -> Cut:
    """One class of everybody: a rule that cannot judge it is one that the table does not allow."""
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut.of(tally, entry, np.zeros_like(entry))
