"""Linking, against plain loops over people and rows."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from shoal.attacks.linking import linking
from shoal.attacks.view import UNKNOWN, UNPUBLISHED, NobodyFoundError, People, Published, View
from shoal.axis import Axis
from shoal.cells import Cells
from shoal.errors import InputError, UsageError
from shoal.release import jsonable


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
    release = Published(
        "r",
        Cells(ends[0], ends[1], sets),
        class_,
        rng.integers(0, 1 + int(rng.integers(1, 4)), len(class_)).astype(np.int32),
        holds=rng.integers(-1, classes, people).astype(np.int32),
        labels=lambda c: {"age": f"label {c}"},
    )
    rows = rng.permutation(people) + 1
    values = rng.integers(0, 4, people).astype(np.int32)
    return View(AXES, (release,), ILLNESS, people=People(keys.astype(np.int32), rows, values))


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
        if people_of[r] and not any(release.holds[p] == c for p in people_of[r])
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
        "certain_right": sum(release.holds[p] == release.class_[rows_of[p][0]] for p in certain),
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
    fewest = min(expected["candidates"])
    assert finding.sure == (1.0 if finding.exposed else 1 / fewest)
    assert found["prosecutor"]["highest"] == 1 / fewest
    json.dumps(jsonable(finding.to_json()))


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
                holds=release.holds[who],
            ),
        ),
        people=People(people.keys[:, who], people.rows[who], people.values[who]),
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
    release = Published(
        "medical",
        Cells(low, high),
        np.array([0, 1, 1], dtype=np.int32),
        np.array([0, 1, 2], dtype=np.int32),
        labels=lambda c: {"age": ("1", "[3-4]")[c]},
    )
    keys = np.array([[1, 3, 4, 7], [1, 2, 2, 0]], dtype=np.int32)
    return View(AXES[:2], (release,), ILLNESS, people=People(keys, np.array([10, 20, 30, 40])))


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
    twice = People(view.people.keys[:, [0, 0]], np.array([10, 11]))
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
    people = People(view.people.keys[:, many], np.arange(1, 31), view.people.values[many])
    release = replace(view.releases[0], holds=view.releases[0].holds[many])
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
    assert "; 1 of the 4 people asked for fit no row." in linking(bare).sentence
    here = People(view.people.keys[:, :3], view.people.rows[:3])
    assert "fit no row" not in linking(replace(view, people=here)).sentence


def averages(*ages: int) -> View:
    """Two classes whose ages are means, 2 and 5, and people of these ages."""
    ends = np.array([[2, 1], [5, 1]], dtype=np.int32)
    class_, values = np.array([0, 0, 1, 1], np.int32), np.array([0, 0, 1, 2], np.int32)
    keys = np.array([ages, [1] * len(ages)], dtype=np.int32)
    people = People(keys, np.arange(1, len(ages) + 1))
    return View(AXES[:2], (Published("r", Cells(ends, ends), class_, values),), ILLNESS,
                people=people)  # fmt: skip


def test_averages_are_linked_by_their_centres():
    with pytest.raises(NobodyFoundError) as nobody:
        linking(averages(1, 3, 4, 6))
    assert "--location centroid" in nobody.value.hint
    honest = linking(averages(1, 3, 4, 6, 5))
    assert (honest.people, honest.exposed) == (1, 0)
    assert "4 of the 5 people asked for fit no row" in honest.sentence
    assert "--location centroid" in honest.sentence
    near = linking(averages(1, 3, 4, 6, 5), location="centroid")
    assert (near.people, near.exposed, near.details["settled"]) == (5, 2, 2)
    assert "centroid" not in near.sentence
    assert "nearest centroid" in near.assumptions[-1]


def test_a_known_class_needs_no_register_and_another_location_is_refused():
    view = random_view(3)
    assert linking(view, location="assumed").to_json() == linking(view).to_json()
    with pytest.raises(UsageError, match="no location 'nearby'"):
        linking(view, location="nearby")


def test_a_settled_value_that_the_person_is_known_not_to_have_is_wrong():
    view = figure_one()
    for truth, known in ((UNKNOWN, 0), (UNPUBLISHED, 1)):
        values = np.array([truth, 1, 1, 1], dtype=np.int32)
        details = linking(replace(view, people=replace(view.people, values=values))).details
        assert (details["settled_right"], details["settled_known"]) == (0, known)
