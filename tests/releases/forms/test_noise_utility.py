"""Utility of tables of counts: the same numbers as for generalised cells that say the same."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.releases.forms.noise_tables import PEOPLE, SCHEMA

import shoal
from shoal.core.spend import parse_spend
from shoal.core.tally import Cut
from shoal.dp.randomised_response import calibrate_response
from shoal.engines.open_table import open as open_frame
from shoal.measures.marginals import CountTables, EstimatedRows, marginals, raw
from shoal.releases.forms._noise.distance_from_original import (
    estimate_over_leaves,
    measure_noise_utility,
    tally_original,
)
from shoal.releases.forms._noise.measured import MeasuredTable
from shoal.releases.forms._noise.plan import MarginalPlan, settle_kinds

FRAME = open_frame(PEOPLE, kinds=settle_kinds(SCHEMA).kinds)
PLAN = MarginalPlan.of(settle_kinds(SCHEMA), FRAME.fields)
TALLY = tally_original(FRAME, PLAN.schema)
EXACT = MeasuredTable.of(FRAME, PLAN).tables(combinations(range(3), 2))


def test_exact_tables_are_as_useful_as_cells_of_the_same_intervals() -> None:
    ages = np.array([min(a, 99) // 20 for a in TALLY.quasi[0].leaves])[TALLY.keys[0]]
    class_ = pd.factorize(pd.Series(ages * 2 + TALLY.keys[1]))[0].astype(np.int32)
    cut = Cut.of(TALLY, np.arange(TALLY.entries, dtype=np.int32), class_)
    found = measure_noise_utility(TALLY, PLAN, EXACT)
    assert found["marginals"] == pytest.approx(marginals(TALLY, cut))
    assert found["columns"] == pytest.approx(raw(TALLY, cut).columns)


def test_distances_are_total_variations_counted_by_hand() -> None:
    sexes = np.array([10.0, 2.0])  # 6 and 6 in the table
    released = CountTables(
        {"age": np.zeros(TALLY.quasi[0].size, np.int32), "sex": np.array([0, 1])},
        {("sex",): sexes, ("age",): np.array([12.0])},
    )
    found = raw(TALLY, released)
    size = TALLY.quasi[0].size
    assert found.columns["sex"] == pytest.approx((10 - 6) / 12)
    assert found.columns["age"] == pytest.approx(0)  # everybody has an age of their own
    pair = np.zeros((size, 2))
    for age, sex, count in zip(*TALLY.keys, TALLY.count, strict=True):
        pair[age, sex] += count
    alike = np.outer(np.full(size, 12 / size), sexes) / 12
    assert found.pairs["age", "sex"] == pytest.approx(np.abs(pair - alike).sum() / 24)


def test_negative_counts_are_none_and_people_beyond_all_leaves_are_lost() -> None:
    bins = {"sex": np.array([0, 1])}
    found = raw(TALLY, CountTables(bins, {("sex",): np.array([6.0, 6.0, -3.0])}))
    assert found.columns["sex"] == pytest.approx(0)
    found = raw(TALLY, CountTables(bins, {("sex",): np.array([6.0, 6.0, 12.0])}))
    assert found.columns["sex"] == pytest.approx(0.5)


def test_a_pair_may_be_given_in_either_order() -> None:
    bins = {"sex": np.array([0, 1]), "age": np.arange(TALLY.quasi[0].size)}
    table = np.arange(2.0 * TALLY.quasi[0].size).reshape(-1, 2)
    one = raw(TALLY, CountTables(bins, {("age", "sex"): table}))
    two = raw(TALLY, CountTables(bins, {("sex", "age"): table.T}))
    assert one == two


def test_estimated_rows_are_measured_as_a_cut_with_these_rows() -> None:
    entry = np.arange(TALLY.entries, dtype=np.int32)
    cut = Cut.of(TALLY, entry, (entry % 3).astype(np.int32))
    rows = EstimatedRows(cut.cells, cut.class_, TALLY.values[:, cut.entry], cut.count.astype(float))
    assert raw(TALLY, rows) == raw(TALLY, cut)
    assert marginals(TALLY, rows) == marginals(TALLY, cut)


def test_estimates_below_none_are_treated_as_those_of_tables() -> None:
    entry = np.arange(TALLY.entries, dtype=np.int32)
    cut = Cut.of(TALLY, entry, np.zeros_like(entry))
    size = TALLY.sensitive[0].size
    counts = np.linspace(-4.0, TALLY.rows, size)
    counts *= TALLY.rows / counts.sum()
    rows, table = (
        EstimatedRows.of(cut.cells, counts[np.newaxis]),
        {(TALLY.sensitive[0].name,): counts},
    )
    bins = {axis.name: np.arange(axis.size) for axis in (*TALLY.quasi, *TALLY.sensitive)}
    name = TALLY.sensitive[0].name
    found = raw(TALLY, rows)
    assert counts.min() < 0
    assert found.columns[name] == pytest.approx(raw(TALLY, CountTables(bins, table)).columns[name])
    assert max(found.pairs.values()) <= 1


@pytest.mark.parametrize("form", ["counts", "randomised"])
def test_a_taxonomy_may_have_leaves_that_the_domain_leaves_out(form: str, tmp_path: Path) -> None:
    groups = shoal.tree({"common": ["flu", "cold"], "rare": ["mumps", "plague"]})
    stated = SCHEMA.set(disease=shoal.sensitive(groups, domain=["flu", "cold", "mumps", ""]))
    rule = {"rule": "k-anonymity k=2"} if form == "randomised" else {}
    release = shoal.publish(
        PEOPLE[PEOPLE["age"] < 100],
        stated,
        form=form,
        epsilon=1,
        seed=1,
        out=tmp_path / "rel",
        **rule,
    )
    assert 0 < release.private["utility"]["marginals"] <= 1
    assert release.private["utility"]["columns"]["disease"] <= 1


def test_answers_of_pairs_are_put_right_by_the_inverse_of_both_chances() -> None:
    ways = [calibrate_response(parse_spend(1), size) for size in (3, 2)]
    table = np.random.default_rng(2).integers(0, 50, (3, 2)).astype(np.float64)
    one, two = (np.linalg.inv(way.matrix()) for way in ways)
    half = estimate_over_leaves(ways[1], table, np.array([0, 1, -1, 1], np.int32))
    found = estimate_over_leaves(ways[0], half.T, np.arange(3, dtype=np.int32)).T
    both = one.T @ table @ two
    whole = np.stack([both[:, 0], both[:, 1] / 2, np.zeros(3), both[:, 1] / 2], axis=1)
    assert found == pytest.approx(whole)
