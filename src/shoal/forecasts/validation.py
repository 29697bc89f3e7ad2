"""How well forecasts come true: parts of a table published as if by two, attacked, and compared.

For every seed and overlap o, two samples of ``size`` people that have nobody in common, and o more
people who are in both, are drawn from the table. For every k both are published by the method. The
forecast sees the first release alone (and the overlap); the truth is counted with the second
(`shoal.forecasts.real_intersection`), and every estimator is scored:

error (MAE)   mean of |estimated - real| over the settings, in shares of classes
bias          mean of estimated - real
correlation   of estimated and real over the settings
covered       share of the settings whose real risk lies in the estimate's interval, nine in
              ten where it is right
Brier score   mean over all classes of (chance - what came true)²; Brier, Verification of
              forecasts expressed in terms of probability, 1950
reliability   classes in ten bins by their chance: the mean chance, and how many came true

Does not tell how good a forecast is where the other table is unlike ours: here both are samples of
one table, the overlap is known, and so are the other's method and k.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import InputError, UsageError
from shoal.core.release import EDITION, to_json_value
from shoal.core.schema import Schema
from shoal.core.tally import Tally
from shoal.forecasts.closed_form import estimate_by_closed_form
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.local_distribution import LocalDistribution, fit_local_distribution
from shoal.forecasts.other_publisher import OtherPublisher, cut_coarse_partitions, parse_overlap
from shoal.forecasts.our_table import OurTable, OverlapScenario, check_whole_number, tally_codes
from shoal.forecasts.paper import READINGS, estimate_by_paper
from shoal.forecasts.real_intersection import (
    OtherRelease,
    assign_rows_to_classes,
    build_other_release,
    find_exposed_classes,
)
from shoal.forecasts.release_reading import choose_learnt_columns
from shoal.forecasts.simulation import MIN_REPEATS, simulate
from shoal.models.k_anonymity import KAnonymity
from shoal.releases.options import (
    DEFAULT_METHOD,
    Progress,
    ignore_progress,
    parse_method_parameters,
)
from shoal.releases.people import check_one_row_each
from shoal.releases.reader import open_frame
from shoal.releases.tallying import survey
from shoal.reports.document import Page, check_page_place
from shoal.reports.pages.forecast import render_validation

SIZE, OVERLAPS = 15_000, (500, 1000, 2000, 4000)
STEP = "publishing and attacking"
BINS = 10


@dataclass(frozen=True)
class Trial:
    """One setting: what came true, and what each estimator said; shares of classes."""

    seed: int
    overlap: int
    k: int
    l: int
    classes: int
    real: float
    estimated: Mapping[str, float]
    interval: tuple[float, float] | None = None
    """The simulation's, where there were enough repeats for one."""


@dataclass(frozen=True)
class Bin:
    """The classes whose chance lies between two tenths."""

    low: float
    high: float
    classes: int
    expected: float | None
    """The mean chance of these classes; None where there are none."""
    exposed: float | None
    """The share of them that came to be exposed."""


@dataclass(frozen=True)
class Score:
    """How well one estimator did over all settings."""

    mae: float
    bias: float
    correlation: float | None
    """None where the real or the estimated risk is the same in all settings."""
    brier: float
    covered: float | None
    """The share of trials whose real risk lies in the interval; None where there is none."""
    reliability: tuple[Bin, ...]


@dataclass(frozen=True, eq=False)
class Validation:
    """Estimators held against releases that were really made."""

    on: str
    rows: int
    """How many rows the table has."""
    settings: Mapping[str, Any]
    trials: tuple[Trial, ...]
    scores: Mapping[str, Score]
    notes: tuple[str, ...] = ()
    by_column: tuple[Validation, ...] = ()
    """Where several columns were tried: each, the one that was forecast worst first."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edition": EDITION,
            "on": self.on,
            "rows": self.rows,
            "settings": to_json_value(self.settings),
            "scores": {name: to_json_value(asdict(score)) for name, score in self.scores.items()},
            "trials": [to_json_value(asdict(trial)) for trial in self.trials],
            "notes": list(self.notes),
            "by_column": [validation.to_json() for validation in self.by_column],
        }

    def page(self) -> Page:
        """The validation as a page: estimated against real, and reliability."""
        return render_validation(self.to_json())

    def __str__(self) -> str:
        real = 100 * np.array([trial.real for trial in self.trials])
        lines = [
            f"{len(self.trials):,} trials on samples of {self.settings['size']:,} of {self.rows:,} "
            f"rows: {real.min():.2f} to {real.max():.2f} % of the classes were exposed, "
            f"{real.mean():.2f} % on average.",
            "",
            f"{'estimator':20}{'error':>8}{'bias':>8}{'corr.':>8}{'Brier':>8}{'covered':>9}",
        ]
        for name, score in self.scores.items():
            alike = "–" if score.correlation is None else f"{score.correlation:.3f}"
            error, bias = f"{100 * score.mae:.2f}", f"{100 * score.bias:+.2f}"
            inside = "–" if score.covered is None else f"{score.covered:.0%}"
            lines.append(f"{name:20}{error:>8}{bias:>8}{alike:>8}{score.brier:>8.4f}{inside:>9}")
        return "\n".join([*lines, "", *self.legend, *self.notes])

    @property
    def legend(self) -> tuple[str, ...]:
        """What the columns of scores mean."""
        few = any(trial.interval is None for trial in self.trials)
        return (
            "Error and bias in percentage points of classes; Brier score over classes, 0 is best.",
            f"No interval was told: it takes {MIN_REPEATS} repeats."
            if few
            else "Covered: trials whose real risk lay in the interval told; nine in ten should.",
        )


def validate_forecast(
    table: Any,
    schema: Schema,
    *,
    on: str | Sequence[str] | None = None,
    method: str = DEFAULT_METHOD,
    overlaps: Sequence[float | str] | None = None,
    ks: Sequence[int] = (5, 10, 20, 40),
    ls: Sequence[int] = (2, 3),
    size: int = SIZE,
    seeds: int = 3,
    repeats: int = 20,
    confidence: float = 0.5,
    reading: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    progress: Progress = ignore_progress,
) -> Validation:
    """Publish samples of a table as if by two publishers, and hold forecasts against the truth.

    Parameters
    ----------
    table
        Anything that ``shoal.open`` takes.
    schema
        The columns' roles.
    on
        The sensitive columns to try. Without it every one is: the one that is forecast worst is
        returned, with all of them in ``by_column``.
    method
        How both samples are published.
    overlaps
        How many people are in both samples: numbers, or shares of a sample below 1. 500, 1,000,
        2,000 and 4,000 unless given; fewer in proportion where the table is too small for them.
    ks
        The k of both releases.
    ls
        Whoever is left with fewer values is exposed.
    size
        How many people each sample has besides those in both.
    seeds
        How often each setting is tried.
    repeats
        How many releases each simulation draws.
    confidence
        The paper's C, for its own estimate.
    reading
        How the table is written, as in ``shoal.open``.
    out
        Where a page is written too.
    progress
        Called with a step's name, how much is done, and how much there is.

    Returns
    -------
    Validation
        What came true in each setting, and every estimator's score.

    Raises
    ------
    UsageError
        A setting has no meaning.
    InputError
        The table is too small for classes of k, or cannot be read.

    Examples
    --------
    >>> shoal.validate_forecast("patients.csv", schema, overlaps=[500])  # doctest: +SKIP
    """
    if out is not None:
        check_page_place(Path(out), internal=True, name="validation")
    _check_settings(overlaps, ks, ls, {"size": size, "seeds": seeds, "repeats": repeats})
    columns = choose_learnt_columns(schema, on, "The table")
    settings: dict[str, Any] = {
        "method": method,
        "overlaps": overlaps,
        "ks": ks,
        "ls": ls,
        "size": size,
        "seeds": seeds,
        "repeats": repeats,
        "confidence": confidence,
    }
    each = []
    for column in columns:
        progress("reading", 0, 1)
        people = CodedTable.read(table, schema, column, reading or {})
        each.append(_validate_column(people, progress=progress, **settings))
    worst = select_worst_validation(each)
    if out is not None:
        worst.page().write(out)
    return worst


def _validate_column(
    people: CodedTable,
    *,
    method: str,
    overlaps: Sequence[float | str] | None,
    ks: Sequence[int],
    ls: Sequence[int],
    size: int,
    seeds: int,
    repeats: int,
    confidence: float,
    progress: Progress,
) -> Validation:
    parsed_overlaps = None if overlaps is None else [parse_overlap(overlap) for overlap in overlaps]
    size, shared, notes = _fit_sizes(people.rows, size, parsed_overlaps, ks)
    parameters = parse_method_parameters(method, {})
    publishers = {k: OtherPublisher(method, KAnonymity(k), parameters) for k in ks}
    draws = list(product(range(seeds), shared))
    total = len(draws) * len(publishers) * repeats
    outcomes: list[TrialOutcome] = []
    for at, (seed, overlap) in enumerate(draws):
        pair = SamplePair.draw(people, size, overlap, seed)
        before = at * len(publishers) * repeats
        report_progress = partial(_report_done, progress, before, total)
        outcomes += pair.trials(publishers, ls, repeats, confidence, report_progress)
    settings = {
        "method": method,
        "size": size,
        "overlaps": shared,
        "ks": list(ks),
        "ls": list(ls),
        "seeds": seeds,
        "repeats": repeats,
        "confidence": confidence,
    }
    trials = tuple(outcome.trial for outcome in outcomes)
    return Validation(
        people.sensitive.name, people.rows, settings, trials, score_estimators(outcomes), notes
    )


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table as codes, a row for each person."""

    quasi: tuple[Axis, ...]
    sensitive: Axis
    keys: NDArray[np.int32]
    values: NDArray[np.int32]

    @property
    def rows(self) -> int:
        """How many people."""
        return len(self.values)

    @classmethod
    def read(cls, table: Any, schema: Schema, on: str, reading: Mapping[str, Any]) -> CodedTable:
        """The quasi-identifiers and one sensitive column."""
        columns = (*schema.quasi, schema.column(on))
        names = {column.name for column in columns}
        with open_frame(table, kinds=schema.kinds, **reading) as frame:
            check_one_row_each(frame, schema)
            fields = [field for field in frame.fields if field.name in names]
            plan = survey(frame, Schema(columns).fit(fields))
            *keys, values = (codes.astype(np.int32) for codes in frame.rows(plan.codings))
        return CodedTable(plan.axes[:-1], plan.axes[-1], np.stack(keys), values)

    def some(self, rows: NDArray[Any]) -> Self:
        """The people of these rows, in this order."""
        return replace(self, keys=self.keys[:, rows], values=self.values[rows])

    def count_entries(self) -> tuple[Tally, NDArray[np.int32]]:
        """The table as a tally, and the entry of each row."""
        return tally_codes(self.quasi, self.sensitive, self.keys, self.values)


def _report_done(progress: Progress, before: int, total: int, done: int) -> None:
    progress(STEP, before + done, total)


def _report_repeats(progress: Callable[[int], None], before: int, done: int, total: int) -> None:
    progress(before + done)


def _check_settings(
    overlaps: Sequence[float | str] | None,
    ks: Sequence[int],
    ls: Sequence[int],
    numbers: Mapping[str, int],
) -> None:
    lists = {"overlaps": overlaps, "ks": ks, "ls": ls}
    for name, values in lists.items():
        if values is None:
            continue
        listed = isinstance(values, Sequence) and not isinstance(values, str)
        if not listed or not values or max(Counter(values).values()) > 1:
            raise UsageError(f"{name} are one or more, each once.", f"leave {name} out for a few.")
    parsed = [parse_overlap(overlap) for overlap in overlaps or ()]
    if not all(0 < overlap < 1 or overlap >= 2 for overlap in parsed):
        raise UsageError(
            "An overlap is a share of a sample, below 1, or a number of people from 2 on.",
            "write for example 10% or 500.",
        )
    examples = {"size": SIZE, "seeds": 3, "repeats": 20}
    for name, number in numbers.items():
        check_whole_number(name, number, 1, examples[name])
    for name, values, minimum in (("k", ks, 1), ("l", ls, 2)):
        for number in values:
            check_whole_number(name, number, minimum, minimum + 3)


def _fit_sizes(
    rows: int, size: int, overlaps: Sequence[float] | None, ks: Sequence[int]
) -> tuple[int, list[int], tuple[str, ...]]:
    """Sizes of samples and overlaps that the table has room for, and what is to be said of it."""
    shared = [_count_shared(overlap, size) for overlap in overlaps or OVERLAPS]
    notes: tuple[str, ...] = ()
    needed = 2 * size + max(shared)
    if needed > rows and overlaps is None:
        shared = [max(1, rows * people // needed) for people in shared]
        size = rows * size // needed
    elif needed > rows:
        size = (rows - max(shared)) // 2
        shared = [
            min(_count_shared(overlap, size), shared_people)
            for overlap, shared_people in zip(overlaps or (), shared, strict=True)
        ]
    if needed > rows:
        fewer = ", ".join(f"{people:,}" for people in shared)
        note = f"samples have {size:,} people of their own and share {fewer}"
        notes = (f"The table has {rows:,} rows: {note}.",)
    if size < 2 * max(ks, default=1):
        raise InputError(
            f"Samples of a table of {rows:,} rows cannot be cut into classes of {max(ks):,}.",
            "take a larger table, smaller overlaps or a smaller k.",
        )
    return size, list(dict.fromkeys(shared)), notes


def _count_shared(overlap: float, size: int) -> int:
    """How many people an overlap is: of a sample of ``size`` and them, where it is a share."""
    return max(1, round(overlap * size / (1 - overlap))) if overlap < 1 else int(overlap)


@dataclass(frozen=True, eq=False)
class SamplePair:
    """Two tables; the first people of both are the same."""

    first: CodedTable
    second: CodedTable
    shared: int
    seed: int
    rng: np.random.Generator

    @classmethod
    def draw(cls, people: CodedTable, size: int, shared: int, seed: int) -> SamplePair:
        """``size`` people for each of two tables, nobody twice, and ``shared`` more in both."""
        rng = np.random.default_rng((seed, shared))
        both, first, second = np.split(
            rng.permutation(people.rows)[: 2 * size + shared], [shared, shared + size]
        )
        ours, theirs = (people.some(np.concatenate([both, own])) for own in (first, second))
        return cls(ours, theirs, shared, seed, rng)

    def ours(self, publish: OtherPublisher) -> OurTable:
        """The first table, published."""
        sample = self.first
        tally, entry = sample.count_entries()
        cut = publish(tally, self.rng)
        class_ = assign_rows_to_classes(cut, entry, self.rng)
        return OurTable(
            sample.quasi, sample.sensitive, sample.keys, sample.values, class_, cut.cells
        )

    def trials(
        self,
        publishers: Mapping[int, OtherPublisher],
        ls: Sequence[int],
        repeats: int,
        confidence: float,
        progress: Callable[[int], None],
    ) -> Iterator[TrialOutcome]:
        """Every k and l: the estimators are asked, then both releases are looked at."""
        local: LocalDistribution | None = None
        for i, (k, publish) in enumerate(publishers.items()):
            ours = self.ours(publish)
            # Who is like whom does not depend on k.
            local = (
                replace(local, ours=ours)
                if local
                else fit_local_distribution(ours, cut_coarse_partitions(ours))
            )
            scenario = OverlapScenario(
                self.shared / ours.people, self.second.rows, confidence=confidence
            )
            runs = simulate(
                ours,
                local,
                scenario,
                publish,
                repeats=repeats,
                seed=self.seed,
                progress=partial(_report_repeats, progress, i * repeats),
            )
            theirs = self.theirs(publish)
            for l in ls:
                at, exposed = replace(scenario, l=l), find_exposed_classes(ours, [theirs], l)
                papers = (estimate_by_paper(ours, at, reading) for reading in READINGS)
                estimates = [runs.at(l), estimate_by_closed_form(ours, local, at), *papers]
                risks = {estimate.name: estimate.risk for estimate in estimates}
                share = float(exposed.mean())
                interval = estimates[0].interval
                trial = Trial(self.seed, self.shared, k, l, ours.classes, share, risks, interval)
                yield TrialOutcome(trial, exposed, estimates)

    def theirs(self, publish: OtherPublisher) -> OtherRelease:
        """The second table, published."""
        other, both = self.second, np.arange(self.shared)
        tally, entry = other.count_entries()
        cut, words = publish(tally, self.rng), other.sensitive.words
        return build_other_release(cut, entry, other.values, words, both, self.first.rows, self.rng)


def select_worst_validation(each: Sequence[Validation]) -> Validation:
    """The column of which the estimate to go by, the first, was the furthest from the truth."""
    ranked = sorted(
        each, key=lambda validation: next(iter(validation.scores.values())).mae, reverse=True
    )
    return ranked[0] if len(ranked) == 1 else replace(ranked[0], by_column=tuple(ranked))


@dataclass(frozen=True, eq=False)
class TrialOutcome:
    """A trial with all its classes: who was exposed, and what the estimators said before."""

    trial: Trial
    exposed: NDArray[np.bool_]
    estimates: Sequence[ExposureEstimate]


def score_estimators(outcomes: Sequence[TrialOutcome]) -> dict[str, Score]:
    """Every estimator's score over all trials and all their classes."""
    real = np.array([outcome.trial.real for outcome in outcomes])
    truth = np.concatenate([outcome.exposed for outcome in outcomes])
    scores = {}
    for at, estimate in enumerate(outcomes[0].estimates):
        risk = np.array([outcome.estimates[at].risk for outcome in outcomes])
        chance = np.concatenate([outcome.estimates[at].classes for outcome in outcomes])
        varied = real.std() > 0 and risk.std() > 0
        scores[estimate.name] = Score(
            float(np.abs(risk - real).mean()),
            float((risk - real).mean()),
            float(np.corrcoef(risk, real)[0, 1]) if varied else None,
            float(((chance - truth) ** 2).mean()),
            _measure_coverage([outcome.estimates[at].interval for outcome in outcomes], real),
            _bin_by_chance(chance, truth),
        )
    return scores


def _measure_coverage(
    intervals: Sequence[tuple[float, float] | None], real: NDArray[np.float64]
) -> float | None:
    holds = [
        low_high[0] <= risk <= low_high[1]
        for low_high, risk in zip(intervals, real, strict=True)
        if low_high is not None
    ]
    return sum(holds) / len(holds) if holds else None


def _bin_by_chance(chance: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[Bin, ...]:
    """Classes in bins of equal width by their chance; the last holds certainty too."""
    at = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(at, minlength=BINS)
    sums = (np.bincount(at, weights, BINS) for weights in (chance, truth.astype(np.float64)))
    expected, exposed = (
        [float(sum_ / n) if n else None for sum_, n in zip(total, count, strict=True)]
        for total in sums
    )
    return tuple(
        Bin(i / BINS, (i + 1) / BINS, int(count[i]), expected[i], exposed[i]) for i in range(BINS)
    )
