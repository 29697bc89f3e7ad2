"""Figure 7: the drop in possible values against the entropy of the sensitive column.

Ganta et al. 2008, figure 7: on IPUMS, with industry (145 values, 4.35 bits), occupation (247,
4.30 bits) and income (471, 5.56 bits) as the sensitive column, how many fewer values two releases
leave a person than the better of the two alone, on average. The claim: the drop grows with the
entropy. Entropies are in bits, over the rows that are kept.

Drawn twice: with all rows, as the paper has it, and with the people to whom all three columns
apply, so that the three are compared on the same people. The two entropies that the paper prints
for industry and occupation are .05 bits apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pyarrow.compute as pc

from shoal.studies.claims import (
    AGREES,
    DIFFERS,
    FOUND,
    PARTLY,
    Claim,
    Number,
    Row,
    Rows,
    compute_mean,
)
from shoal.studies.entropy import compute_entropy
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import ALL, APPLICABLE, KEPT, SUBSETS, WORDS, measure_pair
from shoal.studies.ganta.steps import BEYOND, compare_means
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines
from shoal.studies.tables import Sample

SETTINGS = {"k": (5, 10, 20)}
WAYS = {ALL: "all rows", APPLICABLE: "people to whom all three apply"}
Drops = list[tuple[Number, Number]]
"""Entropy and drop of every column, the least entropy first."""


def measure_drop(sample: Sample, *, k: int, sensitive: str, rows_kept: str, seed: int) -> Row:
    """One pair of releases with this sensitive column, and the column's entropy."""
    people = sample if rows_kept == ALL else keep_applicable_people(sample)
    row = measure_pair(people, k=k, sensitive=sensitive, seed=seed)
    names = ("drop", "prior", "posterior", "pvp_100", "own_class_size", "class_size", "people")
    counts = people.table[sensitive].value_counts().field("counts")
    column_row = {"entropy": compute_entropy(counts), "values": len(counts), "rows": people.rows}
    return {**column_row, **{name: row[name] for name in names}}


def keep_applicable_people(sample: Sample) -> Sample:
    """The people to whom every sensitive column applies."""
    table = sample.table
    for column, none in sample.empty.items():
        table = table.filter(pc.not_equal(table[column], none))
    return replace(sample, table=table)


def measure(lab: Lab) -> list[Row]:
    """Every sensitive column at every k, both ways."""
    cells = [
        {"data": name, "sensitive": column, "rows_kept": rows, "k": k, "seed": seed}
        for name, sample in lab.samples.items()
        for column in (sample.sensitive, *sample.others)
        for rows in KEPT
        for k in lab.settings["k"]
        for seed in lab.seeds
    ]
    return [
        {
            **row,
            "column": WORDS.get(row["sensitive"], row["sensitive"]),
            "way": WAYS[row["rows_kept"]],
        }
        for row in lab.measure_cells(measure_drop, cells)
    ]


def claims(rows: Rows) -> list[Claim]:
    """That the drop grows with the entropy, judged on all rows; and what it does on the others."""
    every, apply = (sort_by_entropy(rows, way) for way in WAYS.values())
    return [_growth_claim(every), _applicable_claim(apply, rows)]


def _growth_claim(drops_by_k: dict[int, Drops]) -> Claim:
    comparisons = compare_columns(drops_by_k)
    ups = sum(way > 0 for _, _, way in comparisons)
    verdict = AGREES if ups == len(comparisons) else PARTLY if ups else DIFFERS
    against = [number for a, b, way in comparisons if way <= 0 for number in (a, b)]
    why = f"{_describe_comparisons(comparisons)} The reason was not found."
    return Claim(
        "On IPUMS with all rows the mean drop in possible values grows with the entropy of the "
        "sensitive column: occupation (4.30 bits), industry (4.35), income (5.56).",
        "drop grows with entropy",
        _drops_at_smallest_k(drops_by_k),
        verdict,
        "" if verdict == AGREES else why,
        tuple(against),
    )


def _applicable_claim(drops_by_k: dict[int, Drops], rows: Rows) -> Claim:
    same_people = {
        key: rows[0][key] for key in ("k", "column")
    }  # the same people for every one of them
    people = compute_mean(rows, "rows", said="people", way=WAYS[APPLICABLE], **same_people)
    sentence = _describe_comparisons(compare_columns(drops_by_k))
    return Claim(
        f"Among the {people.mean:,.0f} people of IPUMS to whom all three columns apply, "
        f"{sentence[0].lower()}{sentence[1:]}",
        "",
        _drops_at_smallest_k(drops_by_k),
        FOUND,
        "",
        (people,),
    )


def compare_columns(drops_by_k: dict[int, Drops]) -> list[tuple[Number, Number, int]]:
    """Every two columns at one k, the one with less entropy first, and whether the drop grows."""
    return [
        (a, b, compare_means(a, b))
        for drops in drops_by_k.values()
        for (_, a), (_, b) in combinations(drops, 2)
    ]


def _describe_comparisons(comparisons: Sequence[tuple[Number, Number, int]]) -> str:
    up, down = (sum(way == sign for _, _, way in comparisons) for sign in (1, -1))
    against = "; ".join(f"{a.said} {a}, {b.said} {b}" for a, b, way in comparisons if way < 0)
    return (
        f"The column with more entropy has the larger drop in {up} of {len(comparisons)} "
        "comparisons of "
        f"two columns at one k, the smaller in {down}{f' ({against})' if against else ''}, and "
        f"in {len(comparisons) - up - down} neither beyond the spread of the runs, our bound."
    )


def _drops_at_smallest_k(drops_by_k: dict[int, Drops]) -> tuple[Number, ...]:
    return tuple(drop for _, drop in drops_by_k[min(drops_by_k)])


def sort_by_entropy(rows: Rows, way: str) -> dict[int, Drops]:
    """For every k the columns, the least entropy first."""
    drops_by_k = {}
    for k in dict.fromkeys(row["k"] for row in rows):
        each = []
        for column in dict.fromkeys(row["column"] for row in rows):
            where = {"way": way, "column": column, "k": k}
            entropy = compute_mean(rows, "entropy", said=column, unit=" bits", **where)
            words = f"{column} ({entropy.mean:.2f} bits), k = {k}"
            each.append((entropy, compute_mean(rows, "drop", said=words, unit=" values", **where)))
        drops_by_k[k] = sorted(each, key=lambda pair: pair[0].mean)
    return drops_by_k


def charts(rows: Rows) -> dict[str, Spec]:
    """Drop against entropy, a line for each k, a panel for each way; and against k."""
    labels = {
        "entropy": "entropy of the sensitive column, bits",
        "drop": "mean drop in values",
        "k": "k",
        "way": "rows",
        "column": "sensitive column",
    }
    about = "How many fewer values two releases of IPUMS leave than the better one alone; with all "
    about += "rows, and with the people to whom all three columns apply."
    every = sort_by_entropy(rows, WAYS[ALL])
    return {
        "drop": draw_lines(
            rows,
            x="entropy",
            y="drop",
            by="k",
            panel="way",
            title=_title(every, min(every)),
            labels=labels,
            about=about,
        ),
        "columns": draw_lines(
            rows,
            x="k",
            y="drop",
            by="column",
            panel="way",
            labels=labels,
            about=about,
            title=_title(every, max(every)),
        ),
    }


def _title(drops_by_k: dict[int, Drops], k: int) -> str:
    parts = ", ".join(
        f"{entropy.said} ({entropy.mean:.2f} bits) by {drop.mean:.1f}"
        for entropy, drop in drops_by_k[k]
    )
    return f"At k = {k}, all rows, the values left drop for {parts}"


EXPERIMENT = Experiment(
    shows="Figure 7: the drop in possible values against the entropy of the sensitive column",
    measure=measure,
    claims=claims,
    charts=charts,
    data=("ipums-1970",),
    settings=SETTINGS,
    seeds=3,
    notes=(
        "Entropies are in bits over the rows that are kept; 'not applicable' is a value where all "
        "rows are kept. The others are the people to whom occupation, industry and income all "
        "apply, the same for each column.",
        "Three columns are too few to tell what entropy does from what the number of different "
        "values does, or how the values go with the quasi-identifiers.",
        SUBSETS,
        BEYOND,
    ),
)
