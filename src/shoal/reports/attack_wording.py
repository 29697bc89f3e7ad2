"""Fixed words for each attack: what its success means, what it assumes, and what helps.

The version for the public takes its words from here alone: a closed list cannot name a file, a
column, a value or a count. An attack of somebody's own has none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from shoal.adversary.one_attack import RELATIONS
from shoal.attacks import get_attack_needs, load_attacks
from shoal.attacks._shared.candidate_classes import LOCATIONS
from shoal.attacks._shared.randomised_answers import ANSWERS, DEFENCE, LIMITS
from shoal.core.release import Finding
from shoal.reports.format import join_all_names


@dataclass(frozen=True)
class AttackWording:
    """What one attack's success means for a person, what it assumes, and what helps against it."""

    consequence: str
    assumptions: tuple[str, ...]
    defence: str


_CERTAIN = "their value is known for certain"
_ALONE = "their row is alone"
_KNOWN = "the adversary knows each person's quasi-identifiers"
_INSIDE = "the adversary knows that the person is in the release"
_GROWN = "nobody left the table, and nobody's value changed"
_DIVERSE = "ask for diversity of the sensitive value"

ATTACK_WORDING = {
    "backward": AttackWording(
        "of their class one row, or one value, can be a newcomer's",
        (_KNOWN, _GROWN, "the adversary knows that the person came later"),
        "publish newcomers when more have come, or base the release on the earlier one",
    ),
    "background": AttackWording(
        "a few pieces of knowledge make their value {sure:.0%} likely or more",
        (_KNOWN, _INSIDE, "the adversary has just the knowledge that tells most"),
        "ask for ck-safety",
    ),
    "complementary": AttackWording(
        _ALONE,
        (_KNOWN, "both releases are of one table"),
        "base the second release on the first, or judge it with everything released before",
    ),
    **{
        name: AttackWording(
            f"of their class in the {narrowed} release one row, or one value, can be theirs",
            (_KNOWN, _GROWN, "the adversary knows that the person is in both releases"),
            "base the later release on the earlier one",
        )
        for name, narrowed in (("cross", "later"), ("forward", "earlier"))
    },
    "homogeneity": AttackWording(_CERTAIN, (_KNOWN, _INSIDE), _DIVERSE),
    "intersection": AttackWording(
        _CERTAIN,
        (_KNOWN, "the person is in every release with the same sensitive value"),
        "publish together with the others, ask for larger and more varied classes, or use "
        "differential privacy",
    ),
    "linking": AttackWording(
        "their row is found, or their value known for certain",
        (_KNOWN, "the register leaves out nobody who could be in the release"),
        f"generalise until every row fits many people, and {_DIVERSE}",
    ),
    "minimality": AttackWording(
        "their value is more certain than their class makes it",
        (_KNOWN, _INSIDE, "the adversary knows the method and its rule"),
        "use a rule that does not depend on who has which value, or differential privacy",
    ),
    "coalition": AttackWording(
        "providers who work together believe their value at {sure:.0%} or more",
        (_KNOWN, _INSIDE, "providers pool their own rows, and recognise them in the release"),
        "ask for m-privacy",
    ),
    "order": AttackWording(
        _ALONE,
        (_KNOWN, "both releases are of the same people, in the order of one file"),
        "publish the rows of every release in a random order, drawn anew each time",
    ),
    "skewness": AttackWording(
        "their value is believed at {sure:.0%} or more, at least {times:g} times as much as before",
        (_KNOWN, _INSIDE),
        "ask for t-closeness, or for beta-likeness where rare values matter most",
    ),
    "temporal": AttackWording(
        _ALONE,
        (_KNOWN, "the person is in both releases, unchanged"),
        "add new rows to the earlier release as it was published",
    ),
    "worst-pair": AttackWording(
        "classes of other releases that may hold them leave too few values",
        (_KNOWN, "somebody is in all classes of every combination that may share people"),
        "ask for larger and more varied classes, or publish together with the others",
    ),
}
ANSWERS_WORDING = AttackWording(
    "their value is believed at {sure:.0%} or more",
    (_KNOWN, _INSIDE, *ANSWERS, LIMITS),
    DEFENCE.removesuffix("."),
)
"""Of attacks that read answers: whichever it is, no value is excluded by them."""
_ONCE = "publish such a table once, or judge the next with everything released before"
RANDOMISED_WORDING = {
    "linking": replace(
        ATTACK_WORDING["linking"],
        consequence="their row is found",
        defence="generalise until every row fits many people; epsilon protects the values",
    ),
    **{
        name: replace(ATTACK_WORDING[name], defence=_ONCE)
        for name in ("backward", "complementary", "cross", "forward", "temporal")
    },
}
"""Of attacks on the rows of a randomised release, which cannot be based on another."""
OPTIONS = {"sure": 0.5, "times": 2}
"""What the words depend on, unless the finding's details say otherwise."""


def _find_base_name(attack: str) -> str:
    """The attack's own name, without the releases that it took."""
    return attack.partition(" ")[0]


def reword_for_answers(finding: Finding) -> Finding:
    """A finding on a randomised release: rules on values, and basing it on others, it refuses."""
    marked = replace(finding, details={**finding.details, "answers": True})
    has_wording = _find_base_name(finding.attack) in RANDOMISED_WORDING
    return replace(marked, defence=describe_defence(marked)) if has_wording else marked


def _find_wording(finding: Finding) -> AttackWording | None:
    name = _find_base_name(finding.attack)
    if "adversary" in finding.details:
        return ANSWERS_WORDING
    randomised = RANDOMISED_WORDING.get(name) if finding.details.get("answers") else None
    return randomised or ATTACK_WORDING.get(name)


def describe_consequence(finding: Finding) -> str:
    """What is so for the people on whom an attack succeeds; nothing for one that is not known."""
    if (wording := _find_wording(finding)) is None:
        return ""
    return wording.consequence.format(
        **{key: finding.details.get(key, OPTIONS[key]) for key in OPTIONS}
    )


def bracket_consequence(finding: Finding) -> str:
    """The same, to follow a sentence."""
    return f" ({consequence})" if (consequence := describe_consequence(finding)) else ""


def list_assumptions(finding: Finding) -> tuple[str, ...]:
    """What an attack takes for granted."""
    wording = _find_wording(finding)
    place = LOCATIONS.get(str(finding.details.get("location")))
    return (*(wording.assumptions if wording else ()), *([place] if place else []))


def describe_defence(finding: Finding) -> str:
    """What helps against an attack."""
    wording = _find_wording(finding)
    return f"{wording.defence}." if wording else ""


def explain_unmet_needs(attack: str, had: Collection[str] = ()) -> str:
    """What an attack needs and did not have; where it had everything, the tables did not allow it.

    ``had`` are the needs that were met, as `Needs` names them.
    """
    failed = "It could not be carried out on what was given."
    if _find_base_name(attack) not in load_attacks():
        return failed
    needs = get_attack_needs(_find_base_name(attack))
    several = RELATIONS[needs.relation][0] if needs.relation else "two releases"
    parts = {
        f"{several} that fit together": needs.releases > 1,
        "people to look for": needs.people and "people" not in had,
        "a sensitive column": needs.sensitive and "sensitive" not in had,
        "to know how the release was made": needs.method and "method" not in had,
        "to know who provided the rows": needs.provider,
        "to be told what the adversary knows": bool(needs.supposition_option),
    }
    lacking = [part for part, is_lacking in parts.items() if is_lacking]
    return f"It needs {join_all_names(lacking)}." if lacking else failed


SEVERAL_CLASSES_DECIDED = (
    "It makes one class again by what is published of it, and here more decided."
)


def remakes_classes(attack: str) -> bool:
    """Whether an attack makes classes again, as their publisher did."""
    return (
        _find_base_name(attack) in load_attacks()
        and get_attack_needs(_find_base_name(attack)).method
    )


def is_by_insiders(attack: str) -> bool:
    """Whether an attack is of those who provided the rows: no matter for the public."""
    return (
        _find_base_name(attack) in load_attacks()
        and get_attack_needs(_find_base_name(attack)).provider
    )


def explain_unfit_for_answers(attack: str) -> str:
    """Why an attack has nothing to say of answers; empty: it has."""
    needs = (
        get_attack_needs(_find_base_name(attack))
        if _find_base_name(attack) in load_attacks()
        else None
    )
    if needs is None or needs.reads_answers or not needs.sensitive:
        return ""
    return "It takes published values for people's own, and here they are answers."


# Buckets

EVERYBODY_IDENTIFIED = "Everybody in the table can be found in it"
"""What holds for everybody who is published in buckets, before any attack."""


def explain_exact_columns(exact: Sequence[str]) -> str:
    """What that means, in a table with these exact columns."""
    return (
        f"The table is published in buckets: exact columns ({join_all_names(exact)}) are as they "
        "were. Whoever knows them of a person finds the person, and knows that the person is in "
        "the table; that takes no attack. Values alone are protected: which of a bucket's values "
        "is whose is not published, and nothing but the requirement keeps a bucket's values varied."
    )


def explain_unfit_for_buckets(attack: str, others: int) -> str:
    """Why an attack cannot be tried on buckets, or need not be; empty: it can.

    ``others`` are the releases that were given beside them.
    """
    if _find_base_name(attack) not in load_attacks():
        return ""
    needs = get_attack_needs(_find_base_name(attack))
    if needs.releases > 1:
        return "Buckets cannot be compared with other tables." if others else ""
    if needs.provider:
        return "Buckets do not say whose value is whose."
    finds = needs.people and not needs.method  # who knows the method learns values
    return "It looks for people, whom anybody finds in buckets without it." if finds else ""
