"""Figure 5: the two releases of figure 4 linked by the problem, which both publish as it is.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, figure 5 and section 4.2
(complementary release). Every row of GT1 finds its row of GT3, and two rows of the linked table
are alone. Beside it the defence that the paper prefers: the second release is based on the first,
which here is the first again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import AGREES, DIFFERS, FOUND, Claim, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.bars import draw_bars
from shoal.studies.pages.grid import draw_grid
from shoal.studies.sweeney.printed_tables import (
    FIGURE_4,
    audit_table,
    count_alike,
    link_releases,
    read_printed_rows,
)

LINKED = "fig5_lt"
ANEW, BASED = "GT3", "GT1 again"
ATTACK = "complementary"


def _measure(lab: Lab) -> Sequence[Row]:
    names = ("fig4_gt1", "fig4_gt3", LINKED)
    tables = lab.measure_cells(audit_table, [{"table": name} for name in names])
    cells = [{"attack": ATTACK, "second": second} for second in (ANEW, BASED)]
    attacks = lab.measure_cells(link_releases, cells)
    unique_rows = attacks[0]["alone_in"]
    lines = [
        {"part": "row", "row": i, **row, "alike": alike, "alone": i in unique_rows}
        for i, (row, alike) in enumerate(
            zip(read_printed_rows(LINKED), count_alike(LINKED), strict=True), 1
        )
    ]
    return [*tables, *attacks, *lines]


def _claims(rows: Rows) -> Sequence[Claim]:
    attacked = {"part": "attack", "attack": ATTACK, "second": ANEW}
    resolved = compute_mean(
        rows, "resolved", said="rows that find their row", unit=" of 12", **attacked
    )
    unique = compute_mean(rows, "exposed", said="rows alone, by the attack", **attacked)
    printed = compute_mean(
        rows, "unique", said="rows alone in the printed table", part="table", table=LINKED
    )
    all_resolved = resolved.mean == 12
    two = unique.mean == printed.mean == 2 and all(
        row["alone"] == (row["alike"] == 1) for row in select_rows(rows, part="row")
    )
    based = compute_mean(
        rows, "exposed", said="rows alone", part="attack", attack=ATTACK, second=BASED
    )
    return [
        Claim(
            "Linked by the problem, all 12 rows of GT1 find their row of GT3.",
            "12 rows",
            (resolved,),
            AGREES if all_resolved else DIFFERS,
            ""
            if all_resolved
            else f"By the attack {resolved} have one row alone that can be theirs.",
        ),
        Claim(
            "Two rows of GT1 and GT3 linked are alone, so that they are not 2-anonymous.",
            "2 rows",
            (unique, printed),
            AGREES if two else DIFFERS,
            ""
            if two
            else f"{unique} are alone by the attack, {printed} in the printed table, or "
            "these are other rows.",
        ),
        Claim(
            f"Where GT1 is released again, {based} rows are alone after linking; it could not be "
            "otherwise.",
            "",
            (based,),
            FOUND,
        ),
    ]


def _charts(rows: Rows) -> Mapping[str, Spec]:
    lines = select_rows(rows, part="row")
    bar = [
        {"which": f"{name} alone", "alone": row["unique"]}
        for name, table in (("GT1", "fig4_gt1"), ("GT3", "fig4_gt3"))
        for row in select_rows(rows, part="table", table=table)
    ]
    captions = {ANEW: "GT1 and GT3", BASED: "GT1, and one based on it"}
    bar += [
        {"which": captions[row["second"]], "alone": row["exposed"]}
        for row in select_rows(rows, part="attack")
    ]
    unique = sum(row["alone"] for row in lines)
    return {
        "linked": draw_grid(
            lines,
            columns={**{name: name for name in (*FIGURE_4, "Problem")}, "alike": "Rows alike"},
            marked="alone",
            title=f"Linked, {unique} of {len(lines)} rows are alone",
            about="What GT1 and GT3 say together. Rows set off are alone, and were so in neither.",
        ),
        "alone": draw_bars(
            bar,
            x="which",
            y="alone",
            by="",
            title=f"{bar[2]['alone']} rows are alone after linking, {bar[3]['alone']} where the "
            "second release is based on the first",
            about="Rows that nobody else is like, in each release and in two of them linked.",
            labels={"which": "What is known", "alone": "Rows that are alone"},
        ),
    }


EXPERIMENT = Experiment(
    "Figure 5: the two releases of figure 4, linked",
    _measure,
    _claims,
    _charts,
    notes=(
        "The attack does not know which row is whose: a row counts as found where every way to "
        "pair the rows of both releases gives it the same cells.",
    ),
)
