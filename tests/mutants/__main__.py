"""How many of the mutants in mutants.toml the tests notice: ``python -m tests.mutants``.

First the suite is run once under coverage, in a copy of the tree kept outside the repository, to
learn which tests run which line (``--fresh`` does so again). Then each mutant is made in a copy of
its own, two at a time, and the tests that run its line are run there until one fails. What became
of each is printed and written to result.toml. It takes less than an hour on two cores; set
SHOAL_DATA, or the tests on real data kill nothing.

``--check`` only tells whether every mutant can be placed, as the ordinary tests do.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import subprocess
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import coverage
from tests.mutants.covering import Measurement, cache_folder, measure_suite
from tests.mutants.placing import ROOT, read_mutants, unplaced
from tests.mutants.running import (
    KILLED,
    SURVIVED,
    UNCLEAR,
    UNPLACED,
    Covering,
    Verdict,
    failing_without,
    run_mutant,
)

RESULT = Path(__file__).parent / "result.toml"
HEAD = """# What became of the mutants in mutants.toml: written by `python -m tests.mutants`.
# Branch coverage is that of `make coverage`, written by `python -m tests.mutants --branches`.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only place the mutants")
    parser.add_argument("--fresh", action="store_true", help="measure again which tests run what")
    parser.add_argument("--branches", action="store_true", help="note what make coverage measured")
    parser.add_argument("--only", metavar="TEXT", help="mutants whose function contains the text")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for each mutant")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(arguments)
    if asked.check:
        return check()
    if asked.branches:
        return note_branches()
    measurement = Measurement(cache_folder() / "measured")
    if asked.fresh or not measurement.is_complete:
        measure_suite(measurement.folder, asked.processes)
    return run(measurement, asked.only, asked.seconds, asked.processes)


def check() -> int:
    wrong = unplaced()
    for mutant in wrong:
        print(f"{UNPLACED}: {mutant}")
    print(f"{len(read_mutants()) - len(wrong)} of {len(read_mutants())} mutants can be placed.")
    return int(bool(wrong))


def run(measurement: Measurement, only: str | None, seconds: float, processes: int) -> int:
    mutants = [one for one in read_mutants() if not only or only in one.function]
    covering = Covering(measurement)

    def judge(number_and_mutant) -> Verdict:
        number, mutant = number_and_mutant
        verdict = run_mutant(mutant, covering, seconds)
        print(f"{number:>3}/{len(mutants)} {verdict.outcome:<10} {mutant.name}", flush=True)
        print(f"        {verdict.by} ({verdict.seconds:.0f} s, {verdict.tests} tests)", flush=True)
        return verdict

    with ThreadPoolExecutor(processes) as pool:
        verdicts = list(pool.map(judge, enumerate(mutants, start=1)))
    flawed = failing_without(
        {one.by for one in verdicts if one.outcome == KILLED and "::" in one.by}
    )
    verdicts = [replace(one, outcome=UNCLEAR) if one.by in flawed else one for one in verdicts]
    numbers = Counter(one.outcome for one in verdicts)
    print("\n".join(f"{number:>4} {outcome}" for outcome, number in numbers.most_common()))
    if not only:
        write_result(verdicts)
    return 0


def write_result(verdicts: Sequence[Verdict]) -> None:
    killed = sum(one.outcome == KILLED for one in verdicts)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    facts = {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "mutants": len(verdicts),
        "killed": killed,
        "share_killed": round(killed / len(verdicts), 3),
        "survived": sum(one.outcome.startswith(SURVIVED) for one in verdicts),
        "cannot_be_placed": sum(one.outcome == UNPLACED for one in verdicts),
    }
    tables = [
        {
            "in": one.mutant.function,
            "after": one.mutant.after,
            "outcome": one.outcome,
            "by": one.by,
            "tests_run": one.tests,
        }
        for one in verdicts
    ]
    _write(facts, tables, _read().get("branch_coverage"))


def note_branches() -> int:
    """Write what `make coverage` has measured into the result."""
    measured = coverage.Coverage(
        data_file=str(ROOT / ".coverage"), config_file=str(ROOT / "pyproject.toml")
    )
    measured.load()
    report = io.StringIO()
    percent = round(measured.report(file=report, skip_empty=True), 2)
    kept = _read()
    tables = kept.pop("mutant", [])
    kept.pop("branch_coverage", None)
    _write(kept, tables, {"date": datetime.date.today().isoformat(), "percent": percent})
    print(f"Statements and branches that the suite runs: {percent} %")
    return 0


def _read() -> dict:
    return tomllib.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}


def _write(facts: dict, tables: Sequence[dict], branches: dict | None) -> None:
    lines = [HEAD, *_lines(facts)]
    if branches:
        lines += ["", "[branch_coverage]", *_lines(branches)]
    for table in tables:
        lines += ["", "[[mutant]]", *_lines(table)]
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(table: dict) -> list[str]:
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in table.items()]


if __name__ == "__main__":
    raise SystemExit(main())
