"""Figure 3: how large classes are, and how many values they leave.

Ganta et al. 2008, Figure 3 (a: Adult, b: IPUMS): k, the average size of a partition, and the
average effective anonymity, the number of different values in a person's class, under Mondrian.
Its text gives about 40 for IPUMS with k = 5.

The paper does not say how its average is taken. Two readings are measured and judged, and none is
picked: rows / classes, and the mean over people of the size of the class that each is in.

Not as in the paper: the sizes of the subsets are ours, and IPUMS is studied also without the people
who have no occupation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import (
    ABOUT,
    ALL,
    APPLICABLE,
    HEADED,
    SUBSETS,
    TWO_WAYS,
    find_panels,
    judge_readings,
    list_readings,
    measure_pairs,
)
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines

IPUMS, K = "ipums-1970", 5
PRINTED = 40
"""The average partition of IPUMS at k = 5, "about"."""
SIZES = {"own_class_size": "mean over people", "class_size": "rows / classes"}
COUNTED = {
    "own_class_size": "Size of a person's class (mean over people)",
    "class_size": "Rows / classes",
    "prior": "Values left (effective anonymity)",
}
LABELS = {"k": "k", "number": "Rows, or values", "counted": "Mean of", "table": "Table"}


def measure(lab: Lab) -> list[Row]:
    """Both averages, and the values that a class leaves."""
    same = ("table", "data", "rows_kept", "k", "seed", *COUNTED)
    return [{name: pair[name] for name in same} for pair in measure_pairs(lab)]


def claims(rows: Rows) -> Sequence[Claim]:
    """The size at k = 5; and, table by table, from where on k is more than the values left."""
    return [
        _class_size_claim(rows),
        *(_values_left_claim(rows, table) for table in dict.fromkeys(_list_tables(rows))),
    ]


def _list_tables(rows: Rows) -> list[str]:
    return [row["table"] for row in rows]


def _class_size_claim(rows: Rows) -> Claim:
    readings, work = (
        tuple(
            compute_mean(rows, of, said=words, unit=" rows", data=IPUMS, k=K, rows_kept=rows_kept)
            for of, words in SIZES.items()
        )
        for rows_kept in (ALL, APPLICABLE)
    )
    why = (
        f"The paper does not say which average it took. Ours: {list_readings(readings)}; without "
        "the people "
        f"who have no occupation {list_readings(work)}. ganta-figure-6 judges both readings by the "
        "paper's 45, 450 and 1,300."
    )
    return Claim(
        f"Under Mondrian with k = {K} the average class of IPUMS has about {PRINTED} rows.",
        f"about {PRINTED}",
        readings,
        judge_readings(readings, PRINTED),
        why,
        work,
    )


def _values_left_claim(rows: Rows, table: str) -> Claim:
    """From which k on a person's class has fewer different values than k, on average."""
    some = select_rows(rows, table=table)
    left = {
        k: compute_mean(some, "prior", said=f"{table}, k = {k}", table=table, k=k)
        for k in sorted({row["k"] for row in some})
    }
    more = [k for k in left if left[k].mean >= k]
    fewer = [k for k in left if not more or k > more[-1]]
    shown = dict.fromkeys((*more[-1:], *fewer[:1], *fewer[-1:]))
    return Claim(
        f"The class of a person has on average {_describe_crossing(left, more, fewer)} ({table}, "
        "Mondrian).",
        "",
        tuple(left[k] for k in shown),
        FOUND,
    )


def _describe_crossing(
    left: Mapping[int, Number], more: Sequence[int], fewer: Sequence[int]
) -> str:
    """In words: at every k, at none, or from one on."""
    if not fewer:
        last = more[-1]
        return f"at least k different values at k = {last}, the largest measured: {left[last]}"
    first, last = fewer[0], fewer[-1]
    sentence = f"fewer than k different values from k = {first} on: {left[first]} there"
    sentence += f", {left[last]} at k = {last}" if last > first else ""
    return f"{sentence}; at k = {more[-1]} it has {left[more[-1]]}" if more else sentence


def charts(rows: Rows) -> Mapping[str, Spec]:
    """The three means against k."""
    long = [
        {"k": row["k"], "table": row["table"], "counted": words, "number": row[name]}
        for row in rows
        for name, words in COUNTED.items()
    ]
    return {
        "sizes": draw_lines(
            long,
            x="k",
            y="number",
            by="counted",
            panel="table",
            labels=LABELS,
            theirs=_list_printed(rows),
            title=_title(rows),
            about="How large the classes of one release by Mondrian are, and how many different "
            f"sensitive values a person's class has. {HEADED}",
        )
    }


def _title(rows: Rows) -> str:
    k = max(row["k"] for row in rows)
    few = ", ".join(
        f"{compute_mean(rows, 'prior', k=k, table=table).mean:.0f} ({table})"
        for table in dict.fromkeys(_list_tables(rows))
    )
    return f"At k = {k} the number of different values in a person's class is {few}"


def _list_printed(rows: Rows) -> list[Row]:
    """The paper's figure, of no line: which average it is, is open."""
    return [
        {"k": K, "number": PRINTED, "table": table, "said": f"paper: about {PRINTED} rows"}
        for data, table in find_panels(rows).items()
        if data == IPUMS
    ]


EXPERIMENT = Experiment(
    shows="Figure 3: size of classes and values left in them, against k",
    measure=measure,
    claims=claims,
    charts=charts,
    data=("adult-train", IPUMS),
    settings={"k": [5, 10, 20, 30, 40, 50]},
    seeds=5,
    own=True,
    notes=(
        SUBSETS,
        TWO_WAYS,
        ABOUT,
        "Means of both releases; values left are those of the people in both.",
    ),
)
