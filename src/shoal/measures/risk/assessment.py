"""The risk of one table: what three kinds of adversary can expect from its class sizes.

prosecutor   knows that the person is in the table: 1 / n for a class of n rows
journalist   knows only that the person is in the population: 1 / N for the N people of the
             population that a class's cells cover
marketer     tries everybody, and cares how many are right on average

K. El Emam, Guide to the De-Identification of Personal Health Information, CRC Press 2013. All
three speak of who a row is about, not of what a class gives away about everybody in it.

Population uniqueness is estimated by each estimator, and ``dankar`` is the estimate to believe
(`choose_estimate`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.model import parse_fraction as exact
from shoal.measures.risk.pitman import pitman
from shoal.measures.risk.sizes import ClassSizes, UniquenessEstimate, finite_or_none
from shoal.measures.risk.snb import snb
from shoal.measures.risk.zayatz import zayatz

NO_ROWS = "the table has no rows"
NO_POPULATION = "no population table is given"
NO_FRACTION = "no sampling fraction is given"
PITMAN_UP_TO = 0.1
"""The sampling fraction up to which Pitman's model is believed."""


@dataclass(frozen=True, eq=False)
class ClassMembership:
    """Who is in which class: distinct pairs of a person, by number from 0 on, and a class."""

    person: NDArray[Any]
    class_: NDArray[Any]

    def smallest(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per person the smallest of its classes' counts."""
        smallest = np.full(int(self.person.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, self.person, counts[self.class_])
        return smallest


@dataclass(frozen=True)
class Assessment:
    """The risk of one table; nan where there is none, and ``notes`` say why.

    ``prosecutor`` and ``journalist`` are the highest of anybody; ``marketer`` is the mean over
    people of 1 / n (classes / rows), ``marketer_population`` that of 1 / N. ``above`` is the
    share of people whose prosecutor risk exceeds ``threshold``; ``unique_share`` those at 1.
    Whoever is in several classes is as much at risk as in the worst of them; n counts persons.
    """

    rows: int
    classes: int
    smallest_class: int
    prosecutor: float
    journalist: float
    marketer: float
    marketer_population: float
    threshold: float
    above: float
    uniques: int
    unique_share: float
    sampling_fraction: float | None = None
    population_uniques: Mapping[str, UniquenessEstimate] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    people: int = 0
    """How many people the rows are about: as many, unless some have several."""
    limit: Fraction = Fraction(1, 5)
    """The threshold, exactly."""

    @property
    def min_people_alike(self) -> int:
        """The smallest number of people of a class whose risk is not above the threshold."""
        return math.ceil(1 / self.limit)

    @property
    def people_above(self) -> int:
        """How many people have a risk above the threshold."""
        return round(self.above * self.people) if self.people else 0

    def to_dict(self) -> dict[str, Any]:
        """The assessment for JSON; what is not known is null."""
        document: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name == "limit":
                continue
            document[name] = finite_or_none(value) if isinstance(value, float) else value
        estimates = self.population_uniques
        document["population_uniques"] = {name: e.to_dict() for name, e in estimates.items()}
        document["notes"] = dict(self.notes)
        return document


def assess(
    rows: Any,
    population_counts: Any = None,
    sampling_fraction: float | None = None,
    threshold: float | Fraction = 0.2,
    *,
    population_rows: Any = None,
    members: ClassMembership | None = None,
    population_members: ClassMembership | None = None,
    table_rows: int | None = None,
) -> Assessment:
    """Assess the re-identification risk of a table from the sizes of its classes.

    Parameters
    ----------
    rows : array of int, (classes,)
        How many people each class has.
    population_counts : array of int, (classes,), optional
        How many people of the population the cells of each class cover.
    sampling_fraction : float, optional
        The share of the population that is in the table; without it population uniqueness is not
        estimated.
    threshold : float or Fraction, default 0.2
        The prosecutor risk above which people are counted.
    population_rows : array of int, optional
        How many people the classes of ``population_counts`` have, where they are not those of
        ``rows`` because the population table lacks columns.
    members, population_members : ClassMembership, optional
        Who is in which of the classes, where some people have several rows. Estimators then take a
        class for as large as it has persons; whoever is in several counts in each.
    table_rows : int, optional
        How many rows the table has, where people have several.

    Returns
    -------
    Assessment

    Raises
    ------
    UsageError
        Where the threshold or the sampling fraction is out of its bounds, or there is not one
        population count for each class.

    Examples
    --------
    >>> assessment = assess([1, 1, 2, 4], threshold=0.3)
    >>> assessment.prosecutor, assessment.marketer, assessment.unique_share, assessment.above
    (1.0, 0.5, 0.25, 0.5)
    """
    rows = np.asarray(rows, dtype=np.int64)
    sizes = ClassSizes.of(rows)
    population_classes = (
        rows if population_rows is None else np.asarray(population_rows, dtype=np.int64)
    )
    journalist, marketer_population, notes = _assess_population(
        population_classes, population_counts, population_members
    )
    size, persons = _count_by_smallest_class(sizes, rows, members)
    people = int(persons.sum())
    estimates, more_notes = _estimate_uniqueness(sizes, sampling_fraction)
    limit = exact(threshold, "threshold", 0, 1)
    risky = size * limit.numerator < limit.denominator
    unique = int(persons[size == 1].sum())
    smallest = int(sizes.size.min(initial=sizes.rows))
    return Assessment(
        rows=people if table_rows is None else table_rows,
        classes=sizes.classes,
        smallest_class=smallest,
        prosecutor=_share(1, smallest),
        journalist=journalist,
        marketer=_mean_reciprocal(size, persons),
        marketer_population=marketer_population,
        threshold=float(limit),
        above=_share(int(persons[risky].sum()), people),
        uniques=unique,
        unique_share=_share(unique, people),
        sampling_fraction=sampling_fraction,
        population_uniques=estimates,
        notes=(notes if sizes.rows else {}) | more_notes,
        people=people,
        limit=limit,
    )


def _estimate_uniqueness(
    sizes: ClassSizes, fraction: float | None
) -> tuple[dict[str, UniquenessEstimate], dict[str, str]]:
    if not sizes.rows:
        return {}, {"prosecutor": NO_ROWS}
    if fraction is None:
        return {}, {"population_uniques": NO_FRACTION}
    return estimate_population_uniqueness(sizes, fraction), {}


def _count_by_smallest_class(
    sizes: ClassSizes, rows: NDArray[np.int64], members: ClassMembership | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The size of the smallest class that each person is in, and how many people have each."""
    if members is None:
        return sizes.size, sizes.size * sizes.number
    size, persons = np.unique(members.smallest(rows), return_counts=True)
    return size, persons.astype(np.int64)


def _mean_reciprocal(size: NDArray[np.int64], persons: NDArray[np.int64]) -> float:
    if not len(size):
        return math.nan
    pairs = zip(persons.tolist(), size.tolist(), strict=True)
    return float(sum((Fraction(n, crowd) for n, crowd in pairs), Fraction()) / int(persons.sum()))


def estimate_population_uniqueness(
    sizes: ClassSizes, fraction: float
) -> dict[str, UniquenessEstimate]:
    """Each estimate by its name, and under ``dankar`` the one to believe."""
    estimates = pitman(sizes, fraction), zayatz(sizes, fraction), snb(sizes, fraction)
    believed = choose_estimate(*estimates, fraction)
    return {**{estimate.estimator: estimate for estimate in estimates}, "dankar": believed}


def choose_estimate(
    of_pitman: UniquenessEstimate,
    of_zayatz: UniquenessEstimate,
    of_snb: UniquenessEstimate,
    fraction: float,
) -> UniquenessEstimate:
    """Dankar's rule: which estimate of population uniqueness to believe.

    Compared on clinical data sets over sampling fractions, Pitman's model was the most accurate up
    to a fraction of 0.1, and above it the smaller of the slide negative binomial and Zayatz's
    estimate. Where the chosen model has no estimate, Zayatz's stands in. The result's ``estimator``
    names where it comes from: ``dankar: pitman``.

    F. Dankar, K. El Emam, A. Neisa, T. Roffey, Estimating the re-identification risk of clinical
    data sets, BMC Medical Informatics and Decision Making 12:66 (2012).
    """
    wanted = of_pitman if fraction <= PITMAN_UP_TO else of_snb
    if not wanted.is_available:
        reason = f"{wanted.estimator} has no estimate ({wanted.reason})"
        wanted = replace(of_zayatz, reason=reason)
    elif wanted is of_snb and of_zayatz.uniques < wanted.uniques:
        wanted = of_zayatz
    return replace(wanted, estimator=f"dankar: {wanted.estimator}")


def _assess_population(
    rows: NDArray[np.int64], counts: Any, members: ClassMembership | None
) -> tuple[float, float, dict[str, str]]:
    if counts is None:
        return math.nan, math.nan, {"journalist": NO_POPULATION}
    counts = np.asarray(counts, dtype=np.int64)
    if counts.shape != rows.shape:
        raise UsageError(
            f"{len(rows)} classes have {len(counts)} population counts.", "give one for each class."
        )
    present = rows > 0
    short = int((counts < rows)[present].sum())
    if short or not present.any():
        reason = f"{short} classes have more people than the population has in their cells"
        return math.nan, math.nan, {"journalist": reason if short else NO_ROWS}
    highest = float((1 / counts[present]).max())
    if members is not None:
        by_person = _count_by_smallest_class(ClassSizes.of(rows), counts, members)
        return highest, _mean_reciprocal(*by_person), {}
    rows, counts = rows[present], counts[present]
    return highest, float((rows / counts).sum() / rows.sum()), {}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
