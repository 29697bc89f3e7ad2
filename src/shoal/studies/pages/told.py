"""What is told of a study's claims, as plain data: a page and the documentation set it alike.

Claims are as a study's JSON has them. What was found beside a paper, and is no claim of its, is
told apart and never counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.studies.pages.words import VERDICTS, condition, figure, runs, verdict, whole

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
class Told:
    """One claim, or one thing found beside the paper."""

    says: str
    theirs: str
    ours: tuple[tuple[str, str], ...]
    """Figures, each with what it is of."""
    verdict: str
    """With its sign; nothing for what was found beside the paper."""
    tone: str
    why: str


def told(claim: Claim) -> Told:
    """The words of a claim."""
    word = claim["verdict"]
    sign, tone = ("", "") if word == FOUND else (verdict(word), VERDICTS[word][1])
    theirs = claim["theirs"] or ("" if word == FOUND else "no figure")
    return Told(claim["says"], theirs, _ours(claim["ours"]), sign, tone, claim["why"])


def _ours(found: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Every number with what it is of, and the runs with the last."""
    notes = [one["said"] for one in found[:MANY]]
    more = f"and {len(found) - MANY} more" if len(found) > MANY else ""
    notes[-1:] = ["; ".join(part for part in (*notes[-1:], more, runs(found)) if part)]
    return tuple((whole(figure(one)), note) for one, note in zip(found, notes, strict=False))


def trace(claims: Sequence[Claim]) -> list[tuple[int, str, str, str, int]]:
    """Of every number its claim's, the mean of which column it is, over which rows, and how many.

    In the order of the claims, and of a claim those first that its reason does not rest on.
    """
    return [
        (i, whole(figure(one)), one["of"], condition(one), int(one.get("rows", one["runs"])))
        for i, claim in enumerate(claims, 1)
        for one in (*claim["ours"], *claim["because"])
    ]


def claimed(claims: Sequence[Claim]) -> list[Claim]:
    """What the paper claims."""
    return [claim for claim in claims if claim["verdict"] != FOUND]


def found(claims: Sequence[Claim]) -> list[Claim]:
    """What was found beside the paper."""
    return [claim for claim in claims if claim["verdict"] == FOUND]


def warnings(studies: Sequence[Study]) -> list[tuple[str, str]]:
    """What makes several studies hard to compare: a heading and a sentence each."""
    return [*_codes(studies), *_seeds(studies)]


def _codes(studies: Sequence[Study]) -> list[tuple[str, str]]:
    by_code: dict[str, list[str]] = {}
    for one in studies:
        by_code.setdefault(one["made"].get("code", "unknown"), []).append(one["study"])
    if len(by_code) < 2:
        return []
    told = "; ".join(f"`{code[:12]}` {', '.join(names)}" for code, names in by_code.items())
    return [("Made by different code", f"Run all of them again to compare them. {told}.")]


def _seeds(studies: Sequence[Study]) -> list[tuple[str, str]]:
    fewer = [
        f"{one['study']} ({len(one['seeds'])} of {one['usual']['seeds']})"
        for one in studies
        if len(one["seeds"]) < one.get("usual", {}).get("seeds", 0)
    ]
    return [("Fewer seeds than usual", f"Drawn less often: {', '.join(fewer)}.")] if fewer else []
