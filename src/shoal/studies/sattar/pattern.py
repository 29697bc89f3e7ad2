"""Whether an estimate has the pattern of the real risk: how far it moves, its order, its level.

change_overlap  the estimate at the largest overlap less that at the smallest, the mean over k;
                change_k likewise; real_change_… of the real risk; in percentage points
rank_overlap    Spearman's rank correlation of estimated and real over the overlaps at one k, the
                mean over k; rank_k over k at one overlap, the mean over the overlaps
error, bias     the mean of |estimated - real|, and of estimated - real, in percentage points
error_constant  the mean of |c - real| with the c that makes it least, the median of the real risk
…_in_both       the same against the share of exposed classes among those with somebody in both

An estimate follows where it and the real risk change by more than the noise, the same way, and by
about as much (`is_following`). A rank correlation says nothing about that: of an estimate that does
not move it is drawn at random, and one that moves ten times as far has it all the same.

Spearman, The proof and measurement of association between two things, 1904. Where either is the
same everywhere there is no order to compare: such a line has no rank correlation, and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np

from shoal.studies.claims import AGREES, DIFFERS, PARTLY, Number, Row, Rows, compute_mean

SETTING = ("data", "people", "occupations", "l", "estimator", "confidence")
Line = Sequence[Mapping[str, Any]]
NOISE = 2.0
"""A change is told from noise where it exceeds so many standard deviations over the seeds."""
LEAST, MOST = 0.5, 2.0
"""An estimate follows where it changes by so many times what the real risk changes by."""
SAME_ORDER = 0.9
"""Two orders are called the same from this rank correlation on."""
PART = 0.5
"""The level is captured where the error is at most so much of the best constant's."""
TOLD = (
    f"An estimate follows the real risk from the smallest to the largest overlap, or k, where both "
    f"change by more than {NOISE:g} standard deviations over the seeds, in the same direction, and "
    f"the estimate by {LEAST:g} to {MOST:g} times as much. They are in the same order where both "
    f"change by more than that and their rank correlation is {SAME_ORDER:g} or more. The level is "
    f"captured where the mean error is at most {PART:g} of what the best constant makes, the "
    "median of the real risk. These limits are ours, and were set when the numbers were known.",
)
FOLLOWED = {
    "followed_overlap": ("change_overlap", "real_change_overlap"),
    "followed_k": ("change_k", "real_change_k"),
    "followed_k_in_both": ("change_k", "real_change_k_in_both"),
}
"""Of each way what must follow what."""


def score_patterns(rows: Rows) -> list[Row]:
    """A row of scores for each seed and each way to estimate."""
    by = (*SETTING, "seed")
    return [
        {**dict(zip(by, key, strict=True)), **_score_line(group)}
        for key, group in _group_rows(rows, *by).items()
    ]


def judge_patterns(scores: Rows) -> list[Row]:
    """A row for each way to estimate, over its seeds: 100 where it follows, and 0 where not."""
    judged_rows = []
    for key, group in _group_rows(scores, *SETTING).items():
        ways = {
            way: 100 * is_following(compute_mean(group, change), compute_mean(group, real_change))
            for way, (change, real_change) in FOLLOWED.items()
        }
        ways["followed_both"] = min(ways["followed_overlap"], ways["followed_k"])
        judged_rows.append({**dict(zip(SETTING, key, strict=True)), **ways})
    return judged_rows


def is_following(change: Number, real: Number) -> bool:
    """Whether an estimate's change is the real risk's, but for a factor of two."""
    if not (is_clear(change) and is_clear(real)):
        return False
    return LEAST <= change.mean / real.mean <= MOST


def is_clear(change: Number) -> bool:
    """Whether a change exceeds the noise."""
    return abs(change.mean) > NOISE * change.spread


def is_same_order(rank: Number, change: Number, real: Number) -> bool:
    """Whether two orders are the same, and not by chance."""
    return is_clear(change) and is_clear(real) and rank.mean >= SAME_ORDER


def is_captured(error: Number, constant: Number) -> bool:
    """Whether the level is: the error is well below the best constant's."""
    return error.mean <= PART * constant.mean


def decide_verdict(followed: Sequence[bool]) -> str:
    """Agrees where everything is followed, differs where nothing is.

    >>> decide_verdict([True, True]), decide_verdict([True, False]), decide_verdict([False])
    ('agrees', 'partly', 'differs')
    """
    return AGREES if all(followed) else PARTLY if any(followed) else DIFFERS


def find_middle(rows: Rows, column: str) -> Any:
    """The middle one of the values that a column has."""
    values = sorted({row[column] for row in rows if row.get(column) is not None})
    return values[len(values) // 2]


def _score_line(rows: Line) -> Row:
    by_k, by_overlap = _sort_lines(rows, "k", "overlap"), _sort_lines(rows, "overlap", "k")
    off = [row["estimated"] - row["real"] for row in rows]
    typical = median(row["real"] for row in rows)
    return {
        "rank_overlap": _average(compute_rank_correlation, by_k),
        "rank_k": _average(compute_rank_correlation, by_overlap),
        "change_overlap": _average(lambda line: _compute_change(line, "estimated"), by_k),
        "change_k": _average(lambda line: _compute_change(line, "estimated"), by_overlap),
        "real_change_overlap": _average(lambda line: _compute_change(line, "real"), by_k),
        "real_change_k": _average(lambda line: _compute_change(line, "real"), by_overlap),
        "error": fmean(abs(difference) for difference in off),
        "bias": fmean(off),
        "error_constant": fmean(abs(typical - row["real"]) for row in rows),
        **_score_in_both(rows),
    }


def _score_in_both(rows: Line) -> Row:
    """Against the classes that have somebody in both: whoever else is there has nothing to fear."""
    touched = [{**row, "real": row["real_of_those_in_both"]} for row in rows]
    by_overlap = _sort_lines(touched, "overlap", "k")
    return {
        "rank_k_in_both": _average(compute_rank_correlation, by_overlap),
        "real_change_k_in_both": _average(lambda line: _compute_change(line, "real"), by_overlap),
        "error_in_both": fmean(abs(row["estimated"] - row["real"]) for row in touched),
    }


def compute_rank_correlation(line: Line) -> float | None:
    """Spearman's correlation of estimated and real; None where one of them never changes.

    >>> risks = ((1, 5), (3, 6), (2, 9))
    >>> compute_rank_correlation([{"estimated": one, "real": other} for one, other in risks])
    0.5
    """
    from scipy.stats import rankdata  # half a second, which naming the studies need not wait for

    estimated, real = (rankdata([row[of] for row in line]) for of in ("estimated", "real"))
    if np.ptp(estimated) == 0 or np.ptp(real) == 0:
        return None
    return round(float(np.corrcoef(estimated, real)[0, 1]), 12)


def _compute_change(line: Line, of: str) -> float:
    return float(line[-1][of] - line[0][of])


def _average(score: Callable[[Line], float | None], lines: Sequence[Line]) -> float | None:
    values = [value for line in lines if (value := score(line)) is not None]
    return fmean(values) if values else None


def _sort_lines(rows: Line, at: str, along: str) -> list[Line]:
    """Of every value of one column the rows in the order of the other."""
    return [sorted(some, key=lambda row: row[along]) for some in _group_rows(rows, at).values()]


def _group_rows(rows: Line, *by: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in by)].append(row)
    return dict(groups)
