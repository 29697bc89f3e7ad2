"""The tables that Sweeney prints, the hierarchies that read their labels, and what is measured.

Every table is bundled with Shoal. ``later`` tables are those of her example 7: two people come to
the table of figure 4, and it is released again, made anew or with the first release as its base.
"""

from __future__ import annotations

import csv
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from shoal import Schema
from shoal.data import bundled
from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, Row

FIGURE_2 = ("Race", "Birth", "Gender", "ZIP")
FIGURE_3 = ("Race", "ZIP")
FIGURE_4 = ("Race", "BirthDate", "Gender", "ZIP")
CAME = (("black", "1965", "male", "02139", "headache"), ("black", "1965", "male", "02139", "rash"))
"""Who comes to the table of figure 4 in example 7, as released."""
SECOND = {
    "GT3": ("fig4_gt3", False),
    "GT1 again": ("fig4_gt1", False),
    "GT3 and two more": ("fig4_gt3", True),
    "GT1 and two more": ("fig4_gt1", True),
}
"""What may follow GT1: which of the tables, and whether the two who came are in it."""


def read_printed_rows(table: str) -> list[dict[str, str]]:
    """The rows of a bundled table, with their labels as printed."""
    with bundled.path(f"sweeney_{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def list_quasi(table: str) -> tuple[str, ...]:
    """The quasi-identifiers of a table."""
    return {"fig2": FIGURE_2, "fig3": FIGURE_3}.get(table.partition("_")[0], FIGURE_4)


def count_alike(table: str) -> list[int]:
    """For each row, by a plain count, how many rows have its quasi-identifiers."""
    keys = [tuple(row[name] for name in list_quasi(table)) for row in read_printed_rows(table)]
    sizes = Counter(keys)
    return [sizes[key] for key in keys]


def audit_table(table: str) -> Row:
    """An audit of a table as it stands: its k, its classes, and who is alone."""
    rows, quasi = read_printed_rows(table), list_quasi(table)
    sensitive = [name for name in rows[0] if name == "Problem"]
    others = [name for name in rows[0] if name not in (*quasi, *sensitive)]
    schema = Schema.of(quasi=quasi, sensitive=sensitive, identifier=others)
    report = shoal.audit(_to_arrow(rows), schema)
    return {
        "part": "table",
        "rows": report.rows,
        "classes": report.classes,
        "k": int(report.reached("k-anonymity")),
        "unique": report.risk.uniques,
    }


def match_unsorted(order: str, seed: int = 0) -> Row:
    """Unsorted matching of figure 3's two releases, the second as printed or in a random order."""
    first, second = read_printed_rows("fig3_gt1"), read_printed_rows("fig3_gt2")
    if order == "random":
        second = [second[i] for i in np.random.default_rng(seed).permutation(len(second))]
    finding = shoal.attack(
        "order", [_to_arrow(first), _to_arrow(second)], schema=_figure_3_schema()
    )
    return {
        "part": "attack",
        "exposed": finding.exposed,
        "comparable": finding.details["comparable"],
        "p_value": finding.details["p_value"],
        "alone_in": list(finding.worst[: finding.exposed]),
    }


def link_releases(attack: str, second: str) -> Row:
    """Figure 4's first release, linked with what follows it by what both say."""
    first, table, grown = read_printed_rows("fig4_gt1"), *SECOND[second]
    then = read_printed_rows(table)
    then += [dict(zip(then[0], values, strict=True)) for values in CAME] if grown else []
    finding = shoal.attack(attack, [_to_arrow(first), _to_arrow(then)], schema=_figure_4_schema())
    return {
        "part": "attack",
        "exposed": finding.exposed,
        "resolved": finding.details["resolved"],
        "k_after": finding.details["k_after"],
        "alone_in": list(finding.worst[: finding.exposed]),
    }


def judge_after(first: str, second: str) -> Row:
    """The second table by 2-anonymity, alone, or over all that the first has released too."""
    schema = Schema.of(quasi=FIGURE_4, sensitive="Problem")
    after = [_to_arrow(read_printed_rows(first))] if first else []
    verification = shoal.verify(
        _to_arrow(read_printed_rows(second)), schema, "k-anonymity k=2", after=after
    )
    return {
        "part": "defence",
        "holds": verification.holds,
        "k": int(verification.judgements[0].reached),
    }


def judge_count(ours: float, printed: float, plainly: float) -> str:
    """Ours beside what is printed; a plain count of the printed table settles a difference."""
    if ours == printed:
        return AGREES
    return CORRECTED if ours == plainly else DIFFERS


def _to_arrow(rows: list[dict[str, str]]) -> pa.Table:
    return pa.Table.from_pylist(rows)


def _figure_3_schema() -> Schema:
    """The last 0 of a ZIP code stands for any digit, which only the hierarchy can say."""
    races = shoal.tree([(race, "Person") for race in ("Asian", "Black", "White")])
    zips = [(code, f"{code[:4]}0", "*") for code in ("02138", "02139", "02141", "02142")]
    columns: dict[str, Any] = {
        "Race": shoal.quasi(races),
        "ZIP": shoal.quasi(shoal.tree(zips), kind="code"),
    }
    return Schema.of().set(columns)


def _figure_4_schema() -> Schema:
    columns: dict[str, Any] = {
        "Race": shoal.quasi(shoal.tree([("black", "person"), ("white", "person")])),
        "BirthDate": shoal.quasi(shoal.ordered(), kind="number"),
        "Gender": shoal.quasi(shoal.tree([("male", "human"), ("female", "human")])),
        "ZIP": shoal.quasi(shoal.prefixes()),
    }
    return Schema.of(sensitive="Problem").set(columns)
