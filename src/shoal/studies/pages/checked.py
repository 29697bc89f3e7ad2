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
from shoal.studies.pages.tables import claims_table, found_table, traced
from shoal.studies.pages.told import BESIDE, DECIDED, SPREAD, Claim, Study, claimed, found, warnings
from shoal.studies.pages.words import counts, ended, summed_up, verdict

MEANING = {
    "agrees": "ours is what the paper says",
    "partly": "ours is what the paper says in part",
    "differs": "ours is not what the paper says",
    "corrected": "a mistake in print; ours is right",
}
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def checked_page(studies: Sequence[Study], page: str, results: str) -> Page:
    """The verdicts first, then every claim by paper, then all studies.

    ``page`` and ``results`` are the names of the page and the JSON in a study's folder.
    """
    claims = claimed([claim for one in studies for claim in one["claims"]])
    sections = [
        Section("In short", _in_short(studies, claims), _facts(studies, claims)),
        *(
            _paper(short, some, page, results)
            for short, some in by_paper(studies).items()
            if any(one["claims"] for one in some)
        ),
        Section("All studies", (), _studies(studies, page)),
    ]
    lead = "Five papers' tables and figures, made again: what each claims beside what came out."
    return Page("What the papers claim, checked", tuple(sections), lead=lead)


def by_paper(studies: Sequence[Study]) -> dict[str, list[Study]]:
    """The studies of each paper, in the order in which they came."""
    found: dict[str, list[Study]] = {}
    for one in studies:
        found.setdefault(one["paper"]["short"], []).append(one)
    return found


def _in_short(studies: Sequence[Study], claims: Sequence[Claim]) -> tuple[str, ...]:
    if not studies:
        return ("No study has been run in this folder yet: `shoal study --all -o FOLDER`.",)
    if not claims:
        return ("None of the studies in this folder compares a claim.",)
    papers = len({one["paper"]["short"] for one in studies if claimed(one["claims"])})
    of = f" They are of {NUMBERS[papers]} papers." if papers in NUMBERS else ""
    return f"{summed_up(claims)}{of} {DECIDED}", SPREAD


def _facts(studies: Sequence[Study], claims: Sequence[Claim]) -> tuple[Block, ...]:
    warned = (
        *_made_up(studies),
        *(Callout(said, "warning", head) for head, said in warnings(studies)),
    )
    if not claims:
        return warned
    number = counts(claims)
    facts = tuple(Fact(verdict(word), number.get(word, 0), said) for word, said in MEANING.items())
    return (KeyFacts(facts), *warned)


def _made_up(studies: Sequence[Study]) -> tuple[Block, ...]:
    names = [one["study"] for one in studies if one["stand_in"]]
    if not names:
        return ()
    said = f"Run on made-up people, and compared with nothing: {', '.join(names)}."
    return (Callout(said, "warning", "Synthetic stand-in"),)


def _paper(short: str, studies: Sequence[Study], page: str, results: str) -> Section:
    """One paper's claims, and apart what was found beside them; each leads to its study's page."""
    blocks: list[Block] = []
    for pick, table in ((claimed, claims_table), (found, found_table)):
        pairs = [(one["study"], claim) for one in studies for claim in pick(one["claims"])]
        if not pairs:
            continue
        some = [claim for _, claim in pairs]
        blocks += [Text(BESIDE)] if pick is found else []
        blocks += [
            table(some, [f"{name}/{page}" for name, _ in pairs]),
            *traced(some, [f"{name}/{results}" for name, _ in pairs]),
        ]
    claims = claimed([claim for one in studies for claim in one["claims"]])
    return Section(short, (ended(studies[0]["paper"]["cited"]), summed_up(claims)), tuple(blocks))


def _studies(studies: Sequence[Study], page: str) -> tuple[Block, ...]:
    rows = tuple(
        (
            NotedText(one["study"], link=f"{one['study']}/{page}"),
            one["shows"],
            len(claimed(one["claims"])),
            len(found(one["claims"])),
        )
        for one in studies
    )
    return (Table(("Study", "Shows", "Claims", "Found beside"), rows),) if rows else ()
