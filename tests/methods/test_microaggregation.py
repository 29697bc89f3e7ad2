"""Microaggregation on tiny tables, against MDAV in plain Python; and on Adult."""

from __future__ import annotations

import csv
import gzip
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.axis import Axis
from shoal.core.errors import NotMetError, UsageError
from shoal.core.tally import Groups, Tally
from shoal.kernels.mdav import halve_points
from shoal.measures.loss import loss
from shoal.methods._shared.points import Points
from shoal.methods.microaggregation import EmbeddedPoints, microaggregation
from shoal.methods.mondrian import mondrian
from shoal.models import rule
from shoal.releases.reader import open_frame
from shoal.releases.tallying import encode
from shoal.testing.checks import check_method

FEW = settings(max_examples=60, deadline=None)


def table(columns, null=(), shapes=None, counts=None):
    """A tally of columns of whole numbers (None: null); each row a value of its own."""
    axes, keys = [], []
    for j, column in enumerate(columns):
        leaves = tuple(sorted({float(v) for v in column if v is not None}))
        shape = (shapes or {}).get(j, "ordered")
        line = np.array(leaves) if shape == "ordered" else None
        kind = "number" if shape == "ordered" else "category"
        names = leaves if shape == "ordered" else tuple(f"v{v:g}" for v in leaves)
        axis = Axis(f"q{j}", kind, shape, names, j in null, positions=line)
        code = {v: i for i, v in enumerate(leaves)}
        keys.append([axis.null_code if v is None else code[float(v)] for v in column])
        axes.append(axis)
    rows = len(columns[0])
    sensitive = Axis.numbered("s", rows)
    values = np.arange(rows, dtype=np.int32)[None]
    count = np.ones(rows, np.int64) if counts is None else np.array(counts)
    return Tally(tuple(axes), (sensitive,), np.array(keys, np.int32), values, count)


def coordinates(columns, kinds):
    """Every row as plain numbers: z-scores, and one-hot over the square root of 2."""
    found = []
    for column, kind in zip(columns, kinds, strict=True):
        if kind == "flat":
            found += [[(v == one) / 2**0.5 for v in column] for one in sorted(set(column))]
        else:
            mean = sum(column) / len(column)
            spread = (sum((v - mean) ** 2 for v in column) / len(column)) ** 0.5 or 1.0
            found.append([(v - mean) / spread for v in column])
    return [tuple(row) for row in zip(*found, strict=True)]


def plain_mdav(points, k):
    """The sets of rows, as the paper has it; of equal distances the first row is nearer."""
    left, clusters = list(range(len(points))), []

    def apart(a, b):
        return round(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)), 9)

    def mean():
        return [sum(points[i][j] for i in left) / len(left) for j in range(len(points[0]))]

    def farthest(place):
        return max(left, key=lambda i: (apart(points[i], place), i))

    def take(place):
        near = sorted(left, key=lambda i: (apart(points[i], place), i))[:k]
        left[:] = [i for i in left if i not in near]
        clusters.append(frozenset(near))

    while len(left) >= 3 * k:
        one = points[farthest(mean())]
        other = points[farthest(one)]
        take(one)
        take(other)
    if len(left) >= 2 * k:
        take(points[farthest(mean())])
    clusters.append(frozenset(left))
    return clusters


def clusters_of(points, pieces):
    """Our clusters as sets of rows, where every point is one row."""
    point, class_, count = pieces
    assert (count == 1).all()
    row = np.argsort(points.of_entry)
    found = [frozenset(row[point[class_ == c]].tolist()) for c in range(class_.max() + 1)]
    return sorted(found, key=sorted)


# Squares of primes: sums and differences that are equal by chance are rare.
ODD = [p * p for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)]


@FEW
@given(data=st.data(), k=st.integers(2, 4), flat=st.booleans())
def test_the_classes_are_those_of_mdav(data, k, flat):
    rows = data.draw(st.integers(1, 20))
    first = data.draw(st.permutations(ODD).map(lambda values: values[:rows]))
    other = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    order = sorted(range(rows), key=lambda i: first[i])  # as points are numbered
    columns = [[first[i] for i in order], [other[i] for i in order]]
    kinds = ("ordered", "flat" if flat else "ordered")
    tally = table(columns, shapes={1: kinds[1]})
    points = Points.of(tally)
    pieces, blocks = EmbeddedPoints.of(tally, points, "one-hot").cluster(k, 100)
    assert blocks == 1
    expected = sorted(plain_mdav(coordinates(columns, kinds), k), key=sorted)
    assert clusters_of(points, pieces) == expected


def test_people_who_are_equal_count_as_often_as_they_are():
    """A point of many people is divided as its rows would be."""
    values = [4, 9, 25, 49, 121]
    counts = [1, 7, 2, 5, 3]
    tally = table([values], counts=counts)
    (point, class_, count), _ = EmbeddedPoints.of(tally, Points.of(tally), "one-hot").cluster(
        3, 100
    )
    rows = [v for v, n in zip(values, counts, strict=True) for _ in range(n)]
    expected = plain_mdav(coordinates([rows], ["ordered"]), 3)
    found = [sorted(np.repeat(point[class_ == c], count[class_ == c])) for c in range(6)]
    of_row = np.repeat(np.arange(5), counts)
    assert sorted(map(list, found)) == sorted(sorted(of_row[list(one)]) for one in expected)
    assert np.bincount(class_, count).tolist() == [3] * 6


@pytest.mark.parametrize("categories", ["one-hot", "ordinal"])
@pytest.mark.parametrize(
    "model",
    [
        "k-anonymity k=3",
        "m-privacy m=1 (k-anonymity k=3 & distinct-diversity l=2)",
        "k-anonymity k=4 & entropy-diversity l=2",
        "t-closeness t=0.4",
        "ck-safety c=0.8 k=1",
    ],
)
def test_any_rule_is_met(model, categories):
    check_method(microaggregation, rule(model), categories=categories, block=60)


@pytest.mark.parametrize("rows", [7, 8, 9, 30, 31, 32, 33, 34, 35])
def test_classes_have_k_to_2k_people(rows):
    tally = table([list(range(rows)), [i * i % 7 for i in range(rows)]])
    cut = microaggregation(tally, rule("k-anonymity k=4"))
    sizes = Groups.of(tally, cut).rows
    assert sizes.sum() == rows
    assert sizes.min() >= 4
    assert sizes.max() < 8


def test_a_larger_k_and_the_block_are_told():
    tally = table([list(range(40))])
    cut = microaggregation(tally, rule("k-anonymity k=2"), k=5, block=20)
    assert {name: cut.facts[name] for name in ("k", "block", "blocks")} == {
        "k": 5,
        "block": 20,
        "blocks": 2,
    }
    assert Groups.of(tally, cut).rows.min() >= 5


def test_null_is_as_far_as_another_category_and_no_number():
    column = [1, 2, 3, None, None, None, 10, 11, 12]
    tally = table([column], null={0})
    cut = microaggregation(tally, rule("k-anonymity k=3"))
    ranges = sorted(zip(cut.cells.low[:, 0].tolist(), cut.cells.high[:, 0].tolist(), strict=True))
    assert ranges == [(0, 2), (3, 5), (6, 6)]


def test_a_column_s_weight_counts():
    """Pairs by the heavier column."""
    columns = [[0, 0, 9, 9], [0, 9, 0, 9]]
    for weights, alike in (((9.0, 1.0), 0), ((1.0, 9.0), 1)):
        base = table(columns)
        tally = Tally(
            base.quasi, base.sensitive, base.keys, base.values, base.count, weights=weights
        )
        cut = microaggregation(tally, rule("k-anonymity k=2"))
        assert (cut.cells.low[:, alike] == cut.cells.high[:, alike]).all()


@pytest.mark.parametrize(
    "wrong", [{"k": 2}, {"k": -1}, {"block": 0}, {"categories": "words"}, {"block": "many"}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(UsageError):
        microaggregation(table([[1, 2, 3, 4]]), rule("k-anonymity k=3"), **wrong)


def test_fewer_than_k_people_are_refused_or_held_back():
    tally, model = table([[1, 2, 3]]), rule("k-anonymity k=4")
    with pytest.raises(NotMetError):
        microaggregation(tally, model)
    assert microaggregation(tally, model, hold_back=3).suppressed == 3


@FEW
@given(
    values=st.lists(st.integers(0, 30), min_size=1, max_size=40),
    most=st.integers(1, 12),
    least=st.integers(1, 4),
)
def test_blocks_are_small_whole_and_in_order(values, most, least):
    line = np.array([values, [v % 5 for v in values]], np.float64)
    people = np.array([1 + v % 3 for v in values])
    order, edges = halve_points(line, people, most, least)
    assert sorted(order.tolist()) == list(range(len(values)))
    sizes = [int(people[order[a:b]].sum()) for a, b in pairwise(edges)]
    assert len(sizes) == 1 or min(sizes) >= least
    for size, (a, b) in zip(sizes, pairwise(edges), strict=True):
        left = np.cumsum(people[order[a:b]])
        assert size <= most or not ((left >= least) & (size - left >= least)).any()


QUASI = ["age", "workclass", "education_num", "marital_status", "race", "sex", "native_country"]


@pytest.fixture(scope="module")
def adult(real_data):
    """8,000 of Adult's complete rows for training."""
    with gzip.open(real_data / "adult.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if "?" not in row.values()]
    rows = [row for row in rows if row["split"] == "train"]
    some = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))[:8000]]
    numbers = ("age", "education_num")
    columns = {n: [float(r[n]) if n in numbers else r[n] for r in some] for n in QUASI}
    schema = shoal.Schema.of(quasi=QUASI)
    with open_frame(pa.table(columns)) as frame:
        return encode(frame, schema.fit(frame.fields)).tally


def nearest_is_own(cloud, pieces):
    """The share of people whose cluster has the nearest centroid: means, modes of categories."""
    point, class_, people = pieces
    classes = int(class_.max()) + 1
    rows = np.bincount(class_, people, classes)
    far = np.zeros((len(cloud.people), classes))
    for column in cloud.coordinates:
        far += (column[:, None] - np.bincount(class_, people * column[point], classes) / rows) ** 2
    for j, codes in enumerate(cloud.codes):
        seen = np.zeros((classes, cloud.code_offsets[j + 1]))
        np.add.at(seen, (class_, codes[point]), people)
        far += codes[:, None] != seen.argmax(axis=1)
    return float(people[far.argmin(axis=1)[point] == class_].sum() / people.sum())


@pytest.mark.parametrize(
    ("categories", "k", "share"),
    [("ordinal", 5, 0.64), ("ordinal", 10, 0.70), ("one-hot", 5, 0.59), ("one-hot", 10, 0.60)],
)
def test_most_of_adult_are_found_by_the_nearest_centroid(adult, categories, k, share):
    """Ganta et al. 2008 tell of about 70 %, of another table."""
    cloud = EmbeddedPoints.of(adult, Points.of(adult), categories)
    pieces, blocks = cloud.cluster(k, 10_000)
    assert blocks == 1
    assert nearest_is_own(cloud, pieces) == pytest.approx(share, abs=0.03)


def test_what_blocks_cost_is_what_the_page_says(adult):
    lost = {
        block: loss(adult, microaggregation(adult, rule("k-anonymity k=5"), block=block))
        for block in (500, 2000, 20_000)
    }
    assert lost[20_000] == pytest.approx(0.0302, abs=0.0005)
    assert lost[20_000] < lost[2000] < lost[500] < 0.042
    assert loss(adult, mondrian(adult, rule("k-anonymity k=5"))) == pytest.approx(0.0304, abs=5e-4)
