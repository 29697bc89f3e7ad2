"""The demo's page: what was seen, published and exposed, told with charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from shoal.flow.look import Look
from shoal.flow.side_by_side import SideBySide
from shoal.pages import Callout, Chart, Fact, Facts, Page, Section, Table, charts
from shoal.pages.side_by_side import shown
from shoal.release import Finding, Release

HOSPITALS = {"st_anna": "St. Anna", "harbour": "Harbour"}
"""The bundled tables, and what their hospitals are called."""
SHOWN = 8
"""How many of the exposed people the page names; they are invented."""


def tell(
    linked: Finding,
    seen: Look,
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
            _linked(linked),
            _table(seen),
            _published(releases, sizes, k),
            _joined(findings, people),
            _defended(findings),
            _side_by_side(sides, next(iter(findings.values()))),
        ),
        lead="Two hospitals publish their patients' diagnoses, each so that every patient hides "
        "among others. Some people were patients of both. All of them are invented.",
        foot="Made by `shoal demo` from bundled data. What St. Anna's data steward would sign is "
        "`report.html` beside this page.",
    )


def _linked(found: Finding) -> Section:
    certain, details = found.details["certain"], found.details
    return Section(
        "Names are not needed",
        (
            "In another town a medical table is sold without names, but with ZIP code, birth date "
            "and sex. The voter list has these three, and names. Whoever buys both has what "
            "Latanya Sweeney had in 1997, when she found a governor's hospital visit.",
        ),
        (
            Facts(
                (
                    Fact("voters", f"{details['register']:,}"),
                    Fact(
                        "fit a patient's row",
                        f"{found.people:,}",
                        charts.percent(found.people, details["register"]),
                    ),
                    Fact("alone in fitting it", f"{certain:,}", "name and diagnosis together"),
                )
            ),
            Callout("Leaving out names protects nobody. The two hospitals know that.", "warning"),
        ),
    )


def _table(seen: Look) -> Section:
    growth = seen.growth()
    names, unique = [name for name, _ in growth], [count for _, count in growth]
    roles = [(f.name, seen.schema.column(f.name).role, f.kind) for f in seen.fields]
    return Section(
        "The table",
        (
            f"St. Anna's table has {seen.rows:,} rows, one a patient. Names go, but age, sex and "
            f"ZIP code stay, and {seen.unique:,} patients are alone with theirs: whoever knows "
            "these three things about a neighbour finds the neighbour's row. The day of admission "
            "would single out nearly everybody; here it is dropped with the names.",
        ),
        (
            Chart(charts.risk_by_columns(names, unique, seen.rows)),
            Table(("column", "role", "kind"), tuple(roles), "What each column is"),
        ),
    )


def _published(
    releases: Mapping[str, Release], sizes: tuple[Mapping[int, int], Mapping[int, int]], k: int
) -> Section:
    rows = [
        (
            HOSPITALS[name],
            one.verdict.rows,
            one.verdict.classes,
            int(one.verdict.judgements[0].reached),
            f"{one.private['loss']:.3f}",
        )
        for name, one in releases.items()
    ]
    return Section(
        "Published, and verified",
        (
            f"Each hospital publishes its table {k}-anonymous: ages become ranges and ZIP codes "
            f"lose digits until every patient shares age, sex and ZIP code with at least {k - 1} "
            "others. The written files were read again and recounted.",
        ),
        (
            Chart(charts.class_sizes(*sizes, k)),
            Table(
                ("hospital", "rows", "classes", "smallest class", "loss: width of cells"),
                tuple(rows),
                "What was published",
            ),
        ),
    )


def _joined(findings: Mapping[str, Finding], people: Sequence[Mapping[str, str]]) -> Section:
    found = next(iter(findings.values()))
    after = found.details["candidates_after"]
    groups = Counter(
        {
            "one diagnosis left": after.get(1, 0),
            "two or three left": after.get(2, 0) + after.get(3, 0),
        }
    )
    groups["four or more left"] = found.people - sum(groups.values())
    columns = ("name", "age", "sex", "zip", "diagnosis")
    named = [tuple(people[row - 1][c] for c in columns) for row in found.worst[:SHOWN]]
    return Section(
        "Joined",
        (
            "Somebody who knows that a person was in both hospitals looks the person up in both "
            "releases and keeps the diagnoses that both allow. " + found.sentence,
        ),
        (
            Facts(
                (
                    Fact("people in both", f"{found.people:,}"),
                    Fact(
                        "diagnosis exposed",
                        f"{found.exposed:,}",
                        charts.percent(found.exposed, found.people),
                    ),
                    Fact("by one release alone", f"{found.details['exposed_before']:,}"),
                )
            ),
            Chart(charts.candidates(found.details["candidates_before"], after)),
            Chart(charts.people(dict(groups))),
            Table(
                columns, tuple(named), "Some of the people whose diagnosis is exposed (invented)"
            ),
            Callout(
                "Both releases keep their promise. The promise says nothing about a second "
                "release.",
                "warning",
            ),
        ),
    )


def _defended(findings: Mapping[str, Finding]) -> Section:
    rows = [
        (rule, one.people, one.exposed, charts.percent(one.exposed, one.people))
        for rule, one in findings.items()
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


def _side_by_side(sides: SideBySide, joined: Finding) -> Section:
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
        shown(sides.to_json()),
    )
