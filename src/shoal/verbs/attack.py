"""Attack: put an adversary's view together from files, and run an attack on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from shoal.adversary.context import build_context
from shoal.adversary.mechanism_audit import AUDITING, audit_mechanism
from shoal.adversary.runner import (
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
    """Run an attack by its name on a list of releases: tables that anybody made, or folders.

    ``targets`` are people that the adversary knows, in any table; ``control`` are people who are
    in none of the releases. The schema gives the columns' roles and hierarchies (release folders
    say their roles themselves); where the releases were made with different hierarchies, give one
    schema for each. ``on`` is the column to learn, or several of them; without it every sensitive
    one is, and the finding is the worst of all, with all ``by_column``. ``sample`` attacks so many
    of the targets, drawn by ``seed``. ``show`` lets the finding name labels, values and providers.
    ``relation`` says what the releases are of each other: "same table", or "over time".
    ``reading`` says how the people's tables are written, as in ``shoal.open``. ``names`` is the
    column of the targets that people are called by in what the adversary is said to know. Further
    ``options`` are the attack's own. ``"red-team"`` runs all attacks that apply. ``"auditing"``
    runs a release's noise again on its ``original`` (or ``targets``), with a person and without.
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
    """Refuse what has no meaning where a mechanism is run again."""
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
