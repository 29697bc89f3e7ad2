"""Table 1: the patients of two hospitals, and who is in both.

Sattar and Helal 2018, Table 1 (bundled as ``sattar_table1_*.csv``): twelve patients each, with
age, sex, ZIP code and diagnosis. Composition is about those who are in both.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoal.studies.claims import FOUND, Claim, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.grid import draw_grid
from shoal.studies.sattar.hospitals import (
    HOSPITALS,
    QUASI,
    SENSITIVE,
    list_people_in_both,
    read_original,
)


def measure(lab: Lab) -> list[Row]:
    """Every patient of both, looked for in the other; and how many there are of such."""
    patient_rows = lab.measure_cells(
        list_patients, [{"hospital": hospital} for hospital in HOSPITALS]
    )
    return [*patient_rows, *lab.measure_cells(count_people_in_both, [{}])]


def list_patients(hospital: str) -> list[Row]:
    """A hospital's patients, and whether they are in the other too.

    ``unlike`` names the columns in which somebody differs there.
    """
    (other,) = set(HOSPITALS) - {hospital}
    there = {row["Name"]: row for row in read_original(other)}
    return [
        {
            **row,
            "in_both": row["Name"] in there,
            "unlike": _list_differences(row, there.get(row["Name"])),
        }
        for row in read_original(hospital)
    ]


def count_people_in_both() -> Row:
    """How many names are in both, and how many of them with the same columns."""
    both = [row for row in list_patients("A") if row["in_both"]]
    return {"names_in_both": len(both), "alike": sum(not row["unlike"] for row in both)}


def _list_differences(here: Mapping[str, str], there: Mapping[str, str] | None) -> str:
    if there is None:
        return ""
    return ", ".join(column for column in (*QUASI, SENSITIVE) if here[column] != there[column])


def claims(rows: Rows) -> list[Claim]:
    """Who is in both, and whether with the same columns."""
    both = compute_mean(rows, "names_in_both", said="names in both tables")
    alike = compute_mean(rows, "alike", said="with the same columns in both")
    differ = [row for row in select_rows(rows, hospital="A", in_both=True) if row["unlike"]]
    differences = "".join(f"; {row['Name']} differs in {row['unlike']}" for row in differ)
    return [
        Claim(
            f"{both.mean:.0f} names are in both hospitals' tables, {alike.mean:.0f} of them with "
            f"the same columns{differences}.",
            "",
            (both, alike),
            FOUND,
        )
    ]


def charts(rows: Rows) -> dict[str, Spec]:
    """Both tables as printed."""
    names = list_people_in_both()
    columns = {
        "hospital": "Hospital",
        "Name": "Name",
        **{c: c for c in (*QUASI, SENSITIVE)},
        "unlike": "Other there",
    }
    title = f"{len(names)} people are in both hospitals' tables: {', '.join(names)}"
    about = "All patients of both hospitals; those who are in both are set off."
    return {
        f"hospital-{hospital.lower()}": draw_grid(
            [row for row in rows if row.get("hospital") == hospital],
            columns=columns,
            title=f"Hospital {hospital}. {title}",
            about=about,
            marked="in_both",
        )
        for hospital in HOSPITALS
    }


EXPERIMENT = Experiment(
    "Table 1: the patients of two hospitals, and who is in both", measure, claims, charts
)
