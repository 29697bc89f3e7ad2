"""Charts of adversarial testing: on whom each attack succeeds, and how sure it makes somebody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.reports.charts.axes import names_axis
from shoal.reports.charts.theme import COLOUR, Spec, make_chart
from shoal.reports.format import (
    format_percent,
    has_enough_people,
    round_share,
    speak_share,
    state_count,
    state_share,
)


@dataclass(frozen=True)
class AttackResult:
    """One attack: whom it was tried on, on whom it succeeded, and against what that counts."""

    name: str
    people: int
    exposed: int
    sure: float = 0.0
    guessing: float = 0.0
    control: float | None = None


def chart_attacks(found: Sequence[AttackResult], fewest: int = 1, title: str = "") -> Spec:
    """The share of people on whom each attack succeeds; a tick shows a control group.

    ``title`` for who can say what the first one's success means.
    """
    values = [_attack_bar(one, fewest) for one in found]
    told = {"people": "People", "exposed": "Exposed"} if fewest <= 1 else {}
    return make_chart(
        title or _attack_title(found, fewest),
        "Bars: the share of the attacked people on whom each attack succeeds.",
        values,
        {"label": "Attack", **told, "text": "Share", "control_text": "Control group"},
        height={"step": 34},
        encoding={
            "y": names_axis("label", [str(v["label"]) for v in values]),
            "x": _whole("share", 1.55),
        },
        layer=[
            {
                "mark": {"type": "bar", "height": 18, "color": COLOUR["track"]},
                "encoding": {"x": {"datum": 0}, "x2": {"datum": 1}},
            },
            {"mark": {"type": "bar", "height": 18, "color": COLOUR["alarm"]}},
            {
                "transform": [{"filter": "isValid(datum.control)"}],
                "mark": {"type": "tick", "size": 26, "thickness": 2.5, "color": COLOUR["ink"]},
                "encoding": {"x": _whole("control", 1.55)},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 12, "fontSize": 12.5},
                "encoding": {
                    "x": _whole("one", 1.55),
                    "text": {"field": "line"},
                    "color": {"value": COLOUR["quiet"]},
                },
            },
        ],
    )


def _attack_bar(one: AttackResult, fewest: int) -> Spec:
    exact = {"people": one.people, "exposed": one.exposed} if fewest <= 1 else {}
    text, line = _attack_words(one, fewest)
    control = one.control if fewest <= 1 else None
    return {
        "label": one.name,
        **exact,
        "share": round_share(one.exposed, one.people, fewest),
        "text": text,
        "line": line,
        "control": control,
        "control_text": "–" if control is None else format_percent(control, 1),
        "one": 1,
    }


def _attack_words(one: AttackResult, fewest: int) -> tuple[str, str]:
    """The share, and the line beside the bar."""
    if not has_enough_people(one.people, fewest):
        return "–", "tried on too few people"
    text, people = state_share(one.exposed, one.people, fewest), state_count(one.people, fewest)
    if not one.exposed:
        return text, f"nobody of {people}"
    return text, f"{text} · {state_count(one.exposed, fewest)} of {people}"


def _attack_title(found: Sequence[AttackResult], fewest: int) -> str:
    """What the first attack that succeeds does: they come with the worst first."""
    if not found:
        return "No attack could be run"
    worst = next((one for one in found if one.exposed), None)
    if worst is None:
        several = len(found) > 1
        return f"None of {len(found)} attacks succeeds" if several else "The attack fails"
    part = speak_share(state_share(worst.exposed, worst.people, fewest))
    return f"{worst.name.capitalize()} succeeds on {part} of the people it was tried on"


def chart_certainty(found: Sequence[AttackResult]) -> Spec:
    """How sure each attack makes the adversary of the worst-hit person, against guessing."""
    values = [
        {
            "label": one.name,
            "guessing": one.guessing,
            "sure": one.sure,
            "guess_text": format_percent(one.guessing, 1),
            "sure_text": format_percent(one.sure, 1),
        }
        for one in found
    ]
    # An attack that succeeds on nobody leaves no doubt only where the table itself left none.
    certain = sum(one.sure >= 1 and one.exposed > 0 for one in found)
    return make_chart(
        _certain_title(certain, len(found)),
        "Lines: how sure the adversary is of the worst-hit person, from guessing to the attack.",
        values,
        {"label": "Attack", "guess_text": "Guessing", "sure_text": "After the attack"},
        height={"step": 34},
        encoding={
            "y": names_axis("label", [str(v["label"]) for v in values]),
            "x": _sureness("guessing"),
        },
        layer=[
            {
                "mark": {"type": "bar", "height": 3, "color": COLOUR["track"]},
                "encoding": {"x": {"datum": 0}, "x2": {"datum": 1}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3, "color": COLOUR["rest"]},
                "encoding": {"x2": {"field": "sure"}},
            },
            {"mark": {"type": "circle", "size": 110, "opacity": 1, "color": COLOUR["quiet"]}},
            {
                "mark": {"type": "circle", "size": 150, "opacity": 1, "color": COLOUR["alarm"]},
                "encoding": {"x": _sureness("sure")},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 12},
                "encoding": {
                    "x": _sureness("sure"),
                    "text": {"field": "sure_text"},
                    "color": {"value": COLOUR["quiet"]},
                },
            },
        ],
    )


def _certain_title(certain: int, tried: int) -> str:
    if not certain:
        return "No attack is certain about anybody"
    verb = "leaves" if certain == 1 else "leave"
    return f"{certain} of {tried} attacks {verb} no doubt about the worst-hit person"


def _sureness(field: str) -> Spec:
    return _whole(field, 1.12, "how sure of the worst-hit: by guessing (grey), by the attack (red)")


def _whole(field: str, room: float, title: str = "") -> Spec:
    """A scale whose 1 is everybody, with some room after it for words."""
    quiet: Spec = {"labels": False, "grid": False, "domain": False, "title": title}
    return {
        "field": field,
        "type": "quantitative",
        "axis": quiet if title else None,
        "scale": {"domain": [0, room], "nice": False},
    }
