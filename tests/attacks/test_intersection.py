"""Intersection against Python's sets; where people could be; how far weighing can be believed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shoal.attacks import get_attack_needs
from shoal.attacks._shared import value_evidence
from shoal.attacks._shared.candidate_classes import locate
from shoal.attacks.intersection import PVP_CANDIDATES, intersection
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError, UsageError
from shoal.core.theory.adversary_view import (
    UNKNOWN,
    UNPUBLISHED,
    WORST_LISTED,
    NobodyFoundError,
    ReleaseView,
    Targets,
    View,
)
from shoal.kernels.grouping import collect_code_sets
from shoal.testing.checks import check_attack, reorder_view

intersection_module = import_module("shoal.attacks.intersection")

GOLDEN = Path(__file__).parent.parent / "golden"
AGE = Axis("age", "number", "ordered", tuple(range(8)), True, positions=np.arange(8.0))
TOWN = Axis("town", "category", "flat", tuple("abcdef"))
LEVEL = Axis("level", "category", "ordered", tuple("xyz"))
AXES = (AGE, TOWN, LEVEL)


def cells_of(low, high, towns) -> Cells:
    """Ranges in all columns, and in column 1 the sets that are given (classes, 6) as flags."""
    class_, code = np.nonzero(towns)
    bits = collect_code_sets(code.astype(np.int32), np.arange(len(code)), class_, len(towns), 1)
    return Cells(np.asarray(low, np.int32), np.asarray(high, np.int32), {1: bits})


def random_release(rng, name, values, classes=6, rows=24) -> ReleaseView:
    ends = np.sort([rng.integers(0, axis.size, (2, classes)) for axis in AXES], axis=1)
    towns = rng.random((classes, 6)) < 0.6
    towns[np.arange(classes), rng.integers(0, 6, classes)] = True
    first, last = towns.argmax(axis=1), 5 - towns[:, ::-1].argmax(axis=1)
    low, high = ends[:, 0].T.copy(), ends[:, 1].T.copy()
    low[:, 1], high[:, 1] = first, last
    class_ = rng.integers(0, classes, rows).astype(np.int32)
    return ReleaseView(
        name,
        cells_of(low, high, towns),
        class_,
        rng.integers(0, values.size, rows).astype(np.int32),
        labels=lambda c: {"age": f"class {c}"},
    )


def random_view(seed, releases=2, values=7, known=True, people=40) -> View:
    rng = np.random.default_rng(seed)
    axis = Axis("ill", "category", "flat", tuple(f"v{i}" for i in range(values)))
    keys = np.stack([rng.integers(0, a.size, people) for a in AXES]).astype(np.int32)
    truth = rng.integers(0, values, people).astype(np.int32) if known else None
    made = tuple(random_release(rng, f"r{j}", axis) for j in range(releases))
    return View(AXES, made, axis, people=Targets(keys, np.arange(1, people + 1), truth))


# The oracle: sets, fractions and loops


def inside(cells, c, key) -> bool:
    for j, code in enumerate(key):
        if j in cells.sets:
            if not int(cells.sets[j][c, 0]) >> code & 1:
                return False
        elif not cells.low[c, j] <= code <= cells.high[c, j]:
            return False
    return True


def classes_of(release, key):
    return [c for c in range(len(release.cells)) if inside(release.cells, c, key)]


def counts_of(release, classes):
    rows = zip(release.class_.tolist(), release.values.tolist(), strict=True)
    return Counter(value for c, value in rows if c in classes)


def oracle(view, classes=classes_of):
    """For each person the counts of values by release, and the values in all of them."""
    found = []
    for i in range(len(view.people)):
        key = view.people.keys[:, i].tolist()
        by = [counts_of(release, classes(release, key)) for release in view.releases]
        found.append((by, set.intersection(*(set(one) for one in by))))
    return found


def chances(view, by, left, temperature=1.0):
    """The weighed posterior of each value left."""
    total = Counter(v for release in view.releases for v in release.values.tolist())
    pi = {v: n / total.total() for v, n in total.items()}
    weight = {
        v: float(np.prod([one[v] / one.total() for one in by]) / pi[v] ** (len(by) - 1))
        ** (1 / temperature)
        for v in left
    }
    return {v: w / sum(weight.values()) for v, w in weight.items()}


CASES = list(product(range(4), (2, 3, 4), (7, 70, 1500)))


@pytest.mark.parametrize(("seed", "releases", "values"), CASES)
def test_every_number_is_that_of_python_s_sets(seed, releases, values):
    view = spread(random_view(seed, releases), values)  # one word of bits, two, and no bits at all
    everybody = oracle(view)
    if not any(left for _, left in everybody):
        with pytest.raises(NobodyFoundError):
            intersection(view)
        return
    found = intersection(view)
    here = [(by, left) for by, left in everybody if left]
    before = [min(len(one) for one in by) for by, _ in here]
    after = [len(left) for _, left in here]
    details = found.details
    assert (found.people, found.exposed) == (len(here), after.count(1))
    assert details["candidates_before"] == dict(sorted(Counter(before).items()))
    assert details["candidates_after"] == dict(sorted(Counter(after).items()))
    assert details["prior"] == pytest.approx(
        [np.mean([len(by[j]) for by, _ in here]) for j in range(releases)]
    )
    assert details["posterior"] == pytest.approx(np.mean(after))
    assert details["mean_drop"] == pytest.approx(np.mean(np.subtract(before, after)))
    assert details["vulnerable"] == sum(a < b for a, b in zip(after, before, strict=True))
    assert details["exposed_before"] == before.count(1)
    assert [one["people"] for one in details["pvp"]] == [
        sum(a <= n for a in after) for n in PVP_CANDIDATES
    ]
    assert details["absent_by_release"] == [
        sum(not by[j] for by, _ in everybody) for j in range(releases)
    ]
    assert details["absent"] == len(everybody) - len(here)
    assert details["no_value_left"] == sum(all(by) and not left for by, left in everybody)
    assert found.sure == 1 / min(after)
    total = Counter(v for release in view.releases for v in release.values.tolist())
    assert found.guessing == pytest.approx(max(total.values()) / total.total())
    settled = [(i, *left) for i, (_, left) in enumerate(everybody) if len(left) == 1]
    assert details["right"] == sum(view.people.values[i] == value for i, value in settled)
    worst = sorted(
        (len(left), -min(len(one) for one in by), i + 1)
        for i, (by, left) in enumerate(everybody)
        if left
    )
    assert found.worst == tuple(row for *_, row in worst[:WORST_LISTED])


def spread(view, size) -> View:
    """The same view with its values far apart on a larger axis."""
    codes = np.linspace(0, size - 1, view.sensitive.size).astype(np.int32)
    axis = Axis("ill", "category", "flat", tuple(f"v{i}" for i in range(size)))
    releases = tuple(replace(one, values=codes[one.values]) for one in view.releases)
    people = replace(view.people, values=codes[view.people.values])
    return replace(view, releases=releases, people=people, sensitive=axis)


def with_blanks(view, seed, share=0.4) -> View:
    """The same view where many rows have no value that is known."""
    rng = np.random.default_rng(seed)
    axis = replace(view.sensitive, null=True, unknown=True)
    made = tuple(
        replace(
            one, values=np.where(rng.random(len(one.values)) < share, axis.null_code, one.values)
        )
        for one in view.releases
    )
    return replace(view, releases=made, sensitive=axis)


def known_values_left(view, key):
    """By release the known values left and whether a blank may be the person's; then what all
    leave: None where a release has no class, "nothing" where all may be blank.
    """
    null, by = view.sensitive.null_code, []
    for release in view.releases:
        counts = counts_of(release, classes_of(release, key))
        by.append((set(counts) - {null}, null in counts))
    if not all(known or blank for known, blank in by):
        return by, None
    speaking = [known for known, _ in by if known]
    if speaking and (left := set.intersection(*speaking)):
        return by, left
    sure = [known for known, blank in by if not blank]
    return by, set.intersection(*sure) if sure else "nothing"


@pytest.mark.parametrize(("seed", "releases", "values"), list(product(range(12), (2, 3), (7, 70))))
def test_a_missing_value_adds_none_to_those_left(seed, releases, values):
    view = with_blanks(spread(random_view(seed, releases), values), seed)
    everybody = [
        known_values_left(view, view.people.keys[:, i].tolist()) for i in range(len(view.people))
    ]
    sizes = [len(left) for _, left in everybody if isinstance(left, set) and left]
    if not sizes:
        with pytest.raises(NobodyFoundError):
            intersection(view)
        return
    found = intersection(view)
    assert (found.people, found.exposed) == (len(sizes), sizes.count(1))
    assert found.details["candidates_after"] == dict(sorted(Counter(sizes).items()))
    assert found.details["nothing_known"] == sum(left == "nothing" for _, left in everybody)
    assert found.details["no_value_left"] == sum(left == set() for _, left in everybody)
    blanks = sum(int((one.values == view.sensitive.null_code).sum()) for one in view.releases)
    assert found.details["missing"] == blanks
    assert any("adds none to the values left" in told for told in found.assumptions)
    settled = [
        (i, *left)
        for i, (_, left) in enumerate(everybody)
        if isinstance(left, set) and len(left) == 1
    ]
    assert found.details["right"] == sum(view.people.values[i] == v for i, v in settled)
    by_people = intersection(
        replace(view, people=replace(view.people, person=np.arange(len(view.people))))
    )
    assert by_people.details["candidates_after"] == found.details["candidates_after"]
    assert by_people.details["nothing_known"] == found.details["nothing_known"]


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("releases", [2, 4])
def test_values_are_weighed_by_how_often_each_release_has_them(releases, temperature):
    for seed in range(6):
        view = random_view(seed, releases)
        places = [locate(one, AXES, view.people) for one in view.releases]
        histograms = [one.histogram(view.sensitive) for one in view.releases]
        evidence = value_evidence.ValueEvidence(
            places, histograms, view.people.values, np.arange(len(view.people))
        )
        who = np.arange(len(view.people))[::-1].copy()
        weighed = evidence.weigh(who, temperature)
        everybody = oracle(view)
        for k, i in enumerate(who):
            by, left = everybody[i]
            expected = chances(view, by, left, temperature)
            assert weighed.prior[:, k].tolist() == [len(one) for one in by]
            assert weighed.posterior[k] == len(left)
            assert weighed.chance[k] == pytest.approx(expected.get(view.people.values[i], 0.0))
            assert weighed.stated[k] == pytest.approx(max(expected.values(), default=0.0))
            if left:
                assert expected[weighed.likeliest[k]] == pytest.approx(max(expected.values()))


def test_a_value_of_a_long_list_is_searched_for():
    """One class has all values, the other one: the long list is searched, not walked through."""
    axis = Axis.numbered("ill", 300)
    everything = cells_of([[0, 0, 0]] * 2, [[8, 5, 2]] * 2, np.ones((2, 6), bool))
    class_ = np.r_[np.zeros(300), np.ones(3)].astype(np.int32)
    values = np.r_[np.arange(300), 7, 7, 299].astype(np.int32)
    both = ReleaseView("both", everything, class_, values)
    one = ReleaseView("one", everything.take(np.array([1])), class_[300:] - 1, values[300:])
    people = Targets(np.zeros((3, 1), np.int32), np.ones(1, np.int64), np.array([7], np.int32))
    evidence = value_evidence.ValueEvidence(
        [locate(r, AXES, people) for r in (both, one)],
        [r.histogram(axis) for r in (both, one)],
        people.values,
        np.arange(1),
    )
    weighed = evidence.weigh(np.arange(1))
    assert (weighed.prior[:, 0].tolist(), weighed.posterior[0], weighed.likeliest[0]) == (
        [300, 2],
        2,
        7,
    )
    # values 7 and 299 occur 5 and 3 times in 306 rows: 3·2/5 against 2·1/3
    assert weighed.chance[0] == pytest.approx((6 / 5) / (6 / 5 + 2 / 3))
    prior, posterior = evidence.count_values_left()
    assert (prior[:, 0].tolist(), posterior[0]) == ([300, 2], 2)


# Where people could be


def apart(release, key, c):
    """The squared distance of a person to a class's centroid, by loops."""
    far, rows = 0.0, release.rows
    for j, (axis, code) in enumerate(zip(AXES, key, strict=True)):
        low, high = int(release.cells.low[c, j]), int(release.cells.high[c, j])
        if j != 0:
            near = int(release.cells.sets[j][c, 0]) >> code & 1 if j == 1 else low <= code <= high
            far += not near
            continue
        middles = []
        for lowest, highest in zip(release.cells.low[:, 0], release.cells.high[:, 0], strict=True):
            numbers = [leaf for leaf in range(lowest, highest + 1) if leaf != axis.null_code]
            middles.append((numbers[0] + numbers[-1]) / 2 if numbers else None)
        per_row = [m for m, n in zip(middles, rows, strict=True) for _ in range(n) if m is not None]
        deviation = np.std(per_row)
        if code == axis.null_code:
            far += high != axis.null_code
        elif middles[c] is None:
            far += 1
        else:
            far += ((code - middles[c]) / deviation) ** 2 if deviation else 0
    return far


def nearest_classes(release, key):
    far = [apart(release, key, c) for c in range(len(release.cells))]
    return [c for c, one in enumerate(far) if one <= min(far) + 1e-9]


@pytest.mark.parametrize("seed", range(6))
def test_nearest_centroid_is_that_of_a_loop(seed):
    view = random_view(seed)
    for release in view.releases:
        start, classes = locate(release, AXES, view.people, "centroid")
        for i in range(len(view.people)):
            key = view.people.keys[:, i].tolist()
            assert classes[start[i] : start[i + 1]].tolist() == nearest_classes(release, key)
    found = intersection(view, location="centroid")
    sizes = Counter(len(left) for _, left in oracle(view, nearest_classes) if left)
    assert found.details["candidates_after"] == dict(sorted(sizes.items()))
    assert found.details["absent_by_release"] == [
        sum(not by[j] for by, _ in oracle(view, nearest_classes)) for j in range(2)
    ]
    assert "centroid" in found.assumptions[-1]


def test_a_tie_of_centroids_leaves_all_of_them():
    axis = (
        Axis(
            "age",
            "number",
            "ordered",
            (1.0, 2.0, 3.0, 9.0),
            positions=np.array([1.0, 2.0, 3.0, 9.0]),
        ),
    )
    ends = np.array([[0], [2], [3]], dtype=np.int32)
    release = ReleaseView("r", Cells(ends, ends), np.array([0, 1, 2], np.int32))
    keys = np.array([[1, 0, 3, -1, 1]], dtype=np.int32)
    start, classes = locate(release, axis, Targets(keys, np.arange(1, 6)), "centroid")
    assert start.tolist() == [0, 2, 3, 4, 4, 6]
    assert classes.tolist() == [0, 1, 0, 2, 0, 1]


def test_the_true_class_is_taken_where_it_is_known():
    view = random_view(3)
    rng = np.random.default_rng(3)
    holds = [rng.integers(-1, 6, len(view.people)).astype(np.int32) for _ in range(2)]
    releases = tuple(replace(r, true_class=h) for r, h in zip(view.releases, holds, strict=True))
    found = intersection(replace(view, releases=releases), location="assumed")
    after = []
    for i in range(len(view.people)):
        sets = [set(counts_of(r, [h[i]])) for r, h in zip(view.releases, holds, strict=True)]
        after.append(len(set.intersection(*sets)))
    assert found.details["candidates_after"] == dict(sorted(Counter(filter(None, after)).items()))
    assert found.details["absent_by_release"] == [
        sum(not counts_of(r, [c]) for c in h) for r, h in zip(releases, holds, strict=True)
    ]


def test_either_location_tells_what_the_other_finds():
    """One wide class that fits everybody hides what the narrow ones give away."""
    axis = Axis("ill", "category", "flat", ("a", "b", "c"))
    age = AXES[:1]
    low = np.array([[0], [2], [0]], dtype=np.int32)
    high = np.array([[1], [3], [3]], dtype=np.int32)
    values = ([0, 0, 1, 1, 2, 0], [0, 1, 1, 2, 1, 2])
    releases = tuple(
        ReleaseView(
            name,
            Cells(low, high),
            np.array([0, 0, 1, 1, 2, 2], np.int32),
            np.array(of, np.int32),
            true_class=np.array([0, 0, 1, 1], np.int32),
        )
        for name, of in zip("rs", values, strict=True)
    )
    keys = np.array([[0, 1, 2, 3]], dtype=np.int32)
    view = View(age, releases, axis, people=Targets(keys, np.arange(1, 5)))
    honest, assumed = (intersection(view, location=one) for one in ("honest", "assumed"))
    assert (honest.exposed, honest.details["assumed"]["exposed"]) == (0, 4)
    assert (assumed.exposed, assumed.details["honest"]["exposed"]) == (4, 0)
    for one, other, name in ((honest, assumed, "honest"), (assumed, honest, "assumed")):
        told = other.details[name]
        assert (told["people"], told["exposed"]) == (one.people, one.exposed)
        assert {key: one.details[key] for key in told if key in one.details} == {
            key: told[key] for key in told if key in one.details
        }
    assert "; 4 of 4 if the class that holds each is known" in honest.sentence
    assert "; 0 of 4 if every class whose cells contain them" in assumed.sentence
    unknown = tuple(replace(one, true_class=None) for one in releases)
    assert "assumed" not in intersection(replace(view, releases=unknown)).details


def test_the_true_class_is_honest_where_cells_do_not_overlap_and_refused_where_they_do():
    with pytest.raises(UsageError, match=r"r0: .* not known.*\n?.*private companion") as refused:
        intersection(random_view(0), location="assumed")
    assert "--location honest" in refused.value.hint
    view, _ = ganta([28, 45])
    assert (
        intersection(view, location="assumed").details["candidates_after"]
        == intersection(view, location="honest").details["candidates_after"]
    )
    holds = np.arange(2, dtype=np.int32)  # nobody fits two classes: there is nothing to tell beside
    known = replace(view, releases=tuple(replace(one, true_class=holds) for one in view.releases))
    for location in ("honest", "assumed"):
        assert not {"honest", "assumed"} & set(intersection(known, location=location).details)
    with pytest.raises(UsageError, match="no location 'nearby'"):
        intersection(view, location="nearby")


# The papers' tables


def release_of(name, axes, boxes, rows, values) -> ReleaseView:
    """A release of ordered columns: labels of the quasi-identifiers to ranges by `boxes`."""
    labels = sorted({quasi for quasi, _ in rows})
    ends = np.array([[boxes[j][label] for j, label in enumerate(one)] for one in labels])
    class_ = np.array([labels.index(quasi) for quasi, _ in rows], dtype=np.int32)
    codes = np.array([values.leaves.index(value) for _, value in rows], dtype=np.int32)
    cells = Cells(*(ends[:, :, end].astype(np.int32) for end in (0, 1)))
    return ReleaseView(name, cells, class_, codes, labels=lambda c: {"labels": list(labels[c])})


def ganta(ages):
    given = json.loads((GOLDEN / "ganta_table1.json").read_text(encoding="utf-8"))
    axis = Axis("Age", "number", "ordered", tuple(range(20, 60)), positions=np.arange(20.0, 60))
    rows = [[((row["Age"],), row["Condition"]) for row in given[name]] for name in ("R1", "R2")]
    values = Axis(
        "Condition", "category", "flat", tuple(sorted({value for one in rows for _, value in one}))
    )
    ends = {"<30": (0, 9), "3*": (10, 19), ">=40": (20, 39), "<35": (0, 14), ">=35": (15, 39)}
    releases = tuple(
        release_of(f"R{j + 1}", (axis,), [ends], one, values) for j, one in enumerate(rows)
    )
    people = Targets(np.array([ages], np.int32) - 20, np.arange(1, len(ages) + 1))
    return View((axis,), releases, values, people=people), given["expected"]


def test_ganta_s_alice_has_aids():
    view, expected = ganta([28])
    found = intersection(view)
    assert (found.people, found.exposed, found.sure) == (1, 1, expected["confidence"])
    assert found.details["prior"] == expected["EA"]
    assert found.details["mean_drop"] == expected["anon_drop"]
    assert found.example == (
        "Row 1 of the targets: release 1 leaves 3 values possible (4 rows), "
        "release 2 leaves 4 (6 rows); 1 is in both."
    )
    assert "AIDS" not in json.dumps(found.to_json())
    shown = intersection(replace(view, show=True))
    assert shown.example == found.example[:-1] + ": AIDS."
    assert shown.witness["left_named"] == ["AIDS"]
    first = shown.witness["releases"][0]
    assert first["named"] == ["AIDS", "Heart Disease", "Viral Infection"]
    assert first["labels"] == [{"labels": ["<30"]}]
    assert found.witness == {
        "row": 1,
        "releases": [
            {"release": "R1", "classes": first["classes"], "rows": 4, "values": 3},
            {"release": "R2", "classes": [0], "rows": 6, "values": 4},
        ],
        "left": 1,
    }


@pytest.mark.parametrize("at", range(4))
def test_ganta_s_people_lose_as_much_as_the_paper_says(at):
    case = ganta([28])[1]["by_age"][at]
    found = intersection(ganta([case["age"]])[0])
    assert found.details["prior"] == case["EA"]
    assert found.details["posterior"] == len(case["intersection"])
    assert found.details["mean_drop"] == case["drop"]
    assert found.details["vulnerable"] == (case["drop"] > 0)
    # who has one value in a single release loses nothing, and counts in PVP at 100 %
    certain = found.details["pvp"][0]
    assert certain == {"confidence": 1.0, "people": found.exposed, "percent": 100 * found.exposed}
    assert found.details["exposed_before"] == (min(case["EA"]) == 1)


def test_ganta_s_people_are_ranked_by_what_they_lose():
    view, _ = ganta([45, 32, 28, 37])
    assert intersection(view).worst == (3, 2, 4, 1)


@pytest.mark.parametrize("rows", ["corrected", "as_printed"])
@pytest.mark.parametrize("who", ["Alice", "Bob", "Lalin"])
def test_sattar_s_people_keep_what_the_paper_says(rows, who):
    given = json.loads((GOLDEN / "sattar_tables1_2.json").read_text(encoding="utf-8"))
    expected = given["expected"][f"attack_{rows}"][who]
    person = next(row for row in given["A_original"] if row["Name"] == who)
    zips = ("5087", "5095", "5187", "5195")
    axes = (
        Axis("Age", "number", "ordered", tuple(range(10, 51)), positions=np.arange(10.0, 51)),
        Axis("Sex", "category", "flat", ("f", "m")),
        Axis("Zip", "code", "tree", zips),
    )
    values = Axis("Diagnosis", "category", "flat", tuple("ABCDEFGH"))
    boxes = [
        {"15-25": (5, 15), "26-40": (16, 30), "10-30": (0, 20), "31-50": (21, 40)},
        {"f": (0, 0), "m": (1, 1), "*": (0, 1)},
        {"50**": (0, 1), "5***": (0, 3)},
    ]
    releases = tuple(
        release_of(
            name,
            axes,
            boxes,
            [(tuple(row[column] for column in given["qi"]), row["Diagnosis"]) for row in table],
            values,
        )
        for name, table in (("A", given[f"A_published_{rows}"]), ("B", given["B_published"]))
    )
    codes = [axis.leaves.index(person[axis.name]) for axis in axes]
    people = Targets(np.array(codes, np.int32)[:, None], np.array([1]))
    found = intersection(View(axes, releases, values, people=people, show=True))
    assert found.witness["left_named"] == expected["intersection"]
    for step, name in zip(found.witness["releases"], "AB", strict=True):
        assert (step["named"], step["rows"]) == (expected[name], expected[f"n{name}"])


# Calibration


def overconfident(people=3000, releases=4, seed=1) -> View:
    """Releases that repeat each other: one table published over and over, in the same classes.

    Their product counts the same rows again and again, and is far too sure of itself.
    """
    rng = np.random.default_rng(seed)
    axis = Axis.numbered("ill", 6)
    classes = people // 10
    age = Axis(
        "age", "number", "ordered", tuple(range(classes)), positions=np.arange(float(classes))
    )
    class_ = np.repeat(np.arange(classes), 10).astype(np.int32)
    truth = rng.choice(6, people, p=[0.3, 0.25, 0.15, 0.1, 0.1, 0.1]).astype(np.int32)
    ends = np.arange(classes, dtype=np.int32)[:, None]
    one = ReleaseView("r", Cells(ends, ends), class_, truth)
    known = Targets(class_[None, :], np.arange(1, people + 1), truth)
    return View((age,), (one,) * releases, axis, people=known)


def test_calibration_lowers_the_loss_of_who_is_too_sure():
    view = overconfident()
    found = intersection(view, rng=np.random.default_rng(5)).details["weighted"]
    assert found["calibrated"]
    assert found["temperature"] > 1.5
    assert found["log_loss_after"] < found["log_loss_before"] - 0.05
    assert found["learned_on"] + found["judged_on"] == 3000
    assert min(found["learned_on"], found["judged_on"]) > 1300
    assert found["ruled_out"] == 0
    assert found["right"] > found["right_uniform"] + 0.05
    assert found["right"] > found["right_guessing"]
    assert sum(one["people"] for one in found["reliability"]) == found["judged_on"]
    for one in found["reliability"]:
        assert one["from"] <= one["stated"] <= one["to"] + 1e-6
        if one["people"] > 150:
            assert abs(one["stated"] - one["right"]) < 0.12


def test_two_halves_of_everybody_and_twins_together():
    view = overconfident(people=400)
    keys, truth = view.people.keys, view.people.values
    columns = (*keys, truth)
    known = np.arange(400)
    learn, judge = value_evidence._split_in_halves(columns, known, np.random.default_rng(0))
    assert sorted([*learn, *judge]) == known.tolist()
    twins = [{(*keys[:, i], truth[i]) for i in half} for half in (learn, judge)]
    assert not twins[0] & twins[1]
    other, _ = value_evidence._split_in_halves(columns, known, np.random.default_rng(1))
    assert set(other) != set(learn)


def test_no_more_people_are_weighed_than_is_useful(monkeypatch):
    monkeypatch.setattr(value_evidence, "MAX_LEARNERS", 200)
    monkeypatch.setattr(value_evidence, "MAX_JUDGED", 300)
    found = intersection(overconfident()).details["weighted"]
    assert 200 <= found["learned_on"] <= 210
    assert 300 <= found["judged_on"] <= 310
    bare = overconfident()
    unknown = replace(bare, people=replace(bare.people, values=None))
    assert intersection(unknown).details["weighted"]["raw_posterior"]["people"] >= 300


def test_without_true_values_nothing_is_called_a_confidence():
    view = overconfident()
    for values, reason in ((None, "no true values"), (view.people.values[:30], "too few")):
        people = replace(view.people, values=values)
        if values is not None:
            known = np.full(len(people), -1, np.int32)
            known[:30] = values
            people = replace(people, values=known)
        found = intersection(replace(view, people=people)).details
        assert not found["weighted"]["calibrated"]
        assert found["weighted"]["reason"].startswith(reason)
        assert set(found["weighted"]) == {"calibrated", "reason", "raw_posterior"}
        assert 0 < found["weighted"]["raw_posterior"]["mean"] <= 1
        assert ("right" in found) == (values is not None)


def test_people_whose_value_is_ruled_out_are_counted_and_called_wrong():
    view = overconfident()
    elsewhere = np.full(len(view.people), 5, np.int32)  # often in no row of the person's class
    found = intersection(replace(view, people=replace(view.people, values=elsewhere))).details
    assert 0 < found["weighted"]["ruled_out"] < found["weighted"]["judged_on"]
    assert np.isfinite(found["weighted"]["log_loss_after"])


# What must not matter, and what must be refused


@pytest.mark.parametrize("seed", range(3))
def test_neither_the_order_of_rows_nor_of_people_matters(seed):
    view, rng = random_view(seed, 3, people=300), np.random.default_rng(seed)
    rows = [rng.permutation(len(release.class_)) for release in view.releases]
    shuffled = tuple(
        replace(release, class_=release.class_[order], values=release.values[order])
        for release, order in zip(view.releases, rows, strict=True)
    )
    order, people = rng.permutation(300), view.people
    moved = Targets(people.keys[:, order], people.rows[order], people.values[order])
    assert (
        intersection(
            replace(view, releases=shuffled, people=moved), rng=np.random.default_rng(0)
        ).to_json()
        == intersection(view, rng=np.random.default_rng(0)).to_json()
    )


def test_people_alike_are_hit_alike():
    view = random_view(1)
    people = view.people
    twice = Targets(
        np.tile(people.keys, 2), np.arange(1, 2 * len(people) + 1), np.tile(people.values, 2)
    )
    once, both = intersection(view), intersection(replace(view, people=twice))
    assert (both.people, both.exposed) == (2 * once.people, 2 * once.exposed)
    assert both.details["prior"] == once.details["prior"]


def test_a_finding_says_everything_and_names_nothing():
    found = intersection(random_view(2, 3))
    text = json.dumps(found.to_json())
    assert "v0" not in text
    assert "class 0" not in text
    assert found.table == "targets"
    assert len(found.worst) <= WORST_LISTED
    assert found.sentence.startswith(f"{found.exposed:,} of {found.people:,} people")
    assert "in all 3" in found.example
    assert len(found.assumptions) == 3
    named = json.dumps(intersection(replace(random_view(2, 3), show=True)).to_json())
    assert '"labels"' in named
    assert '"v' in named


def test_an_attack_that_cannot_run_raises():
    view = random_view(0)
    assert (get_attack_needs("intersection").releases, get_attack_needs("intersection").people) == (
        2,
        True,
    )
    with pytest.raises(InputError, match="two releases"):
        intersection(replace(view, releases=view.releases[:1]))
    with pytest.raises(UsageError, match="people to look for"):
        intersection(replace(view, people=None))
    with pytest.raises(InputError, match="sensitive column"):
        intersection(replace(view, sensitive=None))
    bare = (replace(view.releases[0], values=None), view.releases[1])
    with pytest.raises(InputError, match="sensitive column"):
        intersection(replace(view, releases=bare))
    nobody = replace(view.people, keys=np.full_like(view.people.keys, -1))
    for location in ("honest", "centroid"):
        with pytest.raises(NobodyFoundError, match="No person can be found"):
            intersection(replace(view, people=nobody), location=location)


def test_who_is_known_to_be_elsewhere_is_counted_apart():
    view = random_view(3, people=60)
    present = np.random.default_rng(3).random(60) < 0.5
    some = np.flatnonzero(present)
    kept = Targets(view.people.keys[:, some], view.people.rows[some], view.people.values[some])
    told = intersection(replace(view, people=replace(view.people, present=present)))
    alone = intersection(replace(view, people=kept))
    same = ("people", "exposed", "sure", "worst", "example")
    assert all(getattr(told, part) == getattr(alone, part) for part in same)
    assert told.details["known_absent"] == 60 - len(some)
    assert told.details["absent"] == alone.details["absent"] + 60 - len(some)
    assert told.details["no_value_left"] == alone.details["no_value_left"]
    with pytest.raises(NobodyFoundError):
        intersection(replace(view, people=replace(view.people, present=present & False)))


def test_who_was_not_found_is_said():
    view = random_view(0)
    found = intersection(view)
    absent, none = found.details["absent"], found.details["no_value_left"]
    assert found.details["asked"] == len(view.people) == found.people + absent
    assert absent
    assert none
    assert f"{absent} of the 40 people asked for were not found in all of them" in found.sentence
    assert f"{none} because no value is in all" in found.sentence
    here = np.setdiff1d(view.people.rows, gone(view)) - 1
    everybody = Targets(view.people.keys[:, here], view.people.rows[here])
    assert "not found" not in intersection(replace(view, people=everybody)).sentence


def gone(view) -> list[int]:
    return [i + 1 for i, (_, left) in enumerate(oracle(view)) if not left]


def averages(people):
    """Two releases of averages, 1.5 and 4.5, and people with whole numbers."""
    axis = Axis(
        "age",
        "number",
        "ordered",
        (1.0, 1.5, 2.0, 4.0, 4.5, 5.0),
        positions=np.array([1.0, 1.5, 2.0, 4.0, 4.5, 5.0]),
    )
    ends = np.array([[1], [4]], dtype=np.int32)
    class_, values = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 1, 2], np.int32)
    one = ReleaseView("r", Cells(ends, ends), class_, values)
    keys = np.array([people], dtype=np.int32)
    who = Targets(keys, np.arange(1, len(people) + 1))
    return View((axis,), (one, one), Axis.numbered("ill", 3), people=who)


def test_averages_that_nobody_has_are_looked_for_by_their_centres():
    with pytest.raises(NobodyFoundError) as nobody:
        intersection(averages([0, 2, 3, 5]))
    assert "--location centroid" in nobody.value.hint
    found = intersection(averages([0, 2, 3, 1]))
    assert (found.people, found.details["asked"]) == (1, 4)
    assert found.details["absent"] == 3
    assert "--location centroid" in found.sentence
    near = intersection(averages([0, 2, 3, 1]), location="centroid")
    assert (near.people, near.details["means"]) == (4, False)
    mostly = intersection(averages([1, 1, 4, 0]))  # few are missing: they may not be there
    assert mostly.details["absent"] == 1
    assert "centroid" not in mostly.sentence
    ranges = averages([1, 0, 0, 0])
    wide = Cells(np.array([[1], [3]], np.int32), np.array([[2], [5]], np.int32))
    wide = replace(ranges, releases=tuple(replace(r, cells=wide) for r in ranges.releases))
    assert "centroid" not in intersection(wide).sentence


def test_people_alike_are_looked_for_once():
    view = random_view(1)
    many = np.random.default_rng(1).integers(0, len(view.people), 5000)
    people = view.people
    crowd = Targets(people.keys[:, many], np.arange(1, 5001), people.values[many])
    _, once = intersection_module._collect_evidence(view, "honest")
    _, evidence = intersection_module._collect_evidence(replace(view, people=crowd), "honest")
    for (_, few), (_, classes) in zip(once.located, evidence.located, strict=True):
        assert len(classes) <= len(few)
    for location in ("honest", "centroid"):
        single, twins = (
            intersection(replace(view, people=who), location=location).details["candidates_after"]
            for who in (people, crowd)
        )
        assert set(twins) <= set(single)
    everybody = oracle(view)
    after = Counter(len(everybody[i][1]) for i in many if everybody[i][1])
    found = intersection(replace(view, people=crowd))
    assert found.details["candidates_after"] == dict(sorted(after.items()))
    settled = [i for i in many if len(everybody[i][1]) == 1]
    assert found.details["right"] == sum({people.values[i]} == everybody[i][1] for i in settled)


def test_a_true_value_that_no_release_has_is_a_wrong_guess():
    view = overconfident(people=400)
    unknown, elsewhere = view.people.values.copy(), view.people.values.copy()
    unknown[:200], elsewhere[:200] = UNKNOWN, UNPUBLISHED
    one, two = (
        intersection(replace(view, people=replace(view.people, values=values))).details["weighted"]
        for values in (unknown, elsewhere)
    )
    assert one["learned_on"] + one["judged_on"] == 200
    assert two["learned_on"] + two["judged_on"] == 400
    assert two["ruled_out"] > 60
    assert two["right"] < one["right"] - 0.1
    settled, _ = ganta([28])
    for truth, known in ((UNKNOWN, 0), (UNPUBLISHED, 1)):
        people = replace(settled.people, values=np.array([truth], np.int32))
        details = intersection(replace(settled, people=people)).details
        assert (details["right"], details["exposed_known"]) == (0, known)


def test_distances_that_are_equal_but_for_rounding_are_equal():
    """Two classes as far away as each other, their distances added up in another order."""
    differ = 0
    for a, c in np.random.default_rng(0).uniform(0.1, 9, (40, 2)):
        line = np.sort([0.0, a, c, 1.0, -1.0])
        axes = tuple(Axis(n, "number", "ordered", tuple(line), positions=line) for n in "xyz")
        places = np.array([[a, 1.0, c], [c, -1.0, a]])
        ends = np.searchsorted(line, places).astype(np.int32)
        release = ReleaseView("r", Cells(ends, ends), np.array([0, 1], np.int32))
        keys = np.full((3, 1), np.searchsorted(line, 0.0), dtype=np.int32)
        _, classes = locate(release, axes, Targets(keys, np.array([1])), "centroid")
        assert classes.tolist() == [0, 1]
        x, z = (2 * a / abs(a - c)) ** 2, (2 * c / abs(a - c)) ** 2
        differ += x + 1.0 + z != z + 1.0 + x
    assert differ  # so that the test could fail


def test_reordering_a_view_moves_who_is_present_too():
    view = random_view(3, people=60)
    present = np.random.default_rng(3).random(60) < 0.5
    view = replace(view, people=replace(view.people, present=present))
    for seed in range(3):
        other = reorder_view(view, np.random.default_rng(seed))
        assert set(other.people.rows[other.people.present]) == set(view.people.rows[present])
    check_attack(intersection, view, replace(view, people=None))
