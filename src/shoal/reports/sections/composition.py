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

from shoal.adversary.one_attack import describe_error
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
    """How a release stands together with others."""

    admission: Mapping[str, Any] | None = None
    """How it was judged together with earlier ones, in plain values; None: there is no ledger."""
    forecast: Forecast | None = None
    why: str = ""
    """Why there is no forecast."""

    def to_json(self) -> dict[str, Any]:
        """What the page is drawn from."""
        admission = {**_NOT_JUDGED, **(self.admission or {})}
        return {
            "ledger": self.admission is not None,
            **{name: admission[name] for name in _NOT_JUDGED},
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
"""What the page shows of an admission, and what that is where there is none."""


def build_composition_section(
    evidence: CompositionEvidence | None, fewest: int = 1
) -> list[Section]:
    """The section of the page; none where composition was not examined."""
    return [] if evidence is None else [render_composition(evidence.to_json(), fewest)]


def list_composition_facts(
    evidence: CompositionEvidence | None, fewest: int = 1
) -> dict[str, Any] | None:
    """The same for programs; for the public with numbers in rounded words only."""
    if evidence is None:
        return None
    facts = evidence.to_json()
    if fewest <= 1:
        return facts
    counts = ("people", "exposed", "beyond")
    facts["findings"] = [
        {**finding, **{name: state_count(finding[name], fewest) for name in counts}}
        for finding in facts["findings"]
    ]
    if evidence.forecast is not None:
        risk, classes = evidence.forecast.risk, evidence.forecast.classes
        facts["forecast"] = {"risk": state_share(risk * classes, classes, fewest)}
    return facts


def examine_composition(
    request: ReportRequest, is_release: bool, attacked_columns: Sequence[str], progress: Progress
) -> CompositionEvidence:
    """How the release stands together with others; one that Shoal made states its own roles."""
    schema = None if is_release else request.schema
    admission = None if request.ledger is None else _judge_with_ledger(request, schema, progress)
    if not attacked_columns:
        return CompositionEvidence(admission, why=NOTHING_TO_LEARN)
    try:
        prediction = forecast(
            request.release,
            original=request.original,
            schema=request.schema,
            on=tuple(attacked_columns),
            rule=None if is_release else request.rule,
            seed=request.seed,
            show=request.show,
            reading=request.settings.get("reading"),
            progress=progress,
        )
    except (InputError, UsageError, NotMetError) as error:  # hidden values, a rule none can meet
        return CompositionEvidence(admission, why=describe_error(error))
    return CompositionEvidence(admission, prediction)


def _judge_with_ledger(
    request: ReportRequest, schema: Schema | None, progress: Progress
) -> dict[str, Any]:
    """The admission in plain values: as it would be now, or of one that is recorded, judged again.

    Not by the report's ``on`` and ``limit``: these would leave out what the ledger looks at.
    """
    from shoal.ledger.ledger import Ledger  # databases and cryptography, which few reports need

    people = request.targets if request.targets is not None else request.original
    is_open = isinstance(request.ledger, Ledger)
    ledger = request.ledger if is_open else Ledger(request.ledger, request.key)
    try:
        facts: dict[str, Any] = ledger.judge(
            request.release,
            people=people,
            schema=schema,
            about=request.about,
            relation=request.settings.get("relation") or None,
            show=request.show,
            reading=request.settings.get("reading"),
            progress=progress,
        ).to_json()
        if facts["position"] is None:
            head = ledger.head()
            facts["position"] = {
                "entry": None,
                "hash": "",
                "head": {"number": head.number, "hash": head.hash},
            }
        return facts
    finally:
        if not is_open:
            ledger.close()


# The page


def render_composition(composition: JsonObject, fewest: int = 1) -> Section:
    """The whole section."""
    blocks = [
        *_render_earlier(composition, fewest),
        *_render_forecast(composition, fewest),
        *_render_position(composition),
    ]
    return Section(HEADING, (_INTRO,), tuple(blocks))


# Earlier releases


def _render_earlier(composition: JsonObject, fewest: int) -> list[Block]:
    heading = "Together with earlier releases"
    if not composition["ledger"]:
        return [Text(heading), Callout(_NO_LEDGER, "note", "No ledger was given")]
    facts = KeyFacts(tuple(_list_facts(composition, fewest)))
    blocks: list[Block] = [Text(heading), facts, _state_outcome(composition, fewest)]
    blocks += [Callout(note, "warning", "To be looked at") for note in composition["notes"]]
    if composition["judged_with"] and fewest <= 1:
        blocks.append(_tabulate_releases(composition["judged_with"]))
    return [
        *blocks,
        *_tabulate_findings(composition, fewest),
        *_list_defences(composition),
        *_list_untested(composition, fewest),
    ]


_NO_LEDGER = (
    "So earlier releases about the same people were not looked at. Give one, and "
    "this release is judged together with every one that is recorded there."
)


def _list_facts(composition: JsonObject, fewest: int) -> list[Fact]:
    earlier = "earlier release" if len(composition["judged_with"]) == 1 else "earlier releases"
    facts = [
        Fact("judged with", len(composition["judged_with"]), f"{earlier} about the same people")
    ]
    if composition["findings"]:
        worst = max(composition["findings"], key=_compute_rate)
        by = f"of people, by {worst['attack']}" if worst["beyond"] else "of people, by any attack"
        exposed = state_share(worst["beyond"], worst["people"], fewest)
        facts.append(Fact("exposed together", exposed, f"{by}; beyond each release alone"))
    spend = composition["spend"]
    if spend and (spend["epsilon"] != "0" or spend["budget"]):
        facts += [_make_spend_fact(unit, spend["composition"]) for unit in spend["units"]]
    return facts


def _compute_rate(finding: JsonObject) -> float:
    return float(finding["beyond"] / max(finding["people"], 1))


def _make_spend_fact(unit: JsonObject, composition: str) -> Fact:
    total, budget = (unit["in_words"][name] for name in ("total", "budget"))
    within = "spent in all; no budget is set" if budget is None else f"spent, of {budget}"
    by = f", by {composition} composition" if budget else ""
    return Fact("privacy budget", total or "not known", f"{within}{by}; protected: {unit['unit']}")


def _state_outcome(composition: JsonObject, fewest: int) -> Callout:
    earlier = len(composition["judged_with"])
    if composition["accepted_risk"]:
        return _state_accepted_risk(composition, fewest)
    if not composition["admitted"]:
        heading, addition = "Refused by the ledger", ""
        if composition["recorded"]:
            heading, addition = "Recorded, but exposing", _MORE
        return Callout(f"{_state_objections(composition, fewest)}{addition}", "danger", heading)
    statement = "It is the first release about these people that is recorded"
    if earlier:
        whom = "the earlier release" if earlier == 1 else f"the {earlier:,} earlier releases"
        statement = f"Together with {whom} it exposes nobody beyond the limit"
    if not composition["recorded"]:
        return Callout(
            f"{statement if earlier else _FIRST}. It is not recorded yet.",
            "note",
            "Not in the ledger yet",
        )
    return Callout(f"{statement}.", "good", "Admitted")


def _state_accepted_risk(composition: JsonObject, fewest: int) -> Callout:
    """A risk that somebody accepted: it is as it was, has gone, or is more by now."""
    if not composition["admitted"]:
        text = f"{_state_objections(composition, fewest)}{_MORE} {_quote_reason(composition)}"
        return Callout(text, "danger", "Recorded, but exposing")
    against = _state_objections(composition, fewest) if composition["overridden"] else _BEFORE
    return Callout(
        f"{against} It is recorded all the same. {_quote_reason(composition)}",
        "warning",
        "Risk accepted",
    )


_MORE = " That is more than anybody accepted."
_BEFORE = "Something spoke against it when it was recorded; nothing does by today's attacks."
_FIRST = "The ledger has no earlier release about these people"
_SOMETHING = "Something speaks against it beside earlier releases."


def _state_objections(composition: JsonObject, fewest: int) -> str:
    """The worst finding, and what no attack finds: the budget, releases not evaluated."""
    above = [finding for finding in composition["findings"] if finding["exceeds"]]
    sentences = []
    if above:
        worst = max(above, key=_compute_rate)
        exposed, people = (state_count(worst[key], fewest) for key in ("beyond", "people"))
        exposes = (
            f"exposes {exposed} of {people} people whom no release exposes alone, more than the "
            "limit allows"
        )
        among = "" if len(above) == 1 else f", the worst of {len(above):,} findings,"
        sentences.append(f"Together with earlier releases {worst['attack']}{among} {exposes}.")
    sentences += composition["reasons"][len(above) :]
    return " ".join(sentences) or _SOMETHING  # the public learns of attacks alone


def _quote_reason(composition: JsonObject) -> str:
    """The reason as it was written; in public only that there is one."""
    reason = composition["accepted_risk"]
    return "The reason is in the ledger." if reason is True else f"The reason given: “{reason}”"


def _tabulate_releases(entries: Sequence[JsonObject]) -> Table:
    keys = ("entry", "name", "by", "at", "relation", "how")
    dated = ({**entry, "at": str(entry["at"])[:10]} for entry in entries)
    rows = tuple(tuple(entry[key] for key in keys) for entry in dated)
    head = ("entry", "release", "by", "on", "relation", "how that is known")
    return Table(head, rows, "The releases that it was judged with")


def _tabulate_findings(composition: JsonObject, fewest: int) -> list[Block]:
    if not composition["findings"]:
        return []
    public = fewest > 1
    rows = [_make_finding_row(finding, fewest) for finding in composition["findings"]]
    head = ("attack", "with entry", "exposed", "limit", "what was found")
    shown = [i for i in range(5) if not (public and i in (1, 4))]
    table = tuple(tuple(row[i] for i in shown) for row in rows)
    return [Table(tuple(head[i] for i in shown), table, "What the releases tell together")]


def _make_finding_row(finding: JsonObject, fewest: int) -> tuple[str, ...]:
    """One attack in a row; who is exposed by a single release already is not counted."""
    beyond, people = state_count(finding["beyond"], fewest), state_count(finding["people"], fewest)
    outcome = "above" if finding["exceeds"] else "within"
    if finding["answered_by"] and finding["beyond"]:
        outcome = "answered, above"
    exposed = f"{beyond} of {people}".replace(" ", "\N{NO-BREAK SPACE}")
    entries = ", ".join(map(str, finding["entries"]))
    limit = f"{outcome} {format_percent(finding['limit'], 1)}"
    attack = f"{finding['attack']}, {finding['on']}" if finding["on"] else finding["attack"]
    return attack, entries, exposed, limit, finding["sentence"]


def _list_defences(composition: JsonObject) -> list[Block]:
    items = [Fact("Defence", text) for text in composition["defences"]]
    if not items:  # of the two defences either suffices
        items = [Fact("Defence that is lacking", text) for text in composition["lacking"]]
    if composition["ways"]:  # what the ledger itself advises, which knows what was done already
        return [Fields((*items, *(Fact("What would pass", text) for text in composition["ways"])))]
    defences = {
        finding["attack"]: finding["defence"]
        for finding in composition["findings"]
        if finding["exceeds"]
    }
    items += [Fact(f"What helps against {name}", text) for name, text in defences.items() if text]
    return [Fields(tuple(items))] if items else []


def _list_untested(composition: JsonObject, fewest: int) -> list[Block]:
    if not composition["skipped"]:
        return []
    if fewest > 1:
        names = list(dict.fromkeys(attempt["attack"] for attempt in composition["skipped"]))
        return [Callout(f"Not tested with every earlier release: {join_all_names(names)}.")]
    rows = tuple(
        (attempt["attack"], attempt["entry"] or "all", attempt["reason"])
        for attempt in composition["skipped"]
    )
    return [Table(("attack", "with entry", "why it did not run"), rows, "Not tested together")]


# Releases that others may make


def _render_forecast(composition: JsonObject, fewest: int) -> list[Block]:
    heading, facts = "What a release by somebody else would reveal", composition["forecast"]
    if facts is None:
        return [Text(heading), Callout(composition["why"], "note", "No forecast")]
    settings = facts["settings"]
    others, people = settings["others"], state_count(settings["rows"], fewest)
    publishers = "another publisher" if others == 1 else f"{others} other publishers"
    text = (
        f"Suppose that {publishers} will make a release of {people} people, "
        f"and that it holds {format_percent(settings['overlap'], 1)} of ours. Whoever has both "
        f"releases, and knows that somebody is in both, is left with the values of {facts['on']} "
        f"that both classes have: a class counts as exposed where somebody in it would keep fewer "
        f"than {settings['l']}."
    )
    if fewest > 1:
        return [Text(heading, (text,)), Fields(_summarise_forecast(facts, fewest))]
    return [
        Text(heading, (text,)),
        *render_by_column(facts),
        Chart(chart_estimates(facts["estimates"], facts["classes"]), _MARKS),
        Fields(tuple(_list_suppositions(facts))),
        _tabulate_assumptions(facts),
    ]


_MARKS = (
    "Blue: the estimate to go by; its line spans nine in ten of the releases that were drawn. "
    "Grey: other estimates, to compare with."
)


def _summarise_forecast(facts: JsonObject, fewest: int) -> tuple[Fact, ...]:
    exposed = facts["risk"] * facts["classes"]
    worst = f"(by {facts['on']}, the worst of all sensitive columns)" if facts["by_column"] else ""
    return (
        Fact(
            "Classes that would be exposed",
            state_share(exposed, facts["classes"], fewest),
            worst,
        ),
        Fact("Estimated by", facts["default"]),
    )


def _list_suppositions(facts: JsonObject) -> list[Fact]:
    settings = facts["settings"]
    points = (
        "people's own values, from the original"
        if settings["original"]
        else ("points drawn inside the published cells; the original was not given")
    )
    few = facts["classes_with_few_values"]
    return [
        Fact("Other publisher's method and rule", f"{settings['method']}, `{settings['rule']}`"),
        Fact("Where our people are", points),
        Fact(
            "Classes with too few values already",
            f"{few:,} of {facts['classes']:,}",
            "(exposed whatever others publish)" if few else "",
        ),
        Fact("Releases drawn", settings["repeats"]),
    ]


def _tabulate_assumptions(facts: JsonObject) -> Table:
    rows = [("all of them", f"{'; '.join(facts['assumptions'])}.")] if facts["assumptions"] else []
    rows += [
        (estimate["name"], f"{'; '.join(estimate['assumptions'])}.")
        for estimate in facts["estimates"]
    ]
    return Table(("estimate", "takes it that"), tuple(rows), "What the estimates rest on")


# The ledger


def _render_position(composition: JsonObject) -> list[Block]:
    position = composition["position"]
    if position is None:
        return []
    text = (
        "Whoever keeps this page can show later that the ledger was not shortened or written "
        "anew: `shoal ledger verify` compares it with the head below."
    )
    own_entry = f"{position['entry']}:{position['hash']}"
    head = f"{position['head']['number']}:{position['head']['hash']}"
    items = [] if position["entry"] is None else [Fact("Entry of this release", f"`{own_entry}`")]
    items += [Fact("Head of the ledger", f"`{head}`"), Fact("Signature", "")]
    return [Text("Place in the ledger", (text,)), Fields(tuple(items))]
