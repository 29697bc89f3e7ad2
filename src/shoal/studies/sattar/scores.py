"""The scores of estimators (`pattern`) as numbers over the seeds, at the l and C shown first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.studies.claims import Number, Rows, compute_mean
from shoal.studies.sattar.ladder import ALIKE, CHANCE, COUNTED, OWN, SOMEBODY
from shoal.studies.sattar.two_samples import (
    AT_LEAST,
    BEST,
    CLOSED,
    CODES,
    CONFIDENCES,
    EVERYBODY,
    OCCUPIED,
    C,
    L,
)

PEOPLE = (EVERYBODY, OCCUPIED)
STEPS = (AT_LEAST, COUNTED, CHANCE, SOMEBODY, OWN, ALIKE, CLOSED)
"""Assumptions lifted one by one."""


def select_shown(people: str) -> dict[str, Any]:
    """The rows of the paper's estimate as it is shown first."""
    return {"people": people, "occupations": CODES, "estimator": AT_LEAST, "l": L, "confidence": C}


def find_score(
    rows: Rows,
    of: str,
    people: str,
    said: str,
    unit: str = "",
    by: str = AT_LEAST,
    occupations: str = CODES,
) -> Number:
    """One estimator's score."""
    c = C if by in (AT_LEAST, BEST, COUNTED) else None
    where = {**select_shown(people), "occupations": occupations, "estimator": by, "confidence": c}
    return compute_mean(rows, of, said=said, unit=unit, **where)


def find_error(rows: Rows, people: str, by: str) -> Number:
    """How far an estimator is off, on average."""
    return find_score(rows, "error", people, f"{people}, mean error, {by}", " points", by=by)


def find_best_error(rows: Rows, people: str) -> Number:
    """The paper's least error with any C that was tried, at the l that is shown."""
    tried = [
        compute_mean(
            rows,
            "error",
            said=f"{people}, mean error with the best C ({c:g})",
            unit=" points",
            **{**select_shown(people), "confidence": c},
        )
        for c in CONFIDENCES
    ]
    return min(tried, key=lambda number: number.mean)


def describe_best_c(best: Sequence[Number]) -> str:
    """The C of each kind of people, and whether a smaller one, not tried, might do better."""
    confidences = [number.where["confidence"] for number in best]
    described = [
        f"{c:g}, the least that was tried" if c == min(CONFIDENCES) else f"{c:g}"
        for c in confidences
    ]
    if len(set(described)) == 1:
        return f"C = {described[0]}"
    return "; ".join(f"{people}: C = {c}" for people, c in zip(PEOPLE, described, strict=True))
