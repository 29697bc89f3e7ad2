"""The page of a comparison: what an adversary gains against what is lost, the frontier marked.

It is drawn from the JSON of a comparison (``points``, ``risk``, ``rows``, ``notes``,
``assumptions``, ``wanted``, ``chosen``, ``command``) for its publisher: it says more about the
table than a release does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.frontier import (
    WORDS,
    chart_frontier,
    format_odds,
    format_risk,
    shorten_rules,
)
from shoal.reports.document import Block, Callout, Chart, Code, Page, Section, Table
from shoal.reports.format import format_percent

Point = Mapping[str, Any]


def render_frontier(
    facts: Mapping[str, Any],
    drawn: Mapping[str, Sequence[Point]],
    not_made: Sequence[tuple[str, str, str]],
) -> Page:
    """Return the page of a comparison, from its JSON.

    ``drawn`` holds for each risk the points of releases that could be made, with its own frontier,
    those at one place joined into one; ``not_made`` the method, rule and reason of the others.
    """
    points, risk = facts["points"], str(facts["risk"])
    releases = [point for point in points if point["loss"] is not None]
    best = [point for point in drawn[risk] if point["on_frontier"]]
    warnings = tuple(Callout(text, "warning") for text in facts.get("warnings", ()))
    sections = [_front(facts, drawn[risk], best, warnings), *_by_other_risk(drawn, risk)]
    return Page(
        "Which release to make",
        (*sections, _every(releases, not_made, facts["notes"]), _rests_on(facts)),
        lead=f"{len(releases):,} of {len(points):,} releases of {facts['rows']:,} rows that were "
        f"tried can be made; {len(best):,} are on the frontier.",
        foot="Made by `shoal frontier`. For the publisher: nothing was published, and no cell of "
        "the table is here, but counts are that a release would not tell.",
        data={**facts, "public": False},
    )


def _front(
    facts: Mapping[str, Any],
    drawn: Sequence[Point],
    best: Sequence[Point],
    warnings: tuple[Callout, ...],
) -> Section:
    if not best:
        text = "No method meets any of the rules: below stands why. Weaker rules, or rows held back"
        none_made = Callout(f"{text} (`--hold-back`), may help.", "warning")
        return Section("The frontier", (), (*warnings, none_made))
    words = (
        "Every point is a release that one method would make under one rule. On the frontier are "
        "those than which no other has less risk without more loss, or less loss without more "
        "risk: whichever you choose, choose one of these. Methods that end at the same point are "
        "named together."
    )
    risk = str(facts["risk"])
    blocks = (
        *warnings,
        Chart(chart_frontier(drawn, risk), _note(risk)),
        Table(*_rows(best), caption="On the frontier, by loss"),
        *_choice(facts),
    )
    return Section("The frontier", (words, *_short_rule_note(best)), blocks)


def _choice(facts: Mapping[str, Any]) -> tuple[Block, ...]:
    """What was chosen and why, or how to choose: how small a risk must be is not ours to say."""
    chosen, wanted = facts["chosen"], facts["wanted"]
    line = str(facts["command"]).replace(" -m ", " \\\n    -m ", 1)
    if chosen is not None:
        words = f"{chosen['method']} under {chosen['rule']}: of what was asked for it has {wanted}."
        return Callout(words, "good", "Chosen"), Code(line, "To publish what was chosen")
    if wanted:
        words = f"Nothing that was asked for is within the bounds: wanted was {wanted}."
        return (Callout(words, "warning"),)
    words = (
        "Take the rule first, by what you must promise; then, of the methods on the frontier, the "
        "one with the least loss. Or say what is small enough: `--max-risk` chooses the least loss "
        "within it, `--max-loss` the least risk."
    )
    return Callout(words), Code(line, "To publish one of them")


def _short_rule_note(points: Sequence[Point]) -> tuple[str, ...]:
    rules = [str(point["rule"]) for point in points]
    rule, name = rules[-1], shorten_rules(rules)[-1]
    words = f"Rules are named by what not all of them ask: `{name}` is `{rule}`."
    return () if rule == name else (words,)


def _note(risk: str) -> str:
    if risk == "identity":
        return (
            "The scale of the risk is logarithmic. Where cells overlap, a person fits several "
            "classes: the table of all points says what the risk would be if the class were known."
        )
    return "Guessing is what the most common value alone gives, to whoever knows nobody's columns."


def _by_other_risk(drawn: Mapping[str, Sequence[Point]], risk: str) -> tuple[Section, ...]:
    other = "value" if risk == "identity" else "identity"
    points = drawn[other]
    if not points or any(point[f"risk_{other}"] is None for point in points):
        return ()
    words = f"The same releases by the {WORDS[other]}, with a frontier of its own."
    chart = Chart(chart_frontier(points, other), _note(other))
    return (Section(f"By {other}", (words,), (chart,)),)


def _every(
    releases: Sequence[Point], not_made: Sequence[tuple[str, str, str]], notes: Sequence[str]
) -> Section:
    order = sorted(releases, key=lambda point: (point["method"], point["loss"]))
    blocks: list[Block] = [Table(*_rows(order, full=True))] if order else []
    if not_made:
        blocks.append(Table(("Method", "Rule", "Why"), tuple(not_made), caption="Not made"))
    if notes:
        blocks.append(Callout(" ".join(notes)))
    return Section("Every point", (), tuple(blocks))


def _rests_on(facts: Mapping[str, Any]) -> Section:
    assumptions = ". ".join(text[0].upper() + text[1:] for text in facts["assumptions"])
    words = (
        f"{assumptions}.",
        "Loss is the mean width of the published cells: 0 where everything is as it was, 1 where "
        "nothing is left; rows held back are lost whole.",
        "Risks are means over the people who are published: a mean does not say how the "
        "worst-hit fare, which is what the rule is for.",
    )
    return Section("What the numbers rest on", words)


def _rows(
    points: Sequence[Point], full: bool = False
) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Headings and rows; ``full``: with the columns that only some readers need."""
    has_suppressed = any(point["held_back"] for point in points)
    has_value = any(point["risk_value"] is not None for point in points)
    columns = {
        "Method": [point["method"] for point in points],
        "Rule": shorten_rules([str(point["rule"]) for point in points]),
        "Identity": [_unbroken(format_risk(point, "identity")) for point in points],
        "Class known": [_unbroken(format_odds(point["known_identity"])) for point in points]
        if full
        else None,
        "Value": [format_risk(point, "value") for point in points] if has_value and full else None,
        "Value (guessing)": [
            f"{format_risk(point, 'value')} ({format_percent(point['base'], 1)})"
            for point in points
        ]
        if has_value and not full
        else None,
        "Of column": [point.get("column") for point in points]
        if any(point.get("column") for point in points)
        else None,
        "Loss": [f"{point['loss']:.4f}" for point in points],
        "Classes": [point["classes"] for point in points],
        "Held back": [point["held_back"] for point in points] if has_suppressed else None,
        "Seconds": [f"{point['seconds']:.2f}" for point in points] if full else None,
    }
    shown = {head: cells for head, cells in columns.items() if cells is not None}
    return tuple(shown), tuple(zip(*shown.values(), strict=True))


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")
