"""The page of a comparison: what an adversary gains against what is lost, the frontier marked.

It is drawn from the JSON of a comparison (``points``, ``risk``, ``rows``, ``settings``,
``assumptions``), for its publisher: it tells more about the table than a release does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.pages.page import Block, Callout, Chart, Code, Page, Section, Table
from shoal.pages.releases import WORDS, chance, frontier_chart, merged, risk_told, short_rules
from shoal.pages.words import percent

Point = Mapping[str, Any]


def frontier_page(facts: Mapping[str, Any]) -> Page:
    """The whole comparison as a page."""
    points, risk = facts["points"], str(facts["risk"])
    made = [one for one in points if one["loss"] is not None]
    best = merged([one for one in made if one["on_frontier"]])
    sections = [_chosen(facts, made, best, risk), *_other(made, risk), _every(points, made)]
    return Page(
        "Which release to make",
        (*sections, _rests_on(facts)),
        lead=f"{len(made):,} of {len(points):,} releases of {facts['rows']:,} rows that were tried "
        f"can be made; {len(best):,} are on the frontier.",
        foot="Made by `shoal frontier`. For the publisher: nothing was published, and no cell of "
        "the table is here, but counts are that a release would not tell.",
        data={**facts, "public": False},
    )


def _chosen(
    facts: Mapping[str, Any], made: Sequence[Point], best: Sequence[Point], risk: str
) -> Section:
    if not best:
        text = "No method meets any of the rules: below stands why. Weaker rules, or rows held back"
        return Section(
            "The frontier", (), (Callout(f"{text} (`--hold-back`), may help.", "warning"),)
        )
    held = facts["settings"].get("hold_back")
    method, rule = str(best[0]["method"]).partition(",")[0], best[0]["rule"]
    line = f'shoal publish TABLE -s SCHEMA --method {method} \\\n    -m "{rule}"'
    line += f" --hold-back {held:g} -o release/" if held else " -o release/"
    words = (
        "Every point is a release that one method would make under one rule. On the frontier are "
        "those than which no other has less risk without more loss, or less loss without more "
        "risk: whichever you choose, choose one of these. Methods that end at the same point are "
        "named together."
    )
    blocks = (
        Chart(frontier_chart(made, risk), _note(risk)),
        Table(*_rows(best), caption="On the frontier, by loss"),
        Code(line, "To publish the first of them"),
    )
    return Section("The frontier", (words, *_stands_for(best)), blocks)


def _stands_for(points: Sequence[Point]) -> tuple[str, ...]:
    """What the short names of rules leave out, if they do."""
    rule, name = str(points[-1]["rule"]), short_rules([str(one["rule"]) for one in points])[-1]
    told = f"Rules are named by what not all of them ask: `{name}` is `{rule}`."
    return () if rule == name else (told,)


def _note(risk: str) -> str:
    if risk == "identity":
        return (
            "The scale of the risk is logarithmic. Where cells overlap, a person fits several "
            "classes: the table of all points says what the risk would be if the class were known."
        )
    return "Guessing is what the most common value alone gives, to whoever knows nobody's columns."


def _other(made: Sequence[Point], risk: str) -> tuple[Section, ...]:
    """The same by the other risk, where there is one."""
    other = "value" if risk == "identity" else "identity"
    if not made or any(one[f"risk_{other}"] is None for one in made):
        return ()
    words = f"The same releases by the {WORDS[other]}, with a frontier of its own."
    chart_ = Chart(frontier_chart(made, other), _note(other))
    return (Section(f"By {other}", (words,), (chart_,)),)


def _every(points: Sequence[Point], made: Sequence[Point]) -> Section:
    order = sorted(made, key=lambda one: (one["method"], one["loss"]))
    blocks: list[Block] = [Table(*_rows(order, full=True))] if order else []
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in (one for one in points if one["loss"] is None):
        reasons.setdefault((one["method"], one["reason"]), []).append(one["rule"])
    if reasons:
        rows = tuple((name, "; ".join(rules), why) for (name, why), rules in reasons.items())
        blocks.append(Table(("Method", "Rule", "Why"), rows, caption="Not made"))
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
    names = short_rules([str(one["rule"]) for one in points])
    columns = {
        "Method": [one["method"] for one in points],
        "Rule": names,
        "Identity": [_unbroken(risk_told(one, "identity")) for one in points],
        "Class known": [_unbroken(chance(one["known_identity"])) for one in points]
        if full
        else None,
        "Value": [risk_told(one, "value") for one in points] if value and full else None,
        "Value (guessing)": [_beside(one) for one in points] if value and not full else None,
        "Loss": [f"{one['loss']:.4f}" for one in points],
        "Classes": [one["classes"] for one in points],
        "Held back": [one["held_back"] for one in points] if held else None,
        "Seconds": [f"{one['seconds']:.2f}" for one in points] if full else None,
    }
    there = {head: cells for head, cells in columns.items() if cells is not None}
    return tuple(there), tuple(zip(*there.values(), strict=True))


def _known(one: Point) -> str:
    return _unbroken(chance(one["known_identity"]))


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _beside(one: Point) -> str:
    """The risk of value, and what guessing gives."""
    return f"{risk_told(one, 'value')} ({percent(one['base'], 1)})"
