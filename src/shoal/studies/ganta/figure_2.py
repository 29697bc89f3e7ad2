"""Figure 2: people of whom so few values are left that a guess is right with confidence C.

Ganta et al. 2008, Figure 2 (a: Adult, b: IPUMS). Two releases by Mondrian with the same k, 5,000
people in both. PVP_C is the percentage of these with at most 1/C values left, every value being
taken for equally likely; C is 100, 50, 33, 25, 20 or 10 %.

Not as in the paper: the sizes of the subsets are ours, and IPUMS is studied also without the people
who have no occupation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import AGREES, DIFFERS, Claim, Number, Row, Rows, compute_mean
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import (
    ABOUT,
    ALL,
    APPLICABLE,
    CONFIDENCES,
    HEADED,
    POINTS,
    SUBSETS,
    TWO_WAYS,
    find_panels,
    judge_figure,
    measure_pairs,
)
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines

ADULT, IPUMS = "adult-train", "ipums-1970"
PRINTED = {ADULT: 60, IPUMS: 95}
"""PVP at C = 25 % and k = 5: "more than" on Adult, "about" on IPUMS."""
LABELS = {
    "confidence": "Confidence C of a guess (%)",
    "pvp": "People at risk",
    "k": "k",
    "table": "Table",
}


def measure(lab: Lab) -> list[Row]:
    """Every confidence a row; two releases by Mondrian."""
    return [row for pair in measure_pairs(lab) for row in _by_confidence(pair)]


def _by_confidence(pair: Row) -> list[Row]:
    same = ("table", "data", "rows_kept", "k", "seed")
    return [
        {
            **{name: pair[name] for name in same},
            "confidence": int(name.removeprefix("pvp_")),
            "pvp": pair[name],
            "pvp_honest": pair[f"{name}_honest"],
        }
        for name in CONFIDENCES
    ]


def claims(rows: Rows) -> Sequence[Claim]:
    """What is printed for a confidence of 25 %."""
    return [_adult_claim(rows), _ipums_claim(rows)]


def _adult_claim(rows: Rows) -> Claim:
    ours = _quarter_number(rows, ADULT, "Adult, k = 5")
    more = ours.mean > PRINTED[ADULT]
    why = f"Strict median Mondrian leaves {ours} of the people at most four values."
    return Claim(
        "Two 5-anonymous releases of Adult by Mondrian let the occupation of more than 60 % of the "
        "people in both be guessed with a confidence of 25 %.",
        "more than 60 %",
        (ours,),
        AGREES if more else DIFFERS,
        "" if more else why,
    )


def _ipums_claim(rows: Rows) -> Claim:
    """With the rows that the paper kept; what the others do to it is said beside."""
    ours = _quarter_number(rows, IPUMS, "IPUMS, all rows, k = 5")
    work = _quarter_number(rows, IPUMS, "IPUMS, with an occupation, k = 5", APPLICABLE)
    off = abs(work.mean - PRINTED[IPUMS])
    away = f"{off:.1f} points off" if off > POINTS[0] else f"within {POINTS[0]} points as well"
    why = f"Without the people who have no occupation it would be {work}, {away}."
    return Claim(
        "Two 5-anonymous releases of IPUMS by Mondrian let the occupation of about 95 % of the "
        "people in both be guessed with a confidence of 25 %.",
        "about 95 %",
        (ours,),
        judge_figure(ours, PRINTED[IPUMS]),
        why,
        (work,),
    )


def _quarter_number(rows: Rows, data: str, words: str, rows_kept: str = ALL) -> Number:
    return compute_mean(
        rows, "pvp", said=words, unit=" %", data=data, k=5, confidence=25, rows_kept=rows_kept
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """A line for each k."""
    return {
        "confidence": draw_lines(
            rows,
            x="confidence",
            y="pvp",
            by="k",
            panel="table",
            unit="%",
            labels=LABELS,
            log_x=True,
            theirs=_list_printed(rows),
            title=_title(rows),
            about="Percent of the people in two releases by Mondrian of whom at most 1/C values "
            f"are left. {HEADED}",
        )
    }


def _title(rows: Rows) -> str:
    k = min(row["k"] for row in rows)
    means = {
        row["table"]: compute_mean(rows, "pvp", k=k, confidence=25, table=row["table"]).mean
        for row in rows
    }
    parts = ", ".join(f"{value:.0f} % ({name})" for name, value in means.items())
    return f"At k = {k} a guess with 25 % confidence is possible for {parts}"


def _list_printed(rows: Rows) -> list[Row]:
    tables = find_panels(rows)
    captions = {ADULT: "paper: more than 60 %", IPUMS: "paper: about 95 %"}
    return [
        {"confidence": 25, "pvp": value, "k": 5, "table": tables[data], "said": captions[data]}
        for data, value in PRINTED.items()
        if data in tables
    ]


EXPERIMENT = Experiment(
    shows="Figure 2: people of whom a guess has confidence C, against C",
    measure=measure,
    claims=claims,
    charts=charts,
    data=(ADULT, IPUMS),
    settings={"k": [5, 10, 20, 30, 40, 50]},
    seeds=5,
    own=True,
    notes=(
        SUBSETS,
        TWO_WAYS,
        ABOUT,
        'That the paper kept all rows of IPUMS is inferred: its 247 occupations include "not '
        'applicable" (ganta-table-4).',
        "Mondrian's cells do not overlap, so that honest and assumed location are the same.",
    ),
)
