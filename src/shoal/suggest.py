"""Suggest a role for each column, always with the reason, from its name and its counts alone.

Nothing is decided silently: where name and counts do not settle it the role is `undecided`, the
reason says what speaks for what, and publishing waits for a person to choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.column import Column, Field, Profile, default_hierarchy
from shoal.hints import hints, words

UNIQUE = 0.95
"""From this share of rows with a value of their own, a column points at single rows."""

SMALL = 20
"""In a table of fewer rows nearly everything is unique, so uniqueness says nothing."""

_SINGLE = ("provider", "person", "weight")
_BODY = frozenset("body height bmi blood grosse taille talla altezza".split())

_PLAIN = frozenset(("weight", "weights", "wt"))

Verdict = tuple[str, str]
"""A role and the reason for it."""


def suggest(fields: Sequence[Field], profiles: Mapping[str, Profile]) -> tuple[Column, ...]:
    """A column with role and reason for each field, in their order.

    >>> age = suggest([Field("age", "number")], {"age": Profile(9, 0, 5, 2, 2.2, 2, 2)})[0]
    >>> age.role, age.reason
    ('quasi', "the name says 'age'; 5 values in 9 rows")
    """
    body = any(_BODY.intersection(words(field.name)) for field in fields)
    taken: dict[str, str] = {}
    columns = []
    for field in fields:
        role, reason = _judge(field, profiles[field.name], body)
        if role in taken:
            reason = f"{reason}; but '{taken[role]}' is the {role} already"
            role = "identifier" if role == "person" else "undecided"
        elif role in _SINGLE:
            taken[role] = field.name
        in_order = field.ordered and role == "sensitive"
        hierarchy = default_hierarchy(field) if role == "quasi" or in_order else None
        columns.append(Column(field.name, role, field.kind, hierarchy, reason=reason))
    return tuple(columns)


def _judge(field: Field, profile: Profile, body: bool) -> Verdict:
    if field.kind == "text":
        return "identifier", "free text can name anybody and cannot be generalised: left out"
    if profile.distinct == 0:
        return "undecided", "no row has a value: leave it out as an identifier, or keep it"
    found = hints(field.name)
    strong = {role: word for role, word in found.items() if role != "label"}
    if "identifier" in strong or "person" in strong:
        return _named_person(strong, profile)
    if len(strong) > 1:
        said = " and ".join(f"'{word}' ({role})" for role, word in strong.items())
        return "undecided", f"the name says {said}; {_count(profile)}"
    if strong:
        return _by_name(field, profile, strong, "label" in found, body)
    if "label" in found:
        return _label(field, profile, found["label"])
    return _by_counts(field, profile)


def _named_person(strong: Mapping[str, str], profile: Profile) -> Verdict:
    said = f"the name says '{strong.get('identifier') or strong['person']}'"
    if "identifier" in strong:
        return "identifier", f"{said}, which points at one person; {_count(profile)}"
    filled = profile.rows - profile.nulls
    if profile.distinct < filled:
        return "person", f"{said}, and {_count(profile)}: some people have several rows"
    return "person", f"{said}, and every row has its own: one row a person"


def _by_name(
    field: Field, profile: Profile, strong: Mapping[str, str], label: bool, body: bool
) -> Verdict:
    ((role, word),) = strong.items()
    reason = f"the name says '{word}'; {_count(profile)}"
    if label and _points_at_rows(profile):
        return "identifier", f"{reason}: nearly every row has its own"
    if role == "weight" and field.kind != "number":
        return "undecided", f"{reason}; but a survey weight is a number, and this is a {field.kind}"
    if role == "weight" and (body or word in _PLAIN):
        return "undecided", f"{reason}; a survey weight, or body weight (quasi or sensitive)?"
    return role, reason


def _label(field: Field, profile: Profile, word: str) -> Verdict:
    said = f"the name says '{word}'; {_count(profile)}"
    if words(field.name) == (word,) and word not in ("id", "ids", "key"):
        return "identifier", said
    if profile.distinct == profile.rows - profile.nulls or _points_at_rows(profile):
        return "identifier", f"{said}: nearly every row has its own"
    return "undecided", f"{said}, so it repeats: people on several rows (person), or things?"


def _by_counts(field: Field, profile: Profile) -> Verdict:
    counts = _count(profile)
    if field.kind == "date":
        return "quasi", f"a date: others often know when something happened; {counts}"
    if profile.distinct == 1:
        return "undecided", f"{counts}: keep it if everybody may know it, or leave it out"
    if not _points_at_rows(profile):
        return "undecided", (
            f"no hint in the name; {counts}, {profile.entropy:.1f} bits: known to others (quasi), "
            "confidential (sensitive), or harmless (keep)?"
        )
    if field.kind == "number":
        return "undecided", f"{counts}, nearly one each: given to people, or measured?"
    return "identifier", f"{counts}: nearly every row has its own"


def _points_at_rows(profile: Profile) -> bool:
    filled = profile.rows - profile.nulls
    return filled >= SMALL and profile.once >= UNIQUE * filled


def _count(profile: Profile) -> str:
    value = "value" if profile.distinct == 1 else "values"
    row = "row" if profile.rows == 1 else "rows"
    empty = f", {profile.nulls:,} of them empty" if profile.nulls else ""
    return f"{profile.distinct:,} {value} in {profile.rows:,} {row}{empty}"
