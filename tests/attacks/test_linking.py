"""Linking, against plain loops over people and rows."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal import testing
from shoal.attacks.linking import REGISTER, linking
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError, UsageError
from shoal.core.release import to_json_value
from shoal.core.tally import Cut
from shoal.core.theory.adversary_view import (
    UNKNOWN,
    UNPUBLISHED,
    NobodyFoundError,
    ReleaseView,
    Targets,
    View,
)
from shoal.measures.risk.exposure import measure_exposure


def ordered(name: str, size: int) -> Axis:
    numbers = tuple(float(i) for i in range(size))
    return Axis(name, "number", "ordered", numbers, positions=np.array(numbers))


AXES = (ordered("age", 8), ordered("zip", 5), Axis("sex", "category", "flat", ("f", "m", "x")))
ILLNESS = Axis("illness", "category", "flat", ("asthma", "flu", "ulcer"), null=True)


def random_view(seed: int) -> View:
    """Overlapping ranges and sets, people of whom some fit nowhere; all of it drawn."""
    rng = np.random.default_rng(seed)
    classes, people = int(rng.integers(1, 7)), int(rng.integers(1, 12))
    ends = np.sort(
        np.stack([rng.integers(0, a.size, (2, classes)) for a in AXES], axis=-1), axis=0
    ).astype(np.int32)
    sets = {2: rng.integers(1, 8, (classes, 1)).astype(np.uint64)}
    ends[0][:, 2], ends[1][:, 2] = 0, 2
    class_ = np.concatenate((np.arange(classes), rng.integers(0, classes, int(rng.integers(6)))))
    class_ = rng.permutation(class_).astype(np.int32)
    keys = np.stack([rng.integers(-(i == 0), a.size, people) for i, a in enumerate(AXES)])
    release = ReleaseView(
        "r",
        Cells(ends[0], ends[1], sets),
        class_,
        rng.integers(0, 1 + int(rng.integers(1, 4)), len(class_)).astype(np.int32),
        true_class=rng.integers(-1, classes, people).astype(np.int32),
        labels=lambda c: {"age": f"label {c}"},
    )
    rows = rng.permutation(people) + 1
    values = rng.integers(0, 4, people).astype(np.int32)
    return View(AXES, (release,), ILLNESS, people=Targets(keys.astype(np.int32), rows, values))


def fits(view: View, person: int, class_: int) -> bool:
    cells, keys = view.releases[0].cells, view.people.keys
    for j in range(2):
        if not cells.low[class_, j] <= keys[j, person] <= cells.high[class_, j]:
            return False
    return bool(int(cells.sets[2][class_, 0]) >> int(keys[2, person]) & 1)


def by_hand(view: View) -> dict:
    """The outcome as the definition says it: everybody against every row."""
    release, people = view.releases[0], range(len(view.people))
    rows_of = {
        p: [r for r, c in enumerate(release.class_) if fits(view, p, int(c))] for p in people
    }
    people_of = {r: [p for p in people if r in rows_of[p]] for r in range(len(release.class_))}
    found = [p for p in people if rows_of[p]]
    certain = [p for p in found if len(rows_of[p]) == 1 and people_of[rows_of[p][0]] == [p]]
    settled = [p for p in found if len({release.values[r] for r in rows_of[p]}) == 1]
    wrong = [
        r
        for r, c in enumerate(release.class_)
        if people_of[r] and not any(release.true_class[p] == c for p in people_of[r])
    ]
    null = [r for r in people_of if not people_of[r]]
    right = [p for p in settled if release.values[rows_of[p][0]] == view.people.values[p]]
    return {
        "people": len(found),
        "exposed": len(set(certain) | set(settled)),
        "absent": len(view.people) - len(found),
        "candidates": {
            n: sum(len(rows_of[p]) == n for p in found) for n in {len(rows_of[p]) for p in found}
        },
        "unique_matches": sum(len(rows_of[p]) == 1 for p in found),
        "certain": len(certain),
        "settled": len(settled),
        "k_map": min(len(who) for who in people_of.values()),
        "null_map": {"classes": len({release.class_[r] for r in null}), "rows": len(null)},
        "wrong_map": {"classes": len({release.class_[r] for r in wrong}), "rows": len(wrong)},
        "certain_right": sum(
            release.true_class[p] == release.class_[rows_of[p][0]] for p in certain
        ),
        "settled_right": len(right),
    }


@pytest.mark.parametrize("seed", range(150))
def test_every_count_is_that_of_the_definition(seed):
    view = random_view(seed)
    expected = by_hand(view)
    if not expected["people"]:
        with pytest.raises(NobodyFoundError):
            linking(view)
        return
    finding = linking(view)
    found = {"people": finding.people, "exposed": finding.exposed, **finding.details}
    assert {key: found[key] for key in expected} == expected
    assert finding.table == "targets"
    assert len(finding.worst) == min(20, finding.people)
    told = found["prosecutor"]
    assert finding.sure == (1.0 if finding.exposed else told["highest"])
    assert told.get("even", told)["highest"] == 1 / min(expected["candidates"])
    json.dumps(to_json_value(finding.to_json()))


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_rows_and_people_does_not_matter(seed):
    view = random_view(seed)
    rng = np.random.default_rng(seed)
    release, people = view.releases[0], view.people
    rows, who = rng.permutation(len(release.class_)), rng.permutation(len(people))
    other = replace(
        view,
        releases=(
            replace(
                release,
                class_=release.class_[rows],
                values=release.values[rows],
                true_class=release.true_class[who],
            ),
        ),
        people=Targets(people.keys[:, who], people.rows[who], people.values[who]),
    )
    try:
        one, two = linking(view), linking(other)
    except NobodyFoundError:
        with pytest.raises(NobodyFoundError):
            linking(other)
        return
    assert (one.details, one.worst, one.sentence) == (two.details, two.worst, two.sentence)


def figure_one() -> View:
    """Sweeney's Figure 1 in small: three patients without names, four voters with them.

    Row 1 fits voter 10 alone; rows 2 and 3 are one class that fits voters 20 and 30; voter 40 is
    no patient.
    """
    low = np.array([[1, 1], [3, 2]], dtype=np.int32)
    high = np.array([[1, 1], [4, 2]], dtype=np.int32)
    release = ReleaseView(
        "medical",
        Cells(low, high),
        np.array([0, 1, 1], dtype=np.int32),
        np.array([0, 1, 2], dtype=np.int32),
        labels=lambda c: {"age": ("1", "[3-4]")[c]},
    )
    keys = np.array([[1, 3, 4, 7], [1, 2, 2, 0]], dtype=np.int32)
    return View(AXES[:2], (release,), ILLNESS, people=Targets(keys, np.array([10, 20, 30, 40])))


def test_sweeney_s_figure_one_in_small():
    finding = linking(figure_one())
    assert (finding.people, finding.exposed, finding.sure) == (3, 1, 1.0)
    assert finding.worst == (10, 20, 30)
    assert finding.witness["release_rows"] == [1]
    assert finding.details["k_map"] == 1
    assert finding.details["journalist"] == {"highest": 1.0}
    assert finding.guessing == pytest.approx(1 / 3)
    assert "wrong_map" not in finding.details
    assert "wrong_map" in finding.details["not_known"]


def test_labels_and_values_only_for_who_asked():
    quiet, told = linking(figure_one()), linking(replace(figure_one(), show=True))
    assert "asthma" not in str(quiet.to_json())
    assert "labels" not in quiet.witness
    assert "illness: asthma" in told.example
    assert told.witness["value"] == "asthma"
    assert told.witness["labels"] == {"age": "1"}


def test_without_a_sensitive_column_only_names_are_found():
    view = figure_one()
    bare = replace(view, sensitive=None, releases=(replace(view.releases[0], values=None),))
    finding = linking(bare)
    assert (finding.exposed, finding.details["certain"]) == (1, 1)
    assert "settled" not in finding.details
    assert "settled" in finding.details["not_known"]
    assert finding.guessing == 1 / 4
    assert "these rows have names" in finding.sentence


def test_a_row_that_two_people_fit_has_no_name():
    view = figure_one()
    twice = Targets(view.people.keys[:, [0, 0]], np.array([10, 11]))
    bare = replace(view, people=twice, sensitive=None)
    finding = linking(bare)
    assert (finding.exposed, finding.details["unique_matches"]) == (0, 2)
    assert finding.details["null_map"] == {"classes": 1, "rows": 2}
    assert finding.details["k_map"] == 0
    assert finding.details["journalist"] == {"highest": 0.5}


def test_a_view_without_people_is_refused():
    with pytest.raises(InputError, match="register"):
        linking(replace(figure_one(), people=None))
    with pytest.raises(InputError, match="register"):
        linking(replace(figure_one(), releases=()))


@pytest.mark.parametrize("seed", range(25))
def test_people_alike_are_counted_one_by_one(seed):
    view = random_view(seed)
    many = np.random.default_rng(seed).integers(0, len(view.people), 30)
    people = Targets(view.people.keys[:, many], np.arange(1, 31), view.people.values[many])
    release = replace(view.releases[0], true_class=view.releases[0].true_class[many])
    crowd = replace(view, people=people, releases=(release,))
    expected = by_hand(crowd)
    if expected["people"]:
        finding = linking(crowd)
        found = {"people": finding.people, "exposed": finding.exposed, **finding.details}
        assert {key: found[key] for key in expected} == expected


def test_who_fits_no_row_is_said():
    finding = linking(figure_one())
    assert (finding.details["asked"], finding.details["absent"]) == (4, 1)
    assert finding.sentence.endswith("; 1 of the 4 people asked for fit no row.")
    view = figure_one()
    bare = replace(view, sensitive=None, releases=(replace(view.releases[0], values=None),))
    assert linking(bare).details["absent"] == 1
    here = Targets(view.people.keys[:, :3], view.people.rows[:3])
    assert "fit no row" not in linking(replace(view, people=here)).sentence


def averages(*ages: int) -> View:
    """Two classes whose ages are means, 2 and 5, and people of these ages."""
    ends = np.array([[2, 1], [5, 1]], dtype=np.int32)
    class_, values = np.array([0, 0, 1, 1], np.int32), np.array([0, 0, 1, 2], np.int32)
    keys = np.array([ages, [1] * len(ages)], dtype=np.int32)
    people = Targets(keys, np.arange(1, len(ages) + 1))
    return View(
        AXES[:2], (ReleaseView("r", Cells(ends, ends), class_, values),), ILLNESS, people=people
    )


def test_averages_are_linked_by_their_centres():
    with pytest.raises(NobodyFoundError) as nobody:
        linking(averages(1, 3, 4, 6))
    assert "--location centroid" in nobody.value.hint
    honest = linking(averages(1, 3, 4, 6, 5))
    assert (honest.people, honest.exposed) == (1, 0)
    assert (honest.details["asked"], honest.details["absent"]) == (5, 4)
    assert "--location centroid" in honest.sentence
    near = linking(averages(1, 3, 4, 6, 5), location="centroid")
    assert (near.people, near.exposed, near.details["settled"]) == (5, 2, 2)
    assert "centroid" not in near.sentence
    assert "nearest centroid" in near.assumptions[-1]


def test_a_known_class_needs_no_register_and_another_location_is_refused():
    view = random_view(3)
    honest, assumed = (linking(view, location=one) for one in ("honest", "assumed"))
    assert set(assumed.assumptions) - set(honest.assumptions) == {REGISTER}
    assert replace(assumed, assumptions=honest.assumptions).to_json() == honest.to_json()
    with pytest.raises(UsageError, match="no location 'nearby'"):
        linking(view, location="nearby")


def test_a_settled_value_that_the_person_is_known_not_to_have_is_wrong():
    view = figure_one()
    for truth, known in ((UNKNOWN, 0), (UNPUBLISHED, 1)):
        values = np.array([truth, 1, 1, 1], dtype=np.int32)
        details = linking(replace(view, people=replace(view.people, values=values))).details
        assert (details["settled_right"], details["settled_known"]) == (0, known)


def picked_by_hand(view: View, known: bool) -> dict:
    """Every adversary's success and surest pick, person by person; empty where nobody overlaps."""
    release, people = view.releases[0], range(len(view.people))
    classes = range(len(release.cells))
    fit = {p: [c for c in classes if fits(view, p, c)] for p in people}
    if all(len(near) <= 1 for near in fit.values()):
        return {}
    found = [p for p in people if fit[p]]
    size = {c: int((release.class_ == c).sum()) for c in classes}
    covered = {c: sum(c in fit[p] for p in people) for c in classes}
    judged = [p for p in found if known and release.true_class[p] >= 0]
    sure, right = {"even": {}, "weighed": {}}, {"even": {}, "weighed": {}, "assumed": {}}
    for p in found:
        rows = [c for c in fit[p] for _ in range(size[c])]
        weight = [Fraction(1, covered[c]) for c in rows]
        sure["even"][p] = Fraction(1, len(rows))
        sure["weighed"][p] = max(weight) / sum(weight)
        own = int(release.true_class[p])
        best = [c for c in fit[p] if covered[c] == min(covered[near] for near in fit[p])]
        right["even"][p] = Fraction(own in fit[p], len(rows))
        right["weighed"][p] = Fraction(own in best, len(best) * size.get(own, 1))
        right["assumed"][p] = Fraction(1, size.get(own, 1))
    mean = {
        name: sum((right if judged else sure)[name][p] for p in judged or found)
        / len(judged or found)
        for name in sure
    }
    told = {name: {"highest": max(sure[name].values()), "mean": mean[name]} for name in sure}
    best = max(("even", "weighed"), key=lambda name: told[name]["mean"])
    told |= {"adversary": best, "counted": bool(judged), **told[best]}
    if judged:
        each = [right["assumed"][p] for p in judged]
        told["of"] = len(judged)
        told["assumed"] = {"highest": max(each), "mean": sum(each) / len(each)}
    return told


def as_floats(told: dict) -> dict:
    flat = {
        f"{k} {n}": v for k, one in told.items() if isinstance(one, dict) for n, v in one.items()
    }
    flat |= {k: v for k, v in told.items() if not isinstance(v, (dict, str))}
    return {k: float(v) for k, v in flat.items()}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_picks_are_right_as_often_as_counted_one_by_one(seed, known):
    view = random_view(seed)
    if not known:
        view = replace(view, releases=(replace(view.releases[0], true_class=None),))
    if not by_hand(random_view(seed))["people"]:
        return
    expected = picked_by_hand(random_view(seed), known)
    found = linking(view)
    told = found.details["prosecutor"]
    if not expected:
        each = found.details["candidates"]
        mean = sum(people / rows for rows, people in each.items()) / found.people
        assert told == {"highest": 1 / min(each), "mean": pytest.approx(mean)}
        assert "picking" not in found.sentence
        return
    assert as_floats(told) == pytest.approx(as_floats(expected))
    if told["even"]["mean"] != pytest.approx(told["weighed"]["mean"]):
        assert told["adversary"] == expected["adversary"]
        assert f"({told['adversary']} adversary)" in " ".join(found.assumptions)
    said = "is counted by" if expected["counted"] else "what the adversary expects"
    assert said in " ".join(found.assumptions)


def drowned() -> View:
    """Eight people of eight ages: two classes of three, narrow, and two people in a wide one.

    Row 8's person has an age that only the wide class has.
    """
    low = np.array([[1, 0], [4, 0], [0, 0]], dtype=np.int32)
    high = np.array([[3, 0], [6, 0], [7, 0]], dtype=np.int32)
    class_ = np.array([0, 0, 0, 1, 1, 1, 2, 2], dtype=np.int32)
    values = np.array([0, 0, 0, 0, 1, 2, 1, 2], dtype=np.int32)
    holds = np.array([2, 0, 0, 0, 1, 1, 1, 2], dtype=np.int32)
    release = ReleaseView("r", Cells(low, high), class_, values, true_class=holds)
    keys = np.array([range(8), [0] * 8], dtype=np.int32)
    return View(AXES[:2], (release,), ILLNESS, people=Targets(keys, np.arange(1, 9)))


def test_a_wide_class_does_not_drown_the_narrow_ones():
    found = linking(drowned())
    told = found.details["prosecutor"]
    assert (told["adversary"], told["counted"], told["of"]) == ("weighed", True, 8)
    assert told["even"]["mean"] == pytest.approx((6 / 5 + 2 / 2) / 8)
    assert told["mean"] == told["weighed"]["mean"] == pytest.approx((6 / 3 + 2 / 2) / 8)
    assert told["assumed"]["mean"] == told["mean"]  # here the narrowest class is the true one
    assert "is right for 37.5 % of the 8 who truly are" in found.sentence
    assert "picking any row that fits for 27.5 %" in found.sentence
    assert "one of the narrowest class" not in found.example  # rows 1 and 8 fit two rows each
    assert found.worst[:2] == (1, 8)
    assert found.sure == 1 / 2
    assert (found.details["settled"], found.details["settled_assumed"]) == (0, 3)


def test_who_does_not_know_the_truth_expects_no_more_than_the_smallest_class_allows():
    for seed in range(40):
        view = random_view(seed)
        release = replace(view.releases[0], true_class=None)
        try:
            found = linking(replace(view, releases=(release,)))
        except NobodyFoundError:
            continue
        assert found.details["prosecutor"]["highest"] <= 1 / release.rows.min() + 1e-12
    bare = replace(drowned(), releases=(replace(drowned().releases[0], true_class=None),))
    told = linking(bare).details["prosecutor"]
    assert (told["adversary"], told["counted"]) == ("weighed", False)
    assert told["mean"] == pytest.approx((6 / (3 + 2 * 3 / 8) + 2 / 2) / 8)
    assert "assumed" not in told
    assert "should be right for" in linking(bare).sentence


def test_people_who_are_not_in_the_release_are_not_counted():
    view = drowned()
    holds = view.releases[0].true_class.copy()
    holds[:4] = -1
    some = replace(view, releases=(replace(view.releases[0], true_class=holds),))
    told = linking(some).details["prosecutor"]
    assert (told["of"], told["mean"]) == (4, pytest.approx((3 / 3 + 1 / 2) / 4))
    nobody = replace(view, releases=(replace(view.releases[0], true_class=np.full(8, -1)),))
    assert not linking(nobody).details["prosecutor"]["counted"]


def test_the_chance_of_a_narrow_class_is_told():
    people = drowned().people
    inner = replace(drowned(), people=Targets(people.keys[:, 1:7], people.rows[1:7]))
    bare = replace(inner, releases=(replace(inner.releases[0], true_class=None),))
    example = linking(bare).example
    assert example.startswith("Row 2 of the register fits 5 rows of the release; ")
    assert "one of the narrowest class is theirs with a chance of 1 in 4" in example


@pytest.mark.parametrize("seed", range(3))
def test_all_adversaries_succeed_as_often_as_those_of_the_exposure(seed):
    """The people are those published, and everybody's class is known."""
    tally, _ = testing.sample(seed)
    some = np.random.default_rng(seed).random(tally.entries) < 0.1  # in one class that is wide
    _, class_ = np.unique(np.where(some, -1, tally.keys[0] // 2), return_inverse=True)
    cut = Cut.of(tally, np.arange(tally.entries, dtype=np.int32), class_.astype(np.int32))
    entry, held = np.repeat(cut.entry, cut.count), np.repeat(cut.class_, cut.count)
    people = Targets(tally.keys[:, entry], np.arange(1, len(entry) + 1))
    release = ReleaseView("table", cut.cells, held, true_class=held)
    told = linking(View(tally.quasi, (release,), people=people)).details["prosecutor"]
    found = measure_exposure(tally, cut).identity
    each = told["even"]["mean"], told["weighed"]["mean"], told["assumed"]["mean"]
    assert each == pytest.approx((found.even, found.weighed, found.known))
    assert len({round(one, 6) for one in each}) > 1
    assert told["mean"] == pytest.approx(found.rate)
