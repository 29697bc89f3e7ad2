"""Demo: two hospitals of one city publish, each k-anonymous, and a reader joins the releases.

The data is bundled and invented. First its page, a section for each step of the story; then the
story itself, which runs the verbs.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.core.release import EDITION, Finding, Release, to_json_object
from shoal.core.schema import Schema, identifier, person, quasi, sensitive
from shoal.data.bundled import path as bundled_path
from shoal.data.bundled.make import DIAGNOSES, ZIPS
from shoal.releases.folder import ensure_folder
from shoal.releases.options import COUNTS, RANDOMISED, Progress, ignore_progress
from shoal.reports.charts import release as charts
from shoal.reports.document import Callout, Chart, Fact, KeyFacts, Page, Section, Table
from shoal.reports.format import format_percent
from shoal.reports.pages.side_by_side import render_comparison
from shoal.reports.report import report
from shoal.verbs.attack import attack
from shoal.verbs.look import Look, look
from shoal.verbs.publish import publish
from shoal.verbs.side_by_side.result import SideBySide
from shoal.verbs.side_by_side.verb import side_by_side

HOSPITALS = {"st_anna": "St. Anna", "harbour": "Harbour"}
"""The bundled tables, and what their hospitals are called."""
SHOWN = 8
"""How many of the exposed people the page names; they are invented."""


def build_demo_page(
    linked: Finding,
    overview: Look,
    releases: Mapping[str, Release],
    findings: Mapping[str, Finding],
    people: Sequence[Mapping[str, str]],
    sizes: tuple[Mapping[int, int], Mapping[int, int]],
    k: int,
    sides: SideBySide,
) -> Page:
    """The page: one section for each step of the story."""
    return Page(
        "Two hospitals, one city",
        (
            _build_linking_section(linked),
            _build_table_section(overview),
            _build_release_section(releases, sizes, k),
            _build_joining_section(findings, people),
            _build_defence_section(findings),
            _build_comparison_section(sides, next(iter(findings.values()))),
        ),
        lead="Two hospitals publish their patients' diagnoses, each so that every patient hides "
        "among others. Some people were patients of both. All of them are invented.",
        foot="Made by `shoal demo` from bundled data. What St. Anna's data steward would sign is "
        "`report.html` beside this page.",
    )


def _build_linking_section(finding: Finding) -> Section:
    certain, details = finding.details["certain"], finding.details
    return Section(
        "Names are not needed",
        (
            "In another town a medical table is sold without names, but with ZIP code, birth date "
            "and sex. The voter list has these three, and names. Whoever buys both has what "
            "Latanya Sweeney had in 1997, when she found a governor's hospital visit.",
        ),
        (
            KeyFacts(
                (
                    Fact("voters", f"{details['register']:,}"),
                    Fact(
                        "fit a patient's row",
                        f"{finding.people:,}",
                        format_percent(finding.people, details["register"]),
                    ),
                    Fact("alone in fitting it", f"{certain:,}", "name and diagnosis together"),
                )
            ),
            Callout("Leaving out names protects nobody. The two hospitals know that.", "warning"),
        ),
    )


def _build_table_section(overview: Look) -> Section:
    growth = overview.growth()
    names, unique = [name for name, _ in growth], [count for _, count in growth]
    roles = [(f.name, overview.schema.column(f.name).role, f.kind) for f in overview.fields]
    return Section(
        "The table",
        (
            f"St. Anna's table has {overview.rows:,} rows, one a patient. Names go, but age, sex "
            f"and ZIP code stay, and {overview.unique:,} patients are alone with theirs: whoever "
            "knows these three things about a neighbour finds the neighbour's row. The day of "
            "admission would single out nearly everybody; here it is dropped with the names.",
        ),
        (
            Chart(charts.chart_unique_by_columns(names, unique, overview.rows)),
            Table(("column", "role", "kind"), tuple(roles), "What each column is"),
        ),
    )


def _build_release_section(
    releases: Mapping[str, Release], sizes: tuple[Mapping[int, int], Mapping[int, int]], k: int
) -> Section:
    rows = [
        (
            HOSPITALS[name],
            release.verdict.rows,
            release.verdict.classes,
            int(release.verdict.judgements[0].reached),
            f"{release.private['loss']:.3f}",
        )
        for name, release in releases.items()
    ]
    return Section(
        "Published, and verified",
        (
            f"Each hospital publishes its table {k}-anonymous: ages become ranges and ZIP codes "
            f"lose digits until every patient shares age, sex and ZIP code with at least {k - 1} "
            "others. The written files were read again and recounted.",
        ),
        (
            Chart(charts.chart_class_sizes(*sizes, k)),
            Table(
                ("hospital", "rows", "classes", "smallest class", "loss: width of cells"),
                tuple(rows),
                "What was published",
            ),
        ),
    )


def _build_joining_section(
    findings: Mapping[str, Finding], people: Sequence[Mapping[str, str]]
) -> Section:
    finding = next(iter(findings.values()))
    after = finding.details["candidates_after"]
    groups = Counter(
        {
            "one diagnosis left": after.get(1, 0),
            "two or three left": after.get(2, 0) + after.get(3, 0),
        }
    )
    groups["four or more left"] = finding.people - sum(groups.values())
    columns = ("name", "age", "sex", "zip", "diagnosis")
    examples = [tuple(people[row - 1][c] for c in columns) for row in finding.worst[:SHOWN]]
    return Section(
        "Joined",
        (
            "Somebody who knows that a person was in both hospitals looks the person up in both "
            "releases and keeps the diagnoses that both allow. " + finding.sentence,
        ),
        (
            KeyFacts(
                (
                    Fact("people in both", f"{finding.people:,}"),
                    Fact(
                        "diagnosis exposed",
                        f"{finding.exposed:,}",
                        format_percent(finding.exposed, finding.people),
                    ),
                    Fact("by one release alone", f"{finding.details['exposed_before']:,}"),
                )
            ),
            Chart(charts.chart_candidates(finding.details["candidates_before"], after)),
            Chart(charts.chart_people(dict(groups))),
            Table(
                columns, tuple(examples), "Some of the people whose diagnosis is exposed (invented)"
            ),
            Callout(
                "Both releases keep their promise. The promise says nothing about a second "
                "release.",
                "warning",
            ),
        ),
    )


def _build_defence_section(findings: Mapping[str, Finding]) -> Section:
    rows = [
        (rule, finding.people, finding.exposed, format_percent(finding.exposed, finding.people))
        for rule, finding in findings.items()
    ]
    return Section(
        "What helps",
        (
            "Asking in addition that every class holds several diagnoses, evenly enough, leaves "
            "the reader with more candidates. It helps; it is no proof against a careless partner.",
        ),
        (
            Table(
                ("rule of both hospitals", "people in both", "exposed", "share"),
                tuple(rows),
                "The same attack on stronger releases",
            ),
        ),
    )


def _build_comparison_section(sides: SideBySide, joined: Finding) -> Section:
    return Section(
        "Classes, or noise",
        (
            "Both hospitals could ask for more of their classes, or publish with noise under "
            "differential privacy: every diagnosis an answer that may be untrue (randomised), or "
            "tables of counts that are a little off (counts). Below the same reader joins two "
            f"releases of each kind. {sides.control:,} of the people in both were taken out of "
            "the tables before, as a control: of these the reader learns only what the tables say "
            "of everybody like them.",
            "Noise costs a small table more than a large one: what one person may change is the "
            "same in both, and the counts are not.",
            f"Two numbers are not those above. Exposed were {joined.rate:.1%} of all "
            f"{joined.people:,} people in both; settled here is a share of the {sides.people:,} "
            "who are left in, in tables without the control, as a mean of several draws. Loss was "
            "how wide cells are; here it is how far columns and pairs of columns have moved, which "
            "can be said of noise too.",
        ),
        render_comparison(sides.to_json()),
    )


# The story


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
    """What happened, and the pages that show it."""

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
        """The figures of every step, and where the pages lie."""
        return to_json_object(
            {
                "edition": EDITION,
                "page": str(self.page),
                "report": str(self.report),
                "linked": self.linked.to_json(),
                "rows": self.look.rows,
                "unique": self.look.unique,
                "releases": {name: release.to_json() for name, release in self.releases.items()},
                "findings": {name: finding.to_json() for name, finding in self.findings.items()},
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
        lines += [
            f"Published {HOSPITALS[name]}: {release}" for name, release in self.releases.items()
        ]
        for rule, finding in self.findings.items():
            lines.append(
                f"Joined, with {rule}: {finding.exposed:,} of {finding.people:,} people in both "
                f"have their diagnosis exposed ({finding.rate:.1%})."
            )
        lines.append(
            f"Classes and noise side by side: {self.sides.sentence} Loss is here how far columns "
            "and pairs of columns have moved, and above how wide cells are."
        )
        lines.append(f"The story with its charts: {self.page}")
        lines.append(f"The report for St. Anna's data steward to sign: {self.report}")
        return "\n".join(lines)


def make_hospital_schema() -> Schema:
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


def make_bounded_schema() -> Schema:
    """The same, with what values there may be: the city's ZIP codes, and a list of diagnoses.

    Noise needs it said, for it may not be taken from the rows.
    """
    return make_hospital_schema().set(
        age=quasi(bounds=(0, 120)),
        sex=quasi(domain=("f", "m")),
        zip=quasi(domain=tuple(ZIPS)),
        diagnosis=sensitive(domain=tuple(DIAGNOSES)),
    )


def demo(out: str | Path = "shoal-demo", progress: Progress = ignore_progress) -> Demo:
    """Link, look, publish both hospitals, verify, join the releases, and write both pages.

    How they would fare under other guarantees is tried in memory, and stands in the page too.

    Parameters
    ----------
    out
        The folder for the releases and the pages; it is made where there is none.
    progress
        Called with the step, how much of it is done, and of how much.

    Returns
    -------
    Demo
        The releases, what attacks found, and where the pages lie: `index.html` tells the story,
        `report.html` is what a data steward would sign.

    Raises
    ------
    OutputError
        The folder cannot be written, or holds files that are not a demo's.

    Examples
    --------
    >>> shoal.demo("shoal-demo").findings["k-anonymity"].exposed  # doctest: +SKIP
    """
    out = ensure_folder(Path(out))
    tables = {name: bundled_path(f"{name}.csv") for name in HOSPITALS}
    progress("linking", 0, 1)
    linked = attack(
        "linking", bundled_path("medical.csv"), targets=bundled_path("voters.csv"), schema=TOWN
    )
    progress("looking", 0, 1)
    overview = look(tables["st_anna"], make_hospital_schema())
    people = find_shared_patients(tables)
    findings: dict[str, Finding] = {}
    first: dict[str, Release] = {}
    for rule, text in RULES.items():
        releases = {
            name: publish(
                table,
                make_hospital_schema(),
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
            "intersection",
            list(releases.values()),
            targets=make_people_table(people),
            schema=make_hospital_schema(),
        )
    sizes = (count_class_sizes(tables["st_anna"]), count_class_sizes(first["st_anna"].path))
    sides = side_by_side(
        tables["st_anna"],
        make_bounded_schema(),
        other=tables["harbour"],
        k=K,
        epsilons=EPSILONS,
        seeds=SEEDS,
        forms=(RANDOMISED, COUNTS),
        progress=progress,
    )
    page = build_demo_page(linked, overview, first, findings, people, sizes, K, sides)
    path = page.write(out / "index.html")
    own, other = first.values()
    steward_report = report(own, others=[other], original=tables["st_anna"], progress=progress)
    signed = steward_report.write(out / "report.html")
    return Demo(path, signed, linked, overview, first, findings, sides)


def find_shared_patients(tables: Mapping[str, Path]) -> list[dict[str, str]]:
    """The people who were patients of both hospitals, as the first one's rows."""
    rows = []
    for table in tables.values():
        with table.open(encoding="utf-8", newline="") as handle:
            rows.append({row["patient"]: row for row in csv.DictReader(handle)})
    return [row for patient, row in sorted(rows[0].items()) if patient in rows[1]]


def count_class_sizes(table: Path) -> dict[int, int]:
    """How many classes of each size the quasi-identifiers of a table make."""
    names = [column.name for column in make_hospital_schema().quasi]
    with table.open(encoding="utf-8", newline="") as handle:
        classes = Counter(tuple(row[name] for name in names) for row in csv.DictReader(handle))
    return dict(Counter(classes.values()))


def make_people_table(people: Sequence[Mapping[str, str]]) -> pa.Table:
    """The people as a table in memory."""
    columns = {name: [row[name] for row in people] for name in people[0]}
    columns["age"] = [int(age) for age in columns["age"]]  # type: ignore[misc]
    return pa.table(columns)
