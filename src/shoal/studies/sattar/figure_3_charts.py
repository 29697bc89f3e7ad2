"""The charts of Figure 3: estimated beside real risk, and how far each estimator is off."""

from __future__ import annotations

from shoal.studies.claims import Row, Rows, select_rows
from shoal.studies.experiment import Spec
from shoal.studies.pages.bars import draw_bars
from shoal.studies.pages.dots import draw_dots
from shoal.studies.pages.lines import draw_lines
from shoal.studies.sattar.pattern import find_middle
from shoal.studies.sattar.scores import (
    PEOPLE,
    STEPS,
    describe_best_c,
    find_best_error,
    find_error,
    find_score,
)
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
    filter_rows,
)

REAL = "real"
NAMES = {EVERYBODY: "everybody", OCCUPIED: "occupied"}


def charts(rows: Rows) -> dict[str, Spec]:
    """Both against the overlap; each against the other; errors by C; step by step; in groups."""
    shown = [
        row
        for row in select_rows(rows, occupations=CODES)
        if "overlap" in row and row["estimator"] in ESTIMATORS
    ]
    scores = [row for row in rows if "error" in row]
    return {
        "beside": _side_by_side_chart(shown, scores),
        **{
            f"against-real-{NAMES[people]}": _against_real_chart(shown, scores, people)
            for people in PEOPLE
        },
        "by-confidence": _confidence_chart(scores),
        "assumptions-lifted": _assumptions_chart(scores),
        "in-groups": _groups_chart(scores),
    }


def _side_by_side_chart(shown: Rows, scores: Rows) -> Spec:
    """The real risk is a line of its own."""
    k = find_middle(shown, "k")
    at_k = select_rows(shown, k=k)
    real = [
        {**row, "estimator": REAL, "estimated": row["real"]}
        for row in select_rows(at_k, estimator=SIMULATION)
    ]
    return draw_lines(
        [*real, *(dict(row) for row in at_k)],
        x="overlap",
        y="estimated",
        by="estimator",
        panel="people",
        labels=LABELS,
        unit=" %",
        log_y=True,
        title=f"From the least overlap to the most the paper's estimate moves by "
        f"{_describe_change(scores, 'change')} points, the real risk by "
        f"{_describe_change(scores, 'real_change')}",
        about=f"{ON}estimated and real share of exposed classes (k = {k}, l = {L}, C = {C}); the "
        "title's means are over all k.",
    )


def _describe_change(scores: Rows, of: str) -> str:
    return " and ".join(
        f"{find_score(scores, f'{of}_overlap', people, '').mean:+.1f} ({people})"
        for people in PEOPLE
    )


def _against_real_chart(shown: Rows, scores: Rows, people: str) -> Spec:
    errors = "; ".join(
        f"{estimator} {find_error(scores, people, estimator).mean:.1f}" for estimator in ESTIMATORS
    )
    return draw_dots(
        select_rows(shown, people=people),
        x="real",
        y="estimated",
        by="estimator",
        labels=LABELS,
        diagonal=True,
        log_x=True,
        log_y=True,
        title=f"Off by, in points, {people}: {errors}",
        about=f"{ON}a dot for each overlap, k and seed (l = {L}, C = {C}); on the line estimated "
        "and real are the same.",
    )


def _confidence_chart(scores: Rows) -> Spec:
    codes = [
        {**row, "each": f"{row['estimator']}, l = {row['l']}"}
        for row in select_rows(scores, occupations=CODES)
        if row["estimator"] in (AT_LEAST, BEST)
    ]
    fits = describe_best_c([find_best_error(scores, people) for people in PEOPLE])
    return draw_lines(
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


def _assumptions_chart(scores: Rows) -> Spec:
    climbed: list[Row] = [
        row
        for estimator in STEPS
        for row in filter_rows(scores, l=L, confidence=C, occupations=CODES, estimator=estimator)
    ]
    errors = "; ".join(
        f"{people} "
        + ", ".join(f"{find_error(scores, people, estimator).mean:.1f}" for estimator in STEPS)
        for people in PEOPLE
    )
    return draw_bars(
        climbed,
        x="estimator",
        y="error",
        by="people",
        labels=LABELS,
        title=f"Off by, in points, as assumptions are lifted one after the other: {errors}",
        about=f"{ON}the mean error in percentage points from the paper's estimate to the closed "
        f"form (l = {L}, C = {C}).",
    )


def _groups_chart(scores: Rows) -> Spec:
    both = [
        {**row, "told": f"{row['people']}, {row['occupations']}"}
        for row in filter_rows(scores, l=L, confidence=C)
        if row["estimator"] in (AT_LEAST, BEST)
    ]
    parts = []
    for people in PEOPLE:
        ends = [
            find_score(scores, "error", people, "", occupations=occupations).mean
            for occupations in (CODES, GROUPS)
        ]
        parts.append(f"{ends[0]:.1f} and {ends[1]:.1f} points ({people})")
    return draw_bars(
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
