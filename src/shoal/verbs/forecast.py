"""Forecast: what a release that somebody else will make of overlapping people exposes of ours.

`shoal.forecasts` has the parts: a release is read as people with their own codes, the other
publishers are supposed, and each estimator answers for every sensitive column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.core.errors import UsageError
from shoal.core.model import Model
from shoal.core.schema import Schema
from shoal.forecasts.closed_form import estimate_by_closed_form
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.local_distribution import LocalDistribution, fit_local_distribution
from shoal.forecasts.other_publisher import (
    OtherPublisher,
    cut_coarse_partitions,
    parse_overlap,
    suppose_publisher,
)
from shoal.forecasts.our_table import OverlapScenario, check_whole_number
from shoal.forecasts.paper import READINGS, estimate_by_paper
from shoal.forecasts.release_reading import OurRelease, read_our_release
from shoal.forecasts.result import AtRisk, Forecast, select_worst_forecast
from shoal.forecasts.simulation import simulate
from shoal.releases.options import Progress, ignore_progress
from shoal.releases.people import select_published_rows
from shoal.reports.document import check_page_place

MAX_LISTED_CLASSES = 100
"""So many of the classes at risk are listed."""


def forecast(
    release: Any,
    *,
    original: Any = None,
    schema: Schema | None = None,
    on: str | Sequence[str] | None = None,
    overlap: float | str = 0.1,
    others: int = 1,
    same_people: float | None = None,
    rows: int | None = None,
    method: str | None = None,
    rule: Model | str | None = None,
    l: int = 2,
    confidence: float = 0.5,
    repeats: int = 20,
    population: Any = None,
    seed: int = 0,
    show: bool = False,
    out: str | Path | None = None,
    reading: Mapping[str, Any] | None = None,
    progress: Progress = ignore_progress,
) -> Forecast:
    """Estimate the share of our classes that others' releases would expose, from ours alone.

    A class is exposed where somebody of it who is in another release too is left with fewer than
    ``l`` values of a sensitive column.

    Parameters
    ----------
    release
        A release's folder, a ``Release``, or any table with a ``schema``.
    original
        The table that it was made from: then everybody's own columns are known.
    schema
        The columns' roles, where ``release`` is a plain table.
    on
        The sensitive columns to forecast. Without it every one is: the forecast is the worst, with
        all of them in ``by_column``.
    overlap
        How many of our people each other release holds: a share up to 1 (also as text, ``"10%"``),
        or a number of people from 2 on.
    others
        How many other releases there are.
    same_people
        Where there are several others, the share of these people who are in all of them: 0, who is
        in which is independent; 1, the same people are in all. Unless given, both ends are
        forecast, and the worse is what the forecast stands by.
    rows
        How many rows each other release has; as many as ours unless given.
    method, rule
        How the others publish; as ours was published unless given.
    l
        Whoever is left with fewer values is exposed.
    confidence
        The paper's C, for its own estimate.
    repeats
        How many releases of the others are drawn.
    population
        A table of everybody; with the sensitive column it says how common values are.
    seed
        The seed of everything that is drawn.
    show
        Whether the classes at risk are named by their labels.
    out
        Where a page is written too.
    reading
        How the original and the population are written, as in ``shoal.open``.
    progress
        Called with a step's name, how much is done, and how much there is.

    Returns
    -------
    Forecast
        The estimates side by side, the classes most at risk, and what all of it supposes.

    Raises
    ------
    UsageError
        An option has no meaning, or more people are supposed in both releases than there are.
    InputError
        The release has no classes of generalised cells, or the original is another table.
    NotMetError
        The others' table could not be published under the rule that is supposed.

    Examples
    --------
    >>> shoal.forecast("release", original="patients.csv", overlap="10%").risk  # doctest: +SKIP
    """
    parsed_overlap = parse_overlap(overlap)
    check_whole_number("repeats", repeats, 2, 20)
    check_whole_number("seed", seed, 0)
    if out is not None:
        check_page_place(Path(out), internal=True, name="forecast")
    all_columns = read_our_release(
        release,
        original=select_published_rows(release, original),
        schema=schema,
        on=on,
        population=population,
        seed=seed,
        show=show,
        reading=reading,
        progress=progress,
    )
    people = all_columns.ours.people
    share = parsed_overlap if parsed_overlap <= 1 else _as_share(int(parsed_overlap), people)
    scenario = OverlapScenario(share, people if rows is None else rows, l, others, confidence)
    scenario.shared(people)
    settings: dict[str, Any] = {
        "repeats": repeats,
        "seed": seed,
        "original": original is not None,
        "population": population is not None,
    }
    # Unless stated, both ends of how the people of several others coincide.
    unstated = (1.0, 0.0) if others > 1 else (0.0,)
    ends = unstated if same_people is None else (same_people,)
    scenarios = [replace(scenario, same_people=share) for share in ends]
    each = _forecast_columns(all_columns, scenarios, (method, rule), settings, progress)
    result = select_worst_forecast(each)
    if out is not None:
        result.page().write(out)
    return result


def _forecast_columns(
    release: OurRelease,
    scenarios: Sequence[OverlapScenario],
    publishing: tuple[str | None, Model | str | None],
    settings: Mapping[str, Any],
    progress: Progress,
) -> list[Forecast]:
    """The forecast of each column, by the worst of the scenarios."""
    forecasts = []
    draws = int(settings["repeats"]), int(settings["seed"])
    for read in release.each:
        publisher = suppose_publisher(
            read.published, read.ours, *publishing, several=bool(release.by_column)
        )
        local = fit_local_distribution(read.ours, cut_coarse_partitions(read.ours))
        tried = []
        for i, scenario in enumerate(scenarios):
            turn = (i, len(scenarios))
            estimates = _estimate_risk(read, local, scenario, publisher, draws, turn, progress)
            tried.append((estimates, scenario))
        risks = {f"{end.same_people:g}": estimates[0].risk for estimates, end in tried}
        compared = {"by_same_people": risks} if len(tried) > 1 else {}
        estimates, scenario = max(tried, key=lambda end: end[0][0].risk)
        forecasts.append(
            _build_forecast(read, scenario, publisher, estimates, {**settings, **compared})
        )
    return forecasts


def _build_forecast(
    read: OurRelease,
    scenario: OverlapScenario,
    publisher: OtherPublisher,
    estimates: Sequence[ExposureEstimate],
    options: Mapping[str, Any],
) -> Forecast:
    ours, distinct = read.ours, read.ours.nonblank_histogram.distinct
    settings = {
        "overlap": scenario.overlap,
        "people": scenario.shared(ours.people),
        "others": scenario.others,
        "rows": scenario.rows,
        "l": scenario.l,
        "confidence": scenario.confidence,
        "same_people": scenario.same_people if scenario.others > 1 else None,
        **options,
        "method": publisher.method,
        "rule": str(publisher.rule),
        "known": read.located,
        "left_out": read.left_out,
        "population_values": ours.population_values is not None,
    }
    return Forecast(
        read.published.name,
        ours.sensitive.name,
        ours.people,
        ours.classes,
        {estimate.name: estimate for estimate in estimates},
        _list_exposed(read, estimates[0]),
        int(((distinct > 0) & (distinct < scenario.l)).sum()),
        settings,
        (
            *read.suppositions,
            *publisher.suppositions,
            *_note_same_table(read, scenario, publisher),
            *_note_worse_end(scenario, options),
        ),
    )


def _note_worse_end(scenario: OverlapScenario, settings: Mapping[str, Any]) -> tuple[str, ...]:
    risks = settings.get("by_same_people")
    if risks is None:
        return scenario.coincidence[:1]
    chosen, other = ("the same people in all", "independent ones")[
        :: 1 if scenario.same_people else -1
    ]
    risk = risks["0" if scenario.same_people else "1"]
    return (
        "nobody knows whether the same of our people are in all other releases: the forecast is "
        f"for {chosen}, the worse of the two ends; for {other} it would be {risk:.1%}",
    )


def _note_same_table(
    read: OurRelease, scenario: OverlapScenario, publisher: OtherPublisher
) -> tuple[str, ...]:
    """What is to be said where another table has all of our people, and nobody else."""
    people = read.ours.people
    if not scenario.shared(people) == scenario.rows == people:
        return ()
    stated = read.published.manifest or {}
    same = (stated.get("method"), stated.get("rule")) == (publisher.method, str(publisher.rule))
    whose = "the other release" if scenario.others == 1 else "every other release"
    alike = ", and cut alike, by the same method under the same rule" if same else ""
    return (f"everybody of ours is in {whose} and nobody else: its table is ours{alike}",)


def _as_share(overlap: int, people: int) -> float:
    if overlap > people:
        raise UsageError(
            f"{overlap:,} of our people cannot be in another release: there are {people:,}.",
            "state a smaller overlap.",
        )
    return overlap / people


def _estimate_risk(
    read: OurRelease,
    local: LocalDistribution,
    scenario: OverlapScenario,
    publisher: OtherPublisher,
    draws: tuple[int, int],
    turn: tuple[int, int],
    progress: Progress,
) -> list[ExposureEstimate]:
    """The simulation, which is the default, the closed form, and both readings of the paper.

    ``draws``: how many repeats, by which seed; ``turn``: which of so many simulations this is.
    """
    progress("estimating", 0, 1)
    ours, (repeats, seed), (before, runs) = read.ours, draws, turn
    papers = [estimate_by_paper(ours, scenario, reading) for reading in READINGS]
    simulated = simulate(
        ours,
        local,
        scenario,
        publisher,
        repeats=repeats,
        seed=seed,
        progress=lambda done, total: progress(
            "simulating releases", before * total + done, runs * total
        ),
    )
    return [simulated.at(scenario.l), estimate_by_closed_form(ours, local, scenario), *papers]


def _list_exposed(release: OurRelease, estimate: ExposureEstimate) -> tuple[AtRisk, ...]:
    """The classes that may be exposed, the likeliest first; of equals the one with fewer values."""
    ours, published = release.ours, release.view.releases[0]
    values = ours.nonblank_histogram.distinct
    rows = np.bincount(ours.class_, minlength=ours.classes)
    _, first = np.unique(ours.class_, return_index=True)
    order = np.lexsort((rows, values, -estimate.classes))[:MAX_LISTED_CLASSES]
    labels = published.labels if release.view.show else None
    return tuple(
        AtRisk(
            int(c) + 1,
            int(first[c]) + 1,
            int(rows[c]),
            int(values[c]),
            float(estimate.classes[c]),
            {} if labels is None else dict(labels(int(c))),
        )
        for c in order
        if estimate.classes[c] > 0
    )
