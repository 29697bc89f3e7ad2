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

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import (
    CONFIDENCES,
    SUBSETS,
    TWO_WAYS,
    list_rows_kept,
    measure_pair,
    name_table,
)
from shoal.studies.ganta.steps import BEYOND, describe_ends, describe_tables, list_steps
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines

SETTINGS = {"k": 10, "l": (2, 3, 4, 5), "t": (0.5, 0.4, 0.3, 0.2)}
PLAIN, ENTROPY, CLOSE = "k alone", "entropy l-diversity", "t-closeness"
KINDS = {"": PLAIN, "entropy-diversity": ENTROPY, "t-closeness": CLOSE}
LISTS = "The paper's lists of l and t are not known: these are ours. Any two values are 1 apart."


def measure_rule_pairs(lab: Lab) -> list[Row]:
    """A row for every pair of releases: figure 6 has the same."""
    cells = [
        {"data": name, "k": lab.settings["k"], "rule": rule, "rows_kept": rows, "seed": seed}
        for name, sample in lab.samples.items()
        for rows in list_rows_kept(sample)
        for rule in list_rules(lab.settings)
        for seed in lab.seeds
    ]
    return [
        {
            **row,
            "table": name_table(lab.samples[row["data"]], row["rows_kept"]),
            **describe_rule(row["rule"]),
        }
        for row in lab.measure_cells(measure_pair, cells)
    ]


def list_rules(settings: Mapping[str, Any]) -> Iterator[str]:
    """What is asked beside k-anonymity: nothing, then every l, then every t."""
    yield ""
    yield from (f"entropy-diversity l={l}" for l in settings["l"])
    yield from (f"t-closeness t={t}" for t in settings["t"])


def describe_rule(rule: str) -> Row:
    """The kind of a rule, and the rule in short.

    >>> describe_rule("t-closeness t=0.4")
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
        for row in measure_rule_pairs(lab)
        for column in CONFIDENCES
    ]


def collect_rule_series(
    rows: Rows, of: str, unit: str, **more: Any
) -> dict[tuple[str, str], list[Number]]:
    """For every table and kind of rule the number by k alone, then as the rule gets stricter."""
    numbers = {}
    for table in dict.fromkeys(row["table"] for row in rows):
        for kind in (ENTROPY, CLOSE):
            asked = dict.fromkeys(row["asked"] for row in select_rows(rows, table=table, kind=kind))
            numbers[table, kind] = [
                compute_mean(
                    rows, of, said=f"{table}, {rule}", unit=unit, table=table, asked=rule, **more
                )
                for rule in (PLAIN, *asked)
            ]
    return numbers


def claims(rows: Rows) -> list[Claim]:
    """What the strictest rules leave on every table, and what a stricter rule does."""
    numbers_by_rule = collect_rule_series(rows, "pvp", " %", confidence=25)
    k = rows[0]["k"]
    tables = dict.fromkeys(table for table, _ in numbers_by_rule)
    return [
        *(_values_left_claim(numbers_by_rule, table, k) for table in tables),
        _stricter_rules_claim(list(numbers_by_rule.values())),
    ]


def _values_left_claim(
    numbers_by_rule: Mapping[tuple[str, str], Sequence[Number]], table: str, k: int
) -> Claim:
    plain, diverse = numbers_by_rule[table, ENTROPY][0], numbers_by_rule[table, ENTROPY][-1]
    close = numbers_by_rule[table, CLOSE][-1]
    return Claim(
        f"{table}: two releases with k = {k} leave {plain} of the people in both with four values "
        f"or fewer; with {diverse.where['asked']} as well {diverse}, with {close.where['asked']} "
        f"as well {close}.",
        "",
        (plain, diverse, close),
        FOUND,
    )


def _stricter_rules_claim(numbers_by_rule: Sequence[Sequence[Number]]) -> Claim:
    directions = [direction for numbers in numbers_by_rule for direction in list_steps(numbers)]
    return Claim(
        f"{len(directions)} steps to a stricter rule, and how many people are left with four "
        "values or "
        f"fewer: fewer in {directions.count(-1)}, more in {directions.count(1)}, the same within "
        "the spread of "
        f"the runs in {directions.count(0)}.",
        "",
        tuple(number for numbers in numbers_by_rule for number in numbers),
        FOUND,
    )


def charts(rows: Rows) -> dict[str, Spec]:
    """One chart for each kind of rule, a panel for each table."""
    return {
        name: _make_chart(rows, kind) for name, kind in (("entropy", ENTROPY), ("closeness", CLOSE))
    }


def _make_chart(rows: Rows, kind: str) -> Spec:
    numbers_by_rule = collect_rule_series(rows, "pvp", " %", confidence=25)
    ends = {
        table: (numbers[0], numbers[-1])
        for (table, of), numbers in numbers_by_rule.items()
        if of == kind
    }
    strict = select_rows(rows, kind=kind)[-1]["asked"]
    return draw_lines(
        [row for row in rows if row["kind"] in (PLAIN, kind)],
        x="confidence",
        y="pvp",
        by="asked",
        panel="table",
        unit="%",
        log_x=True,
        title=f"From k alone to {strict}, with four values or fewer left: "
        f"{describe_ends(ends, ' %')}",
        about="People in both releases of whom a value is named with at least this confidence, by "
        f"k and {kind}; bands from the least to the most run. {describe_tables(rows)}",
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
