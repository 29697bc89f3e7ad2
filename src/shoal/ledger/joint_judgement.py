"""A release judged with all earlier ones: pair by pair, several at once, put into an admission.

Three releases may say together what no two of them do: whoever is in all has a value that all leave
possible (Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data
privacy, KDD 2008). Where whose the rows are is known of all releases, everybody's values are
intersected over just those that hold the person, which is the most that can be learnt. Else
combinations are tried, the smaller first, and all at once. Where they are too many to be tried one
by one (``MAX_COMBINATIONS``), or too many people are to be looked for by each of them
(``MAX_LOOKUPS``), what any of them leaves is worked out value by value.

Where nobody says who is in which, the worst is assumed: over any number of the releases with which
a pair was judged so, the worst combination of classes is searched. Whoever is in a release that the
people given cover is one of the people, so that such a release needs no assumption. A search that
reaches its limit leaves the release not evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, islice
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.adversary.context import AttackContext
from shoal.adversary.one_attack import AttackRequest, describe_error, resolve_needs, run_attack
from shoal.adversary.targets import find_rows_of_people
from shoal.attacks.intersection import find_fewest_candidates
from shoal.core.errors import InputError, UsageError
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import NobodyFoundError
from shoal.ledger.admission import Admission, JudgedWith
from shoal.ledger.admission_options import OVERLAP, AdmissionOptions
from shoal.ledger.budget import compute_account
from shoal.ledger.candidate import FOREIGN, Candidate
from shoal.ledger.chain.signed_entry import Entry
from shoal.ledger.defences import check_rule_with_earlier
from shoal.ledger.noise_releases import drop_answered_columns, has_no_individual_rows
from shoal.ledger.pair_judgement import (
    ANSWERED_BY_BASE,
    WORST_PAIR,
    JudgedFinding,
    JudgedPair,
    RecordedRelease,
    build_scene,
    choose_location,
    find_learnable_columns,
    find_shared_kept_columns,
    judge_finding,
    judge_joined_rows,
    judge_pair,
    read_targets,
)
from shoal.ledger.related_entries import UNRECORDED, has_unrecorded_base, trace_lineage
from shoal.ledger.remedies import Refusal
from shoal.releases.published_table import PublishedTable

NO_BASE = (
    "It is based on a release that the ledger does not have. Record that one first: shoal ledger "
    "admit, or add-foreign where somebody else made it."
)
MAX_COMBINATIONS = 200
"""So many combinations of earlier releases are tried one by one for a column."""

MAX_LOOKUPS = 2_000_000
"""So often somebody is looked for in a release by these combinations, at most, all together."""

Combination = tuple[int, ...]
"""Which of the earlier releases, by their places."""


def judge_with_earlier(
    candidate: Candidate,
    about: str,
    entries: Sequence[Entry],
    pasts: Sequence[RecordedRelease],
    options: AdmissionOptions,
    pairs: MutableMapping[int, JudgedPair],
) -> Admission:
    """Judge a release with earlier ones; ``pairs`` are judged already, and grow."""
    earlier = [
        drop_answered_columns(past.published)
        for past in pasts
        if not has_no_individual_rows(past.published)
    ]
    if not has_no_individual_rows(candidate.published):  # else nobody can be looked for
        options = replace(
            options,
            people=read_targets((*earlier, drop_answered_columns(candidate.published)), options),
        )
    published = candidate.published
    based = trace_lineage(published.manifest, entries)
    for i, past in enumerate(pasts):
        options.progress("judging with earlier releases", i, len(pasts))
        if past.number not in pairs:
            pairs[past.number] = judge_pair(past, published, past.number in based, options)
    judged_pairs = [pairs[past.number] for past in pasts]
    combined = judge_combinations(pasts, published, options, judged_pairs)
    defences = [f"Entry {pair.past.number}: {pair.based}." for pair in judged_pairs if pair.based]
    lacking = [f"Entry {pair.past.number}: {pair.finer}." for pair in judged_pairs if pair.finer]
    holds = False
    if any(pair.relation != OVERLAP for pair in judged_pairs):
        holds, words = check_rule_with_earlier(drop_answered_columns(published), earlier)
        (defences if holds else lacking).append(words)
    spend = compute_account(candidate.spend, about, entries, candidate.form, candidate.table)
    findings = (*(w for pair in judged_pairs for w in _answer_by_base(pair)), *combined.findings)
    unrecorded = has_unrecorded_base(published.manifest, entries)
    not_evaluated = (
        *([(UNRECORDED, NO_BASE)] if unrecorded else []),
        *((pair.past.number, pair.not_evaluated) for pair in judged_pairs if _is_open(pair, holds)),
        *combined.not_evaluated,
    )
    people_found = (pair.people_found for pair in judged_pairs if pair.people_found is not None)
    refusal = Refusal(published, judged_pairs, options.people is not None, based, options.l)
    return Admission(
        name=published.name,
        table=candidate.table,
        about=about,
        judged_with=tuple(_describe_earlier(pair) for pair in judged_pairs),
        weighed=findings,
        defences=tuple(defences),
        lacking=tuple(lacking),
        skipped=tuple(s for pair in judged_pairs for s in pair.skipped),
        unjudged=not_evaluated,
        ways=refusal.ways(findings, not_evaluated, spend),
        covered=bool(judged_pairs) and all(pair.covered for pair in judged_pairs),
        people_found=min(people_found, default=None),
        notes=spend.notes,
        spend=spend,
    )


def _is_open(pair: JudgedPair, rule_holds: bool) -> bool:
    """Whether nothing says that a pair is safe: neither an attack nor a defence.

    A rule that holds over what was released before says so of releases that are stated, not
    guessed, to be of one table. It does not answer a search that was cut short: that was not about
    joining rows.
    """
    defended = rule_holds and pair.relation != OVERLAP and pair.stated and not pair.cut_short
    return bool(pair.not_evaluated) and not defended


def _answer_by_base(pair: JudgedPair) -> list[JudgedFinding]:
    """What was found of a pair, answered where nobody's cell is finer than it was."""
    return [
        replace(judged, defence=pair.based)
        if judged.exceeds and judged.finding.attack in ANSWERED_BY_BASE
        else judged
        for judged in pair.findings
    ]


def _describe_earlier(pair: JudgedPair) -> JudgedWith:
    entry = pair.past.entry
    body: Mapping[str, Any] = entry.body
    by = body.get("made_by" if entry.kind == FOREIGN else "by", "")
    name, at = str(body.get("name", "")), str(body.get("at", ""))
    return JudgedWith(entry.number, pair.relation, pair.how, name, str(by), at)


def find_accepted_reason(admission: Admission, body: Mapping[str, Any]) -> str:
    """The reason for which all that speaks against a recorded release was accepted; else empty.

    Accepted is what exceeded the limit then: by this attack, with these entries, in this column.
    """
    accepted_then = {
        _key_of_finding(recorded): int(recorded["beyond"])
        for recorded in body.get("findings", ())
        if recorded["exceeds"]
    }
    worse = [
        judged
        for judged in admission.weighed
        if judged.exceeds and judged.beyond > _count_accepted(judged, accepted_then)
    ]
    not_evaluated = {number for number, _ in admission.unjudged} - set(body.get("unjudged", ()))
    overspent = admission.spend.exceeded and not body.get("budget_exceeded")
    return "" if worse or not_evaluated or overspent else str(body.get("accepted_risk", ""))


def _count_accepted(
    judged: JudgedFinding, accepted_then: Mapping[tuple[str, tuple[int, ...], str], int]
) -> int:
    """How many people it was accepted that an attack exposes; -1 where that was not.

    The worst combination is of all earlier releases. When others have come since, it is as many as
    were accepted of some of them: what these add is compared by how many there are.
    """
    if judged.finding.attack != WORST_PAIR:
        return accepted_then.get((judged.finding.attack, judged.entries, judged.on), -1)
    accepted = [
        beyond
        for (attack, entries, on), beyond in accepted_then.items()
        if (attack, on) == (WORST_PAIR, judged.on) and set(entries) <= set(judged.entries)
    ]
    return max(accepted, default=-1)


def _key_of_finding(finding: Mapping[str, Any]) -> tuple[str, tuple[int, ...], str]:
    return str(finding["attack"]), tuple(finding["entries"]), str(finding.get("on", ""))


# Several earlier releases at once


class CombinedFindings(NamedTuple):
    """What several earlier releases say together with the new one."""

    findings: tuple[JudgedFinding, ...] = ()
    not_evaluated: tuple[tuple[int, str], ...] = ()


def judge_combinations(
    pasts: Sequence[RecordedRelease],
    new: PublishedTable,
    options: AdmissionOptions,
    pairs: Sequence[JudgedPair],
) -> CombinedFindings:
    """What several earlier releases and the new one leave: to the people, and at worst to anybody.

    And with which entries that could not be evaluated. ``pairs``: the new one beside each of them.
    """
    if has_no_individual_rows(new):
        return CombinedFindings()
    of_people = _judge_of_people(pasts, new, options)
    return _merge_findings([of_people, *_judge_worst_combinations(pasts, new, options, pairs)])


def _merge_findings(several: Sequence[CombinedFindings]) -> CombinedFindings:
    return CombinedFindings(
        tuple(judged for combined in several for judged in combined.findings),
        tuple(reason for combined in several for reason in combined.not_evaluated),
    )


def _build_joint_scene(
    pasts: Sequence[RecordedRelease], new: PublishedTable, options: AdmissionOptions
) -> AttackContext:
    # The values that noise answers for are left out: the budget is about those.
    releases = (*(past.published for past in pasts), new)
    return build_scene(tuple(map(drop_answered_columns, releases)), options)


def _judge_worst_combinations(
    pasts: Sequence[RecordedRelease],
    new: PublishedTable,
    options: AdmissionOptions,
    pairs: Sequence[JudgedPair],
) -> list[CombinedFindings]:
    """The worst combination of classes, of each column, where the worst was assumed of pairs.

    Only releases that could be compared in that column are read together: another in which it is
    a cell would make it one in all.
    """
    assumed_worst: dict[str, list[RecordedRelease]] = {}
    for past, pair in zip(pasts, pairs, strict=True):
        for judged in pair.findings:
            if judged.finding.attack == WORST_PAIR:
                assumed_worst.setdefault(judged.on, []).append(past)
    several = {name: releases for name, releases in assumed_worst.items() if len(releases) > 1}
    combined = []
    for i, (name, releases) in enumerate(several.items()):
        options.progress("judging with several releases", i, len(several))
        combined.append(_judge_worst_combination(releases, new, options, name))
    return combined


def _judge_worst_combination(
    pasts: Sequence[RecordedRelease], new: PublishedTable, options: AdmissionOptions, name: str
) -> CombinedFindings:
    entries = tuple(past.number for past in pasts)
    request = AttackRequest(on=name, options={"l": options.l})
    try:
        context = _build_joint_scene(pasts, new, replace(options, people=None))
        finding = run_attack(WORST_PAIR, context, range(len(context.releases)), request)
    except (InputError, UsageError) as error:
        reason = f"Column {name!r}, several at once: {describe_error(error)}"
        return CombinedFindings(not_evaluated=((entries[-1], reason),))
    judged = judge_finding(finding, entries, options, name)
    if judged.exceeds:
        return CombinedFindings((judged,))
    if names := _find_columns_kept_by_three(context.releases, name):
        reason = (
            f"several earlier releases publish {', '.join(names)} as it is, as this one does, and "
            "what their rows say together is not evaluated of people who are not given."
        )
    elif finding.details["limits"]:
        reason = _describe_cut_short(len(pasts))
    else:
        return CombinedFindings((judged,))
    return CombinedFindings((judged,), ((entries[-1], f"Column {name!r}: {reason}"),))


def _find_columns_kept_by_three(releases: Sequence[PublishedTable], name: str) -> tuple[str, ...]:
    """The columns by which rows of the new release can be joined with two earlier ones."""
    *earlier, new = releases
    shared = [find_shared_kept_columns((release, new), name) for release in earlier]
    times = Counter(column for columns in shared for column in columns)
    return tuple(column for column, number in times.items() if number > 1)


def _describe_cut_short(number: int) -> str:
    return (
        f"The search for the worst combination of classes of the {number:,} earlier releases was "
        "cut short: what it did not reach is not evaluated."
    )


def _judge_of_people(
    pasts: Sequence[RecordedRelease], new: PublishedTable, options: AdmissionOptions
) -> CombinedFindings:
    """Intersect what the releases leave to the people; that nobody is in all is no failure."""
    pasts = [past for past in pasts if not has_no_individual_rows(past.published)]
    if options.people is None or len(pasts) < 2:
        return CombinedFindings()
    try:
        context = _build_joint_scene(pasts, new, options)
    except (InputError, UsageError) as error:
        reason = f"All at once: {describe_error(error)}"
        return CombinedFindings(not_evaluated=((pasts[-1].number, reason),))
    membership, combined = _find_membership(context), list[CombinedFindings]()
    for name, places in _find_shared_columns(context, options.on).items():
        max_combinations = _count_affordable_combinations(context, places)
        tries, complete = (
            _combinations_by_size(places, max_combinations)
            if membership is None
            else _combinations_of_people(membership, places, max_combinations)
        )
        for i, combination in enumerate(tries):
            options.progress("judging with several releases", i, len(tries))
            combined.append(_judge_combination(context, pasts, combination, name, options))
        if not complete:
            combined.append(
                _judge_any_combination(
                    context, pasts, places, name, options, membership is not None
                )
            )
    return _merge_findings(combined)


def _judge_any_combination(
    context: AttackContext,
    pasts: Sequence[RecordedRelease],
    places: Sequence[int],
    name: str,
    options: AdmissionOptions,
    everywhere: bool,
) -> CombinedFindings:
    """What any combination leaves the people, where there are too many to be tried one by one."""
    entries = tuple(pasts[i].number for i in places)
    try:
        view = context.view((*places, len(pasts)), resolve_needs("intersection", {}), name)
        fewest = find_fewest_candidates(
            view, options.l, choose_location(context), everywhere=everywhere
        )
        if names := _find_columns_kept_by_three(
            [context.releases[i] for i in (*places, len(pasts))], name
        ):
            raise InputError(
                f"Several of the releases publish {', '.join(names)} as it is, and they are too "
                "many for their rows to be joined.",
                "leave these columns out.",
            )
    except (InputError, UsageError) as error:
        reason = f"Column {name!r}, several: {describe_error(error)}"
        return CombinedFindings(not_evaluated=((entries[-1], reason),))
    if fewest is None:
        reason = f"Column {name!r}: {_describe_cut_short(len(places))}"
        return CombinedFindings(not_evaluated=((entries[-1], reason),))
    values_left, is_found = fewest
    exposed, people = int((values_left > 0).sum()), int(is_found.sum())
    finding = Finding(
        attack="intersection",
        people=people,
        exposed=exposed,
        sure=1 / max(1, int(values_left[values_left > 0].min(initial=options.l))),
        guessing=0.0,
        sentence=f"{exposed:,} of {people:,} people are left fewer than {options.l} values of "
        f"{name} by some of the {len(places):,} earlier releases together with this one, of which "
        "none leaves them so few alone.",
        defence="ask for larger and more varied classes (composition).",
        details={"releases": len(places), "exposed_by_any_combination": exposed},
    )
    return CombinedFindings((JudgedFinding(finding, entries, exposed, options.limit, on=name),))


def _find_shared_columns(context: AttackContext, on: str | None) -> dict[str, list[int]]:
    """The columns to learn, each with the earlier releases that have it: at least two."""
    *earlier, new = context.releases
    places: dict[str, list[int]] = {}
    for i, release in enumerate(earlier):
        for name in find_learnable_columns((release, new), on):
            places.setdefault(name, []).append(i)
    return {name: releases for name, releases in places.items() if len(releases) > 1}


def _judge_combination(
    context: AttackContext,
    pasts: Sequence[RecordedRelease],
    combination: Combination,
    name: str,
    options: AdmissionOptions,
) -> CombinedFindings:
    entries = tuple(pasts[i].number for i in combination)
    request = AttackRequest(on=name, options={"location": choose_location(context), "weigh": False})
    try:
        finding = run_attack("intersection", context, (*combination, len(pasts)), request)
    except NobodyFoundError:
        return CombinedFindings()
    except (InputError, UsageError) as error:
        reason = f"Several at once: {describe_error(error)}"
        return CombinedFindings(not_evaluated=((entries[-1], reason),))
    judged = judge_finding(finding, entries, options, name)
    try:
        which = (*combination, len(pasts))
        by_rows = judge_joined_rows("intersection", context, which, entries, name, options)
    except (InputError, UsageError) as error:
        reason = f"Column {name!r}, several by kept columns: {describe_error(error)}"
        return CombinedFindings((judged,), ((entries[-1], reason),))
    return CombinedFindings(
        (judged if by_rows is None or by_rows.beyond <= judged.beyond else by_rows,)
    )


def _find_membership(context: AttackContext) -> NDArray[np.bool_] | None:
    """(earlier releases, people of the new one) who is where; None unless known of all."""
    if context.targets is None or context.targets.persons is None:
        return None
    rows = []
    for release in context.releases:
        if (own := find_rows_of_people(release, context.targets.persons.values)) is None:
            return None
        rows.append(own >= 0)
    return np.stack(rows[:-1])[:, rows[-1]]


def _count_affordable_combinations(context: AttackContext, places: Sequence[int]) -> int:
    people = 1 if context.targets is None else len(context.targets.rows)
    return min(MAX_COMBINATIONS, MAX_LOOKUPS // (max(1, people) * (len(places) + 1)))


def _combinations_of_people(
    membership: NDArray[np.bool_], places: Sequence[int], max_combinations: int
) -> tuple[list[Combination], bool]:
    """The combinations that people are in, those of most people first; whether these are all."""
    kinds, people = np.unique(membership[list(places)], axis=1, return_counts=True)
    order = np.argsort(-people, kind="stable")
    tried = [tuple(places[i] for i in np.flatnonzero(kinds[:, j]).tolist()) for j in order]
    tried = [combination for combination in tried if len(combination) > 1]
    return tried[:max_combinations], len(tried) <= max_combinations


def _combinations_by_size(
    places: Sequence[int], max_combinations: int
) -> tuple[list[Combination], bool]:
    """Combinations by growing size, and all at once; whether these are all."""
    number = len(places)
    sizes = range(2, number)
    tried = chain.from_iterable(combinations(places, size) for size in sizes)
    tries = [*islice(tried, max_combinations), tuple(places)]
    return tries, sum(comb(number, size) for size in sizes) <= max_combinations
