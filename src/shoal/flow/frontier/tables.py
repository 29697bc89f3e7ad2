"""The table as methods are given it: counted as it is, and where they need levels with some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.flow.encode import survey
from shoal.flow.frontier.keeping import Counted
from shoal.flow.hierarchies import with_levels
from shoal.flow.opening import opened
from shoal.flow.people import check_people, check_population, repeating
from shoal.flow.providers import check_survey
from shoal.flow.request import Request
from shoal.frames.frame import Frame
from shoal.methods import by_levels
from shoal.model import products
from shoal.schema import Schema
from shoal.tally import Cut, Groups, Tally


@dataclass(frozen=True)
class Tables:
    """One table, counted; the automatic levels of columns, if any, are for some methods only."""

    schema: Schema
    """The schema that was given, settled for the table."""
    plain: Counted
    levelled: Counted
    """The same table with automatic levels; where none were needed or asked for, it is plain."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Questions about columns that may say that somebody has several rows."""
    """What to tell of kept columns and of the columns' levels."""

    @classmethod
    def read(
        cls,
        table: Any,
        requests: Sequence[Request],
        population: Any,
        reading: Mapping[str, Any],
    ) -> Tables:
        """The table, found to be one that every rule can judge."""
        schema, one_row = requests[0].schema, requests[0].one_row
        with ExitStack() as stack:
            frame = stack.enter_context(
                opened(table, kinds=schema.kinds, one_row=one_row, **reading)
            )
            frame.check_header()
            schema = schema.fit(frame.fields)
            check_people(frame, schema)
            quasi = {column.name: column.kind for column in schema.quasi}
            people = population and stack.enter_context(opened(population, kinds=quasi))
            if people:
                check_population(people, schema)
            plain = _counted(frame, schema, people, requests)
            levels, notes = _levels(frame, schema, requests)
            levelled = plain if levels == schema else _counted(frame, levels, people, requests)
            asked = repeating(frame, schema)
        return cls(schema, plain, levelled, (*_kept(schema), *notes), tuple(asked))

    def of(self, method: str) -> Counted:
        """The table as a method is given it."""
        return self.levelled if by_levels(method) else self.plain


def _kept(schema: Schema) -> tuple[str, ...]:
    """What to tell of kept columns."""
    names = ", ".join(column.name for column in schema.keep)
    told = f"Kept columns are published as they are, and risks are of whoever knows them: {names}."
    return (told,) if names else ()


def _levels(
    frame: Frame, schema: Schema, requests: Sequence[Request]
) -> tuple[Schema, tuple[str, ...]]:
    """The schema of the methods that work by levels, and what to tell of it, once for them all."""
    needing = [one for one in requests if by_levels(one.method)]
    if not needing:
        return schema, ()
    fitted, notes = with_levels(frame, replace(needing[0], schema=schema))
    who = ", ".join(dict.fromkeys(one.method for one in needing))
    return fitted.schema, (*notes, f"These methods work by levels: {who}.") if notes else ()


def _counted(frame: Frame, schema: Schema, people: Any, requests: Sequence[Request]) -> Counted:
    plan = survey(frame, schema, people)
    encoded = plan.encode(frame)
    tally = encoded.tally
    for rule in dict.fromkeys(one.rule for one in requests):
        check_survey(rule, plan)
        rule.holds(Groups.of(tally, _together(tally), products(rule)))
    return Counted.of(frame, schema, encoded)


def _together(tally: Tally) -> Cut:
    """One class of everybody: a rule that cannot judge it is one that the table does not allow."""
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut.of(tally, entry, np.zeros_like(entry))
