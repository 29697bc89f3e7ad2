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

from shoal.studies.claims import AGREES, DIFFERS, FOUND, PARTLY, Claim, Number, Row, Rows, number
from shoal.studies.entropy import bits
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import ALL, APPLICABLE, KEPT, SUBSETS, WORDS, pair
from shoal.studies.ganta.steps import BEYOND, step
from shoal.studies.laboratory import Lab
from shoal.studies.pages.charts import lines
from shoal.studies.tables import Sample

SETTINGS = {"k": (5, 10, 20)}
WAYS = {ALL: "all rows", APPLICABLE: "people to whom all three apply"}
Drops = list[tuple[Number, Number]]
"""Entropy and drop of every column, the least entropy first."""


def dropped(sample: Sample, *, k: int, sensitive: str, rows_kept: str, seed: int) -> Row:
    """One pair of releases with this sensitive column, and the column's entropy."""
    people = sample if rows_kept == ALL else with_all(sample)
    row = pair(people, k=k, sensitive=sensitive, seed=seed)
    names = ("drop", "prior", "posterior", "pvp_100", "own_class_size", "class_size", "people")
    counts = people.table[sensitive].value_counts().field("counts")
    found = {"entropy": bits(counts), "values": len(counts), "rows": people.rows}
    return {**found, **{name: row[name] for name in names}}


def with_all(sample: Sample) -> Sample:
    """The people to whom every sensitive column applies."""
    table = sample.table
    for column, none in sample.empty.items():
        table = table.filter(pc.not_equal(table[column], none))
    return replace(sample, table=table)


def measure(lab: Lab) -> list[Row]:
    """Every sensitive column at every k, both ways."""
    asked = [
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
        for row in lab.measured(dropped, asked)
    ]


def claims(rows: Rows) -> list[Claim]:
    """That the drop grows with the entropy, judged on all rows; and what it does on the others."""
    every, apply = (by_entropy(rows, way) for way in WAYS.values())
    return [_grows(every), _found(apply, rows)]


def _grows(found: dict[int, Drops]) -> Claim:
    went = compared(found)
    ups = sum(way > 0 for _, _, way in went)
    verdict = AGREES if ups == len(went) else PARTLY if ups else DIFFERS
    against = [one for a, b, way in went if way <= 0 for one in (a, b)]
    why = f"{_counted(went)} The reason was not found."
    return Claim(
        "On IPUMS with all rows the mean drop in possible values grows with the entropy of the "
        "sensitive column: occupation (4.30 bits), industry (4.35), income (5.56).",
        "drop grows with entropy",
        _first(found),
        verdict,
        "" if verdict == AGREES else why,
        tuple(against),
    )


def _found(found: dict[int, Drops], rows: Rows) -> Claim:
    one = {key: rows[0][key] for key in ("k", "column")}  # the same people for every one of them
    people = number(rows, "rows", said="people", way=WAYS[APPLICABLE], **one)
    told = _counted(compared(found))
    return Claim(
        f"Among the {people.mean:,.0f} people of IPUMS to whom all three columns apply, "
        f"{told[0].lower()}{told[1:]}",
        "",
        _first(found),
        FOUND,
        "",
        (people,),
    )


def compared(found: dict[int, Drops]) -> list[tuple[Number, Number, int]]:
    """Every two columns at one k, the one with less entropy first, and whether the drop grows."""
    return [
        (a, b, step(a, b)) for drops in found.values() for (_, a), (_, b) in combinations(drops, 2)
    ]


def _counted(went: Sequence[tuple[Number, Number, int]]) -> str:
    up, down = (sum(way == one for _, _, way in went) for one in (1, -1))
    against = "; ".join(f"{a.said} {a}, {b.said} {b}" for a, b, way in went if way < 0)
    return (
        f"The column with more entropy has the larger drop in {up} of {len(went)} comparisons of "
        f"two columns at one k, the smaller in {down}{f' ({against})' if against else ''}, and "
        f"in {len(went) - up - down} neither beyond the spread of the runs, our bound."
    )


def _first(found: dict[int, Drops]) -> tuple[Number, ...]:
    """The drops at the least k."""
    return tuple(drop for _, drop in found[min(found)])


def by_entropy(rows: Rows, way: str) -> dict[int, Drops]:
    """For every k the columns, the least entropy first."""
    found = {}
    for k in dict.fromkeys(row["k"] for row in rows):
        each = []
        for column in dict.fromkeys(row["column"] for row in rows):
            where = {"way": way, "column": column, "k": k}
            entropy = number(rows, "entropy", said=column, unit=" bits", **where)
            said = f"{column} ({entropy.mean:.2f} bits), k = {k}"
            each.append((entropy, number(rows, "drop", said=said, unit=" values", **where)))
        found[k] = sorted(each, key=lambda one: one[0].mean)
    return found


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
    every = by_entropy(rows, WAYS[ALL])
    return {
        "drop": lines(
            rows,
            x="entropy",
            y="drop",
            by="k",
            panel="way",
            title=_title(every, min(every)),
            labels=labels,
            about=about,
        ),
        "columns": lines(
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


def _title(found: dict[int, Drops], k: int) -> str:
    told = ", ".join(
        f"{entropy.said} ({entropy.mean:.2f} bits) by {drop.mean:.1f}" for entropy, drop in found[k]
    )
    return f"At k = {k}, all rows, the values left drop for {told}"


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
