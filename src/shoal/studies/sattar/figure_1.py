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

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, chosen, number
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.charts import lines
from shoal.studies.sattar.pattern import follows, middle, ordered, patterns
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
    cells,
    compared,
    kept,
)

PEOPLE = (EVERYBODY, OCCUPIED)
WORDS = {"overlap": "people in both", "k": "(k)"}
WITH = {EVERYBODY: "everybody", OCCUPIED: "those with an occupation"}


def measure(lab: Lab) -> list[Row]:
    """Every overlap and k; the paper's estimates at one C; and each estimator's pattern."""
    asked = lab.settings
    rows = lab.measured(compared, cells(lab, asked["overlap"], asked["k"], CODES))
    at_c = [row for row in kept(rows, confidence=C) if row["estimator"] in ESTIMATORS]
    return [*at_c, *patterns(at_c)]


def claims(rows: Rows) -> list[Claim]:
    """How far the estimate and the real risk move with the overlap, and with k."""
    return [_with_overlap(rows), _with_k(rows)]


def _with_overlap(rows: Rows) -> Claim:
    changes = _changes(rows, "overlap")
    followed = _where(follows(one, real) for one, real in changes)
    told = [
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
        f"{ON}{_ends(rows, 'overlap')} {_moved(changes)}; the estimate follows the real risk "
        f"{followed}. The simulation, which is told how many are in both, changes by "
        f"{_both(told)}.",
        "",
        tuple(one for pair in changes for one in pair),
        FOUND,
        because=tuple(told),
    )


def _with_k(rows: Rows) -> Claim:
    changes, touched = _changes(rows, "k"), _changes(rows, "k", "_in_both")
    ranks, inside = (
        [_score(rows, of, people, f"{people}, rank correlation over k{said}") for people in PEOPLE]
        for of, said in (("rank_k", ""), ("rank_k_in_both", ", classes with somebody in both"))
    )
    same, also = (
        _where(ordered(rank, *pair) for rank, pair in zip(some, pairs, strict=True))
        for some, pairs in ((ranks, changes), (inside, touched))
    )
    followed = _where(follows(one, real) for one, real in changes)
    return Claim(
        f"{ON}{_ends(rows, 'k')} {_moved(changes)}; the estimate follows the real risk {followed}, "
        f"and is in the same order {same}: rank correlation {_both(ranks, '.2f')}. Among the "
        f"classes with somebody in both it is in the same order {also}: {_both(inside, '.2f')}.",
        "",
        tuple(one for pair in changes for one in pair),
        FOUND,
        because=(*ranks, *inside, *(real for _, real in touched)),
    )


def _changes(rows: Rows, way: str, against: str = "") -> list[tuple[Number, Number]]:
    """Of each kind of people the change of the estimate, and that of the real risk."""
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


def _ends(rows: Rows, way: str) -> str:
    least, most = (pick(row[way] for row in rows if way in row) for pick in (min, max))
    return (
        f"from k = {least} to k = {most}"
        if way == "k"
        else (f"from {least:,} to {most:,} people in both")
    )


def _moved(changes: Sequence[tuple[Number, Number]]) -> str:
    estimates, reals = zip(*changes, strict=True)
    return f"the paper's estimate changes by {_both(estimates)}, the real risk by {_both(reals)}"


def _both(some: Sequence[Number], form: str = "+.1f") -> str:
    """Of everybody, and of those with an occupation."""
    unit = " points" if form.startswith("+") else ""
    first, second = (f"{one.mean:{form}}{unit}" for one in some)
    return f"{first} ({EVERYBODY}) and {second} ({OCCUPIED})"


def _where(found: Iterable[bool]) -> str:
    """Of whom something holds."""
    of = [people for people, holds in zip(PEOPLE, found, strict=True) if holds]
    return f"with {' and '.join(WITH[people] for people in of)}" if of else "with neither"


def _score(
    rows: Rows, of: str, people: str, said: str, unit: str = "", by: str = AT_LEAST
) -> Number:
    c = C if by == AT_LEAST else None
    return number(rows, of, said=said, unit=unit, people=people, estimator=by, confidence=c, l=L)


def charts(rows: Rows) -> dict[str, Spec]:
    """Against the overlap, against k, and the paper's own for every k."""
    shown = [row for row in chosen(rows, l=L) if "overlap" in row]
    k, overlap = middle(shown, "k"), middle(shown, "overlap")
    ours = [{**row, "each_k": f"k = {row['k']}"} for row in chosen(shown, estimator=AT_LEAST)]
    about = f"{ON}the share of classes estimated to be exposed (l = {L}, C = {C})."
    drawn: dict[str, Any] = {"y": "estimated", "panel": "people", "labels": LABELS, "unit": " %"}
    at_k, at_overlap = chosen(shown, k=k), chosen(shown, overlap=overlap)
    return {
        "against-overlap": lines(
            at_k,
            x="overlap",
            by="estimator",
            **drawn,
            log_y=True,
            about=about,
            title=f"At k = {k}, {_titled(at_k, 'overlap')}",
        ),
        "against-k": lines(
            at_overlap,
            x="k",
            by="estimator",
            **drawn,
            log_x=True,
            about=about,
            title=f"With {overlap:,} people in both, {_titled(at_overlap, 'k')}",
        ),
        "paper-for-every-k": lines(
            ours,
            x="overlap",
            by="each_k",
            **drawn,
            about=about,
            title=f"In the mean over k, {_titled(ours, 'overlap', (AT_LEAST,))}",
        ),
    }


NAMED = {AT_LEAST: "the paper's estimate", SIMULATION: "the simulation"}


def _titled(rows: Rows, way: str, told: Sequence[str] = (AT_LEAST, SIMULATION)) -> str:
    """How far the estimates move from the least to the most, each kind of people by itself."""
    least, most = (pick(row[way] for row in rows) for pick in (min, max))
    moved = []
    for one in told:
        ends = [
            [
                number(rows, "estimated", people=people, estimator=one, **{way: end}).mean
                for end in (least, most)
            ]
            for people in PEOPLE
        ]
        moves = " and ".join(f"{b - a:+.1f}" for a, b in ends)
        moved.append(f"{NAMED[one]} moves by {moves} points")
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
