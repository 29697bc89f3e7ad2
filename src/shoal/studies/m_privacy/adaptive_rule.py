"""What the paper's adaptive rule implies of its verifiers, judged by checks; what else was found.

Goryczka et al. 2014 take top-down where a class scores high against the rule, and else binary. So
of the four verifiers binary should ask least about the smaller class of Figure 6 and top-down about
the larger, and to choose should cost no more than the better of the two. Which m and which split
that is said of is open: it is judged at the paper's default m, in the mean over the m for which the
class holds and over all m, under both splits; all of them: agrees, some: in part, none: differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.models._verifiers import STRONG_SCORE
from shoal.studies.claims import AGREES, DIFFERS, FOUND, PARTLY, Claim, Number, Rows, compute_mean
from shoal.studies.m_privacy.defaults import VERIFICATION
from shoal.studies.splits import KINDS

PLAIN = ("direct", "top-down", "bottom-up", "binary")
"""The paper's verifiers; adaptive is one or the other of the two that it chooses from."""
CHOICE = ("top-down", "binary")
USUAL = VERIFICATION["m"]
AVERAGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    f"m = {USUAL}": ("checks", {"m": USUAL}),
    "the m for which it holds": ("mean_checks_held", {}),
    "all m": ("mean_checks", {}),
}
"""What is open in print: over which m."""
Reading = tuple[str, str]
"""An average and a split."""
READINGS: tuple[Reading, ...] = tuple((average, kind) for average in AVERAGES for kind in KINDS)
THEIRS = "top-down for large scores, otherwise binary"


def claims(rows: Rows) -> list[Claim]:
    """The order by checks, the choice, and beside them time, pruning and which classes hold."""
    small, large = sorted({row["class_rows"] for row in rows})
    return [
        _first_by_checks_claim(rows, small, "binary", "smaller"),
        _first_by_checks_claim(rows, large, "top-down", "larger"),
        _choice_claim(rows, (small, large)),
        _time_claim(rows, (small, large)),
        *(_pruning_claim(rows, kind, (small, large)) for kind in KINDS),
        _holding_claim(rows, (small, large)),
    ]


def _checks_number(rows: Rows, size: int, reading: Reading, name: str) -> Number:
    average, kind = reading
    column, where = AVERAGES[average]
    return compute_mean(
        rows,
        column,
        said=f"checks of {name}, {size} rows, {kind}, {average}",
        verifier=name,
        class_rows=size,
        split=kind,
        **where,
    )


def _held_number(rows: Rows, size: int, kind: str) -> Number:
    return compute_mean(
        rows,
        "held_to",
        said=f"{size} rows, {kind}: holds up to m",
        class_rows=size,
        split=kind,
        verifier="exact",
    )


def _describe_readings(readings: Sequence[Reading]) -> str:
    return "; ".join(f"{average}, {kind}" for average, kind in readings)


def _verdict(right: int, of: int) -> str:
    return AGREES if right == of else PARTLY if right else DIFFERS


# The paper's


def _first_by_checks_claim(rows: Rows, size: int, name: str, which: str) -> Claim:
    says = (
        f"On the {which} class, of {size} rows, {name} needs the fewest checks of the paper's four "
        "verifiers (under which split and over which m is open)."
    )
    each = {
        at: {verifier: _checks_number(rows, size, at, verifier) for verifier in PLAIN}
        for at in READINGS
    }
    orders = {
        at: tuple(sorted(PLAIN, key=lambda verifier: numbers[verifier].mean))
        for at, numbers in each.items()
    }
    ahead = [at for at, numbers in each.items() if _is_least(numbers, name)]
    ours = tuple(
        each[at][verifier] for at in READINGS for verifier in (name, _find_rival(each[at], name))
    )
    rest = tuple(
        number for numbers in each.values() for number in numbers.values() if number not in ours
    )
    verdict = _verdict(len(ahead), len(READINGS))
    if verdict == AGREES:
        return Claim(says, THEIRS, ours, AGREES, because=rest)
    behind = [at for at in READINGS if at not in ahead]
    breaking = [held for at in behind if (held := _find_breaking(rows, size, at))]
    why = f"It is first in {len(ahead)} of {len(READINGS)} readings. "
    why += _describe_orders(orders, behind)
    why += "".join(f" {_describe_broken(held)}" for held in breaking)
    return Claim(says, THEIRS, ours, verdict, why, (*rest, *breaking))


def _is_least(checks: Mapping[str, Number], name: str) -> bool:
    return all(checks[name].mean < number.mean for other, number in checks.items() if other != name)


def _find_rival(checks: Mapping[str, Number], name: str) -> str:
    return min(
        (verifier for verifier in checks if verifier != name),
        key=lambda verifier: checks[verifier].mean,
    )


def _describe_orders(orders: Mapping[Reading, tuple[str, ...]], behind: Sequence[Reading]) -> str:
    """The orders where another is first, each with the readings that give it."""
    distinct_orders = dict.fromkeys(orders[at] for at in behind)
    if len(distinct_orders) == 1 and len(behind) == len(orders):
        return f"The order, fewest first, is {', '.join(*distinct_orders)} in all of them."
    described = [
        f"{', '.join(order)} ({_describe_readings([at for at in behind if orders[at] == order])})"
        for order in distinct_orders
    ]
    return f"Where it is not, the order, fewest first, is: {'; '.join(described)}."


def _find_breaking(rows: Rows, size: int, reading: Reading) -> Number | None:
    """Up to which m the class holds, where none that was drawn holds for the default."""
    average, kind = reading
    held = _held_number(rows, size, kind)
    return held if AVERAGES[average][1] and held.most < USUAL else None


def _describe_broken(held: Number) -> str:
    return (
        f"At m = {USUAL} no class drawn under the {held.where['split']} split holds (they hold up "
        f"to m = {held.mean:.2g} in the mean)."
    )


def _choice_claim(rows: Rows, sizes: Sequence[int]) -> Claim:
    """The verifier that is taken against the better of the two."""
    says = (
        "To choose by the score costs no more checks than the better of top-down and binary "
        f"(classes of {' and of '.join(map(str, sizes))} rows; under which split and over which m "
        "is open)."
    )
    each = {
        (size, at): {
            verifier: _checks_number(rows, size, at, verifier) for verifier in ("adaptive", *CHOICE)
        }
        for size in sizes
        for at in READINGS
    }
    right = [
        key
        for key, numbers in each.items()
        if numbers["adaptive"].mean <= min(numbers[verifier].mean for verifier in CHOICE)
    ]
    means = [key for key in each if key[1][0] == "all m"]
    ours = tuple(number for key in reversed(means) for number in each[key].values())
    rest = tuple(number for key in each if key not in means for number in each[key].values())
    verdict = _verdict(len(right), len(each))
    if verdict == AGREES:
        return Claim(says, THEIRS, ours, AGREES, because=rest)
    # The same rows are split in both ways, so that their score is the same.
    scores = tuple(
        compute_mean(
            rows, "score", said=f"score of a class, {size} rows", class_rows=size, split=KINDS[0]
        )
        for size in sizes
    )
    why = (
        f"{_describe_costlier(right, each)} {_describe_dominance(each)}From which score a class "
        "counts as large is not "
        f"printed; ours is {STRONG_SCORE:g}, and the classes score "
        f"{' and '.join(f'{score.mean:.3g}' for score in scores)}."
    )
    return Claim(says, THEIRS, ours, verdict, why, (*rest, *scores))


Choices = Mapping[tuple[int, Reading], Mapping[str, Number]]


def _describe_costlier(right: Sequence[tuple[int, Reading]], each: Choices) -> str:
    sizes = list(dict.fromkeys(size for size, _ in each))
    wrong = [size for size, at in each if (size, at) not in right]
    parts = [f"{wrong.count(size)} of {len(READINGS)} readings at {size} rows" for size in sizes]
    return f"It costs more in {' and in '.join(parts)}."


def _describe_dominance(each: Choices) -> str:
    """Where one of the two is the better everywhere, there is nothing to choose."""
    for better, worse in (CHOICE, CHOICE[::-1]):
        if all(numbers[better].mean <= numbers[worse].mean for numbers in each.values()):
            return (
                f"{better.capitalize()} needs no more than {worse} in any of the {len(each)} "
                "readings: on these classes no score would tell when to take the other. "
            )
    return ""


# Found beside it


def _collect_means(rows: Rows, column: str, words: str, size: int, kind: str) -> dict[str, Number]:
    unit = {"mean_milliseconds": " ms", "microseconds_a_check": " µs"}.get(column, "")
    return {
        verifier: compute_mean(
            rows,
            column,
            said=f"{words} of {verifier}, {size} rows, {kind}",
            unit=unit,
            verifier=verifier,
            class_rows=size,
            split=kind,
        )
        for verifier in PLAIN
    }


def _time_claim(rows: Rows, sizes: Sequence[int]) -> Claim:
    classes = [(size, kind) for size in sizes for kind in KINDS]
    checks, times, costs = (
        {at: _collect_means(rows, column, words, *at) for at in classes}
        for column, words in (
            ("mean_checks", "checks"),
            ("mean_milliseconds", "time"),
            ("microseconds_a_check", "time for a check"),
        )
    )
    first = {at: (_find_least(checks[at]), _find_least(times[at])) for at in classes}
    parted = [
        f"{fewest} by checks and {quickest} by time ({size} rows, {kind})"
        for (size, kind), (fewest, quickest) in first.items()
        if fewest != quickest
    ]
    head = (
        f"Time parts from checks on {len(parted)} of {len(classes)} classes, in the mean over all "
        f"m: first are {'; '.join(parted)}."
        if parted
        else "The verifier with the fewest checks is the quickest on every class."
    )
    single, many = (
        _collect_check_costs(rows, sizes, column, words)
        for column, words in (("one_by_one", "one by one"), ("at_once", "many at once"))
    )
    dearest = [max(costs[at], key=lambda verifier: costs[at][verifier].mean) for at in classes]
    ours = tuple(
        times[at][verifier] for at in classes for verifier in dict.fromkeys(reversed(first[at]))
    )
    because = (
        *single,
        *many,
        *(number for at in classes for number in costs[at].values()),
        *(checks[at][verifier] for at in classes for verifier in dict.fromkeys(first[at])),
    )
    says = f"{head} {_describe_check_costs(single, many, dearest)}".strip()
    return Claim(says, "", ours, FOUND, because=because)


def _find_least(numbers: Mapping[str, Number]) -> str:
    return min(numbers, key=lambda verifier: numbers[verifier].mean)


def _collect_check_costs(
    rows: Rows, sizes: Sequence[int], column: str, words: str
) -> tuple[Number, ...]:
    return tuple(
        compute_mean(
            rows,
            column,
            said=f"a check, {words}, {size} rows, {kind}",
            unit=" µs",
            class_rows=size,
            split=kind,
        )
        for size in sizes
        for kind in KINDS
    )


def _describe_check_costs(
    single: Sequence[Number], many: Sequence[Number], dearest: Sequence[str]
) -> str:
    """What asking about many at once saves, and who does not."""
    if not all(
        single_cost.mean > many_cost.mean
        for single_cost, many_cost in zip(single, many, strict=True)
    ):
        return ""
    sentence = (
        f"A check costs {_format_span(single)} µs where coalitions are asked about one by one, and "
        f"{_format_span(many)} µs where many are at once."
    )
    if set(dearest) != {"binary"}:
        return sentence
    return f"{sentence} Binary, which asks one by one, pays the most for a check on every class."


def _format_span(numbers: Sequence[Number]) -> str:
    means = [number.mean for number in numbers]
    return f"{min(means):.3g} to {max(means):.3g}"


def _pruning_claim(rows: Rows, kind: str, sizes: Sequence[int]) -> Claim:
    """Against trying every coalition of m, which is what a class that holds costs ``direct``."""
    reading = ("the m for which it holds", kind)
    ours = {
        (size, verifier): _checks_number(rows, size, reading, verifier)
        for size in sizes
        for verifier in PLAIN
    }
    fewer = [
        f"{verifier} ({size} rows)"
        for size in sizes
        for verifier in PLAIN[1:]
        if ours[size, verifier].mean < ours[size, "direct"].mean
    ]
    more = [
        f"{verifier} ({size} rows)"
        for size in sizes
        for verifier in PLAIN[1:]
        if ours[size, verifier].mean > ours[size, "direct"].mean
    ]
    says = (
        f"Where a class holds ({kind} split), pruning saves checks against asking about every "
        f"coalition of m (direct) with {', '.join(fewer) or 'no verifier'}, and costs checks with "
        f"{', '.join(more) or 'none'}."
    )
    because = tuple(_held_number(rows, size, kind) for size in sizes)
    return Claim(says, "", tuple(ours.values()), FOUND, because=because)


def _holding_claim(rows: Rows, sizes: Sequence[int]) -> Claim:
    ours = tuple(_held_number(rows, size, kind) for size in sizes for kind in KINDS)
    parts = ", ".join(
        f"{held.where['class_rows']} rows, {held.where['split']}: {_format_bounds(held)}"
        for held in ours
    )
    return Claim(f"The classes drawn hold up to these m ({parts}).", "", ours, FOUND)


def _format_bounds(held: Number) -> str:
    if held.least == held.most:
        return f"{held.most:.0f}"
    return f"{held.least:.0f} to {held.most:.0f}"
