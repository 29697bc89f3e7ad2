"""``python -m bench [NAME ...]``: run cases, print one table, keep it as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence

from bench.data import CACHE, source
from bench.measure import Line, Unavailable

CASES = {
    "startup": "shoal --help against importing DuckDB",
    "loss": "NCP on the peers' setting",
    "mondrian": "Mondrian on Adult, 1 M and 10 M rows against the bare kernel",
    "lattice": "full-domain and local recoding against ARX: optima, time, memory",
    "orders": "loss and time of all methods that make a partition; 1 M rows",
    "attack": "intersection of 4 releases against gathering bitsets; locating 1 M people",
    "disclosure": "worst case of 1 M classes against sorting them; safe Mondrian against plain",
    "collude": "classes against colluding providers: time against plain Mondrian, loss, verdicts",
    "forecast": "forecasts against what truly happens: Adult and IPUMS, 32 settings, 3 seeds",
    "composition": "what two independent releases give away; time against k alone",
    "noise": "error of noisy counts beside theory; 36 marginals of 1 M rows; synthetic people",
    "ledger": "verbs of a ledger of 100,000 entries against an empty one",
    "wide": "look and publish of 5,000 columns against reading the file and counting values",
    "publish": "Parquet to verified Parquet, 10 M rows, against hand-written SQL",
    "pycanon": "audit of Adult against pycanon's report",
    "anonypy": "Mondrian at 200 k rows against anonypy",
    "large": "publish 100 M rows in 4 GB (slow; by name only)",
}
BY_NAME = ("large",)
HOME = {"pycanon": "peers", "anonypy": "peers", "large": "publish"}
"""Cases that live in a file of another name, as a function of their own."""


def run(names: Sequence[str], small: bool) -> tuple[list[Line], list[str]]:
    """All lines of the named cases, and why some could not run."""
    lines: list[Line] = []
    failed: list[str] = []
    for name in names:
        print(f"{name}: {CASES[name]}", file=sys.stderr, flush=True)
        try:
            for line in _case(name, small):
                lines.append(line)
                print(f"  {line.case}  {line.measured}", file=sys.stderr, flush=True)
        except Unavailable as reason:
            failed.append(f"{name} could not run: {reason}")
    return lines, failed


def _case(name: str, small: bool) -> Iterator[Line]:
    module = importlib.import_module(f"bench.{HOME.get(name, name)}")
    work: Callable[..., Iterator[Line]] = getattr(module, name if name in HOME else "run")
    return work(**getattr(module, "SMALL", {}).get(name, {}) if small else {})


def table(lines: Sequence[Line]) -> str:
    """The lines, aligned."""
    rows = [("case", "measured", "ratio", "limit", "ok?"), *map(_cells, lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cells(line: Line) -> tuple[str, ...]:
    sign = "at least" if line.at_least else "at most"
    ratio = "" if line.ratio is None else f"{line.ratio:.3g}{line.unit}"
    limit = "" if line.limit is None else f"{sign} {line.limit:g}{line.unit}"
    return line.case, line.measured, ratio, limit, {None: "", True: "yes", False: "NO"}[line.ok]


def keep(lines: Sequence[Line], failed: Sequence[str]) -> None:
    """The same as JSON, for whoever compares runs."""
    CACHE.mkdir(parents=True, exist_ok=True)
    result = {
        "edition": 1,
        "data": source(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "lines": [line.plain() for line in lines],
        "failed": list(failed),
    }
    (CACHE / "results.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """0 also when a limit is missed (the table says so); 1 when a case could not run."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; all but large if none")
    parser.add_argument("--list", action="store_true", help="the cases, and no measuring")
    parser.add_argument("--small", action="store_true", help="fewer rows: to try the bench itself")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(f"{name:10} {told}" for name, told in CASES.items()))
        return 0
    unknown = [name for name in asked.names if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; see --list")
    lines, failed = run(asked.names or [n for n in CASES if n not in BY_NAME], asked.small)
    keep(lines, failed)
    print(f"\nOn {source()}. CPU time unless said; best of several, warm.\n")
    print(table(lines))
    for reason in failed:
        print(reason)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
