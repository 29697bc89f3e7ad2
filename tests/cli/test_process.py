"""In a process of its own: streams, signals, locales."""

import json
import os
import pty
import signal
import subprocess
import sys

import pytest
from tests import hanging

COMMAND = [sys.executable, "-m", "shoal.cli"]
K10 = ["-m", "k-anonymity k=10"]


def run(*arguments, **settings):
    env = os.environ | settings.pop("env", {})
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        timeout=hanging.SECONDS,
        check=False,
        env=env,
        **settings,
    )


def test_json_is_one_document_and_the_only_output(here, roles):
    done = run("publish", "patients.csv", *roles, *K10, "-o", "release", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["folder"] == "release"
    assert all(line.startswith((b"Note: ", b"WARNING: ")) for line in done.stderr.splitlines())
    failed = run("publish", "patients.csv", *roles, *K10, "-o", "release", "--json")
    assert failed.returncode == 2
    assert json.loads(failed.stdout)["error"]["exit_code"] == 2
    assert b"--replace" in failed.stderr


def test_utf8_whatever_the_locale(here):
    (here / "t.csv").write_text("größe\n1\n2\n", encoding="utf-8")
    done = run("look", "t.csv", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "größe" in done.stdout.decode()


def test_a_reader_that_goes_away_is_no_error(here):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [*COMMAND, "look", "patients.csv", "--json"],
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=hanging.SECONDS,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


INTERRUPTED = """
import os, signal, tempfile
from contextlib import contextmanager
from shoal.cli.main import main
from shoal.cli.printing import Output

signal.signal(signal.SIGINT, signal.default_int_handler)
tempfile.tempdir = None  # what the process that forks has looked up
stop, number, *arguments = {words!r}

@contextmanager
def progress(output):
    def step(name, done, total):
        if name == stop:
            os.kill(os.getpid(), int(number))
    yield step

Output.show_progress = progress
main(arguments)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("step", ["reading", "making classes", "writing", "verifying"])
def test_interrupted_anywhere_nothing_is_left(here, roles, step, number, quick_command_line):
    (here / "scratch").mkdir()
    before = sorted(here.iterdir())
    arguments = ["publish", "patients.csv", *roles, *K10, "-o", "release"]
    done = subprocess.run(
        ["python-block", INTERRUPTED.format(words=[step, str(int(number)), *arguments])],
        capture_output=True,
        timeout=hanging.SECONDS,
        check=False,
        env=quick_command_line | {"TMPDIR": str(here / "scratch")},
    )
    assert done.returncode == 128 + number, done.stderr
    assert b"Stopped.\nHint: a release that is there is whole" in done.stderr
    assert sorted(here.iterdir()) == before
    assert list((here / "scratch").iterdir()) == []


def on_a_terminal(arguments, env):
    """The run's standard error, which is a terminal, and its standard output, which is not."""
    control, terminal = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=terminal, env=os.environ | env
    ) as process:
        os.close(terminal)
        shown = b""
        while chunk := _read(control):
            shown += chunk
        assert process.stdout is not None
        return shown, process.stdout.read()


def _read(control):
    try:
        return os.read(control, 4096)
    except OSError:  # Linux says so when the other end is closed
        return b""


def test_progress_is_shown_on_a_terminal_only(here, roles):
    arguments = ["publish", "patients.csv", *roles, *K10, "--dry-run", "--json"]
    shown, out = on_a_terminal(arguments, {"TERM": "xterm"})
    assert b"reading" in shown
    assert json.loads(out)["folder"] is None
    assert on_a_terminal([*arguments, "--quiet"], {"TERM": "xterm"})[0] == b""
