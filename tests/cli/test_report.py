"""`shoal report` as a person types it."""

import json

import pytest


@pytest.fixture
def released(shoal, roles):
    result = shoal("publish", "patients.csv", *roles, "-m", "k-anonymity k=10", "-o", "release")
    assert result.exit_code == 0, result.output


@pytest.mark.usefixtures("released")
def test_a_page_is_written_and_the_verdict_printed(shoal, here):
    result = shoal("report", "release", "-o", "report.html")
    assert result.exit_code == 0, result.output
    assert "meets what it promises (k-anonymity k=10)" in result.stdout
    assert "report.html" in result.stdout
    html = (here / "report.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "Governance" in html
    assert shoal("report", "release", "-o", "report.html", "-q").stdout == ""


@pytest.mark.usefixtures("released")
def test_json_by_name_or_on_standard_output(shoal, here):
    assert shoal("report", "release", "-o", "report.json").exit_code == 0
    written = json.loads((here / "report.json").read_text(encoding="utf-8"))
    printed = json.loads(shoal("report", "release", "--json").stdout)
    assert written == printed
    assert printed["data"]["holds"] is True


@pytest.mark.usefixtures("released")
def test_the_context_and_the_public_version(shoal, here):
    (here / "context.toml").write_text('publisher = "St. Anna"\n', encoding="utf-8")
    line = ("report", "release", "--original", "patients.csv", "--context", "context.toml")
    assert shoal(*line, "-o", "inside.html").exit_code == 0
    assert shoal(*line, "--public", "--title", "For all", "-o", "public.html").exit_code == 0
    inside = (here / "inside.html").read_text(encoding="utf-8")
    public = (here / "public.html").read_text(encoding="utf-8")
    assert "St. Anna" in inside
    assert "St. Anna" in public
    assert "patients.csv" in inside
    assert "patients.csv" not in public
    assert "For all" in public


@pytest.mark.usefixtures("released")
def test_what_may_not_be_written_is_refused(shoal, here):
    (here / "thesis.html").write_text("<p>Mine.", encoding="utf-8")
    for place, why in {
        "thesis.html": "is not a report",
        "release/report.html": "may not lie in a release folder",
        "nowhere/report.html": "cannot be written",
    }.items():
        result = shoal("report", "release", "-o", place)
        assert result.exit_code == 5
        assert why in result.stderr
    assert (here / "thesis.html").read_text(encoding="utf-8") == "<p>Mine."
    assert not (here / "release" / "report.html").exists()
    assert shoal("report", "release", "--public", "-o", "release/report.html").exit_code == 0


@pytest.mark.usefixtures("released")
def test_exit_codes(shoal, roles):
    assert shoal("report", "release").exit_code == 2  # nowhere to write
    assert shoal("report", "release", "-o", "report.docx").exit_code == 2
    assert shoal("report", "nowhere", "-o", "r.html").exit_code == 5
    line = (
        "report",
        "release/table.csv",
        "--quasi",
        "age",
        "--quasi",
        "sex",
        "--quasi",
        "zip",
        "--quasi",
        "admitted",
        "--sensitive",
        "diagnosis",
    )
    failed = shoal(*line, "-m", "k-anonymity k=11", "-o", "r.html")
    assert failed.exit_code == 3
    assert "does NOT meet" in failed.stdout


def test_an_attack_above_the_limit_is_4(shoal, here):
    (here / "t.csv").write_text("age,illness\n30,flu\n30,flu\n40,cold\n40,flu\n", encoding="utf-8")
    line = ("report", "t.csv", "--quasi", "age", "--sensitive", "illness", "-o", "r.html")
    assert shoal(*line, "--limit", "0.4").exit_code == 4
    assert shoal(*line, "--limit", "0.9").exit_code == 0
