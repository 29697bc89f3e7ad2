"""``shoal study``: names the studies, runs one, and says how to get the data it lacks."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main

NAMED = {
    *(f"sweeney-figure-{i}" for i in (2, 3, 4, 5)),
    *(f"martin-figure-{i}" for i in (1, 2, 3, 5, 6)),
    *(f"ganta-table-{i}" for i in range(1, 5)),
    *(f"ganta-figure-{i}" for i in range(1, 9)),
    "ganta-centroids",
    "ganta-headline",
    "m-privacy-table-1",
    "m-privacy-table-2",
    "m-privacy-figure-6",
    "m-privacy-anonymisation",
    *(f"sattar-table-{i}" for i in (1, 2)),
    *(f"sattar-figure-{i}" for i in (1, 2, 3)),
    "sweeney-examples",
}
"""What the papers have that can be made again."""


def run(*words, **environment):
    return CliRunner().invoke(main, ["study", *map(str, words)], env=environment)


def test_every_table_and_figure_is_named():
    told = run("--list", "--json")
    assert told.exit_code == 0
    found = json.loads(told.stdout)["studies"]
    assert {one["name"] for one in found} >= NAMED
    assert all(one["shows"] and one["paper"] for one in found)
    shown = run("--list").stdout
    assert all(one["name"] in shown for one in found)


def test_a_study_of_a_printed_table_needs_no_data(tmp_path):
    told = run("sweeney-figure-2", "-o", tmp_path, "--json", "--jobs", 1, SHOAL_DATA="")
    assert told.exit_code == 0
    document = json.loads(told.stdout)
    assert document == json.loads((tmp_path / "sweeney-figure-2/results.json").read_text())
    assert document["claims"]
    assert (tmp_path / "index.html").is_file()


def test_a_stand_in_is_studied_without_the_data_and_marked_in_every_file(tmp_path):
    home = {"SHOAL_DATA": "", "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    told = run("ganta-table-2", "-o", tmp_path, "--stand-in", "--jobs", 1, **home)
    assert told.exit_code == 0, told.output
    assert "made-up people in the shape of Adult" in told.stdout
    folder = tmp_path / "ganta-table-2"
    document = json.loads((folder / "results.json").read_text())
    assert (document["stand_in"], document["claims"]) == (True, [])
    assert document["rows"]
    for name in ("page.html", *(f"{chart}.svg" for chart in document["charts"])):
        assert "Synthetic stand-in" in (folder / name).read_text()
    assert (folder / "results.csv").read_text().splitlines()[0].endswith(",stand_in")
    assert json.loads((tmp_path / "claims.json").read_text())["stand_in"] == ["ganta-table-2"]
    assert "Synthetic stand-in" in (tmp_path / "index.html").read_text()
    again = run("ganta-table-2", "-o", tmp_path, "--stand-in", "--json", "--jobs", 1, **home)
    assert json.loads(again.stdout)["rows"] == document["rows"]


@pytest.mark.parametrize("words", [["ganta-figure-1"], ["--all"]])
def test_without_the_data_it_says_how_to_get_it(tmp_path, words):
    home = {
        "SHOAL_DATA": "",
        "XDG_DATA_HOME": str(tmp_path),
        "LOCALAPPDATA": str(tmp_path),
        "HOME": str(tmp_path),
    }
    told = run(*words, "-o", tmp_path / "studies", **home)
    assert told.exit_code == 5
    for word in ("Hint:", "shoal data fetch", "SHOAL_DATA", "--stand-in", "ipums_la_97.csv.gz"):
        assert word in told.stderr
    assert not list((tmp_path / "studies").glob("*/results.json"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--list"),
        (["sweeney-figure-2", "--all", "-o", "x"], "--list"),
        (["sweeney-figure-2"], "-o DIR"),
        (["--all", "-o", "x", "--data", "t.csv"], "leave --data"),
        (["sweeney-figure-9", "-o", "x"], "did you mean"),
        (["sweeney-figure-2", "-o", "x", "--quasi", "age"], "name the table"),
    ],
)
def test_wrong_usage_is_told(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    told = run(*words)
    assert told.exit_code == 2
    assert said in told.stderr
    assert not list(tmp_path.glob("x/*/results.json"))


@pytest.mark.parametrize("name", sorted(shoal.experiments()))
def test_a_study_says_what_it_is(name):
    paper, found = shoal.experiments()[name]
    assert paper.cited
    assert found.shows
    assert found.seeds >= 1
    json.dumps(dict(found.settings))
    assert not found.own or found.data
