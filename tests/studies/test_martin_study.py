"""Martin et al.'s figures as studies: against every world, plain loops, and the known curves."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles.worlds import Worlds, negations, reference, worst

import shoal
from shoal import Schema
from shoal.studies import experiments
from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, FOUND, PARTLY, select_rows
from shoal.studies.datasets import load_dataset
from shoal.studies.laboratory import Lab
from shoal.studies.martin import figure_5, figure_6
from shoal.studies.martin.ages import (
    ALL,
    IMPLICATIONS,
    MIDDLE,
    NEGATIONS,
    compute_disclosures,
    find_least_entropy,
    make_histograms,
)
from shoal.studies.martin.figure_2 import FORMULAS
from shoal.studies.martin.ten_people import OTHER, OWN, list_worlds, read_classes, try_implications
from shoal.studies.tables import Sample

SIZES = [(2, 2, 1), (2, 1, 1, 1)]
CURVES = {
    IMPLICATIONS: ".3158 .4081 .5019 .6009 .6877 .7669 .8280 .8780 .9132 .9403 .9584 .9746 1",
    NEGATIONS: ".3158 .4081 .4905 .5923 .6552 .7152 .7788 .8329 .8757 .9153 .9432 .9746 1",
}
"""Adult in intervals of twenty years from 0, for k = 0 … 12."""


@pytest.fixture(scope="module")
def found():
    return {n: shoal.study(f"martin-figure-{n}") for n in (1, 2, 3)}


# Figures 1 to 3


def test_every_claim_of_figures_1_to_3_has_its_verdict(found):
    told = {n: [claim.verdict for claim in one.claims] for n, one in found.items()}
    assert told == {1: [FOUND], 2: [*[AGREES] * 3, FOUND, AGREES, FOUND], 3: [CORRECTED]}
    for one in found.values():
        numbers = [n for claim in one.claims for n in (*claim.ours, *claim.because)]
        assert [n.again(one.rows) for n in numbers] == numbers
        json.dumps(one.to_json(), allow_nan=False)


def test_the_classes_are_those_of_figure_3():
    counts, where = read_classes()
    assert [tuple(sorted(one.values(), reverse=True)) for one in counts] == SIZES
    assert Counter(where.values()) == {0: 5, 1: 5}


def test_every_world_is_there_once():
    known, tried = list_worlds(), Worlds(SIZES)
    assert known.true.shape == (35, 1_800)
    assert tried.number == 1_800
    assert len(np.unique(known.true, axis=1).T) == 1_800
    assert (known.true.sum(axis=0) == 10).all()  # a value for everybody


def test_the_implications_that_tell_most_are_found_by_brute_force():
    told = {row["about"]: row for row in try_implications()}
    largest = max(Fraction(row["exact"]) for row in told.values())
    assert largest == max(worst(SIZES, 1)[1]) == Fraction(2, 3)
    assert Fraction(told[OWN]["exact"]) == largest
    assert Fraction(told[OTHER]["exact"]) == Fraction(10, 17)
    assert told[OTHER]["different"] == 1_056
    assert told[OTHER]["tried"] == 35 * 35


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_worked_probabilities_are_shares_of_the_worlds(found, formula):
    about, knowing, _, printed = formula
    known = list_worlds()
    at = {
        f"{name}.Disease={value}": row
        for (name, value), row in zip(known.atoms, known.true, strict=True)
    }
    left = np.ones(known.true.shape[1], bool)
    for piece in filter(None, knowing.split("; ")):
        if piece.startswith("not "):
            left &= ~at[piece.removeprefix("not ")]
        else:
            given, then = piece.split(" -> ")
            left &= ~at[given] | at[then]
    share = Fraction(int((left & at[about]).sum()), int(left.sum()))
    (row,) = select_rows(found[2].rows, about=about, knowing=knowing)
    assert Fraction(row["exact"]) == share == Fraction(printed or "2/5")


@pytest.mark.parametrize(("exact", "verdict"), [("10/19", AGREES), ("3/4", DIFFERS)])
def test_figure_3_would_say_something_else_of_other_numbers(found, exact, verdict):
    rows = [{**row, "exact": exact} if row.get("k") == 1 else row for row in found[3].rows]
    (claim,) = experiments()["martin-figure-3"][1].claims(rows)
    assert claim.verdict == verdict
    assert claim.says.endswith("with probability at most 10/19.")


# The lattice, on a small table


@pytest.fixture(scope="module")
def town():
    rng = np.random.default_rng(3)
    statuses = [*MIDDLE["ever"], "Divorced"]
    columns = {
        "age": rng.integers(17, 91, 400),
        "marital_status": rng.choice(statuses, 400),
        "race": rng.choice(["White", "Black"], 400),
        "sex": rng.choice(["Male", "Female"], 400),
        "occupation": rng.choice(list("abcde"), 400, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
    }
    quasi = [name for name in columns if name != "occupation"]
    schema = Schema.of(quasi=quasi, sensitive="occupation")
    return Sample("adult", "a town", pa.table(columns), schema)


def by_hand(sample, width, origin, marital, race, sex, middle):
    """The classes' counts, row by row."""
    found = defaultdict(Counter)
    for row in sample.table.to_pylist():
        status = row["marital_status"]
        status = (status, MIDDLE[middle].get(status, "rest"), "")[marital]
        age = "" if width == ALL else math.floor((row["age"] - origin) / width)
        key = (age, status, "" if race else row["race"], "" if sex else row["sex"])
        found[key][row["occupation"]] += 1
    return sorted(sorted(one.values()) for one in found.values())


@pytest.mark.parametrize("middle", MIDDLE)
@pytest.mark.parametrize(("width", "origin"), [(1, 0), (20, 0), (20, 17), (40, 5), (ALL, 0)])
def test_the_tables_of_the_lattice_are_those_of_plain_loops(town, width, origin, middle):
    for marital, race, sex in product(range(3), range(2), range(2)):
        classes_ = make_histograms(
            town, width, origin, marital=marital, race=race, sex=sex, middle=middle
        )
        expected = by_hand(town, width, origin, marital, race, sex, middle)
        assert sorted(map(sorted, classes_)) == expected


def test_what_is_disclosed_is_what_the_recursion_says(town):
    counts = make_histograms(town, 20, sex=0)
    told = compute_disclosures(counts, 3)
    for k in range(4):
        assert told[IMPLICATIONS][k] == max(reference(counts, k))
        assert told[NEGATIONS][k] == max(negations(one, k) for one in counts)


def test_the_least_entropy_is_that_of_the_least_varied_class():
    assert find_least_entropy([[4, 4, 4, 4], [1, 1]]) == pytest.approx(1)
    assert find_least_entropy([[4, 4], [7]]) == 0
    share = Counter({3: 1, 1: 1})
    bits = -sum(n / 4 * math.log2(n / 4) for n in share)
    assert find_least_entropy([[3, 1], [5, 5]]) == pytest.approx(bits)


def measured(experiment, sample, **settings):
    lab = Lab("test", {sample.name: sample}, {**experiment.settings, **settings}, range(1))
    return experiment.measure(lab)


@pytest.fixture(scope="module")
def lattice(town):
    return measured(figure_6.EXPERIMENT, town, widths=(20, 40, ALL), pieces=(1, 3), others=())


def test_all_tables_of_the_lattice_are_measured(lattice):
    tables = select_rows(lattice, part="table")
    assert len(tables) == 3 * 12 * 2 * 2
    assert len({(row["table"], row["k"], row["knowledge"]) for row in tables}) == len(tables)
    assert all(row["beyond"] >= 0 for row in tables if row["knowledge"] == IMPLICATIONS)
    assert math.prod((6, 3, 2, 2)) == 12 * len(figure_6.EXPERIMENT.settings["widths"]) == 72


@pytest.mark.parametrize("knowledge", [IMPLICATIONS, NEGATIONS])
def test_what_tables_say_together_is_counted_by_hand(lattice, knowledge):
    for k in (1, 3):
        here = select_rows(lattice, part="table", k=k, knowledge=knowledge)
        (told,) = select_rows(lattice, part="together", k=k, knowledge=knowledge)
        varied = [row for row in here if row["entropy"] > 0]
        right = wrong = tied = 0
        for a, b in combinations(varied, 2):
            low, high = sorted((a, b), key=lambda row: row["entropy"])
            if low["entropy"] == high["entropy"] or low["disclosure"] == high["disclosure"]:
                tied += 1
            else:
                right += low["disclosure"] > high["disclosure"]
                wrong += low["disclosure"] < high["disclosure"]
        assert told["in_order_100"] == pytest.approx(100 * right / (right + wrong))
        assert (told["pairs_differ"], told["pairs_tied"]) == (right + wrong, tied)
        assert told["pairs"] == math.comb(len(varied), 2)
        assert (told["tables"], told["tables_varied"]) == (36, len(varied))
        assert told["tables_certain"] == sum(row["disclosure"] == 1 for row in varied)


def test_the_average_leaves_out_what_cannot_differ(lattice):
    told = figure_6.EXPERIMENT.claims(lattice)[0]
    open_, varied, every = told.ours[1:]
    rows = select_rows(lattice, part="table", knowledge=IMPLICATIONS)
    below = {
        (row["table"], row["k"]): row["disclosure"]
        for row in select_rows(lattice, part="table", knowledge=NEGATIONS)
    }
    left = [row["beyond"] for row in rows if below[row["table"], row["k"]] < 1]
    assert open_.mean == pytest.approx(sum(left) / len(left))
    assert every.mean == pytest.approx(sum(left) / len(rows))
    assert open_.mean >= varied.mean >= every.mean


def beyond(rows, points, **where):
    """The same rows, with implications so many points above negations."""
    return [
        {**row, "beyond": points}
        if row.get("beyond") is not None and where.items() <= row.items()
        else row
        for row in rows
    ]


@pytest.mark.parametrize(
    ("points", "verdict"), [(1.0, AGREES), (2.0, AGREES), (2.1, DIFFERS), (11.0, DIFFERS)]
)
def test_closeness_of_the_lattice_follows_the_numbers(lattice, points, verdict):
    close, *others = figure_6.EXPERIMENT.claims(beyond(lattice, points))
    assert close.verdict == verdict
    assert [one.verdict for one in others] == [FOUND, FOUND]
    assert "at most 10 points, and on average at most 2, above" in close.says
    if verdict == DIFFERS:
        assert close.why.startswith("The bounds are ours")
        assert ("up to" in close.why) == (points > 10)


def test_every_reading_of_the_paper_is_judged(town):
    rows = measured(figure_6.EXPERIMENT, town, widths=(40, ALL), pieces=(1,))
    readings = {(row["origin"], row["middle"]) for row in rows}
    assert readings == {(0, "spouse"), (0, "ever"), (17, "spouse")}
    near = beyond(rows, 1.0)
    assert figure_6.EXPERIMENT.claims(near)[0].verdict == AGREES
    claim = figure_6.EXPERIMENT.claims(beyond(near, 11.0, origin=17))[0]
    assert claim.verdict == PARTLY
    assert claim.ours[0].mean == 11
    assert "2 of 3 readings keep both; origin 17" in claim.why


def test_what_is_found_of_the_lattice_is_said_from_its_rows(lattice):
    _, falling, certain = figure_6.EXPERIMENT.claims(lattice)
    shares = {
        row["k"]: row["in_order_100"]
        for row in select_rows(lattice, part="together", knowledge=IMPLICATIONS)
    }
    assert f"{min(shares.values()):.1f} to {max(shares.values()):.1f} %" in falling.says
    (worst,) = [
        row
        for row in select_rows(lattice, part="together", knowledge=IMPLICATIONS)
        if row["in_order_100"] == min(shares.values())
    ]
    assert f"of the {worst['pairs_differ']} pairs" in falling.why
    assert f"{worst['pairs_tied']} more are tied" in falling.why
    assert "in exactly those" in certain.says
    other = [
        {**row, "unlike": 1} if row["part"] == "table" and row["k"] == 3 else row for row in lattice
    ]
    assert "in not exactly those" in figure_6.EXPERIMENT.claims(other)[2].says


def test_each_chart_s_title_is_of_its_own_knowledge(lattice):
    rows = [
        {**row, "in_order_100": 12.0}
        if row.get("knowledge") == NEGATIONS and row["part"] == "together"
        else row
        for row in lattice
    ]
    charts = figure_6.EXPERIMENT.charts(rows)
    assert "12 to 12 %" in json.dumps(charts[NEGATIONS])
    assert "12 to 12 %" not in json.dumps(charts[IMPLICATIONS])


@pytest.mark.parametrize("knowledge", [IMPLICATIONS, NEGATIONS])
def test_charts_are_drawn_of_any_table(town, lattice, knowledge):
    charts = figure_6.EXPERIMENT.charts(lattice)
    assert set(charts) == {IMPLICATIONS, NEGATIONS, "closeness"}
    assert json.dumps(charts[knowledge])
    alike = replace(town, table=town.table.slice(0, 1))  # one person: nothing varies
    assert figure_6.EXPERIMENT.charts(measured(figure_6.EXPERIMENT, alike, widths=(ALL,)))


def test_figure_5_is_judged_by_the_same_rule(town):
    rows = measured(figure_5.EXPERIMENT, town, most=3, origins=(0, 5, 15, 17))
    assert set(figure_5.EXPERIMENT.charts(rows)) == {"disclosure", "origins"}
    assert figure_5.EXPERIMENT.claims(rows)[1].verdict == FOUND
    near = beyond(rows, 1.0)
    assert figure_5.EXPERIMENT.claims(near)[0].verdict == AGREES
    assert figure_5.EXPERIMENT.claims(beyond(rows, 2.5))[0].verdict == DIFFERS
    claim = figure_5.EXPERIMENT.claims(beyond(near, 2.5, origin=0))[0]
    assert claim.verdict == PARTLY
    assert "3 of 4 readings keep both; origin 0: 2.50 on average" in claim.why


# Adult


@pytest.fixture(scope="module")
def adult(real_data):
    return load_dataset("adult")


def test_adult_gives_the_known_curves(adult):
    rows = figure_5.measure_curves(adult, 20, 0, 12)
    for knowledge, curve in CURVES.items():
        told = [row["disclosure"] for row in select_rows(rows, knowledge=knowledge)]
        assert [round(one, 4) for one in told] == [float(one) for one in curve.split()]
    claim, _ = figure_5.EXPERIMENT.claims([{"origin": 0, "width": 20, **row} for row in rows])
    assert [round(one.mean, 2) for one in claim.ours] == [5.17, 2.51, 2.12]
    other = figure_5.measure_curves(adult, 20, 17, 1)
    told = [round(row["disclosure"], 4) for row in select_rows(other, knowledge=IMPLICATIONS)]
    assert told == [0.2018, 0.2407]


def test_adult_s_coarsest_table_is_one_class(adult):
    (counts,) = make_histograms(adult, ALL)
    assert (sum(counts), len(counts)) == (45_222, 14)
    rows = figure_6.measure_lattice(adult, ALL, 0, "spouse", [3])
    told = {row["table"]: row for row in select_rows(rows, knowledge=NEGATIONS)}
    assert told["all, 2, 1, 1"]["disclosure"] == float(negations(counts, 3))
    assert told["all, 1, 1, 1"]["classes"] == 2
