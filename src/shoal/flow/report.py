"""Report: count, verify, measure and attack a release, and tell it on one page."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from shoal.column import PUBLISHED
from shoal.errors import UsageError
from shoal.flow.audit import Audit, audit, beside
from shoal.flow.companion import Companion, companion_at_hand
from shoal.flow.context import read_context
from shoal.flow.distribution import Distribution, distribution
from shoal.flow.encode import encode
from shoal.flow.evidence import FEWEST, Described, Evidence, publishable
from shoal.flow.opening import opened, opened_labels, released, released_schema
from shoal.flow.record import sha256
from shoal.flow.recount import Recount, recount
from shoal.flow.red_team import RedTeam
from shoal.flow.reported import page
from shoal.flow.request import Progress, quiet
from shoal.flow.trials import trials
from shoal.flow.verify import verify
from shoal.kernels.group import combinations
from shoal.model import Model
from shoal.pages import Page
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
    others: Sequence[Any] = (),
    original: Any = None,
    targets: Any = None,
    control: Any = None,
    schema: Schema | None = None,
    rule: Model | str | None = None,
    on: str | None = None,
    threshold: float = 0.2,
    limit: float | None = None,
    public: bool = False,
    fewest: int = FEWEST,
    title: str | None = None,
    context: Mapping[str, Any] | str | Path | None = None,
    show: bool = False,
    seed: int = 0,
    progress: Progress = quiet,
    **settings: Any,
) -> Page:
    """Everything known about a release on one page; ``.write("report.html")`` or ``.json``.

    ``release`` is a release folder, a ``Release``, or with a ``schema`` (and a ``rule`` to verify)
    any table. It is attacked by itself, and together with ``others``: further releases about the
    same people. ``targets`` are the people an adversary knows; without them those of the
    ``original`` are, which also shows what the table was before. ``threshold`` is the risk above
    which people are counted, ``limit`` the share of people on whom an attack may succeed.
    ``context`` says who publishes and why (a mapping, or a TOML file).

    The page is for the publisher. With ``public`` it is one to publish: no extremes, no rare
    values, no counts under ``fewest``, nothing from the original's rows or the private companion.
    ``show`` lets findings name values. Further settings are those of ``shoal.red_team``
    (``sample``, ``relation``) and ``accept_keep`` of ``shoal.verify``.
    """
    given = Given(
        release, tuple(others), original, targets, control, schema, rule, on,
        threshold, limit, read_context(context), show and not public, seed, settings,
    )  # fmt: skip
    if public and fewest < 2:
        raise UsageError("fewest is 2 or more people.", "leave it out for 10.")
    evidence = gathered(given, progress)
    version = import_module("shoal").__version__  # the front is loaded by now, and only it knows
    return page(publishable(evidence, fewest) if public else evidence, title, version)


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
    context: Mapping[str, str] = field(default_factory=dict)
    show: bool = False
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
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
    manifest: Mapping[str, Any] = field(default_factory=dict)
    companion: Companion | None = None

    @classmethod
    def of(cls, given: Given) -> Source:
        """A release folder says itself what it is; another table needs a schema."""
        found = released(given.release)
        if found is not None:
            table, manifest = found
            own = companion_at_hand(given.release, table)
            return cls(table, released_schema(manifest), manifest, own)
        if given.schema is None:
            raise UsageError(
                "A report on a table that is not a release folder needs the columns' roles.",
                "add -s schema.toml or --quasi COL.",
            )
        return cls(given.release, given.schema)

    @property
    def stated(self) -> Schema:
        """The publisher's own schema, with hierarchies and dropped columns, where it is known."""
        return self.companion.schema if self.companion else self.schema


def gathered(given: Given, progress: Progress = quiet) -> Evidence:
    """Everything that the report tells: counted, verified, measured, attacked."""
    source = Source.of(given)
    made = bool(source.manifest)
    accept = bool(given.settings.get("accept_keep"))
    progress("counting", 0, 1)
    with opened_labels(source.table, source.schema, exact=made) as frame:
        count = recount(frame, source.schema)
    rows = np.bincount(count.cut.class_, weights=count.cut.count).astype(np.int64)
    verdict = _verified(given, source, accept)
    progress("measuring", 0, 1)
    schema = given.schema or source.stated
    measured = audit(given.release if made else source.table, source.schema)
    sizes_before, distributions = _before(given.original, schema, count)
    progress("attacking", 0, 1)
    tested = _attacked(given, source, progress)
    return Evidence(
        rows=int(rows.sum()),
        classes=len(rows),
        sizes=_sizes(rows),
        sizes_before=sizes_before,
        distributions=distributions,
        risk=assess(rows, threshold=given.threshold),
        columns=_columns(schema, count),
        verdict=verdict,
        measured=_named(measured),
        findings=tuple(tested.findings),
        skipped=tuple(tested.skipped),
        context=given.context,
        manifest=source.manifest,
        private=dict(source.companion.facts) if source.companion else {},
        hashes=_hashes(source.table, made),
        names=_names(given),
        others=len(given.others),
        sensitive=given.on or ", ".join(column.name for column in source.schema.sensitive),
        limit=given.limit,
        commands=_commands(given),
        seed=given.seed,
    )


def _verified(given: Given, source: Source, accept_keep: bool) -> Verdict | None:
    if source.manifest:
        return verify(given.release, rule=given.rule, accept_keep=accept_keep)
    if given.rule is None:
        return None
    return verify(source.table, source.schema, given.rule, accept_keep=accept_keep)


def _attacked(given: Given, source: Source, progress: Progress) -> RedTeam:
    own = given.schema or source.stated
    return trials(
        (given.release, *given.others),
        [own, *(given.schema or _schema_of(one, source) for one in given.others)],
        targets=given.targets if given.targets is not None else given.original,
        control=given.control,
        on=given.on,
        seed=given.seed,
        show=given.show,
        progress=progress,
        **{key: value for key, value in given.settings.items() if key != "accept_keep"},
    )


def _schema_of(other: Any, source: Source) -> Schema:
    """What another release's columns are: as its folder says, else as in the first."""
    found = released(other)
    return source.stated if found is None else released_schema(found[1])


def _sizes(rows: Any) -> dict[int, int]:
    """Class size -> classes of that size."""
    return dict(sorted(Counter(np.asarray(rows).tolist()).items()))


def _before(
    original: Any, schema: Schema, count: Recount
) -> tuple[dict[int, int] | None, tuple[Distribution, ...]]:
    """The original's class sizes, and each column's distribution beside the published one."""
    if original is None:
        return None, ()
    wanted = replace(schema, columns=(*schema.quasi, *schema.sensitive))
    with opened(original, kinds=wanted.kinds) as frame:
        fields = [one for one in frame.fields if one.name in wanted.names]
        tally = encode(frame, wanted.fit(fields)).tally
    both, cut = beside(tally, count)
    moved = marginals.raw(both, cut).columns
    drawn = marginals.distributions(both, cut)
    axes = (*tally.quasi, *tally.sensitive)
    return _sizes_of(tally), tuple(
        distribution(axis, *drawn[axis.name], moved[axis.name]) for axis in axes
    )


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


def _names(given: Given) -> tuple[str, ...]:
    """The inputs' names: with their folders, without, and without their endings."""
    asked = (given.release, *given.others, given.original, given.targets, given.control)
    paths = [path for path in map(_path, asked) if path is not None]
    parts = [part for path in paths for part in (path, Path(path).name, Path(path).stem)]
    return tuple(dict.fromkeys(parts))


def _commands(given: Given) -> tuple[str, ...]:
    """What to type to have every number again; a schema is called schema.toml."""
    roles = [] if given.schema is None else ["-s", "schema.toml"]
    rule = [] if given.rule is None else ["-m", str(given.rule)]
    relation = str(given.settings.get("relation", "")).replace(" ", "-")
    named = {
        "--original": given.original,
        "--targets": given.targets,
        "--control": given.control,
        "--on": given.on,
        "--limit": given.limit,
        "--sample": given.settings.get("sample"),
        "--threshold": f"{given.threshold:g}",
        "--seed": str(given.seed),
    }
    flags = [part for one in given.others for part in ("--with", _name(one))]
    for flag, value in named.items():
        flags += [] if value is None else [flag, _word(value)]
    flags += [f"--{relation}"] if relation else []
    told = [["shoal", "report", _name(given.release), *flags, *roles, *rule, "-o", "report.html"]]
    if rule or not roles:
        told.insert(0, ["shoal", "verify", _name(given.release), *roles, *rule])
    return tuple(shlex.join(line) for line in told)


def _word(value: Any) -> str:
    return str(value) if isinstance(value, int | float) else _name(value)
