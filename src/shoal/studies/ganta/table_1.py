"""Table 1: two hospitals' releases, one 4-anonymous, one 6-anonymous, and a patient of both.

Ganta et al. 2008, Table 1 and its example: Alice, 28 years old and living in 13012, is in both
tables. Each leaves her several conditions, both together one. Here the same is asked for every age
from 20 to 49: which values each release leaves, and which both.

As in the paper: nothing is drawn, and the tables are those printed. Not in the paper: the other
ages. People of thirty-something have one value in the first release alone: nothing is lost by the
second, and still they count among those whose value is certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

import shoal
from shoal import Schema
from shoal.data import bundled
from shoal.studies.claims import AGREES, DIFFERS, FOUND, Claim, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.grid import draw_grid
from shoal.studies.pages.lines import draw_lines

RELEASES = ("ganta_table1_r1.csv", "ganta_table1_r2.csv")
ROLES = Schema.of(quasi=["Zip", "Age", "Nationality"], sensitive="Condition")
ALICE, HERS = 28, "AIDS"
K = (4, 6)
LEFT = {"first": "First release alone", "second": "Second release alone", "both": "Both together"}
HEADINGS = {
    "age": "Age",
    "first": "First release",
    "second": "Second release",
    "both": "Both",
    "drop": "Drop",
    "left": "Left",
}


def measure_person(*, age: int, zip_code: str = "13012") -> Row:
    """What the two printed tables leave somebody of an age."""
    known = {"Zip": [zip_code], "Age": [age], "Nationality": ["any"]}
    finding = shoal.attack(
        "intersection", _tables(), targets=pa.table(known), schema=ROLES, show=True
    )
    first, second = finding.details["prior"]
    return {
        "first": int(first),
        "second": int(second),
        "both": int(finding.details["posterior"]),
        "drop": int(finding.details["mean_drop"]),
        "certain": bool(finding.exposed),
        "left": ", ".join(sorted(finding.witness["left_named"])),
    }


def measure_k(*, release: int) -> Row:
    """The k of a printed table."""
    report = shoal.audit(_tables()[release - 1], ROLES)
    return {"k": int(report.reached("k-anonymity"))}


def _tables() -> list[str]:
    return [str(bundled.path(name)) for name in RELEASES]


def measure(lab: Lab) -> list[Row]:
    """Every age, then the k of both tables."""
    ages = lab.measure_cells(measure_person, [{"age": age} for age in lab.settings["ages"]])
    return [*ages, *lab.measure_cells(measure_k, [{"release": 1}, {"release": 2}])]


def claims(rows: Rows) -> Sequence[Claim]:
    """The k of the tables, and Alice; and who needs no second table."""
    return [_k_claim(rows), _alice_claim(rows), _single_table_claim(rows)]


def _k_claim(rows: Rows) -> Claim:
    ours = tuple(compute_mean(rows, "k", said=f"release {i}: k", release=i) for i in (1, 2))
    same = tuple(number.mean for number in ours) == K
    return Claim(
        "Of the two printed tables the first is 4-anonymous and the second 6-anonymous.",
        "4 and 6",
        ours,
        AGREES if same else DIFFERS,
        "" if same else "Their smallest classes have other sizes.",
    )


def _alice_claim(rows: Rows) -> Claim:
    ours = tuple(
        compute_mean(rows, of, said=f"values: {words.lower()}", age=ALICE)
        for of, words in LEFT.items()
    )
    left = select_rows(rows, age=ALICE)[0]["left"]
    same = left == HERS
    return Claim(
        "Whoever knows that Alice is 28, lives in 13012 and is in both printed tables knows that "
        "she has AIDS.",
        "AIDS",
        ours,
        AGREES if same else DIFFERS,
        "" if same else "The two tables leave other values.",
    )


def _single_table_claim(rows: Rows) -> Claim:
    """At how many ages one table leaves one condition, which the paper counts all the same."""
    people = [row for row in rows if "age" in row]
    certain = [row["age"] for row in people if row["certain"]]
    settled_by_one = [row["age"] for row in people if min(row["first"], row["second"]) == 1]
    ours = tuple(
        compute_mean(rows, of, said=f"age {age}: values, {words.lower()}", age=age)
        for age in (settled_by_one or certain)[:1]
        for of, words in LEFT.items()
    )
    return Claim(
        f"Of {len(people)} ages {len(certain)} have one condition left when both tables are read; "
        f"for {len(settled_by_one)} of them one table was enough, and the second takes nothing "
        "away.",
        "",
        ours,
        FOUND,
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """Values left by age; and people of every kind as a printed table."""
    people = [row for row in rows if "age" in row]
    long = [
        {"age": row["age"], "seen": words, "values": row[of]}
        for row in people
        for of, words in LEFT.items()
    ]
    certain = sum(row["certain"] for row in people)
    title = f"Of {len(people)} ages, {certain} have one condition left when both tables are read"
    about = "How many conditions the two printed tables leave somebody in 13012, by age."
    return {
        "ages": draw_lines(
            long,
            x="age",
            y="values",
            by="seen",
            title=title,
            about=about,
            labels={"age": "Age", "values": "Conditions left", "seen": "Seen"},
        ),
        "people": draw_grid(
            _group_ages(people),
            columns=HEADINGS,
            marked="certain",
            title="What each table leaves, and both",
            about=f"{about} Set off: one is left.",
        ),
    }


def _group_ages(people: Sequence[Mapping[str, object]]) -> list[Row]:
    """Neighbouring ages of whom the same is known, as one row."""
    bands: list[Row] = []
    for row in people:
        known = {name: row[name] for name in (*HEADINGS, "certain") if name != "age"}
        if bands and all(bands[-1][name] == value for name, value in known.items()):
            bands[-1]["to"] = row["age"]
        else:
            bands.append({"from": row["age"], "to": row["age"], **known})
    return [{"age": f"{band['from']} to {band['to']}", **band} for band in bands]


EXPERIMENT = Experiment(
    shows="Table 1: two releases and what they leave a patient of both",
    measure=measure,
    claims=claims,
    charts=charts,
    settings={"ages": list(range(20, 50))},
    notes=("The tables as printed in the paper; the patient may have any nationality.",),
)
