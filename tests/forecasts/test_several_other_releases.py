"""Several other releases may hold the same of our people: forecast so, and held to the truth."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core.axis import Axis
from shoal.core.errors import UsageError
from shoal.forecasts.closed_form import estimate_by_closed_form
from shoal.forecasts.local_distribution import fit_local_distribution
from shoal.forecasts.other_publisher import cut_coarse_partitions
from shoal.forecasts.our_table import OurTable, OverlapScenario, tally_codes
from shoal.forecasts.real_intersection import (
    assign_rows_to_classes,
    build_other_release,
    find_exposed_classes,
)
from shoal.forecasts.simulation import SimulatedPopulation, simulate
from shoal.forecasts.validation import CodedTable
from shoal.methods import find_method
from shoal.models import rule

SIZE, SEEDS = 3000, range(3)


def publish(k):
    return lambda tally, rng: find_method("mondrian")(tally, rule(f"k-anonymity k={k}"), rng=rng)


def town(rows=12_000, seed=0):
    """People whose illness depends on their age and part of the town."""
    rng = np.random.default_rng(seed)
    age, part, sex = rng.integers(0, 60, rows), rng.integers(0, 12, rows), rng.integers(0, 2, rows)
    ill = (age // 12 + part // 4 + rng.geometric(0.35, rows)) % 14
    places = np.arange(60, dtype=np.float64)
    axes = (
        Axis("age", "number", "ordered", tuple(places.tolist()), positions=places),
        Axis.numbered("part", 12),
        Axis.numbered("sex", 2),
    )
    keys = np.stack([age, part, sex]).astype(np.int32)
    return CodedTable(axes, Axis.numbered("illness", 14), keys, ill.astype(np.int32))


def true_risk(people, seed, overlap, k, same, others=2):
    """Our release, and the share of its classes that real other releases expose."""
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(people.rows)
    mine, strangers = people.some(drawn[:SIZE]), drawn[SIZE:]
    tally, entry = tally_codes(mine.quasi, mine.sensitive, mine.keys, mine.values)
    cut = publish(k)(tally, rng)
    ours = OurTable(
        mine.quasi,
        mine.sensitive,
        mine.keys,
        mine.values,
        assign_rows_to_classes(cut, entry, rng),
        cut.cells,
    )
    number, theirs = round(overlap * SIZE), []
    shared = rng.choice(SIZE, number, replace=False)
    for own in np.split(strangers[: others * (SIZE - number)], others):
        if not same:
            shared = rng.choice(SIZE, number, replace=False)
        table = people.some(np.concatenate([drawn[:SIZE][shared], own]))
        tally, entry = tally_codes(table.quasi, table.sensitive, table.keys, table.values)
        cut, words = publish(k)(tally, rng), table.sensitive.words
        theirs.append(build_other_release(cut, entry, table.values, words, shared, SIZE, rng))
    return ours, float(find_exposed_classes(ours, theirs, 2).mean())


def compare(people, overlap, k, same, repeats=4):
    """The mean of the truth over seeds, of the simulation and of the closed form."""
    found = []
    asked = OverlapScenario(overlap, SIZE, 2, 2, same_people=float(same))
    for seed in SEEDS:
        ours, truth = true_risk(people, seed, overlap, k, same)
        near = fit_local_distribution(ours, cut_coarse_partitions(ours))
        drawn = simulate(ours, near, asked, publish(k), repeats=repeats, seed=seed).at(2)
        found.append((truth, drawn.risk, estimate_by_closed_form(ours, near, asked).risk))
    return np.array(found).mean(axis=0)


@pytest.mark.parametrize("same", [True, False])
def test_real_releases_expose_what_is_forecast(same):
    truth, drawn, closed = compare(town(), 0.2, 5, same)
    assert drawn == pytest.approx(truth, abs=0.03)
    assert closed == pytest.approx(truth, abs=0.06)


def test_the_same_people_in_all_releases_are_worse_off_than_independent_ones():
    """As they are in truth: a forecast that draws independently falls short of it."""
    same, apart = (compare(town(), 0.2, 5, some, repeats=2) for some in (True, False))
    assert same[0] > apart[0] + 0.02
    assert same[1] > apart[1] + 0.02


@pytest.mark.long
@pytest.mark.parametrize("same", [True, False])
def test_on_adult_the_forecast_is_within_three_points(real_data, same):
    schema = shoal.Schema.of(
        quasi=["age", "sex", "race", "education_num", "native_country"], sensitive="occupation"
    )
    people = CodedTable.read(real_data / "adult.csv.gz", schema, "occupation", {})
    truth, drawn, closed = compare(people, 0.2, 5, same)
    assert drawn == pytest.approx(truth, abs=0.03)
    assert closed == pytest.approx(truth, abs=0.07)


# Who is in which release


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_so_many_people_are_in_all_releases(share):
    ours, _ = true_risk(town(6000), 1, 0.2, 5, True, others=1)
    crowd = SimulatedPopulation.of(ours, fit_local_distribution(ours, cut_coarse_partitions(ours)))
    asked = OverlapScenario(0.2, SIZE, 2, 3, same_people=share)
    rng = np.random.default_rng(3)
    in_all = rng.choice(SIZE, asked.in_all(SIZE), replace=False)
    members = [crowd.released(asked, publish(5), rng, in_all).class_ >= 0 for _ in range(3)]
    assert [int(some.sum()) for some in members] == [600] * 3
    everywhere = np.logical_and.reduce(members)
    assert everywhere[in_all].all()
    left = everywhere.sum() - share * 600
    rho = (0.2 - 0.2 * share) / (1 - 0.2 * share)
    assert left == pytest.approx((SIZE - share * 600) * rho**3, abs=15)


def test_chances_of_the_closed_form_are_those_of_membership():
    from shoal.forecasts.closed_form import _compute_meeting_chance, _compute_membership

    rng = np.random.default_rng(0)
    asked = OverlapScenario(0.3, 100, 2, 3, same_people=0.4)
    core = rng.random((2, 400_000)) < 0.12
    rest = rng.random((3, 2, 400_000)) < (0.3 - 0.12) / 0.88
    member = core | rest
    counted = [float((member[:, 0].sum(axis=0) == j).mean()) for j in (1, 2, 3)]
    assert _compute_membership(asked) == pytest.approx(counted, abs=0.003)
    somewhere = float(_compute_membership(asked).sum())
    both = (member.any(axis=0)).all(axis=0)
    together = (member[:, 0] & member[:, 1]).any(axis=0)
    share = together.sum() / both.sum()
    assert _compute_meeting_chance(asked, somewhere) == pytest.approx(share, abs=0.005)


def test_one_other_release_does_not_depend_on_it():
    ours, _ = true_risk(town(6000), 1, 0.2, 5, True, others=1)
    near = fit_local_distribution(ours, cut_coarse_partitions(ours))
    runs = [
        simulate(
            ours, near, OverlapScenario(0.2, SIZE, same_people=s), publish(5), repeats=2, seed=1
        )
        for s in (0.0, 1.0)
    ]
    assert (runs[0].left == runs[1].left).all()


# What is told


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    people, folder = town(800), tmp_path_factory.mktemp("forecast")
    columns = dict(zip(("age", "part", "sex"), people.keys.tolist(), strict=True))
    table = pa.table({**columns, "illness": [f"i{value}" for value in people.values]})
    schema = shoal.Schema.of(quasi=["age", "part", "sex"], sensitive="illness")
    return shoal.publish(table, schema, "k-anonymity k=5", out=folder / "release")


def test_untold_the_worse_end_is_taken_and_the_other_is_stated(release):
    found = shoal.forecast(release, others=2, overlap=0.3, repeats=4)
    ends = found.settings["by_same_people"]
    assert found.risk == max(ends.values())
    assert set(ends) == {"0", "1"}
    line = next(told for told in found.assumptions if "the worse of the two ends" in told)
    assert f"{min(ends.values()):.1%}" in line
    assert any("same of our people" in told for told in found.default.assumptions)
    document = json.loads(json.dumps(found.to_json()))
    assert document["settings"]["same_people"] in (0.0, 1.0)
    assert "In all of them" in found.page().html()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_told_it_is_used_and_stated(release, share):
    found = shoal.forecast(release, others=2, overlap=0.3, repeats=2, same_people=share)
    assert found.settings["same_people"] == share
    assert "by_same_people" not in found.settings
    words = {0.0: "independent", 0.5: "50% of our people", 1.0: "the same of our people"}[share]
    assert any(words in told for told in found.assumptions)


def test_one_other_release_has_nothing_to_coincide_with(release):
    found = shoal.forecast(release, overlap=0.3, repeats=2)
    assert found.settings["same_people"] is None
    assert not any("other releases" in told for told in found.assumptions)


def test_a_share_outside_its_bounds_is_refused(release):
    with pytest.raises(UsageError, match="same_people"):
        shoal.forecast(release, others=2, same_people=1.5)
