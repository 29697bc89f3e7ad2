"""What tests of several areas share: the command of this interpreter, and the real data."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import hypothesis
import pytest

# Where nobody watches, the same examples each time: a rare one must not fail another's change.
hypothesis.settings.register_profile("watched", deadline=None)
hypothesis.settings.register_profile("unwatched", deadline=None, derandomize=True)
hypothesis.settings.load_profile("unwatched" if os.environ.get("CI") else "watched")

SOURCE = Path(__file__).parent.parent / "src"


@pytest.fixture(scope="session")
def command_line(tmp_path_factory) -> dict[str, str]:
    """An environment whose `shoal` and `python` are those of the interpreter running the tests."""
    folder = tmp_path_factory.mktemp("bin")
    python = shlex.quote(sys.executable)
    for name, line in {"shoal": f"{python} -m shoal.cli", "python": python}.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    path = os.pathsep.join((str(folder), os.environ.get("PATH", "")))
    found = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PATH": path, "PYTHONPATH": found, "PYTHONUTF8": "1"}


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the real data sets; without it their tests are skipped."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder or not (Path(folder) / "adult.csv.gz").is_file():
        pytest.skip("set SHOAL_DATA to the folder that holds adult.csv.gz")
    return Path(folder)
