"""Differential privacy: a report's part on what noise promises, and what that means for a person.

All of it is public. The promise is the manifest's ``privacy`` (in the vocabulary of public
registries of deployments: definition, model, unit, neighbours, epsilon, delta, mechanism …). Its
meaning is that of `shoal.dp.semantics` for the people whom the release is about by its own account,
or as many as the steward writes; beliefs before are the steward's, or a few examples.

Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy, KDD
2008, section 4. The promise is about the mechanism: nothing that is counted in a file can show it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from shoal.core.spend import Spend, format_budget, to_exact
from shoal.dp.beliefs import CHANGE, PRESENCE, Prior, compute_belief_curves
from shoal.dp.semantics import semantic_privacy
from shoal.releases.forms._noise.answers import read_answers
from shoal.releases.forms._noise.notes import list_cautions
from shoal.releases.options import RANDOMISED
from shoal.reports.charts.belief import chart_beliefs as beliefs_chart
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
from shoal.reports.format import format_percent, format_real, speak_share
from shoal.verbs.estimates import estimates

HEADING = "Differential privacy"
JsonObject = Mapping[str, Any]
_INTRO = (
    "Chance decides a part of what is published, so that it hardly depends on any one person; how "
    "little, ε says. That holds whatever else somebody knows, or will come to know."
)
LABEL = {
    "definition": "Definition",
    "model": "Model",
    "unit": "Unit of protection",
    "neighbours": "Neighbouring tables",
    "epsilon": "ε (epsilon)",
    "delta": "δ (delta)",
    "rho": "ρ (rho)",
    "mechanism": "Mechanism",
    "scale": "Scale of the noise",
    "sensitivity": "Sensitivity",
    "composition": "Composition",
    "randomness": "Randomness",
    "post_processing": "Post-processing",
    "keep": "Chance of a true answer",
    "partition": "Classes",
}
"""What the label states, in its order; whatever else the manifest says follows under its name."""
_MODELS = {"central": "central: one publisher holds the true table, and adds the noise"}
_ABOUT = {
    "being in the table": "that a person is in the table",
    "a value": "that a person who is in it has a certain value",
    "a statement": "that a person has a certain sensitive value",
}
_APART = ("not_protected", "steps")
"""What is told by itself, or with the noise's size."""
MAX_ROWS = 40
"""The most values that are told; the JSON has all."""
EXAMPLES = (0.01, 0.1, 0.5)
"""What somebody may believe before, where nobody says."""
SHOWN = 0.1
"""The one of these that is drawn."""


def explain_noise_promise(
    manifest: Mapping[str, Any], prior: Prior | None = None, people: int | None = None
) -> dict[str, Any] | None:
    """What is promised, in plain values that the page is drawn from; None: no noise, no promise.

    Of answers it is said besides, by `estimate_answers`, what can be learnt from them.
    """
    privacy = manifest.get("privacy")
    if privacy is None:
        return None
    spend = Spend.from_json(privacy)
    kind = CHANGE if manifest["form"] == RANDOMISED else PRESENCE
    priors, shown = (EXAMPLES, SHOWN) if prior is None else ((prior,), prior)
    said = semantic_privacy(spend.epsilon, spend.delta, people, shown, kind)
    beliefs = [
        belief.to_json()
        for one in priors
        for belief in semantic_privacy(spend.epsilon, spend.delta, people, one, kind).beliefs
    ]
    return {
        "privacy": dict(privacy),
        "words": {name: format_budget(to_exact(one)) for name, one in spend.to_json().items()},
        "releasable": manifest.get("releasable", True) is True,
        "meaning": said.to_json(),
        "curves": compute_belief_curves(float(spend.epsilon), said.even.exponent),
        "beliefs": beliefs,
        "cautions": list_cautions(spend, people),
        "examples": prior is None,
    }


def estimate_answers(release: Any, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How many people have each value, by the answers of a randomised release."""
    return [estimates(release, name).to_json() for name in read_answers(manifest)]


def build_promise_section(told: Mapping[str, Any] | None) -> list[Section]:
    """The section of the page, where there is a promise."""
    return [] if told is None else [render_promise(told)]


def render_promise(told: JsonObject) -> Section:
    """The whole section, of what `explain_noise_promise` says."""
    privacy = told["privacy"]
    return Section(
        HEADING,
        (_INTRO,),
        (
            *_seeded(told["releasable"]),
            Text("What is promised", (_promise(privacy, told["words"]),)),
            Fields(tuple(list_promise_facts(privacy, told["words"]))),
            *_meant(told),
            *_estimated(told.get("estimates", ())),
            *_open(privacy.get("not_protected", ())),
        ),
    )


def render_promise_warnings(told: JsonObject | None) -> list[Block]:
    """What must not be missed: that nothing is promised, or next to nothing."""
    if told is None:
        return []
    meaning = told["meaning"]
    if not told["releasable"] or not (meaning["vacuous"] or told["cautions"]):
        return _seeded(told["releasable"])
    if told["cautions"]:
        return [Callout(" ".join(told["cautions"]), "warning", "Little is promised")]
    at = f"ε {told['words']['epsilon']}"
    said = f"No bound on what anybody can come to believe of a person says anything at {at}."
    return [Callout(said, "warning", "Little is promised")]


def _seeded(releasable: bool) -> list[Block]:
    """That nothing is promised where the noise can be drawn again."""
    if releasable:
        return []
    why = (
        "Its noise was drawn from a seed, for a test or a study. Whoever has or guesses the seed "
        "takes the noise away again: nothing of what is stated here is promised to anybody."
    )
    return [Callout(why, "danger", "Not to be released")]


def _promise(privacy: JsonObject, words: JsonObject) -> str:
    """The definition with this release's numbers."""
    factor = format_real(math.exp(min(float(Fraction(privacy["epsilon"])), 700)))
    slack = Fraction(privacy["delta"])
    but = f", but for an added chance of {words['delta']} (δ)" if slack else ""
    return (
        f"Take two {_tables(privacy['neighbours'])}. Whatever may be published, the chance of it "
        f"is at most {factor} times (e^ε) as large from the one as from the other{but}."
    )


def _tables(neighbours: str) -> str:
    return neighbours if neighbours.startswith("tables") else f"neighbouring tables ({neighbours})"


def list_promise_facts(privacy: JsonObject, words: JsonObject) -> list[Fact]:
    """What is promised, line by line; ``words`` are its exact numbers, as they are read."""
    more = [key for key in privacy if key not in LABEL and key not in _APART]
    names = {**LABEL, **{key: key.replace("_", " ").capitalize() for key in more}}
    there = {key: name for key, name in names.items() if privacy.get(key) not in (None, "", [])}
    return [Fact(name, words.get(key) or _line(key, privacy[key])) for key, name in there.items()]


def _line(key: str, value: Any) -> str:
    if key == "keep":
        return ", ".join(f"{name} {_chances(chance)}" for name, chance in value.items())
    if key == "model":
        return _MODELS.get(str(value), str(value))
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_line(name, one)}" for name, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "; ".join(_line("", one) for one in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _chances(chance: float) -> str:
    return format_percent(chance, 1) if chance > 0.995 else f"{100 * chance:.1f}%"


# What it means


def _meant(told: JsonObject) -> list[Block]:
    meaning = told["meaning"]
    said = (
        "Somebody may know everything about everybody else, and have other tables beside this "
        f"one. What they come to believe is compared with what they would believe {_else(meaning)} "
        "What differs between the two is all that the person's own data gave away. This is how "
        "far the two can be apart, at most, in the probability of anything:"
    )
    return [
        Text("What it means for a person", (said,)),
        KeyFacts(tuple(_bounds(meaning))),
        *_vacuous(meaning, told["words"]),
        *_weak(meaning),
        *_before_and_after(told),
        Chart(
            beliefs_chart(meaning, told["curves"]),
            "Drawn for what is believed of a person's value.",
        ),
    ]


def _else(meaning: JsonObject) -> str:
    if meaning["neighbours"] == "change":
        return "had the person other sensitive values."
    return "had the person not been in the table at all."


def _bounds(meaning: JsonObject) -> list[Fact]:
    """How far two beliefs can be apart, by the theorem of the paper and by the tightest bound."""
    facts = []
    for key, name in (("tight", meaning["tight"]["name"]), ("paper", "bound of the paper")):
        bound, said = meaning[key], _FORMULAS.get(meaning[key]["name"], "")
        value = "vacuous" if bound["vacuous"] else f"≤{format_percent(bound['distance'], 1)}"
        value += " (weak)" if bound["weak"] else ""
        often = f", failing by a chance of {_plain(bound['delta'])}" if bound["chance"] == 1 else ""
        facts.append(Fact(name, value, f"{said} = {_plain(bound['epsilon'])}{often}"))
    if told := [meaning[key]["chance"] for key in ("tight", "paper") if _says(meaning[key])]:
        people = meaning["people"]
        whom = "one person" if people is None else f"any of {people:,} people"
        facts.append(Fact("failing by chance", _chance(min(told)), f"for {whom}"))
    return facts


_FORMULAS = {
    "tight bound": "tanh(ε/2)",
    "tighter bound": "tanh(ε/2) + √(nδ)",
    "proposition 14": "proposition 14: e^ε − 1",
    "theorem 15": "theorem 15: e^3ε − 1 + 2√δ",
}


def _plain(value: float | str) -> str:
    """A number as JSON has it: beyond all floats it is text."""
    return value if isinstance(value, str) else format_real(value)


def _says(bound: JsonObject) -> bool:
    return bool(bound["delta"]) and not bound["vacuous"]


def _chance(chance: float) -> str:
    return f"≤{chance:.2g}" if chance < 0.001 else f"≤{format_percent(chance, 1)}"


def _vacuous(meaning: JsonObject, words: JsonObject) -> list[Block]:
    """A bound of 1 or more, or one that may always fail, says nothing; the other may still do."""
    if not (meaning["paper"]["vacuous"] or meaning["tight"]["vacuous"]):
        return []
    at = f"ε {words['epsilon']}"
    at += f" and δ {words['delta']}" if Fraction(meaning["delta"]) else ""
    if meaning["vacuous"]:
        told = (
            f"At {at} each bound on what anybody comes to believe is 1 or more, or may fail by a "
            "chance of 1 or more: with a smaller δ it would say something. What holds is the "
            "definition above, and what follows from it for the beliefs below."
            if Fraction(meaning["delta"])
            else f"At {at} each bound on what anybody comes to believe is 1 or more. What holds is "
            "the definition above, and what follows from it for the beliefs below."
        )
        return [Callout(told, "warning", "The bounds are vacuous")]
    named = meaning["paper" if meaning["paper"]["vacuous"] else "tight"]["name"]
    told = (
        f"At {at} the bound of {named} says nothing: it, or its chance to fail, is 1 or more. "
        "The other holds."
    )
    return [Callout(told, "note", "One bound is vacuous")]


def _weak(meaning: JsonObject) -> list[Block]:
    """A bound that fails too often is not to be relied on."""
    if not any(meaning[key]["weak"] for key in ("tight", "paper")):
        return []
    told = (
        "A bound that fails with a chance of more than 5% says little: a smaller δ makes it fail "
        "less often."
    )
    return [Callout(told, "warning", "A bound is weak")]


def _before_and_after(told: JsonObject) -> list[Block]:
    """Beliefs about one person, to whom the other rows say nothing about this one."""
    beliefs = sorted(told["beliefs"], key=lambda one: one["about"] == "a value")  # presence first
    failing = any(one["failing"] for one in beliefs)
    head = ("what is believed", "before", "after, at least", "after, at most", "but by chance")
    rows = tuple(_belief(one)[: 5 if failing else 4] for one in beliefs)
    asked = "for example" if told["examples"] else "as was asked"
    said = (
        f"What somebody believes before ({asked}), and what they can believe after, if they know "
        "all others in the table, or if these say nothing about this person."
    )
    more = " Ask about a belief of your own: `--prior 0.2`." if told["examples"] else ""
    return [
        Text("Belief before and after", (said + more,)),
        Table(head[: 5 if failing else 4], rows),
    ]


def _belief(one: JsonObject) -> tuple[str, ...]:
    before, low, high = (format_percent(one[key], 1) for key in ("before", "at_least", "at_most"))
    return _about(one), before, low, high, f"{one['failing']:.2g}"


def _about(belief: JsonObject) -> str:
    """What is believed; a value that somebody named is told by its name."""
    return _ABOUT.get(belief["about"], str(belief["about"]))


def summarise_promise(told: JsonObject) -> Fact:
    """One belief, for the numbers to see first: of those in the chart the one that moves most."""
    beliefs = told["meaning"]["beliefs"]
    one = max(beliefs, key=lambda belief: belief["at_most"] - belief["before"])
    most, before = format_percent(one["at_most"], 1), speak_share(format_percent(one["before"], 1))
    but = f", but for a chance of {one['failing']:.2g}" if one["failing"] else ""
    return Fact("belief, at most", most, f"{_about(one)}, by their own row; {before} before{but}")


# What can be learnt all the same


def _estimated(tables: Sequence[JsonObject]) -> list[Block]:
    """How many people have each value, by the answers alone."""
    if not tables:
        return []
    said = (
        "Answers are nobody's values for sure, but of many people they tell how many have each "
        "value. Two times in three an estimate is off by less than its standard error."
    )
    head = ("value", "answers", "people, estimated", "standard error")
    return [
        Text("What can be estimated", (said,)),
        *(Table(head, tuple(_estimates(one)), str(one["column"])) for one in tables),
    ]


def _estimates(one: JsonObject) -> list[tuple[Any, ...]]:
    """The estimates for everybody, the commonest value first."""
    columns = (one[key][0] for key in ("answers", "estimated", "error"))  # one group: everybody
    rows = sorted(zip(one["values"], *columns, strict=True), key=lambda row: -row[2])[:MAX_ROWS]
    return [
        (name or "(empty)", answers, round(estimate), f"±{format_real(error)}")
        for name, answers, estimate, error in rows
    ]


# What it leaves open


def _open(lines: Sequence[str]) -> list[Block]:
    if not lines:
        return []
    rows = tuple((line,) for line in lines)
    return [Text("What it does not protect"), Table(("the promise says nothing about",), rows)]
