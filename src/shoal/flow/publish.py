"""Publish: from a table to a verified release, whole or not at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import InputError, NotMetError, UsageError
from shoal.flow import folder
from shoal.flow.encode import Encoded, encode
from shoal.flow.judge import judge
from shoal.flow.verify import counted, open_published
from shoal.frames import open as open_frame
from shoal.frames.frame import Frame
from shoal.methods import methods
from shoal.model import Model, products
from shoal.models import rule as parse_rule
from shoal.release import Release, Verdict
from shoal.schema import Schema
from shoal.tally import Cut, Groups, Tally
from shoal.utility.loss import loss

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much is done and how much there is."""


def quiet(step: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Request:
    """What to publish, and how."""

    schema: Schema
    rule: Model
    method: str = "mondrian"
    out: Path | None = None
    format: str = "csv"
    hold_back: float = 0.0
    """The share of rows that may be held back."""
    replace: bool = False
    accept_keep: bool = False
    companion: Path | None = None
    population: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    progress: Progress = quiet


def publish(
    source: Any,
    schema: Schema,
    rule: Model | str,
    *,
    method: str = "mondrian",
    out: str | Path | None = None,
    format: str = "csv",
    hold_back: float = 0.0,
    replace: bool = False,
    dry_run: bool = False,
    accept_keep: bool = False,
    companion: str | Path | None = None,
    population: Any = None,
    progress: Progress = quiet,
    **parameters: Any,
) -> Release:
    """Make a release of ``source`` that meets ``rule``, verify its file, and move it into place.

    With ``dry_run`` (or without ``out``) nothing is written and the outcome alone is returned.
    """
    model = parse_rule(rule) if isinstance(rule, str) else rule
    if not 0 <= hold_back <= 1:
        raise UsageError("hold_back is a share between 0 and 1.", "write for example 0.05.")
    request = Request(
        schema,
        model,
        method,
        None if out is None or dry_run else Path(out),
        format,
        hold_back,
        replace,
        accept_keep,
        None if companion is None else Path(companion),
        population,
        parameters,
        progress,
    )
    if request.out is not None:
        folder.check_free(request.out, request.replace)
    return run(open_frame(source, kinds=schema.kinds), request)


def run(frame: Frame, request: Request) -> Release:
    """All the steps, in their order."""
    request.progress("reading", 0, 1)
    schema = request.schema.fit(frame.fields)
    request = dataclasses.replace(request, schema=schema)
    check_people(frame, schema)
    people = (
        None
        if request.population is None
        else open_frame(request.population, kinds={c.name: c.kind for c in schema.quasi})
    )
    encoded = encode(frame, schema, people)
    cut = make(encoded.tally, request)
    groups = Groups.of(encoded.tally, cut, products(request.rule))
    private = facts(encoded.tally, cut)
    if request.out is None:
        verdict = outcome(request.rule, groups)
        return Release(folder.manifest(request, groups), verdict, private=private)
    return folder.place(frame, encoded, cut, groups, request, private)


def make(tally: Tally, request: Request) -> Cut:
    """The method's cut, with the classes held back that the final distributions break."""
    known = methods()
    if request.method not in known:
        raise UsageError(
            f"There is no method {request.method!r}.", f"the methods are: {', '.join(known)}."
        )
    allowed = int(request.hold_back * tally.rows)
    cut = known[request.method](
        tally,
        request.rule,
        rng=np.random.default_rng(0),
        hold_back=allowed > 0,
        progress=lambda done, total: request.progress("making classes", done, total),
        **request.parameters,
    )
    return settle(tally, cut, request.rule, allowed)


def settle(tally: Tally, cut: Cut, rule: Model, allowed: int) -> Cut:
    """Hold back classes that fail once the reference is that of the published rows alone."""
    while True:
        groups = Groups.of(tally, cut, products(rule))
        failing = ~rule.holds(groups)
        if cut.held_back + int(groups.rows[failing].sum()) > allowed:
            raise _too_many(tally, cut, rule, groups, failing, allowed)
        if not failing.any():
            return cut
        cut = cut.without(failing)
        if not cut.classes:
            raise _too_many(tally, cut, rule, groups, failing, allowed)


def _too_many(
    tally: Tally, cut: Cut, rule: Model, groups: Groups, failing: Any, allowed: int
) -> NotMetError:
    needed = cut.held_back + int(groups.rows[failing].sum())
    told = "; ".join(
        f"{p.model} (reaches {p.reached:.4g})" for p in judge(rule, groups) if not p.holds
    ) or str(rule)
    return NotMetError(
        f"{needed:,} of {tally.rows:,} rows cannot be placed in a class that meets the rule, "
        f"{allowed:,} may be held back: {told}.",
        f"allow more with --hold-back {min(1.0, needed / tally.rows + 0.0005):.3f}, or weaken "
        "the rule."
        if needed < tally.rows
        else "weaken the rule: no class can meet it.",
    )


def check_people(frame: Frame, schema: Schema) -> None:
    """One row a person: where a column says who a row is about, nobody may come twice."""
    if schema.person is None:
        return
    profile = frame.profile()[schema.person.name]
    repeated = profile.rows - profile.nulls - profile.distinct
    if repeated:
        raise InputError(
            f"{repeated:,} rows are about people who have a row already "
            f"(column {schema.person.name!r}).",
            "keep one row a person, for example the latest.",
        )


def facts(tally: Tally, cut: Cut) -> dict[str, Any]:
    """What the publisher wants to know and the public need not: loss, rows held back."""
    return {"held_back": cut.held_back, "loss": loss(tally, cut), **cut.facts}


def outcome(rule: Model, groups: Groups) -> Verdict:
    """The verdict on classes that were not written: counted from the tally."""
    judgements = judge(rule, groups)
    holds = all(part.holds for part in judgements)
    return Verdict(holds, "by construction", int(groups.rows.sum()), len(groups), judgements)


def recheck(path: Path, schema: Schema, request: Request) -> Verdict:
    """Verify a file that was just written, before anybody else can see it."""
    frame = open_published(path, schema, exact=True)
    return counted(frame, schema, request.rule, request.population, request.accept_keep, show=False)


__all__ = ["Encoded", "Progress", "Request", "publish", "quiet"]
