"""Demo: two hospitals of one city publish, each k-anonymous, and a reader joins the releases.

The data is bundled and invented. The same story grows with what Shoal can do.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.bundled import path as bundled_path
from shoal.bundled.make import DIAGNOSES, ZIPS
from shoal.flow.attack import attack
from shoal.flow.folder import made
from shoal.flow.look import Look, look
from shoal.flow.publish import publish
from shoal.flow.report import report
from shoal.flow.request import COUNTS, RANDOMISED, Progress, quiet
from shoal.flow.side_by_side import SideBySide, side_by_side
from shoal.flow.story import HOSPITALS, tell
from shoal.release import EDITION, Finding, Release, json_object
from shoal.schema import Schema, identifier, person, quasi, sensitive

K = 5
RULES = {
    "k-anonymity": f"k-anonymity k={K}",
    "k-anonymity and diversity": f"k-anonymity k={K} & entropy-diversity l=4",
}
TOWN = Schema.of(identifier=["name"], quasi=["zip", "birth_date", "sex"], sensitive=["diagnosis"])
"""A medical table and a voter list, as in Sweeney's Figure 1."""
EPSILONS, SEEDS = (1, 2, 4), 3
"""How much noise both hospitals would add under differential privacy, and how often it is tried."""


@dataclass(frozen=True)
class Demo:
    """What happened, and the page that tells it."""

    page: Path
    report: Path
    """What a data steward would sign."""
    linked: Finding
    look: Look
    releases: Mapping[str, Release]
    findings: Mapping[str, Finding]
    sides: SideBySide
    """Both hospitals under other guarantees, and under differential privacy."""

    def to_json(self) -> dict[str, Any]:
        """The demo's facts."""
        return json_object(
            {
                "edition": EDITION,
                "page": str(self.page),
                "report": str(self.report),
                "linked": self.linked.to_json(),
                "rows": self.look.rows,
                "unique": self.look.unique,
                "releases": {name: one.to_json() for name, one in self.releases.items()},
                "findings": {name: one.to_json() for name, one in self.findings.items()},
                "side_by_side": self.sides.to_json(),
            }
        )

    def __str__(self) -> str:
        rows = self.look.rows
        certain, voters = self.linked.details["certain"], self.linked.details["register"]
        lines = [
            f"A medical table without names, and a voter list: {certain:,} of {voters:,} voters "
            "are each the only one who fits a patient's row.",
            f"St. Anna's table has {rows:,} patients; {self.look.unique:,} "
            f"({self.look.unique / rows:.0%}) are unique by age, sex and ZIP code.",
        ]
        lines += [f"Published {HOSPITALS[name]}: {one}" for name, one in self.releases.items()]
        for rule, found in self.findings.items():
            lines.append(
                f"Joined, with {rule}: {found.exposed:,} of {found.people:,} people in both have "
                f"their diagnosis exposed ({found.rate:.1%})."
            )
        lines.append(
            f"Classes and noise side by side: {self.sides.sentence} Loss is here how far columns "
            "and pairs of columns have moved, and above how wide cells are."
        )
        lines.append(f"The story with its charts: {self.page}")
        lines.append(f"The report for St. Anna's data steward to sign: {self.report}")
        return "\n".join(lines)


def schema() -> Schema:
    """The roles of the hospitals' columns; the day of admission is left out of the release."""
    return Schema(()).set(
        patient=person,
        name=identifier,
        age=quasi,
        sex=quasi,
        zip=quasi,
        admitted=identifier,
        diagnosis=sensitive,
    )


def stated() -> Schema:
    """The same, with what values there may be: the city's ZIP codes, and a list of diagnoses.

    Noise needs it said, for it may not be taken from the rows.
    """
    return schema().set(
        age=quasi(bounds=(0, 120)),
        sex=quasi(domain=("f", "m")),
        zip=quasi(domain=tuple(ZIPS)),
        diagnosis=sensitive(domain=tuple(DIAGNOSES)),
    )


def demo(out: str | Path = "shoal-demo", progress: Progress = quiet) -> Demo:
    """Link, look, publish both hospitals, verify, join the releases, and write both pages.

    How they would fare under other guarantees is tried in memory, and stands in the page too.
    """
    out = made(Path(out))
    tables = {name: bundled_path(f"{name}.csv") for name in HOSPITALS}
    progress("linking", 0, 1)
    linked = attack(
        "linking", bundled_path("medical.csv"), targets=bundled_path("voters.csv"), schema=TOWN
    )
    progress("looking", 0, 1)
    seen = look(tables["st_anna"], schema())
    people = shared(tables)
    findings: dict[str, Finding] = {}
    first: dict[str, Release] = {}
    for rule, text in RULES.items():
        releases = {
            name: publish(
                table,
                schema(),
                text,
                out=out / f"{name}-{rule.replace(' ', '-')}",
                replace=True,
                progress=progress,
            )
            for name, table in tables.items()
        }
        first = first or releases
        progress("attacking", 0, 1)
        findings[rule] = attack(
            "intersection", list(releases.values()), targets=as_table(people), schema=schema()
        )
    sizes = (class_sizes(tables["st_anna"]), class_sizes(first["st_anna"].path))
    sides = side_by_side(
        tables["st_anna"], stated(), other=tables["harbour"], k=K, epsilons=EPSILONS, seeds=SEEDS,
        forms=(RANDOMISED, COUNTS), progress=progress,
    )  # fmt: skip
    page = tell(linked, seen, first, findings, people, sizes, K, sides)
    path = page.write(out / "index.html")
    own, other = first.values()
    told = report(own, others=[other], original=tables["st_anna"], progress=progress)
    signed = told.write(out / "report.html")
    return Demo(path, signed, linked, seen, first, findings, sides)


def shared(tables: Mapping[str, Path]) -> list[dict[str, str]]:
    """The people who were patients of both hospitals, as the first one's rows."""
    rows = []
    for table in tables.values():
        with table.open(encoding="utf-8", newline="") as handle:
            rows.append({row["patient"]: row for row in csv.DictReader(handle)})
    return [row for patient, row in sorted(rows[0].items()) if patient in rows[1]]


def class_sizes(table: Path) -> dict[int, int]:
    """How many classes of each size the quasi-identifiers of a table make."""
    names = [column.name for column in schema().quasi]
    with table.open(encoding="utf-8", newline="") as handle:
        classes = Counter(tuple(row[name] for name in names) for row in csv.DictReader(handle))
    return dict(Counter(classes.values()))


def as_table(people: Sequence[Mapping[str, str]]) -> pa.Table:
    """The people as a table in memory."""
    columns = {name: [row[name] for row in people] for name in people[0]}
    columns["age"] = [int(age) for age in columns["age"]]  # type: ignore[misc]
    return pa.table(columns)
