"""The belief in an atom given knowledge: the paper's numbers, and brute force over all worlds."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from shoal.core.errors import InputError, UsageError
from shoal.core.theory.knowledge import Atom, Implication, parse_atom, parse_knowledge
from shoal.core.theory.worlds import belief

GOLDEN = Path(__file__).parents[2] / "golden" / "martin_fig1_3.json"


def atom(person, value):
    return Atom(person, "x", value)


# The paper


def figure():
    """The classes of Figure 3, and everybody's."""
    told = json.loads(GOLDEN.read_text(encoding="utf-8"))
    sexes = {row["Name"]: row["Sex"] for row in told["fig3"]}
    classes = [dict.fromkeys(bucket["Disease"], 0) for bucket in told["fig2_buckets"]]
    for class_, bucket in zip(classes, told["fig2_buckets"], strict=True):
        for disease in bucket["Disease"]:
            class_[disease] += 1
    return classes, {name: "MF".index(sex) for name, sex in sexes.items()}, told["expected"]


def written(formula):
    """The golden file's notation in ours."""
    negated = "!=" in formula
    text = formula.replace("!=", "=").replace("=", ".disease=")
    return f"not {text}" if negated else text


@pytest.mark.parametrize("case", figure()[2]["conditional"], ids=lambda case: case["p"])
def test_the_papers_numbers(case):
    classes, where, _ = figure()
    knowing = parse_knowledge(map(written, case["given"]))
    found = belief(classes, where, knowing, parse_atom(written(case["target"])))
    assert found.exact == Fraction(case["p"])
    assert found.probability == float(found.exact)
    assert (found.interval, found.draws, found.before) == (None, 0, Fraction(2, 5))


# Brute force


def brute_force(classes, where, knowing, about):
    """(worlds with the atom, worlds) among all the worlds that agree with the knowledge."""
    people = [[p for p, place in where.items() if place == n] for n in range(len(classes))]
    dealt = [set(permutations([v for v, c in one.items() for _ in range(c)])) for one in classes]
    true = total = 0
    for hands in product(*dealt):
        world = {
            person: value
            for crowd, hand in zip(people, hands, strict=True)
            for person, value in zip(crowd, hand, strict=True)
        }

        def holds(one, world=world):
            return world[one.person] == one.value

        if all(not all(map(holds, p.given)) or any(map(holds, p.then)) for p in knowing):
            total += 1
            true += holds(about)
    return true, total


def table(rng):
    """A small table, with everybody's name."""
    classes = []
    for _ in range(rng.randint(1, 3)):
        class_ = {value: rng.randint(0, 2) for value in "abc"}
        class_[rng.choice("abc")] += 1
        classes.append(class_)
    where = {f"{n}{i}": n for n, one in enumerate(classes) for i in range(sum(one.values()))}
    return classes, where


def formula(rng, where):
    """Some pieces, half of them about few people; 'z' is a value that nobody has."""
    crowd = rng.sample(sorted(where), min(len(where), rng.choice([2, 5])))

    def atoms(most):
        return tuple(
            atom(rng.choice(crowd), rng.choice("aabbccz")) for _ in range(rng.randint(0, most))
        )

    sides = [(atoms(2), atoms(2)) for _ in range(rng.randint(0, 5))]
    return [Implication(*both) for both in sides if any(both)], atom(
        rng.choice(crowd), rng.choice("abz")
    )


def test_it_is_the_share_of_the_worlds():
    rng = random.Random(7)
    cases = contradictions = 0
    while cases < 800:
        classes, where = table(rng)
        if sum(sum(one.values()) for one in classes) > 9:
            continue
        knowing, about = formula(rng, where)
        true, total = brute_force(classes, where, knowing, about)
        cases += 1
        if not total:
            contradictions += 1
            with pytest.raises(InputError, match="contradicts the table"):
                belief(classes, where, knowing, about)
            continue
        found = belief(classes, where, knowing, about)
        assert found.exact == Fraction(true, total), (classes, knowing, about)
        size = sum(classes[where[about.person]].values())
        assert found.before == Fraction(classes[where[about.person]].get(about.value, 0), size)
    assert 50 < contradictions < 400


def test_the_order_of_pieces_and_classes_does_not_matter():
    rng = random.Random(3)
    classes, where = [{"a": 3, "b": 2, "c": 4}, {"a": 1, "b": 5}, {"c": 2, "b": 2}], {}
    for n, one in enumerate(classes):
        where |= {f"{n}{i}": n for i in range(sum(one.values()))}
    knowing, about = (
        parse_knowledge("00.x=a -> 10.x=b; 11.x=b -> 20.x=c; 21.x=c -> 01.x=a | 02.x=c"),
        atom("00", "a"),
    )
    exact = belief(classes, where, knowing, about).exact
    for _ in range(5):
        shuffled = rng.sample(knowing, len(knowing))
        turned = {person: 2 - place for person, place in where.items()}
        assert belief(classes[::-1], turned, shuffled, about).exact == exact


# Size


def test_pieces_in_separate_classes_stay_exact():
    classes = [{"a": 2, "b": 3, "c": 5}] * 31
    where = {f"P{n}": n for n in range(31)}
    apart = parse_knowledge([f"not P{n}.x={'ab'[n % 2]}" for n in range(31)])
    assert belief(classes, where, apart, atom("P0", "b")).exact == Fraction(3, 8)
    chain = [Implication((atom(f"P{n}", "a"),), (atom(f"P{n + 1}", "a"),)) for n in range(30)]
    random.Random(1).shuffle(chain)
    # P0 has it and so have all, or the first who has it is a later one, or nobody.
    worlds = [Fraction(4, 5) ** n * Fraction(1, 5) ** (31 - n) for n in range(32)]
    assert belief(classes, where, chain, atom("P0", "a")).exact == worlds[0] / sum(worlds)


def test_a_large_class_with_many_people_mentioned_stays_exact():
    many = {f"P{n}": 0 for n in range(40)}
    knowing = [Implication((atom(f"P{n}", "a"),), (atom("P0", "a"),)) for n in range(1, 40)]
    found = belief([{"a": 10, "b": 600_000, "c": 400_000}], many, knowing, atom("P0", "a"))
    size, none = 1_000_010, Fraction(1)
    for n in range(40):
        none *= Fraction(size - 10 - n, size - n)
    share = Fraction(10, size)
    assert found.exact == share / (share + none)


def entangled(people=12):
    """A formula that is possible, about people of two classes."""
    names = [f"P{n}" for n in range(people)]
    where = {name: n % 2 for n, name in enumerate(names)}
    classes = [{"a": 4, "b": 3, "c": 2, "d": 6}, {"a": 3, "b": 5, "e": 4}]
    rng = random.Random(5)
    pieces = []
    for _ in range(8):
        left, right = rng.sample(names, 2)
        pieces.append(
            Implication((atom(left, rng.choice("ab")),), (atom(right, rng.choice("ab")),))
        )
    return classes, where, pieces, pieces[0].then[0]


def test_the_interval_of_drawn_worlds_covers_the_exact_answer():
    exact = belief(*entangled()).exact
    assert exact is not None
    covered = 0
    for seed in range(40):
        found = belief(*entangled(), rng=np.random.default_rng(seed), most=0, draws=3_000)
        low, high = found.interval
        assert found.exact is None
        assert low < found.probability < high < low + 0.2
        assert 100 <= found.draws <= 3_000
        covered += low <= exact <= high
    assert covered >= 34  # 38 of 40 are expected


def test_drawn_worlds_repeat_with_their_seed_and_come_in_batches(monkeypatch):
    monkeypatch.setattr("shoal.core.theory.worlds._BATCH", 50_000)
    first, second = (
        belief(*entangled(), rng=np.random.default_rng(1), most=10, draws=30_001) for _ in "ab"
    )
    assert first == second
    assert abs(first.probability - belief(*entangled()).probability) < 0.05


def test_a_formula_beyond_the_limit_is_drawn_by_itself():
    names = [f"P{n}" for n in range(60)]
    classes, where = [{str(v): 8 for v in range(30)}], dict.fromkeys(names, 0)
    pieces = [
        Implication(
            (atom(names[n], str(n % 30)),), (atom(names[(7 * n + 3) % 60], str((n + 1) % 30)),)
        )
        for n in range(60)
    ]
    found = belief(classes, where, pieces, atom("P0", "1"), most=20_000, draws=4_000)
    assert found.exact is None
    assert found.before == Fraction(1, 30)


def test_too_few_worlds_that_agree_are_no_answer():
    classes, where = [{str(n): 1 for n in range(20)}], {f"P{n}": 0 for n in range(20)}
    facts = [Implication((), (atom(f"P{n}", str(n)),)) for n in range(10)]
    with pytest.raises(InputError, match="of 500 worlds drawn 0 agree") as error:
        belief(classes, where, facts, atom("P0", "0"), most=0, draws=500)
    assert "draws" in error.value.hint
    # where the pieces are not about the same class, they only have to be possible
    apart, where = [*classes, {"a": 1, "b": 1}], where | {"Q": 1}
    with pytest.raises(InputError, match="worlds drawn 0 agree"):
        belief(apart, where, facts, atom("Q", "a"), most=0, draws=500)
    assert belief(apart, where, facts, atom("Q", "a")).exact == Fraction(1, 2)
    assert belief(apart, where, facts[:1], atom("Q", "a"), most=0, draws=999).exact is None


# What does not fit


@pytest.mark.parametrize(
    "text",
    [
        "P0.x=a; not P0.x=a",
        "P0.x=a; P0.x=b",
        "P0.x=z",
        "P0.x=a; P1.x=a; P2.x=a",
        "Q.x=a; not Q.x=a",
    ],
)
def test_contradictions_are_told_wherever_they_are(text):
    classes, where = [{"a": 2, "b": 3}, {"a": 1, "b": 1}], {"P0": 0, "P1": 0, "P2": 0, "Q": 1}
    with pytest.raises(InputError, match=r"^The knowledge contradicts the table\."):
        belief(classes, where, parse_knowledge(text), atom("P1", "a"))


def test_people_who_are_not_there_are_counted_and_not_named():
    knows = parse_knowledge("Xyzzy.x=a -> Ed.x=a")
    with pytest.raises(InputError, match=r"\(2\), 1 cannot be found") as error:
        belief([{"a": 2}], {"Ed": 0}, knows, atom("Ed", "a"))
    assert "Xyzzy" not in str(error.value)
    for place in (-1, 1, 7, None, "0", 0.0):  # which is another mistake
        with pytest.raises(UsageError, match="no such class") as error:
            belief([{"a": 2}], {"Ed": 0, "Xyzzy": place}, knows, atom("Ed", "a"))
        assert "Xyzzy" not in str(error.value)


def test_more_people_than_the_class_has():
    where = dict.fromkeys(("A", "B", "C"), 0)
    with pytest.raises(InputError, match="3 of the people mentioned are in a class of 2"):
        belief([{"a": 1, "b": 1}], where, parse_knowledge("A.x=a -> B.x=b"), atom("C", "a"))


def test_one_column_only_and_some_draws():
    with pytest.raises(UsageError, match="2 columns"):
        belief([{"a": 1}], {"Ed": 0}, parse_knowledge("Ed.y=a"), atom("Ed", "a"))
    for draws in (0, None, "many"):
        with pytest.raises(UsageError, match="draws must be"):
            belief([{"a": 1}], {"Ed": 0}, (), atom("Ed", "a"), draws=draws)


ASKED = {"classes": [{"a": 1, "b": 1}], "where": {"Ed": 0}, "knowing": (), "about": "Ed.x=a"}


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("classes", None),
        ("classes", 5),
        ("classes", [None]),
        ("classes", [["a", "b"]]),
        ("classes", [{"a": 1.5}]),
        ("classes", [{"a": -1}]),
        ("classes", [{"a": "1"}]),
        ("where", None),
        ("where", [0]),
        ("knowing", None),
        ("knowing", 5),
        ("knowing", [None]),
        ("about", None),
        ("about", 5),
        ("about", Implication((), (atom("Ed", "a"),))),
    ],
)
def test_what_is_of_another_kind_is_told(part, wrong):
    assert belief(**ASKED).exact == Fraction(1, 2)
    with pytest.raises(UsageError):
        belief(**{**ASKED, part: wrong})


def test_knowledge_may_be_pieces_and_facts():
    for knowing in ("not Ed.x=b", Implication((atom("Ed", "b"),), ()), atom("Ed", "a")):
        for given in (knowing, [knowing]):
            assert belief(**{**ASKED, "knowing": given}).exact == 1


def test_values_are_compared_as_they_are_written():
    class_ = {1.0: 2, "1": 1, 2.5: 1, None: 0}
    assert belief([class_], {"Ed": 0}, (), atom("Ed", "1")).exact == Fraction(3, 4)
    assert belief([class_], {"Ed": 0}, parse_knowledge("not Ed.x=1"), atom("Ed", "2.5")).exact == 1
    assert belief([class_], {"Ed": 0}, (), atom("Ed", "unheard of")).exact == 0


def test_counts_may_be_numpy_s_and_large():
    """Products of them outgrow 64 bits."""
    plain = {"a": 400_000, "b": 300_000, "c": 300_000}
    counted = {value: np.int64(count) for value, count in plain.items()}
    knows = [f"p{i}.x=a -> q.x=a" for i in range(13)]
    where = {**{f"p{i}": 0 for i in range(13)}, "q": 0}
    found = [belief([one], where, knows, "q.x=a").exact for one in (plain, counted)]
    assert found[0] == found[1]
    assert 0.99 < found[0] < 1
