"""``shoal forecast``: estimators in a table, classes at risk, a limit, a page, a validation."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner
from tests.cli.conftest import ROLES

from shoal.cli.main import main
from shoal.data import bundled

QUICK = ("--repeats", "3")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release of the table of these tests, with its companion, to be copied."""
    folder = tmp_path_factory.mktemp("made")
    lines = bundled.path("st_anna.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "patients.csv").write_text("".join(lines[:401]), encoding="utf-8")
    asked = f"publish {folder / 'patients.csv'} {ROLES} -o {folder / 'release'} -q -m".split()
    result = CliRunner().invoke(main, [*asked, "k-anonymity k=4"])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def forecast(shoal, made, here):
    for name in ("release", "release.private"):
        shutil.copytree(made / name, here / name)
    return lambda *more: shoal("forecast", "release", *QUICK, *more)


def test_it_tells_estimators_classes_and_suppositions(forecast):
    result = forecast("--original", "patients.csv", "--overlap", "50%")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "would be exposed by one other release of 400 rows" in lines[0]
    assert "if 50.0% of our people are in it" in lines[0]
    table = lines[2:7]
    assert [line.split("  ")[0] for line in table] == ["", "*", "", "", ""]
    for name, line in zip(
        ("simulation", "closed form", "paper, at least", "paper, best subset"),
        table[1:],
        strict=True,
    ):
        assert line[3:].startswith(name)
        assert "%" in line
    assert "too few repeats  others publish by mondrian under k-anonymity k=4" in table[1]
    assert "fewer than 2 values already, without any other release." in result.stdout
    start = lines.index("The classes most at risk, by simulation:")
    assert lines[start + 1].split() == ["class", "first", "row", "rows", "values", "chance"]
    assert len(lines[start + 2 : lines.index("", start)]) == 10
    supposed = lines[lines.index("Supposed:") + 1 :]
    assert supposed[0] == (
        "- people's own columns are those of the original table, by cells and value"
    )
    assert any(line.startswith("- closed form: ") for line in supposed)


def test_labels_are_for_who_asks(forecast):
    result = forecast("--overlap", "200", "--show")
    head = next(line for line in result.stdout.splitlines() if line.startswith("class  first row"))
    assert head.split()[-4:] == ["age", "sex", "zip", "admitted"]


@pytest.mark.parametrize(("written", "people"), [("0.25", 100), ("120", 120), ("1", 400)])
def test_an_overlap_is_a_share_or_a_number(forecast, written, people):
    told = json.loads(forecast("--overlap", written, "--json").stdout)
    assert told["edition"] == 1
    assert told["settings"]["people"] == people


def test_others_are_as_told(forecast):
    asked = ("--others", "2", "--rows", "300", "--l", "3", "--method", "hilbert", "--seed", "5")
    told = json.loads(forecast(*asked, "-m", "k-anonymity k=6", "--json").stdout)["settings"]
    assert (told["others"], told["rows"], told["l"], told["seed"]) == (2, 300, 3, 5)
    assert (told["method"], told["rule"]) == ("hilbert", "k-anonymity k=6")


def test_a_limit_that_is_exceeded_is_4(forecast):
    over = forecast("--overlap", "50%", "--limit", "0.1%", "--json")
    assert over.exit_code == 4
    assert json.loads(over.stdout)["risk"] > 0.001
    assert forecast("--overlap", "50%", "--limit", "100%").exit_code == 0


def test_the_page(forecast, here):
    result = forecast("-o", "forecast.html")
    assert result.stdout.endswith("The page: forecast.html\n")
    assert "<svg" in (here / "forecast.html").read_text(encoding="utf-8")
    inside = forecast("-o", "release/forecast.html")  # others would see it
    assert inside.exit_code == 5
    assert "--public" not in inside.stderr
    assert not (here / "release" / "forecast.html").exists()


@pytest.mark.parametrize(
    ("asked", "code", "told"),
    [
        (("--overlap", "150%"), 2, "write for example 0.1, 10% or 500."),
        (("--overlap", "1.5"), 2, "is no overlap"),
        (("--overlap", "nan"), 2, "is no overlap"),
        (("--overlap", "inf"), 2, "is no overlap"),
        (("--overlap", "1e400"), 2, "is no overlap"),
        (("--overlap", "1e999999"), 2, "is no overlap"),
        (("--seed", "-1"), 2, "seed is a whole number from 0 on."),
        (("--overlap", "401"), 2, "401 of our people cannot be in another release"),
        (("--overlap", "5%", "--overlap", "9%"), 2, "A forecast takes one --overlap."),
        (("--l", "2", "--l", "3"), 2, "A forecast takes one --l."),
        (("--k", "5"), 2, "--k and --seeds are for --validate."),
        (("--on", "zip"), 2, "There is no sensitive column 'zip'.\nHint: name one of: diagnosis."),
        (("-o", "page.pdf"), 2, "A forecast is written as HTML or JSON.\nHint: Name it forecast"),
        (("--original", "nowhere.csv"), 5, "nowhere.csv"),
        (("-m", "distinct-diversity l=99"), 3, "Another's table could not be published"),
    ],
)
def test_what_cannot_be_asked(forecast, asked, code, told):
    result = forecast(*asked)
    assert result.exit_code == code, result.output
    assert told in result.stderr


def test_what_is_no_release_is_told_as_that(shoal, forecast, here):
    assert forecast().exit_code == 0
    (here / "empty.csv").write_bytes(b"")
    for source, told in {
        "empty.csv": "empty.csv is empty.",
        "release.private": "'release.private' is the private companion of a release",
    }.items():
        found = shoal("forecast", source)
        assert found.exit_code == 5
        assert told in found.stderr


def test_the_help_says_what_is_printed(shoal):
    text = " ".join(shoal("forecast", "--help").stdout.split())
    assert "Three estimators stand beside each other, the paper's in two readings" in text
    assert "None" not in text


# Held against the truth


@pytest.fixture
def validate(shoal, roles):
    asked = ("--overlap", "60", "--k", "3", "--seeds", "1", "--repeats", "2")
    return lambda *more: shoal("forecast", "--validate", "patients.csv", *roles, *asked, *more)


def test_a_validation_tells_how_far_each_estimator_is_off(validate, here):
    result = validate("--k", "5", "--l", "2", "--l", "3", "-o", "validation.html")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("4 trials on samples of 170 of 400 rows: ")
    assert lines[2].split() == [
        "estimator",
        "error",
        "bias",
        "correlation",
        "Brier",
        "score",
        "covered",
    ]
    assert "No interval was told: it takes 19 repeats." in lines
    assert [line[:18].strip() for line in lines[3:7]] == [
        "simulation",
        "closed form",
        "paper, at least",
        "paper, best subset",
    ]
    assert "The table has 400 rows" in result.stdout
    page = (here / "validation.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "How true forecasts come" in page


def test_a_validation_as_json(validate):
    told = json.loads(validate("--json").stdout)
    assert told["edition"] == 1
    assert [(one["k"], one["l"], one["overlap"]) for one in told["trials"]] == [
        (3, 2, 60),
        (3, 3, 60),
    ]
    assert all(0 <= one["brier"] <= 1 for one in told["scores"].values())


@pytest.mark.parametrize("other", [("--limit", "5%"), ("--others", "2"), ("--original", "x.csv")])
def test_a_validation_takes_its_own_options_only(validate, other):
    result = validate(*other)
    assert result.exit_code == 2
    assert "--validate draws its own releases" in result.stderr


def test_a_page_has_its_place_before_anything_is_drawn(validate, here):
    assert validate("-o", "nowhere/page.html").exit_code == 5
    assert validate("-o", "page.pdf").exit_code == 2
