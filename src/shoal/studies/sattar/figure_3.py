"""Figure 3: estimated beside real risk, with 1,000, 2,000, 3,000 and 4,000 people in both.

Sattar and Helal 2018, Figure 3; of it they say that the estimate "captures the pattern" of the real
risk. Which pattern, with which k, l and C, and of whom, they do not say. Here everything that is
left open is tried: both readings of the estimate, l, C, whether people without an occupation are
in, how finely occupations are told apart, and the pattern over the overlaps and over k. An estimate
has the pattern where it changes the way the real risk does and by about as much (`pattern`). How
far it is off, beside Shoal's closed form and simulation, is in `level`.

Not as in the paper: the data, and k, l and C, which it does not give (`two_samples`).
"""

from __future__ import annotations

from shoal.studies.claims import (
    AGREES,
    DIFFERS,
    PARTLY,
    Claim,
    Number,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment
from shoal.studies.laboratory import Lab
from shoal.studies.sattar.figure_3_charts import charts
from shoal.studies.sattar.level import judge_best_c, judge_level, judge_lifted_assumptions
from shoal.studies.sattar.pattern import (
    LEAST,
    MOST,
    NOISE,
    decide_verdict,
    judge_patterns,
    score_patterns,
)
from shoal.studies.sattar.scores import PEOPLE, find_score
from shoal.studies.sattar.two_samples import (
    AT_LEAST,
    BEST,
    CODES,
    DATA,
    GROUPS,
    NOTES,
    ON,
    SETTINGS,
    SIMULATION,
    C,
    L,
    compare_estimators,
    list_cells,
)

WAYS = {"overlap": "the overlaps", "k": "k"}
PAPER = "paper"
MOSTLY = 50
"""It agrees in part where it follows one way in so many percent of the settings."""
FEW = 12
"""So many settings are told one by one."""


def measure(lab: Lab) -> list[Row]:
    """Every overlap but the largest, every k, l and C; occupations as they are and in groups."""
    settings = lab.settings
    rows = [
        row
        for occupations in (CODES, GROUPS)
        for row in lab.measure_cells(
            compare_estimators,
            list_cells(lab, settings["overlap"][:-1], settings["k"], occupations),
        )
    ]
    first = [row for row in rows if row["l"] == L and row["confidence"] in (None, C)]
    scores = score_patterns(rows)
    return [*first, *scores, *_judge_estimates(scores)]


def _judge_estimates(scores: Rows) -> list[Row]:
    """Whether each of the paper's estimates follows, at every l and C; and the simulation."""
    whose = {AT_LEAST: PAPER, BEST: PAPER, SIMULATION: SIMULATION}
    return [
        {**row, "judged": whose[row["estimator"]]}
        for row in judge_patterns([row for row in scores if row["estimator"] in whose])
    ]


def claims(rows: Rows) -> list[Claim]:
    """The pattern; and beside it the level."""
    return [
        _pattern_claim(rows),
        judge_level(rows),
        judge_best_c(rows),
        judge_lifted_assumptions(rows),
    ]


def _pattern_claim(rows: Rows) -> Claim:
    """Every setting is judged, both ways together, for the paper leaves all of them open."""
    ours = tuple(
        _share_number(rows, f"followed_{way}", f"over {words}") for way, words in WAYS.items()
    )
    tried = select_rows(rows, judged=PAPER)
    decision = decide_verdict([bool(row["followed_both"]) for row in tried])
    if decision == DIFFERS and any(number.mean >= MOSTLY for number in ours):
        decision = PARTLY
    return Claim(
        f"{ON}the risk estimated from one release captures the pattern of the real risk: from the "
        "smallest to the largest overlap, and k, it changes in the same direction, by "
        f"{LEAST:g} to {MOST:g} times as much.",
        "captures the pattern",
        ours,
        decision,
        "" if decision == AGREES else _explain(rows),
        tuple(_collect_reasons(rows)),
    )


def _explain(rows: Rows) -> str:
    """How many settings follow which way, which these are, and how far the shown one moves."""
    tried = select_rows(rows, judged=PAPER)
    counts = "; ".join(
        f"over {words} it follows in {len(fits)} of {len(tried)} settings{_list_settings(fits)}"
        for way, words in WAYS.items()
        for fits in [[row for row in tried if row[f"followed_{way}"]]]
    )
    both = len([row for row in tried if row["followed_both"]])
    touched = len([row for row in tried if row["followed_k_in_both"]])
    moved = "; ".join(f"{number.said} {number.mean:+.1f}" for number in _collect_changes(rows))
    return (
        f"It follows where both change by more than {NOISE:g} standard deviations over the seeds, "
        f"in the same direction, and it by {LEAST:g} to {MOST:g} times as much, and in part where "
        f"it does so one way in {MOSTLY} % of the settings: limits of ours. "
        "Which pattern is meant, and of which reading, l and C, is not said, so all that were "
        f"tried are judged: {counts}; both ways in {both}. Against the classes with somebody in "
        "both "
        f"alone it follows over k in {touched}. At l = {L} and C = {C} ({AT_LEAST}) the changes "
        f"are, in points: {moved}."
    )


def _list_settings(fits: Rows) -> str:
    if not 0 < len(fits) <= FEW:
        return ""
    settings = [
        f"{row['people']}, {row['occupations']}, {row['estimator']}, l = {row['l']}, "
        f"C = {row['confidence']:g}"
        for row in fits
    ]
    return f" ({'; '.join(settings)})"


def _collect_reasons(rows: Rows) -> list[Number]:
    """What the reason says, in numbers; and what the simulation does."""
    shares = [
        _share_number(rows, "followed_both", "both ways"),
        _share_number(rows, "followed_k_in_both", "over k, classes with somebody in both"),
        *(
            _share_number(rows, f"followed_{way}", f"over {words}", SIMULATION)
            for way, words in WAYS.items()
        ),
    ]
    return [*shares, *_collect_changes(rows)]


def _share_number(rows: Rows, of: str, said: str, whose: str = PAPER) -> Number:
    return compute_mean(
        rows, of, said=f"{whose}, settings that follow {said}", unit=" %", judged=whose
    )


def _collect_changes(rows: Rows) -> list[Number]:
    return [
        find_score(rows, f"{of}change_{way}", people, f"{people}, {words} over {along}", " points")
        for way, along in WAYS.items()
        for people in PEOPLE
        for of, words in (("", "estimate"), ("real_", "real risk"))
    ]


EXPERIMENT = Experiment(
    "Figure 3: estimated beside real risk, with 1,000 to 4,000 people in both",
    measure,
    claims,
    charts,
    DATA,
    SETTINGS,
    seeds=3,
    notes=NOTES,
)
