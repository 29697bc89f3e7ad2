"""Whole or not at all: interrupts, full disks, folders that cannot be written or are taken."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import hanging

import shoal
from shoal.releases import folder

CHILD = """
import os, resource, signal, tempfile
import shoal
signal.signal(signal.SIGINT, signal.default_int_handler)
tempfile.tempdir = None  # what the process that forks has looked up
source, wanted, limit = {words!r}
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
schema = shoal.Schema(()).set(
    patient=shoal.person, name=shoal.identifier, age=shoal.quasi, hospital=shoal.provider,
    sex=shoal.quasi, zip=shoal.quasi, born=shoal.quasi, diagnosis=shoal.sensitive)
def progress(step, done, total):
    if step == wanted:
        print(os.getpid(), flush=True)
shoal.publish(source, schema, "k-anonymity k=4", out="release", progress=progress)
print("done", flush=True)
"""


@pytest.fixture
def child(town, quick_command_line):
    """Start publishing in another process, which writes its number when it is at a step."""
    (town.folder / "tmp").mkdir()

    def start(step, *, source="people.csv", limit=None):
        return subprocess.Popen(
            ["python-block", CHILD.format(words=(source, step, limit))],
            cwd=town.folder,
            env=quick_command_line | {"TMPDIR": str(town.folder / "tmp")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def stop(number, sign):
    with suppress(ProcessLookupError):  # it may be done
        os.kill(number, sign)


def left(town):
    return town.names() - {"people.csv", "people.parquet", "tmp"}


@pytest.mark.parametrize(
    ("step", "wait"),
    [
        ("reading", 0.02),
        ("making classes", 0),
        ("writing", 0),
        ("verifying", 0),
        ("verifying", 0.02),
        ("verifying", 0.05),
    ],
)
def test_ctrl_c_leaves_the_whole_release_or_nothing(town, child, step, wait):
    town.write(town.table, town.people(3000))
    process = child(step)
    number = int(process.stdout.readline())
    time.sleep(wait)
    stop(number, signal.SIGINT)
    process.communicate(timeout=hanging.SECONDS)
    whole_or_nothing(town)
    copies = [path for path in (town.folder / "tmp").rglob("*") if path.is_file()]
    assert not copies


@pytest.mark.parametrize(("step", "wait"), [("writing", 0), ("verifying", 0), ("verifying", 0.03)])
def test_even_a_kill_leaves_the_whole_release_or_nothing(town, child, step, wait):
    process = child(step)
    number = int(process.stdout.readline())
    time.sleep(wait)
    stop(number, signal.SIGKILL)
    process.communicate(timeout=hanging.SECONDS)
    found = {name for name in left(town) if not name.startswith(".")}
    assert found in (set(), {"release", "release.private"}, {"release.private"})
    if "release" in found:
        assert shoal.verify(town.folder / "release").holds


def whole_or_nothing(town):
    if left(town):
        assert left(town) == {"release", "release.private"}
        assert shoal.verify(town.folder / "release").holds


def test_a_refused_file_size_is_an_output_error_and_nothing_is_left(town, child):
    """The operating system refuses to write beyond a few bytes, as a full disk does."""
    rows = town.people(3000)
    table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    pq.write_table(table, town.folder / "people.parquet")  # read in place: nothing else is written
    process = child("writing", source="people.parquet", limit=40_000)
    _, told = process.communicate(timeout=hanging.SECONDS)
    assert process.returncode == 1
    assert "OutputError: The file cannot be written" in told
    assert not left(town)


@pytest.mark.parametrize("name", ["manifest.json", "companion.json"])
def test_a_full_disk_at_the_manifest(town, monkeypatch, name):
    opened = os.open

    def full(path, *args, **settings):
        if Path(path).name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opened(path, *args, **settings)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(shoal.OutputError, match="No space left"):
        town.publish()
    assert not left(town)


@pytest.mark.parametrize("format_", ["csv", "parquet", "xlsx", "feather"])
def test_a_full_disk_at_the_table(town, monkeypatch, format_):
    """/dev/full accepts the opening and refuses every byte."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    opened = Path.open

    def full(self, *args, **settings):
        return opened(
            Path("/dev/full") if self.name.startswith("table.") else self, *args, **settings
        )

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(shoal.OutputError, match="cannot be written"):
        town.publish(format=format_)
    assert not left(town)


def test_a_folder_that_is_missing_or_cannot_be_written(town, monkeypatch):
    with pytest.raises(shoal.OutputError, match="does not exist or cannot be written") as error:
        town.publish(out=town.folder / "nowhere" / "release")
    assert error.value.exit_code == 5
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(shoal.OutputError):
        town.publish()
    monkeypatch.undo()

    def refused(*args, **settings):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(shoal.OutputError):
        town.publish()
    assert not left(town)


def test_an_existing_folder_is_refused_without_replace(town):
    first = town.publish()
    before = first.path.read_bytes()
    with pytest.raises(shoal.UsageError, match="'release' exists already"):
        town.publish("k-anonymity k=9")
    assert first.path.read_bytes() == before
    second = town.publish("k-anonymity k=9", replace=True)
    assert town.sizes(second)[0] >= 9
    assert town.companion(second)["rule"] == "k-anonymity k=9"
    assert left(town) == {"release", "release.private"}


def test_what_is_not_a_release_is_never_replaced(town):
    (town.folder / "release").mkdir()
    (town.folder / "release" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(shoal.UsageError, match="is not a release"):
        town.publish(replace=True)
    (town.folder / "home").mkdir()
    (town.folder / "home" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(shoal.UsageError, match="'home' exists and is not a release"):
        town.publish(out=town.folder / "other", companion=town.folder / "home", replace=True)
    assert (town.folder / "home" / "thesis.txt").exists()


def test_the_companion_of_another_release_is_not_overwritten(town):
    companion = town.folder / "secret"
    town.publish(companion=companion)
    key = (companion / "companion.json").read_bytes()
    with pytest.raises(shoal.UsageError, match="'secret' exists already"):
        town.publish(out=town.folder / "second", companion=companion)
    assert (companion / "companion.json").read_bytes() == key


@pytest.mark.parametrize("inside", ["release/private", "release", "."])
def test_the_companion_may_not_lie_in_the_release_nor_hold_it(town, inside):
    with pytest.raises(shoal.UsageError, match="may not lie in one another"):
        town.publish(companion=town.folder / inside)
    assert not left(town)


def test_a_failure_while_replacing_leaves_the_old_release(town, monkeypatch):
    first = town.publish()
    before = {path: path.read_bytes() for path in first.folder.iterdir()}
    with pytest.raises(shoal.NotMetError):
        town.publish("k-anonymity k=81", replace=True)
    rename, calls = os.rename, []

    def failing(origin, target):
        calls.append(target)
        if len(calls) == 4:  # the last of: old companion, new companion, old table, new table
            raise OSError(errno.EIO, "Input/output error")
        return rename(origin, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(shoal.OutputError):
        town.publish("k-anonymity k=9", replace=True)
    monkeypatch.undo()
    assert {path: path.read_bytes() for path in first.folder.iterdir()} == before
    assert town.companion(first)["rule"] == "k-anonymity k=4"
    assert left(town) == {"release", "release.private"}


def test_an_interrupt_between_the_renames_is_undone(town, monkeypatch):
    rename = os.rename

    def interrupted(origin, target):
        rename(origin, target)
        if Path(target).name == "release.private":
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        town.publish()
    monkeypatch.undo()
    assert not left(town)


def test_a_file_that_does_not_verify_is_not_published(town, monkeypatch):
    verify = "shoal.verbs.publish.judge_frame"
    worse = replace(town.publish(out=town.folder / "first").verdict, holds=False)
    shutil.rmtree(town.folder / "first")
    shutil.rmtree(town.folder / "first.private")
    monkeypatch.setattr(verify, lambda *args, **settings: worse)
    with pytest.raises(shoal.NotMetError, match="written file does not meet the rule"):
        town.publish()
    assert not left(town)


def test_moving_puts_the_last_pair_last(tmp_path):
    for name in "ab":
        (tmp_path / f"new-{name}").mkdir()
        (tmp_path / f"new-{name}" / name).touch()
    pairs = [(tmp_path / f"new-{name}", tmp_path / name) for name in "ab"]
    folder.move_into_place(*pairs, replace=False)
    assert (tmp_path / "a" / "a").exists()
    assert (tmp_path / "b" / "b").exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_what_came_meanwhile_is_not_moved_away(tmp_path):
    for name in ("new-a", "new-b", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    pairs = [(tmp_path / f"new-{name}", tmp_path / name) for name in "ab"]
    with pytest.raises(shoal.UsageError, match="'b' exists already"):
        folder.move_into_place(*pairs, replace=False)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b", "new-a", "new-b"]
    assert (tmp_path / "b" / "b").exists()


def test_an_interrupt_while_the_old_is_removed_leaves_none_of_it(tmp_path, monkeypatch):
    for name in ("new-a", "new-b", "a", "b"):
        (tmp_path / name).mkdir()
    real, calls = folder._remove, []

    def stopped(path):
        calls.append(path)
        real(path)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(folder, "_remove", stopped)
    pairs = [(tmp_path / f"new-{name}", tmp_path / name) for name in "ab"]
    with pytest.raises(KeyboardInterrupt):
        folder.move_into_place(*pairs, replace=True)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "b"]
