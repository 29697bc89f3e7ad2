"""The page of both schools side by side: the chart, the paper's conclusion, and every guarantee.

It is drawn from a comparison's JSON (``outcomes``, ``compared``, ``base``, ``column``, ``rows``,
``people``, ``control``, ``seeds``, ``holds``), for its publisher: it tells more about the table
than a release does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.side_by_side import chart_side_by_side
from shoal.reports.document import Block, Callout, Chart, Page, Section, Table
from shoal.reports.pages.side_by_side_wording import (
    describe_noise_at_equal_loss,
    format_exact_share,
    format_gain,
    format_loss,
    join_rules,
    shorten_rule_names,
)

JsonObject = Mapping[str, Any]

CONCLUSION = (
    "Ganta, Kasiviswanathan and Smith (2008) conclude that releases which are each safe by their "
    "classes need not be safe together, and that differential privacy bounds what any number of "
    "releases give away together."
)
TEST = (
    "Put to the test: at about equal loss, being in the tables adds less to what is guessed right "
    "under noise than under classes, in every seed."
)
SCHOOLS = (
    "Releases of classes, with answers too, are read by the counts of the classes that fit a "
    "person; tables of counts by naive Bayes over pairs of columns. So the control differs, and "
    "heights compare within a school only; what being in the tables adds compares across. The loss "
    "sees columns and pairs of them, and no relation of three. ε is for each release: two spend "
    "2ε together."
)


def render_side_by_side(facts: JsonObject) -> Page:
    """The whole comparison as a page."""
    one, other = facts["rows"]
    return Page(
        "Both schools, side by side",
        (
            Section("Loss and exposure", _words(facts), render_comparison(facts)),
            Section("Every guarantee", (), tabulate_outcomes(facts)),
            _rests_on(facts),
        ),
        lead=f"Two tables of {one:,} and {other:,} rows, {facts['people']:,} people in both, are "
        "published under each guarantee, and the same adversary joins the two releases.",
        foot="Made by `shoal frontier --side-by-side`. For the publisher: nothing was published, "
        "and noise was drawn with a seed, which protects nobody.",
        data={**facts, "public": False},
    )


def render_comparison(facts: JsonObject) -> tuple[Block, ...]:
    """The chart, how to read it, and whether the paper's conclusion holds."""
    return *_by_column(facts), Chart(chart_side_by_side(facts), SCHOOLS), judge_conclusion(facts)


def _by_column(facts: JsonObject) -> list[Block]:
    """What being in both tables adds by each sensitive column, where there are several."""
    each = facts.get("by_column") or []
    rows = tuple(
        (one["column"], f"{100 * one['added']:.1f} points", format_exact_share(one["base"]))
        for one in each
    )
    head = ("sensitive column", "being in both adds, by classes", "most common value")
    told = f"Each sensitive column; drawn below: {facts['column']}"
    return [Table(head, rows, told)] if rows else []


def judge_conclusion(facts: JsonObject) -> Callout:
    """The paper's conclusion, put to a test that may fail."""
    if not facts["compared"]:
        return Callout(f"{CONCLUSION} One of the schools made no release here.", "note")
    told = f"{CONCLUSION} {TEST} {_judged(facts)} {_settled(facts)}"
    if facts["holds"] is None:
        return Callout(told, "note", "One seed does not tell whether the conclusion holds here")
    if facts["holds"]:
        rules = {one["rule"] for one in facts["compared"]}
        kept = rules - {one["rule"] for one in facts["compared"] if not one["worse"]}
        heading = f"The paper's conclusion holds here, for {len(kept)} of {len(rules)} rules"
        return Callout(told, "warning", heading)
    return Callout(told, "note", "The paper's conclusion does not hold here")


def _judged(facts: JsonObject) -> str:
    """Of the rule that adds most in full, of the others which add more than noise."""
    seeds, names = facts["seeds"], _rules(facts)
    by_rule: dict[str, list[JsonObject]] = {}
    for one in facts["compared"]:
        by_rule.setdefault(str(one["rule"]), []).append(one)
    (first, own), *others = by_rule.items()
    told = (
        f"`{first}` (loss {own[0]['losses'][0]:.3f}) adds "
        f"{format_gain(own[0]['added'][0], seeds)} "
        f"points; at about that loss {describe_noise_at_equal_loss(own, seeds)}."
    )
    worse = [names[rule] for rule, some in others if all(one["worse"] for one in some)]
    alike = [names[rule] for rule, _ in others if names[rule] not in worse]
    if worse:
        told += f" More than every form at its nearest loss adds also {join_rules(worse)}."
    if alike:
        told += f" It fails, in a seed or for a form, with {join_rules(alike)}."
    return told


def _settled(facts: JsonObject) -> str:
    """Which rules settle somebody for certain; that noise settles nobody is no finding."""
    names = _rules(facts)
    shares = {
        names[str(one["name"])]: one["settled"]["mean"]
        for one in _made(facts)
        if not one["epsilon"]
    }
    some = [
        f"{format_exact_share(share)} by `{rule}`" for rule, share in shares.items() if share > 0
    ]
    none = [rule for rule, share in shares.items() if share == 0]
    told = [*some, *([f"nobody by {join_rules(none)}"] if none else [])]
    return (
        f"Of the people in both, the value of so many is settled for certain, and rightly: "
        f"{', '.join(told)}. Noise settles nobody's by construction: it excludes no value."
    )


def _rules(facts: JsonObject) -> dict[str, str]:
    return shorten_rule_names([str(one["name"]) for one in _made(facts) if not one["epsilon"]])


def _made(facts: JsonObject) -> list[JsonObject]:
    return [one for one in facts["outcomes"] if one["loss"] is not None]


def _words(facts: JsonObject) -> tuple[str, ...]:
    return (
        "The adversary knows everybody's quasi-identifiers and how common each "
        f"{facts['column']} is, and joins what both releases say of a person. A point far above "
        "its ring is a guarantee under which being in the tables gives people away; a ring above "
        "the dashed line is what a table tells of everybody, in it or not.",
    )


def tabulate_outcomes(facts: JsonObject) -> tuple[Block, ...]:
    """Every guarantee with its figures, both schools at about equal loss, and what was not made."""
    made, names, seeds = _made(facts), _rules(facts), facts["seeds"]
    blocks: list[Block] = []
    if made:
        right = tuple((_name(one, names), *_right(one, seeds)) for one in made)
        known = tuple((_name(one, names), *_shares(one, _KNOWN)) for one in made)
        blocks.append(Table(("Guarantee", *_RIGHT), right, f"Guessed right. {_spread(seeds)}"))
        blocks.append(Table(("Guarantee", *_KNOWN), known, "Known for certain, or nearly"))
        blocks += _equal(facts, names)
    if missing := _not_made(facts["outcomes"]):
        blocks.append(Table(("Guarantee", "Why"), missing, "Not made"))
    return tuple(blocks)


_RIGHT = ("Loss", "Without noise", "Right", "Control", "Added", "At most")
_KNOWN = {"Settled": "settled", "Sure": "sure", "Control, sure": "control_sure"}


def _name(one: JsonObject, names: Mapping[str, str]) -> str:
    return names.get(str(one["name"]), str(one["name"]))


def _right(one: JsonObject, seeds: int) -> tuple[str, ...]:
    return (
        format_loss(one["loss"]),
        "–" if one["noiseless"] is None else format_loss(one["noiseless"]),
        *_shares(one, {"Right": "right", "Control": "control"}),
        format_gain(one["added"], seeds),
        "–" if one["bound"] is None else format_exact_share(one["bound"]),
    )


def _shares(one: JsonObject, shares: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(format_exact_share(one[share]["mean"]) for share in shares.values())


def _equal(facts: JsonObject, names: Mapping[str, str]) -> list[Block]:
    """Each rule beside each form of noise."""
    rows = tuple(
        (
            names[str(one["rule"])],
            f"{one['losses'][0]:.3f}",
            str(one["noise"]),
            format_loss({"mean": one["losses"][1]}),
            format_gain(one["more"], facts["seeds"]),
        )
        for one in facts["compared"]
    )
    head = ("Classes", "Loss", "Noise", "Its loss", "Classes add more by")
    caption = "At about equal loss: each rule with each form at the ε whose loss is the nearest"
    return [Table(head, rows, caption)] if rows else []


def _spread(seeds: int) -> str:
    """How figures come about."""
    if seeds < 2:
        return "One seed, which does not tell how far figures are from those of another"
    return (
        f"Means of {seeds:,} seeds, the same for every guarantee; ± is half of the way from the "
        "least to the most of them; added is in points"
    )


def _not_made(outcomes: Sequence[JsonObject]) -> tuple[tuple[str, str], ...]:
    """Each reason once, with those that have it."""
    reasons: dict[str, list[str]] = {}
    for one in outcomes:
        if one["reason"]:
            reasons.setdefault(str(one["reason"]), []).append(str(one["name"]))
    return tuple(("; ".join(names), reason) for reason, names in reasons.items())


def _rests_on(facts: JsonObject) -> Section:
    words = (
        "Right: the share of people in both releases whose likeliest value is theirs. Control: "
        f"the same of {facts['control']:,} people who are in neither; what they lose they lose "
        "to what the table says of everybody like them, and staying out would not help them. "
        "Added: the difference of the two, seed by seed. Settled: one value is left, and it is the "
        "person's, the paper's perfect breach. Sure: the person's value has a belief of at least "
        "90 %; beside it the same of the control.",
        "At most: what differential privacy allows of right, of whatever adversary, with c the "
        "control beside it: the smaller of e^2ε c and 1 − e^−2ε (1 − c). Whoever is in neither "
        "table differs from whoever is in both by one row in each, and each release is ε for a row "
        "that is there or not. Answers are ε for a value that is another, and the control, of whom "
        "there is no answer, stands for people with another's. Near 100 % it promises nothing.",
        "Loss is how far columns and pairs of columns have moved, as a share of what a table of "
        "`*` alone would lose, treated alike in every form: counts and estimates below none are "
        "taken as none, and the others scaled to the table's rows. Without noise: what the bins of "
        "the schema, or the classes, cost alone, at any ε.",
        "Beliefs are products over the two releases, and too sure: people who are in both make "
        "them depend on each other.",
    )
    return Section("What the numbers rest on", words)
