"""Minimality: what a method that stops as late as it can tells about where it stopped."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from shoal.attacks.minimality import minimality
from shoal.attacks.view import People, Published, View
from shoal.axis import Axis
from shoal.errors import InputError, NotMetError, UsageError
from shoal.methods.mondrian import mondrian
from shoal.model import Model
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.release import jsonable
from shoal.tally import Tally

ILLNESS = Axis("illness", "category", "flat", ("asthma", "flu", "gout", "hiv", "ulcer"))

# Far apart, two groups of five. In each the young two could be cut off from the older three.
AGES = [1, 1, 2, 2, 2, 8, 8, 9, 9, 9]
GIVEN_AWAY = [3, 3, 0, 1, 2, 4, 4, 0, 1, 2]
"""... but both young people have the same illness: cut off, they would not be diverse."""


def ages(size: int = 10) -> Axis:
    return Axis("age", "number", "ordered", tuple(range(size)), positions=np.arange(float(size)))


def published(keys: list[int], values: list[int], rule: Model, order: list[int] | None = None):
    """A view of what Mondrian makes of people of these ages, with all that minimality needs."""
    axis, order = ages(), order or list(range(len(keys)))
    codes, handed = (np.array(part, dtype=np.int32)[order] for part in (keys, values))
    ones = np.ones(len(keys), np.int64)
    cut = mondrian(Tally((axis,), (ILLNESS,), codes[np.newaxis], handed[np.newaxis], ones), rule)
    class_ = np.empty(len(keys), dtype=np.int32)
    class_[cut.entry] = cut.class_
    release = Published("r", cut.cells, class_, handed, labels=lambda c: {"age": f"label {c}"})
    people = People(codes[np.newaxis], np.array(order) + 1, handed)

    def method(tally: Tally):
        return mondrian(tally, rule)

    return View((axis,), (release,), ILLNESS, people=people, method=method)


def exact(view: View, class_: int) -> dict[int, dict[int, float]]:
    """Every person's posterior by trying all the ways to hand out a class's values."""
    release, keys = view.releases[0], view.people.keys
    members = [int(i) for i in np.flatnonzero(release.class_ == class_)]
    values = [int(release.values[i]) for i in members]
    total = np.bincount(release.values, minlength=ILLNESS.size)
    possible = []
    for world in set(permutations(values)):
        handed, ones = np.array([world], dtype=np.int32), np.ones(len(members), np.int64)
        tally = Tally(view.axes, (ILLNESS,), keys[:, members], handed, ones, reference=(total,))
        if view.method(tally).classes == 1:
            possible.append(world)
    return {
        person: {v: n / len(possible) for v, n in Counter(w[i] for w in possible).items()}
        for i, person in enumerate(members)
    }


@pytest.mark.parametrize("rule", [DistinctDiversity(2), EntropyDiversity("1.8")], ids=str)
def test_a_refused_cut_gives_away_who_made_it_fail(rule):
    view = published(AGES, GIVEN_AWAY, rule)
    assert len(view.releases[0].cells) == 2
    finding = minimality(view)
    young = [posterior for i, posterior in exact(view, int(view.releases[0].class_[0])).items()
             if AGES[i] == 1]  # fmt: skip
    assert young == [{3: 1.0}, {3: 1.0}]
    assert (finding.people, finding.exposed, finding.sure) == (10, 4, 1.0)
    assert set(finding.worst[:4]) == {1, 2, 6, 7}
    assert finding.details["exposed_right"] == 4
    assert finding.details["examined_classes"] == 2
    assert finding.witness["prior"] == 0.4
    assert finding.witness["posterior_at_least"] > 0.4
    assert "4 of 10 people" in finding.sentence
    json.dumps(jsonable(finding.to_json()))


def test_k_anonymity_looks_at_no_value_so_nothing_is_ruled_out():
    view = published(AGES, GIVEN_AWAY, KAnonymity(3))
    finding = minimality(view)
    assert (finding.exposed, finding.details["worlds_kept"]) == (0, 1.0)
    assert finding.sure == 0.4  # what the class shows anyway
    assert "whoever has which value" in finding.sentence


@pytest.mark.parametrize("seed", range(6))
def test_posteriors_are_near_those_of_all_worlds(seed):
    rng = np.random.default_rng(seed)
    keys, values = np.sort(rng.integers(0, 10, 18)).tolist(), rng.integers(0, 4, 18).tolist()
    view = published(keys, values, DistinctDiversity(3))
    finding = minimality(view, worlds=300, rng=np.random.default_rng(seed))
    witness = finding.witness
    if witness["rows"] <= 8:
        posterior = exact(view, witness["class"])[witness["row"] - 1]
        near = 4 * np.sqrt(0.25 / witness["worlds_kept"])
        assert witness["posterior"] == pytest.approx(max(posterior.values()), abs=near)
    assert finding.details["contradicted_classes"] == 0  # what was published is possible


def test_noise_of_the_draw_is_no_exposure():
    # All have different values, so that no cut is refused for lack of diversity: nothing to learn.
    quiet = published([1, 1, 2, 2, 2], [0, 1, 2, 3, 4], DistinctDiversity(3))
    for seed in range(5):
        finding = minimality(quiet, rng=np.random.default_rng(seed), worlds=50)
        assert finding.exposed == 0


def test_the_order_of_rows_does_not_matter():
    rule, order = DistinctDiversity(2), [7, 2, 9, 0, 4, 1, 8, 3, 6, 5]
    one = minimality(published(AGES, GIVEN_AWAY, rule))
    two = minimality(published(AGES, GIVEN_AWAY, rule, order))
    assert (one.sentence, one.details, one.worst) == (two.sentence, two.details, two.worst)


def test_labels_and_values_only_for_who_asked():
    view = published(AGES, GIVEN_AWAY, DistinctDiversity(2))
    quiet, told = minimality(view), minimality(replace(view, show=True))
    assert "hiv" not in str(quiet.to_json())
    assert "label" not in str(quiet.to_json())
    assert "(hiv)" in told.example or "(ulcer)" in told.example
    assert told.witness["labels"]["age"] == f"label {told.witness['class']}"


def test_a_class_whose_people_are_not_all_known_is_skipped():
    view = published(AGES, GIVEN_AWAY, DistinctDiversity(2))
    fewer = np.arange(1, 10)
    people = People(view.people.keys[:, fewer], view.people.rows[fewer])
    finding = minimality(replace(view, people=people))
    assert (finding.people, finding.details["skipped_classes"]) == (5, 1)
    assert "exposed_right" not in finding.details
    with pytest.raises(InputError, match="none of the 2 classes"):
        minimality(replace(view, people=People(people.keys[:, 1:4], people.rows[1:4])))


def test_at_most_so_many_classes_are_examined():
    view = published(AGES, GIVEN_AWAY, DistinctDiversity(2))
    finding = minimality(view, classes=1)
    assert (finding.people, finding.details["examined_classes"]) == (5, 1)
    assert "1 of 2 classes" in finding.sentence


def test_a_method_that_could_not_have_made_the_release_is_named():
    view = published(AGES, GIVEN_AWAY, DistinctDiversity(2))
    with pytest.raises(InputError, match="did not make this release"):
        minimality(replace(view, method=lambda tally: mondrian(tally, KAnonymity(1))))

    def refuses(tally: Tally):
        raise NotMetError("The rule is not met.")

    with pytest.raises(InputError, match="did not make this release"):
        minimality(replace(view, method=refuses))


def test_a_view_that_lacks_something_is_refused():
    view = published(AGES, GIVEN_AWAY, DistinctDiversity(2))
    for lacking in ({"people": None}, {"method": None}, {"sensitive": None}, {"releases": ()}):
        with pytest.raises(InputError):
            minimality(replace(view, **lacking))
    for options in ({"worlds": 0}, {"classes": 0}):
        with pytest.raises(UsageError):
            minimality(view, **options)
