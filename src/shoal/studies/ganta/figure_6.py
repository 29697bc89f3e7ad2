"""Figure 6: how large the classes are that l-diversity and t-closeness ask for.

Ganta et al. 2008, figure 6 (a, b): the average size of a class ("partition") in the releases of
figure 5. Its text gives for IPUMS about 45 with k = 10 alone, 450 with l = 5, 1,300 with t = 0.4.

An average can be taken over the classes (rows / classes) or over the people (the size of the class
that a person is in, on average). The paper does not say which it means: both are measured and both
judged. The runs are those of figure 5. The study ``ganta-headline`` changes one thing at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from shoal.studies.claims import AGREES, FOUND, Claim, Number, Row, Rows, compute_mean
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.figure_5 import (
    CLOSE,
    ENTROPY,
    LISTS,
    PLAIN,
    SETTINGS,
    collect_rule_series,
    measure_rule_pairs,
)
from shoal.studies.ganta.pairs import (
    ABOUT,
    ALL,
    APPLICABLE,
    SUBSETS,
    TWO_WAYS,
    find_panels,
    judge_figure,
    judge_readings,
    list_readings,
)
from shoal.studies.ganta.steps import BEYOND, compare_means, describe_ends, describe_tables
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines

IPUMS = "ipums-1970"
PRINTED = {PLAIN: 45, "l = 5": 450, "t = 0.4": 1300}
"""The average partition of IPUMS at k = 10, "about"."""
AVERAGES = {"own_class_size": "mean over people", "class_size": "rows / classes"}
OVER_PEOPLE, OVER_CLASSES = AVERAGES
TWICE = 2
"""So many times larger, and classes count as much larger."""
Series = Mapping[tuple[str, str], Sequence[Number]]


def measure(lab: Lab) -> list[Row]:
    """The class sizes of every pair of figure 5."""
    names = ("data", "rows_kept", "table", "kind", "asked", "k", "seed", "classes", "rows_each")
    return [{key: row[key] for key in (*names, *AVERAGES)} for row in measure_rule_pairs(lab)]


def claims(rows: Rows) -> list[Claim]:
    """The three sizes of the text; what strict rules cost, and whether every step costs."""
    printed = [_class_size_claim(rows, asked) for asked in PRINTED]
    return [
        *printed,
        _growth_claim(rows),
        _shrinking_claim(collect_rule_series(rows, OVER_PEOPLE, " rows")),
    ]


def _class_size_claim(rows: Rows, asked: str) -> Claim:
    theirs = PRINTED[asked]
    ours = collect_averages(rows, asked)
    verdict = judge_readings(ours, theirs)
    apply = collect_averages(rows, asked, APPLICABLE)
    met = [reading.said for reading in apply if judge_figure(reading, theirs) == AGREES]
    reason = "The reason was not found; ganta-headline tells what else was tried."
    why = (
        f"The paper does not say which average it means: {list_readings(ours)}. "
        f"{_describe_agreement(rows)} Without "
        f"the people who have no occupation it is {list_readings(apply)}, of which "
        f"{' and '.join(met) or 'neither'} is within a tenth of it, our bound."
    )
    if AGREES not in [judge_figure(reading, theirs) for reading in ours]:
        why = f"{why} {reason}"
    besides = "" if asked == PLAIN else f" and {asked}"
    return Claim(
        f"On IPUMS with k = 10{besides} the average class has about {theirs:,} rows.",
        f"about {theirs:,}",
        ours,
        verdict,
        "" if verdict == AGREES else why,
        () if verdict == AGREES else apply,
    )


def collect_averages(rows: Rows, asked: str, rows_kept: str = ALL) -> tuple[Number, ...]:
    """Both averages on IPUMS."""
    where = {"data": IPUMS, "rows_kept": rows_kept, "asked": asked}
    return tuple(
        compute_mean(rows, of, said=words, unit=" rows", **where) for of, words in AVERAGES.items()
    )


def _describe_agreement(rows: Rows) -> str:
    fits = [
        words
        for at, words in enumerate(AVERAGES.values())
        if all(
            judge_figure(collect_averages(rows, asked)[at], size) == AGREES
            for asked, size in PRINTED.items()
        )
    ]
    sizes = ", ".join(f"{size:,}" for size in PRINTED.values())
    return f"{' and '.join(fits).capitalize() or 'Neither'} agrees with all of {sizes}."


def _growth_claim(rows: Rows) -> Claim:
    """How many times larger classes become by the strictest rules, by either average."""
    numbers_by_average = {of: collect_rule_series(rows, of, " rows") for of in AVERAGES}
    times = {
        of: [numbers[-1].mean / numbers[0].mean for numbers in each.values()]
        for of, each in numbers_by_average.items()
    }
    counts = " and ".join(
        f"in {sum(ratio >= TWICE for ratio in ratios)} of {len(ratios)} cases ({AVERAGES[of]}, "
        f"{min(ratios):,.1f} to {max(ratios):,.1f} times)"
        for of, ratios in times.items()
    )
    ours = (
        number
        for each in numbers_by_average.values()
        for (_, kind), (plain, *_, strict) in each.items()
        for number in ((plain, strict) if kind == ENTROPY else (strict,))
    )
    return Claim(
        f"The strictest l and t make the average class at least {TWICE} times as large as k "
        f"alone {counts}.",
        "",
        tuple(ours),
        FOUND,
    )


def _shrinking_claim(numbers_by_rule: Series) -> Claim:
    pairs = [(a, b) for numbers in numbers_by_rule.values() for a, b in pairwise(numbers)]
    down = [(a, b) for a, b in pairs if compare_means(a, b) < 0]
    falls = "; ".join(f"from {a} ({a.said}) to {b} ({b.where['asked']})" for a, b in down)
    shown = [number for two in down for number in two] or [
        number for each in numbers_by_rule.values() for number in each
    ]
    return Claim(
        f"The average class (mean over people) shrinks in {len(down) or 'none'} of {len(pairs)} "
        f"steps to a stricter rule{': ' * bool(down)}{falls}.",
        "",
        tuple(shown),
        FOUND,
    )


def charts(rows: Rows) -> dict[str, Spec]:
    """Both averages against l and against t; k alone is l = 1, and t = 1."""
    return {"entropy": _make_chart(rows, ENTROPY, "l"), "closeness": _make_chart(rows, CLOSE, "t")}


def _make_chart(rows: Rows, kind: str, letter: str) -> Spec:
    drawn_rows = [
        {
            "strength": _strength(row["asked"]),
            "table": row["table"],
            "size": row[of],
            "average": words,
        }
        for row in rows
        if row["kind"] in (PLAIN, kind)
        for of, words in AVERAGES.items()
    ]
    numbers_by_rule = collect_rule_series(rows, OVER_PEOPLE, " rows")
    ends = {
        table: (numbers[0], numbers[-1])
        for (table, of), numbers in numbers_by_rule.items()
        if of == kind
    }
    strict = next(numbers for (_, of), numbers in numbers_by_rule.items() if of == kind)[-1].where[
        "asked"
    ]
    return draw_lines(
        drawn_rows,
        x="strength",
        y="size",
        by="table",
        panel="average",
        log_y=True,
        theirs=_list_printed(rows, letter),
        title=f"From k alone to {strict} a person's class goes from {describe_ends(ends, ' rows')}",
        about=f"The average class size against {letter}; {letter} = 1 is k alone. The paper's "
        "figures stand in both panels, for it does not say which average they are. "
        f"{describe_tables(rows)}",
        labels={"strength": letter, "size": "class size, rows", "table": "table"},
    )


def _list_printed(rows: Rows, letter: str) -> list[Row]:
    """The paper's figures, beside the rows that it kept."""
    tables = [table for data, table in find_panels(rows).items() if data == IPUMS]
    return [
        {
            "strength": _strength(asked),
            "table": table,
            "size": size,
            "average": average,
            "said": f"paper: about {size:,}",
        }
        for table in tables
        for average in AVERAGES.values()
        for asked, size in PRINTED.items()
        if asked == PLAIN or asked.startswith(letter)
    ]


def _strength(asked: str) -> float:
    """The number of "l = 5"; 1 for k alone, which asks for no more than l = 1 or t = 1.

    >>> _strength("t = 0.4"), _strength(PLAIN)
    (0.4, 1.0)
    """
    return 1.0 if asked == PLAIN else float(asked.partition("=")[2])


EXPERIMENT = Experiment(
    shows="Figure 6: the average class size under l-diversity and t-closeness",
    measure=measure,
    claims=claims,
    charts=charts,
    data=("adult-train", IPUMS),
    settings=SETTINGS,
    seeds=3,
    own=True,
    notes=(
        "The paper does not say whether its average is over people or over classes: both are "
        "measured, judged and drawn.",
        SUBSETS,
        TWO_WAYS,
        LISTS,
        ABOUT,
        BEYOND,
    ),
)
