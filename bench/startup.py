"""How long ``shoal --help`` takes, against importing DuckDB alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Line, program, seconds

REPEAT = 10


def run() -> Iterator[Line]:
    """By CPU and by wall time, best of ten."""
    script = Path(sys.executable).with_name("shoal")
    call = "from shoal.cli.main import main; main()"
    start = [str(script)] if script.is_file() else [sys.executable, "-c", call]
    own = program([*start, "--help"], REPEAT)
    other = program([sys.executable, "-c", "import duckdb"], REPEAT)
    for kind in ("cpu", "wall"):
        mine, its = getattr(own, kind), getattr(other, kind)
        told = f"{seconds(mine)} : {seconds(its)}"
        yield Line(f"shoal --help, {kind}: import duckdb", told, mine / its, 2)
