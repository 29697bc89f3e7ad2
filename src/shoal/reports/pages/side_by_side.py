"""The page of both schools side by side: the chart, the paper's conclusion, and every guarantee.

It is drawn from a comparison's JSON (``outcomes``, ``compared``, ``base``, ``column``, ``rows``,
``people``, ``control``, ``seeds``, ``holds``), for its publisher: it says more about the table
than a release does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.reports.charts.side_by_side import (
    chart_side_by_side,
    describe_noise_at_equal_loss,
    format_exact_share,
    format_gain,
    format_loss,
    join_rules,
    list_outcomes_with_release,
    shorten_outcome_rules,
)
from shoal.reports.document import Block, Callout, Chart, Page, Section, Table

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
    first, second = facts["rows"]
    return Page(
        "Both schools, side by side",
        (
            Section("Loss and exposure", _words(facts), render_comparison(facts)),
            Section("Every guarantee", (), tabulate_outcomes(facts)),
            _rests_on(facts),
        ),
        lead=f"Two tables of {first:,} and {second:,} rows, {facts['people']:,} people in both, "
        "are published under each guarantee, and the same adversary joins the two releases.",
        foot="Made by `shoal frontier --side-by-side`. For the publisher: nothing was published, "
        "and noise was drawn with a seed, which protects nobody.",
        data={**facts, "public": False},
    )


def render_comparison(facts: JsonObject) -> tuple[Block, ...]:
    """The chart, how to read it, and whether the paper's conclusion holds."""
    return *_by_column(facts), Chart(chart_side_by_side(facts), SCHOOLS), judge_conclusion(facts)


def _by_column(facts: JsonObject) -> list[Block]:
    rows = tuple(
        (
            column["column"],
            f"{100 * column['added']:.1f} points",
            format_exact_share(column["base"]),
        )
        for column in facts.get("by_column") or ()
    )
    head = ("sensitive column", "being in both adds, by classes", "most common value")
    caption = f"Each sensitive column; drawn below: {facts['column']}"
    return [Table(head, rows, caption)] if rows else []


def judge_conclusion(facts: JsonObject) -> Callout:
    """The paper's conclusion, put to a test that may fail."""
    if not facts["compared"]:
        return Callout(f"{CONCLUSION} One of the schools made no release here.", "note")
    words = f"{CONCLUSION} {TEST} {_describe_test(facts)} {_describe_settled(facts)}"
    if facts["holds"] is None:
        return Callout(words, "note", "One seed does not tell whether the conclusion holds here")
    if facts["holds"]:
        rules = {pair["rule"] for pair in facts["compared"]}
        worse = rules - {pair["rule"] for pair in facts["compared"] if not pair["worse"]}
        heading = f"The paper's conclusion holds here, for {len(worse)} of {len(rules)} rules"
        return Callout(words, "warning", heading)
    return Callout(words, "note", "The paper's conclusion does not hold here")


def _describe_test(facts: JsonObject) -> str:
    """The rule that adds most in full; of the others, which add more than noise."""
    seeds, names = facts["seeds"], _rules(facts)
    by_rule: dict[str, list[JsonObject]] = {}
    for pair in facts["compared"]:
        by_rule.setdefault(str(pair["rule"]), []).append(pair)
    (first, own), *others = by_rule.items()
    words = (
        f"`{first}` (loss {own[0]['losses'][0]:.3f}) adds "
        f"{format_gain(own[0]['added'][0], seeds)} "
        f"points; at about that loss {describe_noise_at_equal_loss(own, seeds)}."
    )
    worse = [names[rule] for rule, pairs in others if all(pair["worse"] for pair in pairs)]
    alike = [names[rule] for rule, _ in others if names[rule] not in worse]
    if worse:
        words += f" More than every form at its nearest loss adds also {join_rules(worse)}."
    if alike:
        words += f" It fails, in a seed or for a form, with {join_rules(alike)}."
    return words


def _describe_settled(facts: JsonObject) -> str:
    names = _rules(facts)
    shares = {
        names[str(outcome["name"])]: outcome["settled"]["mean"]
        for outcome in list_outcomes_with_release(facts)
        if not outcome["epsilon"]
    }
    parts = [
        f"{format_exact_share(share)} by `{rule}`" for rule, share in shares.items() if share > 0
    ]
    if none := [rule for rule, share in shares.items() if share == 0]:
        parts.append(f"nobody by {join_rules(none)}")
    return (
        f"Of the people in both, the value of so many is settled for certain, and rightly: "
        f"{', '.join(parts)}. Noise settles nobody's by construction: it excludes no value."
    )


def _rules(facts: JsonObject) -> dict[str, str]:
    return shorten_outcome_rules(list_outcomes_with_release(facts))


def _words(facts: JsonObject) -> tuple[str, ...]:
    return (
        "The adversary knows everybody's quasi-identifiers and how common each "
        f"{facts['column']} is, and joins what both releases say of a person. A point far above "
        "its ring is a guarantee under which being in the tables gives people away; a ring above "
        "the dashed line is what a table tells of everybody, in it or not.",
    )


def tabulate_outcomes(facts: JsonObject) -> tuple[Block, ...]:
    """Every guarantee with its figures, both schools at about equal loss, and what was not made."""
    outcomes, names, seeds = list_outcomes_with_release(facts), _rules(facts), facts["seeds"]
    blocks: list[Block] = []
    if outcomes:
        labels = [names.get(str(outcome["name"]), str(outcome["name"])) for outcome in outcomes]
        right = tuple(
            (label, *_right(outcome, seeds))
            for label, outcome in zip(labels, outcomes, strict=True)
        )
        known = tuple(
            (label, *_shares(outcome, _KNOWN.values()))
            for label, outcome in zip(labels, outcomes, strict=True)
        )
        blocks.append(
            Table(("Guarantee", *_RIGHT), right, f"Guessed right. {_describe_seeds(seeds)}")
        )
        blocks.append(Table(("Guarantee", *_KNOWN), known, "Known for certain, or nearly"))
        blocks += _at_equal_loss(facts, names)
    if missing := _not_made(facts["outcomes"]):
        blocks.append(Table(("Guarantee", "Why"), missing, "Not made"))
    return tuple(blocks)


_RIGHT = ("Loss", "Without noise", "Right", "Control", "Added", "At most")
_KNOWN = {"Settled": "settled", "Sure": "sure", "Control, sure": "control_sure"}


def _right(outcome: JsonObject, seeds: int) -> tuple[str, ...]:
    return (
        format_loss(outcome["loss"]),
        "–" if outcome["noiseless"] is None else format_loss(outcome["noiseless"]),
        *_shares(outcome, ("right", "control")),
        format_gain(outcome["added"], seeds),
        "–" if outcome["bound"] is None else format_exact_share(outcome["bound"]),
    )


def _shares(outcome: JsonObject, keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(format_exact_share(outcome[key]["mean"]) for key in keys)


def _at_equal_loss(facts: JsonObject, names: Mapping[str, str]) -> list[Block]:
    rows = tuple(
        (
            names[str(pair["rule"])],
            f"{pair['losses'][0]:.3f}",
            str(pair["noise"]),
            format_loss({"mean": pair["losses"][1]}),
            format_gain(pair["more"], facts["seeds"]),
        )
        for pair in facts["compared"]
    )
    head = ("Classes", "Loss", "Noise", "Its loss", "Classes add more by")
    caption = "At about equal loss: each rule with each form at the ε whose loss is the nearest"
    return [Table(head, rows, caption)] if rows else []


def _describe_seeds(seeds: int) -> str:
    if seeds < 2:
        return "One seed, which does not tell how far figures are from those of another"
    return (
        f"Means of {seeds:,} seeds, the same for every guarantee; ± is half of the way from the "
        "least to the most of them; added is in points"
    )


def _not_made(outcomes: Sequence[JsonObject]) -> tuple[tuple[str, str], ...]:
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome["reason"]:
            reasons.setdefault(str(outcome["reason"]), []).append(str(outcome["name"]))
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
