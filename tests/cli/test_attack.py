"""``shoal attack``: what it prints, and how it ends."""

from __future__ import annotations

import json

import pytest

from shoal.attacks import load_attacks
from shoal.cli.attack import command
from shoal.data import bundled

QUASI = "--quasi Zip --quasi Age --quasi Nationality".split()
ROLES = [*QUASI, "--sensitive", "Condition"]


@pytest.fixture
def ganta(here):
    for i in (1, 2):
        text = bundled.path(f"ganta_table1_r{i}.csv").read_text(encoding="utf-8")
        (here / f"R{i}.csv").write_text(text, encoding="utf-8")
    (here / "people.csv").write_text(
        "Zip,Age,Nationality\n13012,28,Japanese\n13012,44,Russian\n", encoding="utf-8"
    )
    return ["R1.csv", "R2.csv", "--targets", "people.csv", *ROLES]


def test_a_finding_is_told_in_full(shoal, ganta):
    done = shoal("attack", "intersection", *ganta)
    assert done.exit_code == 0, done.stderr
    text = done.stdout
    assert text.startswith("1 of 2 people")
    assert "50.0% exposed; sure 100% about the worst-hit" in text
    for part in ("For example:", "Worst-hit rows of targets: 1", "Assumed:", "What helps:"):
        assert part in text
    assert "AIDS" not in text
    assert "AIDS" in shoal("attack", "intersection", *ganta, "--show").stdout


def test_above_the_limit_the_result_is_printed_and_the_code_is_4(shoal, ganta):
    done = shoal("attack", "intersection", *ganta, "--limit", "0.4", "--json")
    assert done.exit_code == 4
    assert json.loads(done.stdout)["rate"] == 0.5
    assert "more than the limit of 40.0%" in done.stderr
    assert shoal("attack", "intersection", *ganta, "--limit", "1%").exit_code == 4
    for limit in ("0.5", "50%", "1"):
        assert shoal("attack", "intersection", *ganta, "--limit", limit).exit_code == 0
    assert shoal("attack", "red-team", *ganta, "--limit", "0.4").exit_code == 4
    quiet = shoal("attack", "intersection", *ganta, "--limit", "0", "-q")
    assert (quiet.exit_code, quiet.stdout) == (4, "")


def test_the_red_team_ranks_and_says_what_did_not_run(shoal, ganta):
    done = shoal("attack", "red-team", *ganta)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Ranked by the share of people exposed")
    assert lines[2].split()[:3] == ["attack", "exposed", "share"]
    assert lines[3].startswith("intersection")
    told, _, rest = done.stdout.partition("Did not run:")
    assert "what helps" in told
    for name in ("complementary", "temporal", "minimality"):
        assert name in rest
    found = json.loads(shoal("attack", "red-team", *ganta, "--json").stdout)
    assert found["findings"][0]["attack"] == "intersection"


def test_relations_samples_and_controls_are_passed_on(shoal, ganta, here):
    (here / "away.csv").write_text("Zip,Age,Nationality\n99999,28,x\n", encoding="utf-8")
    found = json.loads(shoal("attack", "red-team", *ganta, "--over-time", "--json").stdout)
    assert "complementary" in {one["attack"] for one in found["skipped"]}
    done = shoal(
        "attack",
        "intersection",
        *ganta,
        "--sample",
        1,
        "--seed",
        3,
        "--control",
        "away.csv",
        "--location",
        "honest",
        "--json",
    )
    told = json.loads(done.stdout)
    assert told["people"] == 1
    assert told["control"] == 0
    assert told["interval"]
    text = shoal("attack", "intersection", *ganta, "--sample", 1, "--control", "away.csv").stdout
    assert "95 % interval" in text
    assert "of the control group" in text


@pytest.mark.parametrize(
    ("words", "code", "fact"),
    [
        (["intersecton", "R1.csv"], 2, "did you mean 'intersection'?"),
        (["intersection", "R1.csv", "--targets", "people.csv", *ROLES], 2, "needs two releases"),
        (["linking", "R1.csv", *ROLES], 2, "--targets"),
        (["homogeneity", "R1.csv"], 2, "Nothing says what the columns are"),
        (["homogeneity", "R1.csv", *QUASI], 2, "nothing to learn"),
        (["homogeneity", "gone.csv", *ROLES], 5, "no file or folder"),
        (["homogeneity", "R1.csv", "--location", "centroid", *ROLES], 2, "no option 'location'"),
        (["order"], 2, "Missing argument"),
    ],
)
def test_what_is_wrong_is_said(shoal, ganta, words, code, fact):
    done = shoal("attack", *words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert fact in done.stderr


def test_help_names_every_attack(shoal):
    text = " ".join((command.help or "").split())
    assert all(name in text for name in (*load_attacks(), "red-team"))
    assert "--same-table" in shoal("attack", "--help").stdout


def test_the_targets_may_be_a_sheet_of_a_workbook(shoal, tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    book = xlsxwriter.Workbook(tmp_path / "people.xlsx")
    for sheet, rows in (("Cover", [["read me"]]), ("People", [["age"], [30], [41]])):
        page = book.add_worksheet(sheet)
        for i, row in enumerate(rows):
            page.write_row(i, 0, row)
    book.close()
    rows = "[20-35],flu\n" * 2 + "[36-50],flu\n[36-50],cold\n"
    (tmp_path / "table.csv").write_text(f"age,d\n{rows}", encoding="utf-8")
    line = [
        "attack",
        "linking",
        str(tmp_path / "table.csv"),
        "--quasi",
        "age",
        "--sensitive",
        "d",
        "--targets",
        str(tmp_path / "people.xlsx"),
        "--json",
    ]
    assert shoal(*line).exit_code == 2
    found = shoal(*line, "--sheet", "People")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["details"]["settled"] == 1
