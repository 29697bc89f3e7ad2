"""The two hospitals' tables that Sattar and Helal print, as they are bundled."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

import shoal
from shoal.data import bundled

HOSPITALS = ("A", "B")
QUASI = ("Age", "Sex", "Zip")
SENSITIVE = "Diagnosis"
SCHEMA = shoal.Schema.of(quasi=QUASI, sensitive=SENSITIVE)
Lines = list[dict[str, str]]


def read_original(hospital: str) -> Lines:
    """Table 1: everybody with their name, in the order printed."""
    return _lines(f"sattar_table1_{hospital.lower()}.csv")


def read_published(hospital: str) -> Lines:
    """Table 2, with hospital A's eighth row as its original has it."""
    return _lines(f"sattar_table2_{hospital.lower()}.csv")


def _lines(name: str) -> Lines:
    with bundled.path(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def list_people_in_both() -> list[str]:
    """The names that both hospitals have, in A's order."""
    there = {row["Name"] for row in read_original("B")}
    return [row["Name"] for row in read_original("A") if row["Name"] in there]


def select_labels(row: Mapping[str, str]) -> dict[str, str]:
    """What a published row says of its person but the diagnosis."""
    return {column: row[column] for column in QUASI}


def covers_person(
    person: Mapping[str, str], row: Mapping[str, str], columns: Sequence[str] = QUASI
) -> bool:
    """Whether a printed row's labels hold the person: an age range, ``*``, or stars for digits."""
    low, high = map(int, row["Age"].split("-"))
    held = {
        "Age": low <= int(person["Age"]) <= high,
        "Sex": row["Sex"] in (person["Sex"], "*"),
        "Zip": all(a in (b, "*") for a, b in zip(row["Zip"], person["Zip"], strict=True)),
    }
    return all(held[column] for column in columns)


def find_covering_classes(
    person: Mapping[str, str], lines: Lines, columns: Sequence[str] = QUASI
) -> list[dict[str, str]]:
    """The labels of the classes that hold a person in these columns."""
    labels: Lines = []
    for labels_of_row in map(select_labels, lines):
        if labels_of_row not in labels and covers_person(person, labels_of_row, columns):
            labels.append(labels_of_row)
    return labels
