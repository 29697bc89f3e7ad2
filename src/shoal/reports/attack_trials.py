"""The attacks of a report: on the release alone, with each other release, and with all of them.

What applies is for `red_team` to say. What others' releases give away without this one is not this
report's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from shoal.adversary.context import build_context
from shoal.adversary.runner import RED_TEAM, AttackRequest, check_attack_options, describe_error
from shoal.attacks import attacks, needs_of
from shoal.core.release import Finding
from shoal.core.schema import Schema
from shoal.releases.options import Progress, ignore_progress
from shoal.verbs.red_team import RedTeam, attempt_attack, rank_findings


def run_trials(
    releases: Sequence[Any],
    *,
    schema: Schema | None = None,
    targets: Any = None,
    control: Any = None,
    on: str | Sequence[str] | None = None,
    sample: int | None = None,
    seed: int = 0,
    show: bool = False,
    relation: str = "",
    reading: Mapping[str, Any] | None = None,
    progress: Progress = ignore_progress,
    **options: Any,
) -> RedTeam:
    """Attack the first of the releases in every way that applies; the worst comes first.

    Arguments as in ``shoal.red_team``. Unlike there it is no error when nothing can be tried: the
    report says so.
    """
    asked = AttackRequest(
        on=on, sample=sample, seed=seed, relation=relation, progress=progress, options=options
    )
    check_attack_options(RED_TEAM, options)
    known = build_context(releases, schema, targets, control, show, progress, reading)
    known = known.sampled(sample, seed)
    findings: list[Finding] = []
    skipped: list[tuple[str, str]] = []
    for i, name in enumerate(attacks()):
        progress("attacking", i, len(attacks()))
        for which in _groups(name, len(releases)):
            some = 1 < len(which) < len(releases)
            label = f"{name} with release {which[1] + 1}" if some else name
            found = attempt_attack(name, known, which, asked)
            if isinstance(found, Finding):
                each = tuple(replace(one, attack=label) for one in found.by_column)
                findings.append(replace(found, attack=label, by_column=each))
                skipped += [(f"{label} on {column}", why) for column, why in found.not_evaluated]
            else:
                skipped.append((label, describe_error(found)))
    return RedTeam(rank_findings(findings), tuple(skipped))


def _groups(name: str, count: int) -> list[tuple[int, ...]]:
    """The releases that an attack takes at once, the first always among them.

    It comes last where an attack counts the rows of the last: the report is about the first.
    """
    most = needs_of(name).max_releases
    if needs_of(name).targets_last_release and count > 1:
        return [(*range(1, count), 0)]
    if most is None or count <= most:
        return [tuple(range(count))]
    return [(0, *others) for others in combinations(range(1, count), most - 1)]
