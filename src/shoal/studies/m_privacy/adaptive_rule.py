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

from shoal.models._verifiers.adaptive import STRONG
from shoal.studies.claims import AGREES, DIFFERS, FOUND, PARTLY, Claim, Number, Rows, number
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
        _first(rows, small, "binary", "smaller"),
        _first(rows, large, "top-down", "larger"),
        _chosen_well(rows, (small, large)),
        _time(rows, (small, large)),
        *(_pruned(rows, kind, (small, large)) for kind in KINDS),
        _holding(rows, (small, large)),
    ]


def _checks(rows: Rows, size: int, reading: Reading, name: str) -> Number:
    average, kind = reading
    column, where = AVERAGES[average]
    return number(
        rows,
        column,
        said=f"checks of {name}, {size} rows, {kind}, {average}",
        verifier=name,
        class_rows=size,
        split=kind,
        **where,
    )


def _held(rows: Rows, size: int, kind: str) -> Number:
    return number(
        rows,
        "held_to",
        said=f"{size} rows, {kind}: holds up to m",
        class_rows=size,
        split=kind,
        verifier="exact",
    )


def _told(readings: Sequence[Reading]) -> str:
    return "; ".join(f"{average}, {kind}" for average, kind in readings)


def _verdict(right: int, of: int) -> str:
    return AGREES if right == of else PARTLY if right else DIFFERS


# The paper's


def _first(rows: Rows, size: int, name: str, which: str) -> Claim:
    """Least by checks of all four."""
    says = (
        f"On the {which} class, of {size} rows, {name} needs the fewest checks of the paper's four "
        "verifiers (under which split and over which m is open)."
    )
    each = {at: {one: _checks(rows, size, at, one) for one in PLAIN} for at in READINGS}
    orders = {
        at: tuple(sorted(PLAIN, key=lambda one: found[one].mean)) for at, found in each.items()
    }
    ahead = [at for at, found in each.items() if _least(found, name)]
    ours = tuple(each[at][one] for at in READINGS for one in (name, _rival(each[at], name)))
    rest = tuple(one for found in each.values() for one in found.values() if one not in ours)
    verdict = _verdict(len(ahead), len(READINGS))
    if verdict == AGREES:
        return Claim(says, THEIRS, ours, AGREES, because=rest)
    behind = [at for at in READINGS if at not in ahead]
    breaking = [one for at in behind if (one := _breaking(rows, size, at))]
    why = f"It is first in {len(ahead)} of {len(READINGS)} readings. {_ordered(orders, behind)}"
    why += "".join(f" {_broken(one)}" for one in breaking)
    return Claim(says, THEIRS, ours, verdict, why, (*rest, *breaking))


def _least(found: Mapping[str, Number], name: str) -> bool:
    return all(found[name].mean < one.mean for other, one in found.items() if other != name)


def _rival(found: Mapping[str, Number], name: str) -> str:
    return min((one for one in found if one != name), key=lambda one: found[one].mean)


def _ordered(orders: Mapping[Reading, tuple[str, ...]], behind: Sequence[Reading]) -> str:
    """The orders where another is first, each with the readings that give it."""
    found = dict.fromkeys(orders[at] for at in behind)
    if len(found) == 1 and len(behind) == len(orders):
        return f"The order, fewest first, is {', '.join(*found)} in all of them."
    told = [
        f"{', '.join(order)} ({_told([at for at in behind if orders[at] == order])})"
        for order in found
    ]
    return f"Where it is not, the order, fewest first, is: {'; '.join(told)}."


def _breaking(rows: Rows, size: int, reading: Reading) -> Number | None:
    """Up to which m the class holds, where none that was drawn holds for the default."""
    average, kind = reading
    held = _held(rows, size, kind)
    return held if AVERAGES[average][1] and held.most < USUAL else None


def _broken(held: Number) -> str:
    return (
        f"At m = {USUAL} no class drawn under the {held.where['split']} split holds (they hold up "
        f"to m = {held.mean:.2g} in the mean)."
    )


def _chosen_well(rows: Rows, sizes: Sequence[int]) -> Claim:
    """The verifier that is taken against the better of the two."""
    says = (
        "To choose by the score costs no more checks than the better of top-down and binary "
        f"(classes of {' and of '.join(map(str, sizes))} rows; under which split and over which m "
        "is open)."
    )
    each = {
        (size, at): {one: _checks(rows, size, at, one) for one in ("adaptive", *CHOICE)}
        for size in sizes
        for at in READINGS
    }
    right = [
        key
        for key, found in each.items()
        if found["adaptive"].mean <= min(found[one].mean for one in CHOICE)
    ]
    means = [key for key in each if key[1][0] == "all m"]
    ours = tuple(one for key in reversed(means) for one in each[key].values())
    rest = tuple(one for key in each if key not in means for one in each[key].values())
    verdict = _verdict(len(right), len(each))
    if verdict == AGREES:
        return Claim(says, THEIRS, ours, AGREES, because=rest)
    # The same rows are split in both ways, so that their score is the same.
    scores = tuple(
        number(
            rows, "score", said=f"score of a class, {size} rows", class_rows=size, split=KINDS[0]
        )
        for size in sizes
    )
    why = (
        f"{_worse(right, each)} {_one_better(each)}From which score a class counts as large is not "
        f"printed; ours is {STRONG:g}, and the classes score "
        f"{' and '.join(f'{one.mean:.3g}' for one in scores)}."
    )
    return Claim(says, THEIRS, ours, verdict, why, (*rest, *scores))


Choices = Mapping[tuple[int, Reading], Mapping[str, Number]]


def _worse(right: Sequence[tuple[int, Reading]], each: Choices) -> str:
    """In how many readings of which classes it costs more."""
    sizes = list(dict.fromkeys(size for size, _ in each))
    wrong = [size for size, at in each if (size, at) not in right]
    told = [f"{wrong.count(size)} of {len(READINGS)} readings at {size} rows" for size in sizes]
    return f"It costs more in {' and in '.join(told)}."


def _one_better(each: Choices) -> str:
    """Where one of the two is the better everywhere, there is nothing to choose."""
    for one, other in (CHOICE, CHOICE[::-1]):
        if all(found[one].mean <= found[other].mean for found in each.values()):
            return (
                f"{one.capitalize()} needs no more than {other} in any of the {len(each)} "
                "readings: on these classes no score would tell when to take the other. "
            )
    return ""


# Found beside it


def _means(rows: Rows, column: str, words: str, size: int, kind: str) -> dict[str, Number]:
    unit = {"mean_milliseconds": " ms", "microseconds_a_check": " µs"}.get(column, "")
    return {
        one: number(
            rows,
            column,
            said=f"{words} of {one}, {size} rows, {kind}",
            unit=unit,
            verifier=one,
            class_rows=size,
            split=kind,
        )
        for one in PLAIN
    }


def _time(rows: Rows, sizes: Sequence[int]) -> Claim:
    """Whether time follows checks, and what a check costs."""
    classes = [(size, kind) for size in sizes for kind in KINDS]
    checks, times, costs = (
        {at: _means(rows, column, words, *at) for at in classes}
        for column, words in (
            ("mean_checks", "checks"),
            ("mean_milliseconds", "time"),
            ("microseconds_a_check", "time for a check"),
        )
    )
    first = {at: (_least_of(checks[at]), _least_of(times[at])) for at in classes}
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
        _a_check(rows, sizes, column, words)
        for column, words in (("one_by_one", "one by one"), ("at_once", "many at once"))
    )
    dearest = [max(costs[at], key=lambda one: costs[at][one].mean) for at in classes]
    ours = tuple(times[at][one] for at in classes for one in dict.fromkeys(reversed(first[at])))
    because = (
        *single,
        *many,
        *(one for at in classes for one in costs[at].values()),
        *(checks[at][one] for at in classes for one in dict.fromkeys(first[at])),
    )
    says = f"{head} {_priced(single, many, dearest)}".strip()
    return Claim(says, "", ours, FOUND, because=because)


def _least_of(found: Mapping[str, Number]) -> str:
    return min(found, key=lambda one: found[one].mean)


def _a_check(rows: Rows, sizes: Sequence[int], column: str, words: str) -> tuple[Number, ...]:
    return tuple(
        number(
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


def _priced(single: Sequence[Number], many: Sequence[Number], dearest: Sequence[str]) -> str:
    """What asking about many at once saves, and who does not."""
    if not all(one.mean > two.mean for one, two in zip(single, many, strict=True)):
        return ""
    told = (
        f"A check costs {_span(single)} µs where coalitions are asked about one by one, and "
        f"{_span(many)} µs where many are at once."
    )
    if set(dearest) != {"binary"}:
        return told
    return f"{told} Binary, which asks one by one, pays the most for a check on every class."


def _span(numbers: Sequence[Number]) -> str:
    means = [one.mean for one in numbers]
    return f"{min(means):.3g} to {max(means):.3g}"


def _pruned(rows: Rows, kind: str, sizes: Sequence[int]) -> Claim:
    """Against trying every coalition of m, which is what a class that holds costs ``direct``."""
    reading = ("the m for which it holds", kind)
    ours = {(size, one): _checks(rows, size, reading, one) for size in sizes for one in PLAIN}
    fewer = [
        f"{one} ({size} rows)"
        for size in sizes
        for one in PLAIN[1:]
        if ours[size, one].mean < ours[size, "direct"].mean
    ]
    more = [
        f"{one} ({size} rows)"
        for size in sizes
        for one in PLAIN[1:]
        if ours[size, one].mean > ours[size, "direct"].mean
    ]
    says = (
        f"Where a class holds ({kind} split), pruning saves checks against asking about every "
        f"coalition of m (direct) with {', '.join(fewer) or 'no verifier'}, and costs checks with "
        f"{', '.join(more) or 'none'}."
    )
    because = tuple(_held(rows, size, kind) for size in sizes)
    return Claim(says, "", tuple(ours.values()), FOUND, because=because)


def _holding(rows: Rows, sizes: Sequence[int]) -> Claim:
    ours = tuple(_held(rows, size, kind) for size in sizes for kind in KINDS)
    told = ", ".join(
        f"{one.where['class_rows']} rows, {one.where['split']}: {_up_to(one)}" for one in ours
    )
    return Claim(f"The classes drawn hold up to these m ({told}).", "", ours, FOUND)


def _up_to(held: Number) -> str:
    if held.least == held.most:
        return f"{held.most:.0f}"
    return f"{held.least:.0f} to {held.most:.0f}"
