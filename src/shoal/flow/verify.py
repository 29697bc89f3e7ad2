"""Verify: read the published file again and recount it; nothing the maker said is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.column import PUBLISHED, Column
from shoal.errors import InputError, NotMetError, UsageError
from shoal.flow.encode import encode
from shoal.flow.examples import examples
from shoal.flow.judge import in_parts, together, verdict
from shoal.flow.opening import opened, opened_labels, released, released_schema
from shoal.flow.record import sha256
from shoal.flow.recount import Recount, recount, recounts, with_population
from shoal.frames.frame import Frame
from shoal.model import Model, products
from shoal.models import rule as parse_rule
from shoal.release import Verdict
from shoal.schema import Schema
from shoal.tally import Groups, Population


def verify(
    source: Any,
    schema: Schema | None = None,
    rule: Model | str | None = None,
    *,
    population: Any = None,
    accept_keep: bool = False,
    show: bool = False,
    **reading: Any,
) -> Verdict:
    """Recount a release folder, a ``Release`` or any table, and judge it by a rule.

    A release folder says what its columns are and what it promises; for another table both must
    be given. ``show`` names the worst classes by their labels. A table with kept columns is
    refused unless ``accept_keep``, because no rule judges what they add; one that holds columns
    which are never published (identifiers, people, providers) always is. A file that meets the
    rule and is not the one that was published is an error. ``reading`` says how the file is
    written, as in ``shoal.open``.
    """
    release = released(source)
    if release is not None:
        source, manifest = release
        schema, rule = schema or released_schema(manifest), rule or manifest.get("rule")
        accept_keep = accept_keep or bool(manifest.get("keep_accepted"))
    if schema is None or rule is None:
        raise UsageError(
            "To verify a table that is not a release folder, the schema and the rule are needed.",
            'add -s schema.toml -m "k-anonymity k=5".',
        )
    model = parse_rule(rule) if isinstance(rule, str) else rule
    with opened_labels(source, schema, exact=release is not None, **reading) as frame:
        found = counted(frame, schema, model, population, accept_keep, show)
    if release is not None and found.holds:
        _check_untouched(*release, found)
    return found


def _check_untouched(table: Path, manifest: dict[str, Any], found: Verdict) -> None:
    """The file is byte for byte the one that the manifest was written for, and as it says."""
    roles = {column.name: column.role for column in released_schema(manifest).columns}
    told = manifest.get("rows"), manifest.get("classes"), manifest["columns"]
    if sha256(table) != manifest.get("sha256") or told != (found.rows, found.classes, roles):
        raise InputError(
            f"{table.name} was changed after it was published, or its manifest was.",
            "publish it again; to judge the file as it stands, verify it by its own name.",
        )


def counted(
    frame: Frame,
    schema: Schema,
    rule: Model,
    population: Any = None,
    accept_keep: bool = False,
    show: bool = False,
) -> Verdict:
    """The verdict on a frame of labels."""
    _refuse_private(frame, schema)
    if "cells" in rule.needs and "population" not in rule.needs:
        raise UsageError(
            "The rule judges cells by their codes, and a published file has labels only.",
            "use a rule that judges rows and values, or a dry run.",
        )
    apart = in_parts(rule)
    found = []
    for plain in recounts(frame, schema) if apart else [recount(frame, schema)]:
        count = plain
        if "population" in rule.needs:
            count = population_of(plain, schema, population)
        groups = Groups.of(count.tally, count.cut, products(rule))
        found.append(verdict(rule, groups, "counted", plain.labels if show else None))
    kept = None
    if schema.keep:
        kept = min(count.smallest for count in recounts(frame, schema, schema.keep))
        if not accept_keep:
            raise kept_unjudged(schema.keep, kept)
    return together(rule, found, kept)


def _refuse_private(frame: Frame, schema: Schema) -> None:
    """A table that still holds names, people or providers is no release, whatever its classes."""
    roles = {column.name: column.role for column in schema.columns}
    named = [f.name for f in frame.fields if roles.get(f.name, "quasi") not in PUBLISHED]
    if named:
        raise NotMetError(
            f"The table holds columns that are never published: {', '.join(named)}.",
            "drop them; a table that is not for publishing is measured by shoal audit.",
        )


def kept_unjudged(columns: Sequence[Column], kept: int | None = None) -> NotMetError:
    """The error for kept columns: published as they are, so no rule judges what they add."""
    names = ", ".join(column.name for column in columns)
    found = "" if kept is None else f" With them the smallest class has {kept:,} rows."
    return NotMetError(
        f"Columns are kept as they are, which no rule judges: {names}.{found}",
        "make them quasi-identifiers, drop them, or accept it with --accept-keep.",
    )


def population_of(count: Recount, schema: Schema, population: Any) -> Recount:
    """The recount with the people of a population table that its cells cover."""
    if population is None:
        raise UsageError(
            "The rule compares with a population and none is given.", "add --population FILE."
        )
    kinds = {column.name: column.kind for column in schema.quasi if column.kind}
    with opened(population, kinds=kinds) as people:
        fields = [field for field in people.fields if field.name in schema.names]
        quasi = replace(schema, columns=schema.quasi).fit(
            [field for field in fields if schema.column(field.name).role == "quasi"]
        )
        tally = encode(people, quasi, also=examples(count, quasi)).tally
    return with_population(count, Population(tally.keys, tally.count), tally.quasi)
