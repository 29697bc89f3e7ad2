"""Beliefs joined over releases of any kind: by enumeration, and as the intersection counts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shoal import testing
from shoal.attacks._shared.joined_beliefs import (
    ClassLikelihoods,
    NaiveBayesTables,
    join_beliefs,
    measure_success,
)
from shoal.attacks._shared.value_evidence import ValueEvidence
from shoal.core.cells import Cells
from shoal.core.histogram import Histogram
from shoal.core.spend import parse_spend
from shoal.dp.randomised_response import calibrate_response


def cells(*ends: tuple[int, int]) -> Cells:
    low, high = (np.array(column, np.int32)[:, np.newaxis] for column in zip(*ends, strict=True))
    return Cells(low, high)


def test_on_classes_it_is_the_intersection_attack_that_counts():
    rng = np.random.default_rng(1)
    counts = [rng.integers(0, 4, (3, 4)) for _ in range(2)]
    for one in counts:
        one[:, 0] += 1
    places = [cells((0, 1), (2, 4), (4, 5)), cells((0, 2), (2, 3), (4, 5))]
    prior = sum(one.sum(axis=0) for one in counts) / sum(one.sum() for one in counts)
    told = [
        ClassLikelihoods.of(place, one, np.eye(4), prior)
        for place, one in zip(places, counts, strict=True)
    ]
    keys = np.arange(6, dtype=np.int32)[np.newaxis]
    axis = testing.groups([list("abcd")]).sensitive[0].axis
    histograms = [
        Histogram.of(axis, np.repeat([0, 1, 2], 4), np.tile(np.arange(4), 3), one.ravel(), 3)
        for one in counts
    ]
    evidence = ValueEvidence(
        [place.contains(keys) for place in places], histograms, np.zeros(6, np.int32), np.arange(6)
    )
    known = evidence.weigh(np.arange(6))
    belief = join_beliefs(told, keys, prior)
    assert (belief > 0).sum(axis=1).tolist() == known.posterior.tolist()
    assert belief.max(axis=1) == pytest.approx(known.stated)
    assert belief[:, 0] == pytest.approx(known.chance)


def test_on_answers_it_is_bayes_over_all_that_could_have_been():
    prior, way = np.array([0.5, 0.3, 0.2]), calibrate_response(parse_spend(1), 3)
    matrix, answers = way.matrix(), (0, 0, 2)
    chance = np.zeros(3)
    for true in itertools.product(range(3), repeat=3):  # the person is any of the three rows
        likely = math.prod(prior[s] * matrix[s, y] for s, y in zip(true, answers, strict=True))
        for row in range(3):
            chance[true[row]] += likely / 3
    counts = np.bincount(answers, minlength=3)[np.newaxis]
    told = ClassLikelihoods.of(cells((0, 0)), counts, matrix, prior)
    assert join_beliefs([told], np.array([[0]]), prior)[0] == pytest.approx(chance / chance.sum())


def test_tables_tell_by_naive_bayes_and_exclude_nothing():
    pair = np.array([[8.0, -3.0], [0.0, 5.0]])
    told = NaiveBayesTables([np.array([0, 0, 1]), np.array([0, 1])], [pair])
    likely = told.likelihoods(np.array([[0, 1, 2]]))
    assert likely[0].tolist() == likely[1].tolist()
    assert likely[0, 1] / likely[0, 0] == pytest.approx((1 / 7) / (9 / 10))
    assert (likely > 0).all()


def test_whoever_fits_no_class_is_guessed_by_the_most_common_value():
    told = ClassLikelihoods.of(cells((0, 0)), np.array([[0, 3]]), np.eye(2), np.array([0.6, 0.4]))
    assert join_beliefs([told], np.array([[0, 1]]), np.array([0.6, 0.4])).tolist() == [
        [0, 1],
        [0.6, 0.4],
    ]
    other = ClassLikelihoods.of(cells((0, 0)), np.array([[2, 0]]), np.eye(2), np.array([0.6, 0.4]))
    assert join_beliefs([told, other], np.array([[0]]), np.array([0.6, 0.4])).tolist() == [
        [0.6, 0.4]
    ]


def test_of_values_that_are_alike_one_is_picked():
    found = measure_success([], np.zeros((1, 40), np.int32), np.arange(40) % 5, np.full(5, 0.2))
    assert found.right == pytest.approx(0.2)
    assert found.settled == found.sure == 0


def test_leaves_may_share_an_answer():
    chance = calibrate_response(parse_spend(1), 2).matrix()[[0, 0, 1]]
    told = ClassLikelihoods.of(cells((0, 0)), np.array([[3, 1]]), chance, np.full(3, 1 / 3))
    belief = join_beliefs([told], np.array([[0]]), np.full(3, 1 / 3))[0]
    assert belief[0] == pytest.approx(belief[1])
    assert belief[0] > belief[2] > 0
