"""A release based on an earlier one says nothing finer about anybody who was in that."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal

QUASI = ("age", "sex", "zip")
MISSING = -1000


# What the published labels mean, read by the tests themselves


def span(label: str) -> tuple[float, float]:
    """Ages of a label as a closed range; an empty cell is null."""
    if label == "*":
        return -float("inf"), float("inf")
    ends = re.fullmatch(r"\[(\d+)-(\d+)\]", label)
    if ends:
        return float(ends[1]), float(ends[2])
    return (float(label),) * 2 if label else (MISSING, MISSING)


def wider(outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    """Whether the labels of (age, sex, zip) cover the others."""
    (low, high), (first, last) = span(outer[0]), span(inner[0])
    sex = outer[1] in ("*", inner[1])
    prefix = outer[2].rstrip("*")
    return low <= first and last <= high and sex and inner[2].rstrip("*").startswith(prefix)


def overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    (low, high), (first, last) = span(one[0]), span(other[0])
    sex = one[1] == other[1] or "*" in (one[1], other[1])
    left, right = one[2].rstrip("*"), other[2].rstrip("*")
    return max(low, first) <= min(high, last) and sex and left.startswith(right[: len(left)])


def cell(row) -> tuple[str, ...]:
    return tuple(row[name] for name in QUASI)


def by_person(town, release, people) -> dict[str, tuple[str, ...]]:
    """The published cells of each person, by the keyed hashes in the private companion."""
    key = hashlib.sha256(bytes.fromhex(town.companion(release)["key"])).digest()
    hashes = {hashlib.sha256(key + f"={p}".encode()).hexdigest()[:32]: p for p in people}
    hidden = pq.read_table(release.companion / "rows.parquet")["person"].to_pylist()
    rows = town.published(release)
    return {hashes[who]: cell(row) for who, row in zip(hidden, rows, strict=True)}


def later(people, seed, gone=10, new=20, moved=4, changed=5):
    """The town some time after: people left, came, moved house and fell ill with something else."""
    rng = random.Random(seed)
    rows = [dict(row) for row in rng.sample(people, len(people) - gone)]
    for row in rng.sample(rows, moved):
        row["zip"], row["age"] = "90210", str(int(row["age"]) + rng.randrange(9))
    for row in rng.sample(rows, changed):
        row["diagnosis"] = rng.choice(["flu", "gout"])
    for i in range(new):
        rows.append(dict(rng.choice(people)) | {"patient": f"N{i}", "age": str(rng.randrange(99))})
    rng.shuffle(rows)
    return rows


def second(town, rows, rule="k-anonymity k=4", **settings):
    table = town.write(town.folder / "later.csv", rows)
    settings = {"based_on": town.folder / "release", "out": town.folder / "second"} | settings
    return town.publish(rule, source=table, **settings)


RULES = (
    "k-anonymity k=4",
    "k-anonymity k=3 & distinct-diversity l=2",
    "k-anonymity k=2 & t-closeness t=0.7",
)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rule", RULES)
def test_nobody_s_cells_become_finer(town, rule, seed):
    rng = random.Random(seed)
    town.rows = town.people(rng.randrange(40, 90), seed)
    town.write(town.table, town.rows)
    first = town.publish(rule)
    rows = later(town.rows, seed, rng.randrange(20), rng.randrange(25), rng.randrange(6))
    release = second(town, rows, rule)
    assert shoal.verify(release.folder, rule=rule).holds
    assert len(town.published(release)) == len(rows)
    names = [row["patient"] for row in [*town.rows, *rows]]
    old, new = (by_person(town, one, names) for one in (first, release))
    both = old.keys() & new.keys()
    assert all(wider(new[person], old[person]) for person in both)
    now = {row["patient"]: cell(row) for row in rows}
    assert all(wider(new[person], now[person]) for person in now)
    told = town.companion(release)
    same = sum(new[person] == old[person] for person in both)
    assert told["rows_frozen"] == same == release.private["rows_frozen"]
    assert told["rows_widened"] == len(both) - same
    assert told["rows_new"] == len(new.keys() - old.keys())
    assert told["rows_gone"] == len(old.keys() - new.keys())


def test_classes_that_are_still_large_enough_keep_their_labels(town):
    first = town.publish()
    rows = later(town.rows, 3)
    release = second(town, rows)
    names = [row["patient"] for row in [*town.rows, *rows]]
    old, new = (by_person(town, one, names) for one in (first, release))
    now = {row["patient"]: cell(row) for row in rows}
    staying = Counter(old[p] for p in old if p in now and wider(old[p], now[p]))
    large = {labels for labels, count in staying.items() if count >= 4}
    frozen = [p for p in old if p in now and old[p] in large and wider(old[p], now[p])]
    assert len(frozen) > 30
    assert all(new[person] == old[person] for person in frozen)
    assert release.private["rows_frozen"] >= len(frozen)


def test_the_same_table_again_is_the_same_release(town):
    first, again = town.publish(), second(town, town.rows)
    sizes = [Counter(cell(row) for row in town.published(one)) for one in (first, again)]
    assert sizes[0] == sizes[1]
    assert again.private["rows_frozen"] == 80
    assert town.manifest(again)["based_on"] == town.manifest(first)["sha256"]
    assert "based_on" not in town.manifest(first)


def linked_uniques(before, after) -> int:
    """Brute force: rows with one partner of the same diagnosis, and alone with what both say.

    A row whose partner is not settled may be linked to any of them.
    """
    linked = defaultdict(int)
    for row in before:
        said = {
            meet(cell(row), cell(other))
            for other in after
            if row["diagnosis"] == other["diagnosis"] and overlap(cell(row), cell(other))
        }
        for one in said:
            linked[one] += 1
    sizes = Counter(map(cell, before))
    assert min(sizes.values()) > 1
    return sum(count == 1 for count in linked.values())


def meet(one, other):
    (low, high), (first, last) = span(one[0]), span(other[0])
    sex = one[1] if other[1] == "*" else other[1]
    return max(low, first), min(high, last), sex, max(one[2].rstrip("*"), other[2].rstrip("*"))


@pytest.mark.parametrize("seed", range(2))
def test_linking_both_by_the_diagnosis_singles_nobody_out(town, seed):
    """With a diagnosis for everybody each row finds its partner, and nothing new."""
    rows = [row | {"diagnosis": f"d{i}"} for i, row in enumerate(town.people(60, seed))]
    first = town.publish("k-anonymity k=3", source=town.write(town.table, rows))
    more = [
        row | {"diagnosis": f"e{i}", "patient": f"N{i}"}
        for i, row in enumerate(town.people(50, seed + 9))
    ]
    moved = [row | ({"zip": "90210"} if i % 9 == 0 else {}) for i, row in enumerate(rows)]
    release = second(town, [*moved, *more], "k-anonymity k=3")
    assert linked_uniques(town.published(first), town.published(release)) == 0
    assert shoal.attack("temporal", [first, release]).exposed == 0
    table = town.write(town.folder / "later.csv", [*moved, *more])
    careless = town.publish("k-anonymity k=3", source=table, out=town.folder / "careless")
    assert linked_uniques(town.published(first), town.published(careless)) > 0


def test_one_newcomer_joins_a_class_that_has_room(town):
    town.publish()
    newcomer = town.rows[0] | {"patient": "N0"}
    release = second(town, [*town.rows, newcomer])
    assert release.private["rows_frozen"] == 80
    assert release.private["rows_new"] == 1
    assert release.private["rows_new_few"] == 1
    assert release.verdict.rows == 81


def test_one_newcomer_from_elsewhere_makes_others_wider(town):
    first = town.publish()
    newcomer = town.rows[0] | {"patient": "N0", "zip": "99999", "age": "17"}
    release = second(town, [*town.rows, newcomer])
    assert release.private["rows_new"] == 1
    assert release.private["rows_widened"] > 0
    names = [row["patient"] for row in town.rows] + ["N0"]
    old, new = (by_person(town, one, names) for one in (first, release))
    assert all(wider(new[person], old[person]) for person in old)


def test_only_when_all_people_together_fail_it_is_refused(town):
    town.publish()
    with pytest.raises(shoal.NotMetError, match="81"):
        second(town, town.rows, "k-anonymity k=81")
    assert town.names() == {"people.csv", "later.csv", "release", "release.private"}
    assert second(town, town.rows, "k-anonymity k=80").verdict.classes == 1


def test_rows_may_be_held_back(town):
    first = town.publish()
    rows = [*town.rows, town.rows[0] | {"patient": "N0", "zip": "99999"}]
    for as_ in ("absent", "starred"):
        shutil.rmtree(town.folder / "second", ignore_errors=True)
        shutil.rmtree(town.folder / "second.private", ignore_errors=True)
        release = second(town, rows[20:], hold_back=0.2, held_back_as=as_)
        names = [row["patient"] for row in rows]
        old, new = (by_person(town, one, names) for one in (first, release))
        assert all(wider(new[person], old[person]) for person in old.keys() & new.keys())
        assert release.verdict.rows == len(new)


def test_releases_are_based_on_one_another_in_a_row(town):
    rows, names, cells = town.rows, [], []
    previous = None
    for number in range(3):
        table = town.write(town.folder / f"{number}.csv", rows)
        previous = town.publish(source=table, based_on=previous, out=town.folder / f"r{number}")
        names += [row["patient"] for row in rows]
        cells.append(by_person(town, previous, names))
        rows = later(rows, number, new=0)
    for old, new in ((0, 1), (1, 2), (0, 2)):
        both = cells[old].keys() & cells[new].keys()
        assert all(wider(cells[new][p], cells[old][p]) for p in both)


def test_a_release_can_replace_the_one_it_is_based_on(town):
    first = town.publish()
    before = by_person(town, first, [row["patient"] for row in town.rows])
    rows = later(town.rows, 1, new=30)
    release = second(town, rows, out=town.folder / "release", replace=True)
    after = by_person(town, release, [row["patient"] for row in [*rows, *town.rows]])
    assert all(wider(after[p], before[p]) for p in before.keys() & after.keys())


def test_a_dry_run_tells_the_outcome(town):
    town.publish()
    release = second(town, later(town.rows, 1), dry_run=True)
    assert release.verdict.holds
    assert release.private["rows_gone"] == 10
    assert release.manifest["based_on"]
    assert not (town.folder / "second").exists()


HIERARCHIES = {
    "dates": {"born": shoal.quasi(shoal.dates()), "age": shoal.identifier},
    "intervals": {"age": shoal.quasi(shoal.intervals(5, 10, 20, bottom=30, top=70))},
    "sets": {"zip": shoal.quasi(shoal.flat(), kind="category")},
    "tree": {"sex": shoal.quasi(shoal.tree({"person": ["f", "m"]}))},
    "domain": {"sex": shoal.quasi(domain=("f", "m", "x"), kind="category")},
}


@pytest.mark.parametrize("kind", HIERARCHIES)
def test_every_kind_of_cell_is_kept_or_widened(town, kind):
    """Here the check inside ``publish``, on labels alone, is the judge."""
    schema = town.schema(**HIERARCHIES[kind])
    format_ = "xlsx" if kind == "dates" else "parquet" if kind == "sets" else "csv"
    town.publish(schema=schema, format=format_)
    rows = later(town.rows, 5)
    release = second(town, rows, schema=schema, format=format_)
    assert release.private["rows_frozen"] > 20
    assert release.private["rows_new"] == 20


def test_nulls_are_values(town):
    for row in town.rows[:15]:
        row["age"] = ""
    town.write(town.table, town.rows)
    first = town.publish()
    rows = later([row for row in town.rows if row["age"]], 2)
    rows += town.rows[:9]
    release = second(town, rows)
    names = [row["patient"] for row in [*rows, *town.rows]]
    old, new = (by_person(town, one, names) for one in (first, release))
    assert all(wider(new[p], old[p]) for p in old.keys() & new.keys())


def test_people_by_number(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"id": np.arange(40), "age": rng.integers(20, 60, 40)})
    schema = shoal.Schema.of(quasi="age", person="id")
    first = shoal.publish(table, schema, "k-anonymity k=4", out=tmp_path / "a")
    more = pa.table({"id": np.arange(5, 60), "age": rng.integers(20, 60, 55)})
    release = shoal.publish(more, schema, "k-anonymity k=4", out=tmp_path / "b", based_on=first)
    assert release.private["rows_gone"] == 5
    assert release.private["rows_new"] == 20


def test_a_taxonomy_from_a_file_is_kept_in_the_companion(town):
    """The file may be elsewhere, or longer, when the next release is made."""
    tree = shoal.from_arx_csv("f;person;*\nm;person;*\n", source="sex.csv")
    schema = town.schema(sex=shoal.quasi(tree))
    town.publish(schema=schema)
    longer = shoal.from_arx_csv("f;person;*\nm;person;*\nx;person;*\n", source="new.csv")
    release = second(town, town.rows, schema=town.schema(sex=shoal.quasi(longer)))
    assert release.private["rows_frozen"] == 80


def test_a_rule_about_the_population_is_judged_on_the_new_cells(town):
    town.publish("k-map k=4", population=town.table)
    rows = later(town.rows, 6)
    each = {row["patient"]: row for row in [*rows, *town.rows]}
    everybody = town.write(town.folder / "everybody.csv", list(each.values()))
    release = second(town, rows, "k-map k=4", population=everybody)
    assert release.verdict.holds
    assert release.private["rows_new"] == 20
