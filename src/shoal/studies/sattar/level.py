"""How far the estimates are off, and what of the paper's takes them there (Figure 3).

The paper says nothing of the level: these are found beside its claim.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from shoal.studies.claims import FOUND, Claim, Number, Rows, number
from shoal.studies.sattar.pattern import captured, middle
from shoal.studies.sattar.scores import PEOPLE, STEPS, error, first, hindsight, score, told_c
from shoal.studies.sattar.two_samples import AT_LEAST, ESTIMATORS, GROUPS, ON


def level(rows: Rows) -> Claim:
    """Each estimator's error beside the best constant's."""
    errors = [error(rows, people, by) for by in ESTIMATORS for people in PEOPLE]
    limit = {people: _constant(rows, people) for people in PEOPLE}
    fits = [one for one in errors if captured(one, limit[one.where["people"]])]
    told = "; ".join(f"{by}, {_points(rows, by)}" for by in ESTIMATORS)
    return Claim(
        f"{ON}the estimates are off by, in points on average: {told}. The best constant is off by "
        f"{_people(lambda people: limit[people].mean)}: the level is captured by: {_whose(fits)}.",
        "",
        (*errors, *limit.values()),
        FOUND,
        because=tuple(_beside(rows)),
    )


def _points(rows: Rows, by: str) -> str:
    return _people(lambda people: error(rows, people, by).mean)


def _people(of: Callable[[str], float]) -> str:
    return " and ".join(f"{of(people):.2f} ({people})" for people in PEOPLE)


def _whose(fits: list[Number]) -> str:
    """The estimators whose level is captured, and with whom."""
    parts = []
    for by in ESTIMATORS:
        with_ = [one.where["people"] for one in fits if one.where["estimator"] == by]
        if with_:
            parts.append(by if len(with_) == len(PEOPLE) else f"{by} ({', '.join(with_)})")
    return " and ".join(parts) or "none"


def _beside(rows: Rows) -> list[Number]:
    """Bias, against the classes with somebody in both, in groups."""
    told = [
        ("bias", "mean of estimate less real risk", " points"),
        ("error_in_both", "mean error among classes with somebody in both", " points"),
    ]
    first_of = [
        score(rows, of, people, f"{people}, {said}, {AT_LEAST}", unit)
        for of, said, unit in told
        for people in PEOPLE
    ]
    grouped = [
        score(
            rows,
            "error",
            people,
            f"{people}, mean error, {AT_LEAST}, occupations in groups",
            " points",
            told=GROUPS,
        )
        for people in PEOPLE
    ]
    return [*first_of, *grouped]


def best_c(rows: Rows) -> Claim:
    """What the paper's estimate would do with the best C."""
    best = [hindsight(rows, people) for people in PEOPLE]
    limits = [_constant(rows, people) for people in PEOPLE]
    fits = [
        people
        for people, one, limit in zip(PEOPLE, best, limits, strict=True)
        if captured(one, limit)
    ]
    told = " and ".join(f"{one.mean:.1f} points ({one.where['people']})" for one in best)
    return Claim(
        f"{ON}with the best C of those tried, found in hindsight ({told_c(best)}), the paper's "
        f"estimate is off by {told}. Level captured: {' and '.join(fits) or 'nowhere'}.",
        "",
        tuple(best),
        FOUND,
        because=(*limits, *(error(rows, people, AT_LEAST) for people in PEOPLE)),
    )


def _constant(rows: Rows, people: str) -> Number:
    said = f"{people}, mean error, the best constant"
    return score(rows, "error_constant", people, said, " points")


def lifted(rows: Rows) -> Claim:
    """The error as assumptions of the paper's are lifted, one after the other."""
    errors = {people: [error(rows, people, by) for by in STEPS] for people in PEOPLE}
    told = "; ".join(
        f"{people}: "
        + ", ".join(f"{one.mean:.1f} ({by})" for by, one in zip(STEPS, some, strict=True))
        for people, some in errors.items()
    )
    most = " and ".join(f"{_largest(some)} ({people})" for people, some in errors.items())
    found = [
        number(
            rows,
            "people_found",
            said=f"{people}, people found for each one there",
            **first(people),
            k=middle(rows, "k"),
            overlap=middle(rows, "overlap"),
        )
        for people in PEOPLE
    ]
    return Claim(
        f"{ON}as assumptions of the paper's are lifted one after the other, the mean error is, in "
        f"points, {told}. It falls most at: {most}.",
        "",
        tuple(one for some in errors.values() for one in some),
        FOUND,
        because=tuple(found),
    )


def _largest(errors: list[Number]) -> str:
    """The step at which the error falls most."""
    falls = [one.mean - after.mean for one, after in pairwise(errors)]
    return STEPS[1 + falls.index(max(falls))]
