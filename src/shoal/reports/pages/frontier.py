"""The page of a comparison: what an adversary gains against what is lost, the frontier marked.

It is drawn from the JSON of a comparison (``points``, ``risk``, ``rows``, ``notes``,
``assumptions``, ``wanted``, ``chosen``, ``command``) and what was made of its points, for its
publisher: it tells more about the table than a release does.
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
    """The whole comparison as a page.

    ``drawn`` are for each risk the points that were made, with its own frontier, those at one place
    as one; ``not_made`` the methods, the rules and the reason of the others.
    """
    points, risk = facts["points"], str(facts["risk"])
    made = [one for one in points if one["loss"] is not None]
    best = [one for one in drawn[risk] if one["on_frontier"]]
    warnings = tuple(Callout(text, "warning") for text in facts.get("warnings", ()))
    sections = [_front(facts, drawn[risk], best, warnings), *_other(drawn, risk)]
    return Page(
        "Which release to make",
        (*sections, _every(made, not_made, facts["notes"]), _rests_on(facts)),
        lead=f"{len(made):,} of {len(points):,} releases of {facts['rows']:,} rows that were tried "
        f"can be made; {len(best):,} are on the frontier.",
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
    return Section("The frontier", (words, *_stands_for(best)), blocks)


def _choice(facts: Mapping[str, Any]) -> tuple[Block, ...]:
    """What was chosen and why, or how to choose: which risk is small enough is not ours to say."""
    chosen, wanted = facts["chosen"], facts["wanted"]
    line = str(facts["command"]).replace(" -m ", " \\\n    -m ", 1)
    if chosen is not None:
        told = f"{chosen['method']} under {chosen['rule']}: of what was asked for it has {wanted}."
        return Callout(told, "good", "Chosen"), Code(line, "To publish what was chosen")
    if wanted:
        told = f"Nothing that was asked for is within the bounds: wanted was {wanted}."
        return (Callout(told, "warning"),)
    told = (
        "Take the rule first, by what you must promise; then, of the methods on the frontier, the "
        "one with the least loss. Or say what is small enough: `--max-risk` chooses the least loss "
        "within it, `--max-loss` the least risk."
    )
    return Callout(told), Code(line, "To publish one of them")


def _stands_for(points: Sequence[Point]) -> tuple[str, ...]:
    """What the short names of rules leave out, if they do."""
    rule, name = str(points[-1]["rule"]), shorten_rules([str(one["rule"]) for one in points])[-1]
    told = f"Rules are named by what not all of them ask: `{name}` is `{rule}`."
    return () if rule == name else (told,)


def _note(risk: str) -> str:
    if risk == "identity":
        return (
            "The scale of the risk is logarithmic. Where cells overlap, a person fits several "
            "classes: the table of all points says what the risk would be if the class were known."
        )
    return "Guessing is what the most common value alone gives, to whoever knows nobody's columns."


def _other(drawn: Mapping[str, Sequence[Point]], risk: str) -> tuple[Section, ...]:
    """The same by the other risk, where there is one."""
    other = "value" if risk == "identity" else "identity"
    points = drawn[other]
    if not points or any(one[f"risk_{other}"] is None for one in points):
        return ()
    words = f"The same releases by the {WORDS[other]}, with a frontier of its own."
    chart_ = Chart(chart_frontier(points, other), _note(other))
    return (Section(f"By {other}", (words,), (chart_,)),)


def _every(
    made: Sequence[Point], not_made: Sequence[tuple[str, str, str]], notes: Sequence[str]
) -> Section:
    order = sorted(made, key=lambda one: (one["method"], one["loss"]))
    blocks: list[Block] = [Table(*_rows(order, full=True))] if order else []
    if not_made:
        blocks.append(Table(("Method", "Rule", "Why"), tuple(not_made), caption="Not made"))
    if notes:
        blocks.append(Callout(" ".join(notes)))
    return Section("Every point", (), tuple(blocks))


def _rests_on(facts: Mapping[str, Any]) -> Section:
    told = ". ".join(one[0].upper() + one[1:] for one in facts["assumptions"])
    words = (
        f"{told}.",
        "Loss is the mean width of the published cells: 0 where everything is as it was, 1 where "
        "nothing is left; rows held back are lost whole.",
        "Risks are means over the people who are published: a mean does not say how the "
        "worst-hit fare, which is what the rule is for.",
    )
    return Section("What the numbers rest on", words)


def _rows(
    points: Sequence[Point], full: bool = False
) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Headings and rows; ``full``: with what only some need."""
    held = any(one["held_back"] for one in points)
    value = any(one["risk_value"] is not None for one in points)
    names = shorten_rules([str(one["rule"]) for one in points])
    columns = {
        "Method": [one["method"] for one in points],
        "Rule": names,
        "Identity": [_unbroken(format_risk(one, "identity")) for one in points],
        "Class known": [_unbroken(format_odds(one["known_identity"])) for one in points]
        if full
        else None,
        "Value": [format_risk(one, "value") for one in points] if value and full else None,
        "Value (guessing)": [_beside(one) for one in points] if value and not full else None,
        "Of column": [one.get("column") for one in points]
        if any(one.get("column") for one in points)
        else None,
        "Loss": [f"{one['loss']:.4f}" for one in points],
        "Classes": [one["classes"] for one in points],
        "Held back": [one["held_back"] for one in points] if held else None,
        "Seconds": [f"{one['seconds']:.2f}" for one in points] if full else None,
    }
    there = {head: cells for head, cells in columns.items() if cells is not None}
    return tuple(there), tuple(zip(*there.values(), strict=True))


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _beside(one: Point) -> str:
    """The risk of value, and what guessing gives."""
    return f"{format_risk(one, 'value')} ({format_percent(one['base'], 1)})"
