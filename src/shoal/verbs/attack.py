"""Attack: put an adversary's view together from files, and run an attack on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from shoal.adversary.context import build_context
from shoal.adversary.mechanism_audit import AUDITING, audit_mechanism
from shoal.adversary.one_attack import (
    RED_TEAM,
    AttackRequest,
    check_attack_options,
    find_unmet_need,
    find_usage_error,
    run_attack,
)
from shoal.core.errors import UsageError
from shoal.core.release import Finding
from shoal.core.schema import Schema
from shoal.releases.options import Progress, ignore_progress
from shoal.releases.published_table import as_release_list
from shoal.verbs.red_team import RedTeam, red_team


@overload
def attack(name: Literal["red-team"], releases: Any, **request: Any) -> RedTeam:
    """All attacks that apply."""


@overload
def attack(name: str, releases: Any, **request: Any) -> Finding:
    """One attack."""


def attack(
    name: str,
    releases: Any,
    *,
    targets: Any = None,
    original: Any = None,
    schema: Schema | Sequence[Schema] | None = None,
    on: str | Sequence[str] | None = None,
    control: Any = None,
    sample: int | None = None,
    seed: int = 0,
    show: bool = False,
    relation: str = "",
    reading: Mapping[str, Any] | None = None,
    names: str | None = None,
    progress: Progress = ignore_progress,
    **options: Any,
) -> Finding | RedTeam:
    """Run an attack by its name on releases: folders, or tables that anybody made.

    Parameters
    ----------
    name
        The attack, such as ``"linking"`` or ``"intersection"``. ``"red-team"`` runs all that apply;
        ``"auditing"`` runs a release's noise again on its original, with a person and without.
    releases
        One release or several: folders, ``Release`` objects, or any tables with a ``schema``.
    targets
        A table of people whom the adversary knows.
    original
        For ``"auditing"`` alone: the table that the release was made from.
    schema
        The columns' roles and hierarchies; release folders state their roles themselves. Where
        releases were made with different hierarchies, one schema for each.
    on
        The column to learn, or several. Without it every sensitive column is: the finding is the
        worst, with all of them in ``by_column``.
    control
        A table of people who are in none of the releases, to compare with.
    sample
        How many of the targets are attacked, drawn by ``seed``; all unless given.
    seed
        The seed of everything that is drawn.
    show
        Whether the finding may name labels, values and providers.
    relation
        What the releases are to each other: ``"same table"``, ``"over time"``, or not stated.
    reading
        How the tables of people are written, as in ``shoal.open``.
    names
        The column of the targets by which ``about`` and ``knowing`` call people.
    progress
        Called with a step's name, how much is done, and how much there is.
    **options
        The attack's own options, such as ``pieces`` of background knowledge.

    Returns
    -------
    Finding or RedTeam
        How many people are exposed, with which confidence, and what helps; of ``"red-team"`` the
        findings of all attacks.

    Raises
    ------
    UsageError
        There is no such attack, it lacks something that it needs, or an option is not its own.
    InputError
        A release or a table cannot be read, or has nothing that the attack could work on.

    Examples
    --------
    >>> shoal.attack("linking", "release", targets="register.csv")  # doctest: +SKIP
    """
    releases = as_release_list(releases)
    if name == AUDITING:
        _check_audit(releases, [schema, on, control, sample, relation or None, names], options)
        table = targets if original is None else original
        return audit_mechanism(releases[0], table, reading=reading, progress=progress, **options)
    if original is not None:
        raise UsageError(
            f"Only {AUDITING} takes the original.", "give people to look for as --targets FILE."
        )
    request = AttackRequest(
        on=on, sample=sample, seed=seed, relation=relation, progress=progress, options=options
    )
    check_attack_options(name, options)
    if name == RED_TEAM:
        return red_team(
            releases,
            targets=targets,
            schema=schema,
            on=on,
            control=control,
            sample=sample,
            seed=seed,
            show=show,
            relation=relation,
            reading=reading,
            names=names,
            progress=progress,
            **options,
        )
    if error := find_usage_error(name, len(releases), relation, targets is not None):
        raise error
    context = build_context(releases, schema, targets, control, show, progress, reading, names)
    context = context.sampled(sample, seed)
    release_numbers = range(len(releases))
    if error := find_unmet_need(name, context, release_numbers, request):
        raise error
    progress("attacking", 0, 1)
    return run_attack(name, context, release_numbers, request)


def _check_audit(
    releases: Sequence[Any], values: Sequence[Any], options: Mapping[str, Any]
) -> None:
    if len(releases) != 1:
        raise UsageError(
            f"{AUDITING} takes one release, and {len(releases)} are given.",
            "give one, and the table that it was made of as --original FILE.",
        )
    if any(value not in (None, ()) for value in values) or set(options) - {"runs", "confidence"}:
        raise UsageError(
            f"{AUDITING} looks at no rows: it takes a release and its original alone.",
            "leave everything out but --original FILE and --runs N.",
        )
