"""The report: every part is there, nothing is invented, and the public version keeps quiet."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import shoal
from shoal.attacks import load_attacks
from shoal.core.axis import Axis
from shoal.core.errors import InputError, NotMetError, UsageError
from shoal.core.release import Finding, Judgement, Verdict
from shoal.measures.risk.assessment import assess
from shoal.reports.attack_wording import ATTACK_WORDING
from shoal.reports.context import read_context
from shoal.reports.distribution import make_distribution
from shoal.reports.document import Callout, Chart, Page
from shoal.reports.evidence import ColumnFate, Evidence
from shoal.reports.redact import redact_evidence
from shoal.reports.release_page import build_release_page, write_release_lead
from shoal.verbs.red_team import rank_findings

FEW = r"(?<![\d.,≥<–-])[1-9] (of|people|rows|classes|others)\b"
"""A count of a few, in words."""
PARTS = ["In short", "Context", "Data", "Identifiability", "Mitigation", "Governance"]


def finding(**changes) -> Finding:
    default = Finding(
        attack="intersection",
        people=400,
        exposed=37,
        sure=1.0,
        guessing=0.25,
        sentence="37 of 400 people have one possible diagnosis left.",
        defence="publish together.",
        example="Row 17 of the targets: 3 values, then 1.",
        assumptions=("the person is in both", "release harbour.csv has 7 rows"),
        worst=(17, 4),
        details={
            "candidates_before": {1: 3, 2: 97, 5: 300},
            "candidates_after": {1: 37, 2: 163, 3: 200},
        },
        control=0.013,
        interval=(0.07, 0.12),
    )
    return replace(default, **changes)


def evidence(**changes) -> Evidence:
    sizes = {4: 20, 8: 25, 30: 4}
    rows = np.repeat(list(sizes), list(sizes.values()))
    default = Evidence(
        rows=400,
        classes=49,
        sizes=sizes,
        risk=assess(rows),
        columns=(
            ColumnFate("age", "quasi", "generalised", 7),
            ColumnFate("surname", "identifier", "dropped"),
        ),
        sizes_before={1: 300, 2: 50},
        verdict=Verdict(True, "counted", 400, 49, (Judgement("k-anonymity k=4", True, 4.0),)),
        measured=(("k-anonymity", 4.0),),
        findings=(finding(),),
        skipped=(("order", "harbour.csv has 3 rows more."),),
        manifest={"file": "table.csv", "rule": "k-anonymity k=4", "method": "mondrian"},
        private={"held_back": 6, "loss": 0.321},
        n_other_releases=1,
        attacked_columns=("diagnosis",),
        commands=("shoal verify town/harbour.csv",),
    )
    return replace(default, **changes)


def texts(page: Page) -> str:
    """Everything that the JSON says, and the HTML without its drawings' coordinates."""
    html = re.sub(r"<style>.*?</style>", "", page.html(), flags=re.DOTALL)
    return json.dumps(page.to_json(), ensure_ascii=False) + re.sub(r"<[^>]+>", "\n", html)


def titles(page: Page) -> list[str]:
    blocks = [block for section in page.sections for block in section.blocks]
    return [" ".join(b.spec["title"]) for b in blocks if isinstance(b, Chart)]


# The page, from evidence made by hand


def test_the_parts_follow_the_standard_and_the_lead_is_the_verdict():
    page = build_release_page(evidence())
    assert [section.heading for section in page.sections] == PARTS
    assert page.lead == (
        "The published table meets what it promises (k-anonymity k=4). The attack on it is "
        "intersection: 37 of 400 people have one possible diagnosis left."
    )
    assert Page.from_json(json.loads(json.dumps(page.to_json(), allow_nan=False))) == page


def test_a_finding_is_told_whole():
    text = texts(build_release_page(evidence()))
    shown = finding()
    for part in (shown.sentence, shown.example, shown.defence, *shown.assumptions, "17, 4"):
        assert part in text
    assert "guessing: 25%; succeeds on 1.3% of the control group" in text
    assert "(95% interval 7.0%–12%)" in text
    assert "harbour.csv has 3 rows more." in text  # an attack that did not run is never hidden


def test_charts_tell_what_they_show():
    chart_titles = titles(build_release_page(evidence()))
    assert chart_titles == [
        "80 published people are in classes smaller than 5",
        "Every requirement is met",
        "20% of 400 people have a risk of being found above the threshold of 20%",
        "Intersection succeeds on 9.2% of 400 people (their value is known for certain)",
        "1 of 1 attacks leaves no doubt about the worst-hit person",
        "Joined, the releases leave 37 of 400 people with a single possible diagnosis; one "
        "release alone left 3",
        "An adversary is certain of the diagnosis of 9.2% of the people; from one release "
        "alone, of 0.8%",
    ]


def test_what_does_not_hold_or_exceeds_the_limit_is_said_first():
    failed = Verdict(False, "counted", 400, 49, (Judgement("k-anonymity k=9", False, 4.0),))
    page = build_release_page(evidence(verdict=failed, limit=0.05))
    assert "does NOT meet k-anonymity k=9" in page.lead
    first = [block.heading for block in page.sections[0].blocks[1:]]
    assert first == ["Requirement not met", "Above the limit"]
    assert (page.data["holds"], page.data["exceeded"]) == (False, ["intersection"])
    calm = build_release_page(evidence(limit=0.1))
    assert calm.sections[0].blocks[1].heading == "Within the limit"


def test_the_worst_attack_is_the_one_that_exposes_the_largest_share_of_people():
    """Findings come ranked: by the share exposed, not by what is added to guessing."""
    many = finding(attack="skewness", exposed=300, sure=0.6, guessing=0.4, sentence="Many.")
    fewer = finding(attack="skewness", exposed=30, sure=0.6, guessing=0.4, sentence="Fewer.")
    assert (
        "by the share of people exposed is skewness: Many."
        in build_release_page(evidence(findings=rank_findings((finding(), many)))).lead
    )
    both = rank_findings((fewer, finding()))
    page = build_release_page(evidence(findings=both))
    assert page.lead.endswith(
        "The worst of 2 attacks on it by the share of people exposed is intersection: "
        + finding().sentence
    )
    tile = page.sections[0].blocks[0].items[3]
    assert (tile.value, tile.note) == ("9.2%", "intersection (their value is known for certain)")
    assert "Intersection succeeds on 9.2% of 400 people (their value" in " ".join(titles(page))
    residual_risk = (
        "As published, intersection succeeds on 9.2% of 400 people (their value is known for"
    )
    assert residual_risk in texts(page)
    public = build_release_page(redact_evidence(evidence(findings=both), 10))
    assert (
        "The worst of 2 attacks on it by the share of people exposed, intersection, succeeds on "
        "10% of 400"
    ) in public.lead
    assert "believed at 50% or more, at least 2 times as much as before" in texts(public)
    nobody = finding(attack="homogeneity", exposed=0, sure=0.5)
    assert "skewness: Many." in build_release_page(evidence(findings=(nobody, many))).lead


def test_nothing_is_green_where_somebody_is_nearly_known():
    def tones(**changes):
        within_limit = evidence(findings=(finding(exposed=0, **changes),), limit=0.5)
        return [
            [
                block.tone
                for section in build_release_page(version).sections
                for block in section.blocks
                if isinstance(block, Callout)
            ]
            for version in (within_limit, redact_evidence(within_limit))
        ]

    assert tones(sure=0.79) == [["good", "good"], ["note", "note"]]
    assert tones(sure=0.8) == [["warning", "warning"], ["note", "note"]]
    page = build_release_page(evidence(findings=(finding(exposed=0, sure=0.95),)))
    assert page.lead.endswith(
        "The attack on it fails, though intersection is 95% sure of somebody."
    )


def test_an_intersection_says_who_was_not_found_and_what_weighing_adds():
    narrowed = {"prior": [4.5, 4.0], "posterior": 2.25, "mean_drop": 1.5, "vulnerable": 300}
    apart = {"asked": 500, "absent": 100, "known_absent": 60, "no_value_left": 7}
    weighted = {
        "calibrated": True,
        "temperature": 1.37,
        "learned_on": 190,
        "judged_on": 210,
        "right": 0.61,
        "right_uniform": 0.5,
        "right_guessing": 0.25,
    }
    details = {**finding().details, **narrowed, **apart}
    intersection = finding(details={**details, "weighted": weighted})
    text = texts(build_release_page(evidence(findings=(intersection,))))
    for part in (
        "3.75",
        "(by each: 4.5 and 4)",
        "2.25",
        "300 people lose at least one",
        "100 of 500 people asked for were not found in all releases and are counted apart (60 "
        "known not to be in one of them, 7 left without a value that is in all).",
        "right about 61% of 210 people, against 50% by choosing among the values left and 25% by "
        "guessing (calibrated on 190 others, temperature 1.37).",
    ):
        assert part in text, part
    assert "asked for" not in texts(
        build_release_page(redact_evidence(evidence(findings=(intersection,))))
    )
    raw = {"calibrated": False, "reason": "no true values are known"}
    text = texts(
        build_release_page(evidence(findings=(finding(details={**details, "weighted": raw}),)))
    )
    assert "was not calibrated: no true values are known." in text


def test_words_of_the_trade_are_explained():
    text = texts(build_release_page(evidence(measured=(("delta-disclosure", float("inf")),))))
    for part in ("a prosecutor knows", "a marketer tries", "Infinite: no number", "1: nothing is"):
        assert part in text, part
    assert "Infinite: no number" not in texts(build_release_page(evidence()))


def test_minimality_examined_a_sample_in_public_too():
    minimality = finding(attack="minimality", details={"classes": 443, "examined_classes": 50})
    text = texts(build_release_page(redact_evidence(evidence(findings=(minimality,)), 10)))
    assert "It examined 50 of 440 classes." in text


def test_public_words_are_from_a_closed_list():
    """Whatever an attack or an error says in free words: a name cannot slip through a list."""
    words = "Harbour clinic: see --targets secret.csv"
    findings = [
        finding(attack=name, assumptions=(words,), defence=words, example=words, sentence=words)
        for name in load_attacks()
    ]
    written_freely = evidence(
        findings=(*findings, finding(attack="own attack", defence=words)),
        skipped=(*((f"{name} with release 3", words) for name in load_attacks()), ("own", words)),
    )
    public = texts(build_release_page(redact_evidence(written_freely)))
    assert "Harbour" not in public
    assert "secret.csv" not in public
    assert "--targets" not in public
    for name in load_attacks():
        assert ATTACK_WORDING[name].assumptions[0] in public
        assert (ATTACK_WORDING[name].defence in public) == (
            name != "coalition"
        )  # by insiders alone


def test_no_attack_and_no_requirement_are_said_too():
    page = build_release_page(evidence(findings=(), verdict=None))
    assert write_release_lead(evidence(findings=(), verdict=None)) == (
        "No requirement was verified. No attack could be run on it."
    )
    assert "No attack could be run." in texts(page)
    failed = build_release_page(evidence(findings=(finding(exposed=0, sure=0.5),)))
    assert failed.lead.endswith("The attack on it fails.")


def test_what_nobody_said_is_a_line_to_fill_in():
    page = build_release_page(
        evidence(context={"publisher": "St. Anna", "environment": "public", "ethics": "7"})
    )
    context, governance = page.sections[1].blocks[0], page.sections[-1].blocks[1]
    answers = {item.label: item.value for item in (*context.items, *governance.items)}
    assert answers["Publisher"] == "St. Anna"
    assert answers["Environment"].startswith("public: anybody")
    assert answers["Ethics"] == "7"
    assert (
        answers["Purpose"]
        == answers["Approved by"]
        == answers["Signature"]
        == answers["Review by"]
        == ""
    )


def test_a_model_of_somebody_s_own_is_judged_without_a_bullet():
    own = Verdict(True, "counted", 400, 49, (Judgement("LargestShare(0.5)", True, 0.4),))
    assert "Every requirement is met" not in titles(build_release_page(evidence(verdict=own)))


# Context


def test_the_context_is_read_from_toml(tmp_path):
    file = tmp_path / "context.toml"
    file.write_text(
        'publisher = " St. Anna "\nreview = 2027-01-31\nrecipient = ["a", "b"]\ncontact = ""'
    )
    assert read_context(file) == {
        "publisher": "St. Anna",
        "review": "2027-01-31",
        "recipient": "a, b",
    }
    assert read_context({"review": date(2027, 1, 31)}) == {"review": "2027-01-31"}
    assert read_context(None) == {}


def test_a_context_that_cannot_be_used_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_context(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("publisher: St. Anna")
    with pytest.raises(InputError, match="not TOML"):
        read_context(tmp_path / "bad.toml")
    with pytest.raises(UsageError, match="environment"):
        read_context({"environment": "moon"})
    with pytest.raises(InputError, match="'publisher' is no text"):
        read_context({"publisher": {"name": "x"}})


# Distributions


def test_bins_have_round_ends_and_count_everybody():
    rng = np.random.default_rng(3)
    for leaves in (
        range(18, 107),
        range(0, 9),
        [0.5, 0.75, 2.25],
        [1990, 2020],
        [7],
        [-12, 400_000],
    ):
        places = np.array(sorted(leaves), float)
        axis = Axis("x", "number", "ordered", tuple(places.tolist()), positions=places)
        before, after = rng.integers(0, 50, (2, len(places))).astype(float)
        distribution = make_distribution(axis, before, after)
        assert 1 <= len(distribution.labels) <= 12
        assert len(distribution.ends) == len(distribution.labels) + 1
        assert (sum(distribution.before), sum(distribution.after)) == (before.sum(), after.sum())
        assert distribution.ends[0] <= places[0] <= places[-1] <= distribution.ends[-1]
        quiet = distribution.redact(10)
        assert all(min(bar) >= 10 for bar in zip(quiet.before, quiet.after, strict=True))
        if quiet.labels:
            assert sum(quiet.before) == before.sum()
            assert quiet.labels[0] == "all values" or quiet.labels[0].startswith("under ")
            assert quiet.labels[-1] == "all values" or quiet.labels[-1].endswith(" and over")


def test_dates_fall_into_years_or_months_and_codes_into_groups():
    days = [date(1950 + i, 3, 2) for i in range(40)]
    axis = Axis(
        "b",
        "date",
        "ordered",
        tuple(days),
        positions=np.array([d.toordinal() for d in days], float),
    )
    assert make_distribution(axis, np.ones(40), np.ones(40)).labels[0] == "1950–1954"
    codes = tuple(f"{i:05d}" for i in range(13000, 13400))
    axis = Axis("z", "code", "tree", codes, null=True)
    distribution = make_distribution(axis, np.ones(401), np.ones(401))
    assert distribution.labels == ("130…", "131…", "132…", "133…", None)
    assert distribution.before == (100, 100, 100, 100, 1)


# What the public may know


def test_the_public_version_says_nothing_of_a_few():
    page = build_release_page(redact_evidence(evidence(), 10), "For all")
    text = texts(page)
    for secret in ("harbour", "Row 17", "0.321", "held back", "surname", "95%", "control group"):
        assert secret not in text, secret
    assert not re.search(FEW, re.sub("means at least [35] people", "", text))
    sentence = (
        "It succeeds on 40 of 400 people drawn at random (10%): their value is known for certain."
    )
    assert sentence in text
    assert "the person is in every release with the same sensitive value" in text
    assert "It needs two releases that fit together." in text
    assert "shoal report RELEASE --public --fewest 10 --threshold 1/5 -o report.html" in text
    assert page.data["findings"] == [{"attack": "intersection", "exposed": "40", "people": "400"}]


def test_a_small_success_is_fewer_than_ten():
    text = texts(build_release_page(redact_evidence(evidence(findings=(finding(exposed=3),)), 10)))
    assert "succeeds on fewer than 10 of 400 people drawn at random (less than 3%)" in text
    assert not re.search(r"\b3 of\b|0\.0075", text)


# From files


def test_a_release_is_reported_from_its_folder(town):
    release = town.publish()
    page = shoal.report(release.folder, original=town.table, context={"publisher": "Town"})
    text = texts(page)
    assert page.lead.startswith("The published table meets what it promises (k-anonymity k=4)")
    assert "patient" in text  # dropped, as the private companion knows
    assert "Rows held back" in text
    assert town.manifest(release)["sha256"] in text
    assert "The distribution of age moved by" in text
    assert "people are in classes smaller than" not in text  # k = 4 is what was asked for
    assert {finding["attack"] for finding in page.data["findings"]} >= {
        "homogeneity",
        "linking",
        "skewness",
    }
    assert {skipped["attack"] for skipped in page.data["skipped"]} >= {"intersection", "order"}
    assert f"shoal report {release.folder.name} --original {town.table.name}" in text
    assert str(release.folder.parent) not in text
    assert shoal.report(release, original=town.table).data == page.data


def test_with_another_release_people_are_intersected(town):
    first = town.publish()
    second = town.publish(out=town.folder / "second", rule="k-anonymity k=7")
    page = shoal.report(first, others=[second], targets=town.table, relation="same table")
    names = [finding["attack"] for finding in page.data["findings"]]
    assert {"intersection", "complementary"} <= set(names)
    assert len(names) == len(set(names))
    assert any(title.startswith("An adversary is certain") for title in titles(page))
    both = shoal.report(
        first,
        others=[second, second],
        targets=town.table,
        relation="same table",
        location="assumed",
    )
    names = [finding["attack"] for finding in both.data["findings"]]
    assert "complementary with release 3" in names
    assert len(names) == len(set(names))


def test_a_table_that_others_made(town):
    table = town.publish().path
    schema = shoal.Schema.of(quasi=["age", "sex", "zip"], sensitive=["diagnosis"])
    plain = shoal.report(table, schema=schema)
    assert plain.lead.startswith("No requirement was verified")
    held = shoal.report(table, schema=schema, rule="k-anonymity k=4")
    assert held.data["holds"] is True
    failed = shoal.report(table, schema=schema, rule="k-anonymity k=40")
    assert failed.data["holds"] is False
    bare = shoal.Schema.of(quasi=["age", "sex", "zip"], identifier=["diagnosis"])
    assert "There is nothing to learn." in texts(shoal.report(table, schema=bare))
    people = [{name: row[name] for name in town.quasi} for row in town.rows]
    register = town.write(town.folder / "register.csv", people)
    page = shoal.report(table, schema=bare, targets=register)
    assert [finding["attack"] for finding in page.data["findings"]] == ["linking"]
    with pytest.raises(UsageError, match="needs the columns' roles"):
        shoal.report(table)


def test_what_cannot_be_reported_is_refused(town):
    release = town.publish()
    with pytest.raises(UsageError, match="threshold"):
        shoal.report(release, threshold=0)
    with pytest.raises(UsageError, match="fewest"):
        shoal.report(release, public=True, fewest=1)
    with pytest.raises(UsageError, match="no option"):
        shoal.report(release, colour="red")
    with_kept_column = town.publish(
        schema=town.schema(born=shoal.keep), accept_keep=True, out=town.folder / "k"
    )
    assert shoal.report(with_kept_column).data["holds"]
    release.path.write_text(release.path.read_text().replace("flu", "cold", 1))
    with pytest.raises((InputError, NotMetError)):
        shoal.report(release)


RARE, OLDEST = "Zebra fever", 107


@pytest.fixture
def exposed(town):
    """A town with a rare value, one very old person, rows held back, and small classes."""
    rows = town.people(300, seed=5)
    for row in rows[:3]:
        row["diagnosis"] = RARE
    rows[0]["age"] = str(OLDEST)
    table = town.write(town.folder / "secretive_town.csv", rows)
    release = town.publish("k-anonymity k=3", source=table, hold_back=0.05)
    return table, release


def test_no_rare_value_maximum_or_small_count_leaves_in_the_public_version(exposed, town):
    table, release = exposed
    other = town.publish("k-anonymity k=3", source=table, out=town.folder / "other_clinic")
    options = {"others": [other], "original": table, "control": table, "relation": "same table"}
    inside = texts(shoal.report(release, **options, show=True))
    assert RARE in inside
    assert "secretive_town" in inside
    page = shoal.report(release, **options, show=True, public=True)
    text = texts(page)
    assert RARE not in text
    assert not re.search(rf"(?<![\d.]){OLDEST}(?![\d.])", text)
    for secret in ("secretive_town", "other_clinic", "held back", "Loss", "Row ", "companion"):
        assert secret not in text, secret
    assert not re.search(FEW, re.sub("means at least [35] people", "", text))
    for spec in charts_of(page):
        for row in spec["data"]["values"]:
            assert not {"people", "exposed", "unique"} & set(row)
            assert row["share"] == round(row["share"], 2)


def test_each_public_bar_stands_for_enough_people(exposed):
    table, release = exposed
    page = shoal.report(release, original=table, public=True, fewest=20)
    with release.path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    drawn = [spec for spec in charts_of(page) if "diagnosis" in " ".join(spec["title"])]
    shown = {row["label"] for spec in drawn for row in spec["data"]["values"]} - {"other values"}
    assert shown
    for label in shown:
        assert sum(row["diagnosis"] == label for row in rows) >= 20


def charts_of(page: Page) -> list[dict]:
    return [b.spec for section in page.sections for b in section.blocks if isinstance(b, Chart)]
