"""Publish, killed anywhere: no rows are left, and a place holds the old pair, the new one, or none.

The next command puts right what was begun, before it does anything else.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from pathlib import Path

import pytest
from tests import hanging
from tests.killing import Killer

import shoal
from shoal.core import temporary_files
from shoal.releases import folder

NAME = "Anneliese"
ROLES = ["--person", "name", "--quasi", "age", "--quasi", "sex", "--sensitive", "diagnosis"]
OLD, NEW = "k-anonymity k=4", "k-anonymity k=9"


def publish(rule: str, *more: str) -> list[str]:
    return ["publish", "people.csv", *ROLES, "-m", rule, "-o", "release", "-q", *more]


@pytest.fixture(scope="module")
def killer(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("scratch")))
        with Killer() as killer:
            yield killer


@pytest.fixture
def town(tmp_path):
    drawn = random.Random(3)
    rows = [
        f"{NAME}-{i},{drawn.randint(18, 90)},{drawn.choice('fm')},{drawn.choice('ABCDE')}"
        for i in range(300)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["name,age,sex,diagnosis", *rows]) + "\n")
    return tmp_path


def pair(town: Path) -> tuple[str, str] | None:
    """The rules that the release and its companion were made by."""
    if not (town / "release").exists():
        assert not (town / "release.private").exists()
        return None
    manifest = json.loads((town / "release" / "manifest.json").read_text())
    companion = json.loads((town / "release.private" / "companion.json").read_text())
    assert companion["table_sha256"] == manifest["sha256"]
    return manifest["rule"], companion["rule"]


def check_settled(killer: Killer, town: Path, allowed: set[tuple[str, str] | None]) -> None:
    """The next command finds a whole pair; the next publish leaves nothing but its own."""
    verified = killer.shoal(town, "verify", "release")
    assert pair(town) in allowed
    assert verified.code == (5 if pair(town) is None else 0), verified.err
    assert killer.shoal(town, *publish(OLD, "--replace")).code == 0
    assert {path.name for path in town.iterdir()} == {"people.csv", "release", "release.private"}


def check_no_rows(place: Path) -> None:
    """No file that a name leads to holds anybody's row."""
    for path in place.rglob("*"):
        if path.is_file():
            assert NAME.encode() not in path.read_bytes(), path


def scratch_of(killer: Killer) -> Path:
    return Path(os.environ["TMPDIR"])


def kill_everywhere(killer: Killer, town: Path, replace: bool, points: range | list[int]) -> int:
    """Kill before each of these points; how often the process had not ended before."""
    line, killed = publish(NEW, "--replace") if replace else publish(OLD), 0
    for point in points:
        if replace:
            assert killer.shoal(town, *publish(OLD, "--replace")).code == 0
        else:
            clear(town)
        ended = killer.shoal(town, *line, point=point)
        killed += ended.code == -9
        check_no_rows(scratch_of(killer))
        new, old = (NEW, NEW), (OLD, OLD)
        check_settled(killer, town, {old, new} if replace else {None, old})
    return killed


def count_points(killer: Killer, town: Path, replace: bool) -> int:
    killer.shoal(town, *publish(OLD))
    if not replace:
        clear(town)
    ended = killer.shoal(town, *publish(NEW, *["--replace"] * replace))
    assert ended.code == 0, ended.err
    return ended.points


@pytest.mark.parametrize("replace", [False, True])
def test_killed_while_it_moves_the_place_holds_a_whole_pair(killer, town, replace):
    last = count_points(killer, town, replace)
    assert kill_everywhere(killer, town, replace, range(last - 9, last, 5)) == 2


@pytest.mark.long
@pytest.mark.parametrize("replace", [False, True])
def test_killed_at_every_point_the_place_holds_a_whole_pair(killer, town, replace):
    last = count_points(killer, town, replace)
    assert kill_everywhere(killer, town, replace, range(1, last + 1)) > 20


@pytest.mark.long
@pytest.mark.parametrize("replace", [False, True])
def test_killed_a_hundred_times_at_random_the_place_holds_a_whole_pair(killer, town, replace):
    drawn = random.Random(11)
    line, killed = publish(NEW, "--replace") if replace else publish(OLD), 0
    killer.shoal(town, *line)
    clear(town)
    duration = killer.duration(town, *line)
    for _ in range(400):
        if replace:
            assert killer.shoal(town, *publish(OLD, "--replace")).code == 0
        else:
            clear(town)
        begun = time.monotonic()
        if killer.shoal(town, *line, after=drawn.uniform(0, duration)).code == -9:
            killed += 1
        else:  # the machine may be less busy by now
            duration = time.monotonic() - begun
        check_no_rows(scratch_of(killer))
        check_settled(killer, town, {(OLD, OLD), (NEW, NEW)} if replace else {None, (OLD, OLD)})
        if killed == 100:
            return
    pytest.fail(f"only {killed} of 400 runs were still at work when they were to be killed")


def clear(town: Path) -> None:
    for name in ("release", "release.private"):
        shutil.rmtree(town / name, ignore_errors=True)


@pytest.mark.parametrize("after", range(1, 5))
def test_killed_between_two_renames_every_verb_finds_the_new_pair(town, monkeypatch, after):
    """In this process, as a kill leaves it: the journal is not removed, the lock is let go."""
    schema = shoal.Schema(()).set(
        name=shoal.person, age=shoal.quasi, sex=shoal.quasi, diagnosis=shoal.sensitive
    )
    source, out = town / "people.csv", town / "release"
    shoal.publish(source, schema, OLD, out=out)
    rename, calls = os.rename, []

    class Killed(BaseException):
        pass

    def dying(origin, target):
        if len(calls) == after:
            raise Killed
        calls.append(target)
        rename(origin, target)

    monkeypatch.setattr(os, "rename", dying)
    for name in ("back", "finish"):
        monkeypatch.setattr(folder._Step, name, lambda self: None)
    monkeypatch.setattr(folder._Journal, "remove", lambda self: None)
    monkeypatch.setattr(folder, "_remove", lambda path: None)
    if after < 4:
        with pytest.raises(Killed):
            shoal.publish(source, schema, NEW, out=out, replace=True)
    else:
        shoal.publish(source, schema, NEW, out=out, replace=True)
    monkeypatch.undo()
    assert (town / ".release.journal").exists()
    assert shoal.verify(out).holds
    assert pair(town) == (NEW, NEW)
    assert {path.name for path in town.iterdir()} == {"people.csv", "release", "release.private"}


def test_everything_is_on_the_disk_before_the_next_step(town, monkeypatch):
    """Power may go at any moment: each name is written through before the next is changed."""
    schema = shoal.Schema(()).set(
        age=shoal.quasi, sex=shoal.quasi, diagnosis=shoal.sensitive, name=shoal.person
    )
    shoal.publish(town / "people.csv", schema, OLD, out=town / "release")
    done: list[tuple[str, str]] = []
    rename, fsync = os.rename, os.fsync

    def renaming(origin, target):
        done.append(("rename", str(Path(target).parent)))
        rename(origin, target)

    def writing_through(file):
        done.append(("fsync", os.path.realpath(f"/proc/self/fd/{file}")))
        fsync(file)

    monkeypatch.setattr(os, "rename", renaming)
    monkeypatch.setattr(os, "fsync", writing_through)
    shoal.publish(town / "people.csv", schema, NEW, out=town / "release", replace=True)
    monkeypatch.undo()
    first = next(i for i, (what, _) in enumerate(done) if what == "rename")
    through = [Path(path).name for _, path in done[:first]]
    assert {"table.csv", "manifest.json", "companion.json", "rows.parquet"} <= set(through)
    assert through[-2:] == [".release.journal", town.name]  # the journal last, and its folder
    renames = [i for i, (what, _) in enumerate(done) if what == "rename"]
    assert len(renames) == 4
    for i in renames:
        assert done[i + 1] == ("fsync", done[i][1])


def test_a_companion_elsewhere_is_moved_by_the_same_journal(killer, town):
    elsewhere = town / "vault" / "secret"
    elsewhere.parent.mkdir()
    more = ["--companion", str(elsewhere)]
    assert killer.shoal(town, *publish(OLD, *more)).code == 0
    last = killer.shoal(town, *publish(NEW, "--replace", *more)).points
    for point in range(last - 8, last, 5):
        assert killer.shoal(town, *publish(OLD, "--replace", *more)).code == 0
        killer.shoal(town, *publish(NEW, "--replace", *more), point=point)
        assert killer.shoal(town, "verify", "release").code == 0
        manifest = json.loads((town / "release" / "manifest.json").read_text())
        companion = json.loads((elsewhere / "companion.json").read_text())
        assert companion["table_sha256"] == manifest["sha256"]


def test_a_journal_that_names_other_folders_moves_nothing(town):
    victim, schema = (
        town / "thesis",
        shoal.Schema(()).set(
            age=shoal.quasi, sex=shoal.quasi, diagnosis=shoal.sensitive, name=shoal.person
        ),
    )
    shoal.publish(town / "people.csv", schema, OLD, out=town / "release")
    victim.mkdir()
    (victim / "work.txt").write_text("years")
    moves = [
        {"new": str(victim), "final": str(town / "release"), "old": "thesis", "replaces": True}
    ]
    (town / ".release.journal").write_text(json.dumps({"edition": 1, "moves": moves}))
    assert shoal.verify(town / "release").holds
    assert (victim / "work.txt").read_text() == "years"
    assert not (town / ".release.journal").exists()


def test_two_processes_that_replace_at_once_leave_one_pair(town):
    import subprocess

    patient = f"from shoal.releases import folder; folder.PATIENCE = {hanging.SECONDS}"
    line = [sys.executable, "-c", f"{patient}; from shoal.cli.__main__ import run; run()"]
    env = os.environ | {"PYTHONPATH": str(Path(shoal.__file__).parent.parent)}
    subprocess.run([*line, *publish(OLD)], cwd=town, env=env, check=True)
    both = [
        subprocess.Popen([*line, *publish(rule, "--replace")], cwd=town, env=env)
        for rule in (OLD, NEW)
    ]
    assert [one.wait(timeout=hanging.SECONDS) for one in both] == [0, 0]
    assert pair(town) in {(OLD, OLD), (NEW, NEW)}
    assert {path.name for path in town.iterdir()} == {"people.csv", "release", "release.private"}


# What processes leave in the temporary folder


def test_only_what_dead_processes_of_this_user_left_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {
        "dead": "shoal-tmp-00000000000000aa",
        "link": "shoal-tmp-00000000000000bb",
        "mine": "shoal-demo",
        "other": "shoal-tmp-notours",
    }
    for kind in ("dead", "mine", "other"):
        (tmp_path / names[kind]).mkdir()
        (tmp_path / names[kind] / "rows").write_text(NAME)
    (tmp_path / "precious").mkdir()
    (tmp_path / names["link"]).symlink_to(tmp_path / "precious")
    living = temporary_files.make_folder()
    temporary_files.remove_leftover_folders(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {names["link"], names["mine"], names["other"], "precious", living.parent.name}
    temporary_files.remove_folder(living)
    assert not living.parent.exists()


def test_what_the_engine_spills_has_no_name(tmp_path, monkeypatch):
    from shoal.engines.duckdb import connect

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    engine = connect("100MB")
    made = f"'{NAME}' || i::VARCHAR || repeat('x', 30)"
    rows = engine.sql(f"SELECT {made} AS a, hash(i) AS h FROM range(1500000) t(i) ORDER BY h")
    reader = rows.to_arrow_reader(100_000)
    next(reader)
    spilled = [path for path in tmp_path.rglob("duckdb_temp*") if path.is_symlink()]
    assert sum(path.stat().st_size for path in spilled) > 10_000_000
    assert all(path.is_symlink() or path.is_dir() for path in tmp_path.rglob("*"))
    assert all(os.readlink(path).startswith(f"/proc/{os.getpid()}/fd/") for path in spilled)
    assert sum(batch.num_rows for batch in reader) > 1_000_000
    reader.close()
    engine.close()
    del reader, rows, engine
    assert list(tmp_path.iterdir()) == []


def test_where_names_cannot_be_taken_away_the_spill_is_encrypted(tmp_path, monkeypatch):
    from shoal.engines.duckdb import connect

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(temporary_files, "hide_names", lambda folder: False)
    engine = connect("100MB")
    made = f"'{NAME}' || i::VARCHAR || repeat('x', 30)"
    rows = engine.sql(f"SELECT {made} AS a, hash(i) AS h FROM range(1500000) t(i) ORDER BY h")
    reader = rows.to_arrow_reader(100_000)
    next(reader)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.tmp")) > 10_000_000
    check_no_rows(tmp_path)
    assert sum(batch.num_rows for batch in reader) > 1_000_000
    reader.close()
    engine.close()
    del reader, rows, engine
    assert list(tmp_path.iterdir()) == []
