"""Figure 5: two releases that also ask for varied values, and what they give away together.

Ganta et al. 2008, figure 5 (a–d): the percent of the people in common who are left with so few
values that one is named with confidence C, against C, where both releases are k-anonymous with
k = 10 and entropy l-diverse (l = 2 … 5) or t-close (t = 0.5 … 0.2), by Mondrian; Adult and IPUMS.
No number of it is known from the text, so that nothing is judged here: what came out is told.

Not as in the paper: the sizes of its subsets and its lists of l and t are not known, so the lists
are ours; IPUMS is drawn with all rows, as the paper has it, and again with the people who have an
occupation. Distances of t-closeness are equal: any two occupations are 1 apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, chosen, number
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import CONFIDENCES, SUBSETS, TWO_WAYS, both_ways, called, pair
from shoal.studies.ganta.steps import BEYOND, from_to, steps, told_tables
from shoal.studies.laboratory import Lab
from shoal.studies.pages.charts import lines

SETTINGS = {"k": 10, "l": (2, 3, 4, 5), "t": (0.5, 0.4, 0.3, 0.2)}
PLAIN, ENTROPY, CLOSE = "k alone", "entropy l-diversity", "t-closeness"
KINDS = {"": PLAIN, "entropy-diversity": ENTROPY, "t-closeness": CLOSE}
LISTS = "The paper's lists of l and t are not known: these are ours. Any two values are 1 apart."


def pairs_of(lab: Lab) -> list[Row]:
    """A row for every pair of releases: figure 6 has the same."""
    asked = [
        {"data": name, "k": lab.settings["k"], "rule": rule, "rows_kept": rows, "seed": seed}
        for name, sample in lab.samples.items()
        for rows in both_ways(sample)
        for rule in rules(lab.settings)
        for seed in lab.seeds
    ]
    return [
        {**row, "table": called(lab.samples[row["data"]], row["rows_kept"]), **named(row["rule"])}
        for row in lab.measured(pair, asked)
    ]


def rules(settings: Mapping[str, Any]) -> Iterator[str]:
    """What is asked beside k-anonymity: nothing, then every l, then every t."""
    yield ""
    yield from (f"entropy-diversity l={l}" for l in settings["l"])
    yield from (f"t-closeness t={t}" for t in settings["t"])


def named(rule: str) -> Row:
    """The kind of a rule, and the rule in short.

    >>> named("t-closeness t=0.4")
    {'kind': 't-closeness', 'asked': 't = 0.4'}
    """
    kind, _, strength = rule.partition(" ")
    return {"kind": KINDS[kind], "asked": strength.replace("=", " = ") or PLAIN}


def measure(lab: Lab) -> list[Row]:
    """Every pair at every confidence."""
    return [
        {
            **{
                key: row[key]
                for key in ("data", "rows_kept", "table", "kind", "asked", "k", "seed")
            },
            "confidence": int(column.removeprefix("pvp_")),
            "pvp": row[column],
        }
        for row in pairs_of(lab)
        for column in CONFIDENCES
    ]


def series(rows: Rows, of: str, unit: str, **more: Any) -> dict[tuple[str, str], list[Number]]:
    """For every table and kind of rule the number by k alone, then as the rule gets stricter."""
    found = {}
    for table in dict.fromkeys(row["table"] for row in rows):
        for kind in (ENTROPY, CLOSE):
            asked = dict.fromkeys(row["asked"] for row in chosen(rows, table=table, kind=kind))
            found[table, kind] = [
                number(rows, of, said=f"{table}, {one}", unit=unit, table=table, asked=one, **more)
                for one in (PLAIN, *asked)
            ]
    return found


def claims(rows: Rows) -> list[Claim]:
    """What the strictest rules leave on every table, and what a stricter rule does."""
    found = series(rows, "pvp", " %", confidence=25)
    k = rows[0]["k"]
    tables = dict.fromkeys(table for table, _ in found)
    return [*(_left(found, table, k) for table in tables), _stricter(list(found.values()))]


def _left(found: Mapping[tuple[str, str], Sequence[Number]], table: str, k: int) -> Claim:
    plain, diverse = found[table, ENTROPY][0], found[table, ENTROPY][-1]
    close = found[table, CLOSE][-1]
    return Claim(
        f"{table}: two releases with k = {k} leave {plain} of the people in both with four values "
        f"or fewer; with {diverse.where['asked']} as well {diverse}, with {close.where['asked']} "
        f"as well {close}.",
        "",
        (plain, diverse, close),
        FOUND,
    )


def _stricter(found: Sequence[Sequence[Number]]) -> Claim:
    went = [one for numbers in found for one in steps(numbers)]
    return Claim(
        f"{len(went)} steps to a stricter rule, and how many people are left with four values or "
        f"fewer: fewer in {went.count(-1)}, more in {went.count(1)}, the same within the spread of "
        f"the runs in {went.count(0)}.",
        "",
        tuple(one for numbers in found for one in numbers),
        FOUND,
    )


def charts(rows: Rows) -> dict[str, Spec]:
    """One chart for each kind of rule, a panel for each table."""
    return {name: _chart(rows, kind) for name, kind in (("entropy", ENTROPY), ("closeness", CLOSE))}


def _chart(rows: Rows, kind: str) -> Spec:
    found = series(rows, "pvp", " %", confidence=25)
    ends = {table: (one[0], one[-1]) for (table, of), one in found.items() if of == kind}
    strict = chosen(rows, kind=kind)[-1]["asked"]
    return lines(
        [row for row in rows if row["kind"] in (PLAIN, kind)],
        x="confidence",
        y="pvp",
        by="asked",
        panel="table",
        unit="%",
        log_x=True,
        title=f"From k alone to {strict}, with four values or fewer left: {from_to(ends, ' %')}",
        about="People in both releases of whom a value is named with at least this confidence, by "
        f"k and {kind}; bands from the least to the most run. {told_tables(rows)}",
        labels={
            "confidence": "confidence C, percent",
            "pvp": "people in both",
            "asked": "asked",
            "table": "table",
        },
    )


EXPERIMENT = Experiment(
    shows="Figure 5: people given away by two releases that are also l-diverse or t-close",
    measure=measure,
    claims=claims,
    charts=charts,
    data=("adult-train", "ipums-1970"),
    settings=SETTINGS,
    seeds=3,
    own=True,
    notes=(SUBSETS, TWO_WAYS, LISTS, BEYOND),
)
