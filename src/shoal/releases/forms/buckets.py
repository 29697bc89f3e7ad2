"""Buckets: exact quasi-identifiers, and sensitive values permuted among the people of a class.

A bucketization partitions the people into buckets and publishes, for each of them, its people and
a random permutation of their sensitive values (Martin et al.: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, section 2.1 and figure 3). In two tables, the people
with the numbers of their buckets stand in one and the counts of each bucket's values in the other
(Xiao and Tao: Anatomy: simple and effective privacy preservation, VLDB 2006, definition 3).

The method makes the classes as always. Published are the quasi-identifiers as they are in the
table, a number for each class, drawn from the operating system, and the values; all sensitive
columns of a row move together. Rows come by bucket, so that a reader sees what belongs together:
the number is published anyway, and says nothing else because it is drawn. Within a bucket, people
and values are each put into an order of their own, also drawn from the operating system.

What it gives: counts over quasi-identifiers are exact, and so are those over sensitive values.
What it does not protect: who is in the table, and what their quasi-identifiers are, is public.
Rules about how many rows look alike say nothing here, and are refused; sensitive values are as
safe as the histogram of each bucket is, which is what the rule judges. Whoever knows one sensitive
column of a person may learn another from it, and whoever knows the method that a class was not
cut further because of its values (the attack minimality). All rows are held in memory.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import OutputError, UsageError
from shoal.core.model import Model, format_parameter, split_rule
from shoal.core.schema import Schema
from shoal.kernels.grouping import number_combinations
from shoal.releases.draft import Draft, TableDraft
from shoal.releases.folder import PRIVATE_ROWS
from shoal.releases.judgement import find_unjudged_columns
from shoal.releases.manifest import BUCKET, COUNT, locate_values_file, published_schema
from shoal.releases.options import BUCKETS, STARRED, Request
from shoal.releases.published_table import PublishedTable
from shoal.releases.reader import open_frame, open_labels
from shoal.releases.row_listing import Listing, read_columns, unify_spellings
from shoal.releases.tallying import survey
from shoal.releases.writer import list_private_columns, write_whole_table

Numbers = NDArray[np.int64]


def check_bucket_request(request: Request, after: Sequence[Any]) -> None:
    """Refuse, before anything is read, what cannot be published in buckets."""
    schema = request.schema
    taken = {BUCKET, COUNT} if request.two_tables else {BUCKET}
    if named := [name for name in schema.names if name.casefold() in taken]:
        raise UsageError(
            f"Buckets add columns that the table has already: {', '.join(named)}.",
            "rename them in the table.",
        )
    if not schema.sensitive:
        raise UsageError(
            "Buckets permute sensitive values, and no column is sensitive.",
            "name one: --sensitive COLUMN.",
        )
    check_bucket_rule(request.rule, [column.name for column in schema.sensitive])
    if request.based_on is not None or after:
        raise UsageError(
            "Buckets have no cells that could keep to an earlier release.",
            "publish generalised cells, or leave --based-on and --after out.",
        )
    if request.held_back_as == STARRED:
        raise UsageError(
            "Buckets have no cells to star.", "leave rows out instead: --held-back-as absent."
        )


def check_bucket_rule(rule: Model, sensitive: Sequence[str]) -> None:
    """Refuse a rule that does not say how safe values are beside exact quasi-identifiers.

    Each sensitive column must be judged by itself: pairs of values may be diverse where one of
    the two is everybody's.
    """
    if asked := [str(part) for part in split_rule(rule) if "provider" in part.needs]:
        raise UsageError(
            f"Buckets permute the values of a class, so that they belong to no provider, and "
            f"{', '.join(asked)} cannot be judged.",
            "publish generalised cells instead: leave --form out.",
        )
    void = [str(part) for part in split_rule(rule) if getattr(part, "identity", False)]
    void += [str(part) for part in split_rule(rule) if "sensitive" not in part.needs]
    if void:
        raise UsageError(
            "Buckets publish the quasi-identifiers as they are, so that "
            f"{', '.join(dict.fromkeys(void))} says nothing.",
            'use a rule about sensitive values such as "entropy-diversity l=3" or "ck-safety c=0.6 '
            'k=2", or publish generalised cells.',
        )
    if bare := find_unjudged_columns(rule, sensitive):
        parts = [f"entropy-diversity l=3 on={format_parameter(name)}" for name in bare]
        flags = (f"-m '{part}'" if '"' in part else f'-m "{part}"' for part in parts)
        raise UsageError(
            f"No requirement judges sensitive columns by themselves: {', '.join(bare)}.",
            f"add {' '.join(flags)}, or do not publish them.",
        )


class BucketDraft(TableDraft):
    """The classes of a table that are published as buckets: nothing is lost but suppressed rows."""

    def facts(self) -> dict[str, Any]:
        """What the publisher may know besides; cells are exact, whatever the classes' would be."""
        held = int(self._facts["held_back"])
        return {**self._facts, "loss": held / (held + self.counts().rows)}


def write_buckets(draft: Draft, request: Request, table: Path, companion: Path, key: bytes) -> int:
    """Draw and write the buckets, and read them again; returns how many cells were defused.

    Provider and keyed person of each row of people go to the companion, in the same order.
    """
    request.progress("writing", 0, 1)
    rows, second = _collect_rows(draft, request.schema, key), locate_values_file(request, table)
    stay, move = _draw_order(rows.bucket), _draw_order(rows.bucket)
    bucket = pa.array(rows.bucket[stay])  # the same in both orders
    people = rows.people.take(stay).add_column(0, BUCKET, bucket)
    values = rows.values.take(move)
    if second is None:
        defused = write_whole_table(table, _join_columns(people, values), request.style)
    else:
        counted = _count_values(values.add_column(0, BUCKET, bucket))
        defused = write_whole_table(table, people, request.style)
        defused += write_whole_table(second, counted, request.style)
    if rows.hidden.num_columns:
        write_whole_table(companion / PRIVATE_ROWS, rows.hidden.take(stay))
    source = _join_columns(rows.people, rows.values).add_column(0, BUCKET, pa.array(rows.bucket))
    shown = published_schema(request.schema, BUCKETS)
    check_written_buckets(table, second, source, shown, **request.style.reading())
    return defused


@dataclass(frozen=True)
class _Rows:
    """The rows as they were read: their buckets, and the columns that stay or move together."""

    bucket: Numbers
    people: pa.Table
    values: pa.Table
    hidden: pa.Table


def _collect_rows(draft: Draft, schema: Schema, key: bytes) -> _Rows:
    rows = pa.Table.from_batches(list(draft.rows(key)))
    shown, ours = published_schema(schema, BUCKETS), list_private_columns(schema)
    first = 1 + len(shown.keep)
    last = first + len(shown.sensitive)

    def part(start: int, end: int, names: Sequence[str]) -> pa.Table:
        return rows.select(list(range(start, end))).rename_columns(list(names))

    return _Rows(
        _draw_bucket_numbers(rows.column(0).to_numpy()),
        part(1, first, [column.name for column in shown.keep]),
        part(first, last, [column.name for column in shown.sensitive]),
        part(last, rows.num_columns, ours),
    )


def _draw_bucket_numbers(class_: NDArray[np.int32]) -> Numbers:
    there, place = np.unique(class_, return_inverse=True)
    number: Numbers = 1 + np.argsort(_draw_random(len(there)))[place]
    return number


def _draw_order(bucket: Numbers) -> Numbers:
    """The rows by bucket, and within each in an order that is drawn anew at each call."""
    return np.lexsort((_draw_random(len(bucket)), bucket))


def _draw_random(size: int) -> NDArray[np.uint64]:
    """64 bits each from the operating system: sorted, a permutation; two alike never come."""
    return np.frombuffer(os.urandom(8 * size), np.uint64)


def _join_columns(people: pa.Table, values: pa.Table) -> pa.Table:
    names = [*people.column_names, *values.column_names]
    return pa.Table.from_arrays([*people.columns, *values.columns], names=names)


def _count_values(values: pa.Table) -> pa.Table:
    names = values.column_names
    grouped = values.group_by(names, use_threads=False).aggregate([([], "count_all")])
    return grouped.rename_columns([*names, COUNT])


def check_written_buckets(
    table: Path, values: Path | None, source: pa.Table, schema: Schema, **reading: Any
) -> None:
    """Every bucket of the written file has the people and the values of the source, and no other.

    Cells are compared as they were before a spreadsheet's formulas were defused.
    """
    people = [BUCKET, *(column.name for column in schema.keep)]
    learnt = [BUCKET, *(column.name for column in schema.sensitive)]
    with (
        open_labels(table, schema, exact=True, values=values, **reading) as written,
        open_labels(source, schema, exact=True) as read,
    ):
        file, rows = (read_columns(frame, list(schema.names)) for frame in (written, read))
    words = list_columns_compared_as_text(schema)
    for names in (people, learnt):
        written_number, wanted = number_rows_alike(file, rows, names, words)
        size = 1 + int(max(written_number.max(), wanted.max()))
        differ = np.bincount(written_number, minlength=size) - np.bincount(wanted, minlength=size)
        if differ.any():
            raise OutputError(
                f"{int(np.abs(differ).sum()) // 2 or 1:,} rows of {table.name} are not as they "
                f"were read (columns {', '.join(names[1:])}).",
                "the format cannot hold these cells as they are: choose --format parquet.",
            )


def list_columns_compared_as_text(schema: Schema) -> set[str]:
    """The columns of which cells are equal only if they are written alike."""
    return {column.name for column in schema.columns if column.kind not in ("number", "date")}


def number_rows_alike(
    first: Mapping[str, Listing],
    other: Mapping[str, Listing],
    names: Sequence[str],
    words: Collection[str] = (),
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rows of two tables numbered by their cells in some columns: equal cells, one number.

    ``words`` are columns of which 01 and 1 are two cells, not one number.
    """
    codes, sizes = [], []
    for name in names:
        pair = [first[name], other[name]]
        if name in words:
            pair = [Listing(tuple(each.words()), each.codes) for each in pair]
        else:
            pair = unify_spellings(pair)[1]
        place = {value: i for i, value in enumerate(dict.fromkeys(pair[0].values + pair[1].values))}
        known = [np.array([place[v] for v in each.values])[each.codes] for each in pair]
        codes.append(np.concatenate(known))
        sizes.append(len(place))
    number, _ = number_combinations(codes, sizes)
    rows = len(first[names[0]].codes)
    return number[:rows], number[rows:]


def grow_exact_axes(release: PublishedTable) -> dict[str, Axis]:
    """The axes that the method saw the quasi-identifiers on, as far as published rows tell.

    Suppressed rows may have had more values.
    """
    if not release.exact_quasi:
        return {}
    columns = {column.name: release.listings[column.name] for column in release.exact_quasi}
    words = {
        name: pa.array(listing.words(), pa.string()).take(pa.array(listing.codes))
        for name, listing in columns.items()
    }
    schema = Schema(release.exact_quasi)
    with open_frame(pa.table(words), kinds=schema.kinds, nulls=()) as frame:
        return {axis.name: axis for axis in survey(frame, schema.fit(frame.fields)).axes}
