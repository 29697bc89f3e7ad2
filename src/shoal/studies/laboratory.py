"""The laboratory: tables, seeds and settings of a study, and measuring, one cell at a time.

A cell is one measurement: a function of a file in a paper's room, called with plain parameters and
the table that ``data`` names. Cells do not depend on each other, so that they can be measured side
by side in several processes, kept, and taken up again.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from typing import Any

from shoal import ShoalError
from shoal.core import temporary_files
from shoal.releases.options import Progress, ignore_progress
from shoal.studies.claims import Row
from shoal.studies.keys import make_key, to_plain
from shoal.studies.stored_measurements import StoredMeasurements
from shoal.studies.tables import Sample

Measuring = Callable[..., "Row | Sequence[Row]"]
Cell = Mapping[str, Any]
Timed = tuple[list[Row], float]
"""Rows without their parameters, and the seconds that they took."""
GRACE = 5.0
"""Seconds that a process has to end in."""


@dataclass(frozen=True)
class Lab:
    """What a study measures with."""

    name: str
    """The study's, shown as it goes on."""
    samples: Mapping[str, Sample]
    """The tables by their names."""
    settings: Mapping[str, Any]
    seeds: Sequence[int]
    stored: StoredMeasurements = field(default_factory=lambda: StoredMeasurements(None))
    pool: ProcessPool | None = None
    """Processes to measure in; none: in this one."""
    progress: Progress = ignore_progress
    parameters: dict[str, None] = field(default_factory=dict)
    """The names of all that cells were told, in the order in which they came."""

    def measure_cells(
        self, what: Measuring, cells: Iterable[Cell], *, alone: bool = False
    ) -> list[Row]:
        """What ``what(sample, **cell)`` finds for every cell, in their order.

        Where a cell has ``data``, the first argument is the table of that name, and the rows get
        it as a column; else there is none. ``alone``: one at a time, because time is measured.
        Everything in a cell becomes a column of its rows, unless a row says otherwise.
        """
        requested = [dict(cell) for cell in cells]
        self.parameters.update(dict.fromkeys(name for cell in requested for name in cell))
        keys = [make_key(what, cell, self._hash(cell)) for cell in requested]
        rows_by_key = {key: rows for key in keys if (rows := self.stored.get(key)) is not None}
        missing = {
            key: cell for key, cell in zip(keys, requested, strict=True) if key not in rows_by_key
        }
        self.progress(self.name, len(requested) - len(missing), len(requested))
        for key, (rows, seconds) in self._results(what, missing, alone):
            rows_by_key[key] = rows
            self.stored.put(key, rows, seconds)
            self.progress(
                self.name, len(requested) - len(missing.keys() - rows_by_key.keys()), len(requested)
            )
        plain_cells = [to_plain(cell, f"A cell of {what.__name__}") for cell in requested]
        return [
            {**cell, **row}
            for cell, key in zip(plain_cells, keys, strict=True)
            for row in rows_by_key[key]
        ]

    def _hash(self, cell: Cell) -> str:
        return self.samples[cell["data"]].sha256 if "data" in cell else ""

    def _results(
        self, what: Measuring, cells: Mapping[str, Cell], alone: bool
    ) -> Iterator[tuple[str, Timed]]:
        if self.pool is not None and not alone and len(cells) > 1:
            yield from self.pool.results(self.samples, what, cells)
            return
        for key, cell in cells.items():
            yield key, _timed(what, self.samples, cell)


def _timed(what: Measuring, samples: Mapping[str, Sample], cell: Cell) -> Timed:
    begun = time.perf_counter()
    table = (samples[cell["data"]],) if "data" in cell else ()
    parameters = {name: value for name, value in cell.items() if name != "data"}
    result = what(*table, **parameters)
    rows = [result] if isinstance(result, Mapping) else result
    of = f"A row of {what.__name__}"
    return [to_plain(row, of) for row in rows], time.perf_counter() - begun


# Several processes


class ProcessPool:
    """Processes that measure cells, each with its table: of 230,000 rows it takes .05 s to send."""

    def __init__(self, processes: int) -> None:
        # What they write meanwhile is about people: it goes when they go, however that is.
        self._scratch = temporary_files.make_folder()
        self._executor = ProcessPoolExecutor(
            processes,
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(str(self._scratch),),
        )

    def results(
        self, samples: Mapping[str, Sample], what: Measuring, cells: Mapping[str, Cell]
    ) -> Iterator[tuple[str, Timed]]:
        """The rows of every cell under its key, as they are done."""
        waiting: dict[Future[Timed], str] = {}
        try:
            for key, cell in cells.items():
                needed = {cell["data"]: samples[cell["data"]]} if "data" in cell else {}
                waiting[self._executor.submit(_timed, what, needed, cell)] = key
            while waiting:
                done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=_failed):  # what is well first, to be kept
                    yield waiting.pop(future), future.result()
        except BrokenProcessPool:
            yield from [
                (waiting[future], future.result()) for future in waiting if not _failed(future)
            ]
            raise ShoalError(
                "A process that measured has ended before it was done.",
                "run it again: what was measured is kept; --jobs 1 needs less memory.",
            ) from None
        finally:
            for future in waiting:
                future.cancel()

    def close(self, at_once: bool = False) -> None:
        """Let the processes go; ``at_once``: without what they are at."""
        running = list((self._executor._processes or {}).values()) if at_once else []
        for process in running:
            process.terminate()
        self._executor.shutdown(wait=not at_once, cancel_futures=True)
        for process in running:
            process.join(GRACE)
        temporary_files.remove_folder(self._scratch)


def _failed(future: Future[Timed]) -> bool:
    """Whether nothing came out of it, or nothing yet."""
    return not future.done() or future.cancelled() or future.exception() is not None


def _begin(folder: str) -> None:
    """Every process keeps to one thread, and leaves stopping to the one that started it."""
    import signal
    import tempfile

    import numba

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(folder,), daemon=True).start()
    tempfile.tempdir = folder
    numba.set_num_threads(1)


def _follow(folder: str) -> None:
    """End with the process that started this one, even where that was killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)


@contextmanager
def open_process_pool(jobs: int | None) -> Iterator[ProcessPool | None]:
    """So many processes, or none for one; nothing said: one for every core."""
    count = (os.cpu_count() or 1) if jobs is None else jobs
    if count <= 1:
        yield None
        return
    pool = ProcessPool(count)
    try:
        yield pool
    except BaseException:
        pool.close(at_once=True)
        raise
    pool.close()
