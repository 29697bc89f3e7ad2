"""Table I: twelve patients of four providers, published together twice; who can break what.

T*a and T*b are printed in Goryczka et al. 2014 (Table I; bundled as ``mprivacy_table1_*.csv``).
The paper asks k-anonymity and distinct l-diversity of them, k = 3 and l = 2, offers T*a as the
table that one provider breaks with its own rows, and T*b as the one that none does.

Every class is asked by itself which coalition of at most m of its providers leaves the fewest rows
to the others, for k = 3 and k = 2.

Not as in the paper: cells that are garbled in print are read as the rest of the table demands
(Mark's age, the ZIP codes' first digits).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import shoal
from shoal.data import bundled
from shoal.studies.claims import (
    AGREES,
    CORRECTED,
    DIFFERS,
    Claim,
    Number,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.m_privacy.defaults import write_rule
from shoal.studies.pages.grid import draw_grid

FILES = {"T*a": "mprivacy_table1_ta.csv", "T*b": "mprivacy_table1_tb.csv"}
SCHEMA = shoal.Schema.of(
    quasi=["Age", "Zip"], sensitive="Disease", provider="Provider", identifier=["Name"]
)
WHOLE = "all classes"
SETTINGS: dict[str, Any] = {"tables": tuple(FILES), "k": (3, 2), "l": 2, "m": (0, 1, 2)}


def measure(lab: Lab) -> list[Row]:
    """Both tables under both rules against nobody, one provider and two."""
    settings = lab.settings
    return lab.measure_cells(
        judge_printed_table,
        [
            {"table": table, "k": k, "l": settings["l"], "m": m}
            for table in settings["tables"]
            for k in settings["k"]
            for m in settings["m"]
        ],
    )


def judge_printed_table(table: str, k: int, l: int, m: int) -> list[Row]:
    """Of each class what the strongest coalition leaves; of the table whether it holds."""
    printed = read_printed_table(table)
    verified = shoal.m_privacy(printed, SCHEMA, write_rule(k, l), m)
    parts = zip(_split_classes(printed), verified.each, strict=True)
    classes = [_judge_class(part, survives, k, l, m) for part, survives in parts]
    broken = sum(class_row["broken"] for class_row in classes)
    return [{"class": WHOLE, "holds": verified.holds, "classes_broken": broken}, *classes]


def read_printed_table(table: str) -> pa.Table:
    """A printed table, every cell as text."""
    names = ("Provider", "Name", "Age", "Zip", "Disease")
    return pyarrow.csv.read_csv(
        bundled.path(FILES[table]),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )


def _split_classes(table: pa.Table) -> list[pa.Table]:
    labels = pc.binary_join_element_wise(table["Age"], table["Zip"], " ")
    return [table.filter(pc.equal(labels, label)) for label in pc.unique(labels)]


def _judge_class(part: pa.Table, survives: int, k: int, l: int, m: int) -> Row:
    """One class, which survives coalitions of so many; where that is too few, by itself."""
    present = len(pc.unique(part["Provider"]))
    # Where everybody colludes nobody is left, so that one provider always stands outside.
    most = min(m, present - 1)
    strongest: Row = dict.fromkeys(("coalition", "rows_left", "values_left", "people_left"))
    if survives < most:
        strongest = _describe_break(
            part, shoal.m_privacy(part, SCHEMA, write_rule(k, l), most).worst
        )
    return {
        "class": f"{part['Age'][0]} {part['Zip'][0]}",
        "class_rows": part.num_rows,
        "providers": present,
        "holds": survives >= most,
        "broken": int(survives < most),
        **strongest,
    }


def _describe_break(part: pa.Table, worst: Any) -> Row:
    return {
        "coalition": ", ".join(worst.coalition),
        "rows_left": worst.left,
        "values_left": worst.distinct["Disease"],
        "people_left": ", ".join(part["Name"][row - 1].as_py() for row in worst.records),
    }


# What the paper says of them


def claims(rows: Rows) -> list[Claim]:
    """T*a breaks; T*b does not, but only for the weaker rule."""
    return [_broken_claim(rows), _exposed_claim(rows), _offered_claim(rows)]


def _list_counts(numbers: Sequence[Number]) -> str:
    return " and ".join(f"{number.mean:.0f}" for number in numbers)


def _count_failing(rows: Rows, table: str, m: int) -> list[Number]:
    return [
        compute_mean(
            rows,
            "classes_broken",
            said=f"classes of {table} that break, k = {k}, m = {m}",
            table=table,
            k=k,
            m=m,
        )
        for k in SETTINGS["k"]
    ]


def _broken_claim(rows: Rows) -> Claim:
    against_one, against_none = _count_failing(rows, "T*a", 1), _count_failing(rows, "T*a", 0)
    right = all(number.mean > 0 for number in against_one) and all(
        number.mean == 0 for number in against_none
    )
    why = (
        ""
        if right
        else (
            f"By its printed cells {_list_counts(against_none)} classes break by themselves, and "
            f"{_list_counts(against_one)} "
            "against one provider (for k = 3 and k = 2)."
        )
    )
    return Claim(
        "T*a has k = 3 rows and l = 2 illnesses in every class (k = 2 as well), and no longer does "
        "once m = 1 provider leaves its own rows out.",
        "broken by one provider",
        (*against_none, *against_one),
        AGREES if right else DIFFERS,
        why,
    )


def _exposed_claim(rows: Rows) -> Claim:
    where: dict[str, Any] = {"table": "T*a", "k": 3, "m": 1, "coalition": "P1"}
    left = [
        compute_mean(rows, column, said=words, **where)
        for column, words in (
            ("rows_left", "rows that P1 leaves of its class"),
            ("values_left", "illnesses among them"),
        )
    ]
    people_left = [row["people_left"] for row in select_rows(rows, **where)]
    right = people_left == ["Sara"] and all(number.mean == 1 for number in left)
    why = "" if right else f"The rows that are left are those of: {'; '.join(people_left)}."
    return Claim(
        "In T*a the provider P1 is left with 1 row of others in its class, that of Sara, and so "
        "learns her illness.",
        "Sara",
        tuple(left),
        AGREES if right else DIFFERS,
        why,
    )


def _offered_claim(rows: Rows) -> Claim:
    strict, weak = _count_failing(rows, "T*b", 1)
    says = "T*b meets k = 3 and l = 2 against any single provider (m = 1)."
    if strict.mean == 0:
        return Claim(says, "1-private", (strict, weak), AGREES)
    if weak.mean > 0:
        why = f"T*b breaks for k = 2 as well, in {weak.mean:.0f} classes."
        return Claim(says, "1-private", (strict, weak), DIFFERS, why)
    because = (
        _collect_class_numbers(rows, "class_rows", "rows"),
        _collect_class_numbers(rows, "rows_left", "rows left"),
    )
    sizes, left = (", ".join(f"{number.mean:.0f}" for number in numbers) for numbers in because)
    why = (
        f"For k = 2 it does; for k = 3 it cannot: its classes have {sizes} rows, of which one "
        f"provider leaves {left}."
    )
    return Claim(says, "1-private", (strict, weak), CORRECTED, why, (*because[0], *because[1]))


def _collect_class_numbers(rows: Rows, column: str, words: str) -> tuple[Number, ...]:
    where: dict[str, Any] = {"table": "T*b", "k": 3, "m": 1}
    broken = [row["class"] for row in select_rows(rows, broken=1, **where)]
    return tuple(
        compute_mean(rows, column, said=f"{words}, class {name} of T*b", **where, **{"class": name})
        for name in broken
    )


# Drawn

COLUMNS = {
    "table": "table",
    "k": "k",
    "class": "class",
    "coalition": "who breaks it",
    "rows_left": "rows left",
    "values_left": "illnesses left",
    "people_left": "of",
}


def charts(rows: Rows) -> Mapping[str, Spec]:
    """Every class against one provider, the broken ones set off."""
    shown = [
        {**row, "coalition": row["coalition"] or "nobody"}
        for row in select_rows(rows, m=1)
        if row["class"] != WHOLE
    ]
    return {
        "one_provider": draw_grid(
            shown,
            columns=COLUMNS,
            marked="broken",
            title=_title(shown),
            about="A table: for each class of the two printed tables, which provider breaks k rows "
            "and two illnesses with its own rows, and what it leaves.",
        )
    }


def _title(shown: Sequence[Row]) -> str:
    parts = []
    for table in dict.fromkeys(row["table"] for row in shown):
        held = [
            k
            for k in dict.fromkeys(row["k"] for row in shown)
            if not any(row["broken"] for row in select_rows(shown, table=table, k=k))
        ]
        rules = " and ".join(f"k = {k}" for k in held)
        parts.append(f"{table} holds for {rules if held else 'neither rule'}")
    return f"Against one provider {', '.join(parts)}"


EXPERIMENT = Experiment(
    "Table I: two joint releases of four providers, and which of them break what",
    measure,
    claims,
    charts,
    settings=SETTINGS,
    notes=(
        "Cells that are garbled in print are read as the rest of the table demands.",
        "A coalition is told where it leaves the fewest rows; others may break the class too.",
    ),
)
