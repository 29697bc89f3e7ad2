"""The numbers of the public version: nobody's extreme chooses a bin, and shares add up."""

from __future__ import annotations

import json
from datetime import date, timedelta

import numpy as np
import pytest

import shoal
from shoal.core.axis import Axis
from shoal.reports.charts import release as charts
from shoal.reports.distribution import make_distribution
from shoal.reports.document import Chart

FEWEST = 10


def of_numbers(values) -> Axis:
    leaves = tuple(sorted(set(map(float, values))))
    return Axis("x", "number", "ordered", leaves, positions=np.array(leaves))


def of_dates(days) -> Axis:
    leaves = tuple(sorted(set(days)))
    places = np.array([float(day.toordinal()) for day in leaves])
    return Axis("x", "date", "ordered", leaves, positions=places)


def of_codes(values) -> Axis:
    return Axis("x", "code", "tree", tuple(sorted(set(values))))


def public(axis: Axis, values) -> str:
    """The public chart of a column that is published as it is, as JSON."""
    at = {leaf: i for i, leaf in enumerate(axis.leaves)}
    people = np.bincount([at[value] for value in values], minlength=axis.size).astype(float)
    distribution = make_distribution(axis, people, people).redact(FEWEST)
    assert distribution.counts is None  # what it was drawn from stays inside
    spec = charts.chart_marginals(
        distribution.column,
        distribution.labels,
        distribution.before,
        distribution.after,
        ordered=bool(distribution.ends),
        fewest=FEWEST,
    )
    assert len(spec["data"]["values"]) > 2
    return json.dumps(spec, ensure_ascii=False)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("others", [(120, 139, 1000, 10**9, 120.5), (-1, -50, -(10**6), -0.25)])
def test_one_extreme_person_changes_nothing(seed, others):
    ages = np.random.default_rng(seed).integers(0, 100, 400).astype(float).tolist()
    versions = {public(of_numbers([*ages, other]), [*ages, float(other)]) for other in others}
    assert len(versions) == 1


def test_one_fraction_does_not_change_how_bins_are_named():
    ages = [float(age) for age in range(100)] * 4
    assert public(of_numbers([*ages, 50.5]), [*ages, 50.5]) == public(of_numbers(ages), [*ages, 50])
    halves = [age + 0.5 for age in ages]
    assert "10–20" in public(of_numbers(halves), halves)


def test_one_person_of_another_year_does_not_turn_months_into_years():
    days = [date(2020, 1, 1) + timedelta(days=i % 366) for i in range(800)]
    others = (date(1930, 5, 5), date(2020, 1, 3), date(2019, 12, 31))
    assert len({public(of_dates([*days, other]), [*days, other]) for other in others}) == 1


def test_one_strange_code_does_not_change_the_groups():
    codes = [f"{13000 + 100 * (i % 12) + i % 7}" for i in range(600)]
    others = ("99999", "77", "0000000000", "13001")
    versions = {public(of_codes([*codes, other]), [*codes, other]) for other in others}
    assert len(versions) == 1
    assert '"1300…"' in versions.pop()


def test_bins_are_made_for_those_between_the_outermost():
    rng = np.random.default_rng(2)
    for _ in range(30):
        size = int(rng.integers(100, 600))
        values = np.sort(np.round(rng.normal(50, 20, size), int(rng.integers(0, 3))))
        axis = of_numbers(values)
        people = np.array([(values == leaf).sum() for leaf in axis.leaves], float)
        distribution = make_distribution(axis, people, people).redact(FEWEST)
        inner = values[FEWEST:-FEWEST]
        step = distribution.ends[-1] - distribution.ends[0]
        assert distribution.ends[0] > inner[0] - step
        assert distribution.ends[0] <= inner[0] <= inner[-1] <= distribution.ends[-1]
        assert sum(distribution.before) == size
        assert min(distribution.before) >= FEWEST
        if len(distribution.labels) > 1:
            assert distribution.labels[0].startswith("under ")
            assert distribution.labels[-1].endswith(" and over")


def test_a_column_of_too_few_people_has_no_bins():
    axis = of_numbers(range(20))
    assert make_distribution(axis, np.ones(20), np.ones(20)).redact(FEWEST).labels == ()


def test_a_few_missing_values_stay_in_the_whole():
    axis = Axis("x", "number", "ordered", (1.0, 2.0), null=True, positions=np.array([1.0, 2.0]))
    distribution = make_distribution(
        axis, np.array([150.0, 150.0, 4.0]), np.array([150.0, 150.0, 4.0])
    )
    quiet = distribution.redact(FEWEST)
    assert (quiet.labels[-1], sum(quiet.before)) == (None, 304)
    spec = charts.chart_marginals("x", quiet.labels, quiet.before, quiet.after, fewest=FEWEST)
    assert "missing" not in json.dumps(spec)
    alone = make_distribution(axis, np.array([300.0, 0.0, 4.0]), np.array([300.0, 0.0, 4.0]))
    assert alone.redact(FEWEST).labels == ("all values",)


# From files


def chart_of(page, column: str) -> dict:
    specs = [b.spec for s in page.sections for b in s.blocks if isinstance(b, Chart)]
    (spec,) = (spec for spec in specs if f"distribution of {column}" in " ".join(spec["title"]))
    return spec


def test_the_oldest_cannot_be_read_from_a_public_report(town):
    versions = []
    for oldest in ("99", "139", "50.5"):
        rows = town.people(300, seed=5)
        rows[0]["age"] = oldest
        table = town.write(town.folder / "towns.csv", rows)
        release = town.publish("k-anonymity k=3", source=table, replace=True)
        spec = chart_of(shoal.report(release, original=table, public=True), "age")
        versions.append([bar["label"] for bar in spec["data"]["values"]])
    assert versions[0] == versions[1] == versions[2]


def test_a_rare_value_is_not_left_out_of_the_whole(town):
    rows = town.people(300, seed=5)
    for i, row in enumerate(rows):
        row["diagnosis"] = "flu" if i > 3 else "Zebra fever"
    table = town.write(town.folder / "towns.csv", rows)
    page = shoal.report(town.publish("k-anonymity k=3", source=table), original=table, public=True)
    bars = chart_of(page, "diagnosis")["data"]["values"]
    assert [(bar["label"], bar["text"]) for bar in bars] == [("flu", ">96%")] * 2
    sexes = chart_of(page, "sex")["data"]["values"]
    for side in ("original", "published"):
        parts = [int(bar["text"][:-1]) for bar in sexes if bar["side"] == side]
        assert 99 <= sum(parts) <= 101
    assert "Zebra" not in json.dumps(page.to_json())
