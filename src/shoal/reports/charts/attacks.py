"""Charts of adversarial testing: on whom each attack succeeds, and with what confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.reports.charts.axes import draw_track, names_axis, number_axis
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
    """One attack: the people it was tried on, those it exposed, and what to compare that with.

    ``confidence`` is that in the worst-hit person's value; ``baseline`` is that of guessing.
    """

    name: str
    people: int
    exposed: int
    confidence: float = 0.0
    baseline: float = 0.0
    control: float | None = None


def chart_attacks(attacks: Sequence[AttackResult], fewest: int = 1, title: str = "") -> Spec:
    """The share of people on whom each attack succeeds; a tick shows a control group.

    ``title`` replaces the one that states the first attack's success.
    """
    values = [_attack_bar(attack, fewest) for attack in attacks]
    count_columns = {"people": "People", "exposed": "Exposed"} if fewest <= 1 else {}
    return make_chart(
        title or _attack_title(attacks, fewest),
        "Bars: the share of the attacked people on whom each attack succeeds.",
        values,
        {"label": "Attack", **count_columns, "text": "Share", "control_text": "Control group"},
        height={"step": 34},
        encoding={
            "y": names_axis("label", [str(v["label"]) for v in values]),
            "x": _share_axis("share", 1.55),
        },
        layer=[
            draw_track(18),
            {"mark": {"type": "bar", "height": 18, "color": COLOUR["alarm"]}},
            {
                "transform": [{"filter": "isValid(datum.control)"}],
                "mark": {"type": "tick", "size": 26, "thickness": 2.5, "color": COLOUR["ink"]},
                "encoding": {"x": _share_axis("control", 1.55)},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 12, "fontSize": 12.5},
                "encoding": {
                    "x": _share_axis("one", 1.55),
                    "text": {"field": "line"},
                    "color": {"value": COLOUR["quiet"]},
                },
            },
        ],
    )


def _attack_bar(attack: AttackResult, fewest: int) -> Spec:
    exact = {"people": attack.people, "exposed": attack.exposed} if fewest <= 1 else {}
    text, line = _attack_words(attack, fewest)
    control = attack.control if fewest <= 1 else None
    return {
        "label": attack.name,
        **exact,
        "share": round_share(attack.exposed, attack.people, fewest),
        "text": text,
        "line": line,
        "control": control,
        "control_text": "–" if control is None else format_percent(control, 1),
        "one": 1,
    }


def _attack_words(attack: AttackResult, fewest: int) -> tuple[str, str]:
    if not has_enough_people(attack.people, fewest):
        return "–", "tried on too few people"
    text, people = (
        state_share(attack.exposed, attack.people, fewest),
        state_count(attack.people, fewest),
    )
    if not attack.exposed:
        return text, f"nobody of {people}"
    return text, f"{text} · {state_count(attack.exposed, fewest)} of {people}"


def _attack_title(attacks: Sequence[AttackResult], fewest: int) -> str:
    if not attacks:
        return "No attack could be run"
    # The worst attack comes first.
    worst = next((attack for attack in attacks if attack.exposed), None)
    if worst is None:
        several = len(attacks) > 1
        return f"None of {len(attacks)} attacks succeeds" if several else "The attack fails"
    part = speak_share(state_share(worst.exposed, worst.people, fewest))
    return f"{worst.name.capitalize()} succeeds on {part} of the people it was tried on"


def chart_certainty(attacks: Sequence[AttackResult]) -> Spec:
    """The confidence that each attack gives about the worst-hit person, against guessing."""
    values = [
        {
            "label": attack.name,
            "guessing": attack.baseline,
            "sure": attack.confidence,
            "guess_text": format_percent(attack.baseline, 1),
            "sure_text": format_percent(attack.confidence, 1),
        }
        for attack in attacks
    ]
    # An attack that succeeds on nobody leaves no doubt only where the table itself left none.
    certain = sum(attack.confidence >= 1 and attack.exposed > 0 for attack in attacks)
    return make_chart(
        _certain_title(certain, len(attacks)),
        "Lines: how sure the adversary is of the worst-hit person, from guessing to the attack.",
        values,
        {"label": "Attack", "guess_text": "Guessing", "sure_text": "After the attack"},
        height={"step": 34},
        encoding={
            "y": names_axis("label", [str(v["label"]) for v in values]),
            "x": _confidence_axis("guessing"),
        },
        layer=[
            draw_track(3),
            {
                "mark": {"type": "rule", "strokeWidth": 3, "color": COLOUR["rest"]},
                "encoding": {"x2": {"field": "sure"}},
            },
            {"mark": {"type": "circle", "size": 110, "opacity": 1, "color": COLOUR["quiet"]}},
            {
                "mark": {"type": "circle", "size": 150, "opacity": 1, "color": COLOUR["alarm"]},
                "encoding": {"x": _confidence_axis("sure")},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 12},
                "encoding": {
                    "x": _confidence_axis("sure"),
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


def _confidence_axis(field: str) -> Spec:
    return _share_axis(
        field, 1.12, "how sure of the worst-hit: by guessing (grey), by the attack (red)"
    )


def _share_axis(field: str, room: float, title: str = "") -> Spec:
    # 1 is everybody; after it there is room for words.
    axis = {"labels": False, "grid": False, "domain": False, "title": title} if title else None
    return number_axis(field, (0, room), axis)
