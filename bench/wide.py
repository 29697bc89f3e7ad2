"""Wide tables: looking at thousands of columns and publishing a few, against reading and counting.

The floor reads the same file with Python's own parser and counts the values of each column in
Arrow: what anything that reports on every column has to do.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Line, Spent, program, seconds

REPEAT = 3
SMALL = {"wide": {"shapes": ((200, 100),)}}
SHAPES = ((5_000, 1_000), (300, 20_000))
_FLOOR = """
import csv, sys
import pyarrow as pa
with open(sys.argv[1], newline="") as stream:
    records = csv.reader(stream)
    next(records)
    columns = [pa.array(column, pa.string()) for column in zip(*records, strict=True)]
counts = [column.value_counts() for column in columns]
"""
_RULE = ("--quasi", "v0", "--quasi", "v1", "--sensitive", "v4", "-m", "k-anonymity k=5")


def run(shapes: tuple[tuple[int, int], ...] = SHAPES) -> Iterator[Line]:
    """By CPU time, best of three."""
    shoal = [sys.executable, "-c", "from shoal.cli.main import main; main()"]
    with tempfile.TemporaryDirectory() as folder:
        for columns, rows in shapes:
            table = _write(Path(folder) / f"{columns}.csv", columns, rows)
            floor = program([sys.executable, "-c", _FLOOR, str(table)], REPEAT)
            size = f"{columns:,} columns x {rows:,} rows"
            looked = program([*shoal, "look", str(table)], REPEAT)
            yield _compare(f"look, {size}", looked, floor)
            out = Path(folder) / f"release-{columns}"
            asked = [str(table), *_RULE, "--drop", "*", "-o", str(out), "--replace"]
            published = program([*shoal, "publish", *asked], REPEAT)
            yield _compare(f"publish 3 of {size}", published, floor)
            shutil.rmtree(out)


def _compare(case: str, own: Spent, floor: Spent) -> Line:
    told = f"{seconds(own.cpu)} : {seconds(floor.cpu)}"
    return Line(f"{case}: read and count", told, own.cpu / floor.cpu, 10)


def _write(path: Path, columns: int, rows: int) -> Path:
    """A third of the columns are whole numbers, a third words, a third numbers with a point."""
    draw = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(f"v{i}" for i in range(columns)) + "\n")
        for _ in range(rows):
            cells = (
                (str(draw.randrange(50)), draw.choice("abcdefgh"), f"{draw.random() * 99:.2f}")
                for _ in range(-(-columns // 3))
            )
            file.write(",".join([cell for three in cells for cell in three][:columns]) + "\n")
    return path
