"""Which test runs which line: coverage's contexts, switched by a pytest plugin.

Loaded twice: by coverage in every process (``coverage_init``), so that what a test starts as a
process of its own counts for that test, and by pytest (``-p tests.mutants.contexts``), which also
writes how each test ended and how long it took, and narrows a run to tests that are named.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import coverage
import pytest

OUTCOMES = "SHOAL_MUTANTS_OUTCOMES"
"""Names the file for every test's outcome and seconds."""
SELECTION = "SHOAL_MUTANTS_SELECTION"
"""Names the file with the tests to run, one a line; others of the same files are left out."""


class StartedByTest(coverage.CoveragePlugin):
    """Gives a process that a test starts that test's context."""

    def configure(self, config) -> None:
        running = os.environ.get("PYTEST_CURRENT_TEST", "")
        if running:
            config.set_option("run:context", running.rpartition(" (")[0])


def coverage_init(registry, options) -> None:
    registry.add_configurer(StartedByTest())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    measured = coverage.Coverage.current()
    if measured is None:
        return (yield)
    measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measured.switch_context("")


def pytest_collection_modifyitems(config, items) -> None:
    if SELECTION not in os.environ:
        return
    selected = set(Path(os.environ[SELECTION]).read_text(encoding="utf-8").split("\n"))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in selected])
    items[:] = [item for item in items if item.nodeid in selected]


def pytest_configure(config) -> None:
    if SELECTION in os.environ:
        import shoal

        # a mutant in one tree would survive the tests of another
        assert Path(shoal.__file__).is_relative_to(Path.cwd())
    if OUTCOMES in os.environ and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(Path(os.environ[OUTCOMES])))


class Outcomes:
    """Writes each test's outcome and seconds, with those of its fixtures."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report) -> None:
        test = report.nodeid
        self.seconds[test] = self.seconds.get(test, 0.0) + report.duration
        if report.outcome != "passed" or test not in self.outcomes:
            self.outcomes[test] = report.outcome

    def pytest_sessionfinish(self) -> None:
        tests = {
            test: {"outcome": self.outcomes[test], "seconds": round(self.seconds[test], 4)}
            for test in self.outcomes
        }
        self.path.write_text(json.dumps(tests, indent=1), encoding="utf-8")
