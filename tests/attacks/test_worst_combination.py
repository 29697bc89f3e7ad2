"""Any number of releases about people of whom nobody says where they are: the worst combination.

The oracle goes through every choice of releases, and of a class in each, with plain sets.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.attacks import worst_pair as attacked
from shoal.attacks.intersection import find_fewest_candidates
from shoal.attacks.worst_pair import worst_pair
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError
from shoal.core.hierarchy import ordered
from shoal.core.theory.adversary_view import NobodyFoundError, ReleaseView, Targets, View

SCHEMA = shoal.Schema.of(quasi=["age", "sex"], sensitive=["d"])
THREE = ("AABBCC", "AABBDD", "AACCDD")


def table(values, age="[30-39]", sex="f", **more):
    columns = {"age": [age] * len(values), "sex": [sex] * len(values), "d": list(values), **more}
    return pa.table(columns)


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "releases.db") as made:
        yield made


# Against every combination, by plain sets


def random_release(rng, name, axes, values):
    """A few classes with cells of any extent, which may overlap, and some values each."""
    classes = int(rng.integers(1, 5))
    ends = np.sort(rng.integers(0, 4, (2, classes, len(axes))), axis=0).astype(np.int32)
    wide = rng.random((classes, len(axes))) < 0.4
    low, high = np.where(wide, 0, ends[0]), np.where(wide, 3, ends[1])
    low, high = low.astype(np.int32), high.astype(np.int32)
    sets = {}
    for j, axis in enumerate(axes):
        if axis.shape == "flat":
            bits = rng.integers(1, 16, classes).astype(np.uint64)[:, None]
            sets[j] = np.where(wide[:, [j]], np.uint64(15), bits)
            low[:, j], high[:, j] = 0, 3
    class_ = np.repeat(np.arange(classes, dtype=np.int32), rng.integers(1, 6, classes))
    return ReleaseView(name, Cells(low, high, sets), class_, rng.choice(values, len(class_)))


def random_view(seed):
    """Two to five releases; more values than fit in a word, few of them in use."""
    rng = np.random.default_rng(seed)
    line = ordered().grow("a", "number", [0.0, 1.0, 2.0, 3.0])
    flat = Axis("b", "category", "flat", ("w", "x", "y", "z"))
    axes = ((line,), (line, line), (line, flat))[seed % 3]
    axis = Axis("value", "category", "flat", tuple(f"v{i}" for i in range(70)))
    values = rng.permutation(70)[: int(rng.integers(2, 7))].astype(np.int32)
    number = int(rng.integers(2, 6))
    made = [random_release(rng, f"r{i}", axes, values) for i in range(number)]
    return View(axes, tuple(made), axis)


def deep_view(seed):
    """Six to eight releases whose classes lack few values each: many are needed to leave one."""
    rng = np.random.default_rng(seed)
    axes = (ordered().grow("a", "number", [0.0, 1.0, 2.0, 3.0]),) * 2
    axis = Axis("value", "category", "flat", tuple(f"v{i}" for i in range(6)))
    made = []
    for i in range(int(rng.integers(6, 9))):
        classes = int(rng.integers(1, 4)) if i < 6 else 1
        ends = np.sort(rng.integers(0, 4, (2, classes, 2)), axis=0).astype(np.int32)
        wide = rng.random((classes, 2)) < 0.5
        cells = Cells(*(np.where(wide, 3 * j, ends[j]).astype(np.int32) for j in (0, 1)))
        has = [np.flatnonzero(rng.random(6) < 0.75) for _ in range(classes)]
        rows = [(c, value) for c, some in enumerate(has) for value in (*some, rng.integers(6))]
        class_, values = np.array(rows, np.int32).T
        made.append(ReleaseView(f"r{i}", cells, class_, values))
    return View(axes, tuple(made), axis)


def with_blanks(view, seed):
    """The same releases where some rows, and all of some classes, have no value that is known."""
    rng, made = np.random.default_rng(seed), []
    axis = replace(view.sensitive, null=True, unknown=True)
    for one in view.releases:
        lost = rng.random(len(one.class_)) < 0.3
        lost |= (rng.random(len(one.cells)) < 0.1)[one.class_]
        made.append(replace(one, values=np.where(lost, axis.null_code, one.values)))
    return replace(view, releases=tuple(made), sensitive=axis)


def known_values(view, release, rows):
    """The values of some rows, without a missing one, which may be any."""
    axis = view.sensitive
    return set(release.values[rows].tolist()) - ({axis.null_code} if axis.unknown else set())


def leaves(release, class_):
    """The leaves of each column of a class's cell."""
    cells, found = release.cells, []
    for j in range(cells.low.shape[1]):
        if j in cells.sets:
            bits = int(cells.sets[j][class_, 0])
            found.append({i for i in range(4) if bits >> i & 1})
        else:
            found.append(set(range(cells.low[class_, j], cells.high[class_, j] + 1)))
    return found


def have_a_point_in_common(cells):
    return all(set.intersection(*column) for column in zip(*cells, strict=True))


def share_values(view):
    """Whether each release has a value that the last has: else they may be spelt differently."""
    *earlier, last = (known_values(view, one, slice(None)) for one in view.releases)
    return all(one & last for one in earlier)


def fewest_left(view, l):
    """Of each class of the last release the fewest values that a combination leaves; and pairs."""
    sides = [
        [(leaves(one, c), known_values(view, one, one.class_ == c)) for c in range(len(one.cells))]
        for one in view.releases
    ]
    worst, met = {}, 0
    for at, (cell, values) in enumerate(sides[-1]):
        for chosen in product(*([None, *side] for side in sides[:-1])):
            classes = [(cell, values), *(one for one in chosen if one is not None)]
            meets = have_a_point_in_common([cell for cell, _ in classes])
            common = set.intersection(*(has for _, has in classes))
            if not meets or not common:
                continue
            met += len(classes) > 1
            if len(common) < min(l, *(len(has) for _, has in classes)):
                worst[at] = min(len(common), worst.get(at, l))
    return worst, met


def check(view, l):
    worst, met = fewest_left(view, l)
    if not share_values(view) or not met:
        with pytest.raises(InputError, match="in common") as error:
            worst_pair(view, l=l)
        assert isinstance(error.value, NobodyFoundError) == share_values(view)
        return 0
    finding = worst_pair(view, l=l)
    last = view.releases[-1]
    left = [worst.get(int(class_), 0) for class_ in last.class_]
    assert finding.people == len(left)
    assert finding.exposed == sum(n > 0 for n in left)
    assert finding.details["classes_exposed"] == len(worst)
    assert finding.details["values_left"] == {n: left.count(n) for n in sorted(set(left)) if n}
    assert not finding.details.get("limits")
    if worst:
        assert finding.sure == 1 / min(worst.values())
        check_witness(view, finding, min(worst.values()))
    return finding.details.get("exposed_by_no_pair", 0)


def check_witness(view, finding, left):
    """The witness is a combination: its cells meet, and it leaves so many values."""
    by_name = {one.name: one for one in view.releases}
    steps = [(by_name[one["release"]], one["class"]) for one in finding.witness["releases"]]
    assert len({one.name for one, _ in steps}) == len(steps)
    assert steps[-1][0] is view.releases[-1]
    assert have_a_point_in_common([leaves(*step) for step in steps])
    has = [known_values(view, one, one.class_ == class_) for one, class_ in steps]
    assert finding.witness["left"] == len(set.intersection(*has)) == left
    assert left < min(map(len, has))


def test_every_combination_of_small_releases_by_hand():
    beyond = [check(random_view(seed), l) for l in (2, 3, 4) for seed in range(150)]
    assert sum(map(bool, beyond)) > 20  # of many no two classes tell what three do


def test_every_combination_of_releases_with_missing_values_by_hand():
    views = [with_blanks(random_view(seed), seed) for seed in range(150)]
    views += [with_blanks(deep_view(seed), seed) for seed in range(100)]
    beyond = [check(view, 2 + i % 3) for i, view in enumerate(views)]
    assert sum(map(bool, beyond)) > 5


@pytest.mark.long
@pytest.mark.parametrize("l", [2, 3, 4, 5])
def test_every_combination_of_thousands_of_small_releases_by_hand(l):
    beyond = [check(random_view(seed), l) for seed in range(1_000, 3_000)]
    assert sum(map(bool, beyond)) > 50


def test_combinations_of_many_releases_by_hand():
    beyond = [check(deep_view(seed), 2 + seed % 2) for seed in range(250)]
    assert sum(map(bool, beyond)) > 50


@pytest.mark.long
def test_combinations_of_many_releases_by_hand_a_thousand_times():
    beyond = [check(deep_view(seed), 2 + seed % 2) for seed in range(1_000, 2_000)]
    assert sum(map(bool, beyond)) > 200


# In the ledger


def test_three_releases_that_leave_one_value_are_refused(ledger):
    for values in THREE[:2]:
        assert ledger.admit(table(values), schema=SCHEMA).admitted
    with pytest.raises(shoal.Refused) as error:
        ledger.admit(table(THREE[2]), schema=SCHEMA)
    (worst,) = (one for one in error.value.admission.weighed if one.exceeds)
    assert (worst.finding.attack, worst.entries, worst.on) == ("worst-pair", (2, 3), "d")
    assert (worst.beyond, worst.finding.people, worst.finding.sure) == (6, 6, 1)
    assert worst.finding.details["exposed_by_no_pair"] == 6
    assert len(ledger.entries()) == 3


@pytest.mark.parametrize("third", ["ABC", "BBBCCC", "AABBCCDDEE"])
def test_three_releases_that_leave_two_values_are_admitted(ledger, third):
    for values in ("AABBCC", "AABBCCDD"):
        ledger.add_foreign(table(values), schema=SCHEMA, by="another")
    told = ledger.judge(table(third), schema=SCHEMA, relation="overlapping")
    assert told.admitted
    assert told.weighed[-1].entries == (2, 3)


def test_classes_that_do_not_all_meet_expose_nobody(ledger):
    """Each two of them meet in sex, all three in none."""
    ages = ("[30-39]", "[36-45]", "[40-45]")
    for values, age in zip(THREE[:2], ages[:2], strict=True):
        ledger.admit(table(values, age), schema=SCHEMA)
    assert ledger.admit(table(THREE[2], ages[2]), schema=SCHEMA).admitted


def test_a_column_that_one_release_lacks_does_not_part_it_from_the_others(ledger):
    for values, name in zip(THREE[:2], ("age", "sex"), strict=True):
        schema = shoal.Schema.of(quasi=[name], sensitive=["d"])
        ledger.add_foreign(table(values).select([name, "d"]), schema=schema, by="another")
    with pytest.raises(shoal.Refused, match="exposes 6 of 6"):
        ledger.admit(table(THREE[2]), schema=SCHEMA)


@pytest.mark.parametrize("bad", ["d", "job"])
def test_each_sensitive_column_is_combined(ledger, bad):
    other = {"d": "job", "job": "d"}[bad]
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["d", "job"])
    columns = {"age": ["[30-39]"] * 6, "sex": ["f"] * 6, other: list("xyzxyz")}
    tables = [pa.table({**columns, bad: list(values)}) for values in THREE]
    for earlier in tables[:2]:
        ledger.admit(earlier, schema=schema)
    told = ledger.judge(tables[2], schema=schema)
    assert [(one.on, one.beyond) for one in told.weighed if one.exceeds] == [(bad, 6)]


def test_people_who_are_all_in_the_new_release_are_judged_by_themselves(ledger):
    """Each is in one earlier release: the worst combination is of nobody."""
    names = [f"p{i}" for i in range(6)]
    people = pa.table({"age": ["35"] * 6, "sex": ["f"] * 6, "id": names})
    for values in THREE[:2]:
        ledger.admit(table(values), schema=SCHEMA)
    assert not ledger.judge(table(THREE[2]), schema=SCHEMA).admitted
    covered = ledger.judge(table(THREE[2]), schema=SCHEMA, people=people)
    assert covered.covered
    assert {one.finding.attack for one in covered.weighed} == {"intersection"}
    some = ledger.judge(table(THREE[2]), schema=SCHEMA, people=people.slice(0, 3))
    assert any(one.exceeds and one.finding.attack == "worst-pair" for one in some.weighed)


def test_rechecking_combines_releases_that_others_made_since(ledger):
    ledger.admit(table(THREE[0]), schema=SCHEMA)
    ledger.admit(table(THREE[1]), schema=SCHEMA)
    assert all(one.admitted for one in ledger.recheck())
    ledger.add_foreign(table(THREE[2]), schema=SCHEMA, by="another")
    assert [one.admitted for one in ledger.recheck()] == [True, False]


def test_a_combination_that_was_accepted_stays_so_until_more_people_are_exposed(ledger):
    for values in THREE[:2]:
        ledger.admit(table(values), schema=SCHEMA)
    rows = pa.concat_tables([table(THREE[2]), table("AABBCCDD", sex="m")])
    assert ledger.admit(rows, schema=SCHEMA, accept_risk="agreed").overridden
    assert all(one.admitted for one in ledger.recheck())
    ledger.add_foreign(table("ABCD", sex="m"), schema=SCHEMA, by="another")
    assert all(one.admitted for one in ledger.recheck())
    ledger.add_foreign(table("ABXY", sex="m"), schema=SCHEMA, by="another")
    ledger.add_foreign(table("ACXY", sex="m"), schema=SCHEMA, by="another")
    *_, last = ledger.recheck()
    assert (last.admitted, last.worse) == (False, True)


def test_a_search_that_is_cut_short_is_not_evaluated_and_refused(ledger, monkeypatch):
    for values in ("AABBCC", "AABBDD"):
        ledger.admit(table(values), schema=SCHEMA)
    safe, asked = table("AABBCCDD"), {"schema": SCHEMA, "relation": "overlapping"}
    assert ledger.judge(safe, **asked).admitted
    monkeypatch.setattr(attacked, "MAX_WORK", 0)
    told = ledger.judge(safe, **asked)
    assert [number for number, _ in told.unjudged] == [3]
    assert "cut short" in " ".join(told.reasons)
    with pytest.raises(shoal.Refused, match="not evaluated"):
        ledger.admit(safe, **asked)


# As an attack of its own


def test_the_attack_takes_any_number_of_releases():
    finding = shoal.attack("worst-pair", [table(one) for one in THREE], schema=SCHEMA, show=True)
    assert (finding.exposed, finding.people, finding.sure) == (6, 6, 1)
    assert finding.witness["left_named"] == ["A"]
    assert len(finding.witness["releases"]) == 3


def test_what_the_search_did_not_reach_is_said():
    tables = [table(one) for one in ("AABBCC", "AABBDD", "AABBCCDD")]
    whole = shoal.attack("worst-pair", tables, schema=SCHEMA)
    assert "cut short" not in whole.sentence
    short = shoal.attack("worst-pair", tables, schema=SCHEMA, work=0)
    assert "cut short" in short.sentence
    assert short.details["limits"] == 1
    assert any("not known" in one for one in short.assumptions)


def test_a_red_team_combines_every_release_with_those_before():
    told = shoal.red_team([table(one) for one in THREE], schema=SCHEMA, l=2)
    worst = [one for one in told.findings if one.attack == "worst-pair"]
    assert {(len(one.releases), one.exposed, one.table) for one in worst} == {
        (3, 6, "release 3"),
        (2, 0, "release 2"),
    }


# The people are given, and there are more combinations than can be tried one by one


def possible_values(view, j, person):
    """The values of all classes of a release whose cells contain a person."""
    release, at = view.releases[j], view.people.keys[:, person]
    inside = [
        c
        for c in range(len(release.cells))
        if all(int(code) in column for code, column in zip(at, leaves(release, c), strict=True))
    ]
    return known_values(view, release, np.isin(release.class_, inside))


def fewest_by_hand(view, person, l):
    *earlier, last = (possible_values(view, j, person) for j in range(len(view.releases)))
    fewest = l
    for chosen in product(*([None, one] for one in earlier)):
        sets = [last, *(one for one in chosen if one is not None)]
        common = set.intersection(*sets)
        if common and min(map(len, sets)) >= l:
            fewest = min(fewest, len(common))
    return fewest if fewest < l else 0


def with_people(view, seed):
    keys = np.random.default_rng(seed).integers(0, 4, (len(view.axes), 6)).astype(np.int32)
    return replace(view, people=Targets(keys, np.arange(1, 7)))


@pytest.mark.parametrize("blanks", [False, True])
@pytest.mark.parametrize("make", [random_view, deep_view])
def test_what_any_combination_leaves_people_by_hand(make, blanks):
    exposed = 0
    for seed in range(60):
        view, l = with_people(make(seed), seed), 2 + seed % 3
        view = with_blanks(view, seed) if blanks else view
        fewest, _ = find_fewest_candidates(view, l, "honest", everywhere=False)
        assert fewest.tolist() == [fewest_by_hand(view, person, l) for person in range(6)]
        exposed += int((fewest > 0).sum())
    assert exposed > 20


def test_five_of_ten_releases_that_leave_one_value_are_refused_where_the_people_are_given(ledger):
    """No four do, and all ten leave none: each other release lacks the value that is left."""
    schema = shoal.Schema.of(quasi=["x"], sensitive=["d"])

    def release(values):
        return pa.table({"x": ["1"] * len(values), "d": list(values)})

    for i, lacking in enumerate("bcdef" + "aaaaa"):
        values = "abcdefgh".replace(lacking, "").replace("g", "").replace("h", "")
        ledger.add_foreign(release(values + values[0] * i), schema=schema, by="another")
    people = pa.table({"x": ["1"] * 6})
    told = ledger.judge(release("abcdef"), schema=schema, people=people, relation="overlapping")
    assert told.covered
    exposing = [one for one in told.weighed if one.exceeds]
    assert [(len(one.entries), one.beyond, one.on) for one in exposing] == [(10, 6, "d")]
    assert not told.admitted
