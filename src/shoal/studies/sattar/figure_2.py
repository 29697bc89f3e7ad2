"""Figure 2: the real risk, counted with both releases, against the overlap and against k.

Sattar and Helal 2018, Figure 2, and definitions 2 to 4: the share of our release's classes that
hold somebody in both with 1 to l - 1 sensitive values common to the class here and the class there
(`shoal.forecasts.real_intersection`). The releases are those of Figure 1.

Counted beside it: classes that have fewer than l values by themselves, so that whoever is in one is
exposed without any other release; and classes with somebody to whom no value is left, which the
definitions take for no match.

Not as in the paper: the data, and k and l, which it does not give (`two_samples`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines
from shoal.studies.sattar.pattern import find_middle
from shoal.studies.sattar.two_samples import (
    CODES,
    DATA,
    EVERYBODY,
    LABELS,
    NOTES,
    OCCUPIED,
    SETTINGS,
    SIMULATION,
    L,
    compare_estimators,
    filter_rows,
    list_cells,
)

PEOPLE = (EVERYBODY, OCCUPIED)
ESTIMATED = {"estimator", "estimated", "confidence", "people_found", "repeats"}
ON = "On the stacked Los Angeles files, with k and l of ours, "


def measure(lab: Lab) -> list[Row]:
    """Every overlap, k and l: what came true, once for all estimators."""
    settings = lab.settings
    rows = lab.measure_cells(
        compare_estimators, list_cells(lab, settings["overlap"], settings["k"], CODES)
    )
    return [
        {name: value for name, value in row.items() if name not in ESTIMATED}
        for row in filter_rows(rows, estimator=SIMULATION)
    ]


def claims(rows: Rows) -> list[Claim]:
    """What needs no second release; and whom the two releases have nothing in common about."""
    return [_single_release_claim(rows), _no_match_claim(rows)]


def _single_release_claim(rows: Rows) -> Claim:
    at = {"k": find_middle(rows, "k"), "overlap": find_middle(rows, "overlap"), "l": L}
    real, single, part = (
        [
            compute_mean(rows, of, said=f"{people}, {words}", unit=unit, people=people, **at)
            for people in PEOPLE
        ]
        for of, words, unit in (
            ("real", "exposed classes, % of all", " %"),
            ("alone", "classes exposed by our release alone, % of all", " %"),
            ("alone_of_exposed", "exposed by our release alone, % of the exposed", " %"),
        )
    )
    parts = "; ".join(
        f"{people}: {exposed.mean:.1f} % of all classes are exposed, and {share.mean:.0f} % of "
        "these "
        f"have fewer than {L} values in our release alone"
        for people, exposed, share in zip(PEOPLE, real, part, strict=True)
    )
    return Claim(
        f"{ON}at k = {at['k']} with {at['overlap']:,} people in both: {parts}.",
        "",
        (*real, *part),
        FOUND,
        because=(*single, *_collect_touched(rows, at)),
    )


def _collect_touched(rows: Rows, at: Mapping[str, Any]) -> list[Number]:
    return [
        compute_mean(
            rows,
            "real_of_those_in_both",
            unit=" %",
            people=people,
            **at,
            said=f"{people}, exposed, % of the classes with somebody in both",
        )
        for people in PEOPLE
    ]


def _no_match_claim(rows: Rows) -> Claim:
    unmatched = [
        compute_mean(
            rows,
            "no_match",
            unit=" classes",
            people=people,
            l=L,
            said=f"{people}, with somebody in both and no value common",
        )
        for people in PEOPLE
    ]
    none = all(number.most == 0 for number in unmatched)
    return Claim(
        f"{ON}{'no' if none else 'some'} class has somebody in both to whom the two releases leave "
        "no value at all. The paper asks of a match that some value is common, and of an exposed "
        "class that fewer than l are: no value left is counted here as no match, which "
        f"{'changes nothing' if none else 'leaves such classes out'}.",
        "",
        tuple(unmatched),
        FOUND,
    )


def charts(rows: Rows) -> dict[str, Spec]:
    """Against the overlap for each k, against k for each overlap, and what one release exposes."""
    shown = [
        {**row, "each_k": f"k = {row['k']}", "each_overlap": f"{row['overlap']:,} in both"}
        for row in select_rows(rows, l=L)
    ]
    k, overlap = find_middle(shown, "k"), find_middle(shown, "overlap")
    common: dict[str, Any] = {"y": "real", "panel": "people", "labels": LABELS, "unit": " %"}
    about = f"{ON}the share of classes that are exposed at l = {L}, counted with both releases."
    two = [
        {**row, "share": row[of], "counted": words}
        for row in select_rows(shown, overlap=overlap)
        for of, words in (("real", "exposed by both"), ("alone", "exposed by ours alone"))
    ]
    return {
        "against-overlap": draw_lines(
            shown,
            x="overlap",
            by="each_k",
            **common,
            about=about,
            title=_make_title(shown, "overlap", "k", k),
        ),
        "against-k": draw_lines(
            shown,
            x="k",
            by="each_overlap",
            **common,
            log_x=True,
            about=about,
            title=_make_title(shown, "k", "overlap", overlap),
        ),
        "by-one-release": draw_lines(
            two,
            x="k",
            by="counted",
            **{**common, "y": "share"},
            log_x=True,
            about=f"{ON}at {overlap:,} people in both: exposed classes, and those of them that "
            f"have fewer than {L} values in our release alone.",
            title=f"Exposed by our release alone, mean over k: {_describe_parts(two)}",
        ),
    }


def _make_title(rows: Rows, way: str, fixed: str, at: object) -> str:
    ends = [pick(row[way] for row in rows) for pick in (min, max)]
    parts = [
        " to ".join(
            f"{compute_mean(rows, 'real', people=people, **{way: end, fixed: at}).mean:.1f}"
            for end in ends
        )
        + f" % ({people})"
        for people in dict.fromkeys(row["people"] for row in rows)
    ]
    if fixed == "k":
        where = f"At k = {at}, from {ends[0]:,} to {ends[1]:,} people in both"
    else:
        where = f"With {at:,} people in both, from k = {ends[0]} to {ends[1]}"
    return f"{where}, the real risk goes from {' and '.join(parts)}"


def _describe_parts(rows: Rows) -> str:
    return "; ".join(
        f"{compute_mean(rows, 'alone', people=people).mean:.1f} of "
        f"{compute_mean(rows, 'real', people=people).mean:.1f} % ({people})"
        for people in PEOPLE
    )


EXPERIMENT = Experiment(
    "Figure 2: real risk against how many people are in both, and against k",
    measure,
    claims,
    charts,
    DATA,
    SETTINGS,
    seeds=3,
    notes=NOTES,
)
