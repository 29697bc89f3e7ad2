"""Figure 5: the most that k implications tell about Adult, beside k negations.

Martin, Kifer, Machanavajjhala, Gehrke and Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, figure 5. Adult's 45,222 complete rows, occupation
(14 values) sensitive, age in intervals of 20 years, nothing else told; k = 0 … 12.

The paper does not say where the intervals begin. Several origins are measured and all are judged:
0, whose intervals are [0, 20), [20, 40), …, is drawn, 17 is the least age that there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.martin.ages import (
    IMPLICATIONS,
    compute_disclosures,
    list_disclosures,
    make_histograms,
)
from shoal.studies.martin.closeness import BOUNDS, NOTE, judge_closeness, measure_distance
from shoal.studies.pages.lines import draw_lines
from shoal.studies.tables import Sample

DRAWN = 0
"""The origin whose curves are drawn."""


def _measure(lab: Lab) -> Sequence[Row]:
    settings = lab.settings
    cells = [
        {"data": name, "width": settings["width"], "origin": origin, "most": settings["most"]}
        for name in lab.samples
        for origin in settings["origins"]
    ]
    return lab.measure_cells(measure_curves, cells)


def measure_curves(sample: Sample, width: int, origin: int, most: int) -> list[Row]:
    """Both curves for intervals that begin at an origin."""
    classes = make_histograms(sample, width, origin)
    disclosures = compute_disclosures(classes, most)
    return list_disclosures(disclosures, list(range(most + 1)), classes=len(classes))


def _list_origins(rows: Rows) -> list[int]:
    return list(dict.fromkeys(row["origin"] for row in rows))


def _claims(rows: Rows) -> Sequence[Claim]:
    width = rows[0]["width"]
    distances = [
        measure_distance(rows, f"origin {origin}", {"origin": origin}, {"mean over all k": {}})
        for origin in _list_origins(rows)
    ]
    least = min(
        (_extreme_distance(rows, number, least=True) for number in _list_origins(rows)),
        key=lambda number: number.mean,
    )
    return [
        judge_closeness(
            f"What k implications tell about Adult in intervals of {width} years {BOUNDS} what k "
            "negations tell.",
            distances,
        ),
        Claim(
            f"Over all origins and k, implications are {least} or more above as many negations; "
            "that they are never below is a theorem.",
            "",
            (least,),
            FOUND,
        ),
    ]


def _extreme_distance(rows: Rows, origin: int, *, least: bool = False) -> Number:
    """Where the two curves are the most, or the least, apart."""
    implied = select_rows(rows, origin=origin, knowledge=IMPLICATIONS)
    ordered = sorted(implied, key=lambda row: float(row["beyond"]))
    k = ordered[0 if least else -1]["k"]
    return compute_mean(
        rows,
        "beyond",
        said=f"origin {origin}, k = {k}",
        unit=" points",
        origin=origin,
        knowledge=IMPLICATIONS,
        k=k,
    )


def _charts(rows: Rows) -> Mapping[str, Spec]:
    origins = _list_origins(rows)
    shown = DRAWN if DRAWN in origins else origins[0]
    widest, wide = (
        _extreme_distance(rows, shown),
        max(_extreme_distance(rows, origin).mean for origin in origins),
    )
    every = [{**row, "begin": f"origin {row['origin']}"} for row in rows]
    names = {
        "k": "Pieces of knowledge",
        "disclosure": "Largest belief",
        "knowledge": "Knowledge of",
        "begin": "Intervals begin at",
    }
    implied = select_rows(every, knowledge=IMPLICATIONS)
    first = [row["disclosure"] for row in implied if row["k"] == 0]
    return {
        "disclosure": draw_lines(
            select_rows(rows, origin=shown),
            x="k",
            y="disclosure",
            by="knowledge",
            title=f"Intervals from {shown}: implications tell at most {widest.mean:.1f} points "
            "more than negations",
            about=f"Age in intervals that begin at {shown}; nothing else is told.",
            labels=names,
        ),
        "origins": draw_lines(
            implied,
            x="k",
            y="disclosure",
            by="begin",
            title="By where the intervals begin, "
            f"{100 * min(first):.0f} to {100 * max(first):.0f} % without any knowledge",
            about="The largest belief that implications give, by where the intervals begin. "
            f"Negations are at most {wide:.1f} points below.",
            labels=names,
        ),
    }


EXPERIMENT = Experiment(
    "Figure 5: the most that k implications tell about Adult, beside k negations",
    _measure,
    _claims,
    _charts,
    data=("adult",),
    settings={"width": 20, "origins": (0, 5, 10, 15, 17), "most": 12},
    notes=(
        "The paper does not say where its intervals of age begin: all origins are judged.",
        NOTE,
    ),
)
