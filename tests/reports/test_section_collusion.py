"""The report's part on providers: counted with the companion, and never in public."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.releases.companion import read_companion
from shoal.reports.charts.theme import join_title
from shoal.reports.document import Callout, Chart, Fields, Page, Table
from shoal.reports.options import ReportRequest
from shoal.reports.redact import redact_collusion as public_part
from shoal.reports.redact import redact_evidence
from shoal.reports.release_page import build_release_page
from shoal.reports.report import gather_evidence
from shoal.reports.sections import collusion as part_on_providers
from shoal.reports.sections.collusion import HEADING, build_collusion_section, examine_collusion

SITES = ("North", "South", "Harbour", "Hill")
PLAIN = "k-anonymity k=4"
WRAPPED = f"m-privacy m=1 ({PLAIN})"


class Sites:
    """A release with a promise against providers, one without, and one without providers."""

    def __init__(self, folder):
        self.table = folder / "people.csv"
        lines = ["age,sex,diagnosis,site"]
        for i in range(120):
            sick = ("flu", "cold", "asthma", "gout")[i * 7 % 4]
            lines.append(f"{20 + i * 13 % 60},{'fm'[i % 2]},{sick},{SITES[min(i * i % 7, 3)]}")
        self.table.write_text("\n".join(lines), encoding="utf-8")
        self.wrapped = self.publish(folder / "wrapped", WRAPPED, provider="site")
        self.plain = self.publish(folder / "plain", PLAIN, provider="site")
        self.alone = self.publish(folder / "alone", PLAIN, identifier=["site"])

    def publish(self, out, rule, **roles):
        schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["diagnosis"], **roles)
        return shoal.publish(self.table, schema, rule, out=out)

    @cache  # noqa: B019 (one for all tests)
    def evidence(self, name):
        return gather_evidence(ReportRequest(getattr(self, name)))

    def page(self, name, *, public=False):
        evidence = self.evidence(name)
        return build_release_page(redact_evidence(evidence, 5) if public else evidence)

    def asked(self, release, rule, **asked):
        """The part alone."""
        own = read_companion(release, release.path)
        evidence = examine_collusion(release, own, rule, None, **asked)
        return Page("x", tuple(build_collusion_section(evidence)))


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    return Sites(tmp_path_factory.mktemp("sites"))


def part(page: Page):
    return next((section for section in page.sections if section.heading == HEADING), None)


def block(page: Page, kind: type):
    return next(candidate for candidate in part(page).blocks if isinstance(candidate, kind))


def fields(page: Page) -> dict:
    return {fact.label: fact.value for fact in block(page, Fields).items}


def page_text(page: Page) -> str:
    return json.dumps(page.to_json(), ensure_ascii=False)


def survivors(release, k: int) -> list[int]:
    """Brute force: for each m the classes that keep k rows without any coalition of m."""
    rows = pq.read_table(release.companion / "rows.parquet").column("provider").to_pylist()
    classes = defaultdict(Counter)
    lines = release.path.read_text(encoding="utf-8").splitlines()
    heads = lines[0].split(",")
    for line, coalition in zip(lines[1:], rows, strict=True):
        cells = dict(zip(heads, line.split(","), strict=True))
        classes[cells["age"], cells["sex"]][coalition] += 1
    return [
        sum(
            all(
                sum(own.values()) - sum(own[coalition] for coalition in some) >= k
                for some in combinations(own, min(m, len(own) - 1))
            )
            for own in classes.values()
        )
        for m in range(len(SITES))
    ]


@pytest.mark.parametrize("name", ["wrapped", "plain"])
def test_the_chart_has_the_classes_that_brute_force_counts(sites, name):
    page = sites.page(name)
    expected = survivors(getattr(sites, name), 4)
    assert page.data["colluding"]["measured"][0]["survive"] == expected
    drawn = [point["survive"] for point in block(page, Chart).spec["data"]["values"]]
    assert drawn == expected[: len(drawn)]
    assert (expected[1] == expected[0]) is (name == "wrapped")


def test_a_promise_that_is_kept(sites):
    page = sites.page("wrapped")
    outside, _, together = block(page, Table).rows
    assert outside[2] == f"The rule itself: {PLAIN}."
    assert together[2].startswith(f"m-privacy with m = 1: {PLAIN} still holds")
    assert block(page, Callout).tone == "good"
    assert fields(page)["Worst coalition at m = 1"].startswith("Breaks no class")
    assert fields(page)["Providers"] == len(SITES)
    assert page.data["colluding"]["promised"] == [{"m": 1, "rule": PLAIN}]


def test_a_promise_that_is_not_kept_is_a_danger(sites):
    page = sites.asked(sites.plain, WRAPPED)
    assert ["NOT hold" in row[2] for row in block(page, Table).rows] == [False, False, True]
    assert block(page, Callout).tone == "danger"
    assert fields(page)["Worst coalition at m = 1"].startswith("Without ")


def test_what_is_not_promised_is_measured_and_advised(sites):
    page = sites.page("plain")
    assert block(page, Table).rows[2][2].startswith("Nothing is promised. Measured: a single")
    assert block(page, Callout).tone == "warning"
    assert fields(page)["Largest m that every class survives"] == 0
    assert fields(page)["What breaks at m = 1"].startswith("Without ")
    assert WRAPPED in fields(page)["What helps"]


def test_providers_are_named_only_where_they_are_asked_for(sites):
    for name in ("wrapped", "plain"):
        assert not any(site in page_text(sites.page(name)) for site in SITES)
    shown = sites.asked(sites.plain, PLAIN, show=True)
    assert any(site in fields(shown)["What breaks at m = 1"] for site in SITES)


def test_the_public_is_told_the_promise_alone(sites):
    page = sites.page("wrapped", public=True)
    assert [type(shown) for shown in part(page).blocks] == [Table]
    assert "colluding" not in page.data
    assert part(sites.page("plain", public=True)) is None


def test_without_providers_there_is_nothing_new(sites):
    assert part(sites.asked(sites.alone, PLAIN)) is None


def test_a_rule_that_no_coalition_can_be_tried_on_says_why(sites):
    page = sites.asked(sites.plain, "ck-safety c=1 k=1 on=diagnosis")
    assert "no exact test of it is known" in block(page, Callout).text
    assert block(page, Table).rows[2][2] == "Nothing is promised."


def test_parts_beside_m_privacy_are_named(sites):
    page = sites.asked(sites.wrapped, f"{WRAPPED} & distinct-diversity l=1")
    assert fields(page)["Not held against coalitions"] == "`distinct-diversity l=1`"
    assert join_title(block(page, Chart).spec).startswith(f"For {PLAIN} alone: any one provider")
    assert join_title(block(sites.page("wrapped"), Chart).spec).startswith("Any one provider")


def test_each_chart_names_its_rule_where_there_are_several(sites):
    both = f"{WRAPPED} & m-privacy m=1 (distinct-diversity l=1)"
    charts = [
        chart for chart in part(sites.asked(sites.wrapped, both)).blocks if type(chart) is Chart
    ]
    rules = [join_title(chart.spec).partition(" alone: ")[0] for chart in charts]
    assert rules == [f"For {PLAIN}", "For distinct-diversity l=1"]


def test_the_table_is_counted_once_whatever_is_promised(sites, monkeypatch):
    count, times = part_on_providers.count_providers, []
    monkeypatch.setattr(
        part_on_providers,
        "count_providers",
        lambda *some, **more: times.append(some) or count(*some, **more),
    )
    both = f"{WRAPPED} & m-privacy m=1 (distinct-diversity l=1)"
    assert (
        len(
            [
                shown
                for shown in part(sites.asked(sites.wrapped, both)).blocks
                if type(shown) is Chart
            ]
        )
        == 2
    )
    assert len(times) == 1


def test_what_is_measured_of_a_part_says_of_which(sites):
    page = sites.asked(sites.plain, f"{PLAIN} & ck-safety c=1 k=1 on=diagnosis")
    text = f"Nothing is promised. Measured: for {PLAIN} alone: a single provider"
    assert block(page, Table).rows[2][2].startswith(text)


def test_the_public_is_told_which_parts_are_not_held_against_coalitions(sites):
    rule = f"{WRAPPED} & distinct-diversity l=1"
    own = read_companion(sites.wrapped, sites.wrapped.path)
    evidence = examine_collusion(sites.wrapped, own, rule, None)
    page = Page("x", tuple(build_collusion_section(public_part(evidence))))
    assert [type(shown) for shown in part(page).blocks] == [Table, Fields]
    assert fields(page) == {"Not held against coalitions": "`distinct-diversity l=1`"}


def test_a_report_has_it_as_a_section(sites):
    page = shoal.report(sites.wrapped)
    headings = [section.heading for section in page.sections]
    assert headings[headings.index("Identifiability") + 1] == HEADING
