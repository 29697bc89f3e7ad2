"""The two defences of a second release against joining it with earlier ones.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, section 4: (1) all columns
released before count as quasi-identifiers of the new release, and its rule holds over them; (2) the
new release is based on the old one: each cell equals or generalises the one that the same person
had there.

The first is a promise about classes, not about people: it answers no attack that finds somebody,
but settles a pair that no attack could judge, where it is stated that they are of one table. The
second is checked person by person where the ledger knows whose the rows of both are, and answers
attacks that join rows: what they find then are newcomers taken for people who left. Neither says
anything of the values left to people who are in both: these are intersected in any case.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.adversary.context import AttackContext
from shoal.adversary.one_attack import describe_error
from shoal.adversary.targets import find_keyed_people, find_rows_of_people
from shoal.core.cells import Cells
from shoal.core.errors import InputError, NotMetError, UsageError
from shoal.core.labels import ROOT, format_count
from shoal.core.theory.adversary_view import Needs, View
from shoal.ledger.relation import BOTH
from shoal.models import rule as parse_rule
from shoal.releases.published_table import PublishedTable
from shoal.releases.reader import open_labels
from shoal.releases.successors.after import treat_published_as_quasi
from shoal.releases.verification import RowFacts, judge_frame

Rows = NDArray[np.int64]
GIVE_PEOPLE = "give the people with the column that says who they are (--people)"
ROWS_UNKNOWN = "whose the rows are is not known of both releases"
WITH_EARLIER = "Counted with what was released before"
_CELLS = Needs(releases=2, max_releases=2, sensitive=False)


def check_rule_with_earlier(
    new: PublishedTable, earlier: Sequence[PublishedTable]
) -> tuple[bool, str]:
    """Whether the rule holds over quasi-identifiers and all columns released before; in words.

    A table that promises no rule is to keep the k that its classes have.
    """
    if new.buckets or new.centroids:
        return False, "What was released before cannot be counted in buckets or centroids."
    promised = str(
        (new.manifest or {}).get("rule") or f"k-anonymity k={_smallest_class(new, new.quasi)}"
    )
    names = dict.fromkeys(name for release in earlier for name in release.listings)
    released_names = pa.table(
        dict.fromkeys(names, pa.array([0.0]))
    )  # their names alone are asked for
    try:
        rule = parse_rule(promised)
        schema = treat_published_as_quasi(new.schema, rule, released_names)
        with open_labels(_rebuild_table(new), schema, exact=True) as frame:
            verdict = judge_frame(frame, schema, rule, RowFacts(own=True), accept_keep=True)
    except (InputError, UsageError, NotMetError) as error:
        return False, f"{WITH_EARLIER}: {promised}: {describe_error(error)}"
    added_columns = [c.name for c in schema.quasi if c.name not in new.quasi]
    columns_judged = (
        f"over the quasi-identifiers{' and ' * bool(added_columns)}{', '.join(added_columns)}"
    )
    min_size = _smallest_class(new, [column.name for column in schema.quasi])
    if verdict.holds and min_size > 1:  # a rule that leaves somebody alone is no defence
        return True, f"{WITH_EARLIER}: {rule} holds {columns_judged}."
    return (
        False,
        f"{WITH_EARLIER}: {rule} fails {columns_judged}, where the smallest class has "
        f"{format_count(min_size, 'row')}.",
    )


def _smallest_class(new: PublishedTable, names: Sequence[str]) -> int:
    number, first = new.classes(names)
    return int(np.bincount(number, minlength=len(first)).min())


def _rebuild_table(published: PublishedTable) -> pa.Table:
    columns = {}
    for name, listing in published.listings.items():
        words = [value for value in listing.values if value is not None]
        codes = pa.array(listing.codes, mask=listing.codes >= len(words))
        columns[name] = pa.array(words, None if words else pa.string()).take(codes)
    return pa.table(columns)


def check_cells_generalise(context: AttackContext) -> tuple[bool | None, str]:
    """Whether everybody's cell in the second release equals or generalises that in the first.

    None where that is not known: no people are given, or not all, or nothing says whose rows are.
    """
    if any(find_keyed_people(release) is None for release in context.releases):
        return None, ROWS_UNKNOWN
    targets = context.targets
    if targets is None:
        return None, f"to compare cells person by person, {GIVE_PEOPLE}"
    if targets.persons is None:
        return None, "the people given lack the column that says who they are"
    rows = [find_rows_of_people(release, targets.persons.values) for release in context.releases]
    if rows[0] is None or rows[1] is None:
        return None, ROWS_UNKNOWN
    people_in = [int((of >= 0).sum()) for of in rows if of is not None]
    if not any(n == release.rows for n, release in zip(people_in, context.releases, strict=True)):
        return None, "the people given are not all that are in one of the releases"
    both = (rows[0] >= 0) & (rows[1] >= 0)
    if not both.any():
        return None, "nobody of the people given is found in both, as if they were named anew"
    try:
        view = context.view(BOTH, _CELLS)
    except (InputError, UsageError) as error:
        return None, describe_error(error)
    finer = int((~_find_generalising(context, view, rows[0][both], rows[1][both])).sum())
    people = f"{int(both.sum()):,} people"
    if finer:
        return False, f"{finer:,} of {people} have a finer cell than they had"
    return True, f"the cells of all {people} in both equal or generalise those they had"


def _find_generalising(
    context: AttackContext, view: View, before: Rows, now: Rows
) -> NDArray[np.bool_]:
    """Of each person, whether the cell of the second release covers that of the first."""
    old, new = (
        release.cells.take(release.class_[rows])
        for release, rows in zip(view.releases, (before, now), strict=True)
    )
    generalises = np.ones(len(before), np.bool_)
    for j, axis in enumerate(view.axes):
        generalises &= _covers(new, old, j)
        # Only * covers *: no list of values is all that the column may hold.
        first, second = (_is_fully_generalised(release, axis.name) for release in context.releases)
        generalises &= ~first[before] | second[now]
    return generalises


def _covers(outer: Cells, inner: Cells, column: int) -> NDArray[np.bool_]:
    if column in inner.sets:
        return np.asarray(~(inner.sets[column] & ~outer.sets[column]).any(axis=1))
    low, high = outer.low[:, column], outer.high[:, column]
    return np.asarray((low <= inner.low[:, column]) & (inner.high[:, column] <= high))


def _is_fully_generalised(release: PublishedTable, name: str) -> NDArray[np.bool_]:
    """Of each row whether it says nothing in a column: a star, or no such column."""
    if name not in release.quasi:
        return np.ones(release.rows, np.bool_)
    listing = release.listings[name]
    return np.array([word == ROOT for word in listing.words()], np.bool_)[listing.codes]
