"""A graphical model of noisy counts, and people drawn from it, by the package mbi.

The model of greatest entropy whose marginals fit the noisy ones best, weighed by their noise
(McKenna, Sheldon, Miklau, ICML 2019). It reads noisy counts only: nothing here looks at a row, and
none of its randomness is what privacy rests on.
"""

from __future__ import annotations

import secrets
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import UsageError
from shoal.flow.noisy.measured import Tables
from shoal.flow.noisy.planned import MOST_CELLS, Columns, Plan
from shoal.flow.request import Progress
from shoal.noise.mechanism import Noise

_BLOCK = 50
"""The package tells of its progress so often: after so many rounds."""
_ROUNDS = 1000


@dataclass(frozen=True)
class Noisy:
    """Marginals with the noise that was added to each of their counts."""

    tables: Tables
    noise: Noise


def made_up(
    sizes: Sequence[int], known: Sequence[Noisy], rng: np.random.Generator | None,
    progress: Progress,
) -> NDArray[np.int32]:  # fmt: skip
    """Made-up people as codes: (columns, people), as many as the noisy counts say there are."""
    with unbroken() as at_rest, _library() as mbi:
        domain = mbi.Domain(tuple(range(len(sizes))), tuple(sizes))
        measured = [
            mbi.LinearMeasurement(table.ravel().astype(np.float64), one, part.noise.deviation)
            for part in known
            for one, table in part.tables.items()
        ]
        done = iter(range(_BLOCK, 10 * _ROUNDS, _BLOCK))

        def fitted(_: Any) -> None:
            at_rest()
            progress("fitting", min(next(done), _ROUNDS), _ROUNDS)

        progress("fitting", 0, _ROUNDS)
        model = mbi.estimation.MirrorDescent().estimate(
            domain, measured, known_total=float(people(known)), iters=_ROUNDS,
            callback_fn=fitted,
        )  # fmt: skip
        at_rest()
        progress("drawing people", 0, 1)
        with _drawing(rng):
            data = model.synthetic_data(rows=people(known))
        codes = data.to_dict()
    return np.array([codes[column] for column in range(len(sizes))], np.int32)


def people(known: Sequence[Noisy]) -> int:
    """How many people the noisy counts say there are: the mean of all sums, each by its noise.

    At least one: a table of nobody has no marginals.
    """
    sums, weights = [], []
    for part in known:
        for table in part.tables.values():
            sums.append(float(table.sum()))
            weights.append(1 / (table.size * max(part.noise.deviation, 1e-9) ** 2))
    return max(1, round(float(np.average(sums, weights=weights))))


def check_installed() -> None:
    """Refuse before a row is read what could not be fitted afterwards."""
    if find_spec("mbi") is None:
        raise _missing()


def _missing() -> UsageError:
    return UsageError(
        "Synthetic tables need the package mbi, which is not installed.",
        "pip install 'shoal[synthetic]'.",
    )


def check_fits(plan: Plan, marginals: Sequence[Columns]) -> None:
    """Refuse marginals whose model is too large: those that overlap are joined into larger ones."""
    with unbroken(), _library() as mbi:
        domain = mbi.Domain(tuple(range(len(plan.sizes))), plan.sizes)
        tree, _ = mbi.junction_tree.make_junction_tree(domain, list(marginals))
        joined = sorted(tree.nodes, key=domain.size, reverse=True)
    cells = sum(domain.size(one) for one in joined)
    if cells > MOST_CELLS:
        raise UsageError(
            f"A model of these marginals has {cells:,} cells, and at most {MOST_CELLS:,} are "
            f"fitted. The largest part: {plan.called(tuple(sorted(joined[0])))}.",
            "name marginals that overlap less, or leave them out: pairs are then chosen.",
        )


@contextmanager
def unbroken() -> Iterator[Callable[[], None]]:
    """Ctrl-C waits: it is heard where the function that is given is called, or at the end.

    The package computes by jax, which may crash where an exception comes out of its own calls back
    into Python. Signals reach the main thread alone; elsewhere nothing is waited for.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: came.append(frame))

    def heard() -> None:
        if came:
            before(signal.SIGINT, came.pop())

    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)
        heard()


@contextmanager
def _library() -> Iterator[Any]:
    """The package, with floats of 64 bits while it is used; its advice on them is not shown."""
    try:
        jax: Any = import_module("jax")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="JAX ", category=UserWarning)
            mbi = import_module("mbi")
    except ImportError:
        raise _missing() from None
    try:
        yield mbi
    finally:
        jax.config.update("jax_enable_x64", before)


@contextmanager
def _drawing(rng: np.random.Generator | None) -> Iterator[None]:
    """The package draws from numpy's one global state: seeded here, and put back afterwards."""
    before = np.random.get_state()
    seed = secrets.randbits(32) if rng is None else int(rng.integers(2**32))
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)
