"""Figure 4: values left by each release alone, and by both together.

Ganta et al. 2008, Figure 4 (a: Adult, b: IPUMS): the average prior effective anonymity in each of
the two subsets and the average posterior one, against k, under Mondrian, for the 5,000 people in
both. Its text gives no number: what is found here is no verdict on the paper.

Not as in the paper: the sizes of the subsets are ours, and IPUMS is studied also without the people
who have no occupation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, compute_mean
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import HEADED, SUBSETS, TWO_WAYS, measure_pairs
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines

LEFT = {
    "prior_first": "First release alone",
    "prior_second": "Second release alone",
    "posterior": "Both together",
}
LABELS = {"k": "k of both releases", "values": "Values left, mean", "by": "Seen", "table": "Table"}


def measure(lab: Lab) -> list[Row]:
    """Values left before and after."""
    same = ("table", "data", "rows_kept", "k", "seed", *LEFT, "drop")
    return [{name: pair[name] for name in same} for pair in measure_pairs(lab)]


def claims(rows: Rows) -> Sequence[Claim]:
    """What a second release takes away, table by table."""
    return [
        _values_left_claim(rows, table) for table in dict.fromkeys(row["table"] for row in rows)
    ]


def _values_left_claim(rows: Rows, table: str) -> Claim:
    """At the smallest and the largest k."""
    ends = dict.fromkeys((min(row["k"] for row in rows), max(row["k"] for row in rows)))
    ours, parts = list[Number](), list[str]()
    for k in ends:
        first, second, both = numbers = tuple(
            compute_mean(rows, of, said=f"k = {k}, {words.lower()}", table=table, k=k)
            for of, words in LEFT.items()
        )
        ours += numbers
        parts.append(f"{both} where one leaves {first} or {second} (k = {k})")
    return Claim(
        f"{table}: two releases by Mondrian leave the people in both, in values on average, "
        f"{'; '.join(parts)}.",
        "",
        tuple(ours),
        FOUND,
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """The three means against k."""
    long = [
        {"k": row["k"], "table": row["table"], "by": words, "values": row[name]}
        for row in rows
        for name, words in LEFT.items()
    ]
    return {
        "values": draw_lines(
            long,
            x="k",
            y="values",
            by="by",
            panel="table",
            labels=LABELS,
            title=_title(rows),
            about="Mean number of sensitive values that one release by Mondrian leaves the people "
            f"in both, and that both together leave them. {HEADED}",
        )
    }


def _title(rows: Rows) -> str:
    k = min(row["k"] for row in rows)
    parts = []
    for table in dict.fromkeys(row["table"] for row in rows):
        before, after = (
            compute_mean(rows, of, k=k, table=table).mean for of in ("prior_first", "posterior")
        )
        parts.append(f"{before:.1f} to {after:.1f} ({table})")
    return f"At k = {k} a second release brings the values left from {', '.join(parts)}"


EXPERIMENT = Experiment(
    shows="Figure 4: values left by each release alone and by both together, against k",
    measure=measure,
    claims=claims,
    charts=charts,
    data=("adult-train", "ipums-1970"),
    settings={"k": [5, 10, 20, 30, 40, 50]},
    seeds=5,
    own=True,
    notes=(SUBSETS, TWO_WAYS),
)
