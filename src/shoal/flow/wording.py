"""What a report says of an attack in fixed words: what its success means, assumes and asks for.

The version for the public takes its words from here alone: a closed list cannot name a file, a
column, a value or a count. An attack of somebody's own has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.attacks import attacks, needs
from shoal.attacks.locate import LOCATIONS
from shoal.flow.adversary import RELATIONS
from shoal.pages.words import listed
from shoal.release import Finding


@dataclass(frozen=True)
class Words:
    """Of one attack."""

    means: str
    """What is so for a person on whom it succeeds."""
    assumes: tuple[str, ...]
    helps: str


_CERTAIN = "their value is known for certain"
_ALONE = "their row is alone"
_KNOWN = "the adversary knows each person's quasi-identifiers"
_INSIDE = "the adversary knows that the person is in the release"
_DIVERSE = "ask for diversity of the sensitive value"

WORDS = {
    "background": Words(
        "a few pieces of knowledge make their value {sure:.0%} likely or more",
        (_KNOWN, _INSIDE, "the adversary has just the knowledge that tells most"),
        "ask for ck-safety",
    ),
    "complementary": Words(
        _ALONE,
        (_KNOWN, "both releases are of one table"),
        "base the second release on the first, or judge it with everything released before",
    ),
    "homogeneity": Words(_CERTAIN, (_KNOWN, _INSIDE), _DIVERSE),
    "intersection": Words(
        _CERTAIN,
        (_KNOWN, "the person is in every release with the same sensitive value"),
        "publish together with the others, ask for larger and more varied classes, or use "
        "differential privacy",
    ),
    "linking": Words(
        "their row is found, or their value known for certain",
        (_KNOWN, "the register leaves out nobody who could be in the release"),
        f"generalise until every row fits many people, and {_DIVERSE}",
    ),
    "minimality": Words(
        "their value is more certain than their class makes it",
        (_KNOWN, _INSIDE, "the adversary knows the method and its rule"),
        "use a rule that does not depend on who has which value, or differential privacy",
    ),
    "order": Words(
        _ALONE,
        (_KNOWN, "both releases are of the same people, in the order of one file"),
        "publish the rows of every release in a random order, drawn anew each time",
    ),
    "skewness": Words(
        "their value is believed at {sure:.0%} or more, at least {times:g} times as much as before",
        (_KNOWN, _INSIDE),
        "ask for t-closeness, or for beta-likeness where rare values matter most",
    ),
    "temporal": Words(
        _ALONE,
        (_KNOWN, "the person is in both releases, unchanged"),
        "add new rows to the earlier release as it was published",
    ),
}
OPTIONS = {"sure": 0.5, "times": 2}
"""What the words depend on, unless the finding's details say otherwise."""


def _name(attack: str) -> str:
    """The attack's own name, without the releases that it took."""
    return attack.partition(" ")[0]


def meaning(found: Finding) -> str:
    """What is so for the people on whom an attack succeeds; nothing for one that is not known."""
    if (words := WORDS.get(_name(found.attack))) is None:
        return ""
    return words.means.format(**{key: found.details.get(key, OPTIONS[key]) for key in OPTIONS})


def bracketed(found: Finding) -> str:
    """The same, to follow a sentence."""
    return f" ({told})" if (told := meaning(found)) else ""


def assumed(found: Finding) -> tuple[str, ...]:
    """What an attack takes for granted."""
    words = WORDS.get(_name(found.attack))
    place = LOCATIONS.get(str(found.details.get("location")))
    return (*(words.assumes if words else ()), *([place] if place else []))


def helps(found: Finding) -> str:
    """What helps against an attack."""
    words = WORDS.get(_name(found.attack))
    return f"{words.helps}." if words else ""


def lacked(attack: str) -> str:
    """What an attack needs, one thing of which it did not have."""
    if _name(attack) not in attacks():
        return "It could not be carried out on what was given."
    wanted = needs(_name(attack))
    several = RELATIONS[wanted.relation][0] if wanted.relation else "two releases"
    parts = {
        f"{several} that fit together": wanted.releases > 1,
        "people to look for": wanted.people,
        "a sensitive column": wanted.sensitive,
        "to know how the release was made": wanted.method,
        "to be told what the adversary knows": wanted.supposed,
    }
    return f"It needs {listed([part for part, so in parts.items() if so])}."
