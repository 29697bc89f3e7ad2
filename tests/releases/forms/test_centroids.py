"""A release of centroids: what is published, what is refused, and how people are found in it."""

from __future__ import annotations

import csv
import json
from collections import Counter
from datetime import date
from statistics import mean

import numpy as np
import pytest

import shoal
from shoal.core.axis import Axis
from shoal.core.cells import cover_classes
from shoal.core.errors import InputError, UsageError
from shoal.core.tally import Cut, Tally
from shoal.releases.forms.centroids import compute_centroids

MADE = {"method": "microaggregation", "form": "centroids"}


@pytest.fixture(scope="module")
def release(standing):
    return standing.publish(out=standing.folder / "centroids", **MADE)


@pytest.fixture(scope="module")
def cuts(standing):
    """Centroids of classes that Mondrian cut."""
    return standing.publish(out=standing.folder / "cuts", form="centroids")


def cut_of(axes, columns, class_):
    """Rows of codes in classes, as a tally and its cut."""
    rows = len(class_)
    nothing = np.zeros((0, rows), np.int32)
    tally = Tally(tuple(axes), (), np.array(columns, np.int32), nothing, np.ones(rows, np.int64))
    entry, number = np.arange(rows, dtype=np.int32), np.array(class_, np.int32)
    return tally, Cut(entry, number, tally.count, cover_classes(axes, tally.keys, entry, number))


def centroids(axes, columns, class_):
    """The published labels of each row's class, by column."""
    tally, cut = cut_of(axes, columns, class_)
    made, labels = compute_centroids(tally, cut)
    words = {
        name: list(np.array(some.to_pylist(), object)[n]) for name, (n, some) in labels.items()
    }
    return made, {name: [some[c] for c in made.class_] for name, some in words.items()}


def line(name, values, kind="number", null=False, shape="ordered"):
    places = [v.toordinal() for v in values] if kind == "date" else values
    return Axis(name, kind, shape, tuple(values), null, positions=np.array(places, float))


def test_numbers_are_means_in_the_precision_of_most_of_them():
    ages, pay = line("age", (20.0, 25.0, 31.0)), line("pay", (1.25, 2.55, 4.0))
    _, shown = centroids((ages, pay), [[0, 1, 2, 2], [0, 1, 1, 2]], [0, 0, 1, 1])
    assert shown["age"] == ["22", "22", "31", "31"]
    assert shown["pay"] == ["1.9", "1.9", "3.28", "3.28"]


def test_one_value_with_many_digits_does_not_give_them_to_all_means():
    pay = line("pay", (100.0, 101.0, 102.0, 103.123456))
    _, shown = centroids((pay,), [[0, 1, 1, 2, 2, 3]], [0, 0, 0, 1, 1, 1])
    assert shown["pay"] == ["101"] * 3 + ["102"] * 3


def test_the_digits_are_those_of_people_and_not_of_values_that_nobody_has():
    pay = line("pay", (0.0, 1.0, 2.0, 3.0, 4.25, 5.75))
    _, shown = centroids((pay,), [[4, 5]], [0, 0])
    assert shown["pay"] == ["5", "5"]
    _, shown = centroids((pay,), [[4, 5, 4]], [0, 0, 0])
    assert shown["pay"] == ["4.75"] * 3


def test_dates_are_mean_days_and_words_medians_or_modes():
    days = line("day", (date(2020, 1, 1), date(2020, 1, 4), date(2020, 1, 11)), "date")
    size = Axis("size", "category", "ordered", ("S", "M", "L"))
    town = Axis("town", "category", "flat", ("Oslo", "Rome"))
    columns = [[0, 1, 2, 0], [0, 1, 2, 2], [1, 1, 0, 0]]
    _, shown = centroids((days, size, town), columns, [0, 0, 0, 1])
    assert shown["day"] == ["2020-01-05"] * 3 + ["2020-01-01"]
    assert shown["size"] == ["M", "M", "M", "L"]
    assert shown["town"] == ["Rome", "Rome", "Rome", "Oslo"]


def test_null_is_the_centroid_where_most_are_null():
    age = line("age", (20.0, 30.0), null=True)
    size = Axis("size", "category", "ordered", ("S", "L"), null=True)
    columns = [[0, 2, 2, 0, 1, 2], [0, 2, 2, 1, 1, 2]]
    _, shown = centroids((age, size), columns, [0, 0, 0, 1, 1, 1])
    assert shown["age"] == [None] * 3 + ["25"] * 3
    assert shown["size"] == [None] * 3 + ["L"] * 3


AGE = line("age", (20.0, 30.0), null=True)
SIZE = Axis("size", "category", "ordered", ("S", "L"), null=True)
TOWN = Axis("town", "category", "flat", ("Oslo", "Rome"), null=True)


def test_null_wins_where_as_many_are_null():
    _, shown = centroids((AGE, SIZE, TOWN), [[0, 2], [0, 2], [0, 2]], [0, 0])
    assert shown == {"age": [None] * 2, "size": [None] * 2, "town": [None] * 2}
    _, shown = centroids((TOWN,), [[0, 1, 2, 0, 0, 2]], [0, 0, 0, 1, 1, 1])
    assert shown["town"] == [None] * 3 + ["Oslo"] * 3


@pytest.mark.parametrize("least", [2, 3, 4])
def test_a_centroid_is_of_as_many_people_as_the_rule_asks_of_a_class(least):
    columns, class_ = [[0, 0, 1, 2]] * 3, [0] * 4
    tally, cut = cut_of((AGE, SIZE, TOWN), columns, class_)
    _, labels = compute_centroids(tally, cut, least)
    shown = [words[int(number[0])].as_py() for number, words in labels.values()]
    assert shown == ([None] * 3 if least > 3 else ["23", "S", "Oslo"])


def test_nobody_s_own_value_is_published_beside_nulls(tmp_path):
    rows = [("pay", "ill"), *[(pay, "flu") for pay in (57341.22, "", 100.5, 101.5, 102.5, 103.5)]]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    schema = shoal.Schema.of(quasi="pay", sensitive="ill")
    made = shoal.publish(tmp_path / "t.csv", schema, "k-anonymity k=2", out=tmp_path / "r", **MADE)
    with made.path.open(newline="") as file:
        assert not any(row[0].startswith("57341") for row in csv.reader(file))


def test_where_there_are_levels_a_mean_is_a_value_of_the_column():
    age = line("age", (20.0, 30.0, 50.0), shape="tree")
    _, shown = centroids((age,), [[0, 1, 1, 2, 0]], [0, 0, 1, 1, 1])
    assert shown["age"] == ["20", "20", "30", "30", "30"]  # of 25 and 33.3


def test_classes_with_equal_centroids_are_one():
    age = line("age", tuple(float(a) for a in range(20, 30)))
    made, shown = centroids((age,), [[0, 8, 3, 5, 9, 9]], [0, 0, 1, 1, 2, 2])
    assert shown["age"] == ["24"] * 4 + ["29"] * 2
    assert made.classes == 2
    assert (made.cells.low[made.class_[0], 0], made.cells.high[made.class_[0], 0]) == (0, 8)


def test_rows_of_a_class_are_equal_and_the_file_verifies(standing, release):
    assert standing.manifest(release)["form"] == "centroids"
    sizes = standing.sizes(release)
    assert sizes[0] >= 4
    verdict = shoal.verify(release.folder)
    assert (
        (verdict.rows, verdict.classes) == (80, len(sizes)) == (sum(sizes), release.verdict.classes)
    )
    assert not any(mark in row["age"] for row in standing.published(release) for mark in "[{*")
    facts = release.private
    assert (facts["k"], facts["blocks"]) == (4, 1)
    assert 0 < facts["loss"] < 1


def test_means_and_counts_of_the_table_stay_near(standing, release):
    """Of all rows, the means of a number before and after differ by rounding alone."""
    ages = [
        [int(row["age"]) for row in rows] for rows in (standing.rows, standing.published(release))
    ]
    assert mean(ages[0]) == pytest.approx(mean(ages[1]), abs=0.5)
    zips = [
        Counter(r["zip"] for r in rows) for rows in (standing.rows, standing.published(release))
    ]
    assert set(zips[1]) <= set(zips[0])


def test_any_method_s_classes_can_be_centroids(standing, cuts):
    assert cuts.verdict.holds
    assert standing.manifest(cuts)["method"] == "mondrian"


def test_against_providers_it_is_judged_with_the_companion(standing):
    out = standing.folder / "m-private"
    made = standing.publish("m-privacy m=1 (k-anonymity k=3)", out=out, **MADE)
    assert shoal.verify(made).how == "counted with the private companion"


def test_a_changed_file_does_not_verify(town):
    made = town.publish(**MADE)
    rows = town.read(made.path)
    rows[0]["age"] = "17"
    town.write(made.path, rows)
    verdict = shoal.verify(made.folder)
    assert not verdict.holds


@pytest.mark.parametrize("form", ["centroid", "", None, ["partition"], 3])
def test_a_form_that_there_is_not_does_not_verify(town, form):
    made = town.publish(**MADE)
    told = town.manifest(made) | {"form": form}
    (made.folder / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match="form"):
        shoal.verify(made.folder)


@pytest.mark.parametrize("share", [True, False])
def test_a_truth_value_is_no_share(standing, share):
    with pytest.raises(UsageError, match="hold_back is a number"):
        standing.publish(out=None, hold_back=share)


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({"population": True}, "k-map k=2"),
        ({"population": True}, "k-anonymity k=2 & delta-presence min=0 max=0.9"),
        ({"held_back_as": "starred", "hold_back": 0.1}, "k-anonymity k=4"),
        ({"two_tables": True}, "k-anonymity k=4"),
        ({"form": "centroid"}, "k-anonymity k=4"),
    ],
)
def test_what_cannot_be_asked_of_centroids_is_refused(standing, asked, rule):
    population = {"population": standing.table} if asked.pop("population", False) else {}
    with pytest.raises(UsageError):
        standing.publish(rule, out=None, **MADE | population | asked)


def test_a_rule_about_a_population_is_refused_when_verified(standing, release):
    with pytest.raises(UsageError, match="centroid covers nobody"):
        shoal.verify(release.folder, rule="k-map k=2", population=standing.table)


@pytest.mark.parametrize("beside", ["original", "population"])
def test_an_audit_does_not_take_them_for_cells(standing, release, beside):
    assert shoal.audit(release.folder).classes == release.verdict.classes
    with pytest.raises(UsageError, match="no cells") as refused:
        shoal.audit(release.folder, **{beside: standing.table})
    assert "shoal report RELEASE --original FILE" in refused.value.hint


def test_neither_based_on_another_nor_another_on_it(standing, release):
    ranges = standing.publish(out=standing.folder / "ranges")
    with pytest.raises(UsageError, match="no cells"):
        standing.publish(out=None, based_on=ranges.folder, **MADE)
    with pytest.raises(UsageError, match="has centroids"):
        standing.publish(out=None, based_on=release.folder)


def test_linking_finds_the_nearest_centroid(standing, release):
    found = shoal.attack("linking", release.folder, targets=standing.table)
    assert (found.people, found.details["absent"]) == (80, 0)
    assert found.details["location"] == "centroid"
    assert any("nearest centroid" in one for one in found.assumptions)
    assert 40 < found.details["located_right"] <= 80


def test_nearest_is_by_numbers_over_their_spread_and_unequal_words(tmp_path):
    """Against a search through all classes in plain Python."""
    people = [
        (20, "f"),
        (22, "f"),
        (24, "m"),
        (60, "m"),
        (62, "m"),
        (64, "f"),
        (66, "f"),
        (30, "m"),
    ]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("who", "age", "sex"), *((i, *p) for i, p in enumerate(people))]
        )
    schema = shoal.Schema.of(quasi=["age", "sex"], person="who")
    made = shoal.publish(tmp_path / "t.csv", schema, "k-anonymity k=2", out=tmp_path / "r", **MADE)
    with made.path.open(newline="") as file:
        rows = [(float(age), sex) for age, sex in list(csv.reader(file))[1:]]
    middle = mean(age for age, _ in rows)
    variance = mean((age - middle) ** 2 for age, _ in rows)
    size = Counter(rows)

    def candidates(age, sex):
        far = {c: round((age - c[0]) ** 2 / variance + (sex != c[1]), 9) for c in size}
        return sum(size[c] for c in size if far[c] == min(far.values()))

    expected = Counter(candidates(*person) for person in people)
    found = shoal.attack("linking", made, targets=tmp_path / "t.csv")
    assert found.details["candidates"] == dict(expected)


def test_intersection_takes_each_release_for_what_it_is(standing, release):
    ranges = standing.publish("k-anonymity k=6", out=standing.folder / "ranges-6")
    found = shoal.attack("intersection", [release.folder, ranges.folder], targets=standing.table)
    assert found.details["absent_by_release"] == [0, 0]
    told = " ".join(found.assumptions)
    assert "honest location" in told
    assert "publishes centroids" in told
    both = shoal.attack("intersection", [release.folder] * 2, targets=standing.table)
    assert both.details["location"] == "centroid"
    assert both.people == 80


def test_the_true_class_is_known_from_the_companion_alone(standing, release, tmp_path):
    asked = {"targets": standing.table, "location": "assumed"}
    truly = shoal.attack("intersection", [release.folder] * 2, **asked)
    assert truly.details["location"] == "assumed"
    bare = tmp_path / "alone"
    bare.mkdir()
    for path in release.folder.iterdir():
        (bare / path.name).write_bytes(path.read_bytes())
    with pytest.raises(UsageError, match="centroids"):
        shoal.attack("intersection", [bare, bare], **asked)


@pytest.mark.parametrize("name", ["order", "complementary", "temporal", "minimality"])
def test_attacks_by_cells_raise(standing, release, cuts, name):
    releases = [cuts] if name == "minimality" else [cuts, release]
    with pytest.raises(InputError, match="centroids"):
        shoal.attack(name, releases, targets=standing.table)


def test_the_red_team_says_why_the_others_did_not_run(standing, release):
    team = shoal.attack("red-team", [release.folder], targets=standing.table)
    assert {one.attack for one in team.findings} >= {"linking", "homogeneity"}


def test_a_report_calls_them_what_they_are(standing, release):
    page = shoal.report(release.folder, original=standing.table)
    assert "most frequent value of the class" in page.html()
