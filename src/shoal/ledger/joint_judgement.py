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
    candidate: Candidate,
    about: str,
    entries: Sequence[Entry],
    pasts: Sequence[RecordedRelease],
    terms: AdmissionOptions,
    pairs: MutableMapping[int, JudgedPair],
) -> Admission:
    """Judge a release with earlier ones; ``pairs`` are judged already, and grow."""
    earlier = [
        drop_answered_columns(past.published)
        for past in pasts
        if not has_no_individual_rows(past.published)
    ]
    if not has_no_individual_rows(
        candidate.published
    ):  # nobody is looked for where no row is anybody's
        terms = replace(
            terms,
            people=read_targets((*earlier, drop_answered_columns(candidate.published)), terms),
        )
    based = trace_lineage(candidate.published.manifest, entries)
    for i, past in enumerate(pasts):
        terms.progress("judging with earlier releases", i, len(pasts))
        if past.number not in pairs:
            pairs[past.number] = judge_pair(past, candidate.published, past.number in based, terms)
    judged = [pairs[past.number] for past in pasts]
    several = judge_combinations(pasts, candidate.published, terms, judged)
    joined = any(pair.relation != OVERLAP for pair in judged)
    holds, words = (
        check_rule_with_earlier(drop_answered_columns(candidate.published), earlier)
        if joined
        else (False, "")
    )
    lacking = [f"Entry {pair.past.number}: {pair.finer}." for pair in judged if pair.finer]
    spend = compute_account(candidate.spend, about, entries, candidate.form, candidate.table)
    weighed = (*(w for pair in judged for w in _answered(pair)), *several.weighed)
    unjudged = (
        *(
            [(UNRECORDED, NO_BASE)]
            if has_unrecorded_base(candidate.published.manifest, entries)
            else []
        ),
        *((pair.past.number, pair.unjudged) for pair in judged if _open(pair, holds)),
        *several.unjudged,
    )
    refusal = Refusal(candidate.published, judged, terms.people is not None, based, terms.l)
    return Admission(
        name=candidate.published.name,
        table=candidate.table,
        about=about,
        judged_with=tuple(_describe_earlier(pair) for pair in judged),
        weighed=weighed,
        defences=(*_based(judged), *([words] if holds else [])),
        lacking=(*lacking, *([words] if words and not holds else [])),
        skipped=tuple(s for pair in judged for s in pair.skipped),
        unjudged=unjudged,
        ways=refusal.ways(weighed, unjudged, spend),
        covered=bool(judged) and all(pair.covered for pair in judged),
        people_found=_people_found(judged),
        notes=spend.notes,
        spend=spend,
    )


def _based(pairs: Sequence[JudgedPair]) -> list[str]:
    return [f"Entry {pair.past.number}: {pair.based}." for pair in pairs if pair.based]


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
        replace(judged, defence=pair.based)
        if judged.exceeds and judged.finding.attack in ANSWERED_BY_BASE
        else judged
        for judged in pair.weighed
    ]


def _people_found(pairs: Sequence[JudgedPair]) -> int | None:
    """How many of the people given are in the release: at least, where pairs differ."""
    return min((pair.people_found for pair in pairs if pair.people_found is not None), default=None)


def _describe_earlier(pair: JudgedPair) -> JudgedWith:
    entry = pair.past.entry
    body: Mapping[str, Any] = entry.body
    by = body.get("made_by" if entry.kind == FOREIGN else "by", "")
    name, at = str(body.get("name", "")), str(body.get("at", ""))
    return JudgedWith(entry.number, pair.relation, pair.how, name, str(by), at)


def find_accepted_reason(now: Admission, body: Mapping[str, Any]) -> str:
    """The reason for which all that speaks against a recorded release was accepted; else empty.

    Accepted is what exceeded the limit then: by this attack, with these entries, in this column.
    """
    before = {
        _key(recorded): int(recorded["beyond"])
        for recorded in body.get("findings", ())
        if recorded["exceeds"]
    }
    worse = [
        judged
        for judged in now.weighed
        if judged.exceeds and judged.beyond > _accepted(judged, before)
    ]
    unjudged = {number for number, _ in now.unjudged} - set(body.get("unjudged", ()))
    overspent = now.spend.exceeded and not body.get("budget_exceeded")
    return "" if worse or unjudged or overspent else str(body.get("accepted_risk", ""))


def _accepted(judged: JudgedFinding, before: Mapping[tuple[str, tuple[int, ...], str], int]) -> int:
    """How many people it was accepted that an attack exposes; -1 where that was not.

    The worst combination is of all earlier releases. When others have come since, it is as many as
    were accepted of some of them: what these add is compared by how many there are.
    """
    if judged.finding.attack != WORST_PAIR:
        return before.get((judged.finding.attack, judged.entries, judged.on), -1)
    known = [
        beyond
        for (attack, entries, on), beyond in before.items()
        if (attack, on) == (WORST_PAIR, judged.on) and set(entries) <= set(judged.entries)
    ]
    return max(known, default=-1)


def _key(finding: Mapping[str, Any]) -> tuple[str, tuple[int, ...], str]:
    return str(finding["attack"]), tuple(finding["entries"]), str(finding.get("on", ""))
