"""Figure 1: the risk estimated from one release, against how many are in both, and against k.

Sattar and Helal 2018, Figure 1: two samples of IPUMS, published by Mondrian; 1,000 to 5,000 people
in both. The paper's estimate (definition 7, in both of its readings: `shoal.forecasts.paper`)
stands beside Shoal's closed form and its simulation; what comes true is in Figure 2, and whether
the one captures the pattern of the other is judged in Figure 3.

Not as in the paper: the data, and k, l and C, which it does not give (`two_samples`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines
from shoal.studies.sattar.pattern import find_middle, is_following, is_same_order, score_patterns
from shoal.studies.sattar.two_samples import (
    AT_LEAST,
    CODES,
    DATA,
    ESTIMATORS,
    EVERYBODY,
    LABELS,
    NOTES,
    OCCUPIED,
    ON,
    SETTINGS,
    SIMULATION,
    C,
    L,
    compare_estimators,
    filter_rows,
    list_cells,
)

PEOPLE = (EVERYBODY, OCCUPIED)
WORDS = {"overlap": "people in both", "k": "(k)"}
WITH = {EVERYBODY: "everybody", OCCUPIED: "those with an occupation"}


def measure(lab: Lab) -> list[Row]:
    """Every overlap and k; the paper's estimates at one C; and each estimator's pattern."""
    settings = lab.settings
    rows = lab.measure_cells(
        compare_estimators, list_cells(lab, settings["overlap"], settings["k"], CODES)
    )
    at_c = [row for row in filter_rows(rows, confidence=C) if row["estimator"] in ESTIMATORS]
    return [*at_c, *score_patterns(at_c)]


def claims(rows: Rows) -> list[Claim]:
    """How far the estimate and the real risk move with the overlap, and with k."""
    return [_overlap_claim(rows), _k_claim(rows)]


def _overlap_claim(rows: Rows) -> Claim:
    changes = _collect_changes(rows, "overlap")
    followed = _describe_where(is_following(estimate, real) for estimate, real in changes)
    simulated = [
        _score(
            rows,
            "change_overlap",
            people,
            f"{people}, change of the simulation",
            " points",
            SIMULATION,
        )
        for people in PEOPLE
    ]
    return Claim(
        f"{ON}{_describe_ends(rows, 'overlap')} {_describe_changes(changes)}; the estimate follows "
        "the real risk "
        f"{followed}. The simulation, which is told how many are in both, changes by "
        f"{_describe_both(simulated)}.",
        "",
        tuple(number for pair in changes for number in pair),
        FOUND,
        because=tuple(simulated),
    )


def _k_claim(rows: Rows) -> Claim:
    changes, touched = _collect_changes(rows, "k"), _collect_changes(rows, "k", "_in_both")
    ranks, inside = (
        [_score(rows, of, people, f"{people}, rank correlation over k{among}") for people in PEOPLE]
        for of, among in (("rank_k", ""), ("rank_k_in_both", ", classes with somebody in both"))
    )
    same, also = (
        _describe_where(
            is_same_order(rank, *pair) for rank, pair in zip(correlations, pairs, strict=True)
        )
        for correlations, pairs in ((ranks, changes), (inside, touched))
    )
    followed = _describe_where(is_following(estimate, real) for estimate, real in changes)
    return Claim(
        f"{ON}{_describe_ends(rows, 'k')} {_describe_changes(changes)}; the estimate follows the "
        f"real risk {followed}, "
        f"and is in the same order {same}: rank correlation {_describe_both(ranks, '.2f')}. Among "
        "the "
        f"classes with somebody in both it is in the same order {also}: "
        f"{_describe_both(inside, '.2f')}.",
        "",
        tuple(number for pair in changes for number in pair),
        FOUND,
        because=(*ranks, *inside, *(real for _, real in touched)),
    )


def _collect_changes(rows: Rows, way: str, against: str = "") -> list[tuple[Number, Number]]:
    among = ", classes with somebody in both" if against else ""
    return [
        (
            _score(rows, f"change_{way}", people, f"{people}, change of the estimate", " points"),
            _score(
                rows,
                f"real_change_{way}{against}",
                people,
                f"{people}, change of the real risk{among}",
                " points",
            ),
        )
        for people in PEOPLE
    ]


def _describe_ends(rows: Rows, way: str) -> str:
    least, most = (pick(row[way] for row in rows if way in row) for pick in (min, max))
    return (
        f"from k = {least} to k = {most}"
        if way == "k"
        else (f"from {least:,} to {most:,} people in both")
    )


def _describe_changes(changes: Sequence[tuple[Number, Number]]) -> str:
    estimates, reals = zip(*changes, strict=True)
    return (
        f"the paper's estimate changes by {_describe_both(estimates)}, the real risk by "
        f"{_describe_both(reals)}"
    )


def _describe_both(numbers: Sequence[Number], form: str = "+.1f") -> str:
    unit = " points" if form.startswith("+") else ""
    first, second = (f"{number.mean:{form}}{unit}" for number in numbers)
    return f"{first} ({EVERYBODY}) and {second} ({OCCUPIED})"


def _describe_where(flags: Iterable[bool]) -> str:
    of = [people for people, holds in zip(PEOPLE, flags, strict=True) if holds]
    return f"with {' and '.join(WITH[people] for people in of)}" if of else "with neither"


def _score(
    rows: Rows, of: str, people: str, said: str, unit: str = "", by: str = AT_LEAST
) -> Number:
    c = C if by == AT_LEAST else None
    return compute_mean(
        rows, of, said=said, unit=unit, people=people, estimator=by, confidence=c, l=L
    )


def charts(rows: Rows) -> dict[str, Spec]:
    """Against the overlap, against k, and the paper's own for every k."""
    shown = [row for row in select_rows(rows, l=L) if "overlap" in row]
    k, overlap = find_middle(shown, "k"), find_middle(shown, "overlap")
    ours = [{**row, "each_k": f"k = {row['k']}"} for row in select_rows(shown, estimator=AT_LEAST)]
    about = f"{ON}the share of classes estimated to be exposed (l = {L}, C = {C})."
    common: dict[str, Any] = {"y": "estimated", "panel": "people", "labels": LABELS, "unit": " %"}
    at_k, at_overlap = select_rows(shown, k=k), select_rows(shown, overlap=overlap)
    return {
        "against-overlap": draw_lines(
            at_k,
            x="overlap",
            by="estimator",
            **common,
            log_y=True,
            about=about,
            title=f"At k = {k}, {_make_title(at_k, 'overlap')}",
        ),
        "against-k": draw_lines(
            at_overlap,
            x="k",
            by="estimator",
            **common,
            log_x=True,
            about=about,
            title=f"With {overlap:,} people in both, {_make_title(at_overlap, 'k')}",
        ),
        "paper-for-every-k": draw_lines(
            ours,
            x="overlap",
            by="each_k",
            **common,
            about=about,
            title=f"In the mean over k, {_make_title(ours, 'overlap', (AT_LEAST,))}",
        ),
    }


NAMED = {AT_LEAST: "the paper's estimate", SIMULATION: "the simulation"}


def _make_title(rows: Rows, way: str, estimators: Sequence[str] = (AT_LEAST, SIMULATION)) -> str:
    least, most = (pick(row[way] for row in rows) for pick in (min, max))
    moved = []
    for estimator in estimators:
        ends = [
            [
                compute_mean(
                    rows, "estimated", people=people, estimator=estimator, **{way: end}
                ).mean
                for end in (least, most)
            ]
            for people in PEOPLE
        ]
        moves = " and ".join(f"{b - a:+.1f}" for a, b in ends)
        moved.append(f"{NAMED[estimator]} moves by {moves} points")
    where = " and ".join(PEOPLE)
    return f"from {least:,} to {most:,} {WORDS[way]}, {', '.join(moved)} ({where})"


EXPERIMENT = Experiment(
    "Figure 1: estimated risk against how many people are in both, and against k",
    measure,
    claims,
    charts,
    DATA,
    SETTINGS,
    seeds=3,
    notes=NOTES,
)
