"""Verify: read the published file again and recount it; nothing the maker said is trusted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from shoal.errors import InputError, NotMetError, UsageError
from shoal.flow.encode import encode
from shoal.flow.judge import judge
from shoal.flow.recount import Recount, recount, with_population
from shoal.frames import open as open_frame
from shoal.frames.frame import Frame
from shoal.model import Model, products
from shoal.models import rule as parse_rule
from shoal.release import MANIFEST, Release, Verdict, read_manifest
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
) -> Verdict:
    """Recount a release folder, a ``Release`` or any table, and judge it by a rule.

    A release folder brings its schema and rule along; for another table both must be given.
    ``show`` names the worst classes by their labels. A table with kept columns is refused unless
    ``accept_keep``, because k over them and the quasi-identifiers together may be smaller.
    """
    folder = release_folder(source)
    if folder is not None:
        manifest = read_manifest((folder / MANIFEST).read_text(encoding="utf-8"))
        schema = schema or published_schema(manifest)
        rule = rule or manifest["rule"]
        accept_keep = accept_keep or bool(manifest.get("keep_accepted"))
        source = folder / str(manifest["file"])
    if schema is None or rule is None:
        raise UsageError(
            "To verify a table that is not a release folder, the schema and the rule are needed.",
            'add -s schema.toml -m "k-anonymity k=5".',
        )
    model = parse_rule(rule) if isinstance(rule, str) else rule
    frame = open_published(source, schema, exact=folder is not None)
    return counted(frame, schema, model, population, accept_keep, show)


def release_folder(source: Any) -> Path | None:
    """The release folder that ``source`` names, if it does."""
    if isinstance(source, Release):
        return source.path.parent
    if isinstance(source, (str, Path)) and (Path(source) / MANIFEST).is_file():
        return Path(source)
    return None


def published_schema(manifest: dict[str, Any]) -> Schema:
    """The roles of a release's columns, from its manifest."""
    return Schema.parse(str(manifest["schema"]))


def open_published(source: Any, schema: Schema, *, exact: bool, **reading: Any) -> Frame:
    """Open a published table with its labels as words; ``exact``: only empty cells are null."""
    kinds = {column.name: "category" for column in schema.quasi}
    kinds |= {c.name: c.kind for c in (*schema.sensitive, *schema.keep) if c.kind}
    if exact:
        reading = {**reading, "nulls": ()}
    return open_frame(source, kinds=kinds, **reading)


def counted(
    frame: Frame, schema: Schema, model: Model, population: Any, accept_keep: bool, show: bool
) -> Verdict:
    """The verdict on a frame of labels."""
    count = recount(frame, schema)
    if "population" in model.needs:
        count = population_of(count, schema, population)
    groups = Groups.of(count.tally, count.cut, products(model))
    judgements = judge(model, groups, count.labels if show else None)
    kept = None
    if schema.keep:
        kept = int(_rows(recount(frame, schema, schema.keep)).min())
        _refuse_kept(kept, int(groups.rows.min()), accept_keep)
    holds = all(part.holds for part in judgements)
    return Verdict(holds, "counted", int(groups.rows.sum()), len(groups), judgements, kept)


def _rows(count: Recount) -> Any:
    return Groups.of(dataclasses.replace(count.tally, sensitive=(), provider=None), count.cut).rows


def _refuse_kept(kept: int, k: int, accept: bool) -> None:
    if kept < k and not accept:
        raise NotMetError(
            f"With the kept columns the smallest class falls from {k} to {kept} rows.",
            "make them quasi-identifiers, drop them, or accept it with --accept-keep.",
        )


def population_of(count: Recount, schema: Schema, population: Any) -> Recount:
    """The recount with the people of a population table that its cells cover."""
    if population is None:
        raise UsageError(
            "The rule compares with a population and none is given.", "add --population FILE."
        )
    people = open_frame(population, kinds={c.name: c.kind for c in schema.quasi if c.kind})
    only = dataclasses.replace(schema, columns=schema.quasi)
    try:
        tally = encode(people, only).tally
    except KeyError as error:
        raise InputError(
            "The population lacks a quasi-identifier.", "give one with the same columns."
        ) from error
    return with_population(count, Population(tally.keys, tally.count), tally.quasi)
