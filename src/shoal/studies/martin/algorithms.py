"""The two algorithms as they are printed: what they give on small tables, and what it takes.

Martin, Kifer, Machanavajjhala, Gehrke and Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, algorithms 1 (MINIMIZE1) and 2 (MINIMIZE2) and what
section 3.3.3 says of their cost. Both are run as printed and with their mistakes mended
(`minimise`), on all classes of up to ``people`` people and all small tables of up to ``classes``
classes, and are compared with trying all knowledge in all worlds (`brute_force`). The cost is how
often the body of algorithm 2's loop runs, with every result remembered.

Not as in the paper: what is run as printed are the mended algorithms with each known mistake put
back, and not a copy line by line. The paper's two ways to begin algorithm 2 contradict each other
(the text begins with the target placed, the heading without); and infinity times 0 is taken as
infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from shoal.studies.claims import (
    AGREES,
    CORRECTED,
    DIFFERS,
    Claim,
    Number,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.martin.brute_force import (
    find_largest_belief,
    find_least_probability,
    list_shapes,
    list_small_tables,
)
from shoal.studies.martin.minimise import (
    EXACT,
    FLOATS,
    LOGARITHMS,
    Minimize1,
    Minimize2,
    compute_disclosure,
    prepare_minimize_2,
)
from shoal.studies.pages.grid import draw_grid
from shoal.studies.pages.lines import draw_lines

PRINTED, GUARDED, MENDED = "as printed", "guarded", "mended"
FIRST = {PRINTED: (False, False), GUARDED: (True, False), MENDED: (True, True)}
"""Algorithm 1: whether it is guarded where nobody is left, and clamped at 0."""
ARITHMETIC = {"exact": EXACT, "floats": FLOATS, "logarithms": LOGARITHMS}
NEAR = 1e-9
"""Floats that are nearer to each other are equal."""
LINEAR, SQUARE = 1, 2
EXAMPLE = ((1, 1), 3)
"""A class and a number of atoms for which algorithm 1 divides by 0."""


def _measure(lab: Lab) -> Sequence[Row]:
    settings = lab.settings
    first = [
        {
            "algorithm": 1,
            "how": how,
            "arithmetic": arithmetic,
            "people": settings["people"],
            "atoms": settings["atoms"],
        }
        for how in FIRST
        for arithmetic in ARITHMETIC
    ]
    small = {name: settings[name] for name in ("classes", "people_in_each", "worlds", "pieces")}
    cost = [{"part": "cost", "of": list(settings["of"]), "k": list(settings["k"])}]
    example = [{"part": "example", "counts": list(EXAMPLE[0]), "atoms": EXAMPLE[1]}]
    return [
        *lab.measure_cells(compare_algorithm_1, first),
        *lab.measure_cells(measure_stop, example),
        *lab.measure_cells(compare_algorithm_2, [{"algorithm": 2, **small}]),
        *lab.measure_cells(count_steps, cost),
    ]


def compare_algorithm_1(algorithm: int, how: str, arithmetic: str, people: int, atoms: int) -> Row:
    """Algorithm 1 on every small class and number of atoms, against trying all sets of atoms."""
    cases = [
        _compare_case(counts, k, how, arithmetic)
        for counts in list_shapes(people)
        for k in range(1, atoms + 1)
    ]
    return {"cases": len(cases), **{what: sum(case[what] for case in cases) for what in cases[0]}}


def _compare_case(
    counts: tuple[int, ...], atoms: int, how: str, arithmetic: str
) -> dict[str, bool]:
    """What happens in one case; where it stops for a division by 0 there is nothing else."""
    run = Minimize1(counts, *FIRST[how], ARITHMETIC[arithmetic])
    try:
        probability = run.least(atoms)
    except ZeroDivisionError:
        return {
            "stopped": True,
            "negative": run.negative,
            "wrong": False,
            "minus_zero": False,
            "no_number": False,
        }
    value = math.exp(probability) if arithmetic == "logarithms" else float(probability)
    same = (
        probability == find_least_probability(counts, atoms)
        if arithmetic == "exact"
        else (abs(value - find_least_probability(counts, atoms)) < NEAR)
    )
    return {
        "stopped": False,
        "negative": run.negative,
        "wrong": not same,
        "minus_zero": value == 0 and math.copysign(1, value) < 0,
        "no_number": math.isnan(value),
    }


def measure_stop(part: str, counts: list[int], atoms: int) -> Row:
    """Whether algorithm 1 as printed divides by 0 for one class."""
    case = _compare_case(tuple(counts), atoms, PRINTED, "exact")
    return {"counts": ", ".join(map(str, counts)), "stopped": int(case["stopped"])}


def compare_algorithm_2(
    algorithm: int, classes: int, people_in_each: int, worlds: int, pieces: int
) -> list[Row]:
    """Algorithm 2 on every small table and k, against trying all sets of implications."""
    cases = [
        (table, k, find_largest_belief(table, k))
        for table in list_small_tables(classes, people_in_each, worlds)
        for k in range(pieces + 1)
    ]
    return [
        {"end": end, "begin": begin, **_compare_cases(cases, end == MENDED, begin == MENDED)}
        for end, begin in product((PRINTED, MENDED), repeat=2)
    ]


def _compare_cases(cases: Sequence[tuple[Any, int, Fraction]], ended: bool, begun: bool) -> Row:
    infinite, wrong = 0, 0
    for table, k, tried in cases:
        ratio = prepare_minimize_2(table, k, ended=ended, begun=begun).ratio(k)
        infinite += ratio == math.inf
        wrong += compute_disclosure(ratio) != tried
    return {"cases": len(cases), "infinite": infinite, "wrong": wrong}


def count_steps(part: str, of: list[int], k: list[int]) -> list[Row]:
    """How often the body of algorithm 2's loop runs, by classes and pieces of knowledge.

    It does not depend on what the classes are, so that nothing need be known of them.
    """
    steps_by_size = {(n, pieces): _count_loop_steps(n, pieces) for n, pieces in product(of, k)}
    return [
        {
            "of": n,
            "k": pieces,
            "steps": count,
            "power_of_k": _growth_power(count, steps_by_size.get((n, pieces // 2))),
            "power_of_classes": _growth_power(count, steps_by_size.get((n // 2, pieces))),
        }
        for (n, pieces), count in steps_by_size.items()
    ]


def _count_loop_steps(classes: int, pieces: int) -> int:
    run = Minimize2([[Fraction(1)] * (pieces + 2)] * classes, [Fraction(1)] * classes)
    run.ratio(pieces)
    return run.steps


def _growth_power(count: int, half: int | None) -> float | None:
    """With which power it grows, by what twice as many take; None where half was not measured."""
    return None if half is None else math.log2(count / half)


# What is printed, beside


def _claims(rows: Rows) -> Sequence[Claim]:
    return [
        _division_claim(rows),
        _numerator_claim(rows),
        _end_claim(rows),
        _begin_claim(rows),
        _cost_claim(rows),
    ]


def _first_number(rows: Rows, of: str, how: str, arithmetic: str, said: str) -> Number:
    where = {"algorithm": 1, "how": how, "arithmetic": arithmetic}
    (row,) = select_rows(rows, **where)
    return compute_mean(rows, of, said=said, unit=f" of {row['cases']:,}", **where)


def _division_claim(rows: Rows) -> Claim:
    stops = _first_number(rows, "stopped", PRINTED, "exact", "cases that divide by 0")
    wrong = _first_number(rows, "wrong", GUARDED, "exact", "wrong where nobody left gives 0")
    example = compute_mean(rows, "stopped", said="1: the example divides by 0", part="example")
    verdict = _decide_verdict(stops.mean == 0, wrong.mean == 0)
    counts, atoms = EXAMPLE
    shown = f", as does a class with the counts {counts} and {atoms} atoms" if example.mean else ""
    why = {
        AGREES: "",
        CORRECTED: f"Nobody may be left: {stops} small classes and numbers of atoms divide by 0"
        f"{shown}. With 0 as the probability there, {wrong} differ from trying every set of atoms.",
        DIFFERS: f"Also with 0 there, {wrong} differ from trying every set of atoms.",
    }
    return Claim(
        "Algorithm 1 can always divide by the number of people left, n − i.",
        "division by n − i",
        (stops,),
        verdict,
        why[verdict],
        (wrong, example),
    )


def _numerator_claim(rows: Rows) -> Claim:
    below = _first_number(rows, "negative", GUARDED, "exact", "cases with a numerator below 0")
    exact = _first_number(rows, "wrong", GUARDED, "exact", "wrong in exact arithmetic")
    signs = _first_number(rows, "minus_zero", GUARDED, "floats", "−0 in floats")
    lost = _first_number(rows, "no_number", GUARDED, "logarithms", "not a number in logarithms")
    mended = [
        _first_number(rows, of, MENDED, arithmetic, f"{word}, numerators at least 0")
        for of, arithmetic, word in (
            ("wrong", "exact", "wrong"),
            ("minus_zero", "floats", "−0"),
            ("no_number", "logarithms", "not a number"),
        )
    ]
    verdict = _decide_verdict(below.mean == 0, all(number.mean == 0 for number in mended))
    harmless = "no result changes" if exact.mean == 0 else f"{exact} results are wrong"
    why = {
        AGREES: "",
        CORRECTED: f"It is below 0 in {below} cases. In exact arithmetic {harmless}; in floats "
        f"{signs} are −0, in logarithms {lost} are not a number. With numerators of at least 0 "
        "none is any of these, and none is wrong.",
        DIFFERS: "Also with numerators of at least 0 some results are wrong, −0 or not a number.",
    }
    return Claim(
        "No factor of algorithm 1 has a numerator below 0.",
        "no bound at 0",
        (below,),
        verdict,
        why[verdict],
        (exact, signs, lost, *mended),
    )


def _second_number(rows: Rows, of: str, end: str, begin: str, said: str) -> Number:
    where = {"algorithm": 2, "end": end, "begin": begin}
    (row,) = select_rows(rows, **where)
    return compute_mean(rows, of, said=said, unit=f" of {row['cases']:,}", **where)


def _end_claim(rows: Rows) -> Claim:
    printed = _second_number(rows, "infinite", PRINTED, MENDED, "r is infinite")
    both = _second_number(rows, "infinite", PRINTED, PRINTED, "r is infinite, begun as printed too")
    wrong = _second_number(rows, "wrong", PRINTED, MENDED, "wrong")
    mended = _second_number(rows, "wrong", MENDED, MENDED, "wrong where it returns 1")
    verdict = _decide_verdict(wrong.mean == 0, mended.mean == 0)
    why = {
        AGREES: "",
        CORRECTED: f"Then r is infinite in {printed} small tables and numbers of pieces ({both} "
        "where it begins as printed too). Returning 1 once the target has its place, "
        f"{mended} differ from trying every set of implications.",
        DIFFERS: f"Also where it returns 1, {mended} differ from trying every implication.",
    }
    return Claim(
        "Algorithm 2 returns infinity past the last class.",
        "∞",
        (printed, wrong),
        verdict,
        why[verdict],
        (both, mended),
    )


def _begin_claim(rows: Rows) -> Claim:
    wrong = _second_number(rows, "wrong", MENDED, PRINTED, "wrong, begun with the target placed")
    mended = _second_number(rows, "wrong", MENDED, MENDED, "wrong, begun without")
    verdict = _decide_verdict(wrong.mean == 0, mended.mean == 0)
    why = {
        AGREES: "",
        CORRECTED: f"With its end mended, {wrong} are wrong where it begins so, and {mended} where "
        "the target has no place at first.",
        DIFFERS: f"Also where the target has no place at first, {mended} are wrong.",
    }
    return Claim(
        "Algorithm 2 begins with the target placed already (a = true).",
        "MINIMIZE2(0, k, true)",
        (wrong,),
        verdict,
        why[verdict],
        (mended,),
    )


def _decide_verdict(as_printed: bool, as_mended: bool) -> str:
    if as_printed:
        return AGREES
    return CORRECTED if as_mended else DIFFERS


def _cost_claim(rows: Rows) -> Claim:
    """By the power with which steps grow from half the most pieces or classes to all of them."""
    last = max(select_rows(rows, part="cost"), key=lambda row: (row["of"], row["k"]))
    at = {"part": "cost", "of": last["of"], "k": last["k"]}
    k, classes = (
        compute_mean(
            rows, of, said=f"power of {word}, {last['of']} classes and k = {last['k']}", **at
        )
        for of, word in (("power_of_k", "k"), ("power_of_classes", "the classes"))
    )
    straight = round(classes.mean) == LINEAR
    verdict = _decide_verdict(
        straight and round(k.mean) == LINEAR, straight and round(k.mean) == SQUARE
    )
    why = {
        AGREES: "",
        CORRECTED: f"Counted, its steps grow with k to the power {k} and with the classes to the "
        f"power {classes}: O(|B| k²).",
        DIFFERS: f"Its steps grow with k to the power {k}, with the classes to the power "
        f"{classes}.",
    }
    return Claim(
        "Beside algorithm 1, algorithm 2 takes a number of steps that is linear in the "
        "classes and in k.",
        "O(|B| k)",
        (k, classes),
        verdict,
        why[verdict],
    )


def _charts(rows: Rows) -> Mapping[str, Spec]:
    first, then = select_rows(rows, algorithm=1), select_rows(rows, algorithm=2)
    stops = _first_number(rows, "stopped", PRINTED, "exact", "")
    infinite = _second_number(rows, "infinite", PRINTED, PRINTED, "")
    cost: list[dict[str, Any]] = [
        {**row, "number": f"{row['of']} classes"} for row in select_rows(rows, part="cost")
    ]
    power = max(cost, key=lambda row: (row["of"], row["k"]))["power_of_k"]
    return {
        "algorithm-1": draw_grid(
            _mark_mistakes(first),
            marked="bad",
            columns={
                "how": "Algorithm 1",
                "arithmetic": "Arithmetic",
                "cases": "Cases",
                "stopped": "Divided by 0",
                "minus_zero": "−0",
                "no_number": "Not a number",
                "wrong": "Wrong",
            },
            title=f"Algorithm 1 as printed divides by 0 in {stops} cases",
            about="All small classes and numbers of atoms, against trying every set of atoms. "
            "Guarded: 0 where nobody is left; mended: numerators of at least 0 too.",
        ),
        "algorithm-2": draw_grid(
            _mark_mistakes(then),
            marked="bad",
            columns={
                "end": "Its end",
                "begin": "Its beginning",
                "cases": "Cases",
                "infinite": "r is infinite",
                "wrong": "Wrong",
            },
            title=f"Algorithm 2 as printed finds r infinite in {infinite} cases",
            about="All small tables and numbers of pieces, against trying every set of "
            "implications in every world.",
        ),
        "steps": draw_lines(
            cost,
            x="k",
            y="steps",
            by="number",
            log_x=True,
            log_y=True,
            title=f"Algorithm 2's steps grow with k to the power {power:.1f}",
            about="How often the body of its loop runs, with every result remembered.",
            labels={"k": "Pieces of knowledge", "steps": "Steps", "number": "In"},
        ),
    }


def _mark_mistakes(rows: Rows) -> list[Row]:
    bad = ("stopped", "minus_zero", "no_number", "infinite", "wrong")
    return [{**row, "bad": any(row.get(mistake) for mistake in bad)} for row in rows]


EXPERIMENT = Experiment(
    "Algorithms 1 and 2 as printed and mended, on small tables",
    _measure,
    _claims,
    _charts,
    settings={
        "people": 4,
        "atoms": 6,
        "classes": 3,
        "people_in_each": 3,
        "worlds": 12,
        "pieces": 3,
        "of": (8, 16, 32),
        "k": (4, 8, 16, 32),
    },
    notes=(
        "Classes are all that differ in their counts: of up to 4 people, with 1 to 6 atoms, for "
        "algorithm 1; tables of up to 3 classes of up to 3 people and 12 worlds, with 0 to 3 "
        "pieces, for algorithm 2, which is given what the mended algorithm 1 finds.",
        "As printed: the mended algorithms with the mistakes that are known of them put back; they "
        "were not copied line by line from the paper.",
        "The paper's heading of algorithm 2 begins without the target placed, its text with it; "
        "the text is what is called printed. Infinity times 0 is taken as infinity.",
        "A power is that by which steps grow when k, or the number of classes, doubles for the "
        "last time; it is called linear or square by the nearest whole number.",
        "That algorithm 1 begins its search for the least with 1 is as printed, and right.",
    ),
)
