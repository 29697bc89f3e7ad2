"""Running studies: into a folder, one or all, stopped and gone on with; what is written."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests import hanging

import shoal
from shoal.core import atomic_file
from shoal.releases.folder import lock_folder
from shoal.studies import keys, outcome, running, summary
from shoal.studies.claims import AGREES, DIFFERS, Claim, compute_mean
from shoal.studies.experiment import Experiment, Paper
from shoal.studies.pages.lines import draw_lines
from shoal.studies.running import study, study_all
from shoal.studies.stored_measurements import FILE
from shoal.studies.tables import read_own_table

PAPER = Paper("Somebody 1999", "S. Body, On something, 1999")
ASKED: list[int] = []


def thing(sample, k: int, seed: int) -> dict[str, float]:
    ASKED.append(k)
    return {"found": sample.rows / k + seed}


def measured(lab):
    cells = [
        {"data": data, "k": k, "seed": seed}
        for data in lab.samples
        for k in lab.settings["k"]
        for seed in lab.seeds
    ]
    return lab.measure_cells(thing, cells)


def claimed(rows):
    ours = compute_mean(rows, "found", said="k = 2", unit=" people", k=2)
    verdict = AGREES if ours.mean > 100 else DIFFERS
    return [Claim("There are many.", "about 100", (ours,), verdict, "The table is small.")]


def drawn(rows):
    labels = {"k": "k", "found": "found"}
    title, about = "It falls with k", "Lines: what is found, by k."
    return {
        "found": draw_lines(
            rows, x="k", y="found", by="data", title=title, about=about, labels=labels
        )
    }


def experiment(**changed):
    made = {
        "data": ("adult",),
        "settings": {"k": (2, 4)},
        "seeds": 3,
        "own": True,
        "notes": ("Ours is small.",),
    } | changed
    return Experiment("Figure 1: what is found", measured, claimed, drawn, **made)


def table(rows: int = 8):
    return pa.table({"age": list(range(rows)), "ill": ["x", "y"] * (rows // 2)})


ROLES = shoal.Schema.of(quasi=["age"], sensitive="ill")


@pytest.fixture
def known(monkeypatch):
    """Two studies, of a table that is here."""
    ASKED.clear()
    found = {f"somebody-figure-{i}": (PAPER, experiment(seeds=i)) for i in (1, 3)}
    for module in (running, summary):
        monkeypatch.setattr(module, "experiments", lambda: found)
    monkeypatch.setattr(
        running, "load_datasets", lambda *_: {"adult": read_own_table(table(), ROLES)}
    )
    return found


@pytest.fixture
def theirs(monkeypatch, known):
    """The same table, as if it were the paper's."""
    given = replace(read_own_table(table(), ROLES), name="adult", description="Adult")
    monkeypatch.setattr(running, "load_datasets", lambda *_: {"adult": given})
    return given


def test_a_study_writes_page_numbers_and_chart(theirs, tmp_path):
    found = study("somebody-figure-3", tmp_path)
    folder = tmp_path / "somebody-figure-3"
    names = {"found.svg", "page.html", "results.csv", "results.json"}
    assert {file.name for file in folder.iterdir()} == names
    assert {file.name for file in found.files} == names
    document = json.loads((folder / "results.json").read_text())
    assert document["study"] == "somebody-figure-3"
    assert document["seeds"] == [0, 1, 2]
    assert document["settings"] == {"k": [2, 4]}
    assert document["data"][0]["rows"] == 8
    assert len(document["rows"]) == 6
    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["found"]) for row in rows] == [row["found"] for row in document["rows"]]
    page = (folder / "page.html").read_text()
    assert "There are many." in page
    assert "about 100" in page
    assert "The table is small." in page
    assert PAPER.cited in page


def test_a_claim_is_decided_from_the_numbers_which_are_found_again(theirs, tmp_path):
    found = study("somebody-figure-3", tmp_path)
    (claim,) = found.claims
    assert (claim.verdict, claim.ours[0].mean, claim.ours[0].runs) == (DIFFERS, 5.0, 3)
    assert claim.ours[0].again(found.rows) == claim.ours[0]
    claims = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert claims[0]["results"] == "somebody-figure-3/results.json"
    assert claims[0]["ours"][0]["where"] == {"k": 2}
    assert (tmp_path / claims[0]["results"]).is_file()


def test_of_a_table_of_one_s_own_nothing_is_claimed(known):
    found = study("somebody-figure-3", data=table(4), schema=ROLES)
    assert (found.data[0]["rows"], list(found.claims)) == (4, [])


def test_with_other_settings_nothing_is_claimed(theirs):
    assert study("somebody-figure-3").claims
    assert not study("somebody-figure-3", k=(4,)).claims


def test_a_setting_that_is_not_there_is_refused(known):
    with pytest.raises(shoal.UsageError, match="no setting 'l'"):
        study("somebody-figure-1", l=3)


def test_seeds_are_as_many_as_asked_where_anything_is_drawn(theirs):
    assert len(study("somebody-figure-3", seeds=2).rows) == 4
    assert len(study("somebody-figure-1", seeds=2).rows) == 2
    with pytest.raises(shoal.UsageError):
        study("somebody-figure-3", seeds=0)


def test_a_study_that_is_not_there_is_refused_with_the_nearest(known):
    with pytest.raises(shoal.UsageError, match="did you mean 'somebody-figure-3'"):
        study("somebody-figur-3")


def test_other_settings_are_not_written_over(theirs, tmp_path):
    study("somebody-figure-3", tmp_path)
    before = (tmp_path / "somebody-figure-3" / "results.json").read_text()
    with pytest.raises(shoal.OutputError, match="other settings"):
        study("somebody-figure-3", tmp_path, seeds=2)
    assert (tmp_path / "somebody-figure-3" / "results.json").read_text() == before
    study("somebody-figure-3", tmp_path, seeds=2, replace=True)
    after = json.loads((tmp_path / "somebody-figure-3" / "results.json").read_text())
    assert after["seeds"] == [0, 1]


def test_all_studies_are_run_once_and_gone_on_with(theirs, tmp_path):
    steps, done = [], []
    checked = study_all(
        tmp_path, progress=lambda *step: steps.append(step), told=lambda one: done.append(one.name)
    )
    assert done == ["somebody-figure-1", "somebody-figure-3"]
    assert {name for name, *_ in steps} == {
        "somebody-figure-1 (1 of 2)",
        "somebody-figure-3 (2 of 2)",
    }
    assert len(ASKED) == 6  # the first study's are among the second's
    assert str(checked).startswith("2 studies, 2 claims of the papers checked: 2 differs.")
    study_all(tmp_path)
    assert len(ASKED) == 6
    index = (tmp_path / "index.html").read_text()
    assert "There are many." in index
    assert "somebody-figure-3/page.html" in index


def test_a_stand_in_is_marked_everywhere_and_claims_nothing(monkeypatch, theirs, tmp_path):
    made_up = replace(theirs, stand_in=True)
    monkeypatch.setattr(running, "load_datasets", lambda *_: {"adult": made_up})
    found = study("somebody-figure-3", tmp_path, stand_in=True)
    folder = tmp_path / "somebody-figure-3"
    assert not found.claims
    assert json.loads((folder / "results.json").read_text())["stand_in"] is True
    for name in ("page.html", "found.svg"):
        assert "stand-in" in (folder / name).read_text().lower()
    with (folder / "results.csv").open() as file:
        assert {row["stand_in"] for row in csv.DictReader(file)} == {"made up"}


def test_made_up_people_are_not_written_over_real_ones(monkeypatch, theirs, tmp_path):
    study("somebody-figure-3", tmp_path)
    made_up = replace(theirs, table=table(6), stand_in=True)
    monkeypatch.setattr(running, "load_datasets", lambda *_: {"adult": made_up})
    with pytest.raises(shoal.OutputError, match="or data"):
        study("somebody-figure-3", tmp_path, stand_in=True)


def test_of_a_table_of_one_s_own_no_hash_is_written_and_nothing_is_written_over(known, tmp_path):
    found = study("somebody-figure-3", tmp_path, data=table(4), schema=ROLES)
    hashed = read_own_table(table(4), ROLES).sha256
    assert found.data[0]["sha256"] is None
    for file in (*found.files, tmp_path / "index.html", tmp_path / "claims.json"):
        assert hashed not in file.read_text()
    with pytest.raises(shoal.OutputError, match="or data"):
        study("somebody-figure-3", tmp_path, data=table(4), schema=ROLES)
    study("somebody-figure-3", tmp_path, data=table(4), schema=ROLES, replace=True)


@pytest.mark.parametrize("text", ["[1, 2]", "{}", "not JSON", '{"edition": 1, "study": "a"}'])
def test_results_that_are_not_ours_are_not_written_over(theirs, tmp_path, text):
    place = tmp_path / "somebody-figure-3" / "results.json"
    place.parent.mkdir()
    place.write_text(text)
    with pytest.raises(shoal.OutputError, match="other settings or data"):
        study("somebody-figure-3", tmp_path)
    assert place.read_text() == text
    assert study("somebody-figure-1", tmp_path).claims  # the others' page passes it over
    assert study("somebody-figure-3", tmp_path, replace=True).claims


def test_all_that_stands_in_the_way_is_found_before_anything_is_measured(theirs, tmp_path):
    study("somebody-figure-3", tmp_path, seeds=2)
    ASKED.clear()
    with pytest.raises(shoal.OutputError, match="'somebody-figure-3' holds"):
        study_all(tmp_path)
    assert ASKED == []


def test_a_result_that_is_written_over_leaves_nothing_behind(theirs, known, tmp_path, monkeypatch):
    folder = tmp_path / "somebody-figure-1"
    study("somebody-figure-1", tmp_path)
    (folder / "notes.svg").write_text("the user's own")
    other = experiment(seeds=1)
    renamed = replace(other, charts=lambda rows: {"other": drawn(rows)["found"]})
    monkeypatch.setitem(known, "somebody-figure-1", (PAPER, renamed))
    seen = []
    monkeypatch.setattr(
        outcome,
        "write_file",
        lambda path, text: seen.append(
            (path.name, (folder / "results.json").exists(), (folder / "found.svg").exists())
        ),
    )
    study("somebody-figure-1", tmp_path)
    assert seen == [
        (name, False, False) for name in ("other.svg", "results.csv", "page.html", "results.json")
    ]
    monkeypatch.setattr(outcome, "write_file", atomic_file.write_file)
    study("somebody-figure-1", tmp_path)
    assert {file.name for file in folder.iterdir()} == {
        "notes.svg",
        "other.svg",
        "page.html",
        "results.csv",
        "results.json",
    }


def test_the_summary_says_by_which_code_and_with_which_seeds(theirs, tmp_path, monkeypatch):
    study("somebody-figure-1", tmp_path)
    monkeypatch.setattr(running, "hash_code", lambda: "another")
    study("somebody-figure-3", tmp_path, seeds=2)
    found = summary.check_folder(tmp_path)
    codes = found.to_json()["codes"]
    assert codes == {"somebody-figure-1": keys.hash_code(), "somebody-figure-3": "another"}
    assert "made by different code" in str(found)
    document = found.studies[1]
    assert document["seeds"] == [0, 1]
    assert document["usual"] == {"settings": {"k": [2, 4]}, "seeds": 3}
    assert document["parameters"] == ["data", "k", "seed"]


def test_what_was_measured_before_is_told_apart(theirs, tmp_path):
    first = study("somebody-figure-3", tmp_path).made
    again = study("somebody-figure-3", tmp_path).made
    assert first["before"] == 0
    assert again["before"] == again["seconds"] == pytest.approx(first["seconds"], abs=0.01)


def test_a_row_that_a_study_adds_must_be_plain_too(theirs, known, monkeypatch):
    odd = replace(experiment(), measure=lambda lab: [{"k": 2, "found": float("inf")}])
    monkeypatch.setitem(known, "somebody-figure-3", (PAPER, odd))
    with pytest.raises(shoal.ShoalError, match="no plain value in 'found'"):
        study("somebody-figure-3")


# Stopped, killed, two at once

SCRIPT = """
import os, sys, time
from pathlib import Path

from shoal.studies import running, summary
from shoal.studies.experiment import Experiment, Paper


def slow(n):
    Path(os.environ["PLACE"], f"{n} {os.getpid()}").touch()
    while n > 1 and "WAIT" in os.environ:
        time.sleep(0.05)
    return {"found": n}


def measured(lab):
    return lab.measure_cells(slow, [{"n": n} for n in range(4)])


def known():
    one = Experiment("Figure 1", measured, lambda rows: [], lambda rows: {})
    return {"somebody-figure-1": (Paper("Somebody", "Somebody"), one)}


if __name__ == "__main__":
    from shoal.cli.main import main

    running.experiments = summary.experiments = known
    main()
"""


@pytest.fixture
def begun(tmp_path):
    """Start the study of four cells in two processes, and wait until it is at the third."""
    (tmp_path / "script.py").write_text(SCRIPT)
    source = str(Path(shoal.__file__).parent.parent)
    given = {**os.environ, "PLACE": str(tmp_path), "PYTHONPATH": source}
    line = [sys.executable, "script.py", "study", "somebody-figure-1", "-o", "out", "--jobs"]
    started = []

    def start(jobs: int, **more: str):
        one = subprocess.Popen(
            [*line, str(jobs)],
            cwd=tmp_path,
            env={**given, **more},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(one)
        while "WAIT" in more and not (kept_lines(tmp_path) == 2 and list(tmp_path.glob("[23] *"))):
            assert one.poll() is None, one.communicate()
            time.sleep(0.02)
        return one

    yield start
    for one in started:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
        one.communicate()


def kept_lines(folder: Path) -> int:
    place = folder / "out" / FILE
    lines = place.read_text().splitlines() if place.exists() else []
    return len([json.loads(line) for line in lines])


def gone(folder: Path) -> bool:
    """Whether the processes that were at work have ended."""
    return not any(Path("/proc", one.name.split()[1]).exists() for one in folder.glob("[0-9] *"))


def wait_until_gone(folder: Path) -> None:
    until = time.monotonic() + hanging.SECONDS
    while not gone(folder):
        assert time.monotonic() < until, "processes are still at work"
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_ctrl_c_stops_all_processes_and_the_next_run_goes_on(begun, tmp_path, known):
    first = begun(2, WAIT="1")
    with pytest.raises(shoal.OutputError) as told:
        study("somebody-figure-1", tmp_path / "out")
    assert told.value.fact == "Another run is writing to this folder."
    assert told.value.hint
    os.killpg(first.pid, signal.SIGINT)  # as a terminal does: to every process
    out, err = first.communicate(timeout=hanging.SECONDS)
    assert (first.returncode, out) == (130, "")
    assert err.lstrip().startswith("Stopped.\nHint: ")
    assert "a study goes on from what it has measured" in err
    assert "Traceback" not in err
    wait_until_gone(tmp_path)
    assert kept_lines(tmp_path) == 2
    for file in tmp_path.glob("[0-9] *"):
        file.unlink()
    again = begun(1)
    again.communicate(timeout=hanging.SECONDS)
    assert again.returncode == 0
    assert sorted(file.name[0] for file in tmp_path.glob("[0-9] *")) == ["2", "3"]
    rows = json.loads((tmp_path / "out/somebody-figure-1/results.json").read_text())["rows"]
    assert rows == [{"n": n, "found": n} for n in range(4)]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_run_that_is_killed_leaves_no_process_no_lock_and_no_scratch(begun, tmp_path):
    (tmp_path / "scratch").mkdir()
    first = begun(2, WAIT="1", TMPDIR=str(tmp_path / "scratch"))
    assert list((tmp_path / "scratch").iterdir())
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    wait_until_gone(tmp_path)
    assert kept_lines(tmp_path) == 2
    assert [file.name for file in (tmp_path / "scratch").glob("shoal-study-*")] == []
    with lock_folder(tmp_path / "out", running.LOCK, wait=False):
        pass


def test_a_study_of_the_paper_s_data_alone_refuses_another(monkeypatch, known):
    monkeypatch.setitem(known, "somebody-figure-1", (PAPER, experiment(own=False)))
    with pytest.raises(shoal.UsageError, match="paper's data alone"):
        study("somebody-figure-1", data=table(), schema=ROLES)
    with pytest.raises(shoal.UsageError, match="needs its data"):
        study("somebody-figure-3", schema=ROLES)


def test_a_page_that_is_somebody_else_s_is_not_written_over(theirs, tmp_path):
    (tmp_path / "index.html").write_text("my web site", encoding="utf-8")
    with pytest.raises(shoal.OutputError, match="not replaced"):
        study("somebody-figure-3", tmp_path)
    (tmp_path / "index.html").unlink()
    (tmp_path / "somebody-figure-3").mkdir()
    (tmp_path / "somebody-figure-3" / "page.html").write_text("mine", encoding="utf-8")
    with pytest.raises(shoal.OutputError, match="not replaced"):
        study("somebody-figure-3", tmp_path, replace=True)
    assert (tmp_path / "somebody-figure-3" / "page.html").read_text() == "mine"


def test_one_s_own_table_and_a_stand_in_exclude_each_other(known):
    with pytest.raises(shoal.UsageError, match="needs no stand-in"):
        study("somebody-figure-3", data=table(), schema=ROLES, stand_in=True)
