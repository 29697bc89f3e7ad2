"""Share a kernel's work out to all cores: compiled code that lets go of Python's lock.

A pool of ordinary threads, because numba's own either spin while they wait or end up together on
one core of a busy machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

MIN_SHARED_ROWS = 1 << 15
"""Work on fewer rows than this is not worth sharing."""
PARTS_PER_THREAD = 4
"""Parts for each thread, so that one long part does not keep the others waiting."""
PARTS_PER_REPORT = 16
"""So many pieces of work, or as many parts as the threads have, lie between two reports."""


@cache
def _pool(process: int) -> tuple[ThreadPoolExecutor, int]:
    """The pool of this process (a fork must not inherit it), and how many threads it has."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return ThreadPoolExecutor(cores, thread_name_prefix="shoal"), cores


def share_out(
    kernel: Callable[..., None],
    number: int,
    rows: int,
    *arguments: Any,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Call ``kernel(first, last, *arguments)`` on parts of ``0..number`` until all are done.

    The kernel writes its results into its arguments; ``rows`` says how much work there is.
    ``progress`` is called between parts with how many are done; it may raise to stop.
    """
    step = number
    if progress:
        step = max(PARTS_PER_REPORT, _pool(os.getpid())[1] * PARTS_PER_THREAD)
    for first in range(0, number, max(step, 1)):
        last = min(first + step, number)
        _share(kernel, first, last, rows, arguments)
        if progress:
            progress(last, number)


def _share(
    kernel: Callable[..., None], first: int, last: int, rows: int, arguments: tuple[Any, ...]
) -> None:
    pool, threads = _pool(os.getpid())
    number = last - first
    parts = min(number, threads * PARTS_PER_THREAD)
    if rows < MIN_SHARED_ROWS or parts < 2 or threads < 2:
        kernel(first, last, *arguments)
        return
    edges = [first + part * number // parts for part in range(parts + 1)]
    waiting = [pool.submit(kernel, a, b, *arguments) for a, b in pairwise(edges)]
    for future in waiting:
        future.result()
