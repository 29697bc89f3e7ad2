"""All that is found of a release and the earlier ones, put together into an admission."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.ledger.admission import Admission, JudgedWith
from shoal.ledger.admission_options import OVERLAP, AdmissionOptions
from shoal.ledger.budget import compute_account
from shoal.ledger.candidate import FOREIGN, Candidate
from shoal.ledger.chain.signed_entry import Entry
from shoal.ledger.combination_judgement import judge_combinations
from shoal.ledger.defences import check_rule_with_earlier
from shoal.ledger.noise_releases import drop_answered_columns, has_no_individual_rows
from shoal.ledger.pair_judgement import (
    ANSWERED_BY_BASE,
    WORST_PAIR,
    JudgedFinding,
    JudgedPair,
    RecordedRelease,
    judge_pair,
    read_targets,
)
from shoal.ledger.relation import UNRECORDED, has_unrecorded_base, trace_lineage
from shoal.ledger.remedies import Refusal

NO_BASE = (
    "It is based on a release that the ledger does not have. Record that one first: shoal ledger "
    "admit, or add-foreign where somebody else made it."
)


def judge_with_earlier(
    told: Candidate,
    about: str,
    entries: Sequence[Entry],
    pasts: Sequence[RecordedRelease],
    terms: AdmissionOptions,
    pairs: MutableMapping[int, JudgedPair],
) -> Admission:
    """Judge a release with earlier ones; ``pairs`` are judged already, and grow."""
    earlier = [
        drop_answered_columns(one.seen) for one in pasts if not has_no_individual_rows(one.seen)
    ]
    if not has_no_individual_rows(told.seen):  # nobody is looked for where no row is anybody's
        terms = replace(
            terms, people=read_targets((*earlier, drop_answered_columns(told.seen)), terms)
        )
    based = trace_lineage(told.seen.manifest, entries)
    for i, past in enumerate(pasts):
        terms.progress("judging with earlier releases", i, len(pasts))
        if past.number not in pairs:
            pairs[past.number] = judge_pair(past, told.seen, past.number in based, terms)
    found = [pairs[past.number] for past in pasts]
    several = judge_combinations(pasts, told.seen, terms, found)
    joined = any(one.relation != OVERLAP for one in found)
    holds, words = (
        check_rule_with_earlier(drop_answered_columns(told.seen), earlier)
        if joined
        else (False, "")
    )
    lacking = [f"Entry {one.past.number}: {one.finer}." for one in found if one.finer]
    spend = compute_account(told.spend, about, entries, told.form, told.table)
    weighed = (*(w for one in found for w in _answered(one)), *several.weighed)
    unjudged = (
        *([(UNRECORDED, NO_BASE)] if has_unrecorded_base(told.seen.manifest, entries) else []),
        *((one.past.number, one.unjudged) for one in found if _open(one, holds)),
        *several.unjudged,
    )
    refusal = Refusal(told.seen, found, terms.people is not None, based, terms.l)
    return Admission(
        name=told.seen.name,
        table=told.table,
        about=about,
        judged_with=tuple(_beside(one) for one in found),
        weighed=weighed,
        defences=(*_based(found), *([words] if holds else [])),
        lacking=(*lacking, *([words] if words and not holds else [])),
        skipped=tuple(s for one in found for s in one.skipped),
        unjudged=unjudged,
        ways=refusal.ways(weighed, unjudged, spend),
        covered=bool(found) and all(one.covered for one in found),
        people_found=_people_found(found),
        notes=spend.notes,
        spend=spend,
    )


def _based(found: Sequence[JudgedPair]) -> list[str]:
    return [f"Entry {one.past.number}: {one.based}." for one in found if one.based]


def _open(pair: JudgedPair, counted: bool) -> bool:
    """Whether nothing says that a pair is safe: neither an attack nor a defence.

    A rule that holds over what was released before says so of releases that are stated, not
    guessed, to be of one table. It does not answer a search that was cut short: that was not about
    joining rows.
    """
    defended = counted and pair.relation != OVERLAP and pair.stated and not pair.short
    return bool(pair.unjudged) and not defended


def _answered(pair: JudgedPair) -> list[JudgedFinding]:
    """What was found of a pair, answered where nobody's cell is finer than it was."""
    return [
        replace(one, defence=pair.based)
        if one.exceeds and one.finding.attack in ANSWERED_BY_BASE
        else one
        for one in pair.weighed
    ]


def _people_found(found: Sequence[JudgedPair]) -> int | None:
    """How many of the people given are in the release: at least, where pairs differ."""
    return min((one.people_found for one in found if one.people_found is not None), default=None)


def _beside(pair: JudgedPair) -> JudgedWith:
    entry = pair.past.entry
    body: Mapping[str, Any] = entry.body
    by = body.get("made_by" if entry.kind == FOREIGN else "by", "")
    name, at = str(body.get("name", "")), str(body.get("at", ""))
    return JudgedWith(entry.number, pair.relation, pair.how, name, str(by), at)


def find_accepted_reason(now: Admission, body: Mapping[str, Any]) -> str:
    """The reason for which all that speaks against a recorded release was accepted; else empty.

    Accepted is what exceeded the limit then: by this attack, with these entries, in this column.
    """
    before = {_key(one): int(one["beyond"]) for one in body.get("findings", ()) if one["exceeds"]}
    worse = [one for one in now.weighed if one.exceeds and one.beyond > _accepted(one, before)]
    unjudged = {number for number, _ in now.unjudged} - set(body.get("unjudged", ()))
    overspent = now.spend.exceeded and not body.get("budget_exceeded")
    return "" if worse or unjudged or overspent else str(body.get("accepted_risk", ""))


def _accepted(one: JudgedFinding, before: Mapping[tuple[str, tuple[int, ...], str], int]) -> int:
    """How many people it was accepted that an attack exposes; -1 where that was not.

    The worst combination is of all earlier releases. When others have come since, it is as many as
    were accepted of some of them: what these add is compared by how many there are.
    """
    if one.finding.attack != WORST_PAIR:
        return before.get((one.finding.attack, one.entries, one.on), -1)
    known = [
        beyond
        for (attack, entries, on), beyond in before.items()
        if (attack, on) == (WORST_PAIR, one.on) and set(entries) <= set(one.entries)
    ]
    return max(known, default=-1)


def _key(one: Mapping[str, Any]) -> tuple[str, tuple[int, ...], str]:
    return str(one["attack"]), tuple(one["entries"]), str(one.get("on", ""))
