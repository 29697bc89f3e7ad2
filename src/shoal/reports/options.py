"""The request for a report, and the commands that repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.adversary.one_attack import as_column_names
from shoal.core.column import Column
from shoal.core.errors import UsageError
from shoal.core.model import Model, Number, parse_fraction
from shoal.core.release import Release
from shoal.core.schema import Schema
from shoal.engines.one_row import OneRowSource
from shoal.reports.sections.knowledge import PIECES

_NAMES = ("--about", "--prior")
"""Flags whose values are no files: they may have a slash in them."""
MIN_THRESHOLD = 0.001
"""The smallest threshold of risk: one in a thousand."""


@dataclass(frozen=True)
class ReportRequest:
    """Everything that `shoal.report` was asked for, checked."""

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
    """How many people a release of noise is about; None: as many as it states itself."""
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


def _find_path(source: Any) -> str | None:
    """None for a table in memory."""
    if isinstance(source, Release):
        return str(source.folder)
    return str(source) if isinstance(source, str | Path | OneRowSource) else None


def _name_source(source: Any) -> str:
    """A source without the folders above it; a table in memory has no name."""
    path = _find_path(source)
    return "TABLE" if path is None else Path(path).name or path


def list_commands(request: ReportRequest) -> tuple[str, ...]:
    """What to type to repeat every number; a schema that flags cannot express is schema.toml."""
    roles = _write_roles(request.schema)
    rule = [] if request.rule is None else ["-m", str(request.rule)]
    keep = ["--accept-keep"] if request.settings.get("accept_keep") else []
    relation = str(request.settings.get("relation", "")).replace(" ", "-")
    values_by_flag = {
        "--original": request.original,
        "--targets": request.targets,
        "--control": request.control,
        "--context": "context.toml" if isinstance(request.context, Mapping) else request.context,
        "--ledger": _name_ledger(request.ledger),
        "--key": request.key,
        "--about": request.about,
        "--limit": request.limit,
        "--pieces": None if request.pieces == PIECES else request.pieces,
        "--sample": request.settings.get("sample"),
        "--prior": None if isinstance(request.prior, Mapping) else request.prior,
        "--people": request.people,
        "--threshold": None if request.threshold is None else str(request.threshold),
        "--seed": str(request.seed),
    }
    flags = [part for release in request.others for part in ("--with", _name_source(release))]
    flags += [part for name in request.columns for part in ("--on", name)]
    for flag, value in values_by_flag.items():
        write = _write_value if flag not in _NAMES else str
        flags += [] if value is None else [flag, write(value)]
    flags += [f"--{relation}"] if relation else []
    flags += ["--show"] if request.show else []
    release_name = _name_source(request.release)
    command_lines = [
        ["shoal", "report", release_name, *flags, *roles, *rule, *keep, "-o", "report.html"]
    ]
    if rule or not roles:
        command_lines.insert(0, ["shoal", "verify", release_name, *roles, *rule, *keep])
    return tuple(shlex.join(line) for line in command_lines)


def _write_roles(schema: Schema | None) -> list[str]:
    """As flags where the schema holds roles alone, else as a file."""
    if schema is None:
        return []
    if any(column != Column(column.name, column.role) for column in schema.columns):
        return ["-s", "schema.toml"]
    return [part for column in schema.columns for part in (f"--{column.role}", column.name)]


def _name_ledger(ledger: Any) -> str | None:
    """A file by its name; an address may hold a password."""
    if ledger is None:
        return None
    text = str(ledger) if isinstance(ledger, str | Path) else ""
    return "LEDGER" if not text or "://" in text else text


def _write_value(value: Any) -> str:
    return str(value) if isinstance(value, int | float) else _name_source(value)
