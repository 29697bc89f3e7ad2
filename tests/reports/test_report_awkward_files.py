"""Reports on files that are not as simple as most: kept columns, roles that changed, bounds."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

import shoal
from shoal.core.errors import OutputError, UsageError
from shoal.reports.attack_wording import explain_unmet_needs
from shoal.reports.options import ReportRequest
from shoal.reports.redact import redact_evidence
from shoal.reports.release_page import build_release_page
from shoal.reports.report import gather_evidence


def page_text(page) -> str:
    return json.dumps(page.to_json(), ensure_ascii=False) + page.html()


def facts(page) -> dict:
    return {fact.label: fact for fact in page.sections[0].blocks[0].items}


def commands(page) -> list[list[str]]:
    (code,) = [b for b in page.sections[-1].blocks if b.kind == "code"]
    return [shlex.split(line) for line in code.text.splitlines()]


# Attacks without a sensitive column


def test_releases_in_one_order_are_joined_though_nothing_is_sensitive(town):
    ages = [20 + i % 50 for i in range(100)]
    generalised = [
        {"age": f"[{a // 10 * 10}-{a // 10 * 10 + 9}]", "sex": "fm"[a % 2]} for a in ages
    ]
    other = [{"age": str(a), "sex": "*"} for a in ages]
    first, second = (
        town.write(town.folder / f"{i}.csv", rows) for i, rows in enumerate((generalised, other))
    )
    options = {"schema": shoal.Schema.of(quasi=["age", "sex"]), "relation": "same table"}
    page = shoal.report(first, others=second, **options)  # one alone is no list
    alike = shoal.red_team([first, second], **options)
    assert "order" in [finding["attack"] for finding in page.data["findings"]]
    assert len(page.data["findings"]) == len(alike.findings)
    assert page.data["skipped"] == [{"attack": a, "why": why} for a, why in alike.skipped]
    assert "No attack could be run" not in page_text(page)


def test_the_others_are_not_attacked_without_this_release(town):
    releases = [town.publish(out=town.folder / name) for name in "abc"]
    page = shoal.report(releases[0], others=releases[1:], targets=town.table, sample=20)
    names = [attempt["attack"] for attempt in (*page.data["findings"], *page.data["skipped"])]
    assert names.count("linking") == names.count("homogeneity") == names.count("intersection") == 1
    assert {"order with release 2", "order with release 3"} <= set(names)


def test_a_sensitive_column_that_nobody_tried_to_learn_is_named(town):
    release = town.publish(schema=town.schema(hospital=shoal.sensitive))
    assert "they did not try hospital" in page_text(shoal.report(release, on="diagnosis"))


# Kept columns


@pytest.fixture
def kept(town):
    """Twelve people alike but for a column that is kept as it is."""
    rows = [{"age": "*", "sex": "f", "job": f"j{i}", "dx": "xy"[i % 2]} for i in range(12)]
    schema = shoal.Schema.of(quasi=["age", "sex"], keep=["job"], sensitive=["dx"])
    options = {"schema": schema, "rule": "k-anonymity k=5", "accept_keep": True}
    return town.write(town.folder / "kept.csv", rows), options


def test_kept_columns_count(kept):
    table, options = kept
    page = shoal.report(table, **options)
    assert page.data["risk"]["smallest_class"] == 1
    assert page.data["classes"] == 12
    assert facts(page)["smallest group"].value == "1"
    assert facts(page)["worst attack"].note == "none succeeds"
    lead = "(k-anonymity k=5), which leaves the kept columns out, but NO requirement is about dx."
    assert lead in page.lead
    assert "the smallest group has 1 person" in page_text(page)
    assert "100% of 12 people have a risk of being found above" in page_text(page)


def test_kept_columns_count_in_public_too(kept):
    table, options = kept
    public = shoal.report(table, **options, public=True)
    assert facts(public)["smallest group"].value == "<10"
    assert "no requirement judges them: job." in page_text(public)
    assert "the smallest group has fewer than 10 people" in page_text(public)


def test_kept_columns_count_in_the_original_as_in_the_release(town):
    schema = town.schema(hospital=shoal.keep)
    release = town.publish(schema=schema, accept_keep=True)
    rows = town.published(release)
    sizes = {}
    for row in rows:
        label = tuple(row[name] for name in (*town.quasi, "hospital"))
        sizes[label] = sizes.get(label, 0) + 1
    page = shoal.report(release, original=town.table)
    assert page.data["classes"] == len(sizes)
    assert page.data["risk"]["smallest_class"] == min(sizes.values())


# Buckets


@pytest.fixture(scope="module")
def in_buckets(tmp_path_factory):
    """The evidence on twelve people in buckets, each alone by exact columns, in two tables."""
    folder = tmp_path_factory.mktemp("buckets")
    rows = [f"{20 + i},{'fm'[i % 2]},{'xyz'[i % 3]}" for i in range(12)]
    (folder / "people.csv").write_text("\n".join(["age,sex,dx", *rows]), encoding="utf-8")
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["dx"])
    options = {"form": "buckets", "two_tables": True, "out": folder / "release"}
    release = shoal.publish(folder / "people.csv", schema, "distinct-diversity l=3", **options)
    return gather_evidence(ReportRequest(release, original=folder / "people.csv", limit=1.0))


@pytest.mark.parametrize("public", [False, True])
def test_buckets_are_said_to_hide_nobody(in_buckets, public):
    page = build_release_page(redact_evidence(in_buckets) if public else in_buckets)
    heading = "Everybody in the table can be found in it"
    assert f"{heading}: it is published in buckets." in page.lead
    assert "attacks on its values succeeds." in page.lead
    callouts = [b for b in page.sections[0].blocks if b.kind == "callout"]
    assert (callouts[0].heading, callouts[0].tone) == (heading, "warning")
    assert "(age and sex)" in callouts[0].text
    assert "good" not in [callout.tone for callout in callouts]
    assert "everybody can be found" in facts(page)["worst attack on values"].note
    assert "worst attack" not in facts(page)
    assert page.data["buckets"]
    assert heading in page.sections[-2].blocks[-1].paragraphs[0]
    assert f"{heading}; no attack on its values succeeds" in page_text(page)


@pytest.mark.parametrize("public", [False, True])
def test_what_became_of_columns_in_buckets_is_told_in_the_same_words(in_buckets, public):
    page = build_release_page(redact_evidence(in_buckets) if public else in_buckets)
    fates = {row[0]: row[2] for row in page.sections[2].blocks[0].rows}
    assert fates == {
        "bucket": "number of the class, drawn",
        "age": "exact, as they were",
        "sex": "exact, as they were",
        "dx": "permuted within the bucket",
    }
    done = {fact.label: fact.value for fact in page.sections[-2].blocks[1].items}
    assert done["Form"].startswith("buckets")
    assert done["Exact, as they were"] == "age, sex"
    assert done["Permuted within the bucket"] == "dx"
    assert not {"Generalised", "Published as they are"} & set(done)
    files = {fact.label: fact.value for fact in page.sections[2].blocks[1].items}
    assert files["Files"] == "table.csv and values.csv"
    assert "SHA-256 of the values" in files


def test_the_public_reads_why_buckets_were_not_attacked(in_buckets):
    def why(**changes):
        return dict(redact_evidence(replace(in_buckets, **changes)).skipped)

    assert why()["linking"] == "It looks for people, whom anybody finds in buckets without it."
    assert why()["intersection"] == "It needs two releases that fit together."
    assert (
        why(n_other_releases=1)["intersection"] == "Buckets cannot be compared with other tables."
    )


def test_only_what_was_lacking_is_told_the_public():
    assert explain_unmet_needs("linking") == "It needs people to look for."
    assert (
        explain_unmet_needs("linking", ["people"])
        == "It could not be carried out on what was given."
    )
    assert explain_unmet_needs("minimality", ["people", "method"]) == "It needs a sensitive column."


def test_a_column_called_bucket_makes_no_buckets(town):
    rows = [{"age": str(20 + i % 9), "bucket": "ab"[i % 2], "dx": "xyz"[i % 3]} for i in range(60)]
    table = town.write(town.folder / "bucket.csv", rows)
    schema = shoal.Schema.of(quasi=["age", "bucket"], sensitive=["dx"])
    release = shoal.publish(table, schema, "k-anonymity k=3", out=town.folder / "b")
    page = shoal.report(release, original=table)
    assert not page.data["buckets"]
    titles = [" ".join(b.spec["title"]) for b in page.sections[2].blocks if b.kind == "chart"]
    assert any("distribution of bucket" in title for title in titles)


# Roles and bounds


def test_a_release_that_follows_another_is_reported_with_the_schema_it_was_made_with(town):
    first = town.publish()
    later = town.publish("k-anonymity k=2", out=town.folder / "later", after=first)
    page = shoal.report(later, original=town.table, schema=town.schema())
    assert page.data["holds"]
    roles = {row[0]: row[1] for row in page.sections[2].blocks[0].rows}
    assert roles["diagnosis"] == "quasi"
    assert roles["name"] == "identifier"


def test_targets_may_lie_outside_the_publisher_s_bounds(town):
    columns = (
        replace(c, kind="number", bounds=(18, 90)) if c.name == "age" else c
        for c in town.schema().columns
    )
    release = town.publish(schema=shoal.Schema(tuple(columns)))
    people = [*town.rows, {**town.rows[0], "patient": "new", "name": "new", "age": "97"}]
    page = shoal.report(release, targets=town.write(town.folder / "known.csv", people))
    assert "linking" in [finding["attack"] for finding in page.data["findings"]]


def test_tables_of_people_are_read_as_is_said(town):
    release, other = town.publish(), town.folder / "other.csv"
    other.write_text(town.table.read_text(encoding="utf-8").replace(",", "~"), encoding="utf-8")
    page = shoal.report(release, original=other, reading={"delimiter": "~"})
    assert page.data == shoal.report(release, original=town.table).data


# What is asked


def test_shares_are_checked(town):
    release = town.publish()
    for wrong in ({"limit": 7.0}, {"limit": -0.1}, {"threshold": 1.5}):
        with pytest.raises(UsageError, match=r"The (limit|threshold)"):
            shoal.report(release, **wrong)


def test_the_commands_say_all_that_was_asked(kept, town):
    table, options = kept
    page = shoal.report(table, **options, context={"publisher": "Town"}, limit=1.0, title="Ours")
    verify, report = commands(page)
    roles = "--quasi age --quasi sex --sensitive dx --keep job -m".split()
    assert verify[:3] == ["shoal", "verify", "kept.csv"]
    for line in (verify, report):
        assert set(roles) <= set(line)
        assert "--accept-keep" in line
    assert report[report.index("--context") + 1] == "context.toml"
    kinds = options["schema"].set(age=shoal.quasi(kind="number"))
    assert "schema.toml" in commands(shoal.report(table, **{**options, "schema": kinds}))[1]


# Where it goes


def test_a_page_for_the_publisher_stays_out_of_the_release(town):
    release = town.publish()
    page = shoal.report(release)
    with pytest.raises(OutputError, match="may not lie in a release folder"):
        page.write(release.folder / "report.html")
    written = page.write(town.folder / "report.html")
    assert written.stat().st_mode & 0o777 == 0o600
    assert shoal.report(release, public=True).write(release.folder / "public.html").is_file()


@pytest.mark.parametrize("ending", ["html", "json"])
def test_only_a_report_is_replaced(town, ending):
    page = shoal.report(town.publish())
    target = town.folder / f"mine.{ending}"
    for others in ("<!doctype html><p>My thesis.", '{"edition": 1, "rows": []}', "\udcff"):
        target.write_bytes(others.encode("utf-8", "surrogateescape"))
        with pytest.raises(OutputError, match="is not a page"):
            page.write(target)
        assert target.read_bytes() == others.encode("utf-8", "surrogateescape")
    target.write_text("")
    assert page.write(page.write(target)) == target


@pytest.mark.parametrize("place", ["report.docx", "nowhere/report.html", "release/report.html"])
def test_a_place_that_will_not_do_is_refused_at_once(town, place):
    release, steps = town.publish(), []
    with pytest.raises((OutputError, UsageError)):
        shoal.report(release, out=town.folder / place, progress=lambda *step: steps.append(step))
    assert not steps


def test_out_writes_it(town):
    page = shoal.report(town.publish(), out=town.folder / "report.json")
    assert json.loads((town.folder / "report.json").read_text()) == page.to_json()


def test_a_column_that_is_not_there_is_refused_rather_than_left_unattacked(town):
    with pytest.raises(UsageError, match="to learn"):
        shoal.report(town.publish(), on="nothing of the kind")
