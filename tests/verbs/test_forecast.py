"""Forecasts as a verb: a release read as people, the others supposed, and what is told of it."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict

import numpy as np
import pytest

import shoal
from shoal.adversary.targets import find_rows_of_people
from shoal.core.cells import Cells
from shoal.core.tally import Population
from shoal.data import bundled
from shoal.forecasts.closed_form import estimate_by_closed_form
from shoal.forecasts.local_distribution import fit_local_distribution
from shoal.forecasts.other_publisher import OtherPublisher, cut_coarse_partitions, suppose_publisher
from shoal.forecasts.our_table import OverlapScenario
from shoal.forecasts.paper import estimate_by_paper
from shoal.forecasts.release_reading import (
    check_points_inside,
    draw_points_inside,
    match_people_to_rows,
    read_our_release,
)
from shoal.forecasts.simulation import simulate
from shoal.releases.options import ignore_progress
from shoal.releases.published_table import read_published_tables

ROLES = {
    "patient": shoal.person,
    "name": shoal.identifier,
    "age": shoal.quasi,
    "sex": shoal.quasi,
    "zip": shoal.quasi,
    "admitted": shoal.identifier,
    "diagnosis": shoal.sensitive,
}
NAMES = ("simulation", "closed form", "paper, at least", "paper, best subset")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    """St Anna's release with k = 5, and its table."""
    folder = tmp_path_factory.mktemp("hospital")
    table = bundled.path("st_anna.csv")
    release = shoal.publish(table, schema(), "k-anonymity k=5", out=folder / "release")
    return release, table


@pytest.fixture(scope="module")
def forecast_of_half(hospital):
    """The forecast where half of St Anna's people are in the other release."""
    return shoal.forecast(hospital[0], original=hospital[1], repeats=3, overlap=0.5)


@pytest.fixture(scope="module")
def published(standing):
    """A small town's release with k = 4."""
    return standing.publish(out=standing.folder / "small")


def schema(**roles) -> shoal.Schema:
    return shoal.Schema(()).set(ROLES).set(roles)


def rows_of(path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


# Points and seats


def some_cells() -> Cells:
    low = np.array([[0, 0], [3, 0], [0, 0]], np.int32)
    high = np.array([[2, 4], [5, 4], [5, 4]], np.int32)
    sets = {1: np.array([[0b00011], [0b10000], [0b11111]], np.uint64)}
    return Cells(low, high, sets)


def test_points_are_drawn_inside_their_cells_every_leaf_alike():
    cells, class_ = some_cells(), np.repeat([0, 1, 2], 3000).astype(np.int32)
    keys, people = draw_points_inside(cells, class_, None, np.random.default_rng(1))
    assert people == 0
    start, classes = cells.contains(keys)
    held = [set(classes[start[i] : start[i + 1]]) for i in range(len(class_))]
    assert all(c in classes for c, classes in zip(class_, held, strict=True))
    narrow = Counter(zip(*keys[:, :3000].tolist(), strict=True))
    assert set(narrow) == {(a, b) for a in (0, 1, 2) for b in (0, 1)}
    assert max(narrow.values()) < 1.3 * min(narrow.values())


def test_points_are_the_populations_where_it_has_any_in_the_cells():
    cells, class_ = some_cells(), np.repeat([0, 1], 2000).astype(np.int32)
    everybody = Population(np.array([[1, 2, 4], [0, 1, 0]], np.int32), np.array([3, 1, 9]))
    keys, people = draw_points_inside(cells, class_, everybody, np.random.default_rng(1))
    assert people == 2000  # nobody is in the second class
    found = Counter(zip(*keys[:, :2000].tolist(), strict=True))
    assert set(found) == {(1, 0), (2, 1)}
    assert 2.5 < found[1, 0] / found[2, 1] < 3.6
    assert set(keys[1, 2000:].tolist()) == {4}


@pytest.mark.parametrize("seed", range(10))
def test_no_row_is_two_peoples_and_everybody_fits_theirs(seed):
    rng = np.random.default_rng(seed)
    cells, class_ = some_cells(), rng.integers(0, 3, 30).astype(np.int32)
    values = rng.integers(0, 3, 30).astype(np.int32)
    keys, _ = draw_points_inside(cells, class_, None, rng)
    given = np.append(values, [-1, -2, 2]).astype(np.int32)  # unknown, unpublished, and one more
    people = np.concatenate([keys, keys[:, :3]], axis=1)
    seat, several = match_people_to_rows(people, given, cells, class_, values, rng)
    taken = seat[seat >= 0]
    assert len(set(taken)) == len(taken)
    assert (seat[30:32] == -1).all()
    assert (values[taken] == given[seat >= 0]).all()
    start, classes = cells.contains(people)
    fits = [set(classes[start[i] : start[i + 1]]) for i in range(33)]
    assert all(class_[seat[i]] in fits[i] for i in range(33) if seat[i] >= 0)
    wanted = [
        [r for r in range(30) if class_[r] in fits[i] and values[r] == given[i]] for i in range(33)
    ]
    assert len(taken) == most_seated(wanted)
    assert several == sum(len({class_[r] for r in rows}) > 1 for rows in wanted)


def most_seated(wanted: list[list[int]]) -> int:
    """How many people can have a row of their own: augmenting paths, one by one."""
    holder: dict[int, int] = {}

    def place(person: int, tried: set[int]) -> bool:
        for row in wanted[person]:
            if row not in tried:
                tried.add(row)
                if row not in holder or place(holder[row], tried):
                    holder[row] = person
                    return True
        return False

    return sum(place(person, set()) for person in range(len(wanted)))


def test_who_could_sit_in_several_classes_is_in_any_of_them():
    cells = Cells(np.zeros((2, 1), np.int32), np.ones((2, 1), np.int32))
    class_, values = np.array([0, 1, 1, 1], np.int32), np.zeros(4, np.int32)
    key, own = np.zeros((1, 1), np.int32), np.zeros(1, np.int32)
    rng = np.random.default_rng(1)
    found = Counter(
        int(match_people_to_rows(key, own, cells, class_, values, rng)[0][0]) for _ in range(400)
    )
    assert set(found) == {0, 1, 2, 3}
    assert min(found.values()) > 60


# Reading


def test_with_the_companion_every_row_is_the_person_it_is(hospital):
    release, table = hospital
    read = read_our_release(release, original=table)
    assert (read.located, read.left_out) == (3000, 0)
    assert read.suppositions == ("people's own columns are known, by the companion",)
    assert_ours_is_the_release(read, release)
    people = rows_of(table)
    (seen,) = read_published_tables([release], None, ignore_progress)
    at = find_rows_of_people(seen, [one["patient"] for one in people])
    for i in (0, 7, 2999):
        row = read.ours.keys[:, at[i]]
        own = {axis.name: axis.leaves[c] for axis, c in zip(read.ours.quasi, row, strict=True)}
        assert {k: str(v).removesuffix(".0") for k, v in own.items()} == {
            name: people[i][name] for name in own
        }


def assert_ours_is_the_release(read, release):
    published = rows_of(release.path)
    labels = [tuple(one[n] for n in ("age", "sex", "zip")) for one in published]
    assert len(set(labels)) == read.ours.classes
    assert len(set(zip(labels, read.ours.class_.tolist(), strict=True))) == read.ours.classes
    values = [read.ours.sensitive.leaves[code] for code in read.ours.values]
    assert values == [one["diagnosis"] for one in published]


def test_without_a_person_column_people_are_found_by_cells_and_value(hospital):
    release, table = hospital
    plain = schema(patient=shoal.identifier)
    read = read_our_release(release, original=table, schema=plain)
    assert (read.located, read.left_out) == (3000, 0)
    assert "by cells and value" in read.suppositions[0]
    start, _ = read.ours.cells.contains(read.ours.keys)
    assert (np.diff(start) > 1).sum() > 100  # prefixes overlap, and yet all find their row
    assert inside_own_cells(read.ours)


def test_without_the_original_people_are_put_inside_their_cells(hospital):
    release, _ = hospital
    read = read_our_release(release)
    assert read.located == 0
    assert read.suppositions == (
        "nobody's own columns are known: they are drawn inside the published cells, "
        "each value alike",
    )
    assert_ours_is_the_release(read, release)
    assert inside_own_cells(read.ours)
    again, other = read_our_release(release), read_our_release(release, seed=1)
    assert (again.ours.keys == read.ours.keys).all()
    assert (other.ours.keys != read.ours.keys).any()


def inside_own_cells(ours) -> bool:
    start, classes = ours.cells.contains(ours.keys)
    held = np.repeat(np.arange(ours.people), np.diff(start))
    return len(set(held[classes == ours.class_[held]])) == ours.people


def test_a_population_places_people_and_says_how_common_values_are(standing, published, tmp_path):
    read = read_our_release(published, population=standing.table)
    assert read.suppositions[0].endswith("as the population has them")
    assert inside_own_cells(read.ours)
    assert read.ours.population.count.sum() == read.ours.population_values.sum() == 80
    assert read.ours.chances[-1] == 0
    bare = [{name: one[name] for name in standing.quasi} for one in standing.rows]
    everybody = standing.write(tmp_path / "everybody.csv", bare)
    assert read_our_release(published, population=everybody).ours.population_values is None


def test_values_that_we_lack_keep_their_share_of_the_population(standing, published, tmp_path):
    names = (*standing.quasi, "diagnosis")
    people = [{name: one[name] for name in names} for one in standing.rows]
    more = [{**one, "diagnosis": f"rare {i % 7}"} for one in people for i in range(9)]
    everybody = standing.write(tmp_path / "everybody.csv", [*people, *more])
    read, same = (
        read_our_release(published, population=one) for one in (everybody, standing.table)
    )
    own = Counter(one["diagnosis"] for one in people)
    leaves = read.ours.sensitive.leaves
    assert read.ours.prior == pytest.approx([own[leaf] / 800 for leaf in leaves])
    told = "720 of 800 people of the population have values that none of ours has"
    assert told in read.suppositions
    asked = OverlapScenario(0.5, 80, l=3)
    for estimate in (risk_by_simulation, risk_in_closed_form, risk_of_the_paper):
        assert estimate(read.ours, asked) > estimate(same.ours, asked)
    nobody = standing.write(tmp_path / "nobody.csv", more)
    with pytest.raises(shoal.InputError, match="Nobody of the population has a value"):
        read_our_release(published, population=nobody)


def risk_by_simulation(ours, asked) -> float:
    others = OtherPublisher("mondrian", shoal.KAnonymity(4))
    return (
        simulate(
            ours,
            fit_local_distribution(ours, cut_coarse_partitions(ours)),
            asked,
            others,
            repeats=8,
        )
        .at(asked.l)
        .risk
    )


def risk_in_closed_form(ours, asked) -> float:
    return estimate_by_closed_form(
        ours, fit_local_distribution(ours, cut_coarse_partitions(ours)), asked
    ).risk


def risk_of_the_paper(ours, asked) -> float:
    return float(estimate_by_paper(ours, asked).classes.mean())


def test_another_table_is_not_taken_for_the_original(standing, published, tmp_path):
    rows = [dict(one) for one in standing.rows]
    for one in rows[:3]:
        one["age"] = "199"
    rows[5]["diagnosis"] = "something else"
    wrong = standing.write(tmp_path / "wrong.csv", rows)
    with pytest.raises(shoal.InputError) as found:
        shoal.forecast(published, original=wrong)
    assert found.value.fact.startswith("3 people of the original table lie outside the cells")
    assert "1 have another value" in found.value.fact
    assert "199" not in str(found.value)


def test_a_point_lies_in_its_own_cells_or_not():
    cells, rng = some_cells(), np.random.default_rng(2)
    class_ = rng.integers(0, 3, 500).astype(np.int32)
    keys = np.stack([rng.integers(-1, 7, 500), rng.integers(-1, 5, 500)]).astype(np.int32)
    start, classes = cells.contains(keys)
    expected = [class_[i] in classes[start[i] : start[i + 1]] for i in range(500)]
    assert check_points_inside(cells, class_, keys).tolist() == expected
    assert 0 < sum(expected) < 500


def test_rows_held_back_are_left_out(town):
    release = town.publish(
        "k-anonymity k=3",
        method="full-domain",
        hold_back=0.3,
        schema=town.schema(age=shoal.quasi(shoal.intervals(10, 20))),
    )
    held = release.private["held_back"]
    read = read_our_release(release, original=town.table)
    assert held > 0
    assert (read.located, read.left_out) == (80 - held, held)
    assert f"{held:,} people of the original table are in no class" in read.suppositions[-1]
    other = read_our_release(
        release, original=town.table, schema=town.schema(patient=shoal.identifier)
    )
    assert other.located == 80 - held
    assert inside_own_cells(other.ours)


def test_people_whom_the_original_lacks_are_drawn(standing, published, tmp_path):
    some = standing.write(tmp_path / "some.csv", standing.rows[:50])
    read = read_our_release(published, original=some)
    assert read.located == 50
    assert "30 rows are nobody of the original table" in read.suppositions[-1]
    assert inside_own_cells(read.ours)


# What cannot be read


def test_forms_without_cells_are_refused(town):
    buckets = town.publish("distinct-diversity l=2", form="buckets", out=town.folder / "buckets")
    with pytest.raises(shoal.InputError, match="published in buckets"):
        shoal.forecast(buckets)
    numbers = town.schema(sex=shoal.identifier, zip=shoal.identifier)
    centroids = town.publish(
        schema=numbers, form="centroids", method="microaggregation", out=town.folder / "centroids"
    )
    with pytest.raises(shoal.InputError, match="centroids"):
        shoal.forecast(centroids)


def test_the_column_to_learn(town):
    two = town.publish(schema=town.schema(hospital=shoal.sensitive), out=town.folder / "two")
    assert {one.on for one in shoal.forecast(two, repeats=2).by_column} == {"hospital", "diagnosis"}
    with pytest.raises(shoal.UsageError, match="no sensitive column 'zip'"):
        shoal.forecast(two, on="zip")
    with pytest.raises(shoal.UsageError) as found:
        shoal.forecast(two, on="zip")
    assert found.value.hint == "name one of: hospital, diagnosis."
    assert read_our_release(two, on="diagnosis").ours.sensitive.name == "diagnosis"
    none = town.publish(schema=town.schema(diagnosis=shoal.identifier), out=town.folder / "none")
    with pytest.raises(shoal.InputError, match="no sensitive column that another"):
        shoal.forecast(none)


def test_tables_that_lack_columns(standing, published, tmp_path):
    for given, name in (("original", "original table"), ("population", "population")):
        lacking = standing.write(
            tmp_path / f"{given}.csv",
            [
                {k: v for k, v in one.items() if k not in ("age", "patient")}
                for one in standing.rows
            ],
        )
        with pytest.raises(shoal.InputError, match=f"The {name} lacks quasi-identifiers.*: age"):
            shoal.forecast(published, **{given: lacking})
    kept = ("name", "age", "sex", "zip")
    nobody = standing.write(
        tmp_path / "no.csv", [{k: v for k, v in one.items() if k in kept} for one in standing.rows]
    )
    with pytest.raises(shoal.InputError, match="lacks the sensitive column 'diagnosis'"):
        shoal.forecast(published, original=nobody)
    others = standing.write(
        tmp_path / "others.csv", [{**o, "diagnosis": "gout"} for o in standing.rows]
    )
    plain = standing.schema(patient=shoal.identifier)
    with pytest.raises(shoal.InputError, match="Nobody of the original table is in any class"):
        shoal.forecast(published, original=others, schema=plain)


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ({"overlap": 1.5}, "is no overlap: it is a share"),
        ({"overlap": 81}, "81 of our people cannot be in another release"),
        ({"overlap": 0.5, "rows": 10}, "40 of our people cannot be in a release of 10 rows"),
        ({"overlap": float("nan")}, "is no overlap: it is a share"),
        ({"overlap": float("inf")}, "is no overlap: it is a share"),
        ({"overlap": 10**400}, "is no overlap: it is a share"),
        ({"repeats": 1}, "repeats is a whole number"),
        ({"seed": -1}, "seed is a whole number from 0 on"),
        ({"seed": 1.5}, "seed is a whole number"),
        ({"seed": "a"}, "seed is a whole number"),
        ({"seed": None}, "seed is a whole number"),
        ({"others": 0}, "others is a whole number from 1 on"),
        ({"method": "magic"}, "There is no method 'magic'"),
        ({"rule": "k-map k=3"}, "Of another's table nobody knows what k-map k=3 asks for"),
        ({"rule": "distinct-diversity l=2 on=zip"}, "is about another column than 'diagnosis'"),
    ],
)
def test_what_cannot_be_asked(published, asked, fact):
    with pytest.raises(shoal.UsageError) as found:
        shoal.forecast(published, **asked)
    assert fact in found.value.fact
    assert found.value.hint


def test_a_rule_that_others_cannot_meet_is_told(published):
    with pytest.raises(shoal.NotMetError, match="Another's table could not be published") as found:
        shoal.forecast(published, rule="distinct-diversity l=9")
    assert "suppose another rule with -m" in found.value.hint


# The others


def others_of(release, **asked):
    read = read_our_release(release)
    return suppose_publisher(read.published, read.ours, asked.get("method"), asked.get("rule"))


def test_others_do_as_we_did_unless_told(town):
    release = town.publish("k-anonymity k=4 & distinct-diversity l=2", relaxed=True)
    same = others_of(release)
    assert (same.method, str(same.rule)) == ("mondrian", "k-anonymity k=4 & distinct-diversity l=2")
    assert (same.parameters, same.suppositions) == ({"relaxed": True}, ())
    told = others_of(release, method="hilbert", rule="k-anonymity k=7")
    assert (told.method, str(told.rule), dict(told.parameters)) == (
        "hilbert",
        "k-anonymity k=7",
        {},
    )


def test_what_of_our_rule_cannot_be_asked_of_others_is_left_out(town):
    both = town.schema(born=shoal.sensitive)
    rule = shoal.MPrivacy(1, shoal.KAnonymity(4)) & shoal.DistinctDiversity(2, "born")
    release = shoal.publish(
        town.table,
        both,
        rule,
        method="provider-aware",
        out=town.folder / "pool",
    )
    read = read_our_release(release, on="diagnosis")
    found = suppose_publisher(read.published, read.ours, None, None)
    assert str(found.rule) == "k-anonymity k=4"
    assert found.suppositions == ("of our rule others keep k-anonymity k=4",)


def test_a_method_by_levels_needs_them(town):
    by_levels = town.schema(age=shoal.quasi(shoal.intervals(10, 20)))
    release = town.publish(schema=by_levels, method="full-domain", hold_back=0.1)
    assert others_of(release).method == "full-domain"
    release.companion.rename(town.folder / "elsewhere")  # the hierarchies are there
    other = others_of(release)
    assert other.method == "mondrian"
    assert other.suppositions == (
        "others are taken to publish by mondrian: full-domain cannot be run here",
    )


def test_coarse_nodes_have_enough_people_and_keep_likes_together(published):
    ours = read_our_release(published).ours
    ways = cut_coarse_partitions(ours)
    assert len(ways) == 3  # by what columns tell, and not
    for way in ways:
        node = way(20)
        assert np.bincount(node).min() >= 20
        together = defaultdict(set)
        for key, one in zip(ours.keys.T.tolist(), node.tolist(), strict=True):
            together[tuple(key)].add(one)
        assert {len(nodes) for nodes in together.values()} == {1}


# The forecast


def truly_exposed(ours, theirs, people, l) -> float:
    """The share of our classes that the other release really exposes."""
    (one, other) = (Classes(release, people) for release in (ours, theirs))
    exposed = set()
    for i in range(len(people)):
        if i in one.of and i in other.of:
            common = one.values[one.of[i]] & other.values[other.of[i]]
            if 1 <= len(common) < l:
                exposed.add(one.of[i])
    return len(exposed) / len(one.values)


class Classes:
    def __init__(self, release, people) -> None:
        published = rows_of(release.path)
        (seen,) = read_published_tables([release], None, ignore_progress)
        at = find_rows_of_people(seen, people)
        labels = [tuple(one[n] for n in ("age", "sex", "zip")) for one in published]
        self.of = {i: labels[row] for i, row in enumerate(at) if row >= 0}
        self.values = defaultdict(set)
        for label, one in zip(labels, published, strict=True):
            self.values[label].add(one["diagnosis"])


def test_what_the_other_hospital_really_exposes_is_foretold(hospital, tmp_path):
    release, table = hospital
    other = shoal.publish(
        bundled.path("harbour.csv"), schema(), "k-anonymity k=5", out=tmp_path / "other"
    )
    people = [one["patient"] for one in rows_of(table)]
    asked = {"overlap": 500, "rows": 2600}
    for l, original in ((2, table), (3, None)):  # without it, where people are is not known
        real = truly_exposed(release, other, people, l)
        found = shoal.forecast(release, original=original, l=l, repeats=19, **asked)
        low, high = found.default.interval
        assert low - 0.02 <= real <= high + 0.02
        assert abs(found.risk - real) < 0.06
        assert abs(found.estimate("paper, at least").risk - real) > 0.3


def test_all_three_estimators_stand_beside_each_other(forecast_of_half):
    found = forecast_of_half
    assert tuple(found.estimates) == NAMES
    assert found.default is found.estimate("simulation")
    assert found.risk == found.default.risk
    assert all(len(one.classes) == found.classes == 435 for one in found.estimates.values())
    assert str(found).startswith(found.sentence)
    assert "50.0% of our people" in found.sentence
    assert found.default.interval is None
    assert found.sentence.endswith("(too few repeats for a range: it takes 19).")
    with pytest.raises(shoal.UsageError, match="no estimate 'guess'"):
        found.estimate("guess")
    told = json.loads(json.dumps(found.to_json()))
    assert (told["edition"], told["default"], told["risk"]) == (1, "simulation", found.risk)
    assert [one["name"] for one in told["estimates"]] == list(found.estimates)
    assert all(sum(one["by_probability"]) == 435 for one in told["estimates"])
    assert all(one["assumptions"] and one["assumes"] for one in told["estimates"])


def test_more_others_and_more_overlap_expose_more(published):
    def forecast(**asked):
        # The rows of a release have a random order, and few draws from them vary much.
        return shoal.forecast(published, repeats=32, **asked)

    base, two, half = forecast(), forecast(others=3), forecast(overlap=0.5)
    assert forecast(overlap=8).to_json() == base.to_json()  # a tenth of 80
    nobody = forecast(overlap=0)
    for name in ("simulation", "closed form"):
        assert base.estimate(name).risk < min(two.estimate(name).risk, half.estimate(name).risk)
        assert nobody.estimate(name).risk == 0
    assert nobody.exposed == ()


def test_an_overlap_may_be_written_as_text(published):
    share, text = (shoal.forecast(published, repeats=2, overlap=one) for one in (0.05, "5%"))
    assert share.to_json() == text.to_json()
    assert shoal.forecast(published, repeats=2, overlap=" 8 ").settings["people"] == 8
    for wrong in (
        "",
        "%",
        "105%",
        "500%",
        "-1",
        "1.5",
        "nan",
        True,
        None,
        -0.1,
        1.5,
        10**5000,
        [8],
    ):
        with pytest.raises(shoal.UsageError, match="is no overlap"):
            shoal.forecast(published, overlap=wrong)


def test_that_the_other_table_would_be_ours_is_said(standing, published):
    def said(**asked):
        found = shoal.forecast(published, original=standing.table, repeats=2, **asked)
        return [one for one in found.assumptions if "its table is ours" in one], found

    (told,), found = said(overlap=1)
    assert told.endswith("and cut alike, by the same method under the same rule")
    assert found.risk == found.few / found.classes
    (told,), _ = said(overlap=1, rule="k-anonymity k=9", others=2)
    assert told.endswith("is in every other release and nobody else: its table is ours")
    assert said(overlap=1, rows=81)[0] == said(overlap=0.9)[0] == []


def test_assumptions_and_the_page_say_whom_others_are_about(standing, published, tmp_path):
    bare = [{name: one[name] for name in standing.quasi} for one in standing.rows]
    everybody = standing.write(tmp_path / "everybody.csv", bare)
    for given, people, values in (
        (None, False, False),
        (everybody, True, False),
        (standing.table, True, True),
    ):
        found = shoal.forecast(published, population=given, repeats=2)
        told = {name: " ".join(one.assumptions) for name, one in found.estimates.items()}
        assert ("not ours are drawn from the population" in told["simulation"]) is people
        assert ("not ours are like ours" in told["simulation"]) is not people
        assert ("as the population does" in told["closed form"]) is values
        assert "with a chance of 0.7" in told["closed form"]
        assert ("people of the population" in told["paper, at least"]) is people
        text = found.page().html()
        assert ("drawn from the population that was given" in text) is people
        assert ("values as common as there" in text) is values
        assert "Nine in ten" in text


def test_the_classes_at_risk_are_listed_without_labels_unless_asked(hospital, forecast_of_half):
    (release, table), found = hospital, forecast_of_half
    chances = [one.probability for one in found.exposed]
    assert chances == sorted(chances, reverse=True)
    assert min(chances) > 0
    published = rows_of(release.path)
    first = found.exposed[0]
    labels = {name: published[first.row - 1][name] for name in ("age", "sex", "zip")}
    like = [one for one in published if all(one[k] == v for k, v in labels.items())]
    assert (len(like), len({one["diagnosis"] for one in like})) == (first.rows, first.values)
    words = {one["diagnosis"] for one in published} | set(labels.values()) - {"f", "m"}
    text = json.dumps(found.to_json()) + str(found)
    assert not any(f'"{word}"' in text or f" {word} " in text for word in words)
    shown = shoal.forecast(release, original=table, repeats=3, overlap=0.5, show=True)
    assert shown.exposed[0].labels == labels


def test_classes_with_few_values_are_told(town, tmp_path):
    rows = [
        {**one, "diagnosis": "flu" if one["sex"] == "f" else one["diagnosis"]} for one in town.rows
    ]
    release = town.publish(source=town.write(tmp_path / "flu.csv", rows))
    values = defaultdict(set)
    for one in town.published(release):
        values[tuple(one[name] for name in town.quasi)].add(one["diagnosis"])
    found = shoal.forecast(release, repeats=2)
    assert found.few == sum(len(some) < 2 for some in values.values()) > 0
    assert found.to_json()["classes_with_few_values"] == found.few


def test_anybodys_table_with_a_schema():
    found = shoal.forecast(
        bundled.path("sattar_table2_b.csv"),
        schema=shoal.Schema.of(quasi=["Age", "Sex", "Zip"], sensitive=["Diagnosis"]),
        overlap=0.5,
        repeats=4,
    )
    smallest = Counter(
        (one["Age"], one["Sex"], one["Zip"]) for one in rows_of(bundled.path("sattar_table2_b.csv"))
    )
    assert found.settings["method"] == "mondrian"
    assert found.settings["rule"] == f"k-anonymity k={min(smallest.values())}"
    assert any("our smallest class" in told for told in found.assumptions)
    assert found.classes == len(smallest)


def test_the_page_is_drawn_for_the_publisher_alone(published, tmp_path):
    page = tmp_path / "forecast.html"
    found = shoal.forecast(published, repeats=3, out=page)
    text = page.read_text(encoding="utf-8")
    assert "What another release may expose" in text
    assert text.count("<svg") == 2
    assert found.page().data["public"] is False
    with pytest.raises(shoal.OutputError, match="may not lie in a release folder"):
        shoal.forecast(published, out=published.folder / "forecast.html")


def test_progress_is_told_and_may_stop_it(published):
    steps = []

    def step(name, done, total):
        steps.append(name)
        if name == "simulating releases":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shoal.forecast(published, repeats=50, progress=step)
    assert {"reading releases", "simulating releases"} <= set(steps)
