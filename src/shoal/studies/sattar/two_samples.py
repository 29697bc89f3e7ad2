"""One pair of tables with people in both, published, attacked, and estimated beforehand.

Sattar and Helal draw from 600,000 rows of IPUMS two samples of 100,000 people who have nobody in
common, and add to both the same 1,000 to 5,000 people of a pool of 300,000. Both are published by
Mondrian; quasi-identifiers are age, sex, education, race and birth place, the sensitive column is
the occupation, with 50 values. Their extract is not to be had; here the three Los Angeles files,
stacked, stand in for it, with all of the paper's sizes but the pool's where everybody is taken.

The paper does not say which k, which l and which C it has, nor whether people without an
occupation are among its rows: all of these are varied here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import InputError, Schema
from shoal.core.tally import SUPPRESSED
from shoal.forecasts.closed_form import estimate_by_closed_form
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.local_distribution import fit_local_distribution
from shoal.forecasts.other_publisher import OtherPublisher, cut_coarse_partitions
from shoal.forecasts.our_table import OurTable, OverlapScenario
from shoal.forecasts.paper import READINGS, compute_class_chances, estimate_by_paper
from shoal.forecasts.real_intersection import OtherRelease, find_exposed_classes
from shoal.forecasts.simulation import simulate
from shoal.forecasts.validation import CodedTable, SamplePair
from shoal.models.k_anonymity import KAnonymity
from shoal.studies.claims import Row
from shoal.studies.laboratory import Lab
from shoal.studies.sattar.ladder import COUNTED, lift_assumptions
from shoal.studies.sattar.pattern import TOLD
from shoal.studies.tables import Sample

DATA = ("ipums-stacked",)
QUASI = ("age", "sex", "educrec", "raceg", "bplg")
EVERYBODY, OCCUPIED = "everybody", "with an occupation"
CODES, GROUPS = "codes", "groups"
"""The occupations as they are, or by the first two of their three digits."""

LS, CONFIDENCES = (2, 3, 5), (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9)
L, C = 2, 0.5
"""What is shown first: one value left, and a half for C; the paper gives neither."""
AT = {COUNTED: C}
"""Of the steps from the paper's estimate to the closed form, those that have a C."""
ON = "On the stacked Los Angeles files, with k, l and C of ours, "
"""How every sentence about these figures begins."""
SETTINGS = {
    "k": [3, 5, 10, 20, 40],
    "overlap": [1000, 2000, 3000, 4000, 5000],
    "size": 100_000,
    "repeats": 10,
}
SIMULATION, CLOSED, AT_LEAST, BEST = (
    "simulation",
    "closed form",
    *(f"paper, {reading}" for reading in READINGS),
)
LABELS = {
    "overlap": "People in both",
    "k": "k",
    "estimated": "Estimated risk",
    "real": "Real risk",
    "share": "Classes",
    "estimator": "Estimator",
    "people": "People",
    "confidence": "C",
    "error": "Mean error, points",
}
ESTIMATORS = (AT_LEAST, BEST, CLOSED, SIMULATION)
NOTES = (
    "The three Los Angeles files of IPUMS (1970, 1980, 1990; 233,584 rows), stacked, in place of "
    "the paper's 600,000 rows, which are not to be had. Of everybody: two samples of 100,000 "
    "without a person in common, as in the paper, and the people in both from the 33,584 others "
    "(the paper's pool: 300,000). With an occupation there are 134,568 rows: two samples of 64,784 "
    "and 5,000 others.",
    "Occupations have 252 codes here and 50 values in the paper; by their first two digits "
    "there are 79 groups.",
    "The paper gives no k, l or C. Ours: k is 3 to 40; l is 2 and C is .5, as `shoal forecast` has "
    "them unless told, and l is 3 and 5 and C .0001, .001, .01, .1 and .9 to see what they do.",
    "Risk is the share of our release's classes with somebody who is in both and has 1 to l - 1 "
    "sensitive values left. The estimators see our release and the size of the other table; "
    "simulation and closed form are also told how many are in both.",
    "A seed divides the same rows anew: the two samples and the people in both are 86 to 88 % of "
    "all rows, and 97 to 100 % of those with an occupation. Spreads (±) are over such divisions "
    "and say nothing about other tables.",
    *TOLD,
)


def list_cells(lab: Lab, overlaps: Iterable[int], ks: Iterable[int], occupations: str) -> list[Row]:
    """A cell for each table, seed, overlap and k, with everybody and with the occupied alone."""
    most = max(lab.settings["overlap"])
    return [
        {
            "data": data,
            "people": people,
            "occupations": occupations,
            "overlap": overlap,
            "k": k,
            "seed": seed,
            "size": lab.settings["size"],
            "pool": most,
            "repeats": lab.settings["repeats"],
        }
        for data, people, overlap, k, seed in product(
            lab.samples, (EVERYBODY, OCCUPIED), overlaps, ks, lab.seeds
        )
    ]


def compare_estimators(
    sample: Sample,
    *,
    people: str,
    occupations: str,
    overlap: int,
    k: int,
    seed: int,
    size: int,
    pool: int,
    repeats: int,
) -> list[Row]:
    """What each estimator said of one pair of releases, at every l and C, and what came true.

    ``pool``: so many people at least are left out of both samples, for overlaps to be drawn from.
    """
    population = _read_people(sample, people, occupations)
    room = min(size, (population.rows - pool) // 2)
    if room < 2 * k:
        raise InputError(
            f"A table of {population.rows:,} rows has no room for two samples and {pool:,} more.",
            "take a larger table, or smaller overlaps.",
        )
    pair = SamplePair.draw(population, room, overlap, seed)
    publish = OtherPublisher("mondrian", KAnonymity(k))
    ours, theirs = pair.ours(publish), pair.theirs(publish)
    scenario = OverlapScenario(overlap / ours.people, pair.second.rows, confidence=C)
    held = _Releases(ours, theirs, scenario)
    around = fit_local_distribution(ours, cut_coarse_partitions(ours))
    runs = simulate(ours, around, scenario, publish, repeats=repeats, seed=seed, threads=1)
    common = {"size": room, "classes": ours.classes, "people_found": held.expected}
    rows = []
    for l in LS:
        at = replace(scenario, l=l)
        free = (
            runs.at(l),
            estimate_by_closed_form(ours, around, at),
            *(lift_assumptions(ours, at) if l == L else ()),
        )
        estimates = [
            *(_make_row(estimate, estimate.risk, AT.get(estimate.name)) for estimate in free),
            *_paper_estimates(ours, at),
        ]
        rows += [{**common, **held.truth(l), **estimate, "l": l} for estimate in estimates]
    return rows


def _read_people(sample: Sample, people: str, occupations: str) -> CodedTable:
    selected = sample.applicable() if people == OCCUPIED else sample
    table = selected.table.select([*QUASI, selected.sensitive])
    if occupations == GROUPS:
        table = group_occupations(table, selected.sensitive)
    schema = Schema.of(quasi=QUASI, sensitive=selected.sensitive)
    return CodedTable.read(table, schema, selected.sensitive, {})


def group_occupations(table: pa.Table, column: str) -> pa.Table:
    """The codes' first two digits of three.

    >>> group_occupations(pa.table({"code": [5, 59, 310, 999]}), "code")["code"].to_pylist()
    [0, 5, 31, 99]
    """
    tens = pc.divide(table[column], 10)
    return table.set_column(table.column_names.index(column), column, tens)


def _paper_estimates(ours: OurTable, scenario: OverlapScenario) -> Iterator[Row]:
    """Both readings, at every C: a class is exposed where l common values are less sure."""
    for reading in READINGS:
        estimate = estimate_by_paper(ours, scenario, reading)
        for confidence in CONFIDENCES:
            yield _make_row(estimate, float((1 - estimate.classes < confidence).mean()), confidence)


def _make_row(estimate: ExposureEstimate, risk: float, confidence: float | None) -> Row:
    return {"estimator": estimate.name, "confidence": confidence, "estimated": 100 * risk}


@dataclass(frozen=True, eq=False)
class _Releases:
    """Both releases, once they are there."""

    ours: OurTable
    theirs: OtherRelease
    scenario: OverlapScenario

    def truth(self, l: int) -> Row:
        """Exposed classes, in per cent: of all, of those with somebody in both; those that have
        fewer than l values without any other release, of all and of the exposed; and how many
        classes have somebody in both with no value common, who is no match."""
        exposed, both = find_exposed_classes(self.ours, [self.theirs], l), self.with_somebody
        few = self.ours.histogram.distinct < l
        return {
            "real": 100 * float(exposed.mean()),
            "real_of_those_in_both": 100 * float(exposed[both].mean()),
            "alone": 100 * float((exposed & few).mean()),
            "alone_of_exposed": 100 * float(few[exposed].mean()) if exposed.any() else None,
            "no_match": self.without_match,
        }

    @property
    def with_somebody(self) -> NDArray[np.int64]:
        """Our classes with somebody who is in the other release too."""
        classes: NDArray[np.int64] = np.unique(self.ours.class_[self.theirs.class_ != SUPPRESSED])
        return classes

    @property
    def without_match(self) -> int:
        """How many of our classes have somebody whose classes here and there share no value."""
        there = np.flatnonzero(self.theirs.class_ != SUPPRESSED)
        here = self.ours.class_[there]
        common = self.ours.bits[here] & self.theirs.bits[self.theirs.class_[there]]
        return len(np.unique(here[~common.any(axis=1)]))

    @property
    def expected(self) -> float:
        """n P(E) / |E|, the median over our classes: how many people the paper's model finds in a
        class's cells for each whom the other sample may be taken to have there."""
        expected = self.scenario.rows * compute_class_chances(self.ours)
        return float(np.median(expected / self.ours.histogram.rows))


def filter_rows(rows: Iterable[Mapping[str, Any]], **where: Any) -> list[Row]:
    """The rows with these values; a C is asked of the paper's estimators alone."""
    confidence = where.pop("confidence", None)
    return [
        dict(row)
        for row in rows
        if all(row.get(name) == value for name, value in where.items())
        and (confidence is None or row.get("confidence") in (None, confidence))
    ]
