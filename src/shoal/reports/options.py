"""What a report is asked about, and the commands to have it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.adversary.runner import as_column_names
from shoal.core.column import Column
from shoal.core.errors import UsageError
from shoal.core.model import Model, Number, parse_fraction
from shoal.core.release import Release
from shoal.core.schema import Schema
from shoal.engines.one_row import OneRowSource
from shoal.reports.sections.knowledge import PIECES

_NAMES = ("--about", "--prior")
"""What names no file: it may have a slash in it."""
MIN_THRESHOLD = 0.001
"""The smallest threshold of risk: one in a thousand."""


@dataclass(frozen=True)
class ReportRequest:
    """What a report is asked about."""

    release: Any
    others: tuple[Any, ...] = ()
    original: Any = None
    targets: Any = None
    control: Any = None
    schema: Schema | None = None
    rule: Model | str | None = None
    on: str | Sequence[str] | None = None
    threshold: Number | None = None
    """The risk above which people are counted; None: as the requirement has it."""
    limit: float | None = None
    pieces: int = PIECES
    context: Mapping[str, Any] | str | Path | None = None
    show: bool = False
    seed: int = 0
    ledger: Any = None
    """A ledger, or where one is: the release is judged together with those in it."""
    key: str | Path | None = None
    about: str | None = None
    """Whom it is about, in the ledger; None: as it is recorded, else people."""
    prior: Any = None
    """What somebody believes of a person before, where the release is of noise."""
    people: int | None = None
    """How many people it is about, there; None: as many as it says itself."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to learn that are asked for; none: every sensitive one."""
        return as_column_names(self.on)

    def __post_init__(self) -> None:
        if self.limit is not None and not 0 <= self.limit <= 1:
            raise UsageError(
                "The limit is a share of people, from 0 to 1.", "write for example 0.05."
            )
        if self.threshold is not None:
            parse_threshold(self.threshold)


def parse_threshold(risk: Number) -> Fraction:
    """A threshold of risk as it was written, exactly."""
    try:
        return parse_fraction(risk, "threshold", Fraction(str(MIN_THRESHOLD)), 1, above=True)
    except UsageError:
        raise UsageError(
            f"The threshold of risk is more than {MIN_THRESHOLD} and at most 1.",
            "write for example 1/11: eleven people who look alike.",
        ) from None


def _path(source: Any) -> str | None:
    """Where a source lies; None for a table in memory."""
    if isinstance(source, Release):
        return str(source.folder)
    return str(source) if isinstance(source, str | Path | OneRowSource) else None


def _name(source: Any) -> str:
    """What a source is called, without the folders above it; a table in memory has no name."""
    path = _path(source)
    return "TABLE" if path is None else Path(path).name or path


def list_commands(given: ReportRequest) -> tuple[str, ...]:
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
        "--ledger": _ledger(given.ledger),
        "--key": given.key,
        "--about": given.about,
        "--limit": given.limit,
        "--pieces": None if given.pieces == PIECES else given.pieces,
        "--sample": given.settings.get("sample"),
        "--prior": None if isinstance(given.prior, Mapping) else given.prior,
        "--people": given.people,
        "--threshold": None if given.threshold is None else str(given.threshold),
        "--seed": str(given.seed),
    }
    flags = [part for one in given.others for part in ("--with", _name(one))]
    flags += [part for name in given.columns for part in ("--on", name)]
    for flag, value in named.items():
        word = _word if flag not in _NAMES else str
        flags += [] if value is None else [flag, word(value)]
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


def _ledger(where: Any) -> str | None:
    """What a ledger is called: a file by its name; an address may hold a password."""
    if where is None:
        return None
    text = str(where) if isinstance(where, str | Path) else ""
    return "LEDGER" if not text or "://" in text else text


def _word(value: Any) -> str:
    return str(value) if isinstance(value, int | float) else _name(value)
