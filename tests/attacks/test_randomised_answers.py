"""Attacks on answers: beliefs as Bayes' rule has them, a bound that holds, and honest refusals."""

from __future__ import annotations

import csv
import gzip
import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.attacks._shared.answer_beliefs import (
    CONFIDENT,
    Channel,
    _Others,
    bound_belief,
    compute_beliefs,
    estimate_prior,
    predict_by_class,
    predict_by_everybody,
)
from shoal.attacks._shared.randomised_answers import OTHERS, _AdversaryBeliefs
from shoal.attacks.homogeneity import homogeneity
from shoal.attacks.intersection import intersection
from shoal.attacks.worst_pair import worst_pair
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError
from shoal.core.spend import parse_spend
from shoal.core.theory.adversary_view import ReleaseView, Targets, View
from shoal.dp.randomised_response import calibrate_response

SEVEN = ("age", "workclass", "education_num", "marital_status", "race", "sex", "native_country")


def chances(epsilon, values):
    return calibrate_response(parse_spend(epsilon), values).matrix()


def shown(name, class_, values, chance, classes=None):
    """A release of so many classes, of one code each, with answers row by row."""
    codes = np.arange(classes or max(class_) + 1, dtype=np.int32)[:, np.newaxis]
    return ReleaseView(
        name,
        Cells(codes, codes),
        np.array(class_, np.int32),
        np.array(values, np.int32),
        response=chance,
    )


def line(size, name="key"):
    return Axis(name, "category", "ordered", tuple(f"{i:05d}" for i in range(size)))


def by_enumeration(prior, classes, chance):
    """The posterior of a person who is any row of a class in each release, all others drawn."""
    values, found = range(len(prior)), np.zeros(len(prior))
    for mine in values:
        said = prior[mine]
        for rows in classes:
            total = 0.0
            for place, others in itertools.product(
                range(len(rows)), itertools.product(values, repeat=len(rows) - 1)
            ):
                everybody = [*others[:place], mine, *others[place:]]
                drawn = math.prod(chance[v, y] for v, y in zip(everybody, rows, strict=True))
                total += math.prod(prior[v] for v in others) * drawn / len(rows)
            said *= total
        found[mine] = said
    return found / found.sum()


@pytest.mark.parametrize("values", [2, 3])
def test_beliefs_are_those_of_enumeration(values):
    rng, chance = np.random.default_rng(values), chances("1.3", values)
    axis = Axis("ill", "category", "flat", tuple("abc"[:values]))
    classes = [rng.integers(0, values, 4), rng.integers(0, values, 3)]
    prior = rng.dirichlet(np.ones(values))
    releases = [shown(f"{i}", [0] * len(rows), rows, chance) for i, rows in enumerate(classes)]
    one = np.array([0, 1]), np.array([0])
    found = compute_beliefs(
        [predict_by_everybody(Channel.of(r, axis), prior) for r in releases], [one, one], prior
    )
    wanted = by_enumeration(prior, classes, chance)
    assert found.likeliest[0] == wanted.argmax()
    assert np.isclose(found.stated[0], wanted.max())
    assert found.values_left[0] == values
    assert wanted.max() <= bound_belief(2.6, prior[wanted.argmax()]) + 1e-12


def test_values_as_they_are_are_weighed_as_ever():
    """With one release as it is, Bayes' rule is a share of rows; nothing else is possible."""
    axis = Axis("ill", "category", "flat", ("a", "b", "c"))
    plain = shown("plain", [0, 0, 0], [0, 0, 1], None)
    one = np.array([0, 1]), np.array([0])
    prior = estimate_prior([Channel.of(plain, axis)])
    found = compute_beliefs([predict_by_everybody(Channel.of(plain, axis), prior)], [one], prior)
    assert np.allclose(prior, [2 / 3, 1 / 3, 0])
    assert found.values_left.tolist() == [2]
    assert np.isclose(found.stated[0], 2 / 3)


def people_of(truth):
    keys = np.arange(len(truth), dtype=np.int32)[np.newaxis]
    return Targets(keys, np.arange(1, len(truth) + 1), np.array(truth, np.int32))


def alone(people, epsilon, values, seed):
    """Two releases in which everybody has a class alone: the most that answers can say."""
    rng, drawn = np.random.default_rng(seed), calibrate_response(parse_spend(epsilon), values)
    truth = rng.integers(0, values, people)
    class_ = np.arange(people)
    releases = tuple(
        shown(name, class_, drawn.answered(truth, rng), drawn.matrix()) for name in ("one", "two")
    )
    axis = Axis("ill", "category", "flat", tuple(map(str, range(values))))
    return View((line(people),), releases, sensitive=axis, people=people_of(truth))


@pytest.mark.parametrize(("epsilon", "values"), [("1", 2), ("2", 2), ("3", 5)])
def test_guesses_are_right_no_more_often_than_the_bound_says(epsilon, values):
    people = 5_000
    found = intersection(alone(people, epsilon, values, seed=9))
    told, slack = found.details, 4 * 0.5 / math.sqrt(people)
    assert (found.exposed > 0) == (told["bound"] > CONFIDENT)
    assert told["guessed_right"] <= told["bound"] + slack
    assert told["largest_belief"] <= told["bound"] + 1e-12
    assert told["largest_belief"] > 0.99 * told["bound"]  # two answers that agree attain it
    assert np.isclose(told["epsilon"], 2 * float(epsilon))
    assert found.details["candidates_after"] == {values: people}


def test_a_larger_epsilon_is_nearly_attained_by_guesses_too():
    found = intersection(alone(5_000, "6", 2, seed=2))
    assert 0.99 < found.details["guessed_right"] <= found.details["bound"]


def test_exact_values_beside_answers_are_still_exact():
    view = alone(50, "1", 3, seed=4)
    exact = shown("exact", np.arange(50), view.people.values, None)
    found = intersection(
        View(view.axes, (exact, view.releases[1]), view.sensitive, people=view.people)
    )
    assert found.exposed == 50
    assert found.details["guessed_right"] == 1.0
    assert found.details["epsilon"] is None


def test_no_pair_of_classes_leaves_fewer_values():
    view = alone(30, "1", 3, seed=4)
    found = worst_pair(view, l=2)
    prior = estimate_prior([Channel.of(one, view.sensitive) for one in view.releases])
    assert found.exposed == 0
    assert found.people == 30
    assert np.isclose(
        found.sure, bound_belief(2.0, prior.max())
    )  # what both spend, not the smaller


def test_a_pair_with_exact_values_has_no_bound():
    view = alone(30, "1", 3, seed=4)
    exact = shown("exact", np.arange(30), view.people.values, None)
    pair = View(view.axes, (exact, view.releases[1]), view.sensitive)
    assert worst_pair(pair, l=2).sure == 1.0


def test_a_bound_is_one_only_without_end():
    assert bound_belief(0.0, 0.3) == 0.3
    assert bound_belief(math.inf, 0.3) == 1.0
    assert bound_belief(5.0, 0.0) == 0.0


# The answers of others


def by_age(epsilon, classes=60, rows=8, values=4, seed=3):
    """One release in which the class decides the value: everybody of a class has the same."""
    rng, drawn = np.random.default_rng(seed), calibrate_response(parse_spend(epsilon), values)
    class_ = np.repeat(np.arange(classes), rows)
    truth = class_ % values
    axis = Axis("ill", "category", "flat", tuple(map(str, range(values))))
    people = Targets(class_[np.newaxis].astype(np.int32), np.arange(1, len(truth) + 1), truth)
    releases = tuple(
        shown(name, class_, drawn.answered(truth, rng), drawn.matrix()) for name in ("one", "two")
    )
    return View((line(classes),), releases, sensitive=axis, people=people)


def test_the_others_of_a_class_foretell_by_inverted_counts():
    """Row by row, leaving out each row's own answer."""
    rows, chance = np.array([0, 0, 1, 2]), chances("2", 3)
    axis = Axis("ill", "category", "flat", ("a", "b", "c"))
    release = shown("one", [0, 0, 0, 0, 1, 1, 1, 1], [*rows, 1, 1, 1, 1], chance)
    channel, prior = Channel.of(release, axis), np.array([0.3, 0.5, 0.2])
    alike, own, others = _Others(channel, prior).prior_people, np.zeros(3), np.zeros(3)
    for i, answer in enumerate(rows):
        counts = np.bincount(np.delete(rows, i), minlength=3)
        foretold = np.maximum(np.linalg.solve(chance.T, counts) + alike * prior, prior)
        foretold /= foretold.sum()
        own += chance[:, answer] / (foretold @ chance[:, answer])
        others += foretold
    said = predict_by_class(channel, prior)
    assert np.isfinite(alike)
    assert np.allclose(said.own[0], own)
    assert np.allclose(said.others[0], others)


def test_classes_that_foretell_nothing_are_read_like_everybody():
    rng, chance = np.random.default_rng(1), chances("1", 3)
    axis = Axis("ill", "category", "flat", ("a", "b", "c"))
    release = shown("one", np.repeat(np.arange(200), 5), rng.integers(0, 3, 1000), chance)
    channel = Channel.of(release, axis)
    prior = estimate_prior([channel])
    found = [by(channel, prior) for by in (predict_by_class, predict_by_everybody)]
    assert np.allclose(found[0].own, found[1].own, rtol=0.2)


@pytest.mark.parametrize("epsilon", ["1", "2"])
def test_a_value_that_the_class_decides_is_guessed_and_the_bound_is_of_own_answers(epsilon):
    view = by_age(epsilon)
    found = intersection(view)
    told = found.details
    assert told["adversary"] == "class"
    assert bound_belief(2 * float(epsilon), told["largest_prior"]) < told["guessed_right"]
    assert told["guessed_right"] <= told["bound"] + 0.01  # a share of right guesses, no belief
    assert found.exposed > 0
    assert told["largest_belief"] <= told["bound"] + 1e-12
    assert told["bound"] == bound_belief(told["epsilon"], told["foretold"])
    assert "beyond what the answers of others say" in found.sentence
    assert "none can exceed" not in found.sentence


def test_beliefs_are_never_above_what_own_answers_can_make_of_others():
    view = by_age("1", classes=20, rows=3)
    channels = [Channel.of(one, view.sensitive) for one in view.releases]
    prior, keys = estimate_prior(channels), np.arange(21)
    found = compute_beliefs(
        [predict_by_class(one, prior) for one in channels], [(keys, keys[:-1])] * 2, prior
    )
    limit = [bound_belief(2.0, p) for p in found.predicted]
    assert (found.stated <= np.array(limit) + 1e-12).all()


def test_who_is_believed_nearly_for_certain_is_exposed():
    view = by_age("20")
    found, single = (
        intersection(view),
        homogeneity(View(view.axes, view.releases[:1], view.sensitive)),
    )
    assert found.exposed == found.people == 480
    assert found.details["right"] == found.details["exposed_known"] == 480
    assert single.exposed == 480
    assert single.details["classes_exposed"] == 60
    assert "90% or more" in found.sentence
    assert "90% or more" in single.sentence
    assert worst_pair(view, l=2).exposed == 480


def test_told_of_is_the_adversary_who_is_sure_of_more_people():
    """Somebody alone is believed more by one adversary, while the other is sure of a class."""
    differed = 0
    for seed in range(40):
        rng, drawn = np.random.default_rng(seed), calibrate_response(parse_spend("3"), 4)
        class_ = np.repeat(np.arange(12), rng.integers(2, 30, 12))
        rare = rng.choice(4, len(class_), p=[0.93, 0.03, 0.02, 0.02])
        truth = np.where(class_ < 2, 3, rare)
        release = shown("one", class_, drawn.answered(truth, rng), drawn.matrix())
        view = View((line(12),), (release,), Axis("ill", "category", "flat", tuple("abcd")))
        classes = np.arange(13)
        both = [
            one.beliefs.stated for one in _AdversaryBeliefs.of_each(view, [(classes, classes[:-1])])
        ]
        sure = [int(release.rows[stated >= CONFIDENT].sum()) for stated in both]
        assert homogeneity(view).exposed == max(sure)
        differed += sure[int(np.argmax([stated.max() for stated in both]))] < max(sure)
    assert differed > 0


# From files


def town(rows=240, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["flu", "cold", "angina"], rows),
            "ward": rng.choice(["a", "b"], rows),
            "pay": rng.integers(0, 100, rows).astype(float),
        }
    )


SCHEMA = shoal.Schema.of(quasi=["age", "sex"], sensitive=["ill"]).set(
    ill=shoal.sensitive(domain=["flu", "cold", "angina", "gout"]),
    ward=shoal.provider,
    pay=shoal.identifier,
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    made = {"form": "randomised", "epsilon": 1}
    shoal.publish(town(), SCHEMA, "k-anonymity k=4", out=folder / "one", **made)
    shoal.publish(town(), SCHEMA, "k-anonymity k=7", out=folder / "two", **made)
    return folder


def test_everybody_keeps_every_value_that_the_column_may_have(folders):
    both = [folders / "one", folders / "two"]
    found = shoal.attack("intersection", both, targets=town())
    assert bool(found.exposed) == (found.details["largest_belief"] >= CONFIDENT)
    assert found.details["candidates_after"] == {4: 240}  # gout too, which nobody has
    assert found.details["largest_belief"] <= found.details["bound"]
    assert "exclude no value" in found.sentence


def test_a_class_of_one_answer_settles_nothing(folders):
    found = shoal.attack("homogeneity", folders / "one")
    assert found.exposed == 0
    assert found.guessing < found.sure <= found.details["bound"]
    assert OTHERS not in found.assumptions


@pytest.mark.parametrize(
    ("name", "said"),
    [("skewness", "nobody's for sure"), ("minimality", "never looked"), ("coalition", "providers")],
)
def test_attacks_that_take_answers_for_values_are_refused(folders, name, said):
    with pytest.raises(InputError, match=said):
        shoal.attack(name, folders / "one", targets=town())


def test_rows_are_joined_by_cells_and_not_by_answers(folders):
    both = [folders / "one", folders / "two"]
    found = shoal.attack("complementary", both, relation="same table")
    assert found.people == 240


def test_a_red_team_says_why_attacks_on_values_did_not_run(folders):
    found = shoal.attack("red-team", [folders / "one"], targets=town())
    ran, skipped = {one.attack for one in found.findings}, dict(found.skipped)
    assert ran == {"homogeneity", "linking"}
    assert found.rate == 0
    assert "never looked" in skipped["minimality"]


def test_numbers_are_learnt_by_the_intervals_that_were_answered(tmp_path):
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["pay"]).set(
        pay=shoal.sensitive(shoal.intervals(50), bounds=(0, 99)),
        ill=shoal.identifier,
        ward=shoal.identifier,
    )
    for name in ("one", "two"):
        shoal.publish(
            town(120), schema, "k-anonymity k=2", form="randomised", epsilon=8, out=tmp_path / name
        )
    found = shoal.attack("intersection", [tmp_path / "one", tmp_path / "two"], targets=town(120))
    assert found.details["candidates_after"] == {2: 120}
    assert found.details["judged_on"] == 120
    assert found.details["guessed_right"] > 0.55


def test_the_bound_is_of_all_columns_that_were_answered(tmp_path):
    """Answers to equal columns say more together than the asked one's part of epsilon."""
    table = town(60)
    table = table.append_column("too", table["ill"])
    schema = SCHEMA.set(too=shoal.sensitive(domain=["flu", "cold", "angina", "gout"]))
    shoal.publish(
        table, schema, "k-anonymity k=4", form="randomised", epsilon="5/2", out=tmp_path / "both"
    )
    found = shoal.attack("homogeneity", tmp_path / "both", on="ill")
    assert OTHERS in found.assumptions
    assert found.details["epsilon"] == 2.5
    assert found.details["bound"] == bound_belief(2.5, found.details["foretold"])


def test_adult_exposes_nobody_where_a_partition_exposes_many(real_data, tmp_path):
    with gzip.open(real_data / "adult.csv.gz", "rt", encoding="utf-8", newline="") as file:
        whole = (row for row in csv.DictReader(file) if "?" not in row.values())
        rows = list(itertools.islice(whole, 1800))
    table = pa.table({n: [row[n] for row in rows] for n in (*SEVEN, "occupation")})
    values = sorted(set(table["occupation"].to_pylist()))
    schema = shoal.Schema.of(quasi=SEVEN, sensitive=["occupation"]).set(
        age=shoal.quasi(kind="number"),
        education_num=shoal.quasi(kind="number"),
        occupation=shoal.sensitive(domain=values),
    )
    found = {}
    for form, more in (("partition", {}), ("randomised", {"epsilon": 1, "seed": 1})):
        places = [tmp_path / f"{form}-{i}" for i in (1, 2)]
        for place, part in zip(places, (table[:1200], table[600:]), strict=True):
            shoal.publish(part, schema, "k-anonymity k=5", form=form, out=place, **more)
        found[form] = shoal.attack("intersection", places, targets=table[600:1200])
    told = found["randomised"].details
    assert found["partition"].exposed > 20
    assert found["randomised"].exposed == 0
    assert told["guessed_right"] < found["partition"].details["weighted"]["right"]
    assert told["guessed_right"] <= told["bound"]
