"""What is told of a study's claims, as plain data: a page and the documentation set it alike.

Claims are as a study's JSON has them. What was found beside a paper, and is no claim of its, is
told apart and never counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.studies.pages.words import (
    VERDICTS,
    describe_condition,
    describe_runs,
    format_figure,
    format_verdict,
    make_unbreakable,
)

Claim = Mapping[str, Any]
Study = Mapping[str, Any]
FOUND = "found"
BESIDE = "Found beside the paper"
MANY = 6
"""More numbers of one claim than these are told in the table of rows alone."""
DECIDED = "Every verdict is decided from the numbers, by code. Where ours differ, the reason is \
given where one was found."
SPREAD = "± is the standard deviation over random divisions of the same table; it is not the \
error of a sample from a population."
TRACED = "Which rows each number is the mean of"
HEADS = ("No.", "Number", "Mean of", "Over the rows with", "Rows")


@dataclass(frozen=True)
class ClaimDescription:
    """One claim, or one thing found beside the paper."""

    says: str
    theirs: str
    ours: tuple[tuple[str, str], ...]
    """Figures, each with what it is of."""
    verdict: str
    """With its sign; nothing for what was found beside the paper."""
    tone: str
    why: str


def describe_claim(claim: Claim) -> ClaimDescription:
    """The words of a claim."""
    word = claim["verdict"]
    sign, tone = ("", "") if word == FOUND else (format_verdict(word), VERDICTS[word][1])
    theirs = claim["theirs"] or ("" if word == FOUND else "no figure")
    return ClaimDescription(
        claim["says"], theirs, _describe_numbers(claim["ours"]), sign, tone, claim["why"]
    )


def _describe_numbers(numbers: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Every number with what it is of, and the runs with the last."""
    notes = [number["said"] for number in numbers[:MANY]]
    more = f"and {len(numbers) - MANY} more" if len(numbers) > MANY else ""
    notes[-1:] = ["; ".join(part for part in (*notes[-1:], more, describe_runs(numbers)) if part)]
    return tuple(
        (make_unbreakable(format_figure(number)), note)
        for number, note in zip(numbers, notes, strict=False)
    )


def trace_numbers(claims: Sequence[Claim]) -> list[tuple[int, str, str, str, int]]:
    """Of every number its claim's, the mean of which column it is, over which rows, and how many.

    In the order of the claims, and of a claim those first that its reason does not rest on.
    """
    return [
        (
            i,
            make_unbreakable(format_figure(number)),
            number["of"],
            describe_condition(number),
            int(number.get("rows", number["runs"])),
        )
        for i, claim in enumerate(claims, 1)
        for number in (*claim["ours"], *claim["because"])
    ]


def select_claims(claims: Sequence[Claim]) -> list[Claim]:
    """What the paper claims."""
    return [claim for claim in claims if claim["verdict"] != FOUND]


def select_findings(claims: Sequence[Claim]) -> list[Claim]:
    """What was found beside the paper."""
    return [claim for claim in claims if claim["verdict"] == FOUND]


def list_comparison_warnings(studies: Sequence[Study]) -> list[tuple[str, str]]:
    """What makes several studies hard to compare: a heading and a sentence each."""
    return [*_warn_of_codes(studies), *_warn_of_seeds(studies)]


def _warn_of_codes(studies: Sequence[Study]) -> list[tuple[str, str]]:
    by_code: dict[str, list[str]] = {}
    for study in studies:
        by_code.setdefault(study["made"].get("code", "unknown"), []).append(study["study"])
    if len(by_code) < 2:
        return []
    groups = "; ".join(f"`{code[:12]}` {', '.join(names)}" for code, names in by_code.items())
    return [("Made by different code", f"Run all of them again to compare them. {groups}.")]


def _warn_of_seeds(studies: Sequence[Study]) -> list[tuple[str, str]]:
    fewer = [
        f"{study['study']} ({len(study['seeds'])} of {study['usual']['seeds']})"
        for study in studies
        if len(study["seeds"]) < study.get("usual", {}).get("seeds", 0)
    ]
    return [("Fewer seeds than usual", f"Drawn less often: {', '.join(fewer)}.")] if fewer else []
