"""How far the estimates are off, and what of the paper's takes them there (Figure 3).

The paper says nothing of the level: these are found beside its claim.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from shoal.studies.claims import FOUND, Claim, Number, Rows, compute_mean
from shoal.studies.sattar.pattern import find_middle, is_captured
from shoal.studies.sattar.scores import (
    PEOPLE,
    STEPS,
    describe_best_c,
    find_best_error,
    find_error,
    find_score,
    select_shown,
)
from shoal.studies.sattar.two_samples import AT_LEAST, ESTIMATORS, GROUPS, ON


def judge_level(rows: Rows) -> Claim:
    """Each estimator's error beside the best constant's."""
    errors = [find_error(rows, people, by) for by in ESTIMATORS for people in PEOPLE]
    limit = {people: _constant_error(rows, people) for people in PEOPLE}
    fits = [number for number in errors if is_captured(number, limit[number.where["people"]])]
    parts = "; ".join(f"{by}, {_describe_errors(rows, by)}" for by in ESTIMATORS)
    return Claim(
        f"{ON}the estimates are off by, in points on average: {parts}. The best constant is off by "
        f"{_describe_people(lambda people: limit[people].mean)}: the level is captured by: "
        f"{_describe_captured(fits)}.",
        "",
        (*errors, *limit.values()),
        FOUND,
        because=tuple(_further_numbers(rows)),
    )


def _describe_errors(rows: Rows, by: str) -> str:
    return _describe_people(lambda people: find_error(rows, people, by).mean)


def _describe_people(of: Callable[[str], float]) -> str:
    return " and ".join(f"{of(people):.2f} ({people})" for people in PEOPLE)


def _describe_captured(fits: list[Number]) -> str:
    parts = []
    for by in ESTIMATORS:
        with_ = [number.where["people"] for number in fits if number.where["estimator"] == by]
        if with_:
            parts.append(by if len(with_) == len(PEOPLE) else f"{by} ({', '.join(with_)})")
    return " and ".join(parts) or "none"


def _further_numbers(rows: Rows) -> list[Number]:
    """Bias, against the classes with somebody in both, in groups."""
    scores = [
        ("bias", "mean of estimate less real risk", " points"),
        ("error_in_both", "mean error among classes with somebody in both", " points"),
    ]
    first_of = [
        find_score(rows, of, people, f"{people}, {words}, {AT_LEAST}", unit)
        for of, words, unit in scores
        for people in PEOPLE
    ]
    grouped = [
        find_score(
            rows,
            "error",
            people,
            f"{people}, mean error, {AT_LEAST}, occupations in groups",
            " points",
            occupations=GROUPS,
        )
        for people in PEOPLE
    ]
    return [*first_of, *grouped]


def judge_best_c(rows: Rows) -> Claim:
    """What the paper's estimate would do with the best C."""
    best = [find_best_error(rows, people) for people in PEOPLE]
    limits = [_constant_error(rows, people) for people in PEOPLE]
    fits = [
        people
        for people, number, limit in zip(PEOPLE, best, limits, strict=True)
        if is_captured(number, limit)
    ]
    errors = " and ".join(f"{number.mean:.1f} points ({number.where['people']})" for number in best)
    return Claim(
        f"{ON}with the best C of those tried, found in hindsight ({describe_best_c(best)}), the "
        "paper's "
        f"estimate is off by {errors}. Level captured: {' and '.join(fits) or 'nowhere'}.",
        "",
        tuple(best),
        FOUND,
        because=(*limits, *(find_error(rows, people, AT_LEAST) for people in PEOPLE)),
    )


def _constant_error(rows: Rows, people: str) -> Number:
    words = f"{people}, mean error, the best constant"
    return find_score(rows, "error_constant", people, words, " points")


def judge_lifted_assumptions(rows: Rows) -> Claim:
    """The error as assumptions of the paper's are lifted, one after the other."""
    errors = {people: [find_error(rows, people, by) for by in STEPS] for people in PEOPLE}
    steps = "; ".join(
        f"{people}: "
        + ", ".join(f"{number.mean:.1f} ({by})" for by, number in zip(STEPS, numbers, strict=True))
        for people, numbers in errors.items()
    )
    most = " and ".join(
        f"{_find_largest_fall(numbers)} ({people})" for people, numbers in errors.items()
    )
    people_found = [
        compute_mean(
            rows,
            "people_found",
            said=f"{people}, people found for each one there",
            **select_shown(people),
            k=find_middle(rows, "k"),
            overlap=find_middle(rows, "overlap"),
        )
        for people in PEOPLE
    ]
    return Claim(
        f"{ON}as assumptions of the paper's are lifted one after the other, the mean error is, in "
        f"points, {steps}. It falls most at: {most}.",
        "",
        tuple(number for numbers in errors.values() for number in numbers),
        FOUND,
        because=tuple(people_found),
    )


def _find_largest_fall(errors: list[Number]) -> str:
    falls = [before.mean - after.mean for before, after in pairwise(errors)]
    return STEPS[1 + falls.index(max(falls))]
