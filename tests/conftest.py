"""What tests of several areas share: this interpreter's command, the real data, a small
town, the documentation's sources, a database.
"""

from __future__ import annotations

import io
import os
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import hypothesis
import pytest
from tests.servers import running_postgresql
from tests.town import Town

# Where nobody watches, the same examples each time: a rare one must not fail another's change.
hypothesis.settings.register_profile("watched", deadline=None)
hypothesis.settings.register_profile("unwatched", deadline=None, derandomize=True)
hypothesis.settings.load_profile("unwatched" if os.environ.get("CI") else "watched")

SOURCE = Path(__file__).parent.parent / "src"
CLIENT = """#!{python} -SE
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = {{"program": os.path.basename(sys.argv[0]), "args": sys.argv[1:], "folder": os.getcwd(),
         "environment": dict(os.environ)}}
socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
server.shutdown(socket.SHUT_WR)
sys.exit(int(server.recv(16) or b"1"))
"""
"""A program that hands its arguments, folder, environment and files to a process that forks."""


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk() -> Iterator[None]:
    """The machine that runs the tests keeps its power: nothing is written through to the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which refuses what fsync refuses: a closed file
        yield


@pytest.fixture(scope="session")
def command_line(tmp_path_factory) -> dict[str, str]:
    """An environment whose `shoal` and `python` are those of the interpreter running the tests.

    `python-block` runs code that it is given, and takes warnings for errors.
    """
    folder = tmp_path_factory.mktemp("bin")
    python = shlex.quote(sys.executable)
    programs = {
        "shoal": f"{python} -m shoal.cli",
        "python": python,
        "python-block": f"{python} -W error -c",
    }
    for name, line in programs.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    path = os.pathsep.join((str(folder), os.environ.get("PATH", "")))
    found = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PATH": path, "PYTHONPATH": found, "PYTHONUTF8": "1"}


@pytest.fixture(scope="session")
def quick_command_line(command_line, tmp_path_factory) -> Iterator[dict[str, str]]:
    """The same, with a `shoal` and a `python-block` that start at once (``forking``)."""
    if not hasattr(socket, "send_fds"):
        yield command_line
        return
    folder = Path(tempfile.mkdtemp(prefix="shoal"))  # an address must be short
    address, scripts = folder / "server", tmp_path_factory.mktemp("quick")
    client = CLIENT.format(python=sys.executable, address=str(address))
    for name in ("shoal", "python-block"):
        (scripts / name).write_text(client, encoding="utf-8")
        (scripts / name).chmod(0o755)
    line = [sys.executable, str(Path(__file__).parent / "forking.py"), str(address)]
    with subprocess.Popen(line, env=command_line, stdout=subprocess.DEVNULL) as server:
        try:
            while not address.exists() and server.poll() is None:
                time.sleep(0.05)
            assert server.poll() is None, "the process that forks has ended"
            path = os.pathsep.join((str(scripts), command_line["PATH"]))
            yield {**command_line, "PATH": path}
        finally:
            server.kill()
            shutil.rmtree(folder)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the real data sets; without it their tests are skipped."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder or not (Path(folder) / "adult.csv.gz").is_file():
        pytest.skip("set SHOAL_DATA to the folder that holds adult.csv.gz")
    return Path(folder)


# A small town


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Town:
    """A town for all tests of a file, which leave it as it is."""
    return Town(tmp_path_factory.mktemp("town"))


# The documentation


@pytest.fixture(scope="session")
def started() -> Callable[[Path], str]:
    """Run a script in this process, as if it were started: what it printed."""

    def start(script: Path) -> str:
        told = io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [str(script)])
            patch.syspath_prepend(script.parent)
            with redirect_stdout(told), redirect_stderr(told):
                runpy.run_path(str(script), run_name="__main__")
        return told.getvalue()

    return start


@pytest.fixture(scope="session")
def docs_copy(tmp_path_factory, started) -> Path:
    """A folder with the documentation's sources, and the reference that `make docs` writes."""
    copy, source = tmp_path_factory.mktemp("copy"), SOURCE.parent

    def made(folder: str, names: list[str]) -> list[str]:
        """What git does not have."""
        return [
            name
            for name in names
            if name == "__pycache__"
            or (Path(folder).name == "papers" and name == "images")
            or (Path(folder).name == "papers" and name.endswith(".md") and name != "index.md")
            or (Path(folder).name == "reference" and name.endswith(".md"))
        ]

    shutil.copytree(source / "docs", copy / "docs", ignore=made)
    shutil.copy(source / "mkdocs.yml", copy)
    assert started(copy / "docs/reference.py") == ""
    return copy


# A PostgreSQL server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A private server on a socket in a temporary folder; its URL."""
    with running_postgresql() as url:
        if url is None:
            pytest.skip("no PostgreSQL server: neither on PATH, nor Debian's, nor in a wheel")
        yield url
