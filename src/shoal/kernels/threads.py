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

ROWS = 1 << 15
"""Work on fewer rows than this is not worth sharing."""
PARTS = 4
"""Parts for each thread, so that one long part does not keep the others waiting."""


@cache
def _pool(process: int) -> tuple[ThreadPoolExecutor, int]:
    """The pool of this process (a fork must not inherit it), and how many threads it has."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return ThreadPoolExecutor(cores, thread_name_prefix="shoal"), cores


def share_out(kernel: Callable[..., None], number: int, rows: int, *arguments: Any) -> None:
    """Call ``kernel(first, last, *arguments)`` on parts of ``0..number`` until all are done.

    The kernel writes its results into its arguments; ``rows`` says how much work there is.
    """
    pool, threads = _pool(os.getpid())
    parts = min(number, threads * PARTS)
    if rows < ROWS or parts < 2 or threads < 2:
        kernel(0, number, *arguments)
        return
    edges = [part * number // parts for part in range(parts + 1)]
    waiting = [pool.submit(kernel, a, b, *arguments) for a, b in pairwise(edges)]
    for one in waiting:
        one.result()
