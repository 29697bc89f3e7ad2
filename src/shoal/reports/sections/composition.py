"""Composition: a report's part on earlier releases, and on those that others may make.

With a ledger the release is judged together with every earlier one about the same people (as it
would be now, or as it is recorded), and its place in the chain is printed, for somebody to sign
beside. The ledger judges as it does when it records: the report's column and limit do not bear on
that. Without a ledger only the forecast is left: what a release that somebody else makes of
overlapping people would reveal. With ``fewest`` above 1 the section is for the public, and numbers
are rounded.

Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy, KDD
2008; Sattar and Helal: Privacy risk against composition attack, 2018, for the forecast.
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
from shoal.reports.charts.forecast import chart_estimates
from shoal.reports.document import (
    Block,
    Callout,
    Chart,
    Fact,
    Fields,
    KeyFacts,
    Section,
    Table,
    Text,
)
from shoal.reports.format import format_percent, join_all_names, state_count, state_share
from shoal.reports.options import ReportRequest
from shoal.reports.pages.forecast import render_by_column
from shoal.verbs.forecast import forecast

HEADING = "Composition"
JsonObject = Mapping[str, Any]
_INTRO = (
    "A release that is safe by itself may not be beside another about the same people: whoever "
    "has both can compare them. This is about releases that were published before, and about "
    "those that somebody else may publish later."
)
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


# The page


def render_composition(told: JsonObject, fewest: int = 1) -> Section:
    """The whole section."""
    blocks = [*_before(told, fewest), *_later(told, fewest), *_position(told)]
    return Section(HEADING, (_INTRO,), tuple(blocks))


# Those before


def _before(told: JsonObject, fewest: int) -> list[Block]:
    heading = "Together with earlier releases"
    if not told["ledger"]:
        return [Text(heading), Callout(_NO_LEDGER, "note", "No ledger was given")]
    facts = KeyFacts(tuple(_facts(told, fewest)))
    blocks: list[Block] = [Text(heading), facts, _outcome(told, fewest)]
    blocks += [Callout(note, "warning", "To be looked at") for note in told["notes"]]
    if told["judged_with"] and fewest <= 1:
        blocks.append(_releases(told["judged_with"]))
    return [*blocks, *_found(told, fewest), *_defended(told), *_untested(told, fewest)]


_NO_LEDGER = (
    "So earlier releases about the same people were not looked at. Give one, and "
    "this release is judged together with every one that is recorded there."
)


def _facts(told: JsonObject, fewest: int) -> list[Fact]:
    earlier = "earlier release" if len(told["judged_with"]) == 1 else "earlier releases"
    facts = [Fact("judged with", len(told["judged_with"]), f"{earlier} about the same people")]
    if told["findings"]:
        worst = max(told["findings"], key=lambda one: one["beyond"] / max(one["people"], 1))
        by = f"of people, by {worst['attack']}" if worst["beyond"] else "of people, by any attack"
        exposed = state_share(worst["beyond"], worst["people"], fewest)
        facts.append(Fact("exposed together", exposed, f"{by}; beyond each release alone"))
    spend = told["spend"]
    if spend and (spend["epsilon"] != "0" or spend["budget"]):
        facts += [_spent(unit, spend["composition"]) for unit in spend["units"]]
    return facts


def _spent(unit: JsonObject, composition: str) -> Fact:
    """What is spent of one unit of protection."""
    total, of = (unit["in_words"][name] for name in ("total", "budget"))
    within = "spent in all; no budget is set" if of is None else f"spent, of {of}"
    by = f", by {composition} composition" if of else ""
    return Fact("privacy budget", total or "not known", f"{within}{by}; protected: {unit['unit']}")


def _outcome(told: JsonObject, fewest: int) -> Callout:
    """What the ledger says of it, in a sentence."""
    earlier = len(told["judged_with"])
    if told["accepted_risk"]:
        return _accepted(told, fewest)
    if not told["admitted"]:
        heading, more = "Refused by the ledger", ""
        if told["recorded"]:
            heading, more = "Recorded, but exposing", _MORE
        return Callout(f"{_against(told, fewest)}{more}", "danger", heading)
    beside = "It is the first release about these people that is recorded"
    if earlier:
        whom = "the earlier release" if earlier == 1 else f"the {earlier:,} earlier releases"
        beside = f"Together with {whom} it exposes nobody beyond the limit"
    if not told["recorded"]:
        return Callout(
            f"{beside if earlier else _FIRST}. It is not recorded yet.",
            "note",
            "Not in the ledger yet",
        )
    return Callout(f"{beside}.", "good", "Admitted")


def _accepted(told: JsonObject, fewest: int) -> Callout:
    """A risk that somebody accepted: it is as it was, has gone, or is more by now."""
    if not told["admitted"]:
        text = f"{_against(told, fewest)}{_MORE} {_reason(told)}"
        return Callout(text, "danger", "Recorded, but exposing")
    against = _against(told, fewest) if told["overridden"] else _BEFORE
    return Callout(
        f"{against} It is recorded all the same. {_reason(told)}", "warning", "Risk accepted"
    )


_MORE = " That is more than anybody accepted."
_BEFORE = "Something spoke against it when it was recorded; nothing does by today's attacks."
_FIRST = "The ledger has no earlier release about these people"
_SOMETHING = "Something speaks against it beside earlier releases."


def _against(told: JsonObject, fewest: int) -> str:
    """The worst that speaks against it, and what no attack found: budget, releases unjudged."""
    above = [one for one in told["findings"] if one["exceeds"]]
    words = []
    if above:
        worst = max(above, key=lambda one: one["beyond"] / max(one["people"], 1))
        exposed, people = (state_count(worst[key], fewest) for key in ("beyond", "people"))
        exposes = (
            f"exposes {exposed} of {people} people whom no release exposes alone, more than the "
            "limit allows"
        )
        among = "" if len(above) == 1 else f", the worst of {len(above):,} findings,"
        words.append(f"Together with earlier releases {worst['attack']}{among} {exposes}.")
    words += told["reasons"][len(above) :]
    return " ".join(words) or _SOMETHING  # the public is told of attacks alone


def _reason(told: JsonObject) -> str:
    """The reason as it was written; in public only that there is one."""
    reason = told["accepted_risk"]
    return "The reason is in the ledger." if reason is True else f"The reason given: “{reason}”"


def _releases(with_: Sequence[JsonObject]) -> Table:
    rows = tuple(
        (one["entry"], one["name"], one["by"], str(one["at"])[:10], one["relation"], one["how"])
        for one in with_
    )
    head = ("entry", "release", "by", "on", "relation", "how that is known")
    return Table(head, rows, "The releases that it was judged with")


def _found(told: JsonObject, fewest: int) -> list[Block]:
    if not told["findings"]:
        return []
    public = fewest > 1
    rows = [_finding(one, fewest) for one in told["findings"]]
    head = ("attack", "with entry", "exposed", "limit", "what was found")
    kept = [i for i in range(5) if not (public and i in (1, 4))]
    table = tuple(tuple(row[i] for i in kept) for row in rows)
    return [Table(tuple(head[i] for i in kept), table, "What the releases tell together")]


def _finding(one: JsonObject, fewest: int) -> tuple[str, ...]:
    """One attack in a row; who is exposed by a single release already is not counted."""
    beyond, people = state_count(one["beyond"], fewest), state_count(one["people"], fewest)
    outcome = "above" if one["exceeds"] else "within"
    if one["answered_by"] and one["beyond"]:
        outcome = "answered, above"
    exposed = f"{beyond} of {people}".replace(" ", "\N{NO-BREAK SPACE}")
    entries = ", ".join(map(str, one["entries"]))
    limit = f"{outcome} {format_percent(one['limit'], 1)}"
    attack = f"{one['attack']}, {one['on']}" if one["on"] else one["attack"]
    return attack, entries, exposed, limit, one["sentence"]


def _defended(told: JsonObject) -> list[Block]:
    """What stands in the way of attacks, and what would."""
    items = [Fact("Defence", text) for text in told["defences"]]
    if not items:  # of the two defences either suffices
        items = [Fact("Defence that is lacking", text) for text in told["lacking"]]
    if told["ways"]:  # what the ledger itself advises, which knows what was done already
        return [Fields((*items, *(Fact("What would pass", text) for text in told["ways"])))]
    helps = {one["attack"]: one["defence"] for one in told["findings"] if one["exceeds"]}
    items += [Fact(f"What helps against {name}", text) for name, text in helps.items() if text]
    return [Fields(tuple(items))] if items else []


def _untested(told: JsonObject, fewest: int) -> list[Block]:
    if not told["skipped"]:
        return []
    if fewest > 1:
        names = join_all_names(list(dict.fromkeys(one["attack"] for one in told["skipped"])))
        return [Callout(f"Not tested with every earlier release: {names}.")]
    rows = tuple((one["attack"], one["entry"] or "all", one["reason"]) for one in told["skipped"])
    return [Table(("attack", "with entry", "why it did not run"), rows, "Not tested together")]


# Those that others may make


def _later(told: JsonObject, fewest: int) -> list[Block]:
    heading, found = "What a release by somebody else would reveal", told["forecast"]
    if found is None:
        return [Text(heading), Callout(told["why"], "note", "No forecast")]
    asked = found["settings"]
    many = "another publisher" if asked["others"] == 1 else f"{asked['others']} other publishers"
    words = (
        f"Suppose that {many} will make a release of {state_count(asked['rows'], fewest)} people, "
        f"and that it holds {format_percent(asked['overlap'], 1)} of ours. Whoever has both "
        f"releases, and knows that somebody is in both, is left with the values of {found['on']} "
        f"that both classes have: a class counts as exposed where somebody in it would keep fewer "
        f"than {asked['l']}."
    )
    if fewest > 1:
        return [Text(heading, (words,)), Fields(_briefly(found, fewest))]
    return [
        Text(heading, (words,)),
        *render_by_column(found),
        Chart(chart_estimates(found["estimates"], found["classes"]), _MARKS),
        Fields(tuple(_supposed(found))),
        _assumed(found),
    ]


_MARKS = (
    "Blue: the estimate to go by; its line spans nine in ten of the releases that were drawn. "
    "Grey: other estimates, to compare with."
)


def _briefly(found: JsonObject, fewest: int) -> tuple[Fact, ...]:
    exposed = found["risk"] * found["classes"]
    worst = f"(by {found['on']}, the worst of all sensitive columns)" if found["by_column"] else ""
    return (
        Fact(
            "Classes that would be exposed", state_share(exposed, found["classes"], fewest), worst
        ),
        Fact("Estimated by", found["default"]),
    )


def _supposed(found: JsonObject) -> list[Fact]:
    asked = found["settings"]
    points = (
        "people's own values, from the original"
        if asked["original"]
        else ("points drawn inside the published cells; the original was not given")
    )
    few = found["classes_with_few_values"]
    return [
        Fact("Other publisher's method and rule", f"{asked['method']}, `{asked['rule']}`"),
        Fact("Where our people are", points),
        Fact(
            "Classes with too few values already",
            f"{few:,} of {found['classes']:,}",
            "(exposed whatever others publish)" if few else "",
        ),
        Fact("Releases drawn", asked["repeats"]),
    ]


def _assumed(found: JsonObject) -> Table:
    rows = [("all of them", f"{'; '.join(found['assumptions'])}.")] if found["assumptions"] else []
    rows += [(one["name"], f"{'; '.join(one['assumptions'])}.") for one in found["estimates"]]
    return Table(("estimate", "takes it that"), tuple(rows), "What the estimates rest on")


# The ledger


def _position(told: JsonObject) -> list[Block]:
    """Where it stands in the ledger, with a line to sign beside."""
    place = told["position"]
    if place is None:
        return []
    words = (
        "Whoever keeps this page can show later that the ledger was not shortened or written "
        "anew: `shoal ledger verify` compares it with the head below."
    )
    own = f"{place['entry']}:{place['hash']}"
    head = f"{place['head']['number']}:{place['head']['hash']}"
    items = [] if place["entry"] is None else [Fact("Entry of this release", f"`{own}`")]
    items += [Fact("Head of the ledger", f"`{head}`"), Fact("Signature", "")]
    return [Text("Place in the ledger", (words,)), Fields(tuple(items))]
