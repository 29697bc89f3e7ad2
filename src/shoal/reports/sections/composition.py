"""Beside other releases: a report's part on those before, and on those that others may make.

With a ledger the release is judged together with every earlier one about the same people (or what
was found when it was recorded is told), and its place in the chain is printed, for somebody to
sign beside. The ledger judges as it does when it records: neither the one column that the report
is about nor the report's limit bears on that. Without a ledger only the forecast is left: what a
release that somebody else makes of overlapping people would reveal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.adversary.runner import describe_error
from shoal.core.errors import InputError, NotMetError, UsageError
from shoal.core.schema import Schema
from shoal.forecasts.result import Forecast
from shoal.releases.options import Progress
from shoal.reports.document import Section
from shoal.reports.format import state_count, state_share
from shoal.reports.options import ReportRequest
from shoal.reports.pages.composition import render_composition
from shoal.verbs.forecast import forecast

NOTHING_TO_LEARN = "The release has no sensitive column, so that nothing is left to be revealed."


@dataclass(frozen=True)
class CompositionEvidence:
    """How a release stands beside others."""

    admission: Mapping[str, Any] | None = None
    """How it was judged together with earlier ones, in plain values; None: there is no ledger."""
    forecast: Forecast | None = None
    why: str = ""
    """Why there is no forecast."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, which the page is drawn from."""
        told = {**_NOT_JUDGED, **(self.admission or {})}
        return {
            "ledger": self.admission is not None,
            **{name: told[name] for name in _NOT_JUDGED},
            "forecast": None if self.forecast is None else self.forecast.to_json(),
            "why": self.why,
        }


_NOT_JUDGED: Mapping[str, Any] = {
    "recorded": False,
    "admitted": None,
    "overridden": False,
    "accepted_risk": "",
    "about": "",
    "reasons": [],
    "judged_with": [],
    "findings": [],
    "defences": [],
    "lacking": [],
    "skipped": [],
    "unjudged": [],
    "ways": [],
    "notes": [],
    "spend": None,
    "position": None,
}
"""What is told of an admission, and what it is where there is none."""


def build_composition_section(found: CompositionEvidence | None, fewest: int = 1) -> list[Section]:
    """The section of the page."""
    return [] if found is None else [render_composition(found.to_json(), fewest)]


def list_composition_facts(
    found: CompositionEvidence | None, fewest: int = 1
) -> dict[str, Any] | None:
    """The same for programs; for the public with numbers in rounded words only."""
    if found is None:
        return None
    plain = found.to_json()
    if fewest <= 1:
        return plain
    for one in plain["findings"]:
        one |= {name: state_count(one[name], fewest) for name in ("people", "exposed", "beyond")}
    if found.forecast is not None:
        risk, classes = found.forecast.risk, found.forecast.classes
        plain["forecast"] = {"risk": state_share(risk * classes, classes, fewest)}
    return plain


def examine_composition(
    given: ReportRequest, made: bool, learnt: Sequence[str], progress: Progress
) -> CompositionEvidence:
    """How the release stands beside others; ``made``: by Shoal, so that it says its own roles."""
    schema = None if made else given.schema
    admission = None if given.ledger is None else _judged(given, schema, progress)
    if not learnt:
        return CompositionEvidence(admission, why=NOTHING_TO_LEARN)
    try:
        found = forecast(
            given.release,
            original=given.original,
            schema=given.schema,
            on=tuple(learnt),
            rule=None if made else given.rule,
            seed=given.seed,
            show=given.show,
            reading=given.settings.get("reading"),
            progress=progress,
        )
    except (InputError, UsageError, NotMetError) as error:  # hidden values, a rule none can meet
        return CompositionEvidence(admission, why=describe_error(error))
    return CompositionEvidence(admission, found)


def _judged(given: ReportRequest, schema: Schema | None, progress: Progress) -> dict[str, Any]:
    """The admission in plain values: as it would be now, or of one that is recorded, judged again.

    Not by the report's ``on`` and ``limit``: these would leave out what the ledger looks at.
    """
    from shoal.ledger.ledger import Ledger  # databases and cryptography, which few reports need

    people = given.targets if given.targets is not None else given.original
    ledger = given.ledger if isinstance(given.ledger, Ledger) else Ledger(given.ledger, given.key)
    try:
        found = ledger.judge(
            given.release,
            people=people,
            schema=schema,
            about=given.about,
            relation=given.settings.get("relation") or None,
            show=given.show,
            reading=given.settings.get("reading"),
            progress=progress,
        )
        plain = found.to_json()
        if plain["position"] is None:
            head = ledger.head()
            plain["position"] = {
                "entry": None,
                "hash": "",
                "head": {"number": head.number, "hash": head.hash},
            }
        return plain
    finally:
        if ledger is not given.ledger:
            ledger.close()
