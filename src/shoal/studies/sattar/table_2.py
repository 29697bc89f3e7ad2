"""Table 2: the two hospitals' tables as published, and what is left to those in both.

Sattar and Helal 2018, Table 2 (bundled as ``sattar_table2_*.csv``); definitions 2 to 4: somebody in
both is exposed where fewer than l values are common to the class here and the class there, and a
table's risk is the share of its classes that hold such a person.

The paper prints C in row 8 of hospital A, Anju's, whose diagnosis in Table 1 is F. Both are tried:
with F Alice is left with one value, as the paper says; with C as printed she is not. In hospital
B rows 7, 8 and 11 are printed under ages that their people do not have: what Alice is left with is
also counted with such rows where they belong, and with all of them in the class of their age.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import shoal
from shoal.studies.claims import (
    AGREES,
    CORRECTED,
    DIFFERS,
    FOUND,
    Claim,
    Number,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.grid import draw_grid
from shoal.studies.sattar.hospitals import (
    HOSPITALS,
    QUASI,
    SCHEMA,
    SENSITIVE,
    Lines,
    covers_person,
    find_covering_classes,
    list_people_in_both,
    read_original,
    read_published,
    select_labels,
)

READ = ("as printed", "corrected")
BELONGS, BY_AGE = "corrected, B where it belongs", "corrected, B by age"
"""Hospital B's rows that do not cover their people in a class that does, where there is one; or in
one whose age does, whatever its other columns."""
ROW, PRINTED, VALUE = 8, "C", "E"
"""Hospital A's row that is misprinted, what stands there, and the value that is left to Alice."""
SETTINGS = {"l": [2, 3, 4]}


def measure(lab: Lab) -> list[Row]:
    """Who in both keeps how many values; what that makes of A; each table by itself."""
    pairs = [(read, name) for read in READ for name in list_people_in_both()]
    pairs += [(read, "Alice") for read in (BELONGS, BY_AGE)]
    people = lab.measure_cells(
        measure_values_left, [{"read": read, "who": name} for read, name in pairs]
    )
    risks = [compute_risk(people, read, l) for read in READ for l in lab.settings["l"]]
    tables = [{"hospital": hospital, "read": read} for hospital in HOSPITALS for read in READ]
    return [*people, *risks, *lab.measure_cells(audit_published_table, tables)]


def measure_values_left(read: str, who: str) -> Row:
    """The values common to a person's classes in both releases, by what an adversary finds."""
    person = [row for row in read_original("A") if row["Name"] == who]
    target = _to_arrow([{column: row[column] for column in QUASI} for row in person])
    releases = [_to_arrow(_read_published(hospital, read)) for hospital in HOSPITALS]
    finding = shoal.attack("intersection", releases, targets=target, schema=SCHEMA, show=True)
    witness = finding.to_json()["witness"]
    here, there = witness["releases"]
    return {
        "values_left": witness["left"],
        "left_named": ", ".join(witness["left_named"]),
        "values_here": here["values"],
        "values_there": there["values"],
        "class_here": " ".join(str(class_label) for class_label in here["classes"]),
    }


def compute_risk(people: Rows, read: str, l: int) -> Row:
    """Hospital A's classes with somebody in both who has 1 to l - 1 values left, in per cent."""
    exposed = {
        row["class_here"] for row in select_rows(people, read=read) if 1 <= row["values_left"] < l
    }
    labels = {tuple(select_labels(row).values()) for row in _read_published("A", read)}
    return {
        "read": read,
        "l": l,
        "exposed_classes": len(exposed),
        "risk": 100 * len(exposed) / len(labels),
        "nothing_left": sum(row["values_left"] == 0 for row in select_rows(people, read=read)),
    }


def audit_published_table(hospital: str, read: str) -> Row:
    """Its k, and how many rows are not what their originals are: outside the labels, or another
    value."""
    lines = _read_published(hospital, read)
    pairs = list(zip(read_original(hospital), lines, strict=True))
    outside = [
        i for i, (person, row) in enumerate(pairs, start=1) if not covers_person(person, row)
    ]
    audit = shoal.audit(_to_arrow(lines), SCHEMA)
    return {
        "k": int(audit.reached("k-anonymity")),
        "outside_their_cells": len(outside),
        "outside_rows": ", ".join(map(str, outside)),
        "outside_ages": ", ".join(pairs[i - 1][0]["Age"] for i in outside),
        "printed_ages": ", ".join(dict.fromkeys(lines[i - 1]["Age"] for i in outside)),
        **_find_elsewhere(pairs, outside),
        "other_values": sum(person[SENSITIVE] != row[SENSITIVE] for person, row in pairs),
    }


def _find_elsewhere(pairs: list[tuple[dict[str, str], dict[str, str]]], outside: list[int]) -> Row:
    """Of the rows outside those whose person one other class holds, who of those in both is in that
    class, and how many bring a value that it has already."""
    lines = [row for _, row in pairs]
    held = {
        i: holding[0]
        for i in outside
        if len(holding := find_covering_classes(pairs[i - 1][0], lines)) == 1
    }
    with_ = [
        person["Name"]
        for person, row in pairs
        if person["Name"] in list_people_in_both() and select_labels(row) in held.values()
    ]
    known = [
        any(
            row[SENSITIVE] == lines[i - 1][SENSITIVE]
            for row in lines
            if select_labels(row) == other
        )
        for i, other in held.items()
    ]
    return {
        "held_elsewhere": len(held),
        "held_rows": ", ".join(map(str, held)),
        "held_with": ", ".join(with_),
        "held_known": sum(known),
    }


def _read_published(hospital: str, read: str) -> Lines:
    lines = read_published(hospital)
    if (hospital, read) == ("A", "as printed"):
        lines[ROW - 1][SENSITIVE] = PRINTED
    if hospital == "B" and read in (BELONGS, BY_AGE):
        columns = ("Age",) if read == BY_AGE else QUASI
        return [
            _move_row(*pair, lines, columns) for pair in zip(read_original("B"), lines, strict=True)
        ]
    return lines


def _move_row(
    person: Mapping[str, str], row: dict[str, str], lines: Lines, columns: Sequence[str]
) -> dict[str, str]:
    """The row under the one class that holds its person; as it is, where there is none."""
    if covers_person(person, row):
        return row
    labels = find_covering_classes(person, lines, columns)
    return {**row, **labels[0]} if len(labels) == 1 else row


def _to_arrow(lines: Lines) -> pa.Table:
    return pa.Table.from_pylist(lines)


def claims(rows: Rows) -> list[Claim]:
    """Alice is exposed; rows that do not cover their people; and what was found beside."""
    return [
        _alice_claim(rows),
        _ages_claim(rows),
        _others_claim(rows),
        _no_match_claim(rows),
        _k_claim(rows),
    ]


def _values_number(rows: Rows, name: str, read: str) -> Number:
    return compute_mean(
        rows, "values_left", said=f"values left to {name}, {read}", read=read, who=name
    )


def _name_values_left(rows: Rows, name: str, read: str) -> str:
    (row,) = select_rows(rows, who=name, read=read)
    return str(row["left_named"])


def _alice_claim(rows: Rows) -> Claim:
    printed, right = (_values_number(rows, "Alice", read) for read in READ)
    risks = [
        compute_mean(
            rows, "risk", said=f"A's classes exposed at l = 2, {read}", unit=" %", read=read, l=2
        )
        for read in READ
    ]
    as_printed, is_left = (_name_values_left(rows, "Alice", read) for read in READ)
    fits, slip = is_left == VALUE, as_printed != VALUE
    return Claim(
        f"Who joins the two releases is left with one diagnosis for Alice, {VALUE}.",
        f"one value left, {VALUE}",
        (right, printed),
        DIFFERS if not fits else CORRECTED if slip else AGREES,
        f"Row {ROW} of hospital A is printed with {PRINTED}, and in Table 1 with "
        f"{read_original('A')[ROW - 1][SENSITIVE]}. As printed {printed.mean:.0f} values are left "
        "to "
        f"Alice ({as_printed}), and {risks[0].mean:.0f} % of A's classes are exposed at l = 2. "
        f"With the row as in Table 1 it is {right.mean:.0f} ({is_left}), and "
        f"{risks[1].mean:.0f} %.",
        tuple(risks),
    )


def _ages_claim(rows: Rows) -> Claim:
    """Mistakes are corrected where one printed class holds the person."""
    (there,) = select_rows(rows, hospital="B", read="corrected")
    of = "outside_their_cells"
    outside = tuple(
        compute_mean(
            rows,
            of,
            said=f"rows of {hospital} outside their labels",
            hospital=hospital,
            read="corrected",
        )
        for hospital in HOSPITALS
    )
    held, known = (
        compute_mean(rows, column, said=words, hospital="B", read="corrected")
        for column, words in (
            ("held_elsewhere", "of B's, held by one other class"),
            ("held_known", "of these, with a value that the other class has already"),
        )
    )
    astray = any(number.mean for number in outside)
    mended = held.mean == sum(number.mean for number in outside)
    reads = [_values_number(rows, "Alice", read) for read in (BELONGS, BY_AGE)]
    printed = f"rows {there['outside_rows']} of hospital B: age {there['printed_ages']}"
    return Claim(
        f"All {sum(len(read_published(hospital)) for hospital in HOSPITALS)} rows of Table 2 cover "
        "the "
        "patient of Table 1 whose row they are.",
        printed if astray else "",
        outside,
        AGREES if not astray else CORRECTED if mended else DIFFERS,
        _explain_astray(rows, there) if astray else "",
        (held, known, *reads),
    )


def _explain_astray(rows: Rows, there: Mapping[str, Any]) -> str:
    now, belongs, by_age = (
        _name_values_left(rows, "Alice", read) for read in (READ[1], BELONGS, BY_AGE)
    )
    held, all_known = there["held_elsewhere"], there["held_known"] == there["held_elsewhere"]
    where = (
        f"{held} (row {there['held_rows']}): the class of {there['held_with'] or 'nobody in both'},"
        f" which {'has its value already' if all_known else 'gets a value more'}; moved there, "
        f"{belongs} is left to Alice"
        if held
        else "none"
    )
    return (
        f"In Table 1 the people of rows {there['outside_rows']} of hospital B are "
        f"{there['outside_ages']} years old. Another printed class holds {where}. Of the other "
        f"{there['outside_their_cells'] - held} the right labels cannot be told. With all in the "
        f"class of their age, whatever its ZIP code, {by_age} would be left to Alice in place of "
        f"{now}."
    )


def _others_claim(rows: Rows) -> Claim:
    values_left = tuple(
        _values_number(rows, name, "corrected") for name in list_people_in_both() if name != "Alice"
    )
    risks = tuple(
        compute_mean(
            rows, "risk", said=f"A's classes exposed at l = {l}", unit=" %", l=l, read="corrected"
        )
        for l in sorted({row["l"] for row in rows if "l" in row})
    )
    alone = all(number.mean >= 2 for number in values_left)
    least = min(number.mean for number in values_left)
    return Claim(
        "Of the people in both "
        + ("Alice alone is" if alone else "others than Alice are too")
        + f" left with one value; the others keep {least:g} or more. Of A's classes "
        + ", ".join(f"{risk.mean:.0f} % at l = {risk.where['l']}" for risk in risks)
        + " are exposed.",
        "",
        (*values_left, *risks),
        FOUND,
    )


def _no_match_claim(rows: Rows) -> Claim:
    """Definitions 2 and 3 are about a match, which has some value in common."""
    unmatched = tuple(
        compute_mean(
            rows, "nothing_left", said=f"people in both with no value left, {read}", read=read
        )
        for read in READ
    )
    none = all(number.mean == 0 for number in unmatched)
    return Claim(
        f"{unmatched[1].mean:.0f} of {len(list_people_in_both())} people in both are left with no "
        "value at all. "
        "Such a person is counted as no match, not as exposed, which "
        f"{'changes nothing here' if none else 'lowers the risk'}.",
        "",
        unmatched,
        FOUND,
    )


def _k_claim(rows: Rows) -> Claim:
    ks = tuple(
        compute_mean(
            rows, "k", said=f"k of hospital {hospital}", hospital=hospital, read="corrected"
        )
        for hospital in HOSPITALS
    )
    parts = " and ".join(f"{number.mean:.0f}-anonymous" for number in ks)
    return Claim(f"By their printed labels the two releases are {parts}.", "", ks, FOUND)


def charts(rows: Rows) -> dict[str, Spec]:
    """Both releases, and what is left to those in both."""
    people = [{**row, "exposed": row["values_left"] == 1} for row in rows if "values_left" in row]
    exposed = [row["who"] for row in people if row["exposed"] and row["read"] == "corrected"]
    missed = [row["who"] for row in people if row["exposed"] and row["read"] == "as printed"]
    columns = {
        "read": "Read",
        "who": "Who",
        "values_here": "Values in A",
        "values_there": "Values in B",
        "left_named": "In both",
        "exposed": "Exposed",
    }
    specs = {
        "left": draw_grid(
            people,
            columns=columns,
            marked="exposed",
            title=f"Exposed: {', '.join(exposed) or 'nobody'}; with row {ROW} as printed: "
            f"{', '.join(missed) or 'nobody'}",
            about="Of each person in both the values that both releases leave: as printed; with "
            f"row {ROW} of hospital A as in Table 1; and with hospital B's rows moved, too.",
        )
    }
    for hospital in HOSPITALS:
        specs[f"hospital-{hospital.lower()}"] = _printed_chart(hospital)
    return specs


def _printed_chart(hospital: str) -> Spec:
    lines = [
        {**row, "row": i, "astray": not covers_person(person, row)}
        for i, (person, row) in enumerate(
            zip(read_original(hospital), read_published(hospital), strict=True), start=1
        )
    ]
    wrong = sum(bool(row["astray"]) for row in lines)
    caption = (
        f"{wrong} rows are printed under ages that are not theirs" if wrong else "as published"
    )
    return draw_grid(
        lines,
        columns={"row": "Row", **{c: c for c in (*QUASI, SENSITIVE)}},
        marked="astray",
        title=f"Hospital {hospital}: {caption}",
        about="The published table; rows whose person has another age are set off.",
    )


EXPERIMENT = Experiment(
    "Table 2: the published tables, and what is left to the people who are in both",
    measure,
    claims,
    charts,
    settings=SETTINGS,
    notes=(
        f"Row {ROW} of hospital A is read as in Table 1 (F); results of the printed {PRINTED} "
        "stand beside.",
        "People are looked up by their columns in hospital A.",
    ),
)
