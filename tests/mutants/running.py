"""A mutant is made in a copy of the tree, and the tests that run its line are run there."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import coverage
import pytest
from tests.mutants.compiled import calling_lines, enclosing, remove_compiled
from tests.mutants.contexts import OUTCOMES, SELECTION
from tests.mutants.covering import Measurement, copy_tree, environment
from tests.mutants.placing import ROOT, CannotBePlacedError, Mutant, Source

KILLED, SURVIVED, UNPLACED = "killed", "survived", "cannot be placed"
UNCOVERED = "survived: no test runs its line"
LATE, UNCLEAR = "no verdict in time", "unclear: its test fails without the mutant too"
READS_CODE = "inspect.getsource"
FIRST_SECONDS = 10.0
"""Tests of so many seconds are run first: most mutants do not survive them."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant, by which test, and why."""

    mutant: Mutant
    outcome: str
    by: str = ""
    tests: int = 0
    seconds: float = 0.0


class Covering:
    """Which tests that pass run a mutant's line, the quickest of every file first."""

    def __init__(self, measurement: Measurement) -> None:
        self.tree = measurement.tree
        self.source = Source(measurement.tree / "src" / "shoal")
        self.seconds = measurement.seconds_of_passed_tests()
        files = (self.tree / "tests").rglob("*.py")
        self.readers = {file for file in files if READS_CODE in file.read_text(encoding="utf-8")}
        self.data = coverage.CoverageData(basename=str(measurement.data))
        self.data.read()

    def tests(self, mutant: Mutant) -> list[str]:
        place = self.source.place(mutant)
        function = enclosing(self.source, place.path, place.lines.start)
        if function.is_compiled:
            lines = calling_lines(self.source, function)
        else:
            lines = [(place.path, line) for line in place.lines]
        tests = {test for path, line in lines for test in self._contexts(path).get(line, ())}
        passing = tests & self.seconds.keys()
        return self._in_turn({test for test in passing if not self._reads_code(test)})

    def _contexts(self, path: Path) -> dict[int, list[str]]:
        return self.data.contexts_by_lineno(str(path))

    def _reads_code(self, test: str) -> bool:
        """Whether a test looks at the text of the code, and would notice any change of it."""
        return self.tree / test.partition("::")[0] in self.readers

    def _in_turn(self, tests: Collection[str]) -> list[str]:
        by_file: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            by_file.setdefault(test.partition("::")[0], []).append(test)
        turns = zip_longest(*by_file.values())
        return [test for turn in turns for test in turn if test is not None]


def run_mutant(mutant: Mutant, covering: Covering, budget: float) -> Verdict:
    """Place a mutant in a copy, and run the tests that run its line, for about ``budget`` seconds
    by what they took when they were measured."""
    started = time.monotonic()
    try:
        tests = covering.tests(mutant)
        Source(ROOT / "src" / "shoal").place(mutant)
    except CannotBePlacedError as error:
        return Verdict(mutant, UNPLACED, str(error))
    if not tests:
        return Verdict(mutant, UNCOVERED)
    with tempfile.TemporaryDirectory(prefix="shoal-mutant") as folder:
        tree = copy_tree(ROOT, Path(folder) / "tree")
        _mutate(tree, mutant)
        outcome, by, run = SURVIVED, "", 0
        for part in _parts(tests, covering.seconds, budget):
            outcome, by = _run(tree, part, budget)
            run += len(part)
            if outcome != SURVIVED:
                break
    return Verdict(mutant, outcome, by, run, round(time.monotonic() - started, 1))


def failing_without(tests: Collection[str]) -> set[str]:
    """Which of the tests fail in a copy that has no mutant."""
    if not tests:
        return set()
    with tempfile.TemporaryDirectory(prefix="shoal-mutant") as folder:
        tree = copy_tree(ROOT, Path(folder) / "tree")
        outcomes, _ = _pytest(tree, sorted(tests), 1800, "--maxfail=1000")
        return {test for test in tests if outcomes.get(test) != "passed"}


def _mutate(tree: Path, mutant: Mutant) -> None:
    source = Source(tree / "src" / "shoal")
    place = source.place(mutant)
    function = enclosing(source, place.path, place.lines.start)
    if function.is_compiled:
        remove_compiled(source, function)
    changed = place.changed(mutant.after)
    for bytecode in (place.path.parent / "__pycache__").glob(f"{place.path.stem}.*.pyc"):
        bytecode.unlink()
    place.path.write_text(changed, encoding="utf-8")


def _parts(tests: list[str], seconds: dict[str, float], budget: float) -> list[list[str]]:
    """The tests that fit the budget, the first few apart; at least one."""
    parts: list[list[str]] = [[], []]
    spent = 0.0
    for test in tests:
        spent += seconds[test]
        if spent > budget and parts[0]:
            continue
        parts[spent > FIRST_SECONDS and bool(parts[0])].append(test)
    return [part for part in parts if part]


def _run(tree: Path, tests: list[str], budget: float) -> tuple[str, str]:
    try:
        outcomes, code = _pytest(tree, tests, 4 * budget + 120, "--exitfirst")
    except subprocess.TimeoutExpired:
        return LATE, ""
    failed = [test for test, outcome in outcomes.items() if outcome == "failed"]
    if failed:
        return KILLED, failed[0]
    if code == pytest.ExitCode.OK and outcomes:
        return SURVIVED, ""
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"pytest could not run {len(tests)} tests: exit code {code}")
    return KILLED, f"the run itself, which ended with {code}"


def _pytest(
    tree: Path, tests: list[str], limit: float, *options: str
) -> tuple[dict[str, str], int]:
    """Each test's outcome, and pytest's exit code."""
    with tempfile.TemporaryDirectory(prefix="shoal-mutant") as folder:
        selection, outcomes = Path(folder) / "selection", Path(folder) / "outcomes.json"
        selection.write_text("\n".join(tests), encoding="utf-8")
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.contexts"),
                *("-p", "no:cacheprovider", "--numprocesses", "0", *options),
                *(file for file in files if (tree / file).exists()),
            ],
            cwd=tree,
            env=environment(tree, **{SELECTION: str(selection), OUTCOMES: str(outcomes)}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit,
            check=False,
        )
        if not outcomes.exists():
            return {}, done.returncode
        found = json.loads(outcomes.read_text(encoding="utf-8"))
        return {test: one["outcome"] for test, one in found.items()}, done.returncode
