"""Runs Shoal as its users do: the command line and ``import shoal``, nothing inside.

A loaded process forks for every command, so that a command finds everything imported and kernels
in memory, and leaves nothing to the next but the files that it wrote.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import io
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import shoal

ROOT = Path(__file__).parent.parent.parent
COMMAND = "shoal.cli.main:main"
"""Where the command tree stands: the one name of the recording that is not public."""
KEPT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "NUMBA_CACHE_DIR")
SCHEMA = """
[columns]
patient = "identifier"
name = "identifier"
zip = "quasi"
sex = "quasi"
age = "quasi"
admitted = "drop"
diagnosis = "sensitive"
"""


class Entropy:
    """What stands in for the operating system's entropy, so that rows have the same order each
    time: bytes that depend on who asks, for how many, and how often so many were asked for.
    """

    def __init__(self, asker: str) -> None:
        self._asker = asker
        self._times: Counter[int] = Counter()

    def __call__(self, size: int) -> bytes:
        self._times[size] += 1
        return hashlib.shake_256(f"{size} {self._times[size]} {self._asker}".encode()).digest(size)


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int
    out: str
    err: str


def command_tree() -> click.Group:
    """The click commands of ``shoal``."""
    module, _, name = COMMAND.partition(":")
    tree: click.Group = getattr(importlib.import_module(module), name)
    return tree


def load(*, is_warm: bool) -> None:
    """Import all that is public, and to be warm run what most commands need; forks inherit it."""
    for name in shoal.__all__:
        getattr(shoal, name)
    tree = command_tree()
    context = click.Context(tree)
    for name in tree.list_commands(context):
        tree.get_command(context, name)
    if is_warm:
        _warm()
    gc.collect()  # closes connections, whose threads no fork would have


def _warm() -> None:
    quiet = contextlib.redirect_stderr(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Path(folder) / "people.csv"
        rows = shoal.bundled.path("st_anna.csv").read_text(encoding="utf-8").splitlines(True)
        table.write_text("".join(rows[:301]), encoding="utf-8")
        schema = shoal.Schema.parse(SCHEMA)
        rule = "k-anonymity k=5 & entropy-diversity l=2"
        release = shoal.publish(table, schema, rule, out=Path(folder) / "release")
        shoal.report(release, original=table)
        shoal.attack("red-team", [release, release], targets=table, schema=schema)
        shoal.forecast(release, original=table, repeats=2)


def run_command(arguments: list[str], folder: Path, entropy: Entropy | None) -> Ending:
    """Run ``shoal ARGUMENTS`` in a folder; what is drawn, from this entropy if given."""

    def start() -> None:
        sys.argv = ["shoal", *arguments]
        command_tree().main(prog_name="shoal")

    return run_forked(start, folder, entropy)


def run_forked(start: Callable[[], Any], folder: Path, entropy: Entropy | None) -> Ending:
    """Call a function in a fork that has a folder, an environment and outlets of its own."""
    files = [os.memfd_create(name) for name in ("out", "err")]
    child = os.fork()
    if child == 0:
        _become(start, folder, entropy, files)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    texts = []
    for file in files:
        os.lseek(file, 0, os.SEEK_SET)
        with os.fdopen(file, encoding="utf-8", errors="replace", newline="") as stream:
            texts.append(stream.read())
    return Ending(code, *texts)


def _become(
    start: Callable[[], Any], folder: Path, entropy: Entropy | None, files: list[int]
) -> None:
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for place, file in enumerate(files, 1):
            os.dup2(file, place)
        sys.stdin, sys.stdout, sys.stderr = (
            open(place, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            for place, mode in enumerate("rww")
        )
        os.chdir(folder)
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        os.environ.clear()
        home, tempfile.tempdir = folder / ".home", None
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        os.environ.update(
            {
                **kept,
                "HOME": str(home),
                "TMPDIR": str(home / "tmp"),
                "TZ": "UTC",
                "COLUMNS": "100",
                "NO_COLOR": "1",
            }
        )
        if entropy is not None:
            os.urandom = random._urandom = entropy  # type: ignore[attr-defined, assignment]
        start()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
