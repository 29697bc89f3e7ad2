"""Minimality: what a method that stops as late as it can tells about where it stopped."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from shoal.attacks.minimality import minimality
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError, NotMetError, UsageError
from shoal.core.model import Model
from shoal.core.release import to_json_value, wilson_interval
from shoal.core.tally import Tally
from shoal.core.theory.adversary_view import NobodyFoundError, ReleaseView, Targets, View
from shoal.kernels.combinatorics import count_fillings, iterate_fillings
from shoal.methods.mondrian import mondrian
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.testing.checks import reorder_view

ILLNESS = Axis("illness", "category", "flat", ("asthma", "flu", "gout", "hiv", "ulcer"))

# Far apart, two groups of five. In each the young two could be cut off from the older three.
AGES = [1, 1, 2, 2, 2, 8, 8, 9, 9, 9]
GIVEN_AWAY = [3, 3, 0, 1, 2, 4, 4, 0, 1, 2]
"""... but both young people have the same illness: cut off, they would not be diverse."""


def ages(size: int = 10) -> Axis:
    return Axis("age", "number", "ordered", tuple(range(size)), positions=np.arange(float(size)))


def published(keys: list[int], values: list[int], rule: Model, order: list[int] | None = None):
    """A view of what Mondrian makes of people of these ages, with all that minimality needs."""
    axis, order = ages(max(10, *keys) + 1), order or list(range(len(keys)))
    codes, handed = (np.array(part, dtype=np.int32)[order] for part in (keys, values))
    ones = np.ones(len(keys), np.int64)
    cut = mondrian(Tally((axis,), (ILLNESS,), codes[np.newaxis], handed[np.newaxis], ones), rule)
    class_ = np.empty(len(keys), dtype=np.int32)
    class_[cut.entry] = cut.class_
    release = ReleaseView("r", cut.cells, class_, handed, labels=lambda c: {"age": f"label {c}"})
    people = Targets(codes[np.newaxis], np.array(order) + 1, handed)

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
    young = [
        posterior
        for i, posterior in exact(view, int(view.releases[0].class_[0])).items()
        if AGES[i] == 1
    ]
    assert young == [{3: 1.0}, {3: 1.0}]
    assert (finding.people, finding.exposed, finding.sure) == (10, 4, 1.0)
    assert set(finding.worst[:4]) == {1, 2, 6, 7}
    assert finding.details["exposed_right"] == 4
    assert finding.details["examined_classes"] == 2
    assert finding.witness["prior"] == 0.4
    assert finding.witness["posterior_at_least"] > 0.4
    assert "4 of 10 people" in finding.sentence
    json.dumps(to_json_value(finding.to_json()))


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
    people = Targets(view.people.keys[:, fewer], view.people.rows[fewer])
    finding = minimality(replace(view, people=people))
    assert (finding.people, finding.details["skipped_classes"]) == (5, 1)
    assert "exposed_right" not in finding.details
    with pytest.raises(InputError, match="none of the 2 classes"):
        minimality(replace(view, people=Targets(people.keys[:, 1:4], people.rows[1:4])))


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


# All worlds, and too many of them


@pytest.mark.parametrize("seed", range(30))
def test_every_array_of_counts_is_found_once(seed):
    rng = np.random.default_rng(seed)
    rows, columns = np.sort(rng.integers(0, 3, 6)), np.sort(rng.integers(0, 4, 6))
    rows, columns = (np.unique(part, return_inverse=True)[1] for part in (rows, columns))
    expected = set()
    for order in set(permutations(columns.tolist())):
        one = np.zeros((rows.max() + 1, columns.max() + 1), dtype=int)
        np.add.at(one, (rows, order), 1)
        expected.add(tuple(map(tuple, one.tolist())))
    rows, columns = np.bincount(rows).tolist(), tuple(np.bincount(columns).tolist())
    found = list(iterate_fillings(rows, columns))
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert count_fillings(rows, columns, 10**6) == len(expected)
    for most in (1, len(expected) - 1, len(expected)):
        assert count_fillings(rows, columns, most) == min(len(expected), most + 1)
    assert count_fillings([1] * 101, (101,), 5) == 6


def line(values: str, rule: Model) -> View:
    """People of the ages 0, 1, 2, ... with these values, published by Mondrian."""
    return published(list(range(len(values))), ["ab".index(v) for v in values], rule)


RARE = DistinctDiversity(2) & KAnonymity(2)


@pytest.mark.parametrize("seed", range(3))
def test_a_class_with_few_possible_worlds_is_measured_not_contradicted(seed):
    view = line("aaaaaabbbb", RARE)
    assert len(view.releases[0].cells) == 1
    finding = minimality(view, rng=np.random.default_rng(seed))
    everybody = exact(view, 0)
    witness = finding.witness
    assert (witness["worlds"], witness["exact"]) == (210, True)
    assert witness["worlds_kept"] == 10
    assert witness["posterior"] == max(everybody[witness["row"] - 1].values())
    assert finding.exposed == sum(max(one.values()) > 0.6 for one in everybody.values())
    assert finding.details["contradicted_classes"] == finding.details["unmeasured_classes"] == 0
    assert "Of all 210 ways" in finding.example


def test_eight_worlds_of_many_more_than_would_be_drawn_tell_most():
    finding = minimality(line("a" * 7 + "b" * 6, RARE), worlds=50)
    assert (finding.witness["worlds"], finding.witness["worlds_kept"]) == (1716, 8)
    assert finding.sure == pytest.approx(7 / 8)
    assert "0.466 % of the ways" in finding.sentence


@pytest.mark.parametrize("seed", range(8))
def test_all_worlds_give_the_exact_posteriors_also_of_people_alike(seed):
    rng = np.random.default_rng(seed)
    keys, values = np.sort(rng.integers(0, 4, 7)).tolist(), rng.integers(0, 3, 7).tolist()
    view = published(keys, values, DistinctDiversity(2))
    finding = minimality(view)
    likeliest = {}
    for number in range(len(view.releases[0].cells)):
        members = view.releases[0].class_ == number
        prior = max(Counter(view.releases[0].values[members].tolist()).values()) / members.sum()
        if len(set(np.array(keys)[members])) > 1:
            for person, posterior in exact(view, number).items():
                likeliest[person + 1] = max(posterior.values()), prior
    gained = {row for row, (share, prior) in likeliest.items() if share > prior + 1e-9}
    assert set(finding.worst[: finding.exposed]) == gained
    if gained:
        assert finding.sure - finding.witness["prior"] == pytest.approx(
            max(share - prior for share, prior in likeliest.values())
        )


def test_what_could_not_be_measured_is_said_and_is_no_contradiction():
    rare = line("a" * 8 + "b" * 7, RARE)
    blind = replace(rare, people=replace(rare.people, values=None))
    for view in (rare, blind):
        with pytest.raises(InputError, match=r"None of the 40 ways tried .* nothing was measured"):
            minimality(view, worlds=20, classes=2)
    # Beside a class that can be measured: people who are all alike.
    both = published([0] * 15 + list(range(20, 35)), [0, 1, 2] * 5 + [0] * 8 + [1] * 7, RARE)
    assert both.releases[0].rows.tolist() == [15, 15]
    finding = minimality(both, worlds=60, classes=3)
    details = finding.details
    assert (details["examined_classes"], details["unmeasured_classes"]) == (1, 1)
    assert (details["unmeasured_people"], details["contradicted_classes"]) == (15, 0)
    assert details["unmeasured_worlds"] == 130  # all but the few of the other class
    assert finding.people == 15
    assert "15 people in 1 more classes were not measured" in finding.sentence


def test_a_class_whose_true_world_is_impossible_is_contradicted_though_worlds_are_many():
    view = line("ab" * 7, KAnonymity(14))

    def refuses(tally: Tally):
        raise NotMetError("The rule is not met.")

    with pytest.raises(InputError, match="did not make this release"):
        minimality(replace(view, method=refuses), worlds=20, classes=1)
    for values in (None, np.full(14, -1, np.int32), np.full(14, -2, np.int32)):
        unknown = replace(view, people=replace(view.people, values=values), method=refuses)
        with pytest.raises(InputError, match="nothing was measured"):
            minimality(unknown, worlds=20, classes=1)


# What is not looked at


def overlapping(ages_: list[int]) -> View:
    """Two classes of two rows, of the ages 1 to 3 and 3 to 5, and people of these ages."""
    cells = Cells(np.array([[1], [3]], np.int32), np.array([[3], [5]], np.int32))
    class_, values = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    people = Targets(np.array([ages_], np.int32), np.arange(1, len(ages_) + 1))
    return View(
        (ages(),),
        (ReleaseView("r", cells, class_, values),),
        ILLNESS,
        people=people,
        method=lambda tally: mondrian(tally, KAnonymity(2)),
    )


@pytest.mark.parametrize(
    "people",
    [
        [1, 3, 5],  # the first class covers two, but one of them could be in the second
        [1, 2, 3, 5],  # two are in the first class only, but it covers a third
    ],
)
def test_a_class_with_somebody_who_could_be_elsewhere_is_skipped(people):
    with pytest.raises(NobodyFoundError, match="none of the 2 classes"):
        minimality(overlapping(people))
    assert minimality(overlapping([1, 2, 4, 5])).people == 4


def test_chance_is_judged_for_all_people_and_values_together():
    """A method whose choice has nothing to do with who has which value: all gains are noise."""
    values = [0] * 12 + [1] * 9 + [2] * 9
    view = published(list(range(30)), values, KAnonymity(30))

    def whim(tally: Tally):
        pairs = sorted(zip(tally.keys[0].tolist(), tally.values[0].tolist(), strict=True))
        whole = zlib.crc32(str(pairs).encode()) % 2
        return mondrian(tally, KAnonymity(30 if whole else 1))

    noisy, alone = 0, 0
    for seed in range(4):
        finding = minimality(
            replace(view, method=whim), rng=np.random.default_rng(seed), classes=1, worlds=250
        )
        assert not finding.witness["exact"]
        noisy += finding.exposed
        alone += (
            wilson_interval(
                finding.sure * finding.witness["worlds_kept"], finding.witness["worlds_kept"]
            )[0]
            > 0.4
        )
    assert noisy == 0
    assert alone  # judged alone, the worst-hit person would have been taken for exposed


@pytest.mark.parametrize("seed", range(4))
def test_sets_of_cells_are_ordered_by_their_members(seed):
    """Classes of a flat column have the same ends; which are drawn must not hang on their order."""
    towns = Axis("town", "category", "flat", tuple("abcdefgh"))
    bits = (np.uint64(3) << np.arange(0, 8, 2, dtype=np.uint64))[:, None]
    ends = np.zeros((4, 1), np.int32), np.full((4, 1), 7, np.int32)
    class_ = np.repeat(np.arange(4), 2).astype(np.int32)
    release = ReleaseView("r", Cells(*ends, {0: bits}), class_, np.arange(8, dtype=np.int32) % 3)
    people = Targets(np.arange(8, dtype=np.int32)[None, :], np.arange(1, 9))
    view = View(
        (towns,),
        (release,),
        ILLNESS,
        people=people,
        method=lambda tally: mondrian(tally, KAnonymity(2)),
    )
    one = minimality(view, classes=1)
    two = minimality(reorder_view(view, np.random.default_rng(seed)), classes=1)
    assert set(one.worst) == set(two.worst)
