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


def rows_of(table: str) -> list[dict[str, str]]:
    """The rows of a bundled table, with their labels as printed."""
    with bundled.path(f"sweeney_{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def quasi_of(table: str) -> tuple[str, ...]:
    """The quasi-identifiers of a table."""
    return {"fig2": FIGURE_2, "fig3": FIGURE_3}.get(table.partition("_")[0], FIGURE_4)


def counted(table: str) -> list[int]:
    """For each row, by a plain count, how many rows have its quasi-identifiers."""
    keys = [tuple(row[name] for name in quasi_of(table)) for row in rows_of(table)]
    sizes = Counter(keys)
    return [sizes[key] for key in keys]


def anonymity(table: str) -> Row:
    """An audit of a table as it stands: its k, its classes, and who is alone."""
    rows, quasi = rows_of(table), quasi_of(table)
    sensitive = [name for name in rows[0] if name == "Problem"]
    others = [name for name in rows[0] if name not in (*quasi, *sensitive)]
    schema = Schema.of(quasi=quasi, sensitive=sensitive, identifier=others)
    found = shoal.audit(_table(rows), schema)
    return {
        "part": "table",
        "rows": found.rows,
        "classes": found.classes,
        "k": int(found.reached("k-anonymity")),
        "unique": found.risk.uniques,
    }


def side_by_side(order: str, seed: int = 0) -> Row:
    """Unsorted matching of figure 3's two releases, the second as printed or in a random order."""
    first, second = rows_of("fig3_gt1"), rows_of("fig3_gt2")
    if order == "random":
        second = [second[i] for i in np.random.default_rng(seed).permutation(len(second))]
    found = shoal.attack("order", [_table(first), _table(second)], schema=_figure_3())
    return {
        "part": "attack",
        "exposed": found.exposed,
        "comparable": found.details["comparable"],
        "p_value": found.details["p_value"],
        "alone_in": list(found.worst[: found.exposed]),
    }


def linked(attack: str, second: str) -> Row:
    """Figure 4's first release, linked with what follows it by what both say."""
    first, table, grown = rows_of("fig4_gt1"), *SECOND[second]
    then = rows_of(table)
    then += [dict(zip(then[0], one, strict=True)) for one in CAME] if grown else []
    found = shoal.attack(attack, [_table(first), _table(then)], schema=_figure_4())
    return {
        "part": "attack",
        "exposed": found.exposed,
        "resolved": found.details["resolved"],
        "k_after": found.details["k_after"],
        "alone_in": list(found.worst[: found.exposed]),
    }


def judged(first: str, second: str) -> Row:
    """The second table by 2-anonymity, alone, or over all that the first has released too."""
    schema = Schema.of(quasi=FIGURE_4, sensitive="Problem")
    after = [_table(rows_of(first))] if first else []
    found = shoal.verify(_table(rows_of(second)), schema, "k-anonymity k=2", after=after)
    return {"part": "defence", "holds": found.holds, "k": int(found.judgements[0].reached)}


def verdict(found: float, printed: float, plainly: float) -> str:
    """Ours beside what is printed; a plain count of the printed table settles a difference."""
    if found == printed:
        return AGREES
    return CORRECTED if found == plainly else DIFFERS


def _table(rows: list[dict[str, str]]) -> pa.Table:
    return pa.Table.from_pylist(rows)


def _figure_3() -> Schema:
    """The last 0 of a ZIP code stands for any digit, which only the hierarchy can say."""
    races = shoal.tree([(race, "Person") for race in ("Asian", "Black", "White")])
    zips = [(code, f"{code[:4]}0", "*") for code in ("02138", "02139", "02141", "02142")]
    columns: dict[str, Any] = {
        "Race": shoal.quasi(races),
        "ZIP": shoal.quasi(shoal.tree(zips), kind="code"),
    }
    return Schema.of().set(columns)


def _figure_4() -> Schema:
    columns: dict[str, Any] = {
        "Race": shoal.quasi(shoal.tree([("black", "person"), ("white", "person")])),
        "BirthDate": shoal.quasi(shoal.ordered(), kind="number"),
        "Gender": shoal.quasi(shoal.tree([("male", "human"), ("female", "human")])),
        "ZIP": shoal.quasi(shoal.prefixes()),
    }
    return Schema.of(sensitive="Problem").set(columns)
