"""Figure 4: a private table and two releases of it, each 2-anonymous over four columns.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, figure 4 and section 4.2.
GT1 is released, then GT3. Beside it the first of the two defences that the paper names: what GT1
has released, the problem too, counts as a quasi-identifier when GT3 is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import AGREES, DIFFERS, Claim, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.bars import draw_bars
from shoal.studies.pages.grid import draw_grid
from shoal.studies.sweeney.printed_tables import (
    FIGURE_4,
    audit_table,
    count_alike,
    judge_after,
    read_printed_rows,
)

TABLES = {"PT": "fig4_pt", "GT1": "fig4_gt1", "GT3": "fig4_gt3"}
FIRST, THEN = TABLES["GT1"], TABLES["GT3"]


def _measure(lab: Lab) -> Sequence[Row]:
    tables = lab.measure_cells(audit_table, [{"table": table} for table in TABLES.values()])
    cells = [{"first": "", "second": THEN}, {"first": FIRST, "second": THEN}]
    return [*tables, *lab.measure_cells(judge_after, cells), *_list_rows()]


def _list_rows() -> list[Row]:
    return [
        {"part": "row", "of": name, "row": i, **row, "alike": alike, "alone": alike == 1}
        for name, table in TABLES.items()
        for i, (row, alike) in enumerate(
            zip(read_printed_rows(table), count_alike(table), strict=True), 1
        )
    ]


def _claims(rows: Rows) -> Sequence[Claim]:
    k1, k3 = (
        compute_mean(rows, "k", said=f"k of {name}", part="table", table=TABLES[name])
        for name in ("GT1", "GT3")
    )
    both = k1.mean == k3.mean == 2
    after = compute_mean(
        rows, "k", said="k of GT3 with the problem", part="defence", first=FIRST, second=THEN
    )
    refused = after.mean < 2
    return [
        Claim(
            "Both releases of figure 4, GT1 and GT3, are 2-anonymous by themselves.",
            "k = 2 for both",
            (k1, k3),
            AGREES if both else DIFFERS,
            "" if both else f"An audit finds k = {k1} and k = {k3}.",
        ),
        Claim(
            "Judged over all that GT1 has released, the problem too, GT3 has a k below 2 and would "
            "not be released.",
            "",
            (after,),
            AGREES if refused else DIFFERS,
            "" if refused else f"With the problem GT3 still has k = {after}.",
        ),
    ]


def _charts(rows: Rows) -> Mapping[str, Spec]:
    charts = {name.lower(): _table_chart(rows, name) for name in TABLES}
    captions = {"": "GT3 by itself", FIRST: "GT3 after GT1"}
    bar = [
        {"how": captions[row["first"]], "k": row["k"]} for row in select_rows(rows, part="defence")
    ]
    by_itself, after = (row["k"] for row in bar)
    charts["judged"] = draw_bars(
        bar,
        x="how",
        y="k",
        by="",
        title=f"GT3 is {by_itself}-anonymous by itself, and {after}-anonymous after GT1",
        about="k over the four columns, and over these and the problem, which GT1 has released.",
        labels={"how": "How it is judged", "k": "k that is reached"},
    )
    return charts


def _table_chart(rows: Rows, name: str) -> Spec:
    lines = select_rows(rows, part="row", of=name)
    k, unique = min(row["alike"] for row in lines), sum(row["alone"] for row in lines)
    return draw_grid(
        lines,
        columns={**{name: name for name in (*FIGURE_4, "Problem")}, "alike": "Rows alike"},
        marked="alone",
        title=f"{name}: k = {k}, and {unique} of {len(lines)} rows are alone",
        about="Rows set off are like no other row in race, birth date, gender and ZIP code.",
    )


EXPERIMENT = Experiment(
    "Figure 4: a private table and two releases of it, each 2-anonymous",
    _measure,
    _claims,
    _charts,
    notes=(
        "The tables are the paper's; what linking the two releases gives is figure 5.",
        "`shoal verify --after` judges a table over its quasi-identifiers and everything that an "
        "earlier release has.",
    ),
)
