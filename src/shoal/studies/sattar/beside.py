"""The charts of Figure 3: estimated beside real risk, and how far each estimator is off."""

from __future__ import annotations

from shoal.studies.claims import Row, Rows, chosen
from shoal.studies.experiment import Spec
from shoal.studies.pages.charts import bars, dots, lines
from shoal.studies.sattar.pattern import middle
from shoal.studies.sattar.scores import PEOPLE, STEPS, error, hindsight, score, told_c
from shoal.studies.sattar.two_samples import (
    AT_LEAST,
    BEST,
    CODES,
    ESTIMATORS,
    EVERYBODY,
    GROUPS,
    LABELS,
    OCCUPIED,
    ON,
    SIMULATION,
    C,
    L,
    kept,
)

REAL = "real"
NAMES = {EVERYBODY: "everybody", OCCUPIED: "occupied"}


def charts(rows: Rows) -> dict[str, Spec]:
    """Both against the overlap; each against the other; errors by C; step by step; in groups."""
    shown = [
        row
        for row in chosen(rows, occupations=CODES)
        if "overlap" in row and row["estimator"] in ESTIMATORS
    ]
    scores = [row for row in rows if "error" in row]
    return {
        "beside": _beside(shown, scores),
        **{f"against-real-{NAMES[people]}": _against(shown, scores, people) for people in PEOPLE},
        "by-confidence": _by_confidence(scores),
        "assumptions-lifted": _lifted(scores),
        "in-groups": _in_groups(scores),
    }


def _beside(shown: Rows, scores: Rows) -> Spec:
    """The real risk is a line of its own."""
    k = middle(shown, "k")
    at_k = chosen(shown, k=k)
    real = [
        {**row, "estimator": REAL, "estimated": row["real"]}
        for row in chosen(at_k, estimator=SIMULATION)
    ]
    return lines(
        [*real, *(dict(row) for row in at_k)],
        x="overlap",
        y="estimated",
        by="estimator",
        panel="people",
        labels=LABELS,
        unit=" %",
        log_y=True,
        title=f"From the least overlap to the most the paper's estimate moves by "
        f"{_moved(scores, 'change')} points, the real risk by {_moved(scores, 'real_change')}",
        about=f"{ON}estimated and real share of exposed classes (k = {k}, l = {L}, C = {C}); the "
        "title's means are over all k.",
    )


def _moved(scores: Rows, of: str) -> str:
    return " and ".join(
        f"{score(scores, f'{of}_overlap', people, '').mean:+.1f} ({people})" for people in PEOPLE
    )


def _against(shown: Rows, scores: Rows, people: str) -> Spec:
    told = "; ".join(f"{one} {error(scores, people, one).mean:.1f}" for one in ESTIMATORS)
    return dots(
        chosen(shown, people=people),
        x="real",
        y="estimated",
        by="estimator",
        labels=LABELS,
        diagonal=True,
        log_x=True,
        log_y=True,
        title=f"Off by, in points, {people}: {told}",
        about=f"{ON}a dot for each overlap, k and seed (l = {L}, C = {C}); on the line estimated "
        "and real are the same.",
    )


def _by_confidence(scores: Rows) -> Spec:
    codes = [
        {**row, "each": f"{row['estimator']}, l = {row['l']}"}
        for row in chosen(scores, occupations=CODES)
        if row["estimator"] in (AT_LEAST, BEST)
    ]
    fits = told_c([hindsight(scores, people) for people in PEOPLE])
    return lines(
        codes,
        x="confidence",
        y="error",
        by="each",
        panel="people",
        labels=LABELS,
        log_x=True,
        title=f"The paper's error depends on C, which it does not give: at l = {L} ({AT_LEAST}) "
        f"it is least at {fits}",
        about=f"{ON}the mean error in percentage points by C, reading and l.",
    )


def _lifted(scores: Rows) -> Spec:
    climbed: list[Row] = [
        row
        for one in STEPS
        for row in kept(scores, l=L, confidence=C, occupations=CODES, estimator=one)
    ]
    told = "; ".join(
        f"{people} " + ", ".join(f"{error(scores, people, one).mean:.1f}" for one in STEPS)
        for people in PEOPLE
    )
    return bars(
        climbed,
        x="estimator",
        y="error",
        by="people",
        labels=LABELS,
        title=f"Off by, in points, as assumptions are lifted one after the other: {told}",
        about=f"{ON}the mean error in percentage points from the paper's estimate to the closed "
        f"form (l = {L}, C = {C}).",
    )


def _in_groups(scores: Rows) -> Spec:
    both = [
        {**row, "told": f"{row['people']}, {row['occupations']}"}
        for row in kept(scores, l=L, confidence=C)
        if row["estimator"] in (AT_LEAST, BEST)
    ]
    parts = []
    for people in PEOPLE:
        ends = [score(scores, "error", people, "", told=told).mean for told in (CODES, GROUPS)]
        parts.append(f"{ends[0]:.1f} and {ends[1]:.1f} points ({people})")
    return bars(
        both,
        x="estimator",
        y="error",
        by="told",
        labels=LABELS,
        title=f"With occupations as they are and in groups the paper's estimate is off by "
        f"{'; '.join(parts)}",
        about=f"{ON}the mean error in percentage points with occupations as they are and by their "
        f"first two digits (l = {L}, C = {C}).",
    )
