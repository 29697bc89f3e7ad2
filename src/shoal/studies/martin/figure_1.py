"""Figure 1: ten patients with their names, before anything is published.

Martin, Kifer, Machanavajjhala, Gehrke and Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, figure 1. The table is the printed one. Measured is
what leaving out the names would hide: nothing, since everybody is alone in ZIP code, age and sex.
That is found beside the paper, which prints the table and draws no number from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

import shoal
from shoal import Schema
from shoal.studies.claims import FOUND, Claim, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.martin.ten_people import read_patients
from shoal.studies.pages.grid import draw_grid

KNOWN = ("Zip", "Age", "Sex")


def _measure(lab: Lab) -> Sequence[Row]:
    rows = read_patients("fig1")
    sizes = Counter(tuple(row[name] for name in KNOWN) for row in rows)
    class_sizes = [sizes[tuple(row[name] for name in KNOWN)] for row in rows]
    return [
        *lab.measure_cells(measure_uniques, [{}]),
        *(
            {"part": "row", **row, "alone": n == 1}
            for row, n in zip(rows, class_sizes, strict=True)
        ),
    ]


def measure_uniques() -> Row:
    """How many of the ten are alone in what others may know of them."""
    schema = Schema.of(quasi=KNOWN, sensitive="Disease", identifier="Name")
    report = shoal.audit(pa.Table.from_pylist(read_patients("fig1")), schema)
    return {
        "part": "table",
        "rows": report.rows,
        "unique": report.risk.uniques,
        "k": int(report.reached("k-anonymity")),
    }


def _claims(rows: Rows) -> Sequence[Claim]:
    people = len(select_rows(rows, part="row"))
    unique = compute_mean(
        rows, "unique", said="alone in ZIP code, age and sex", unit=f" of {people}", part="table"
    )
    return [
        Claim(
            f"Without their names {unique} patients of figure 1 are still alone in ZIP code, age "
            "and sex.",
            "",
            (unique,),
            FOUND,
        )
    ]


def _charts(rows: Rows) -> Mapping[str, Spec]:
    lines = select_rows(rows, part="row")
    count = sum(row["alone"] for row in lines)
    return {
        "table": draw_grid(
            lines,
            columns=("Name", *KNOWN, "Disease"),
            marked="alone",
            title=f"{count} of {len(lines)} patients are alone in ZIP code, age and sex",
            about="The table before anything is published; rows set off are like no other.",
        )
    }


EXPERIMENT = Experiment(
    "Figure 1: ten patients with their names",
    _measure,
    _claims,
    _charts,
    notes=("The table is the paper's.",),
)
