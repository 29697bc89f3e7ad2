"""What an adversary does not know of somebody may be anything; a range may be any value in it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import shoal
from shoal.core.errors import InputError

AGES, ZIPS, JOBS = range(30, 50), ("02138", "02139", "02141"), ("nurse", "cook", "clerk")
SCHEMA = shoal.Schema.of(quasi=["age", "zip", "job"], sensitive="ill")
RELEASE = pa.table(
    {
        "age": ["30-39", "30-39", "40-49", "40-49"],
        "zip": ["0213*", "0214*", "0213*", "*"],
        "job": ["nurse", "{cook, clerk}", "*", "clerk"],
        "ill": ["flu", "hiv", "flu", "cold"],
    }
)


def linked(age, zip_, job, release=RELEASE, schema=SCHEMA):
    """How many rows fit one person of whom so much is known."""
    register = pa.table({"age": [age], "zip": [zip_], "job": [job]})
    found = shoal.attack("linking", [release], targets=register, schema=schema)
    return next(iter(found.details["candidates"]))


@pytest.mark.parametrize(
    ("age", "zip_", "job", "rows"),
    [
        ("31", "02138", "nurse", 1),
        (None, "02138", "nurse", 2),
        ("31", None, None, 2),
        (None, None, None, 4),
        ("?", "?", "?", 4),
        ("*", "02141", "clerk", 2),
        ("*", "*", "unknown", 4),
        ("30-39", "02141", "cook", 1),
        ("[30-39]", "0214*", "*", 1),
        ("35-44", "021**", None, 4),
        (">=40", "0213*", "nurse", 1),
        ("<40", None, "{nurse, clerk}", 2),
        ("4*", "*****", "cook|nurse", 1),
    ],
)
def test_a_blank_fits_every_value_and_a_range_those_in_it(age, zip_, job, rows):
    assert linked(age, zip_, job) == rows


def test_a_group_of_the_taxonomy_fits_the_values_under_it():
    tree = shoal.tree([("nurse", "care", "*"), ("cook", "other", "*"), ("clerk", "other", "*")])
    schema = SCHEMA.set(job=shoal.quasi(tree))
    release = RELEASE.set_column(2, "job", pa.array(["care", "other", "nurse", "clerk"]))
    assert linked("31", None, "care", release, schema) == 1
    assert linked(None, None, "other", release, schema) == 2
    assert linked(None, None, "nurse", release, schema) == 2


def test_stated_numbers_and_dates_may_be_ranges_too():
    schema = shoal.Schema.of(quasi=["born", "age"], sensitive="ill").set(
        born=shoal.quasi(kind="date"), age=shoal.quasi(kind="number")
    )
    release = pa.table(
        {"born": ["1960-1969", "1970-1979"], "age": ["50-59", "40-49"], "ill": ["flu", "hiv"]}
    )
    register = pa.table(
        {"born": ["1965", "1969-1971", "1971-03-04", None], "age": ["55", None, "40-60", "45"]}
    )
    found = shoal.attack("linking", [release], targets=register, schema=schema)
    assert found.details["candidates"] == {1: 3, 2: 1}


def test_what_is_neither_a_number_nor_a_range_of_them_is_refused_without_its_value():
    schema = SCHEMA.set(age=shoal.quasi(kind="number"))
    with pytest.raises(InputError, match="1 value of column 'age'") as error:
        linked("elderly", "02138", "nurse", schema=schema)
    assert "elderly" not in str(error.value)


def test_a_word_that_the_release_publishes_as_a_value_is_that_value(tmp_path):
    table = pa.table({"job": ["none", "none", "cook", "cook"], "ill": ["a", "b", "a", "b"]})
    schema = shoal.Schema.of(quasi="job", sensitive="ill")
    release = shoal.publish(table, schema, "k-anonymity k=2", out=tmp_path / "out")
    found = shoal.attack("linking", [release], targets=pa.table({"job": ["none", "cook"]}))
    assert found.details["candidates"] == {2: 2}
    found = shoal.attack("linking", [release], targets=pa.table({"job": ["unknown", "cook"]}))
    assert found.details["candidates"] == {2: 1, 4: 1}


def test_bands_that_the_release_publishes_as_words_stay_words():
    release = pa.table({"band": ["10-20", "20-30"], "ill": ["flu", "hiv"]})
    schema = shoal.Schema.of(quasi="band", sensitive="ill")
    register = pa.table({"band": ["10-20", "20-30"]})
    found = shoal.attack("linking", [release], targets=register, schema=schema)
    assert found.details["candidates"] == {1: 2}


def test_an_empty_cell_of_a_person_fits_published_nulls_and_values_alike(tmp_path):
    table = pa.table({"age": [30, 30, None, None], "ill": ["a", "b", "a", "b"]})
    schema = shoal.Schema.of(quasi="age", sensitive="ill")
    release = shoal.publish(table, schema, "k-anonymity k=2", out=tmp_path / "out")
    register = pa.table({"age": pa.array([30, None], pa.int64())})
    found = shoal.attack("linking", [release], targets=register)
    assert found.details["candidates"] == {2: 1, 4: 1}


def test_named_people_with_blanks_may_be_in_several_classes():
    register = pa.table({"name": ["Ed"], "age": ["30-39"], "zip": [None], "job": ["cook"]})
    asked = {"targets": register, "names": "name", "schema": SCHEMA}
    assert shoal.attack("background", [RELEASE], about="Ed.ill=hiv", **asked).sure == 1
    unknown = register.set_column(3, "job", pa.array([None], pa.string()))
    found = shoal.attack(
        "background", [RELEASE], about="Ed.ill=flu", **{**asked, "targets": unknown}
    )
    assert found.sure == 1  # of the two classes that Ed may be in, one has flu alone


def test_the_nearest_centroid_leaves_unknown_columns_out():
    release = pa.table({"x": [1.5, 8.5], "y": [1.5, 8.5], "ill": ["flu", "hiv"]})
    schema = shoal.Schema.of(quasi=["x", "y"], sensitive="ill")
    register = pa.table({"x": [1.0, None, 9.0], "y": [1.0, 9.0, None]})
    found = shoal.attack("linking", [release], targets=register, schema=schema, location="centroid")
    assert found.details["candidates"] == {1: 3}
    assert found.details["certain"] == 1


# An oracle in plain Python: what is known of a person is a set of values in each column.


def _label(rng, domain, write):
    """A label of a release, or of an adversary, and the values that it covers."""
    low = rng.randrange(len(domain))
    high = min(len(domain) - 1, low + rng.randrange(2))
    some = tuple(domain[low : high + 1])
    return write(some), frozenset(some)


def _ages(some):
    return str(some[0]) if len(some) == 1 else f"[{some[0]}-{some[-1]}]"


def _jobs(some):
    return some[0] if len(some) == 1 else "{" + ", ".join(some) + "}"


def _case(rng, rows, people, releases):
    """Random releases with labels, and people of whom more or less is known."""
    domains = (list(range(20, 28)), ["a", "b", "c", "d"])
    writers = (_ages, _jobs)
    everything = tuple(frozenset(domain) for domain in domains)

    def cell(j, blank):
        if rng.random() < blank:
            return rng.choice(["*", None]), everything[j]
        return _label(rng, domains[j], writers[j])

    tables = [
        [([cell(j, 0.1) for j in range(2)], rng.choice("xyz")) for _ in range(rows)]
        for _ in range(releases)
    ]
    return tables, [[cell(j, 0.2) for j in range(2)] for _ in range(people)]


def _tables(tables, people):
    made = [
        pa.table(
            {
                "age": pa.array([cells[0][0] or "*" for cells, _ in rows], pa.string()),
                "job": pa.array([cells[1][0] or "*" for cells, _ in rows], pa.string()),
                "ill": [value for _, value in rows],
            }
        )
        for rows in tables
    ]
    register = pa.table(
        {
            "age": pa.array([cells[0][0] for cells in people], pa.string()),
            "job": pa.array([cells[1][0] for cells in people], pa.string()),
        }
    )
    return made, register


def _fits(person, row):
    return all(mine[1] & theirs[1] for mine, theirs in zip(person, row[0], strict=True))


SAMPLE = shoal.Schema.of(quasi=["age", "job"], sensitive="ill").set(
    age=shoal.quasi(kind="number"),
    job=shoal.quasi(domain=["a", "b", "c", "d"]),
)


def _check_linking(seed):
    tables, people = _case(random.Random(seed), 6, 8, 1)
    (release,), register = _tables(tables, people)
    fits = [[row for row in tables[0] if _fits(person, row)] for person in people]
    if not any(fits):
        return
    found = shoal.attack("linking", [release], targets=register, schema=SAMPLE)
    candidates = [len(some) for some in fits if some]
    assert found.details["candidates"] == {n: candidates.count(n) for n in sorted(set(candidates))}
    others = [sum(_fits(person, row) for person in people) for row in tables[0]]
    of_row = {id(row): n for row, n in zip(tables[0], others, strict=True)}
    certain = [len(some) == 1 and of_row[id(some[0])] == 1 for some in fits]
    settled = [len({value for _, value in some}) == 1 for some in fits]
    assert found.details["certain"] == sum(certain)
    assert found.details["settled"] == sum(settled)


def _check_intersection(seed):
    tables, people = _case(random.Random(seed), 6, 8, 2)
    releases, register = _tables(tables, people)
    left = []
    for person in people:
        each = [{v for cells, v in rows if _fits(person, (cells, v))} for rows in tables]
        left.append(len(each[0] & each[1]))
    if not any(left):
        return
    found = shoal.attack("intersection", releases, targets=register, schema=SAMPLE)
    after = [n for n in left if n]
    assert found.details["candidates_after"] == {n: after.count(n) for n in sorted(set(after))}
    assert found.exposed == after.count(1)


@pytest.mark.parametrize("seed", range(2))
def test_linking_counts_what_plain_sets_count(seed):
    _check_linking(seed)


@pytest.mark.parametrize("seed", range(2))
def test_intersection_leaves_what_plain_sets_leave(seed):
    _check_intersection(seed)


@pytest.mark.long
def test_hundreds_of_random_tables_agree_with_plain_sets():
    for seed in range(100, 300):
        _check_linking(seed)
        _check_intersection(seed)


def test_an_empty_cell_that_the_schema_calls_a_value_is_that_value(tmp_path):
    """Who was not tested for the one is known not to have been, and that finds them."""
    table = pa.table(
        {
            "age": [30] * 4,
            "test": ["a", None, None, "b"],
            "ill": ["x", "y", "y", "z"],
        }
    )
    schema = shoal.Schema.of(quasi="age", sensitive=["test", "ill"])
    register = pa.table({"age": [30, 30], "test": pa.array([None, "b"], pa.string())})
    for missing, settled in (("value", 2), ("", 1)):
        stated = schema.set(test=shoal.sensitive(missing=missing))
        release = shoal.publish(table, stated, "k-anonymity k=2", out=tmp_path / (missing or "any"))
        found = shoal.attack("linking", [release], targets=register, on="ill")
        assert found.details["settled"] == settled
