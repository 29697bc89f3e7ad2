"""Figure 3: the ten patients' diseases in buckets, and the most that k pieces of knowledge tell.

Martin, Kifer, Machanavajjhala, Gehrke and Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, figure 3 and section 2.3. The largest disclosure
comes from `shoal.max_disclosure` as exact fractions; for one piece it is compared with every simple
implication in each of the 1,800 worlds.

Not as in the paper: it prints 10/19 as the largest disclosure with one piece. That is what the
implication about Hannah and Charlie gives; the largest is 2/3, and of the implications about two
people of different classes the largest is 10/17.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import shoal
from shoal.studies.claims import (
    AGREES,
    CORRECTED,
    DIFFERS,
    Claim,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.martin.figure_2 import CHARLIE, HANNAH, measure_belief
from shoal.studies.martin.ten_people import OTHER, read_classes, try_implications
from shoal.studies.pages.bars import draw_bars
from shoal.studies.pages.lines import draw_lines

KNOWLEDGE = ("implications", "negations")
PRINTED = Fraction(10, 19)


def _measure(lab: Lab) -> Sequence[Row]:
    cells = [{"knowledge": kind, "most": lab.settings["most"]} for kind in KNOWLEDGE]
    worked = [{"about": CHARLIE, "knowing": HANNAH}]
    return [
        *lab.measure_cells(measure_largest_disclosure, cells),
        *lab.measure_cells(list_strongest_implications, [{}]),
        *lab.measure_cells(measure_belief, worked),
    ]


def measure_largest_disclosure(knowledge: str, most: int) -> list[Row]:
    """The largest disclosure with 0, 1, … pieces of knowledge."""
    counts = [list(class_counts.values()) for class_counts in read_classes()[0]]
    disclosures = shoal.max_disclosure(counts, most, knowledge=knowledge, exact=True)
    return [
        {"part": "largest", "k": k, "disclosure": float(disclosure), "exact": str(disclosure)}
        for k, disclosure in enumerate(disclosures)
    ]


def list_strongest_implications() -> list[Row]:
    """The simple implications that disclose most, by whom they are about."""
    return [{"part": "every implication", **row} for row in try_implications()]


def _claims(rows: Rows) -> Sequence[Claim]:
    where: dict[str, Any] = {"part": "largest", "knowledge": "implications", "k": 1}
    (first_row,) = select_rows(rows, **where)
    tried = select_rows(rows, part="every implication")
    most = max(tried, key=lambda row: float(row["disclosure"]))
    ours_exactly, by_trying = Fraction(first_row["exact"]), Fraction(most["exact"])
    ours = compute_mean(rows, "disclosure", said=f"exactly {first_row['exact']}", **where)
    because = [
        compute_mean(
            rows,
            "disclosure",
            said=f"{about} ({_find_exact(tried, about)})",
            part="every implication",
            about=about,
        )
        for about in dict.fromkeys((most["about"], OTHER))
    ]
    (worked,) = select_rows(rows, part="belief")
    because.append(
        compute_mean(rows, "belief", said=f"Hannah and Charlie ({worked['exact']})", part="belief")
    )
    if ours_exactly == PRINTED:
        verdict, why = AGREES, ""
    elif ours_exactly == by_trying:
        verdict, why = (
            CORRECTED,
            f"{_describe_tried(most)} {_describe_worked_example(Fraction(worked['exact']))}",
        )
    else:
        verdict, why = DIFFERS, f"Trying every implication gives {most['exact']}."
    return [
        Claim(
            "With one basic implication somebody's disease can be known with probability at "
            f"most {PRINTED}.",
            str(PRINTED),
            (ours,),
            verdict,
            why,
            tuple(because),
        )
    ]


def _describe_tried(most: Mapping[str, Any]) -> str:
    return (
        f"Of all {most['tried']:,} pairs of atoms ({most['different']:,} different implications), "
        f"tried in all {most['worlds']:,} worlds, the one that tells most gives {most['exact']} "
        f"(known: {most['implication']}; believed: {most['target']})."
    )


def _describe_worked_example(exact: Fraction) -> str:
    is_it = f"{PRINTED} is what" if exact == PRINTED else f"{exact}, and not {PRINTED}, is what"
    return f"{is_it} the implication about Hannah and Charlie gives."


def _find_exact(rows: Rows, about: str) -> str:
    return str(select_rows(rows, about=about)[0]["exact"])


def _charts(rows: Rows) -> Mapping[str, Spec]:
    curve, tried = select_rows(rows, part="largest"), select_rows(rows, part="every implication")
    pieces_for_certainty = min((row["k"] for row in curve if row["disclosure"] == 1), default=None)
    outcome = (
        "never gives certainty"
        if pieces_for_certainty is None
        else f"gives certainty with {pieces_for_certainty} pieces"
    )
    theirs = [
        {
            "k": 1,
            "disclosure": float(PRINTED),
            "knowledge": KNOWLEDGE[0],
            "said": f"paper: {PRINTED}",
        }
    ]
    most = max(tried, key=lambda row: float(row["disclosure"]))
    both = [[row["exact"] for row in select_rows(curve, knowledge=kind)] for kind in KNOWLEDGE]
    same = " Both kinds of knowledge give the same here." if both[0] == both[1] else ""
    return {
        "largest": draw_lines(
            curve,
            x="k",
            y="disclosure",
            by="knowledge",
            theirs=theirs,
            title=f"Knowledge {outcome}",
            about="The largest belief in anybody's disease, by pieces of knowledge." + same,
            labels={
                "k": "Pieces of knowledge",
                "disclosure": "Largest belief",
                "knowledge": "Knowledge of",
            },
        ),
        "implications": draw_bars(
            tried,
            x="about",
            y="disclosure",
            by="",
            title=f"The implication that tells most is {most['about']}: {most['exact']}",
            about="The largest belief that one implication gives, of all that there are; the paper "
            f"prints {PRINTED}, of one across classes.",
            labels={"about": "The implication is", "disclosure": "Largest belief"},
        ),
    }


EXPERIMENT = Experiment(
    "Figure 3: ten patients in buckets, and the most that k pieces of knowledge tell",
    _measure,
    _claims,
    _charts,
    settings={"most": 4},
    notes=(
        "An implication about one person twice says that the person does not have a value.",
        "Both atoms of every implication tried are possible: the class has the value.",
    ),
)
