"""The page on temporary files lists every file that verbs make and do not keep."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import shoal

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "temporary-files.md"
SOURCE = Path(shoal.__file__).parent.parent
TRACED = """
import os, sys
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

def trace(event, args):
    made = []
    if event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT:
        made = [args[0]]
    elif event in ("os.mkdir", "os.symlink", "os.rename", "os.link"):
        made = [args[0] if event == "os.mkdir" else args[1]]
    for path in made:
        if isinstance(path, (str, bytes, os.PathLike)):
            os.write(log, os.path.abspath(os.fsencode(path)) + b"\\n")

sys.addaudithook(trace)
from shoal.cli.__main__ import run
run()
"""
ROLES = [
    "--person",
    "patient",
    "--provider",
    "hospital",
    "--quasi",
    "age",
    "--quasi",
    "sex",
    "--sensitive",
    "diagnosis",
]
PUBLISH = ["publish", "people.csv", *ROLES, "-m", "k-anonymity k=4", "-o", "release", "-q"]


def listed() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The names that the page lists: in the temporary folder, and beside what is written."""
    inside, *beside = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]

    def pattern(*parts: str) -> re.Pattern[str]:
        cells = [
            line.split("|")[1]
            for part in parts
            for line in part.splitlines()
            if line.startswith("| ")
        ]
        names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
        assert len(names) >= 4
        stands = {"…": "[0-9A-Za-z_.-]+", "NAME": "[^/]+", "XXXXXXXX": "[a-z0-9_]{8}"}
        words = [re.escape(name) for name in names]
        for word, meaning in stands.items():
            words = [one.replace(word, meaning) for one in words]
        return re.compile("|".join(words))

    return pattern(inside), pattern(*beside)


class Watcher:
    """What is seen in a folder while a process runs, by looking again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._done, self.seen = folder, threading.Event(), set[str]()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.003):
            for here, folders, files in os.walk(self._folder):
                self.seen |= {os.path.join(here, name) for name in (*folders, *files)}


def made_by(folder: Path, *arguments: str) -> set[Path]:
    """What a command line makes, whether it keeps it or not."""
    log = folder.parent / f"{folder.name}.log"
    env = os.environ | {"PYTHONPATH": str(SOURCE), "TMPDIR": str(folder / "tmp")}
    before = set(folder.rglob("*"))
    with Watcher(folder) as watcher:
        done = subprocess.run(
            [sys.executable, "-c", TRACED, str(log), *arguments],
            cwd=folder,
            env=env,
            capture_output=True,
            check=False,
        )
    assert done.returncode in (0, 4), done.stderr
    told = set(os.fsdecode(log.read_bytes()).splitlines())
    log.unlink()
    made = {Path(path) for path in told | watcher.seen}
    return {path for path in made - before if path.is_relative_to(folder)}


@pytest.fixture
def town(tmp_path):
    folder = tmp_path / "town"
    (folder / "tmp").mkdir(parents=True)
    rows = ["patient,hospital,age,sex,diagnosis"]
    for i in range(120):
        rows.append(f"p{i},{'EW'[i % 2]},{20 + i % 40},{'fm'[i % 2]},{'ABCDE'[i % 5]}")
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    return folder


def check_listed(town: Path, *arguments: str) -> None:
    """Whatever was made and is gone again is on the page; nothing is left where it was made."""
    inside, beside = listed()
    made = made_by(town, *arguments)
    assert made
    assert list((town / "tmp").iterdir()) == []
    for path in made:
        if path.is_relative_to(town / "tmp"):
            name = str(path.relative_to(town / "tmp"))
            unknown = name != "." and not inside.fullmatch(name)
        else:
            parts = path.relative_to(town).parts
            unknown = not path.exists() and not any(map(beside.fullmatch, parts))
        assert not unknown, path


def test_publish_and_what_follows_make_no_file_that_the_page_does_not_list(town):
    check_listed(town, *PUBLISH)
    check_listed(town, *PUBLISH, "--replace", "--format", "xlsx")
    check_listed(town, "verify", "release")


@pytest.mark.long
def test_no_verb_makes_a_file_that_the_page_does_not_list(town):
    check_listed(town, *PUBLISH)
    check_listed(town, "look", "people.csv")
    check_listed(town, "audit", "release")
    check_listed(town, "attack", "homogeneity", "release")
    check_listed(town, "report", "release", "--original", "people.csv", "-o", "page.html")
    check_listed(
        town,
        "frontier",
        "people.csv",
        *ROLES,
        "-m",
        "k-anonymity k=4",
        "--methods",
        "mondrian",
        "-o",
        "found",
    )
    check_listed(town, "ledger", "init", "--ledger", "book", "--key", "key")
    check_listed(
        town,
        "ledger",
        "admit",
        "release",
        "--ledger",
        "book",
        "--key",
        "key",
        "--people",
        "people.csv",
    )


def test_the_check_can_fail(town):
    inside, beside = listed()
    assert not inside.fullmatch("tmpabc123/1.parquet")
    assert not inside.fullmatch("shoal-xyz/1.parquet")
    assert inside.fullmatch("shoal-tmp-0123456789abcdef/0a1b2c3d/duckdb_temp_1_0_owner")
    assert not beside.fullmatch("draft.csv")
    assert beside.fullmatch(".release-0123456789ab")
