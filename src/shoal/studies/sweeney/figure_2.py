"""Figure 2: a table of eleven patients that is 2-anonymous over race, birth, gender and ZIP code.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, figure 2. The table is
the printed one; nothing is drawn, and there is nothing to set. Beside the paper: which of the rows
are in classes that all have one problem, so that k-anonymity hides the row and not the problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import shoal
from shoal import Schema
from shoal.data import bundled
from shoal.studies.claims import AGREES, DIFFERS, FOUND, Claim, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.grid import draw_grid
from shoal.studies.sweeney.printed_tables import (
    FIGURE_2,
    audit_table,
    count_alike,
    read_printed_rows,
)

TABLE = "fig2"


def _measure(lab: Lab) -> Sequence[Row]:
    return [
        *lab.measure_cells(audit_table, [{"table": TABLE}]),
        *lab.measure_cells(measure_homogeneity, [{}]),
    ]


def measure_homogeneity() -> list[Row]:
    """The table's rows, and whether their class has one problem alone."""
    schema = Schema.of(quasi=FIGURE_2, sensitive="Problem", identifier="id")
    finding = shoal.attack("homogeneity", [bundled.path("sweeney_fig2.csv")], schema=schema)
    known = finding.worst[: finding.exposed]
    class_sizes = zip(read_printed_rows(TABLE), count_alike(TABLE), strict=True)
    rows = [
        {"part": "row", **row, "alike": alike, "problem_known": i in known}
        for i, (row, alike) in enumerate(class_sizes, 1)
    ]
    return [{"part": "attack", "attack": "homogeneity", "exposed": finding.exposed}, *rows]


def _claims(rows: Rows) -> Sequence[Claim]:
    k = compute_mean(rows, "k", said="k over the four columns", part="table")
    lines = select_rows(rows, part="row")
    least = min(row["alike"] for row in lines)
    known = compute_mean(
        rows, "exposed", said="problems known", unit=f" of {len(lines)}", part="attack"
    )
    return [
        Claim(
            "The table of figure 2 is 2-anonymous over race, birth, gender and ZIP code.",
            "k = 2",
            (k,),
            AGREES if k.mean == least == 2 else DIFFERS,
            "" if k.mean == least == 2 else f"An audit finds k = {k}, a plain count {least}.",
        ),
        Claim(
            f"In the table of figure 2, {known} rows are in a class that has one problem alone, "
            "which is known of whoever is in it.",
            "",
            (known,),
            FOUND,
        ),
    ]


def _charts(rows: Rows) -> Mapping[str, Spec]:
    people, k = select_rows(rows, part="row"), compute_mean(rows, "k", part="table").mean
    known = sum(row["problem_known"] for row in people)
    columns = {
        "id": "Row",
        **{name: name for name in (*FIGURE_2, "Problem")},
        "alike": "Rows alike",
    }
    return {
        "table": draw_grid(
            people,
            columns=columns,
            marked="problem_known",
            title=f"{k:.0f}-anonymous, and still {known} of {len(people)} problems are known",
            about="The rows set off are in a class whose rows all have the same problem: to find "
            "somebody's class is to know it.",
        )
    }


EXPERIMENT = Experiment(
    "Figure 2: a table that is 2-anonymous over race, birth, gender and ZIP code",
    _measure,
    _claims,
    _charts,
    notes=(
        "The table is the paper's. That a class may have one problem alone is not the paper's "
        "subject; it is drawn because k-anonymity does not protect from it.",
    ),
)
