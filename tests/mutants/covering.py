"""One run of the suite under coverage, kept outside the repository: which tests run a line."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import coverage
from tests.mutants.contexts import OUTCOMES
from tests.mutants.placing import ROOT

NOT_COPIED = (".git", ".venv", "site", "build", "dist", "shoal-demo", ".hypothesis", ".*_cache")
SETTINGS = """[run]
source_pkgs = shoal
data_file = {folder}/data/coverage
parallel = true
patch =
    subprocess
    _exit
plugins = tests.mutants.contexts
disable_warnings = no-data-collected, module-not-imported, couldnt-parse
"""


def cache_folder() -> Path:
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(above) / "shoal-mutants"


def copy_tree(root: Path, to: Path) -> Path:
    """The tree as it is on disk, compiled kernels included, without its history and environment."""
    return Path(shutil.copytree(root, to, ignore=shutil.ignore_patterns(*NOT_COPIED)))


def environment(tree: Path, **more: str) -> dict[str, str]:
    """What a run in a copy needs: its own source first, the same random examples each time."""
    paths = os.pathsep.join((str(tree / "src"), str(tree)))
    return {**os.environ, "CI": "1", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **more}


@dataclass(frozen=True)
class Measurement:
    """A copy of the tree and what its tests ran."""

    folder: Path

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def outcomes(self) -> Path:
        return self.folder / "outcomes.json"

    @property
    def data(self) -> Path:
        return self.folder / "combined"

    @property
    def is_complete(self) -> bool:
        return self.data.is_file() and self.outcomes.is_file()

    def seconds_of_passed_tests(self) -> dict[str, float]:
        tests = json.loads(self.outcomes.read_text(encoding="utf-8"))
        return {
            test: result["seconds"]
            for test, result in tests.items()
            if result["outcome"] == "passed"
        }


def measure_suite(folder: Path, processes: int) -> Measurement:
    """Run the suite in a copy of the tree with every test as a context."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
    (folder / "data").mkdir(parents=True)
    measurement = Measurement(folder)
    copy_tree(ROOT, measurement.tree)
    settings = folder / "settings.ini"
    settings.write_text(SETTINGS.format(folder=folder), encoding="utf-8")
    subprocess.run(
        [
            *(sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest"),
            *("-p", "tests.mutants.contexts", "-p", "no:cacheprovider", "-q"),
            *("--numprocesses", str(processes), "--dist", "worksteal"),
        ],
        cwd=measurement.tree,
        env=environment(measurement.tree, **{OUTCOMES: str(measurement.outcomes)}),
        check=False,  # tests that fail in the copy kill nothing: only those that passed are used
    )
    combined = coverage.CoverageData(basename=str(measurement.data))
    for part in sorted((folder / "data").iterdir()):
        read = coverage.CoverageData(basename=str(part))
        with contextlib.suppress(coverage.exceptions.DataError):  # a process that was killed
            read.read()
            combined.update(read)
    shutil.rmtree(folder / "data")
    return measurement
