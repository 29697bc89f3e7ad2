"""Martin et al.'s algorithms as printed and mended: against other brute force and the recursion."""

from __future__ import annotations

import json
import math
from itertools import product

import pytest
from tests.oracles.worlds import Worlds, least, least_by_trying, reference, worst

import shoal
from shoal.studies import experiments
from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, select_rows
from shoal.studies.martin import brute_force, minimise


@pytest.fixture(scope="module")
def found():
    return shoal.study("martin-algorithms")


def test_every_mistake_in_print_is_corrected(found):
    assert [claim.verdict for claim in found.claims] == [CORRECTED] * 5
    numbers = [n for claim in found.claims for n in (*claim.ours, *claim.because)]
    assert [n.again(found.rows) for n in numbers] == numbers
    assert set(found.charts) == {"algorithm-1", "algorithm-2", "steps"}
    json.dumps(found.to_json(), allow_nan=False)


def test_all_small_tables_are_there_once():
    assert brute_force.list_shapes(3) == [(1,), (2,), (1, 1), (3,), (2, 1), (1, 1, 1)]
    assert len(brute_force.list_shapes(5)) == 1 + 2 + 3 + 5 + 7
    told = list(brute_force.list_small_tables(3, 3, 12))
    assert len(told) == len(set(told)) == 67
    assert all(math.prod(Worlds([one]).number for one in table) <= 12 for table in told)


def test_trying_gives_what_other_brute_force_gives():
    for table in brute_force.list_small_tables(2, 3, 9):
        assert [brute_force.find_largest_belief(table, k) for k in range(3)] == [
            max(one) for one in worst(table, 2)
        ]
    for counts in brute_force.list_shapes(4):
        assert [brute_force.find_least_probability(counts, k) for k in range(4)] == [
            least_by_trying(counts, k) for k in range(4)
        ]


@pytest.mark.parametrize("counts", [(3, 2, 1, 1), (2, 2, 2), (4, 1), (1, 1)])
def test_the_mended_algorithms_are_the_recursion(counts):
    assert [minimise.Minimize1(counts).least(k) for k in range(7)] == [
        least(counts, k) for k in range(7)
    ]
    table = [counts, (2, 1, 1), (3, 3)]
    for k in range(4):
        ratio = minimise.prepare_minimize_2(table, k).ratio(k)
        assert minimise.compute_disclosure(ratio) == max(reference(table, k))


def test_as_printed_the_algorithms_divide_by_zero_or_find_infinity():
    with pytest.raises(ZeroDivisionError):
        minimise.Minimize1((1, 1), guarded=False, clamped=False).least(3)
    assert minimise.Minimize1((1, 1), guarded=False, clamped=False).least(2) == 0
    floats = minimise.Minimize1((2, 1), clamped=False, arithmetic=minimise.FLOATS)
    assert str(floats.least(4)) == "-0.0"
    assert floats.negative
    for begun in (False, True):
        assert (
            minimise.prepare_minimize_2([(2, 1)], 1, ended=False, begun=begun).ratio(1) == math.inf
        )


def test_the_counts_of_the_algorithms_are_those_of_their_runs(found):
    rows = found.rows
    (printed,) = select_rows(rows, how="as printed", arithmetic="exact")
    stops = 0
    for counts, k in product(brute_force.list_shapes(4), range(1, 7)):
        stops += sum(counts) < k  # so many atoms can have a person each, and nobody is left
    assert (printed["cases"], printed["stopped"]) == (11 * 6, stops)
    (mended,) = select_rows(rows, end="mended", begin="mended")
    assert (mended["cases"], mended["infinite"], mended["wrong"]) == (67 * 4, 0, 0)
    assert all(row["infinite"] == 67 * 4 for row in select_rows(rows, end="as printed"))
    for row in select_rows(rows, part="cost"):
        n, k = row["of"], row["k"]
        states = (k + 1) * (k + 2) // 2
        assert row["steps"] == (k + 1) + (n - 1) * 2 * states


@pytest.mark.parametrize(
    ("at", "where", "changed", "verdict"),
    [
        (0, {"how": "as printed", "arithmetic": "exact"}, {"stopped": 0}, AGREES),
        (0, {"how": "guarded", "arithmetic": "exact"}, {"wrong": 1}, DIFFERS),
        (1, {"how": "guarded", "arithmetic": "exact"}, {"negative": 0}, AGREES),
        (1, {"how": "mended", "arithmetic": "floats"}, {"minus_zero": 1}, DIFFERS),
        (2, {"end": "as printed", "begin": "mended"}, {"wrong": 0}, AGREES),
        (3, {"end": "mended", "begin": "mended"}, {"wrong": 2}, DIFFERS),
        (3, {"end": "mended", "begin": "as printed"}, {"wrong": 0}, AGREES),
        (4, {"part": "cost"}, {"power_of_k": 1.2}, AGREES),
        (4, {"part": "cost"}, {"power_of_k": 3.1}, DIFFERS),
    ],
)
def test_claims_of_the_algorithms_follow_their_counts(found, at, where, changed, verdict):
    rows = [row | changed if where.items() <= row.items() else row for row in found.rows]
    claim = experiments()["martin-algorithms"][1].claims(rows)[at]
    assert claim.verdict == verdict
    assert bool(claim.why) == (verdict != AGREES)
