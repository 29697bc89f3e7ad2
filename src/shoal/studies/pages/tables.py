"""A study's claims in the tables of a page."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.reports.document import Block, NotedText, Table
from shoal.studies.pages.claim_summary import (
    HEADS,
    TRACED,
    Claim,
    ClaimDescription,
    describe_claim,
    trace_numbers,
)


def make_claims_table(claims: Sequence[Claim], links: Sequence[str]) -> Table:
    """What the paper says beside what came out; a claim leads to its link, where it has one."""
    rows = tuple(
        (
            i,
            NotedText(claim.says, claim.why, link=link),
            claim.theirs,
            _list_figures(claim),
            NotedText(claim.verdict, tone=claim.tone),
        )
        for i, (claim, link) in enumerate(zip(map(describe_claim, claims), links, strict=True), 1)
    )
    return Table(("No.", "Claim", "Paper", "Ours", "Verdict"), rows)


def make_findings_table(claims: Sequence[Claim], links: Sequence[str]) -> Table:
    """What was found beside the paper."""
    rows = tuple(
        (i, NotedText(claim.says, claim.why, link=link), _list_figures(claim))
        for i, (claim, link) in enumerate(zip(map(describe_claim, claims), links, strict=True), 1)
    )
    return Table(("No.", "Found", "Ours"), rows)


def make_trace_table(claims: Sequence[Claim], places: Sequence[str]) -> tuple[Block, ...]:
    """Of every number its rows, and the file that holds them; folded."""
    rows = tuple((*row, places[row[0] - 1]) for row in trace_numbers(claims))
    return (Table((*HEADS, "In"), rows, TRACED, folded=True),) if rows else ()


def _list_figures(claim: ClaimDescription) -> tuple[NotedText, ...]:
    return tuple(NotedText(figure, note) for figure, note in claim.ours)
