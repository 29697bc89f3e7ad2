"""``shoal attack background``: from files, people by name and by row, and in the red team."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal as front
from shoal.cli.main import main

FIGURE = json.loads(
    (Path(__file__).parent.parent / "golden/martin_fig1_3.json").read_text(encoding="utf-8")
)
ROLES = "--quasi Zip --quasi Sex --sensitive Disease --identifier Name".split()
RUN = ["attack", "background", "table.csv", *ROLES]
NAMED = [*RUN, "--targets", "people.csv"]
HANNAH = [
    "--about",
    "Charlie.Disease=Flu",
    "--knowing",
    "Hannah.Disease=Flu -> Charlie.Disease=Flu",
]


@pytest.fixture(autouse=True)
def figure(here):
    """The paper's people, and the table with the classes of its Figure 2."""
    (here / "table.csv").write_text(
        "Zip,Sex,Disease\n"
        + "".join(f"1485*,{row['Sex']},{row['Disease']}\n" for row in FIGURE["fig3"]),
        encoding="utf-8",
    )
    (here / "people.csv").write_text(
        "Name,Nick,Zip,Sex\n"
        + "".join(
            f"{row['Name']},{row['Name'][:2]},{row['Zip']},{row['Sex']}\n" for row in FIGURE["fig1"]
        ),
        encoding="utf-8",
    )
    return here


def found(done):
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_the_worst_case_of_figure_3(shoal):
    told = found(shoal(*RUN, "--json"))  # two pieces, unless it is said otherwise
    assert (told["witness"]["exact"], told["exposed"]) == ("1", 5)
    for kind in ("implications", "negations"):
        assert told["details"]["curve"][kind] == pytest.approx([2 / 5, 2 / 3, 1])
    told = found(shoal(*RUN, "--pieces", 0, "--knowledge", "negations", "--json"))
    assert told["witness"]["exact"] == "2/5"
    told = found(shoal(*RUN, "--pieces", 1, "--json"))
    assert told["witness"]["exact"] == "2/3"
    text = shoal(*RUN, "--pieces", 1).stdout
    assert text.startswith(told["sentence"])
    assert "row 1's person does not have the 2nd most common Disease" in text
    assert "random worlds" in text
    assert "Flu" not in text
    assert "Lung Cancer" in shoal(*RUN, "--pieces", 1, "--show").stdout


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["--about", "Ed.Disease=Lung Cancer"], "2/5"),
        (["--about", "Ed.Disease=Lung Cancer", "--knowing", "not Ed.Disease=Mumps"], "1/2"),
        (
            [
                "--about",
                "Ed.Disease=Lung Cancer",
                "--knowing",
                "not Ed.Disease=Mumps",
                "--knowing",
                "not Ed.Disease=Flu",
            ],
            "1",
        ),
        (HANNAH, "10/19"),
    ],
)
def test_the_formulas_of_the_paper(shoal, asked, expected):
    told = found(shoal(*NAMED, *asked, "--json"))
    assert told["details"]["exact"] == expected
    assert told["table"] == "targets"
    rows = [
        word.replace("Ed.", "#4.").replace("Charlie.", "#2.").replace("Hannah.", "#7.")
        for word in asked
    ]
    told = found(shoal(*RUN, *rows, "--json"))
    assert (told["details"]["exact"], told["table"]) == (expected, "release 1")


def test_names_come_from_a_column_of_the_targets(shoal, here):
    nick = ["--name", "Nick", "--about", "Ed.Disease=Flu", "--knowing", "not Ha.Disease=Flu"]
    assert found(shoal(*NAMED, *nick, "--json"))["details"]["people_mentioned"] == 2
    told = front.attack(
        "background",
        "table.csv",
        schema=front.Schema.of(quasi=["Zip", "Sex"], sensitive=["Disease"]),
        targets="people.csv",
        names="Name",
        about="Ed.Disease=Flu",
        sample=1,
    )
    assert told.details["exact"] == "2/5"
    bare = [word for word in NAMED if word not in ("--identifier", "Name")]
    for words, fact in ((bare, "--name COL"), ([*bare, "--name", "Nickname"], "no column")):
        done = shoal(*words, *HANNAH)
        assert done.exit_code in (2, 5)
        assert fact in done.stderr
    both = shoal(*NAMED, "--identifier", "Nick", *HANNAH)  # which of the two is not said
    assert (both.exit_code, "--name COL" in both.stderr) == (2, True)


def test_what_the_targets_lack_the_adversary_does_not_know(shoal, here):
    lines = (here / "people.csv").read_text(encoding="utf-8").splitlines()
    fewer = "\n".join(line.rpartition(",")[0] for line in lines)
    (here / "people.csv").write_text(fewer, encoding="utf-8")
    told = found(shoal(*NAMED, "--about", "Ed.Disease=Lung Cancer", "--json"))
    assert told["details"]["exact"] == "1/5"
    assert told["details"]["not_looked_up"] == {"columns": ["Sex"]}
    worst = found(shoal(*NAMED, "--pieces", 1, "--json"))  # which does not rest on the targets
    assert worst["witness"]["exact"] == "2/3"


@pytest.mark.parametrize(
    ("asked", "code", "fact"),
    [
        (["--about", "Ted.Disease=Flu"], 2, "1 person is not among the targets (the question)"),
        (["--about", ""], 2, "The atom: there is nothing"),
        (["--about", "Ed.Disease=Flu", "--knowing", ""], 2, "empty text"),
        (["--about", "Ed.Disease=Flu", "--pieces", "2"], 2, "pieces is about the worst case"),
        (["--pieces", "x"], 2, "--pieces"),
        (["--pieces", "99"], 2, "--pieces 2"),
        (["--sure", "2"], 2, "--sure 0.9"),
        (["--about", "Ed.Sex=M"], 2, "another column"),
        (
            ["--about", "Ed.Disease=Flu", "--knowing", "not #11.Disease=Flu"],
            2,
            "rows are #1 to #10",
        ),
        (
            ["--about", "Ed.Disease=Flu", "--knowing", "not Ed.Disease=Flu; Ed.Disease=Flu"],
            5,
            "contradicts",
        ),
        (["--knowing", "not Ed.Disease=Flu"], 2, "--about"),
        (["--pieces", "-1"], 2, "pieces"),
        (["--about", "Ed"], 2, "atom"),
    ],
)
def test_what_is_wrong_is_said(shoal, asked, code, fact):
    done = shoal(*NAMED, *asked)
    assert (done.exit_code, done.stdout) == (code, "")
    assert fact in done.stderr


def test_a_person_who_fits_several_classes_may_be_in_any(shoal, here):
    rows = "[20-30],flu\n[20-30],cold\n[25-40],flu\n[25-40],flu\n[25-40],cold\n"
    (here / "ages.csv").write_text(f"age,d\n{rows}", encoding="utf-8")
    (here / "two.csv").write_text("who,age\nAnn,22\nBob,27\n", encoding="utf-8")
    line = [
        "attack",
        "background",
        "ages.csv",
        "--quasi",
        "age",
        "--sensitive",
        "d",
        "--targets",
        "two.csv",
        "--name",
        "who",
        "--about",
    ]
    assert found(shoal(*line, "Ann.d=flu", "--json"))["details"]["exact"] == "1/2"
    bob = found(shoal(*line, "Bob.d=flu", "--json"))
    assert (bob["details"]["exact"], bob["details"]["lowest_exact"]) == ("2/3", "1/2")
    assert "1 person fits several classes" in bob["sentence"]


def test_above_the_limit_the_code_is_4(shoal):
    assert shoal(*RUN, "--limit", "0.4").exit_code == 4
    assert shoal(*RUN, "--limit", "0.5").exit_code == 0
    assert shoal(*RUN, "--pieces", 1, "--limit", 0).exit_code == 0
    assert shoal(*RUN, "--pieces", 1, "--sure", "0.6", "--limit", 0).exit_code == 4
    knows = ["--about", "#4.Disease=Flu", "--knowing", "#4.Disease=Flu"]
    assert shoal(*RUN, *knows, "--limit", "0.5").exit_code == 4


def test_the_red_team_supposes_nothing_unless_it_is_told_what(shoal):
    run = ["attack", "red-team", "table.csv", *ROLES, "--json"]
    for more in ([], ["--sure", "0.6"]):  # which is an option of another attack too
        told = found(shoal(*run, *more))
        reasons = {one["attack"]: one["reason"] for one in told["skipped"]}
        assert reasons["background"] == (
            "background supposes what nobody is shown to know. Say how much: --pieces 2."
        )
    told = found(shoal(*run, "--pieces", 1, "--sure", "0.6"))
    (one,) = (one for one in told["findings"] if one["attack"] == "background")
    assert (one["witness"]["exact"], one["exposed"]) == ("2/3", 5)
    named = found(shoal(*run, "--targets", "people.csv", *HANNAH))
    (one,) = (one for one in named["findings"] if one["attack"] == "background")
    assert one["details"]["exact"] == "10/19"
    wrong = shoal(*run, "--about", "Ed.Disease=Flu", "--limit", "0.9")  # is not lost on the way
    assert (wrong.exit_code, "--targets" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("also_errors", [False, True])
def test_a_reader_that_has_gone_away_does_not_change_the_code(here, also_errors):
    read, write = os.pipe()
    os.close(read)
    line = [*RUN, "--limit", "0.4"] if also_errors else ["attack", "--help"]
    done = subprocess.run(
        [sys.executable, "-m", "shoal.cli", *line],
        stdout=write,
        stderr=write if also_errors else subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.returncode == (4 if also_errors else 0)
    assert not done.stderr


def test_a_stream_that_is_closed_is_no_internal_error(monkeypatch, here):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        main([*RUN, "--limit", "0.4"])
    assert ended.value.code == 4
    assert sys.stdout is None
