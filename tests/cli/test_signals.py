"""A run that is told to stop says so, clears up and ends: 130 for Ctrl-C, 143 when terminated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import hanging

import shoal

SOURCE = Path(shoal.__file__).parent.parent
NUMBERS = [signal.SIGINT, signal.SIGTERM]

AT_WORK = """
import sys, time
import numpy as np
from shoal.core import temporary_files as scratch
from shoal.cli import look
from shoal.cli.__main__ import run
from shoal.engines.duckdb import connect

def query():
    connect().execute("SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) = 1")

def kernel():
    from numba import njit

    @njit(nogil=True)
    def endless(values):
        while values[0] < 1e300:
            values[0] += 1e-30
        return values

    endless.compile("float64[:](float64[:])")
    print("ready", flush=True)
    endless(np.zeros(1))

def swallowing():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

def failing():
    try:
        while True:
            time.sleep(60)
    except KeyboardInterrupt:
        raise ImportError("half loaded") from None

def work(**_):
    engine, folder = connect(), scratch.make_folder()
    (folder / "rows").write_text("Anna,hiv")
    if sys.argv[-1] != "kernel":
        print("ready", flush=True)
    {"query": query, "kernel": kernel, "swallowing": swallowing, "failing": failing}[sys.argv[-1]]()

look.command.callback = work
run()
"""


def started(line: list[str], folder: Path, **more: str) -> subprocess.Popen[bytes]:
    (folder / "scratch").mkdir(exist_ok=True)
    return subprocess.Popen(
        line,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(SOURCE), "TMPDIR": str(folder / "scratch"), **more},
    )


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("work", ["query", "kernel", "swallowing", "failing"])
def test_whatever_it_is_at_it_stops_and_leaves_nothing(tmp_path, work, number):
    process = started([sys.executable, "-c", AT_WORK, "look", work], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert list((tmp_path / "scratch").rglob("rows"))
    process.send_signal(number)
    _, told = process.communicate(timeout=hanging.SECONDS)
    assert process.returncode == 128 + number, told
    assert told.count(b"Stopped.\nHint: ") == 1
    assert b"Traceback" not in told
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_second_signal_does_not_disturb_the_clearing_up(tmp_path):
    process = started([sys.executable, "-c", AT_WORK, "look", "swallowing"], tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
        time.sleep(0.02)
    _, told = process.communicate(timeout=hanging.SECONDS)
    assert process.returncode in (130, 143)
    assert told.count(b"Stopped.\n") == 1
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_program_that_uses_the_library_keeps_its_own_handlers(tmp_path):
    code = (
        "import os, signal, shoal, shoal.verbs.publish\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(900)\n"
        "except KeyboardInterrupt:\n    print('mine')\n"
    )
    default = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    process = started([sys.executable, "-c", default + code], tmp_path)
    out, told = process.communicate(timeout=hanging.SECONDS)
    assert (out, told) == (b"mine\n", b"")


COMMAND = """
import os, signal
from shoal.cli import __main__ as command
for name in ("SIGINT", "SIGTERM"):  # as the command does first of all
    signal.signal(getattr(signal, name), command._leave)
os.write(1, b"ready\\n")
if "WAIT" in os.environ:
    while True:
        signal.pause()
command.run()
"""


def command_started(folder: Path, line: list[str], **more: str) -> subprocess.Popen[bytes]:
    """A command whose handlers are in place, however busy the machine is.

    With ``WAIT`` it does not go on from there, so that a signal always finds it.
    """
    process = started([sys.executable, "-c", COMMAND, *line], folder, **more)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def check_random_moments(folder: Path, line: list[str], rounds: int, seed: int) -> None:
    """Signals at random moments: the whole result, or nothing but the message."""
    drawn = random.Random(seed)
    before = sorted(folder.iterdir())
    begun = time.monotonic()
    assert command_started(folder, line).wait(timeout=hanging.SECONDS) == 0
    duration = time.monotonic() - begun
    remove_results(folder, before)
    codes = set()
    for _ in range(rounds):
        number = drawn.choice(NUMBERS)
        process = command_started(folder, line, **({} if codes else {"WAIT": "1"}))
        time.sleep(drawn.uniform(0, duration) if codes else 0)
        process.send_signal(number)
        _, told = process.communicate(timeout=hanging.SECONDS)
        assert b"Traceback" not in told
        assert list((folder / "scratch").iterdir()) == []
        codes.add(process.returncode)
        if process.returncode != 0:
            assert process.returncode == 128 + number, told
            assert b"Stopped." in told
        # A signal may come when all is in place already, and before that was said.
        assert remove_results(folder, before) or process.returncode != 0
    assert codes - {0}


def remove_results(folder: Path, before: list[Path]) -> bool:
    """Whether there was a result, which must have been whole."""
    results = set(folder.iterdir()) - set(before)
    if results:
        check_whole(folder, {path.name for path in results})
    for path in results:
        remove(path)
    return bool(results)


def check_whole(folder: Path, names: set[str]) -> None:
    if "page.html" in names:
        assert names == {"page.html"}
        assert (folder / "page.html").read_text().rstrip().endswith("</html>")
    else:
        assert names == {"release", "release.private"}
        assert shoal.verify(folder / "release").holds


def remove(path: Path) -> None:
    if path.is_dir():
        for inside in path.iterdir():
            inside.unlink()
        path.rmdir()
    else:
        path.unlink()


@pytest.mark.parametrize("number", NUMBERS)
def test_a_library_that_is_half_loaded_is_not_loaded_again(tmp_path, number):
    (tmp_path / "half_loaded.py").write_text(
        "print('loading', flush=True)\nimport time\nwhile True:\n    time.sleep(60)\n"
    )
    code = """
from shoal.cli import look
from shoal.cli.__main__ import run

def work(**_):
    while True:
        try:
            import half_loaded
        except BaseException:
            pass

look.command.callback = work
run()
"""
    process = started([sys.executable, "-c", code, "look", "people.csv"], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"loading\n"
    process.send_signal(number)
    loaded_again, told = process.communicate(timeout=hanging.SECONDS)
    assert process.returncode == 128 + number, told
    assert loaded_again == b""


@pytest.fixture
def people(tmp_path):
    rng = random.Random(1)
    rows = []
    for _ in range(4000):
        age, place = rng.randint(18, 90), rng.randint(10000, 99999)
        rows.append(f"{age},{rng.choice('fm')},{place},{rng.choice('ABCDE')}")
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,zip,diagnosis", *rows]) + "\n")
    (tmp_path / "scratch").mkdir()
    return tmp_path


ROLES = ["--quasi", "age", "--quasi", "sex", "--quasi", "zip", "--sensitive", "diagnosis"]
PUBLISH = ["publish", "people.csv", *ROLES, "-m", "k-anonymity k=5", "-o", "release"]


def test_publish_stopped_at_any_moment_is_whole_or_leaves_nothing(people):
    check_random_moments(people, PUBLISH, 4, seed=5)


@pytest.mark.long
@pytest.mark.parametrize("method", ["mondrian", "k-similar", "hilbert", "full-domain"])
def test_every_method_stopped_at_any_moment_is_whole_or_leaves_nothing(people, method):
    line = [*PUBLISH, "--method", method, "--auto-hierarchies", "--hold-back", "0.5"]
    check_random_moments(people, line, 30, seed=6)


@pytest.mark.long
def test_a_report_stopped_at_any_moment_is_whole_or_leaves_nothing(people):
    release = shoal.Schema(()).set(
        age=shoal.quasi, sex=shoal.quasi, zip=shoal.quasi, diagnosis=shoal.sensitive
    )
    shoal.publish(people / "people.csv", release, "k-anonymity k=5", out=people / "release")
    line = ["report", "release", "--original", "people.csv", "-o", "page.html"]
    check_random_moments(people, line, 40, seed=7)
