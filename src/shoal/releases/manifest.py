"""What is written down about a release: the public manifest and the private companion."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.core.column import MISSING_IS_VALUE, PUBLISHED_ROLES
from shoal.core.errors import UsageError
from shoal.core.hierarchy import Hierarchy, Ordered, Tree
from shoal.core.histogram import Histogram
from shoal.core.labels import format_value
from shoal.core.release import EDITION, Verdict
from shoal.core.schema import Column, Schema
from shoal.core.tally import Groups
from shoal.dp.bins import build_bins
from shoal.engines.one_row import OneRow
from shoal.engines.source import STANDARD_STYLE
from shoal.releases.options import (
    BUCKETS,
    CENTROIDS,
    COUNTS,
    PARTITION,
    RANDOMISED,
    SYNTHETIC,
    Request,
)

BUCKET, COUNT = "bucket", "count"
"""The columns that buckets add: a class's number, and how many people of it have a value."""
WORST_COMPLETION = "worst completion"
"""How rows without a sensitive value are judged: as if it were the worst for the rule."""
PERMUTED = "of the people; values are permuted"
"""Whose the companion's rows are in buckets: not those of the values that stand beside them."""


ONE_ROW_EACH = "one row each"
"""What is said of the people of a release, where the table had a column that told them apart."""


def published_schema(schema: Schema, form: str = PARTITION) -> Schema:
    """The schema of the published table: only the columns that are in it.

    In buckets the number of the class is the one cell, and quasi-identifiers are kept as they are.
    Answers of a randomised release are words, of the values that its publisher says there are.
    """
    if form == BUCKETS:
        exact = [replace(column, role="keep") for column in (*schema.quasi, *schema.keep)]
        return Schema((Column(BUCKET, "quasi"), *exact, *schema.sensitive))
    shown = tuple(column for column in schema.columns if column.role in PUBLISHED_ROLES)
    return Schema(tuple(map(as_answer_column, shown)) if form == RANDOMISED else shown)


def as_answer_column(column: Column) -> Column:
    """A sensitive column as answers to it are published; others as they are."""
    if column.role != "sensitive":
        return column
    return Column(column.name, "sensitive", "category", domain=build_bins(column).labels)


def publishes_buckets(manifest: Mapping[str, Any]) -> bool:
    """Whether a release is in buckets: by what its manifest calls it, or by what its columns are.

    The word alone could be changed, and exact columns would pass for generalised ones.

    >>> publishes_buckets({"form": "partition", "columns": {"bucket": "quasi", "age": "keep"}})
    True
    """
    roles = dict(manifest.get("columns", {}))
    by_number = [name for name, role in roles.items() if role == "quasi"] == [BUCKET]
    exact = by_number and "keep" in roles.values()
    return exact or manifest.get("form") == BUCKETS or "values" in manifest


def publishes_centroids(manifest: Mapping[str, Any]) -> bool:
    """Whether a release publishes centroids: its cells are then nobody's, and hold nobody."""
    return manifest.get("form") == CENTROIDS


def publishes_counts(manifest: Mapping[str, Any]) -> bool:
    """Whether a release is tables of noisy counts: none of its rows is a person."""
    return manifest.get("form") == COUNTS


def publishes_synthetic(manifest: Mapping[str, Any]) -> bool:
    """Whether a release is a table of made-up people: none of its rows is anybody's."""
    return manifest.get("form") == SYNTHETIC


def publishes_answers(manifest: Mapping[str, Any]) -> bool:
    """Whether a release has answers in place of sensitive values, which may have been exchanged."""
    return manifest.get("form") == RANDOMISED or "answers" in manifest


def refuse_noisy(manifest: Mapping[str, Any], why: str) -> None:
    """Refuse a release of noise where rows about people are needed.

    ``why`` completes "A release of counts ...": "cannot be attacked by its rows", for example.
    """
    if publishes_counts(manifest):
        raise UsageError(
            f"A release of counts {why}: its rows are cells of noisy tables, not people.",
            "shoal verify reads it again, and shoal attack auditing tests its noise.",
        )
    if publishes_synthetic(manifest):
        raise UsageError(
            f"A synthetic release {why}: its rows are made-up people, and nobody's.",
            "shoal verify reads it again, and shoal attack auditing tests its noise. Its table may "
            "be given by its own name with a schema (release/table.csv -s schema.toml): what is "
            "found of it is then about made-up people, and a match with somebody is a coincidence.",
        )


def choose_bucket_schema(schema: Schema | None, own_schema: Schema) -> Schema:
    """What a release in buckets is judged by: its own roles, whatever others are given.

    Counted over exact columns, rows would have anybody's values. Of a given schema only what it
    says of sensitive columns is taken.
    """
    stated = {} if schema is None else {column.name: column for column in schema.sensitive}
    return Schema(
        tuple(stated.get(c.name, c) if c.role == "sensitive" else c for c in own_schema.columns)
    )


def locate_values_file(request: Request, table: Path) -> Path | None:
    """The file with the values of a release in two tables; None where there is one table."""
    return table.with_name(f"values.{request.format}") if request.two_tables else None


def hash_files(table: Path, values: Path | None) -> dict[str, str]:
    """The hashes of a release's files, as its manifest has them."""
    second = {} if values is None else {"values_sha256": hash_file(values)}
    return {"sha256": hash_file(table), **second}


def as_companion_hashes(files: Mapping[str, str]) -> dict[str, str]:
    """The same hashes as the private companion has them."""
    names = {"sha256": "table_sha256"}
    return {names.get(name, name): value for name, value in files.items()}


@dataclass(frozen=True)
class PublicCounts:
    """What the public may know of classes: how many, their rows, and the values that occur."""

    rows: int
    classes: int
    values: Mapping[str, frozenset[str]]
    missing: Mapping[str, int] = field(default_factory=dict)
    """By sensitive column how many rows have no value, where any have none."""

    @classmethod
    def of(cls, groups: Groups) -> PublicCounts:
        """The counts of these classes."""
        values = {h.axis.name: _list_occurring(h) for h in groups.sensitive}
        single = (h for h in groups.sensitive if h.axis.null and "*" not in h.axis.name)
        rows = {h.axis.name: int(h.count[h.value == h.axis.null_code].sum()) for h in single}
        missing = {name: number for name, number in rows.items() if number}
        return cls(int(groups.rows.sum()), len(groups), values, missing)


def _describe_missing(request: Request, counts: PublicCounts) -> dict[str, Any]:
    columns = {column.name: column for column in request.schema.sensitive}
    return {
        name: {
            "rows": rows,
            "judged": WORST_COMPLETION if columns[name].blanks_are_unknown else MISSING_IS_VALUE,
        }
        for name, rows in counts.missing.items()
        if name in columns
    }


def _list_occurring(histogram: Histogram) -> frozenset[str]:
    leaves = histogram.axis.leaves
    return frozenset(
        format_value(leaf) for leaf, n in zip(leaves, histogram.total, strict=False) if n
    )


def build_manifest(
    request: Request, counts: PublicCounts, based_on: str | None = None
) -> dict[str, Any]:
    """The public manifest, without what only the written file can tell.

    ``based_on`` is the hash of the table that the release is based on.
    """
    schema, buckets = published_schema(request.schema, request.form), request.form == BUCKETS
    exact = [column.name for column in request.schema.quasi]
    return {
        "edition": EDITION,
        "form": request.form,
        "file": f"table.{request.format}",
        **({"values": f"values.{request.format}"} if request.two_tables else {}),
        **({} if request.style == STANDARD_STYLE else {"csv": request.style.to_json()}),
        "rows": counts.rows,
        "classes": counts.classes,
        "columns": {column.name: column.role for column in schema.columns},
        "schema": _state_schema(schema, counts.values, request.form).to_toml(),
        "rule": str(request.rule),
        "method": request.method,
        "parameters": dict(request.parameters),
        "row_order": ("by bucket, then " if buckets else "") + "random, from the operating system",
        "keep_accepted": request.accept_keep,
        **({"missing": missing} if (missing := _describe_missing(request, counts)) else {}),
        **({"exact": exact} if buckets else {}),
        **({} if based_on is None else {"based_on": based_on}),
        **({} if request.like is None else {"like": request.like.sha256}),
        **describe_people(request.schema, request.one_row),
    }


def describe_people(schema: Schema, one_row: OneRow | None) -> dict[str, str]:
    """What is said of the people: that each has one row, and which; nothing where none tells."""
    each = {} if schema.person is None else {"people": ONE_ROW_EACH}
    return each if one_row is None else {**each, "one_row": str(one_row)}


def describe_row_draw(one_row: OneRow | None) -> dict[str, str]:
    """By what rows were drawn to stand for people: for the private companion alone."""
    if one_row is None:
        return {}
    return {"one_row_key": one_row.key.hex(), "one_row_person": one_row.person}


def redact_schema(schema: Schema, values: Mapping[str, frozenset[str]]) -> Schema:
    """What a reader needs to count the table again, and nothing that the table does not say.

    Quasi-identifiers are labels now, so their hierarchies, bounds and domains stay private; but
    for the order of categories, without which nobody can say what lies in a range of them.
    """
    return Schema(
        tuple(_redact_column(column, values.get(column.name)) for column in schema.columns)
    )


def _state_schema(schema: Schema, values: Mapping[str, frozenset[str]], form: str) -> Schema:
    """The same for a form: what may be answered is the publisher's statement, and public."""
    shown = redact_schema(schema, values)
    if form != RANDOMISED:
        return shown
    pairs = zip(shown.columns, schema.columns, strict=True)
    return Schema(tuple(own if own.role == "sensitive" else public for public, own in pairs))


def _redact_column(column: Column, published_values: frozenset[str] | None) -> Column:
    if column.role == "quasi":
        if column.kind == "category" and isinstance(column.hierarchy, Ordered):
            return Column(column.name, "quasi", "category", column.hierarchy)
        return Column(column.name, "quasi")
    if column.role == "keep" or published_values is None:
        return Column(column.name, column.role, column.kind, missing=column.missing)
    pruned = _prune_tree(column.hierarchy, published_values)
    return Column(column.name, column.role, column.kind, pruned, missing=column.missing)


def _prune_tree(hierarchy: Hierarchy | None, published_values: frozenset[str]) -> Hierarchy | None:
    """A taxonomy with the published values alone: distances stay, other leaves are not shown."""
    if not isinstance(hierarchy, Tree):
        return hierarchy
    return replace(
        hierarchy, rows=tuple(r for r in hierarchy.rows if r[0] in published_values), source=""
    )


def build_companion(
    request: Request, verdict: Verdict, facts: Mapping[str, Any], **secrets: Any
) -> dict[str, Any]:
    """The private record: the exact parameters, the key, and what the publisher may know."""
    return {
        "edition": EDITION,
        "form": request.form,
        "rule": str(request.rule),
        "method": request.method,
        "parameters": dict(request.parameters),
        "hold_back": request.hold_back,
        "held_back_as": request.held_back_as,
        "population": request.population is not None,
        "schema": inline_taxonomies(request.schema).to_toml(),
        **({"rows": PERMUTED} if request.form == BUCKETS else {}),
        **describe_people(request.schema, request.one_row),
        **describe_row_draw(request.one_row),
        "verdict": verdict.to_json(),
        **facts,
        **secrets,
    }


def select_noise_statements(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the companion says of answers too, so that the manifest cannot say otherwise."""
    named = ("spend", "privacy", "answers", "releasable")
    return {name: manifest[name] for name in named if name in manifest}


def inline_taxonomies(schema: Schema) -> Schema:
    """The schema with its taxonomies written out: their files may change or be elsewhere."""
    trees = {c.name: c.hierarchy for c in schema.columns if isinstance(c.hierarchy, Tree)}
    columns = (
        replace(c, hierarchy=replace(trees[c.name], source="")) if c.name in trees else c
        for c in schema.columns
    )
    return Schema(tuple(columns))


def hash_file(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
