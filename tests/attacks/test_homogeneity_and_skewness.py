"""Homogeneity and skewness of one release, against plain loops over rows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.attacks.homogeneity import homogeneity
from shoal.attacks.skewness import skewness
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError, UsageError
from shoal.core.release import to_json_value
from shoal.core.theory.adversary_view import ReleaseView, View

ILLNESS = Axis("illness", "category", "flat", ("asthma", "flu", "ulcer"), null=True)
BOTH = pytest.mark.parametrize("attack", [homogeneity, skewness])


def view_of(classes: list[int], values: list[int], *, show: bool = False) -> View:
    """Rows by class and value; the classes' cells are single ages."""
    number = np.arange(max(classes, default=-1) + 1, dtype=np.int32)[:, np.newaxis]
    axis = Axis("age", "number", "ordered", tuple(range(9)), positions=np.arange(9.0))
    codes = (np.array(part, dtype=np.int32) for part in (classes, values))
    release = ReleaseView(
        "r", Cells(number, number), *codes, labels=lambda c: {"age": f"label {c}"}
    )
    return View((axis,), (release,), ILLNESS, show=show)


def random_rows(seed: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    rows, most = int(rng.integers(1, 25)), int(rng.integers(1, 7))
    classes = np.unique(rng.integers(0, most, rows), return_inverse=True)[1]
    return classes.tolist(), rng.integers(0, int(rng.integers(1, 5)), rows).tolist()


def grouped(classes: list[int], values: list[int]) -> dict[int, Counter]:
    return {
        c: Counter(v for k, v in zip(classes, values, strict=True) if k == c) for c in set(classes)
    }


@pytest.mark.parametrize("seed", range(100))
def test_homogeneity_is_that_of_the_definition(seed):
    classes, values = random_rows(seed)
    groups = grouped(classes, values)
    finding = homogeneity(view_of(classes, values))
    uniform = {c for c, group in groups.items() if len(group) == 1}
    assert finding.people == len(classes)
    assert finding.exposed == sum(c in uniform for c in classes)
    assert finding.details["homogeneous_classes"] == len(uniform)
    tops = {c: Fraction(max(group.values()), group.total()) for c, group in groups.items()}
    assert finding.sure == float(max(tops.values()))
    assert finding.guessing == max(Counter(values).values()) / len(values)
    right = sum(max(group.values()) for group in groups.values())
    assert finding.details["guessed_right"] == right / len(classes)
    for part in finding.details["rows_by_top_share"]:
        low, high = Fraction(str(part["from"])), Fraction(str(part["to"]))
        last = low == high
        rows = sum(low <= tops[c] and (last or tops[c] < high) for c in classes)
        assert part["rows"] == rows
    worst = sorted(
        range(len(classes)),
        key=lambda r: (-tops[classes[r]], -classes.count(classes[r]), classes.index(classes[r]), r),
    )
    assert finding.worst == tuple(r + 1 for r in worst[:20])
    json.dumps(to_json_value(finding.to_json()))


@pytest.mark.parametrize("seed", range(100))
def test_skewness_is_that_of_the_definition(seed):
    classes, values = random_rows(seed)
    sure, times = ((Fraction(1, 2), 2), (Fraction(1, 3), Fraction(3, 2)), (1, 1))[seed % 3]
    groups, table = grouped(classes, values), Counter(values)
    finding = skewness(view_of(classes, values), sure=sure, times=times)
    after = [
        Fraction(groups[c][v], groups[c].total()) for c, v in zip(classes, values, strict=True)
    ]
    before = [Fraction(table[v], len(values)) for v in values]
    gain = [a / b for a, b in zip(after, before, strict=True)]
    hit = [a >= sure and g >= times for a, g in zip(after, gain, strict=True)]
    assert finding.exposed == sum(hit)
    assert finding.details["largest_gain"] == pytest.approx(float(max(gain)))
    ends = {"under 1": (0, 1), "1 to 2": (1, 2), "2 to 5": (2, 5), "5 to 10": (5, 10)}
    expected = {name: sum(a <= g < b for g in gain) for name, (a, b) in ends.items()}
    expected["10 and more"] = sum(g >= 10 for g in gain)
    assert finding.details["rows_by_gain"] == expected
    apart = [
        sum(abs(Fraction(g[v], g.total()) - Fraction(table[v], len(values))) for v in table) / 2
        for g in groups.values()
    ]
    assert finding.details["farthest_class"] == pytest.approx(float(max(apart)))
    if any(hit):
        assert finding.sure == float(max(a for a, h in zip(after, hit, strict=True) if h))
    worst = finding.worst[0] - 1
    assert (finding.sure, finding.guessing) == (float(after[worst]), float(before[worst]))
    assert [hit[r - 1] for r in finding.worst] == sorted(
        (hit[r - 1] for r in finding.worst), reverse=True
    )
    json.dumps(to_json_value(finding.to_json()))


def test_a_tie_is_decided_exactly():
    # Three rows of ten against one in three: 0.3 times 10 / 3 is not 1 in floats.
    classes, values = [0] * 10 + [1] * 20, [0] * 3 + [1] * 7 + [0] * 2 + [1] * 18
    finding = skewness(view_of(classes, values), sure="0.3", times="1.8")
    assert finding.exposed == 3  # 3/10 is exactly 1.8 times 5/30
    assert skewness(view_of(classes, values), sure="0.3", times="1.8000001").exposed == 0


def test_a_class_of_one_value_is_shown_with_its_rows():
    view = view_of([0, 1, 0, 1, 1], [0, 2, 1, 2, 2])
    finding = homogeneity(view)
    assert (finding.exposed, finding.worst[:3], finding.table) == (3, (2, 4, 5), "release 1")
    assert finding.witness == {"class": 1, "rows": 3, "most_common": 3, "distinct": 1}
    assert "3 of 5 rows" in finding.sentence


def test_no_uniform_class_says_how_near_it_came():
    finding = homogeneity(view_of([0, 0, 0, 1, 1], [0, 0, 1, 0, 1]))
    assert (finding.exposed, finding.sure) == (0, 2 / 3)
    assert "2 of 3 rows" in finding.sentence


@BOTH
def test_labels_and_values_only_for_who_asked(attack):
    quiet = attack(view_of([0, 0, 1, 1], [1, 1, 0, 3]))
    told = attack(view_of([0, 0, 1, 1], [1, 1, 0, 3], show=True))
    assert "flu" not in str(quiet.to_json())
    assert "label" not in str(quiet.to_json())
    assert "flu" in told.example
    assert told.witness["value"] == "flu"
    assert told.witness["labels"] == {"age": "label 0"}


@BOTH
@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_rows_does_not_matter(attack, seed):
    classes, values = (np.array(part) for part in random_rows(seed))
    order = np.random.default_rng(seed).permutation(len(classes))
    one = attack(view_of(classes.tolist(), values.tolist()))
    two = attack(view_of(classes[order].tolist(), values[order].tolist()))
    assert (one.details, one.sentence, one.sure) == (two.details, two.sentence, two.sure)


@BOTH
def test_what_cannot_be_attacked_is_refused(attack):
    view = view_of([0, 0], [0, 1])
    for blind in (
        replace(view, sensitive=None),
        replace(view, releases=(replace(view.releases[0], values=None),)),
        replace(view, releases=()),
        view_of([], []),
    ):
        with pytest.raises(InputError):
            attack(blind)


def test_options_out_of_range_are_refused():
    for options in ({"sure": 0}, {"sure": 1.5}, {"times": 0.5}, {"times": "many"}):
        with pytest.raises(UsageError):
            skewness(view_of([0, 0], [0, 1]), **options)
