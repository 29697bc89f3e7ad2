"""What colluding providers could do to a release: the chart of survival, the table of attackers.

`chart_survival` shows extremes of classes and comes from the private companion: it is for the
publisher and for partners who share a pool, not for the public. None of this shows what providers
know besides their own rows.

Goryczka, Xiong, Fung: m-Privacy for collaborative data publishing, CollaborateCom 2011 (section I
for the attackers).
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.reports.charts.axes import DRAW_ONCE, THRESHOLD_LINE, colour_scale
from shoal.reports.charts.theme import COLOUR, Spec, make_chart, make_empty_chart
from shoal.reports.document import Table

MAX_LABELS = 15
"""More members than this are not numbered one by one."""
BAR = 0.42
"""From the middle of a column to its edge, in members."""
OF_ONE = "(in them nobody can be told by taking rows away: all are one provider's own people)"
"""What it means that a class has one provider."""
TOP = 1.28
"""Where the drawing ends, all classes being 1: above the columns there is room for words."""


def tabulate_attackers(
    rule: str,
    promised: Sequence[tuple[int, str]],
    measured: str = "",
    *,
    outside_holds: bool = True,
    inside_holds: bool = True,
) -> Table:
    """The paper's three attackers, and what protects against each in this release.

    ``rule`` holds for the published table; ``promised`` are the members that are to be withstood,
    with the rule they are to leave intact (none: nothing is promised, and ``measured`` says what
    was found instead). The rule holds against outsiders, the promise against coalitions, or not.
    """
    inside = " ".join(describe_m_privacy(m, intact_rule) for m, intact_rule in promised)
    if not promised:
        inside = f"Nothing is promised. {measured}".strip()
    return Table(
        ("who", "what they have", "what protects here"),
        (
            (
                "an outside recipient",
                "the published table",
                f"The rule itself: {rule}.{'' if outside_holds else FAILED}",
            ),
            ("a provider who takes part in making it", *_INTERMEDIATE),
            (
                "providers who work together",
                "the published table, and all their own rows",
                f"{inside}{'' if inside_holds else FAILED}",
            ),
        ),
        "Three ways to attack a table that several providers made",
    )


FAILED = " It does NOT hold for this release."
_INTERMEDIATE = (
    "what is exchanged before the table is ready, and its own rows",
    "Nothing is exchanged: one machine, a trusted third party, sees all rows and gives out the "
    "finished table only. Without one, a secure multi-party protocol would be needed; Shoal has "
    "none.",
)


def describe_m_privacy(m: int, rule: str) -> str:
    """What m-privacy promises.

    >>> describe_m_privacy(1, "k-anonymity k=5")
    'm-privacy with m = 1: k-anonymity k=5 still holds when any provider takes its own rows away.'
    """
    subject = "any provider takes its" if m == 1 else f"any {m:,} providers take their"
    return f"m-privacy with m = {m:,}: {rule} still holds when {subject} own rows away."


def chart_survival(
    counts: Sequence[int], classes: int, promised: int | None = None, rule: str = "the rule"
) -> Spec:
    """For 0, 1, … members the classes, of so many, that still meet the rule without their rows.

    ``promised``: the m of the release. Columns end where more members change nothing.
    """
    if not counts or not classes:
        return make_empty_chart("No class was published")
    drawn = cut_when_settled(counts, promised)
    step = -(-len(drawn) // MAX_LABELS)
    values = [
        {
            "m": m,
            "low": m - BAR,
            "high": m + BAR,
            "share": count / classes,
            "survive": int(count),
            "broken": int(classes - count),
            "text": f"{count:,}" if m % step == 0 else "",
            "side": SIDES[count < classes],
        }
        for m, count in enumerate(drawn)
    ]
    return make_chart(
        describe_survival(counts, classes),
        f"Columns: how many of {classes:,} classes still meet {rule} when the worst coalition of "
        "so many providers takes its own rows away."
        + ("" if promised is None else f" Tinted: what is promised, up to m = {promised}."),
        values,
        {"m": "Members", "survive": "Classes that survive", "broken": "Classes that break"},
        height=230,
        layer=[
            *_promised_tint(promised, len(drawn), step, classes),
            *_columns(values, len(drawn), step, classes),
        ],
    )


SIDES = ("every class survives", "some classes break")


def cut_when_settled(counts: Sequence[int], promised: int | None = None) -> list[int]:
    """The numbers up to one after the last that differs, and up to what is promised.

    >>> cut_when_settled([9, 9, 4, 2, 2, 2, 2]), cut_when_settled([9, 9, 9, 9], 2)
    ([9, 9, 4, 2, 2], [9, 9, 9, 9])
    """
    last = max((i for i in range(1, len(counts)) if counts[i] != counts[i - 1]), default=0)
    end = max(last + 1, (promised or 0) + 1, 2)
    return [int(count) for count in counts[: end + 1]]


def describe_survival(counts: Sequence[int], classes: int) -> str:
    """What the numbers say: how many may work together, and what one more does.

    >>> describe_survival([9, 9, 4], 9)
    'Any one provider can be withstood in every class; 2 working together break 5 of 9'
    """
    safe = next((m for m, count in enumerate(counts) if count < classes), len(counts)) - 1
    if safe < 0:
        return f"By itself, with no coalition, the rule fails in {classes - counts[0]:,} of " + (
            f"{classes:,} classes"
        )
    if safe == len(counts) - 1:
        return f"However many of the {len(counts):,} providers work together, every class survives"
    broken = f"{classes - counts[safe + 1]:,} of {classes:,}"
    if safe == 0:
        return f"A single provider, without any other, breaks {broken} classes"
    subject = "Any one provider" if safe == 1 else f"Any {safe:,} providers"
    return (
        f"{subject} can be withstood in every class; {safe + 1:,} working together break {broken}"
    )


def _columns(values: Sequence[Spec], many: int, step: int, classes: int) -> list[Spec]:
    broken = any(column["side"] == SIDES[1] for column in values)
    tone = (
        colour_scale("side", SIDES, ("after", "before")) if broken else {"value": COLOUR["after"]}
    )
    x, y = _members_axis(many, step), {"field": "share", **_survivors_axis(classes)}
    return [
        {
            "mark": {"type": "rect", "cornerRadiusTopLeft": 3, "cornerRadiusTopRight": 3},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "y": y,
                "y2": {"datum": 0},
                "color": tone,
            },
        },
        {
            "mark": {"type": "text", "baseline": "bottom", "dy": -5},
            "encoding": {
                "x": {**x, "field": "m"},
                "y": y,
                "text": {"field": "text"},
                "color": {"value": COLOUR["quiet"]},
            },
        },
    ]


def _members_axis(many: int, step: int) -> Spec:
    return {
        "type": "quantitative",
        "scale": {"domain": list(_ends(many)), "nice": False},
        "axis": {
            "title": "m: providers who work together and take their own rows away",
            "values": list(range(0, many, step)),
            "format": "d",
            "labelOverlap": False,
            "grid": False,
        },
    }


def _ends(many: int) -> tuple[float, float]:
    # Room for half a column at either side, and for its number where columns are narrow.
    room = max(0.6, 0.03 * many)
    return -room, many - 1 + room


def _survivors_axis(classes: int) -> Spec:
    quiet: Spec = {"labels": False, "grid": False, "domain": False, "titleAnchor": "middle"}
    return {
        "type": "quantitative",
        "axis": quiet | {"title": f"classes that survive, of {classes:,}"},
        "scale": {"domain": [0, TOP], "nice": False},
    }


def _promised_tint(promised: int | None, many: int, step: int, classes: int) -> list[Spec]:
    if promised is None:
        return []
    x, y = {**_members_axis(many, step), "datum": _ends(many)[0]}, _survivors_axis(classes)
    foot, edge = {**y, "datum": 0}, promised + 0.5
    words = {
        "type": "text",
        "color": COLOUR["ink"],
        "align": "left",
        "fontSize": 12.5,
        "baseline": "top",
        "dx": 8,
        "dy": 7,
    }
    high = {"y": foot, "y2": {"datum": TOP}}
    text_x = x if edge > 0.22 * many else {**x, "datum": edge}  # a narrow tint holds no words
    return [
        {
            **DRAW_ONCE,
            "mark": {"type": "rect", "color": COLOUR["band"], "opacity": 0.6},
            "encoding": {"x": x, "x2": {"datum": edge}, **high},
        },
        {**DRAW_ONCE, "mark": THRESHOLD_LINE, "encoding": {"x": {**x, "datum": edge}, **high}},
        {
            **DRAW_ONCE,
            "mark": words,
            "encoding": {
                "x": text_x,
                "y": {**y, "datum": TOP},
                "text": {"value": f"promised: up to m = {promised}"},
            },
        },
    ]
