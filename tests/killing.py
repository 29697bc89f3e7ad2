"""Command lines that are killed with SIGKILL, at a chosen point or moment.

A point is where a process is about to change something that outlives it: opening a file to write,
renaming, removing, making a folder, locking, or a statement or commit of a database. A loaded
process forks for every call, so that many kills take little time.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOADED = ("shoal.ledger.ledger", "shoal.pool", "shoal.verbs.publish", "shoal.verbs.verify")
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "fcntl.flock", "os.link"})


@dataclass(frozen=True)
class Ended:
    """How a call ended: its exit code (-9 where it was killed), what it said, and its points."""

    code: int
    out: str
    err: str
    points: int


class Killer:
    """Runs ``shoal`` in forks of one loaded process; a context manager."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # A compiled module that is written would be a point, the first time.
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        )

    def __enter__(self) -> Killer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(timeout=900)

    def shoal(
        self, folder: Path, *args: object, point: int | None = None, after: float | None = None
    ) -> Ended:
        """Run a command line in a folder, killed before its nth ``point`` or ``after`` seconds."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        asked = {"folder": str(folder), "args": [*map(str, args)], "point": point, "after": after}
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        return Ended(**json.loads(self._server.stdout.readline()))

    def duration(self, folder: Path, *args: object) -> float:
        """How many seconds a command line takes when nobody kills it."""
        begun = time.monotonic()
        ended = self.shoal(folder, *args)
        assert ended.code == 0, ended.err
        return time.monotonic() - begun


def serve() -> None:
    """Fork for every line of standard input."""
    from shoal.cli.main import main

    for name in LOADED:
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        print(json.dumps(call(json.loads(line), main)), file=answers, flush=True)


def call(asked: dict[str, Any], main: Any) -> dict[str, Any]:
    files = [os.memfd_create(name) for name in ("out", "err", "reached", "modules")]
    out, err, reached, modules = files
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        run(asked, main, reached, modules)
    timer = None
    if asked["after"] == 0:
        os.kill(child, signal.SIGKILL)  # by no timer, which a busy machine may start too late
    elif asked["after"] is not None:
        timer = threading.Timer(asked["after"], os.kill, (child, signal.SIGKILL))
        timer.start()
    status = os.waitpid(child, 0)[1]
    if timer is not None:
        timer.cancel()
        timer.join()
    told = [os.pread(file, 1 << 20, 0).decode(errors="replace") for file in files]
    for file in files:
        os.close(file)
    load(told[3].split())
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "out": told[0], "err": told[1], "points": int(told[2] or 0)}


def load(names: list[str]) -> None:
    """Import what a call had to import, so that the next one need not."""
    for name in names:
        if name not in sys.modules:
            with suppress(Exception):
                importlib.import_module(name)


def run(asked: dict[str, Any], main: Any, reached: int, modules: int) -> None:
    """The command line in this process, which ends with it."""
    code = 1
    try:
        os.chdir(asked["folder"])
        sys.stdout, sys.stderr = (open(file, "w", closefd=False) for file in (1, 2))  # noqa: SIM115
        count_points(asked["point"], reached)
        sys.argv = ["shoal", *asked["args"]]
        main(prog_name="shoal")
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.pwrite(modules, " ".join(sys.modules).encode(), 0)
        os._exit(code)


def count_points(deadly: int | None, reached: int) -> None:
    """Count what is about to be changed; the process ends, unheard, before the deadly one."""
    import sqlalchemy as sa

    seen = 0

    def point(*_: object) -> None:
        nonlocal seen
        seen += 1
        os.pwrite(reached, str(seen).encode(), 0)
        if seen == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    def audited(event: str, args: tuple[Any, ...]) -> None:
        writes = (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_RDWR | os.O_WRONLY)
        )
        if writes or event in CHANGES:
            point()

    sys.addaudithook(audited)
    for event in ("before_cursor_execute", "commit"):
        sa.event.listen(sa.Engine, event, point)


if __name__ == "__main__":
    serve()
