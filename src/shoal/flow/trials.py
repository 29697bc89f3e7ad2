"""The attacks of a report: on the release alone, with each other release, and with all of them.

What others' releases give away without this one is not this report's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from shoal.attacks import attacks, needs
from shoal.errors import InputError
from shoal.flow.attack import attack
from shoal.flow.red_team import RedTeam, harm, red_team
from shoal.release import Finding
from shoal.schema import Schema

NOTHING = "There is no sensitive column to learn, and nobody says whom to look for."
NOBODY = "It looks people up, and nobody says which. Add --targets FILE."
RELATED = {
    "same table": "It needs two releases of one table. If they are, add --same-table.",
    "over time": "It needs an earlier and a later release of one table. If so, add --over-time.",
}


def trials(
    releases: Sequence[Any], schemas: Sequence[Schema], *, targets: Any = None, **asked: Any
) -> RedTeam:
    """Attack the first of the releases in every way that applies; the most harmful comes first.

    Arguments as in ``shoal.red_team``, with a schema for each release. Unlike there it is no error
    when nothing can be tried: the report says so.
    """
    if targets is None and not schemas[0].sensitive:
        return RedTeam((), tuple((name, NOTHING) for name in attacks()))
    alone = red_team([releases[0]], schema=[schemas[0]], targets=targets, **asked)
    if len(releases) == 1:
        return alone
    findings = list(alone.findings)
    skipped = [(name, why) for name, why in alone.skipped if needs(name).most == 1]
    for name in attacks():
        for which in _groups(name, len(releases)):
            chosen, told = [releases[i] for i in which], [schemas[i] for i in which]
            found = _together(name, chosen, schema=told, targets=targets, **asked)
            label = f"{name} with release {which[1] + 1}" if len(which) < len(releases) else name
            if isinstance(found, Finding):
                findings.append(replace(found, attack=label))
            else:
                skipped.append((label, found))
    ranked = sorted(findings, key=lambda one: (-harm(one), one.attack))
    return RedTeam(tuple(ranked), tuple(sorted(skipped)))


def _groups(name: str, count: int) -> list[tuple[int, ...]]:
    """The releases that an attack on several takes at once, the first always among them."""
    most = needs(name).most
    if most == 1:
        return []
    return [(0, i) for i in range(1, count)] if most == 2 else [tuple(range(count))]


def _together(
    name: str, releases: Sequence[Any], *, targets: Any, relation: str = "", **asked: Any
) -> Finding | str:
    """What an attack on several releases found, or why it did not run."""
    wanted = needs(name)
    if wanted.people and targets is None:
        return NOBODY
    if wanted.relation and wanted.relation != relation:
        return RELATED[wanted.relation]
    taken = {*signature(attack).parameters, *signature(attacks()[name]).parameters}
    asked = {key: value for key, value in asked.items() if key in taken}
    try:
        return attack(name, releases, targets=targets, relation=wanted.relation, **asked)
    except InputError as error:
        return f"{error.fact} {error.hint[:1].upper()}{error.hint[1:]}".strip()
