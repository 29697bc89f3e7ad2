"""What the papers claim, checked: every claim of every study on one page."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.reports.document import (
    Block,
    Callout,
    Fact,
    KeyFacts,
    NotedText,
    Page,
    Section,
    Table,
    Text,
)
from shoal.studies.pages.claim_summary import (
    BESIDE,
    DECIDED,
    SPREAD,
    Claim,
    Study,
    list_comparison_warnings,
    select_claims,
    select_findings,
)
from shoal.studies.pages.tables import make_claims_table, make_findings_table, make_trace_table
from shoal.studies.pages.words import (
    count_verdicts,
    end_sentence,
    format_verdict,
    summarise_verdicts,
)

MEANING = {
    "agrees": "ours is what the paper says",
    "partly": "ours is what the paper says in part",
    "differs": "ours is not what the paper says",
    "corrected": "a mistake in print; ours is right",
}
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def make_claims_page(studies: Sequence[Study], page: str, results: str) -> Page:
    """The verdicts first, then every claim by paper, then all studies.

    ``page`` and ``results`` are the names of the page and the JSON in a study's folder.
    """
    claims = select_claims([claim for study in studies for claim in study["claims"]])
    sections = [
        Section("In short", _summarise(studies, claims), _list_facts(studies, claims)),
        *(
            _paper_section(short, group, page, results)
            for short, group in group_by_paper(studies).items()
            if any(study["claims"] for study in group)
        ),
        Section("All studies", (), _list_studies(studies, page)),
    ]
    lead = "Five papers' tables and figures, made again: what each claims beside what came out."
    return Page("What the papers claim, checked", tuple(sections), lead=lead)


def group_by_paper(studies: Sequence[Study]) -> dict[str, list[Study]]:
    """The studies of each paper, in the order in which they came."""
    groups: dict[str, list[Study]] = {}
    for study in studies:
        groups.setdefault(study["paper"]["short"], []).append(study)
    return groups


def _summarise(studies: Sequence[Study], claims: Sequence[Claim]) -> tuple[str, ...]:
    if not studies:
        return ("No study has been run in this folder yet: `shoal study --all -o FOLDER`.",)
    if not claims:
        return ("None of the studies in this folder compares a claim.",)
    papers = len({study["paper"]["short"] for study in studies if select_claims(study["claims"])})
    of = f" They are of {NUMBERS[papers]} papers." if papers in NUMBERS else ""
    return f"{summarise_verdicts(claims)}{of} {DECIDED}", SPREAD


def _list_facts(studies: Sequence[Study], claims: Sequence[Claim]) -> tuple[Block, ...]:
    warned = (
        *_warn_of_stand_ins(studies),
        *(Callout(warning, "warning", head) for head, warning in list_comparison_warnings(studies)),
    )
    if not claims:
        return warned
    number = count_verdicts(claims)
    facts = tuple(
        Fact(format_verdict(word), number.get(word, 0), meaning)
        for word, meaning in MEANING.items()
    )
    return (KeyFacts(facts), *warned)


def _warn_of_stand_ins(studies: Sequence[Study]) -> tuple[Block, ...]:
    names = [study["study"] for study in studies if study["stand_in"]]
    if not names:
        return ()
    message = f"Run on made-up people, and compared with nothing: {', '.join(names)}."
    return (Callout(message, "warning", "Synthetic stand-in"),)


def _paper_section(short: str, studies: Sequence[Study], page: str, results: str) -> Section:
    """One paper's claims, and apart what was found beside them; each leads to its study's page."""
    blocks: list[Block] = []
    for pick, table in ((select_claims, make_claims_table), (select_findings, make_findings_table)):
        pairs = [(study["study"], claim) for study in studies for claim in pick(study["claims"])]
        if not pairs:
            continue
        some = [claim for _, claim in pairs]
        blocks += [Text(BESIDE)] if pick is select_findings else []
        blocks += [
            table(some, [f"{name}/{page}" for name, _ in pairs]),
            *make_trace_table(some, [f"{name}/{results}" for name, _ in pairs]),
        ]
    claims = select_claims([claim for study in studies for claim in study["claims"]])
    return Section(
        short,
        (end_sentence(studies[0]["paper"]["cited"]), summarise_verdicts(claims)),
        tuple(blocks),
    )


def _list_studies(studies: Sequence[Study], page: str) -> tuple[Block, ...]:
    rows = tuple(
        (
            NotedText(study["study"], link=f"{study['study']}/{page}"),
            study["shows"],
            len(select_claims(study["claims"])),
            len(select_findings(study["claims"])),
        )
        for study in studies
    )
    return (Table(("Study", "Shows", "Claims", "Found beside"), rows),) if rows else ()
