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
from shoal.reports.charts.belief import chart_beliefs
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
PROMISE_LABELS = {
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
"""What is stated, in this order; whatever else the manifest has follows under its own name."""
_MODELS = {"central": "central: one publisher holds the true table, and adds the noise"}
_ABOUT = {
    "being in the table": "that a person is in the table",
    "a value": "that a person who is in it has a certain value",
    "a statement": "that a person has a certain sensitive value",
}
_SHOWN_ELSEWHERE = ("not_protected", "steps")
"""What is shown by itself, or with the noise's size."""
MAX_ROWS = 40
"""The most values of a table; the JSON has all."""
EXAMPLES = (0.01, 0.1, 0.5)
"""What somebody may believe before, where no prior is given."""
SHOWN = 0.1
"""The one of these that is drawn."""


def explain_noise_promise(
    manifest: Mapping[str, Any], prior: Prior | None = None, people: int | None = None
) -> dict[str, Any] | None:
    """What is promised, in plain values that the page is drawn from; None: no noise, no promise.

    What can be learnt from answers all the same is for `estimate_answers`.
    """
    privacy = manifest.get("privacy")
    if privacy is None:
        return None
    spend = Spend.from_json(privacy)
    kind = CHANGE if manifest["form"] == RANDOMISED else PRESENCE
    priors, shown = (EXAMPLES, SHOWN) if prior is None else ((prior,), prior)
    meaning = semantic_privacy(spend.epsilon, spend.delta, people, shown, kind)
    meanings = [semantic_privacy(spend.epsilon, spend.delta, people, p, kind) for p in priors]
    return {
        "privacy": dict(privacy),
        "words": {name: format_budget(to_exact(value)) for name, value in spend.to_json().items()},
        "releasable": manifest.get("releasable", True) is True,
        "meaning": meaning.to_json(),
        "curves": compute_belief_curves(float(spend.epsilon), meaning.even.exponent),
        "beliefs": [belief.to_json() for each in meanings for belief in each.beliefs],
        "cautions": list_cautions(spend, people),
        "examples": prior is None,
    }


def estimate_answers(release: Any, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How many people have each value, by the answers of a randomised release."""
    return [estimates(release, name).to_json() for name in read_answers(manifest)]


# The page


def render_promise(promise: JsonObject) -> Section:
    """The whole section, of what `explain_noise_promise` returns."""
    privacy = promise["privacy"]
    return Section(
        HEADING,
        (_INTRO,),
        (
            *_warn_of_seed(promise["releasable"]),
            Text("What is promised", (_state_promise(privacy, promise["words"]),)),
            Fields(tuple(list_promise_facts(privacy, promise["words"]))),
            *_render_meaning(promise),
            *_tabulate_estimates(promise.get("estimates", ())),
            *_list_unprotected(privacy.get("not_protected", ())),
        ),
    )


def render_promise_warnings(promise: JsonObject | None) -> list[Block]:
    """What must not be missed: that nothing is promised, or next to nothing."""
    if promise is None:
        return []
    meaning = promise["meaning"]
    if not promise["releasable"] or not (meaning["vacuous"] or promise["cautions"]):
        return _warn_of_seed(promise["releasable"])
    if promise["cautions"]:
        return [Callout(" ".join(promise["cautions"]), "warning", "Little is promised")]
    at = f"ε {promise['words']['epsilon']}"
    text = f"No bound on what anybody can come to believe of a person says anything at {at}."
    return [Callout(text, "warning", "Little is promised")]


def _warn_of_seed(releasable: bool) -> list[Block]:
    if releasable:
        return []
    why = (
        "Its noise was drawn from a seed, for a test or a study. Whoever has or guesses the seed "
        "takes the noise away again: nothing of what is stated here is promised to anybody."
    )
    return [Callout(why, "danger", "Not to be released")]


def _state_promise(privacy: JsonObject, words: JsonObject) -> str:
    factor = format_real(math.exp(min(float(Fraction(privacy["epsilon"])), 700)))
    tables = str(privacy["neighbours"])
    if not tables.startswith("tables"):
        tables = f"neighbouring tables ({tables})"
    has_delta = Fraction(privacy["delta"]) != 0
    exception = f", but for an added chance of {words['delta']} (δ)" if has_delta else ""
    return (
        f"Take two {tables}. Whatever may be published, the chance of it "
        f"is at most {factor} times (e^ε) as large from the one as from the other{exception}."
    )


def list_promise_facts(privacy: JsonObject, words: JsonObject) -> list[Fact]:
    """What is promised, line by line; ``words`` are its exact numbers, as they are read."""
    others = [key for key in privacy if key not in PROMISE_LABELS and key not in _SHOWN_ELSEWHERE]
    names = {**PROMISE_LABELS, **{key: key.replace("_", " ").capitalize() for key in others}}
    return [
        Fact(name, words.get(key) or _format_entry(key, privacy[key]))
        for key, name in names.items()
        if privacy.get(key) not in (None, "", [])
    ]


def _format_entry(key: str, value: Any) -> str:
    if key == "keep":
        return ", ".join(f"{name} {_format_share(chance)}" for name, chance in value.items())
    if key == "model":
        return _MODELS.get(str(value), str(value))
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_format_entry(name, part)}" for name, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "; ".join(_format_entry("", part) for part in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _format_share(chance: float) -> str:
    return format_percent(chance, 1) if chance > 0.995 else f"{100 * chance:.1f}%"


# What it means


def _render_meaning(promise: JsonObject) -> list[Block]:
    meaning = promise["meaning"]
    alternative = "had the person not been in the table at all."
    if meaning["neighbours"] == "change":
        alternative = "had the person other sensitive values."
    text = (
        "Somebody may know everything about everybody else, and have other tables beside this "
        f"one. What they come to believe is compared with what they would believe {alternative} "
        "What differs between the two is all that the person's own data gave away. This is how "
        "far the two can be apart, at most, in the probability of anything:"
    )
    return [
        Text("What it means for a person", (text,)),
        KeyFacts(tuple(_list_bounds(meaning))),
        *_warn_of_vacuous_bounds(meaning, promise["words"]),
        *_warn_of_weak_bounds(meaning),
        *_tabulate_beliefs(promise),
        Chart(
            chart_beliefs(meaning, promise["curves"]),
            "Drawn for what is believed of a person's value.",
        ),
    ]


def _list_bounds(meaning: JsonObject) -> list[Fact]:
    """How far two beliefs can be apart, by the theorem of the paper and by the tightest bound."""
    facts = []
    for key, name in (("tight", meaning["tight"]["name"]), ("paper", "bound of the paper")):
        bound, formula = meaning[key], _FORMULAS.get(meaning[key]["name"], "")
        value = "vacuous" if bound["vacuous"] else f"≤{format_percent(bound['distance'], 1)}"
        value += " (weak)" if bound["weak"] else ""
        note = f"{formula} = {_format_json_number(bound['epsilon'])}"
        if bound["chance"] == 1:
            note += f", failing by a chance of {_format_json_number(bound['delta'])}"
        facts.append(Fact(name, value, note))
    bounds = (meaning["tight"], meaning["paper"])
    chances = [each["chance"] for each in bounds if each["delta"] and not each["vacuous"]]
    if chances:
        people, chance = meaning["people"], min(chances)
        whom = "one person" if people is None else f"any of {people:,} people"
        text = f"≤{chance:.2g}" if chance < 0.001 else f"≤{format_percent(chance, 1)}"
        facts.append(Fact("failing by chance", text, f"for {whom}"))
    return facts


_FORMULAS = {
    "tight bound": "tanh(ε/2)",
    "tighter bound": "tanh(ε/2) + √(nδ)",
    "proposition 14": "proposition 14: e^ε − 1",
    "theorem 15": "theorem 15: e^3ε − 1 + 2√δ",
}


def _format_json_number(value: float | str) -> str:
    """Beyond all floats a number is text in JSON."""
    return value if isinstance(value, str) else format_real(value)


def _warn_of_vacuous_bounds(meaning: JsonObject, words: JsonObject) -> list[Block]:
    """A bound of 1 or more, or one that may always fail, says nothing; the other may still do."""
    if not (meaning["paper"]["vacuous"] or meaning["tight"]["vacuous"]):
        return []
    at = f"ε {words['epsilon']}"
    at += f" and δ {words['delta']}" if Fraction(meaning["delta"]) else ""
    if meaning["vacuous"]:
        text = (
            f"At {at} each bound on what anybody comes to believe is 1 or more, or may fail by a "
            "chance of 1 or more: with a smaller δ it would say something. What holds is the "
            "definition above, and what follows from it for the beliefs below."
            if Fraction(meaning["delta"])
            else f"At {at} each bound on what anybody comes to believe is 1 or more. What holds is "
            "the definition above, and what follows from it for the beliefs below."
        )
        return [Callout(text, "warning", "The bounds are vacuous")]
    name = meaning["paper" if meaning["paper"]["vacuous"] else "tight"]["name"]
    text = (
        f"At {at} the bound of {name} says nothing: it, or its chance to fail, is 1 or more. "
        "The other holds."
    )
    return [Callout(text, "note", "One bound is vacuous")]


def _warn_of_weak_bounds(meaning: JsonObject) -> list[Block]:
    if not any(meaning[key]["weak"] for key in ("tight", "paper")):
        return []
    text = (
        "A bound that fails with a chance of more than 5% says little: a smaller δ makes it fail "
        "less often."
    )
    return [Callout(text, "warning", "A bound is weak")]


def _tabulate_beliefs(promise: JsonObject) -> list[Block]:
    """Beliefs about one person, to whom the other rows say nothing about this one."""
    # Presence first.
    beliefs = sorted(promise["beliefs"], key=lambda belief: belief["about"] == "a value")
    failing = any(belief["failing"] for belief in beliefs)
    head = ("what is believed", "before", "after, at least", "after, at most", "but by chance")
    rows = tuple(_make_belief_row(belief)[: 5 if failing else 4] for belief in beliefs)
    source = "for example" if promise["examples"] else "as was asked"
    text = (
        f"What somebody believes before ({source}), and what they can believe after, if they know "
        "all others in the table, or if these say nothing about this person."
    )
    more = " Ask about a belief of your own: `--prior 0.2`." if promise["examples"] else ""
    return [
        Text("Belief before and after", (text + more,)),
        Table(head[: 5 if failing else 4], rows),
    ]


def _make_belief_row(belief: JsonObject) -> tuple[str, ...]:
    before, low, high = (
        format_percent(belief[key], 1) for key in ("before", "at_least", "at_most")
    )
    return _name_belief(belief), before, low, high, f"{belief['failing']:.2g}"


def _name_belief(belief: JsonObject) -> str:
    """What is believed; a value that somebody named stands by its name."""
    return _ABOUT.get(belief["about"], str(belief["about"]))


def summarise_promise(promise: JsonObject) -> Fact:
    """One belief, for the numbers to see first: of those in the chart the one that moves most."""
    beliefs = promise["meaning"]["beliefs"]
    widest = max(beliefs, key=lambda belief: belief["at_most"] - belief["before"])
    before = speak_share(format_percent(widest["before"], 1))
    note = f"{_name_belief(widest)}, by their own row; {before} before"
    if widest["failing"]:
        note += f", but for a chance of {widest['failing']:.2g}"
    return Fact("belief, at most", format_percent(widest["at_most"], 1), note)


# What can be learnt all the same


def _tabulate_estimates(tables: Sequence[JsonObject]) -> list[Block]:
    if not tables:
        return []
    text = (
        "Answers are nobody's values for sure, but of many people they tell how many have each "
        "value. Two times in three an estimate is off by less than its standard error."
    )
    head = ("value", "answers", "people, estimated", "standard error")
    return [
        Text("What can be estimated", (text,)),
        *(Table(head, tuple(_make_estimate_rows(table)), str(table["column"])) for table in tables),
    ]


def _make_estimate_rows(table: JsonObject) -> list[tuple[Any, ...]]:
    columns = (table[key][0] for key in ("answers", "estimated", "error"))  # one group: everybody
    rows = sorted(zip(table["values"], *columns, strict=True), key=lambda row: -row[2])[:MAX_ROWS]
    return [
        (name or "(empty)", answers, round(estimate), f"±{format_real(error)}")
        for name, answers, estimate, error in rows
    ]


# What it leaves open


def _list_unprotected(lines: Sequence[str]) -> list[Block]:
    if not lines:
        return []
    rows = tuple((line,) for line in lines)
    return [Text("What it does not protect"), Table(("the promise says nothing about",), rows)]
