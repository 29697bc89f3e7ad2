"""Figure 3: two releases of one table, each k-anonymous, whose rows stand in the same order.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, figure 3 and section 4.1
(unsorted matching). The first release hides the race, the second the last digit of the ZIP code.
Side by side they are the private table. The defence is a random order: the second release is put
in so many orders as there are seeds, and attacked again.

Not as in the paper: it calls both releases 2-anonymous, and the first is 3-anonymous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import (
    AGREES,
    CORRECTED,
    DIFFERS,
    Claim,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.bars import draw_bars
from shoal.studies.pages.grid import draw_grid
from shoal.studies.sweeney.printed_tables import (
    FIGURE_3,
    audit_table,
    count_alike,
    judge_count,
    match_unsorted,
    read_printed_rows,
)

TABLES = {"PT": "fig3_pt", "GT1": "fig3_gt1", "GT2": "fig3_gt2"}
GENERAL = frozenset({"Person", "02130", "02140"})
"""The labels that say less."""


def _measure(lab: Lab) -> Sequence[Row]:
    mixed = [{"order": "random", "seed": seed} for seed in lab.seeds]
    attacks = [
        *lab.measure_cells(match_unsorted, [{"order": "printed"}]),
        *lab.measure_cells(match_unsorted, mixed),
    ]
    tables = lab.measure_cells(audit_table, [{"table": table} for table in TABLES.values()])
    return [*tables, *attacks, *_join_releases(attacks[0])]


def _join_releases(attack: Mapping[str, object]) -> list[Row]:
    """The three tables row by row, and what is left of GT1 and GT2 side by side."""
    unique_rows, rows = attack["alone_in"], []
    assert isinstance(unique_rows, list)
    for i, lines in enumerate(zip(*map(read_printed_rows, TABLES.values()), strict=True), 1):
        private, *releases = lines
        finer = {name: _choose_finer([row[name] for row in releases]) for name in FIGURE_3}
        labels = {
            f"{table} {name}": row[name]
            for table, row in zip(TABLES, lines, strict=True)
            for name in FIGURE_3
        }
        rows.append(
            {
                "part": "row",
                "row": i,
                **labels,
                "side by side": " ".join(finer.values()),
                "as_private": int(finer == private),
                "alone": i in unique_rows,
            }
        )
    total = {"part": "beside", "as_private": sum(row["as_private"] for row in rows)}
    return [total, *rows]


def _choose_finer(labels: Sequence[str]) -> str:
    """The label that says more; one of the two releases always has the value itself."""
    return next((label for label in labels if label not in GENERAL), labels[0])


def _claims(rows: Rows) -> Sequence[Claim]:
    k1, k2 = (
        compute_mean(rows, "k", said=f"k of {name}", part="table", table=TABLES[name])
        for name in ("GT1", "GT2")
    )
    verdicts = [
        judge_count(k.mean, 2, min(count_alike(TABLES[name])))
        for k, name in ((k1, "GT1"), (k2, "GT2"))
    ]
    both = next((kind for kind in (DIFFERS, CORRECTED) if kind in verdicts), AGREES)
    same = compute_mean(
        rows,
        "exposed",
        said="rows alone, same order",
        unit=" of 12",
        part="attack",
        order="printed",
    )
    right = compute_mean(rows, "as_private", said="as in PT", unit=" of 12", part="beside")
    mixed = compute_mean(
        rows, "exposed", said="rows alone, random order", part="attack", order="random"
    )
    recovered, nothing = same.mean == 12 and right.mean == 12, mixed.most == 0
    plain = [min(count_alike(TABLES[name])) for name in ("GT1", "GT2")]
    why = f"Counted in the printed tables, k is {plain[0]} for GT1 and {plain[1]} for GT2."
    return [
        Claim(
            "Both releases of figure 3, GT1 and GT2, have k = 2.",
            "k = 2 for both",
            (k1, k2),
            both,
            "" if both == AGREES else why,
        ),
        Claim(
            "Matched by their place, the 12 rows of GT1 and GT2 are the 12 rows of the private "
            "table of figure 3, each alone.",
            "",
            (same, right),
            AGREES if recovered else DIFFERS,
            "" if recovered else f"{same} are alone, and {right} as in the private table.",
        ),
        Claim(
            "With the rows of GT2 in random order, matching by place leaves 0 of 12 alone.",
            "",
            (mixed,),
            AGREES if nothing else DIFFERS,
            "" if nothing else f"In one of the orders {mixed.most:.0f} are alone.",
        ),
    ]


def _charts(rows: Rows) -> Mapping[str, Spec]:
    people, attacks = select_rows(rows, part="row"), select_rows(rows, part="attack")
    bar = [
        {"which": f"{name} alone", "alone": row["unique"]}
        for name, table in TABLES.items()
        if name != "PT"
        for row in select_rows(rows, part="table", table=table)
    ]
    captions = {"printed": "both, same order", "random": "both, random order"}
    bar += [{"which": captions[row["order"]], "alone": row["exposed"]} for row in attacks]
    same = compute_mean(rows, "exposed", part="attack", order="printed").mean
    mixed = compute_mean(rows, "exposed", part="attack", order="random").mean
    columns = {f"{table} {name}": f"{table}: {name}" for table in TABLES for name in FIGURE_3}
    return {
        "tables": draw_grid(
            people,
            columns={**columns, "side by side": "GT1 and GT2"},
            marked="alone",
            title=f"Side by side, {same:.0f} of {len(people)} rows are alone",
            about="PT is private; GT1 and GT2 are released, in the same order. Rows set off are "
            "alone with what both say, and were alone in neither.",
        ),
        "alone": draw_bars(
            bar,
            x="which",
            y="alone",
            by="",
            title=f"In the same order {same:.0f} rows are alone, in a random order {mixed:.0f}",
            about="Rows that nobody else is like, in each release and in both together.",
            labels={"which": "What is known", "alone": "Rows that are alone"},
        ),
    }


EXPERIMENT = Experiment(
    "Figure 3: two releases whose rows stand in the same order",
    _measure,
    _claims,
    _charts,
    seeds=20,
    notes=(
        "Whether the rows stand in one order is a permutation test with 999 draws; the paper "
        "matches by place without asking.",
        "Shoal draws the order of every release anew from the operating system; here it is drawn "
        "by seeds, so that the study can be repeated.",
    ),
)
