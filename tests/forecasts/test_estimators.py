"""The estimators against brute force on small tables, and the paper's own examples."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from itertools import combinations, pairwise, product
from math import comb, prod
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core.axis import Axis
from shoal.core.cells import cover_classes
from shoal.core.errors import InputError, UsageError
from shoal.core.tally import SUPPRESSED, Cut, Population
from shoal.forecasts.closed_form import compute_appearance_chances, estimate_by_closed_form
from shoal.forecasts.local_distribution import (
    LocalDistribution,
    fit_local_distribution,
    list_coarse_partitions,
    measure_informativeness,
)
from shoal.forecasts.our_table import OurTable, OverlapScenario, tally_codes
from shoal.forecasts.paper import compute_class_chances, compute_value_chances, estimate_by_paper
from shoal.forecasts.real_intersection import (
    OtherRelease,
    assign_rows_to_classes,
    count_values_left,
    find_exposed_classes,
)
from shoal.forecasts.simulation import SimulatedPopulation, compute_prediction_interval, simulate
from shoal.forecasts.validation import validate_forecast
from shoal.methods import find_method
from shoal.models import rule

SATTAR = Path(__file__).parent.parent / "golden" / "sattar_tables1_2.json"


def ordered(name, size):
    places = np.arange(size, dtype=np.float64)
    return Axis(name, "number", "ordered", tuple(places.tolist()), positions=places)


def ours(rng, people=60, classes=6, values=5, **more):
    """People on a line and in a set of kinds, whose values depend on where they are."""
    place = np.sort(rng.integers(0, 30, people))
    keys = np.stack([place, rng.integers(0, 4, people)])
    codes = np.clip(place // 8 + rng.integers(0, 3, people), 0, values - 1).astype(np.int32)
    class_ = (np.arange(people) * classes // people).astype(np.int32)
    quasi = (ordered("place", 30), Axis.numbered("kind", 4))
    cells = cover_classes(quasi, keys, np.arange(people, dtype=np.int32), class_)
    return OurTable(quasi, Axis.numbered("value", values), keys, codes, class_, cells, **more)


def mondrian(k):
    return lambda tally, rng: find_method("mondrian")(tally, rule(f"k-anonymity k={k}"), rng=rng)


def nodes_of(table):
    return list_coarse_partitions(table, lambda tally, size: mondrian(size)(tally, None))


def in_one_node(table, tau=5.0):
    return LocalDistribution(table, np.zeros(table.people, np.int32), 0, tau, 0.0)


# What truly is exposed


def published(rows, names, given):
    """A published table of the paper as classes and values."""
    key = [tuple(row[name] for name in given["qi"]) for row in rows]
    classes = sorted(set(key))
    return np.array([classes.index(one) for one in key], np.int32), [
        names.index(row["Diagnosis"]) for row in rows
    ]


@pytest.mark.parametrize(
    ("rows", "l", "percent"),
    [
        ("A_published_corrected", 2, "risk_A_l2_percent"),
        ("A_published_as_printed", 2, "risk_A_l2_percent_as_printed"),
        ("A_published_as_printed", 3, "risk_A_l3_percent_as_printed"),
        ("A_published_corrected", 4, "risk_A_l4_percent"),
    ],
)
def test_the_paper_s_own_releases_expose_what_it_says(rows, l, percent):
    given = json.loads(SATTAR.read_text(encoding="utf-8"))
    names = sorted({row["Diagnosis"] for part in (rows, "B_published") for row in given[part]})
    class_, values = published(given[rows], names, given)
    there, theirs = published(given["B_published"], names, given)
    who = [row["Name"] for row in given["A_original"]]
    elsewhere = [row["Name"] for row in given["B_original"]]
    place = [there[elsewhere.index(n)] if n in elsewhere else SUPPRESSED for n in who]
    bits = np.zeros((there.max() + 1, 1), np.uint64)
    for at, value in zip(there, theirs, strict=True):
        bits[at, 0] |= np.uint64(1 << value)
    axis = ordered("row", 12)
    keys = np.arange(12)[np.newaxis]
    cells = cover_classes((axis,), keys, np.arange(12, dtype=np.int32), class_)
    table = OurTable(
        (axis,),
        Axis.numbered("Diagnosis", len(names)),
        keys,
        np.array(values, np.int32),
        class_,
        cells,
    )
    exposed = find_exposed_classes(table, [OtherRelease(np.array(place, np.int32), bits)], l)
    assert 100 * exposed.mean() == pytest.approx(given["expected"][percent], abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_fewest_values_left_are_those_of_sets(seed):
    rng = np.random.default_rng(seed)
    table = ours(rng, values=70)  # more than a word of bits
    held = rng.random((2, 9, 70)) < 0.5
    place = rng.integers(-1, 9, (2, table.people)).astype(np.int32)
    theirs = [
        OtherRelease(place[j], np.packbits(held[j], axis=1, bitorder="little").copy())
        for j in (0, 1)
    ]
    padded = [np.pad(one.bits, ((0, 0), (0, 16 - one.bits.shape[1]))) for one in theirs]
    theirs = [
        OtherRelease(one.class_, bits.view("<u8")) for one, bits in zip(theirs, padded, strict=True)
    ]
    expected = [[] for _ in range(table.classes)]
    for i, c in enumerate(table.class_):
        left = set(table.values[table.class_ == c].tolist())
        for j in (0, 1):
            if place[j, i] >= 0:
                left &= set(np.flatnonzero(held[j, place[j, i]]).tolist())
        if place[:, i].max() >= 0 and left:
            expected[c].append(len(left))
    assert count_values_left(table, theirs).tolist() == [min(some, default=0) for some in expected]


def test_people_of_a_divided_entry_are_spread_over_its_pieces():
    entry = np.array([0, 1, 0, 0, 1], np.int32)
    cells = cover_classes(
        (ordered("x", 2),), np.array([[0, 1]]), np.array([0, 1]), np.array([0, 1])
    )
    cut = Cut(
        np.array([1, 0, 0], np.int32),
        np.array([1, 0, SUPPRESSED], np.int32),
        np.array([2, 2, 1]),
        cells,
    )
    found = [assign_rows_to_classes(cut, entry, np.random.default_rng(seed)) for seed in range(20)]
    assert all((one[[1, 4]] == 1).all() for one in found)
    assert all(sorted(one[[0, 2, 3]].tolist()) == [SUPPRESSED, 0, 0] for one in found)
    assert len({tuple(one.tolist()) for one in found}) == 3


def with_blanks(table, seed=0, alone=2):
    """The same people of whom some, and all of one class, have no value that is known."""
    axis = replace(table.sensitive, null=True, unknown=True)
    lost = np.random.default_rng(seed).random(table.people) < 0.3
    values = np.where(lost | (table.class_ == alone), axis.null_code, table.values)
    return replace(table, sensitive=axis, values=values.astype(np.int32))


@pytest.mark.parametrize("seed", range(4))
def test_missing_values_are_none_of_those_that_are_left(seed):
    rng = np.random.default_rng(seed)
    table = with_blanks(ours(rng, values=69), seed)
    null = table.sensitive.null_code
    held = rng.random((9, 128)) < 0.5
    held[:, null + 1 :] = False
    held[3] = np.arange(128) == null  # nothing but missing values: it excludes none
    place = rng.integers(-1, 9, table.people).astype(np.int32)
    bits = np.packbits(held, axis=1, bitorder="little").view("<u8")
    expected = [[] for _ in range(table.classes)]
    for i, c in enumerate(table.class_):
        left = set(table.values[table.class_ == c].tolist()) - {null}
        if place[i] in (-1, 3):
            continue
        left &= set(np.flatnonzero(held[place[i]]).tolist())
        if left:
            expected[c].append(len(left))
    found = count_values_left(table, [OtherRelease(place, bits)])
    assert found.tolist() == [min(some, default=0) for some in expected]
    assert found[2] == 0


@pytest.mark.parametrize("l", [2, 3])
@pytest.mark.parametrize("others", [1, 2])
def test_the_closed_form_with_missing_values_is_the_sum_over_all_that_may_appear(l, others):
    table = with_blanks(ours(np.random.default_rng(3), people=24, classes=4))
    known, asked = in_one_node(table), OverlapScenario(1.0, 24, l, others, same_people=1.0)
    start, own, chance = compute_appearance_chances(table, known, np.arange(table.people))
    assert (own < 0).tolist() == (table.values == table.sensitive.null_code).tolist()
    expected = np.zeros(table.people)
    for i in range(table.people):
        events = range(start[i], start[i + 1])
        for there in product((0, 1), repeat=len(events)):
            odds = prod(
                1.0 if e == own[i] else chance[e] ** others if t else 1 - chance[e] ** others
                for e, t in zip(events, there, strict=True)
            )
            if own[i] >= 0 and not there[own[i] - start[i]]:
                continue
            expected[i] += odds * (1 <= sum(there) < l)
    found = estimate_by_closed_form(table, known, asked, together=0.0)
    safe = [np.prod(1 - expected[table.class_ == c]) for c in range(4)]
    assert found.classes == pytest.approx(1 - np.array(safe))
    assert found.classes[2] == 0
    assert any("classes have nothing else" in told for told in found.assumptions)


@pytest.mark.parametrize("reading", ["at least", "best subset"])
def test_the_paper_s_estimate_counts_known_values_alone(reading):
    table = with_blanks(ours(np.random.default_rng(5)))
    found = estimate_by_paper(table, OverlapScenario(0.5, 60), reading)
    valued = replace(table, sensitive=replace(table.sensitive, unknown=False))
    as_value = estimate_by_paper(valued, OverlapScenario(0.5, 60), reading)
    assert found.classes[2] == 0
    assert (np.delete(found.classes, 2) >= np.delete(as_value.classes, 2)).all()
    assert found.classes.sum() > np.delete(as_value.classes, 2).sum()


def test_values_that_we_lack_are_not_taken_for_missing_ones():
    table = replace(
        with_blanks(ours(np.random.default_rng(2))),
        population_elsewhere=30,
        population_values=np.full(6, 10),
    )
    null, lacking = table.sensitive.null_code, table.sensitive.size
    codes = table.on_everywhere(np.array([0, null, lacking], np.int32))
    assert codes.tolist() == [0, table.everywhere.null_code, null]
    assert table.everywhere.unknown
    runs = simulate(table, in_one_node(table), OverlapScenario(0.5, 60), mondrian(4), repeats=3)
    assert (runs.left[:, 2] == 0).all()


# The paper's estimator


def test_a_record_s_probability_is_the_paper_s_example():
    given = json.loads(SATTAR.read_text(encoding="utf-8"))["record_probability_example"]
    quasi = (ordered("age", 20), Axis.numbered("sex", 2))
    keys = np.array([[3, 3], [0, 0]])
    class_ = np.zeros(2, np.int32)
    cells = cover_classes(quasi, keys, np.arange(2, dtype=np.int32), class_)
    everybody = np.array(list(product(range(20), range(2)))).T
    ages = np.where(everybody[0] == 3, 57, 17)  # 57 of 57 + 19 · 17 = 380
    table = OurTable(
        quasi,
        Axis.numbered("diagnosis", 20),
        keys,
        np.zeros(2, np.int32),
        class_,
        cells,
        population=Population(everybody, ages),
        population_values=np.full(20, 1),
    )
    assert compute_class_chances(table)[0] == pytest.approx(given["P_age"] * given["P_sex"])
    assert compute_value_chances(table, OverlapScenario(0.1, 1))[0] == pytest.approx(given["P"])


def at_least(chance, l):
    """P(at least l of independent events), over all subsets."""
    found = 0.0
    for happen in product((0, 1), repeat=len(chance)):
        if sum(happen) >= l:
            found += prod(p if yes else 1 - p for p, yes in zip(chance, happen, strict=True))
    return found


def exactly_multinomial(cell, l, n):
    """P(at least l of these cells are hit by n draws), by inclusion and exclusion."""
    size = len(cell)
    hit = {
        some: sum(
            (-1) ** (len(some) - len(part)) * (1 - sum(cell) + sum(cell[i] for i in part)) ** n
            for count in range(len(some) + 1)
            for part in combinations(some, count)
        )
        for count in range(size + 1)
        for some in combinations(range(size), count)
    }  # exactly these are hit
    return sum(chance for some, chance in hit.items() if len(some) >= l)


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_paper_s_readings_are_those_of_all_subsets(seed, others):
    table = ours(np.random.default_rng(seed), people=400, classes=20)
    asked = OverlapScenario(0.1, 400, l=3, others=others)
    chance, start = compute_value_chances(table, asked), table.histogram.start
    first, second = (estimate_by_paper(table, asked, one) for one in ("at least", "best subset"))
    for c in range(table.classes):
        own = chance[start[c] : start[c + 1]].tolist()
        best = max((prod(some) for some in combinations(own, 3)), default=0.0)
        assert 1 - first.classes[c] == pytest.approx(at_least(own, 3), abs=1e-12)
        assert 1 - second.classes[c] == pytest.approx(best, abs=1e-12)
    assert first.risk == np.mean(1 - first.classes < 0.5)
    assert second.risk >= first.risk


def test_independent_values_are_near_the_exact_multinomial():
    table = ours(np.random.default_rng(1), people=400, classes=20)
    asked = OverlapScenario(0.1, 400, l=2)
    cell = compute_class_chances(table)[table.histogram.class_] * table.prior[table.histogram.value]
    found, start = estimate_by_paper(table, asked).classes, table.histogram.start
    exact = [exactly_multinomial(cell[a:b].tolist(), 2, 400) for a, b in pairwise(start)]
    assert np.abs(1 - found - exact).max() < 2e-3


def test_a_reading_that_is_none_is_refused():
    with pytest.raises(UsageError, match="reading"):
        estimate_by_paper(ours(np.random.default_rng(0)), OverlapScenario(0.1, 60), "any")


# Local distributions


def test_theta_is_what_the_others_of_the_node_say():
    rng = np.random.default_rng(3)
    table = ours(rng)
    node = rng.integers(0, 3, table.people).astype(np.int32)
    found = LocalDistribution(table, node, 1, 2.5, 0.0)
    for i in range(table.people):
        near = [table.values[j] for j in range(table.people) if node[j] == node[i] and j != i]
        theta = found.theta(np.full(5, i), np.arange(5))
        expected = (np.bincount(near, minlength=5) + 2.5 * table.prior) / (len(near) + 2.5)
        assert theta == pytest.approx(expected)


def test_values_are_drawn_from_theta_and_never_one_s_own():
    rng = np.random.default_rng(4)
    table = ours(rng)
    found = LocalDistribution(table, rng.integers(0, 3, table.people).astype(np.int32), 1, 2.5, 0.0)
    drawn = found.draw(np.full(40_000, 7), rng)
    share = np.bincount(drawn, minlength=5) / 40_000
    assert share == pytest.approx(found.theta(np.full(5, 7), np.arange(5)), abs=0.012)
    pair = LocalDistribution(table, (np.arange(60) // 2).astype(np.int32), 2, 1e-12, 0.0)
    assert (pair.draw(np.arange(60), rng) == table.values[np.arange(60) ^ 1]).all()
    alone = LocalDistribution(table, np.arange(60, dtype=np.int32), 1, 1.0, 0.0)
    many = alone.draw(np.full(20_000, 59), rng)
    assert np.bincount(many, minlength=5) / 20_000 == pytest.approx(table.prior, abs=0.015)


@pytest.mark.parametrize("null", [False, True])
def test_values_that_we_lack_are_drawn_as_one_code_that_nobody_shares(null):
    rng = np.random.default_rng(16)
    counts = np.array([30, 0, 10, 10, 10])
    axis = Axis("value", "category", "flat", tuple("abcde"[: 5 - null]), null=null)
    table = replace(
        ours(rng),
        sensitive=axis,
        population_values=counts,
        population_elsewhere=39,
        population=Population(np.array([[3], [1]]), np.array([99])),
    )
    assert table.prior.tolist() == [0.3, 0.01, 0.1, 0.1, 0.1]  # somebody of ours has the second
    assert table.everywhere.size == 6
    known = in_one_node(table, tau=60.0)
    theta = known.theta(np.full(5, 7), np.arange(5))
    assert theta.sum() == pytest.approx(1 - 60 * 0.39 / 119)
    share = np.bincount(known.draw(np.full(40_000, 7), rng), minlength=6) / 40_000
    assert share == pytest.approx([*theta, 1 - theta.sum()], abs=0.012)
    cuts = []

    def publish(tally, rng):
        cuts.append(tally)
        return mondrian(4)(tally, rng)

    theirs = SimulatedPopulation.of(table, known).released(OverlapScenario(0.1, 300), publish, rng)
    assert cuts[0].values.max() == 5  # beyond ours
    assert theirs.bits.shape[1] == table.bits.shape[1]


def test_what_the_population_has_besides_does_not_speak_against_tau():
    rng = np.random.default_rng(17)
    table = ours(rng, people=600, classes=30)
    counts = np.bincount(table.values, minlength=5)
    more = replace(table, population_values=counts, population_elsewhere=600)
    one, other = (
        fit_local_distribution(some, nodes_of(some), taus=(tau,))
        for some, tau in ((table, 5.0), (more, 10.0))
    )  # half as common, twice as much of it
    assert (other.node == one.node).all()
    assert other.likelihood == pytest.approx(one.likelihood)


def test_the_likeliest_partition_is_chosen():
    table = ours(np.random.default_rng(5), people=600, classes=30)
    found = fit_local_distribution(table, nodes_of(table))
    assert found.likelihood > fit_local_distribution(table, nodes_of(table), sizes=()).likelihood
    own = found.theta(np.arange(600), table.values)
    assert found.likelihood == pytest.approx(np.log(own).mean())
    place, kind = measure_informativeness(table)
    assert place == 1 > 0.1 > kind >= 0


def test_a_point_is_in_the_node_that_holds_it_or_in_the_nearest():
    rng = np.random.default_rng(6)
    table = ours(rng)
    found = LocalDistribution(table, (np.arange(60) // 15).astype(np.int32), 15, 5.0, 0.0)
    points = np.array(list(product(range(30), range(4)))).T
    got = found.nodes_of(points)
    for point, node in zip(points.T, got, strict=True):
        far = []
        for n in range(4):
            own = table.keys[:, found.node == n]
            gap = max(own[0].min() - point[0], point[0] - own[0].max(), 0) / 29
            far.append(gap + (point[1] not in own[1]))
        assert far[node] == pytest.approx(min(far))


# The closed form


@pytest.mark.parametrize("others", [1, 3])
@pytest.mark.parametrize("l", [2, 3])
def test_the_closed_form_is_the_sum_over_all_that_may_appear(l, others):
    table = ours(np.random.default_rng(7), people=40, classes=5)
    known, asked = in_one_node(table), OverlapScenario(0.3, 40, l=l, others=others)
    safe = np.ones(table.classes)
    start, own, appears = compute_appearance_chances(table, known, np.arange(40))
    for i, c in enumerate(table.class_):
        part = [appears[e] for e in range(start[i], start[i + 1]) if e != own[i]]
        exposed = sum(
            comb(others, j)
            * 0.3**j
            * 0.7 ** (others - j)
            * (1 - at_least([p**j for p in part], l - 1))
            for j in range(1, others + 1)
        )
        safe[c] *= 1 - exposed
    found = estimate_by_closed_form(table, known, asked, together=0.0)
    assert found.classes == pytest.approx(1 - safe)
    assert found.risk == pytest.approx((1 - safe).mean())


def test_people_who_stay_together_are_exposed_once():
    table = ours(np.random.default_rng(8), people=40, classes=5, values=2)
    table = OurTable(
        table.quasi, table.sensitive, table.keys, np.zeros(40, np.int32), table.class_, table.cells
    )  # one value: who is elsewhere is exposed for sure
    known = in_one_node(table)
    for together in (0.0, 0.7, 1.0):
        found = estimate_by_closed_form(table, known, OverlapScenario(0.25, 40), together)
        assert found.classes == pytest.approx(1 - 0.75**8)
    mixed = ours(np.random.default_rng(8), people=40, classes=5)
    risks = [
        estimate_by_closed_form(mixed, in_one_node(mixed), OverlapScenario(0.5, 40), q).risk
        for q in (0, 0.3, 0.7, 1)
    ]
    assert risks == sorted(risks, reverse=True)
    assert risks[0] > risks[-1]


@pytest.mark.parametrize("pairs", [1, 7, 50])
def test_people_in_parts_are_all_people(pairs, monkeypatch):
    table = ours(np.random.default_rng(7), people=40, classes=5)
    whole = estimate_by_closed_form(table, in_one_node(table), OverlapScenario(0.3, 40, l=3))
    monkeypatch.setattr(import_module("shoal.forecasts.closed_form"), "PAIRS", pairs)
    parts = estimate_by_closed_form(table, in_one_node(table), OverlapScenario(0.3, 40, l=3))
    assert parts.classes.tolist() == whole.classes.tolist()


def test_somebody_alone_in_a_class_is_exposed_where_elsewhere():
    table = ours(np.random.default_rng(9), people=20, classes=20)
    found = estimate_by_closed_form(table, in_one_node(table), OverlapScenario(0.25, 20))
    assert found.classes == pytest.approx(0.25)


# The simulation


def test_the_same_table_again_exposes_the_classes_with_too_few_values():
    table = ours(np.random.default_rng(10), people=300, classes=1)
    tally, entry = tally_codes(table.quasi, table.sensitive, table.keys, table.values)
    cut = mondrian(3)(tally, None)
    class_ = assign_rows_to_classes(cut, entry, np.random.default_rng(0))
    table = OurTable(table.quasi, table.sensitive, table.keys, table.values, class_, cut.cells)
    known = in_one_node(table)
    for l in (2, 3):
        found = simulate(table, known, OverlapScenario(1.0, 300), mondrian(3), repeats=19).at(l)
        assert found.classes.tolist() == (table.histogram.distinct < l).tolist()
        assert found.interval == pytest.approx((found.risk, found.risk))
    nobody = simulate(table, known, OverlapScenario(0.0, 300), mondrian(3), repeats=2).at(2)
    assert nobody.risk == 0


def test_the_result_depends_on_the_seed_alone():
    table = ours(np.random.default_rng(11), people=300, classes=40)
    known, asked = (
        fit_local_distribution(table, nodes_of(table)),
        OverlapScenario(0.3, 200, l=3, others=2),
    )
    one, four, other = (
        simulate(table, known, asked, mondrian(4), repeats=6, seed=seed, threads=threads).left
        for seed, threads in ((1, 1), (1, 4), (2, 4))
    )
    assert (one == four).all()
    assert (one != other).any()


def test_it_tells_how_far_it_is_and_can_be_stopped():
    table = ours(np.random.default_rng(12), people=100, classes=10)
    told = []

    def stop(done, total):
        told.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    asked = OverlapScenario(0.3, 100)
    with pytest.raises(KeyboardInterrupt):
        simulate(table, in_one_node(table), asked, mondrian(4), repeats=50, progress=stop)
    assert told == [(1, 50), (2, 50), (3, 50)]


def test_strangers_come_from_the_population_where_it_is_known():
    rng = np.random.default_rng(13)
    everybody = Population(np.array([[0, 29, 3], [1, 2, 0]]), np.array([1, 3, 0]))
    table = ours(rng, population=everybody)
    keys, values = SimulatedPopulation.of(table, in_one_node(table)).strangers(4000, rng)
    first, last = ((everybody.keys[:, i] == keys.T).all(axis=1).mean() for i in (0, 1))
    assert (first, last) == (pytest.approx(0.25, abs=0.03), pytest.approx(0.75, abs=0.03))
    assert values.min() >= 0
    assert len(values) == 4000


def test_the_risk_is_the_mean_and_the_interval_holds_it():
    table = ours(np.random.default_rng(14), people=300, classes=40)
    runs = simulate(table, in_one_node(table), OverlapScenario(0.3, 300), mondrian(4), repeats=20)
    found = runs.at(3)
    assert found.risk == pytest.approx(found.classes.mean())
    assert found.interval[0] <= found.risk <= found.interval[1]
    assert found.details["standard_error"] < (found.interval[1] - found.interval[0])
    assert found.to_json()["classes"] == np.round(found.classes, 6).tolist()
    assert "one release in ten" in str(found)
    assert replace(runs, left=runs.left[:18]).at(3).interval is None


@pytest.mark.parametrize("repeats", [19, 50])
def test_one_more_lies_in_the_interval_nine_times_in_ten(repeats):
    drawn = np.random.default_rng(repeats).gamma(2.0, size=(3000, repeats + 1))
    inside = [
        low <= one[-1] <= high
        for one in drawn
        for low, high in [compute_prediction_interval(one[:-1])]
    ]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.015)
    assert compute_prediction_interval(drawn[0, :18]) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"overlap": 1.5},
        {"overlap": -0.1},
        {"overlap": float("nan")},
        {"l": 1},
        {"others": 0},
        {"rows": 0},
        {"confidence": 2.0},
        {"overlap": True},
    ],
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(UsageError):
        OverlapScenario(**{"overlap": 0.1, "rows": 100, **wrong})


def test_an_overlap_is_somebody():
    assert [OverlapScenario(share, 100).shared(40) for share in (0, 1e-9, 0.01, 0.1, 1)] == [
        0,
        1,
        1,
        4,
        40,
    ]


def test_a_release_too_small_for_the_overlap_is_refused():
    table = ours(np.random.default_rng(15))
    with pytest.raises(UsageError, match="30 of our people"):
        simulate(table, in_one_node(table), OverlapScenario(0.5, 20), mondrian(3))


# Held against the truth


def town(people=900, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, people)
    work = (age // 12 + rng.integers(0, 4, people)) % 7
    columns = {"age": age.tolist(), "sex": rng.choice(["f", "m"], people).tolist()}
    return {**columns, "work": [f"w{one}" for one in work]}


SCHEMA = shoal.Schema.of(quasi=["age", "sex"], sensitive=["work"])


@pytest.fixture(scope="module")
def tried():
    told = []
    found = validate_forecast(
        pa.table(town()),
        SCHEMA,
        overlaps=(60, "30%"),
        ks=(4, 8),
        size=300,
        seeds=1,
        repeats=19,
        progress=lambda step, done, total: told.append((step, done, total)),
    )
    return found, told


def test_every_setting_is_tried_and_scored(tried):
    found, told = tried
    assert [(one.seed, one.overlap, one.k, one.l) for one in found.trials] == list(
        product(range(1), (60, 129), (4, 8), (2, 3))
    )
    real_, said = (
        np.array([one.real for one in found.trials]),
        np.array([one.estimated["simulation"] for one in found.trials]),
    )
    score = found.scores["simulation"]
    assert score.mae == pytest.approx(np.abs(said - real_).mean())
    assert score.bias == pytest.approx((said - real_).mean())
    assert score.correlation == pytest.approx(np.corrcoef(said, real_)[0, 1])
    for one in found.scores.values():
        assert sum(part.classes for part in one.reliability) == sum(
            trial.classes for trial in found.trials
        )
        assert 0 <= one.brier <= 1
    inside = [one.interval[0] <= one.real <= one.interval[1] for one in found.trials]
    assert score.covered == np.mean(inside) > 0.5
    assert found.scores["closed form"].covered is None
    assert f"{score.covered:.0%}\n" in str(found)
    assert told[-1] == ("publishing and attacking", 76, 76)
    assert [done for step, done, _ in told if step != "reading"] == list(range(1, 77))
    assert found.notes == ()
    json.dumps(found.to_json(), allow_nan=False)
    assert "simulation" in str(found)


def test_the_better_estimators_are_nearer_the_truth(tried):
    scores = tried[0].scores
    assert max(scores["simulation"].mae, scores["closed form"].mae) < 0.08
    assert scores["simulation"].mae < scores["paper, at least"].mae


def test_a_table_too_small_is_sampled_less_or_refused():
    few = pa.table(town(400))
    found = validate_forecast(few, SCHEMA, ks=(4,), ls=(2,), seeds=2, repeats=2)
    assert {one.seed for one in found.trials} == {0, 1}
    assert found.settings["size"] == 176
    assert found.settings["overlaps"] == [5, 11, 23, 47]
    assert "400 rows" in found.notes[0]
    told = validate_forecast(few, SCHEMA, overlaps=[100], ks=(4,), ls=(2,), seeds=1, repeats=2)
    assert (told.settings["size"], told.settings["overlaps"]) == (150, [100])
    with pytest.raises(InputError, match="400 rows"):
        validate_forecast(few, SCHEMA, overlaps=[399], ks=(4,))
    with pytest.raises(InputError, match="The table has no sensitive column"):
        validate_forecast(few, shoal.Schema.of(quasi=["age", "sex"]))
    assert "No interval was told: it takes 19 repeats." in str(told)
    assert told.scores["simulation"].covered is None


@pytest.mark.parametrize(
    ("wrong", "fact"),
    [
        *(
            ({"overlaps": some}, "overlaps are one or more, each once")
            for some in ((), 5, "57", (9, 9))
        ),
        *(
            ({"overlaps": (one,)}, "An overlap is a share of a sample")
            for one in (0, 1, "0%", "100%")
        ),
        *(
            ({"overlaps": (one,)}, "is no overlap: it is a share")
            for one in (float("inf"), float("nan"), 1.5, -3, True, "150%", "many")
        ),
        *(
            ({name: number}, f"{name} is a whole number from 1 on")
            for name in ("size", "seeds", "repeats")
            for number in (0, 1.5, "3", True, None)
        ),
        ({"ks": ()}, "ks are one or more"),
        ({"ks": (4, 4)}, "ks are one or more"),
        ({"ls": (2, 3, 2)}, "ls are one or more"),
        ({"ks": (2.5,)}, "k is a whole number"),
        ({"ls": (1,)}, "l is a whole number from 2 on"),
    ],
)
def test_what_cannot_be_tried_is_refused(wrong, fact):
    with pytest.raises(UsageError) as found:
        validate_forecast("nowhere.csv", SCHEMA, **wrong)  # before anything is read
    assert fact in found.value.fact
    assert found.value.hint
