"""Report: count, verify, measure and attack a release, and tell it on one page."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.column import PUBLISHED, Column
from shoal.errors import UsageError
from shoal.flow.audit import Audit, audit, beside
from shoal.flow.companion import Companion, companion_at_hand
from shoal.flow.context import read_context
from shoal.flow.distribution import Distribution, distribution
from shoal.flow.encode import encode
from shoal.flow.evidence import FEWEST, Described, Evidence, publishable
from shoal.flow.knowing import PIECES, checked, knowing, not_run
from shoal.flow.opening import opened, opened_labels, released, released_schema
from shoal.flow.record import BUCKET, sha256
from shoal.flow.recount import Recount, alike, recount
from shoal.flow.red_team import RedTeam
from shoal.flow.reported import page
from shoal.flow.request import Progress, quiet
from shoal.flow.seen import as_list
from shoal.flow.trials import trials
from shoal.flow.verify import verify
from shoal.frames.frame import Frame
from shoal.hierarchy import Flat
from shoal.kernels.group import combinations
from shoal.model import Model
from shoal.pages import Page
from shoal.pages.page import check_place
from shoal.release import MANIFEST, Release, Verdict
from shoal.risk import assess
from shoal.schema import Schema
from shoal.tally import Tally
from shoal.utility import marginals

LEAST = 0.001
"""The smallest threshold of risk: one in a thousand."""


def report(
    release: Any,
    *,
    others: Any = (),
    original: Any = None,
    targets: Any = None,
    control: Any = None,
    schema: Schema | None = None,
    rule: Model | str | None = None,
    on: str | None = None,
    threshold: float = 0.2,
    limit: float | None = None,
    pieces: int = PIECES,
    public: bool = False,
    fewest: int = FEWEST,
    title: str | None = None,
    context: Mapping[str, Any] | str | Path | None = None,
    out: str | Path | None = None,
    show: bool = False,
    seed: int = 0,
    progress: Progress = quiet,
    **settings: Any,
) -> Page:
    """Everything known about a release on one page; ``.write("report.html")`` or ``.json``.

    ``release`` is a release folder, a ``Release``, or with a ``schema`` (and a ``rule`` to verify)
    any table. It is attacked by itself, and together with ``others``: one or several further
    releases about the same people. ``targets`` are the people an adversary knows; without them
    those of the ``original`` are, which also shows what the table was before. ``threshold`` is the
    risk above which people are counted, ``limit`` the share of people on whom an attack may
    succeed, ``pieces`` how many pieces of knowledge beyond the table somebody is supposed to have
    at the most. ``context`` says who publishes and why (a mapping, or a TOML file). With ``out``
    the page is written there too; what cannot be written is refused before anything is attacked.

    The page is for the publisher. With ``public`` it is one to publish: counts are rounded to
    ``fewest`` and none below it is told; no extremes, no rare values, no rows, no names of files,
    nothing of the private companion. It does draw class sizes and distributions of the original,
    rounded so, and prints title and context as they are written. ``show`` lets findings name
    values. Further settings are those of ``shoal.red_team`` (``sample``, ``relation``,
    ``reading``) and ``accept_keep`` of ``shoal.verify``.
    """
    given = Given(
        release, tuple(as_list(others)), original, targets, control, schema, rule, on, threshold,
        limit, checked(pieces), context, show and not public, seed, settings,
    )  # fmt: skip
    if public and fewest < 2:
        raise UsageError("fewest is 2 or more people.", "leave it out for 10.")
    if out is not None:
        check_place(Path(out), internal=not public)
    evidence = gathered(given, progress)
    made = page(publishable(evidence, fewest) if public else evidence, title, _version())
    if out is not None:
        made.write(out)
    return made


def _version() -> str:
    try:
        return installed("shoal")
    except PackageNotFoundError:
        return "run from its source"


@dataclass(frozen=True)
class Given:
    """What a report is asked about."""

    release: Any
    others: tuple[Any, ...] = ()
    original: Any = None
    targets: Any = None
    control: Any = None
    schema: Schema | None = None
    rule: Model | str | None = None
    on: str | None = None
    threshold: float = 0.2
    limit: float | None = None
    pieces: int = PIECES
    context: Mapping[str, Any] | str | Path | None = None
    show: bool = False
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.limit is not None and not 0 <= self.limit <= 1:
            raise UsageError(
                "The limit is a share of people, from 0 to 1.", "write for example 0.05."
            )
        if not LEAST < self.threshold <= 1:
            raise UsageError(
                f"The threshold of risk is more than {LEAST} and at most 1.",
                "write for example 0.2: five people who look alike.",
            )


@dataclass(frozen=True)
class Source:
    """The release itself: its table, what its columns are, and its manifest if it has one."""

    table: Any
    schema: Schema
    """The columns that are published."""
    stated: Schema
    """The same as their publisher states them, with hierarchies, and the columns left out."""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    companion: Companion | None = None

    @classmethod
    def of(cls, given: Given) -> Source:
        """A release folder says itself what it is; another table needs a schema."""
        found = released(given.release)
        if found is not None:
            table, manifest = found
            own, schema = companion_at_hand(given.release, table), released_schema(manifest)
            told = given.schema or (own.schema if own else schema)
            return cls(table, schema, _with_roles(told, schema), manifest, own)
        if given.schema is None:
            raise UsageError(
                "A report on a table that is not a release folder needs the columns' roles.",
                "add -s schema.toml or --quasi COL.",
            )
        return cls(given.release, given.schema, given.schema)


def _with_roles(told: Schema, published: Schema) -> Schema:
    """What is told of columns, in the roles that they were published in: these may be others.

    A column that an earlier release had is a quasi-identifier in one that is published after it.
    """
    own = {column.name: column for column in told.columns}
    columns = [
        replace(own[c.name], role=c.role, kind=own[c.name].kind or c.kind) if c.name in own else c
        for c in published.columns
    ]
    dropped = [c for c in told.columns if c.name not in published.names and c.role not in PUBLISHED]
    return Schema((*columns, *dropped))


def gathered(given: Given, progress: Progress = quiet) -> Evidence:
    """Everything that the report tells: counted, verified, measured, attacked."""
    context = read_context(given.context)
    source = Source.of(given)
    made = bool(source.manifest)
    progress("counting", 0, 1)
    count, rows = _counted(source)
    verdict = _verified(given, source)
    progress("measuring", 0, 1)
    measured = audit(given.release if made else source.table, source.schema)
    reading = given.settings.get("reading") or {}
    sizes_before, distributions = _before(given.original, source.stated, count, reading)
    progress("attacking", 0, 1)
    tested = _attacked(given, source, progress)
    names = [column.name for column in source.schema.sensitive]
    known_more, unknown = knowing(
        given.release, source.stated if given.schema else None, [given.on] if given.on else names,
        given.pieces, verdict, show=given.show, seed=given.seed, progress=progress,
    )  # fmt: skip
    return Evidence(
        rows=int(rows.sum()),
        classes=len(rows),
        sizes=_sizes(rows),
        sizes_before=sizes_before,
        distributions=distributions,
        risk=assess(rows, threshold=given.threshold),
        columns=_columns(source.stated, count),
        verdict=verdict,
        measured=_named(measured),
        findings=tuple(tested.findings),
        skipped=not_run(tuple(tested.skipped), unknown, bool(known_more)),
        knowing=known_more,
        context=context,
        manifest=source.manifest,
        private=dict(source.companion.facts) if source.companion else {},
        hashes=_hashes(source.table, made),
        others=len(given.others),
        sensitive=given.on or ", ".join(names),
        unlearnt=tuple(name for name in names if given.on and name != given.on),
        limit=given.limit,
        commands=_commands(given),
        seed=given.seed,
    )


def _counted(source: Source) -> tuple[Recount, NDArray[np.int64]]:
    """The table's labels, and the rows of each class: people alike in kept columns too."""
    schema = source.schema
    with opened_labels(source.table, schema, exact=bool(source.manifest)) as frame:
        count = recount(frame, schema)
        return count, alike(frame, schema, count)


def _verified(given: Given, source: Source) -> Verdict | None:
    accept_keep = bool(given.settings.get("accept_keep"))
    if source.manifest:
        return verify(given.release, rule=given.rule, accept_keep=accept_keep)
    if given.rule is None:
        return None
    return verify(source.table, source.schema, given.rule, accept_keep=accept_keep)


def _attacked(given: Given, source: Source, progress: Progress) -> RedTeam:
    """Folders say their own roles, and need no bounds: these do not bind whom others look for."""
    return trials(
        (given.release, *given.others),
        schema=source.stated if given.schema else None,
        targets=given.targets if given.targets is not None else given.original,
        control=given.control,
        on=given.on,
        seed=given.seed,
        show=given.show,
        progress=progress,
        **{key: value for key, value in given.settings.items() if key != "accept_keep"},
    )


def _sizes(rows: Any) -> dict[int, int]:
    """Class size -> classes of that size."""
    return dict(sorted(Counter(np.asarray(rows).tolist()).items()))


def _before(
    original: Any, schema: Schema, count: Recount, reading: Mapping[str, Any]
) -> tuple[dict[int, int] | None, tuple[Distribution, ...]]:
    """The original's class sizes, and each column's distribution beside the published one."""
    if original is None or BUCKET in schema.names:  # exact columns are as they were
        return None, ()
    wanted = replace(schema, columns=(*schema.quasi, *schema.sensitive))
    kept = [Column(column.name, "quasi", "category", Flat()) for column in schema.keep]
    kinds = wanted.kinds | {column.name: "label" for column in kept}
    with opened(original, kinds=kinds, **reading) as frame:
        tally = everything = _tallied(frame, wanted)
        if kept:
            everything = _tallied(frame, replace(schema, columns=(*schema.quasi, *kept)))
    both, cut = beside(tally, count)
    moved = marginals.raw(both, cut).columns
    drawn = marginals.distributions(both, cut)
    axes = (*tally.quasi, *tally.sensitive)
    return _sizes_of(everything), tuple(
        distribution(axis, *drawn[axis.name], moved[axis.name]) for axis in axes
    )


def _tallied(frame: Frame, wanted: Schema) -> Tally:
    fields = [field for field in frame.fields if field.name in wanted.names]
    return encode(frame, wanted.fit(fields)).tally


def _sizes_of(tally: Tally) -> dict[int, int]:
    number, _ = combinations(tally.keys, [axis.size for axis in tally.quasi])
    return _sizes(np.bincount(number, weights=tally.count).astype(np.int64))


def _columns(schema: Schema, count: Recount) -> tuple[Described, ...]:
    fates = {"quasi": "generalised", "sensitive": "published as it is", "keep": "kept as it is"}
    labels = {axis.name: axis.size for axis in (*count.tally.quasi, *count.tally.sensitive)}
    return tuple(
        Described(
            column.name,
            column.role,
            fates[column.role] if column.role in PUBLISHED else "dropped",
            labels.get(column.name),
        )
        for column in schema.columns
    )


def _named(measured: Audit) -> tuple[tuple[str, float], ...]:
    """Each model that was measured, with what else its figure depends on."""
    found = []
    for one in measured.measured:
        extra = "".join(f" {key}={value}" for key, value in one.parameters)
        found.append((f"{one.model}{extra}{f' on {one.on}' if one.on else ''}", one.value))
    return tuple(found)


def _hashes(table: Any, made: bool) -> dict[str, str]:
    """Of the published file, and of its manifest."""
    if not isinstance(table, (str, Path)) or not Path(table).is_file():
        return {}
    found = {"table": sha256(Path(table))}
    return found | {"manifest": sha256(Path(table).parent / MANIFEST)} if made else found


def _path(source: Any) -> str | None:
    """Where a source lies; None for a table in memory."""
    if isinstance(source, Release):
        return str(source.folder)
    return str(source) if isinstance(source, str | Path) else None


def _name(source: Any) -> str:
    """What a source is called, without the folders above it; a table in memory has no name."""
    path = _path(source)
    return "TABLE" if path is None else Path(path).name or path


def _commands(given: Given) -> tuple[str, ...]:
    """What to type to have every number again; a schema that flags cannot say is schema.toml."""
    roles = _roles(given.schema)
    rule = [] if given.rule is None else ["-m", str(given.rule)]
    keep = ["--accept-keep"] if given.settings.get("accept_keep") else []
    relation = str(given.settings.get("relation", "")).replace(" ", "-")
    named = {
        "--original": given.original,
        "--targets": given.targets,
        "--control": given.control,
        "--context": "context.toml" if isinstance(given.context, Mapping) else given.context,
        "--on": given.on,
        "--limit": given.limit,
        "--pieces": None if given.pieces == PIECES else given.pieces,
        "--sample": given.settings.get("sample"),
        "--threshold": f"{given.threshold:g}",
        "--seed": str(given.seed),
    }
    flags = [part for one in given.others for part in ("--with", _name(one))]
    for flag, value in named.items():
        flags += [] if value is None else [flag, _word(value)]
    flags += [f"--{relation}"] if relation else []
    flags += ["--show"] if given.show else []
    own = _name(given.release)
    told = [["shoal", "report", own, *flags, *roles, *rule, *keep, "-o", "report.html"]]
    if rule or not roles:
        told.insert(0, ["shoal", "verify", own, *roles, *rule, *keep])
    return tuple(shlex.join(line) for line in told)


def _roles(schema: Schema | None) -> list[str]:
    """A schema as flags, where it says nothing but roles; else as a file."""
    if schema is None:
        return []
    if any(column != Column(column.name, column.role) for column in schema.columns):
        return ["-s", "schema.toml"]
    return [part for column in schema.columns for part in (f"--{column.role}", column.name)]


def _word(value: Any) -> str:
    return str(value) if isinstance(value, int | float) else _name(value)
