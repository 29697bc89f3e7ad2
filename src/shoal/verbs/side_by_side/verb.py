"""Side by side: both schools publish halves of a table that overlap, and one attack joins them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.attacks._shared.joined_beliefs import JoinedSuccess, measure_success
from shoal.core.errors import InputError, NotMetError, UsageError
from shoal.core.model import Model
from shoal.core.schema import Schema
from shoal.core.spend import Number, parse_spend
from shoal.core.theory.odds import bound_success
from shoal.forecasts.our_table import check_whole_number
from shoal.forecasts.release_reading import choose_learnt_columns
from shoal.models import rule as parse_rule
from shoal.models.k_anonymity import KAnonymity
from shoal.releases.folder import ensure_folder
from shoal.releases.options import NOISY, PARTITION, RANDOMISED, Progress, ignore_progress
from shoal.releases.people import parse_one_row
from shoal.reports.document import check_page_place
from shoal.verbs.side_by_side.guarantees import Guarantee, Unpublished
from shoal.verbs.side_by_side.result import (
    Figure,
    GuaranteeOutcome,
    SideBySide,
    select_worst_comparison,
)
from shoal.verbs.side_by_side.two_tables import Halves, TablePair, TwoTables

EPSILONS = (0.5, 1, 2, 4)
PAGE, TWIN = "side-by-side.html", "side-by-side.json"
STEP = "publishing and attacking"


def list_usual_rules(k: int) -> tuple[str, ...]:
    """The rules of classes that are compared unless others are given."""
    crowd = f"k-anonymity k={k}"
    more = (
        "entropy-diversity l=3",
        "t-closeness t=0.3",
        "ck-safety c=0.7 k=1",
        "composition l=2 alpha=0.95",
    )
    return (crowd, *(f"{crowd} & {rule}" for rule in more))


def side_by_side(
    table: Any,
    schema: Schema,
    *,
    other: Any = None,
    on: str | Sequence[str] | None = None,
    k: int = 5,
    epsilons: Sequence[Number] = EPSILONS,
    overlap: int | None = None,
    seeds: int = 3,
    rules: Sequence[Model | str] | None = None,
    forms: Sequence[str] = NOISY,
    out: str | Path | None = None,
    one_row: str | None = None,
    reading: Mapping[str, Any] | None = None,
    progress: Progress = ignore_progress,
) -> SideBySide:
    """Publish two overlapping halves of a table by both schools, and join each pair of releases.

    Nothing is published: releases are made in memory, their noise with a seed.

    Parameters
    ----------
    table
        Anything that ``shoal.open`` takes.
    schema
        The columns' roles; noise needs domains or bounds besides, and a form that lacks them is
        listed with the reason why it was not made.
    other
        A second table about some of the same people, to publish instead of halves. Half of the
        people in both are left out, to be the control.
    on
        The sensitive columns to learn. Without it every one is: the one by which classes give most
        away is returned, with all of them in ``by_column``.
    k
        The k of the rules that are compared unless ``rules`` are given.
    epsilons
        The privacy budget of each noisy release.
    overlap
        How many people are in both halves; 5,000, or a sixth of a smaller table, unless given.
    seeds
        How often the table is split.
    rules
        The guarantees of classes, each one whole rule. Unless given: k-anonymity, and with it
        entropy-diversity, t-closeness, (c,k)-safety and composition.
    forms
        The forms that are made by noise, each at each of ``epsilons``.
    out
        A folder for a page and its JSON; they tell more about the table than a release does.
    one_row
        Which row stands for a person who has several, as in ``shoal.publish``.
    reading
        How the tables are written, as in ``shoal.open``.
    progress
        Called with a step's name, how much is done, and how much there is.

    Returns
    -------
    SideBySide
        For each guarantee what is lost, and what two joined releases give away.

    Raises
    ------
    UsageError
        A form, rule or number has no meaning, or nothing says who is in both tables.
    InputError
        The table has no room for so many people in both halves, or cannot be read.

    Examples
    --------
    >>> shoal.side_by_side("patients.csv", schema, epsilons=[1], seeds=2)  # doctest: +SKIP
    """
    place = _check_place(out)
    guarantees = _list_guarantees(k, epsilons, rules, forms)
    check_whole_number("seeds", seeds, 1, 3)
    if overlap is not None:
        check_whole_number("overlap", overlap, 1, 500)
    reading = {**(reading or {}), "one_row": parse_one_row(one_row, schema, key=b"")}
    progress("reading", 0, 1)
    each = []
    for column in choose_learnt_columns(schema, on, "The table"):
        source = (
            Halves.read(table, schema, column, overlap, reading)
            if other is None
            else TwoTables.read(table, other, schema, column, reading)
        )
        each.append(_Run(source, guarantees, seeds, progress).all())
    result = select_worst_comparison(each)
    if place is not None:
        page = result.page()
        page.write(place / PAGE)
        page.write(place / TWIN)
    return result


def _check_place(out: str | Path | None) -> Path | None:
    """The folder to write to, if there is one; refuses, before any work, what cannot be written."""
    if out is None:
        return None
    place = ensure_folder(Path(out))
    for name in (PAGE, TWIN):
        check_page_place(place / name, internal=True, name="comparison")
    return place


def _list_guarantees(
    k: int, epsilons: Sequence[Number], rules: Sequence[Model | str] | None, forms: Sequence[str]
) -> list[Guarantee]:
    if unknown := [form for form in forms if form not in NOISY]:
        raise UsageError(
            f"There is no noisy form {unknown[0]!r}.", f"the forms are: {', '.join(NOISY)}."
        )
    crowd = KAnonymity(k)
    spends = [parse_spend(epsilon) for epsilon in epsilons]
    parsed = [
        parse_rule(rule) if isinstance(rule, str) else rule for rule in rules or list_usual_rules(k)
    ]
    return [
        *(Guarantee(PARTITION, rule) for rule in parsed),
        *(
            Guarantee(form, crowd if form == RANDOMISED else None, spend)
            for form in forms
            for spend in spends
        ),
    ]


@dataclass(frozen=True)
class _Run:
    """A comparison at work."""

    source: Halves | TwoTables
    guarantees: Sequence[Guarantee]
    seeds: int
    progress: Progress

    def all(self) -> SideBySide:
        """Every guarantee, seed by seed."""
        pairs = [self.source.pair(seed) for seed in range(self.seeds)]
        outcomes = tuple(
            self._outcome(at, guarantee, pairs) for at, guarantee in enumerate(self.guarantees)
        )
        self.progress(STEP, self._total, self._total)
        first = pairs[0]
        return SideBySide(
            outcomes,
            first.halves[0].sensitive.name,
            (len(first.halves[0]), len(first.halves[1])),
            first.shared,
            len(first.control),
            Figure.of([_measure_baseline(pair) for pair in pairs]).mean,
            self.seeds,
        )

    @property
    def _total(self) -> int:
        return len(self.guarantees) * self.seeds

    def _outcome(
        self, at: int, guarantee: Guarantee, pairs: Sequence[TablePair]
    ) -> GuaranteeOutcome:
        epsilon = None if guarantee.spend is None else str(guarantee.spend.epsilon)
        outcome = GuaranteeOutcome(guarantee.name, guarantee.form, epsilon)
        began, attacks = time.perf_counter(), []
        try:
            for seed, pair in enumerate(pairs):
                self.progress(STEP, at * self.seeds + seed, self._total)
                attacks.append(_attack_pair(guarantee, pair, seed))
        except (NotMetError, UsageError, InputError) as error:
            return replace(outcome, reason=error.fact)
        seconds = round(time.perf_counter() - began, 3)
        return _summarise_seeds(replace(outcome, seconds=seconds), guarantee, attacks)


PairAttack = tuple[list[Unpublished], JoinedSuccess, JoinedSuccess]
"""Both releases, and the attack on people who are in both and on the control."""


def _attack_pair(guarantee: Guarantee, pair: TablePair, seed: int) -> PairAttack:
    rng = np.random.default_rng((seed, 1))
    prior = pair.prior
    releases = [guarantee.make(half, prior, rng) for half in pair.halves]
    views = [release.view for release in releases]
    inside, outside = (
        measure_success(views, people.keys, people.values, prior)
        for people in (pair.both, pair.control)
    )
    return releases, inside, outside


def _summarise_seeds(
    outcome: GuaranteeOutcome, guarantee: Guarantee, attacks: Sequence[PairAttack]
) -> GuaranteeOutcome:
    releases, inside, outside = zip(*attacks, strict=True)
    control = Figure.of([hit.right for hit in outside])
    epsilon = None if guarantee.spend is None else 2 * float(guarantee.spend.epsilon)
    return replace(
        outcome,
        loss=Figure.of([_mean([half.loss for half in pair]) for pair in releases]),
        noiseless=_mean_known([[half.noiseless for half in pair] for pair in releases]),
        width=_mean_known([[half.width for half in pair] for pair in releases]),
        right=Figure.of([hit.right for hit in inside]),
        control=control,
        settled=Figure.of([hit.settled for hit in inside]),
        sure=Figure.of([hit.sure for hit in inside]),
        control_sure=Figure.of([hit.sure for hit in outside]),
        gains=tuple(hit.right - other.right for hit, other in zip(inside, outside, strict=True)),
        bound=None if epsilon is None else bound_success(control.mean, epsilon),
    )


def _mean_known(seeds: Sequence[Sequence[float | None]]) -> Figure | None:
    """Of both releases' numbers for each seed, where there are any."""
    present = [[number for number in both if number is not None] for both in seeds]
    return Figure.of([_mean(pair) for pair in present]) if all(present) else None


def _measure_baseline(pair: TablePair) -> float:
    """The share of the people in both who have the most common value."""
    return float((pair.both.values == int(pair.prior.argmax())).mean())


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
