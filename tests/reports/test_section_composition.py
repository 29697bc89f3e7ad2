"""The report's part on composition: earlier releases, a forecast, and the place in the ledger."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

import shoal
from shoal.core.errors import InputError
from shoal.reports.document import Callout, Chart, Fields, KeyFacts, Page, Table, Text
from shoal.reports.options import ReportRequest, list_commands
from shoal.reports.redact import redact_composition
from shoal.reports.redact import redact_evidence as public_evidence
from shoal.reports.release_page import build_release_page
from shoal.reports.report import gather_evidence
from shoal.reports.sections.composition import (
    HEADING,
    build_composition_section,
    list_composition_facts,
)

REASON = "agreed with the board of Harbour"


class Series:
    """A first release, one of the same table that is refused beside it, and one based on it."""

    def __init__(self, town) -> None:
        self.town = town
        self.first = town.publish(out=town.folder / "springtide")
        self.second = town.publish("k-anonymity k=2", out=town.folder / "second", method="hilbert")
        self.based = town.publish(out=town.folder / "based", based_on=self.first)
        self.where = town.folder / "releases.db"
        with shoal.Ledger.init(self.where, name="St Anna") as ledger:
            ledger.admit(self.first, to="the public")
            self.before = ledger.head()
            self.unrecorded = self.evidence("second")
            ledger.admit(self.second, accept_risk=REASON)
            ledger.admit(self.based, accept_risk="for the tests")

    def evidence(self, name):
        return gather_evidence(ReportRequest(getattr(self, name), ledger=self.where))

    @cache  # noqa: B019 (one for all tests)
    def recorded(self, name):
        return self.evidence(name)


@pytest.fixture(scope="module")
def series(standing):
    return Series(standing)


def part(page: Page):
    (sections,) = [section for section in page.sections if section.heading == HEADING]
    return sections


def blocks(page: Page, kind: type) -> list:
    return [block for block in part(page).blocks if isinstance(block, kind)]


def headings(page: Page) -> list[str]:
    return [text.heading for text in blocks(page, Text)]


def page_text(page: Page) -> str:
    return json.dumps(page.to_json(), ensure_ascii=False) + page.html()


def test_without_a_ledger_the_forecast_stands_alone(series):
    page = shoal.report(series.first, original=series.town.table)
    callout, *_ = blocks(page, Callout)
    assert callout.heading == "No ledger was given"
    assert headings(page) == [
        "Together with earlier releases",
        "What a release by somebody else would reveal",
    ]
    data = page.data["composition"]
    assert (data["ledger"], data["admitted"], data["position"]) == (False, None, None)
    alone = shoal.forecast(series.first, original=series.town.table)
    assert data["forecast"]["risk"] == alone.risk
    assert data["forecast"]["settings"]["original"] is True
    (chart,) = blocks(page, Chart)
    assert {row["name"] for row in chart.spec["data"]["values"]} == set(alone.estimates)
    assert Page.from_json(json.loads(json.dumps(page.to_json()))) == page


def test_a_release_that_is_not_recorded_is_judged_and_refused(series):
    page = build_release_page(series.unrecorded)
    data = page.data["composition"]
    assert (data["recorded"], data["admitted"]) == (False, False)
    assert [(one["entry"], one["relation"]) for one in data["judged_with"]] == [(2, "same table")]
    assert blocks(page, Callout)[0].heading == "Refused by the ledger"
    assert blocks(page, Callout)[0].tone == "danger"
    worst = max(one["beyond"] for one in data["findings"] if one["exceeds"])
    assert f"exposes {worst} of " in blocks(page, Callout)[0].text
    (fields,) = [one for one in blocks(page, Fields) if one.items[-1].label == "Signature"]
    assert [one.label for one in fields.items] == ["Head of the ledger", "Signature"]
    assert fields.items[0].value == f"`{series.before}`"
    assert fields.items[1].value == ""  # to be filled in by hand


def test_a_recorded_one_tells_the_reason_and_where_it_stands(series):
    page = build_release_page(series.recorded("second"))
    (callout, *_) = blocks(page, Callout)
    assert (callout.heading, callout.tone) == ("Risk accepted", "warning")
    assert REASON in callout.text
    with shoal.Ledger(series.where) as ledger:
        place, head = ledger.position(series.second), ledger.head()
    data = page.data["composition"]["position"]
    assert (data["entry"], data["hash"]) == (place.entry, place.hash)
    assert data["head"] == {"number": head.number, "hash": head.hash}
    assert f"{place.entry}:{place.hash}" in page_text(page)
    assert str(head) in page_text(page)
    releases = next(table for table in blocks(page, Table) if "how that is known" in table.columns)
    assert releases.rows[0][:3] == (2, "springtide", "St Anna")
    assert blocks(page, KeyFacts)[0].items[0].value == 1


def test_a_reason_is_told_also_where_nothing_or_more_speaks_against_it(series):
    inside = series.recorded("second").composition
    assert inside.admission["overridden"]
    gone = {"overridden": False, "reasons": [], "findings": []}
    more = {"overridden": False, "admitted": False}
    for change, heading in ((gone, "Risk accepted"), (more, "Recorded, but exposing")):
        changed = replace(inside, admission={**inside.admission, **change})
        callout = build_composition_section(changed)[0].blocks[2]
        assert callout.heading == heading
        assert REASON in callout.text
        public = build_composition_section(redact_composition(changed), 10)[0].blocks[2]
        assert (public.heading, REASON in public.text) == (heading, False)


def test_people_who_are_new_to_the_ledger_are_told_inside_alone(series):
    note = "It is the first release about 'poeple'."
    inside = series.unrecorded.composition
    changed = replace(inside, admission={**inside.admission, "notes": [note], "about": "poeple"})
    assert note in str(build_composition_section(changed))
    assert "poeple" not in str(build_composition_section(redact_composition(changed), 10))
    assert "poeple" not in json.dumps(list_composition_facts(redact_composition(changed), 10))


def test_the_public_is_told_no_names_reasons_or_small_counts(series):
    inside = series.recorded("second")
    page = build_release_page(public_evidence(inside, 10))
    shown = page_text(page)
    for secret in (REASON, "springtide", "St Anna", "how that is known", "are then alone"):
        assert secret in page_text(build_release_page(inside))
        assert secret not in shown
    with shoal.Ledger(series.where) as ledger:
        assert str(ledger.head()) in shown
    data = page.data["composition"]
    assert data["accepted_risk"] is True
    assert set(data["forecast"]) == {"risk"}
    assert all(isinstance(finding["beyond"], str) for finding in data["findings"])
    assert not blocks(page, Chart)
    names = [finding["attack"] for finding in data["findings"]]
    assert len(names) == len(set(names))


def test_a_few_people_are_never_counted_in_public(series):
    inside = series.unrecorded.composition
    findings = [{**finding, "beyond": 3, "exposed": 3} for finding in inside.admission["findings"]]
    few = replace(inside, admission={**inside.admission, "findings": findings})
    plain = list_composition_facts(redact_composition(few), 10)
    assert {finding["beyond"] for finding in plain["findings"]} == {"fewer than 10"}
    (sections,) = build_composition_section(redact_composition(few), 10)
    assert "3 of" not in str(sections)


def test_why_there_is_no_forecast_is_said(town):
    schema = town.schema(diagnosis=shoal.identifier)
    page = shoal.report(town.publish(schema=schema))
    assert page.data["composition"]["forecast"] is None
    assert "no sensitive column" in blocks(page, Callout)[-1].text
    town.publish(out=town.folder / "buckets", form="buckets", rule="distinct-diversity l=2")
    page = shoal.report(town.folder / "buckets")
    assert page.data["composition"]["forecast"] is None
    assert page.data["composition"]["why"]
    public = shoal.report(town.folder / "buckets", public=True)
    assert public.data["composition"]["why"] == "It could not be made."


def test_a_ledger_that_is_not_there_is_an_error(series):
    with pytest.raises(InputError):
        shoal.report(series.first, ledger=series.town.folder / "nowhere.db")


def test_an_open_ledger_stays_open_and_an_address_is_not_repeated(series):
    with shoal.Ledger(series.where) as ledger:
        shoal.report(series.first, ledger=ledger)
        assert ledger.head().number == 4
    *_, line = list_commands(
        ReportRequest("r", ledger="postgresql://anna:secret@server/x", key="our.key")
    )
    assert "--ledger LEDGER --key our.key" in line
    *_, line = list_commands(ReportRequest("r", ledger="releases.db"))
    assert "--ledger releases.db" in line
    *_, line = list_commands(ReportRequest("r", ledger="releases.db", about="in/out"))
    assert "--about in/out" in line
