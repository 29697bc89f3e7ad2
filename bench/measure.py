"""How things are measured: CPU time, best of several, warm; other programs by ``wait4``."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Line:
    """One row of the table: what was measured, the ratio it gives, and the limit on that."""

    case: str
    measured: str
    ratio: float | None = None
    limit: float | None = None
    at_least: bool = False
    unit: str = "×"

    @property
    def ok(self) -> bool | None:
        """Whether the limit is kept; None where there is none."""
        if self.ratio is None or self.limit is None:
            return None
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "ok": self.ok}


@dataclass(frozen=True)
class Spent:
    """What a piece of work took."""

    cpu: float
    wall: float
    peak: int = 0
    """Largest resident memory in bytes; of programs only."""


class Unavailable(Exception):
    """A case cannot run here; says why."""


def spent(
    work: Callable[[], object], repeat: int = 5, warm: Callable[[], object] | None = None
) -> Spent:
    """The least CPU time of several runs after a warm one, with the least wall time.

    ``warm``: something smaller that compiles the same kernels.
    """
    (warm or work)()
    return _best([_once(work) for _ in range(repeat)])


def against(
    one: Callable[[], object], other: Callable[[], object], repeat: int = 5
) -> tuple[Spent, Spent]:
    """Both, warm and in turns, so that a noisy moment hurts both alike."""
    one()
    other()
    firsts, seconds = [], []
    for _ in range(repeat):
        firsts.append(_once(one))
        seconds.append(_once(other))
    return _best(firsts), _best(seconds)


def _once(work: Callable[[], object]) -> Spent:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.process_time() - cpu, time.perf_counter() - wall)


def _best(runs: Sequence[Spent]) -> Spent:
    return Spent(min(r.cpu for r in runs), min(r.wall for r in runs), min(r.peak for r in runs))


def program(command: Sequence[str], repeat: int = 1) -> Spent:
    """What a program takes, start to end, with its own children; best of several runs.

    It is started by a small go-between: Linux counts the memory of whoever starts a program
    towards that program's peak.
    """
    return _best([_run(command) for _ in range(repeat)])


def _run(command: Sequence[str]) -> Spent:
    go_between = [sys.executable, "-S", str(Path(__file__).with_name("child.py")), *command]
    done = subprocess.run(go_between, cwd=ROOT, env=environment(), capture_output=True, text=True)
    if done.returncode:
        told = done.stderr.strip().splitlines()[-3:]
        raise Unavailable(f"{Path(command[0]).name} failed: {' / '.join(told)}")
    return Spent(**json.loads(done.stdout.splitlines()[-1]))


def environment() -> dict[str, str]:
    """The environment of programs: the package is found wherever it is found here."""
    found = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": found}


def seconds(value: float) -> str:
    """A time with three significant digits."""
    return f"{value:.3g} s" if value >= 0.1 else f"{value * 1000:.3g} ms"
