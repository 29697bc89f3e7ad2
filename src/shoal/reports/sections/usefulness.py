"""How useful noisy counts are: how large the noise is beside what it is added to.

Drawn from plain values. ``useful`` follows from what is published: ``steps`` (every look at the
rows, with the standard deviation of its noise), ``deviation``, ``cells``, ``tables`` and
``marginals`` (of each: cells, people per cell, and how many counts could be noise alone).
``errors`` compares with the original, and is for the publisher; None where that was not given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.reports.charts.noise import chart_error
from shoal.reports.document import Block, Chart, Fact, KeyFacts, Section, Table, Text
from shoal.reports.format import format_percent, format_real

HEADING = "Usefulness"
MAX_ROWS = 40
"""The most rows of a table; the JSON has all."""
JsonObject = Mapping[str, Any]
_INTRO = (
    "Noise is the price. It is of the same size on every count, however many people stand behind "
    "it: large counts hardly feel it, and small ones drown."
)


def render_usefulness(useful: JsonObject, errors: JsonObject | None = None) -> Section:
    """The whole section."""
    return Section(
        HEADING,
        (_INTRO,),
        (
            *_noise(useful),
            *_marginals(useful),
            *_compared(errors),
            *_cost(useful, {} if errors is None else errors["found"] or {}),
        ),
    )


def _noise(useful: JsonObject) -> list[Block]:
    rows = tuple(
        (one["what"], one["mechanism"], one["times"], format_real(one["scale"]), _deviation(one))
        for one in useful["steps"]
    )
    head = ("what was looked at", "mechanism", "times", "scale", "standard deviation")
    deviation = useful["deviation"]
    told = KeyFacts(
        (
            Fact(
                "typical noise",
                f"±{format_real(deviation)}",
                "people on a count, standard deviation",
            ),
            Fact("seldom beyond", f"±{format_real(2 * deviation)}", "two standard deviations"),
        )
    )
    return [told, Table(head, rows, "Every look at the rows")]


def _deviation(step: JsonObject) -> str:
    return "–" if step["deviation"] is None else f"±{format_real(step['deviation'])}"


def _marginals(useful: JsonObject) -> list[Block]:
    """What was counted, beside its noise; of a synthetic table the counts are not published."""
    rows, more = useful["marginals"], len(useful["marginals"]) - MAX_ROWS
    if not rows:
        return []
    counted = all(one["per_cell"] is not None for one in rows)
    head = (
        "counted together",
        "cells",
        "people in a cell",
        "noise of a count",
        "of an estimate",
        "could be noise",
    )
    table = tuple(_marginal(one)[: None if counted else 2] for one in rows[:MAX_ROWS])
    rest = f", and {more:,} more" if more > 0 else ""
    told = (
        "People in a cell: on average, by the noisy counts. Noise is told by its standard "
        "deviation: of a count as it was drawn, and of the estimate beside it, which agrees with "
        "all other tables. Last is the share of counts that could be noise alone, being less than "
        "twice theirs: read them together with others.",
    )
    return [
        Text("What was counted", told if counted else ()),
        Table(head[: None if counted else 2], table, f"The marginals{rest}"),
    ]


def _marginal(one: JsonObject) -> tuple[Any, ...]:
    if one["per_cell"] is None:
        return one["name"], one["cells"]
    lost, average = format_percent(one["lost"], one["cells"]), format_real(one["per_cell"])
    spreads = (f"±{format_real(one[key])}" for key in ("deviation", "estimate_deviation"))
    return one["name"], one["cells"], average, *spreads, lost


def _compared(errors: JsonObject | None) -> list[Block]:
    """Beside the original: how far columns and pairs have moved, and what a count is off by."""
    if errors is None:
        return []
    told = (
        "How far distributions have moved from the original's: 0% is the same, 100% has nothing "
        "in common with it (total variation). This is not public.",
    )
    blocks: list[Block] = [Text("Beside the original", told), KeyFacts(tuple(_moved(errors)))]
    columns = tuple((name, format_percent(one, 1)) for name, one in errors["columns"].items())
    pairs = sorted(errors["pairs"], key=lambda one: -one["distance"])
    rows = tuple((" × ".join(one["columns"]), format_percent(one["distance"], 1)) for one in pairs)
    blocks.append(Table(("column", "moved by"), columns, "Columns"))
    blocks.append(Table(("pair of columns", "moved by"), rows[:MAX_ROWS], "Pairs, the worst first"))
    return blocks


def _cost(useful: JsonObject, found: JsonObject) -> list[Block]:
    """What noise costs at this and at other epsilons: by theory, and here as it was found."""
    if not useful["points"]:
        return []
    none: dict[str, Any] = {"counts": None, "consistent": None}
    points = [
        {**none, **one, **(found if one["epsilon"] == useful["epsilon"] else {})}
        for one in useful["points"]
    ]
    said = "The points are of this release; the" if found else "The"
    note = f"{said} dashed line is what the same marginals would cost at another ε."
    return [Chart(chart_error(points), note)]


def _moved(errors: JsonObject) -> list[Fact]:
    facts = [
        Fact(
            "lost in all", format_percent(errors["marginals"], 1), "of what a table of * would lose"
        ),
        Fact(
            "of which bins alone",
            format_percent(errors["bins"], 1),
            "exact counts in the same bins would lose as much",
        ),
    ]
    if (found := errors.get("found")) is not None:
        facts.append(Fact("a count is off by", format_real(found["counts"]), "people on average"))
        facts.append(
            Fact("an estimate by", format_real(found["consistent"]), "after all counts agree")
        )
    return facts
