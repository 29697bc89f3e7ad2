"""Synthetic: a table of made-up people, drawn from a model of noisy counts.

Three uses of the rows, each a third of the budget (MST: McKenna, Miklau, Sheldon, Winning the NIST
contest: a scalable and general approach to differentially private synthetic data, 2021):

    1  every column alone is counted, with noise
    2  pairs of columns are chosen that join all columns into a tree: as Kruskal's algorithm finds a
       greatest spanning tree, but each choice is made by permute-and-flip, among the pairs that
       join two parts of what is joined already
    3  the chosen pairs are counted, with noise

The score of a pair is Σ |n(x, y) − m(x) m(y) / N|, where n are its true counts and m, N the noisy
counts of its columns alone, the quotient rounded to whole people. One person more or less changes
one n(x, y) by 1 and m not at all: a score changes by at most 1, exactly, since all of it is whole
numbers. Where marginals are named there is nothing to choose: they are counted with all of the
budget.

The graphical model of greatest entropy whose marginals fit the noisy ones best, weighed by their
noise, is fitted, and people are drawn from it (McKenna, Sheldon, Miklau: Graphical-model based
estimation and inference for differential privacy, ICML 2019; the package mbi). Fitting and drawing
read noisy counts alone, and none of their randomness is what privacy rests on.

It does not keep relations that no counted marginal has, and no row is anybody's. Unlike MST as
published, values that are rare are not merged before pairs are counted.
"""

from __future__ import annotations

import secrets
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.spend import Spend
from shoal.dp.mechanisms import Noise, calibrate_noise
from shoal.dp.opendp_library import round_down
from shoal.dp.selection import calibrate_selection, select_candidate
from shoal.releases.forms._noise.accounted_spend import (
    ALONE,
    CHOICE,
    CHOOSING,
    EVERY,
    PAIRS,
    SENSITIVITY,
    Step,
)
from shoal.releases.forms._noise.distance_from_original import tabulate_people
from shoal.releases.forms._noise.measured import ExactCounts, NoiseDraft, Tables
from shoal.releases.forms._noise.options import write_marginal, write_marginal_option
from shoal.releases.forms._noise.plan import MAX_CELLS, Columns, MarginalPlan
from shoal.releases.forms.counts import add_noise
from shoal.releases.options import Progress, ignore_progress

_BLOCK = 50
"""The package tells of its progress so often: after so many rounds."""
_ROUNDS = 1000
_ROOM = Fraction(10**9 - 1, 10**9)
"""The share of ρ that is given out: the rest is for rounding it up when it is accounted for."""

# Choosing pairs


def choose_spanning_pairs(
    measured: ExactCounts,
    alone: Tables,
    epsilon: Fraction,
    rng: np.random.Generator | None,
    progress: Progress = ignore_progress,
) -> list[Columns]:
    """The pairs of a spanning tree; ``epsilon`` is what each choice spends."""
    columns = len(measured.plan.bins)
    pairs = list(combinations(range(columns), 2))
    counts = [np.maximum(alone[(column,)], 0).astype(np.float64) for column in range(columns)]
    scores = np.array(
        [score_pair(measured.marginal((a, b)), counts[a], counts[b]) for a, b in pairs]
    )
    tree: list[Columns] = []
    part = list(range(columns))
    while len(tree) < columns - 1:
        progress("choosing pairs", len(tree), columns - 1)
        open_ = [i for i, (a, b) in enumerate(pairs) if part[a] != part[b]]
        a, b = pairs[open_[select_candidate(scores[open_], SENSITIVITY, epsilon, rng)]]
        tree.append((a, b))
        part = [part[a] if own == part[b] else own for own in part]
    return tree


def score_pair(
    pair: NDArray[np.int64], first: NDArray[np.float64], second: NDArray[np.float64]
) -> float:
    """How far the counts of a pair are from those of independent columns.

    >>> score_pair(np.array([[2, 0], [0, 2]]), np.array([2.0, 2.0]), np.array([2.0, 2.0]))
    4.0
    """
    people = (first.sum() + second.sum()) / 2
    alike = np.rint(np.outer(first, second) / people) if people else np.zeros(pair.shape)
    return float(np.abs(pair - alike.astype(np.int64)).sum())


# The graphical model, by the package mbi


@dataclass(frozen=True)
class NoisyMarginals:
    """Marginals with the noise that was added to each of their counts."""

    tables: Tables
    noise: Noise


def draw_made_up_people(
    sizes: Sequence[int],
    noisy: Sequence[NoisyMarginals],
    rng: np.random.Generator | None,
    progress: Progress,
) -> NDArray[np.int32]:
    """Made-up people as codes: (columns, people), as many as the noisy counts say there are."""
    people = estimate_people(noisy)
    with defer_interrupts() as at_rest, _import_mbi() as mbi:
        domain = mbi.Domain(tuple(range(len(sizes))), tuple(sizes))
        measured = [
            mbi.LinearMeasurement(table.ravel().astype(np.float64), marginal, part.noise.deviation)
            for part in noisy
            for marginal, table in part.tables.items()
        ]
        done = iter(range(_BLOCK, 10 * _ROUNDS, _BLOCK))

        def fitted(_: Any) -> None:
            at_rest()
            progress("fitting", min(next(done), _ROUNDS), _ROUNDS)

        progress("fitting", 0, _ROUNDS)
        model = mbi.estimation.MirrorDescent().estimate(
            domain,
            measured,
            known_total=float(people),
            iters=_ROUNDS,
            callback_fn=fitted,
        )
        at_rest()
        progress("drawing people", 0, 1)
        with _seed_numpy(rng):
            data = model.synthetic_data(rows=people)
        codes = data.to_dict()
    return np.array([codes[column] for column in range(len(sizes))], np.int32)


def estimate_people(noisy: Sequence[NoisyMarginals]) -> int:
    """How many people the noisy counts say there are: the mean of all sums, each by its noise.

    At least one: a table of nobody has no marginals.
    """
    sums, weights = [], []
    for part in noisy:
        for table in part.tables.values():
            sums.append(float(table.sum()))
            weights.append(1 / (table.size * max(part.noise.deviation, 1e-9) ** 2))
    return max(1, round(float(np.average(sums, weights=weights))))


def check_mbi_installed() -> None:
    """Refuse before a row is read what could not be fitted afterwards."""
    if find_spec("mbi") is None:
        raise _missing_mbi_error()


def _missing_mbi_error() -> UsageError:
    return UsageError(
        "Synthetic tables need the package mbi, which is not installed.",
        "pip install 'shoal[synthetic]'.",
    )


def check_model_size(plan: MarginalPlan, marginals: Sequence[Columns]) -> None:
    """Refuse marginals whose model is too large: those that overlap are joined into larger ones."""
    with defer_interrupts(), _import_mbi() as mbi:
        domain = mbi.Domain(tuple(range(len(plan.sizes))), plan.sizes)
        tree, _ = mbi.junction_tree.make_junction_tree(domain, list(marginals))
        joined = sorted(tree.nodes, key=domain.size, reverse=True)
    cells = sum(domain.size(clique) for clique in joined)
    if cells > MAX_CELLS:
        raise UsageError(
            f"A model of these marginals has {cells:,} cells, and at most {MAX_CELLS:,} are "
            f"fitted. The largest part: {plan.name(tuple(sorted(joined[0])))}.",
            "name marginals that overlap less, or leave them out: pairs are then chosen.",
        )


@contextmanager
def defer_interrupts() -> Iterator[Callable[[], None]]:
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
def _import_mbi() -> Iterator[Any]:
    """The package, with floats of 64 bits while it is used; its advice on them is not shown."""
    try:
        jax: Any = import_module("jax")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="JAX ", category=UserWarning)
            mbi = import_module("mbi")
    except ImportError:
        raise _missing_mbi_error() from None
    try:
        yield mbi
    finally:
        jax.config.update("jax_enable_x64", before)


@contextmanager
def _seed_numpy(rng: np.random.Generator | None) -> Iterator[None]:
    """The package draws from numpy's one global state: seeded here, and put back afterwards."""
    before = np.random.get_state()
    seed = secrets.randbits(32) if rng is None else int(rng.integers(2**32))
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)


# The form


@dataclass(frozen=True)
class BudgetThirds:
    """What each third of a budget buys: noise on columns, choices of pairs, noise on those."""

    alone: Noise
    epsilon: Fraction
    """What one choice spends."""
    pairs: Noise


def split_budget(spend: Spend, columns: int) -> BudgetThirds:
    """A budget in three parts that add up to it; for three columns or more.

    >>> thirds = split_budget(Spend(1), 4)
    >>> round(thirds.alone.scale, 6), thirds.epsilon, round(thirds.pairs.scale, 6)
    (12.0, Fraction(1, 9), 9.0)
    """
    pairs = columns - 1
    if not spend.delta:
        third = Spend(spend.epsilon / 3)
        return BudgetThirds(
            calibrate_noise(third, columns), third.epsilon / pairs, calibrate_noise(third, pairs)
        )
    # ρ adds up: noise for three times as many marginals as there are spends a third of it on these
    whole = calibrate_noise(spend, 1).rho
    assert whole is not None, "there is a δ"
    alone, of_pairs = calibrate_noise(spend, 3 * columns), calibrate_noise(spend, 3 * pairs)
    used = [Step.of("", alone, columns), Step.of("", of_pairs, pairs)]
    rest = whole * _ROOM - sum((step.spend(spend.delta).rho or Fraction(0)) for step in used)
    each = Fraction(np.sqrt(round_down(2 * rest / pairs))) * _ROOM  # a pure ε is ρ = ε²/2
    return BudgetThirds(
        replace(alone, contributions=columns), each, replace(of_pairs, contributions=pairs)
    )


@dataclass(frozen=True)
class Synthetic:
    """What is to be counted for a model, and the noise of it; ``named``: nothing is chosen."""

    plan: MarginalPlan
    marginals: tuple[Columns, ...]
    """Those that are counted in any case: every column alone, or the named ones."""
    noise: Noise
    chosen: BudgetThirds | None = None
    progress: Progress = ignore_progress

    @classmethod
    def of(
        cls,
        plan: MarginalPlan,
        spend: Spend,
        wanted: Any = None,
        progress: Progress = ignore_progress,
    ) -> Synthetic:
        """A model within a budget, of the marginals that are named or of chosen ones."""
        check_mbi_installed()
        columns = len(plan.bins)
        if wanted is None and columns > 2:
            pairs = sorted(combinations(range(columns), 2), key=lambda pair: plan.cells([pair]))
            plan.check_size(pairs[1 - columns :])  # as large as any tree of them
            budget = split_budget(spend, columns)
            alone = tuple((column,) for column in range(columns))
            return cls(plan, alone, budget.alone, budget, progress)
        _refuse_number(wanted)
        marginals = plan.marginals(columns if wanted is None else wanted)
        _check_all_columns(plan, marginals)
        plan.check_size(marginals)
        check_model_size(plan, marginals)
        return cls(plan, marginals, calibrate_noise(spend, len(marginals)), None, progress)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """One step, or three where pairs are chosen."""
        if self.chosen is None:
            return (Step.of(EVERY, self.noise),)
        pairs, scale = self.chosen.pairs, calibrate_selection(SENSITIVITY, self.chosen.epsilon)
        return (
            Step.of(ALONE, self.noise),
            Step(CHOOSING, CHOICE, scale, pairs.contributions),
            Step.of(PAIRS, pairs),
        )

    def measure(
        self, measured: ExactCounts, rng: np.random.Generator | None
    ) -> list[NoisyMarginals]:
        """Count with noise: all that looks at the rows."""
        alone = add_noise(self.noise, measured.tables(self.marginals), rng, self.progress)
        noisy = [NoisyMarginals(alone, self.noise)]
        if self.chosen is not None:
            tree = choose_spanning_pairs(measured, alone, self.chosen.epsilon, rng, self.progress)
            pairs = add_noise(self.chosen.pairs, measured.tables(tree), rng, self.progress)
            noisy.append(NoisyMarginals(pairs, self.chosen.pairs))
        return noisy

    def draft(self, measured: ExactCounts, rng: np.random.Generator | None) -> NoiseDraft:
        """Count with noise, fit the model, and draw as many people as the counts say there are."""
        noisy = self.measure(measured, rng)
        codes = draw_made_up_people(self.plan.sizes, noisy, rng, self.progress)
        marginals = tuple(marginal for part in noisy for marginal in part.tables)
        return NoiseDraft(
            _label_people(self.plan, codes), marginals, tabulate_people(codes, self.plan)
        )

    def expected_noise(self) -> dict[str, Any]:
        """The noise of one count of a column alone, and of a chosen pair."""
        pairs = {} if self.chosen is None else {"deviation_of_pairs": self.chosen.pairs.deviation}
        cells = self.plan.cells(self.marginals)
        return {"cells": cells, "deviation": self.noise.deviation, **pairs}


def _refuse_number(wanted: Any) -> None:
    """Refuse a number of columns: marginals of so many would be one table of all of them."""
    if isinstance(wanted, int) and wanted > 1:
        raise UsageError(
            "A synthetic table chooses its marginals by itself, or takes those that are named.",
            "leave --marginals out, or name them: --marginal age,sex --marginal sex,disease.",
        )


def _check_all_columns(plan: MarginalPlan, marginals: tuple[Columns, ...]) -> None:
    counted = {column for marginal in marginals for column in marginal}
    if bare := [name for i, name in enumerate(plan.names) if i not in counted]:
        raise UsageError(
            f"Columns are in no marginal, and nothing is known of them: {write_marginal(bare)}.",
            f"name them too: {write_marginal_option(bare[:1])}.",
        )


def _label_people(plan: MarginalPlan, codes: NDArray[np.int32]) -> pa.Table:
    columns = {}
    for bins, own in zip(plan.bins, codes, strict=True):
        words = pa.array([label or None for label in bins.labels], pa.string())
        columns[bins.name] = words.take(pa.array(own))
    return pa.table(columns)
