"""What one provider hands in: rows that fit the agreed schema, and that nobody handed in before.

Stored are the columns that publishing needs: identifiers are left out; a column that says who a row
is about (person) is kept as it is, so that nobody is published twice. Who makes the release sees
all of it; nothing is encrypted.

The same rows are known again by a hash of all of them, whatever their order. It does not see rows
of which some were changed, added or left out: those are found by the person column alone, where
the schema has one, and not before everybody's rows are published together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.core.column import ROLES_LEFT_OUT, Column
from shoal.core.errors import HierarchyError, InputError, SchemaError
from shoal.core.labels import format_count, format_value
from shoal.core.schema import Schema
from shoal.engines.protocol import Frame
from shoal.pool.agreement import Agreement
from shoal.pool.pool_folder import PoolFolder
from shoal.releases.people import check_one_row_each
from shoal.releases.reader import open_partial_frame
from shoal.releases.row_listing import Listing, read_columns
from shoal.releases.tallying import survey

TYPES = {"number": pa.float64(), "date": pa.date32()}
"""How a stored column is typed by its kind; all others are text."""
BY_CHANCE = 10
"""Two tables of fewer rows may be alike by chance."""


def select_stored_columns(schema: Schema) -> Schema:
    """What is kept of a provider's rows: the columns that publishing needs."""
    return Schema(tuple(c for c in schema.columns if c.role not in ROLES_LEFT_OUT))


def read_provider_rows(
    source: Any, agreement: Agreement, name: str, reading: Mapping[str, Any]
) -> pa.Table:
    """The rows of a table that fits the agreed schema, without identifiers, with their provider."""
    kinds = {column.name: column.kind for column in _list_expected_columns(agreement)}
    try:
        with open_partial_frame(source, kinds=kinds, **reading) as frame:
            frame.check_header()
            return _select_rows(frame, agreement, name)
    except InputError as error:
        # Whoever opens a table of their own may choose its kinds; here all that is agreed on.
        if isinstance(error, HierarchyError):
            hint = "correct them: the hierarchies are agreed on, and others need a new pool."
        elif "kinds=" in error.hint:
            hint = "correct the file: the kinds are agreed on; marks that mean null go in nulls=."
        else:
            raise
        raise type(error)(error.fact, hint) from None


def _list_expected_columns(agreement: Agreement) -> list[Column]:
    return [c for c in select_stored_columns(agreement.schema).columns if c != agreement.column]


def _select_rows(frame: Frame, agreement: Agreement, name: str) -> pa.Table:
    present, wanted = {field.name for field in frame.fields}, _list_expected_columns(agreement)
    schema = agreement.schema.expand([field.name for field in frame.fields])
    agreed = [column.name for column in schema.columns if column.role != "undecided"]
    if more := sorted(present.difference(agreed)):
        columns, them = (
            ("a column that was", "it") if len(more) == 1 else ("columns that were", "them")
        )
        raise SchemaError(
            f"The table has {columns} not agreed on: {', '.join(more)}.",
            f"leave {them} out of the file.",
        )
    dropped = [c for c in schema.columns if c not in wanted and c.name in present]
    # What is dropped may be written in any way.
    fitted = Schema((*wanted, *(replace(c, kind="") for c in dropped))).fit(frame.fields)
    check_one_row_each(frame, fitted)
    if agreement.column in dropped:
        _check_provider_column(frame, agreement.column.name, name)
    survey(frame, fitted)  # a value that a hierarchy lacks is its provider's to correct
    listings = read_columns(frame, [column.name for column in wanted])
    rows = {c.name: _expand_listing(c.kind, listings[c.name]) for c in wanted}
    rows[agreement.column.name] = pa.repeat(name, len(rows[wanted[0].name]))
    return pa.table(
        {column: rows[column] for column in select_stored_columns(agreement.schema).names}
    )


def _expand_listing(kind: str, listing: Listing) -> pa.Array:
    words = pa.array(listing.values, TYPES.get(kind, pa.string()))
    return words.take(pa.array(listing.codes))


def _check_provider_column(frame: Frame, column: str, name: str) -> None:
    distinct = frame.values([column])[column]
    own = sum(
        n
        for value, n in zip(distinct.values, distinct.counts, strict=True)
        if format_value(value) == name
    )
    if others := int(distinct.counts.sum()) + distinct.nulls - int(own):
        raise InputError(
            f"Column {column!r} names another provider than the one given in "
            f"{format_count(others, 'row')}.",
            "hand in each provider's rows by themselves, or leave the column out of the file.",
        )


def check_rows_are_new(pool: PoolFolder, name: str, rows: pa.Table, content: str) -> None:
    """Refuse rows that another provider has handed in already; whose they are is not said."""
    other_contents = [partner.content for partner in pool.others(name)]
    if rows.num_rows >= BY_CHANCE and content in other_contents:
        raise InputError(
            "The same rows were handed in already, as another provider's.",
            f"check that the file is {name!r}'s own; if it is, let the third party settle it with "
            "the others.",
        )


def check_people_have_one_provider(pool: PoolFolder, rows: pa.Table) -> None:
    """Refuse people who have rows of more than one provider.

    Only when everybody's rows are put together, by the third party: a provider who learnt it while
    adding its rows could ask whether somebody is another's patient.
    """
    person, provider_column = pool.agreement.schema.person, pool.agreement.column.name
    if person is None:
        return
    with_person = rows.filter(pc.is_valid(rows[person.name]))
    times = with_person.group_by(person.name).aggregate([(provider_column, "count_distinct")])
    several = times.filter(pc.greater(times[f"{provider_column}_count_distinct"], 1))[person.name]
    if not len(several):
        return
    providers = pc.value_counts(
        with_person.filter(pc.is_in(with_person[person.name], value_set=several))[provider_column]
    )
    counts = sorted(
        (str(counted["values"]), int(counted["counts"])) for counted in providers.to_pylist()
    )
    people = "One person has" if len(several) == 1 else f"{len(several):,} people have"
    raise InputError(
        f"{people} rows of more than one provider (column {person.name!r}): "
        f"{', '.join(f'{name!r} has {count:,}' for name, count in counts)}.",
        "settle whose they are, without telling one provider who is with another; then add the "
        f"corrected file: {pool.adding('NAME', '--replace')}",
    )


def hash_rows(rows: pa.Table, provider: str) -> str:
    """A hash of rows, whatever their order, without the column that says whose they are.

    >>> rows = pa.table({"age": [30, 40], "who": ["A", "A"]})
    >>> hash_rows(rows, "who") == hash_rows(pa.table({"age": [40, 30], "who": ["B", "B"]}), "who")
    True
    """
    row_hashes = np.zeros(rows.num_rows, np.uint64)
    for name in sorted(set(rows.column_names) - {provider}):
        words = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        hashes = np.array([_hash_value(name, v) for v in words.dictionary.to_pylist()], np.uint64)
        row_hashes = row_hashes * np.uint64(0x9E3779B97F4A7C15) + hashes[words.indices.to_numpy()]
    return sha256(np.sort(row_hashes).tobytes()).hexdigest()


def _hash_value(name: str, value: Any) -> int:
    # 64 bits that stand for a value of a column.
    return int.from_bytes(sha256(repr((name, value)).encode()).digest()[:8], "little")
