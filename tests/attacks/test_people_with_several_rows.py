"""Where people have several rows, attacks count people: candidates, shares, and what is learnt."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.adversary.context import build_context
from shoal.attacks import get_attack_needs
from shoal.attacks.homogeneity import homogeneity
from shoal.attacks.intersection import intersection
from shoal.attacks.linking import linking
from shoal.attacks.skewness import skewness
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError
from shoal.core.hierarchy import ordered
from shoal.core.theory.adversary_view import (
    NobodyFoundError,
    ReleaseView,
    RowsOnlyError,
    Targets,
    View,
)
from shoal.releases.companion import (
    hash_counterfeit_person,
    hash_missing_person,
    hash_person_values,
)
from shoal.releases.options import ignore_progress
from shoal.releases.published_table import KeyedPersons, read_published_tables

SCHEMA = shoal.Schema.of(quasi=["age"], sensitive="ill", person="who")
ENCOUNTERS = pa.table(
    {
        "who": ["ann", "ann", "ann", "bob", "cat", "dan"],
        "age": ["30-39", "30-39", "30-39", "40-49", "40-49", "40-49"],
        "ill": ["flu", "hiv", "flu", "flu", "cold", "cold"],
    }
)


def attacked(name, targets=None, table=ENCOUNTERS, **asked):
    return shoal.attack(name, [table], targets=targets, schema=SCHEMA, **asked)


def test_three_rows_of_one_person_are_one_candidate():
    register = pa.table({"who": ["ann", "bob", "cat", "dan"], "age": [31, 41, 42, 43]})
    found = attacked("linking", register)
    assert found.details["candidates"] == {1: 1, 3: 3}
    assert found.details["certain"] == 1
    assert found.details["counted"] == {"people": 4, "rows": 6}
    assert found.details["settled"] == 1


def test_the_same_rows_without_a_person_column_are_counted_as_rows():
    schema = shoal.Schema.of(quasi=["age"], sensitive="ill", identifier="who")
    register = pa.table({"age": [31, 41]})
    found = shoal.attack("linking", [ENCOUNTERS], targets=register, schema=schema)
    assert found.details["candidates"] == {3: 2}


def test_somebody_who_is_listed_several_times_is_one_person_with_several_known_rows():
    register = pa.table({"who": ["ann", "ann", "bob"], "age": [31, 99, 41]})
    found = attacked("linking", register)
    assert found.people == 2
    assert found.details["register"] == 2
    assert found.details["candidates"] == {1: 1, 3: 1}


def test_the_row_that_tells_most_is_the_risk_of_who_is_listed_several_times():
    register = pa.table({"who": ["ann", "ann"], "age": [41, 31]})
    found = attacked("linking", register)
    assert (found.people, found.details["candidates"]) == (1, {1: 1})
    assert found.details["prosecutor"]["highest"] == 1


@pytest.mark.parametrize("empty", ["release", "register"])
def test_a_row_with_an_empty_person_is_an_error(empty):
    register = pa.table({"who": ["ann", None if empty == "register" else "bob"], "age": [31, 41]})
    table = ENCOUNTERS
    if empty == "release":
        table = table.set_column(0, "who", pa.array(["ann", None, "ann", "bob", "cat", "dan"]))
    with pytest.raises(InputError, match=r"1 rows of .* the person is empty"):
        attacked("linking", register, table)


def test_homogeneity_counts_people_who_have_a_value():
    found = attacked("homogeneity")
    assert (found.people, found.exposed) == (4, 1)
    assert found.details["counted"] == {"people": 4, "rows": 6}


def test_knowing_the_number_of_rows_tells_a_value():
    table = pa.table(
        {"who": ["ann"] * 3 + ["bob"], "age": ["30-39"] * 4, "ill": ["hiv"] * 3 + ["flu"]}
    )
    found = attacked("homogeneity", table=table)
    assert found.details["certain_by"] == {"class": 0, "number of rows": 1, "several classes": 0}
    assert found.exposed == 1
    assert "for who knows how many rows" in found.sentence


def test_knowing_both_classes_tells_a_value_that_is_constant():
    table = pa.table(
        {
            "who": ["ann", "bob", "ann", "cat"],
            "age": ["30-39", "30-39", "40-49", "40-49"],
            "ill": ["hiv", "flu", "hiv", "cold"],
        }
    )
    found = attacked("homogeneity", table=table)
    assert found.details["certain_by"] == {"class": 0, "number of rows": 0, "several classes": 1}
    changed = table.set_column(2, "ill", pa.array(["hiv", "flu", "cold", "hiv"]))
    assert "several classes" not in attacked("homogeneity", table=changed).details["certain_by"]


def test_what_cannot_judge_by_people_is_not_evaluated_and_says_so():
    table = ENCOUNTERS.append_column("site", pa.array(list("aabbab")))
    schema = SCHEMA.set(site="provider")
    with pytest.raises(RowsOnlyError, match=r"6 rows of release 1 are about 4 people"):
        shoal.attack("coalition", [table], schema=schema)
    with pytest.raises(RowsOnlyError, match="some people have several values"):
        shoal.attack("background", [table], schema=schema)
    with pytest.raises(RowsOnlyError, match="a row for a person"):
        shoal.attack("background", [table], schema=schema, about="#1.ill=flu")
    skipped = dict(shoal.attack("red-team", [table], schema=schema).skipped)
    assert skipped["coalition"].startswith("Not evaluated: ")


def test_joined_rows_are_not_evaluated():
    for name in (
        "complementary",
        "temporal",
        "forward",
        "cross",
        "backward",
        "order",
        "worst-pair",
    ):
        with pytest.raises(RowsOnlyError, match=r"6 rows of release 1 .* about 4 people"):
            shoal.attack(name, [ENCOUNTERS, ENCOUNTERS], schema=SCHEMA)


def test_background_counts_people_where_each_has_one_value_in_one_class():
    once = pa.table({"who": list("abcd"), "age": ["30-39"] * 4, "ill": ["x", "x", "y", "z"]})
    twice = pa.concat_tables([once, once.slice(3, 1), once.slice(3, 1)])
    found, of_rows = attacked("background", table=twice), attacked("background", table=once)
    assert (found.people, found.exposed, found.sure) == (4, of_rows.exposed, of_rows.sure)


def test_a_sample_draws_people_with_all_that_is_known_of_them():
    register = pa.table({"who": list("aabbccdd"), "age": [31, 41] * 4})
    found = attacked("linking", register, sample=2)
    assert found.people == 2


def test_the_companion_says_whose_rows_are_whose(tmp_path):
    table = pa.table({"who": [1, 2, 3, 4], "age": [30, 30, 30, 30], "ill": list("xxyz")})
    release = shoal.publish(table, SCHEMA, "k-anonymity k=3", out=tmp_path / "out")
    (seen,) = read_published_tables([release], None, ignore_progress)
    hashes = hash_person_values(["ann", "bob"], b"key").to_pylist()
    keyed = KeyedPersons(b"key", pa.array([hashes[i % 2] for i in range(4)]))
    (published,) = (
        build_context([replace(seen, keyed=keyed)])
        .view([0], get_attack_needs("homogeneity"))
        .releases
    )
    assert (published.persons, published.people.tolist()) == (2, [2])
    assert published.person.tolist() == [0, 1, 0, 1]
    alone = build_context([seen]).view([0], get_attack_needs("homogeneity")).releases[0]
    assert alone.person is None
    empty = KeyedPersons(b"key", pa.array([hash_missing_person(b"key"), *hashes, hashes[0]]))
    with pytest.raises(InputError, match="the person is empty"):
        build_context([replace(seen, keyed=empty)]).view([0], get_attack_needs("homogeneity"))
    counterfeit = KeyedPersons(
        b"key",
        pa.array([hash_counterfeit_person(b"key"), hash_counterfeit_person(b"key"), *hashes]),
    )
    (published,) = (
        build_context([replace(seen, keyed=counterfeit)])
        .view([0], get_attack_needs("homogeneity"))
        .releases
    )
    assert published.person is None


# Oracles in plain Python: rows are (cells, value, person), people lists of cells.

SIZES = (5, 4)


def _cell(rng, j):
    if j == 0:
        low = rng.randrange(SIZES[0])
        return frozenset(range(low, min(SIZES[0], low + rng.choice((1, 1, 2, 5)))))
    if rng.random() < 0.3:
        return frozenset(range(SIZES[1]))
    return frozenset(rng.sample(range(SIZES[1]), rng.choice((1, 1, 2))))


def _case(rng, releases):
    """Random releases of people with several rows, a register that lists some several times."""
    cells = [tuple(_cell(rng, j) for j in range(2)) for _ in range(3)]
    people, values = rng.randrange(1, 6), rng.randrange(1, 4)
    constant = {p: rng.randrange(values) for p in range(people)} if rng.random() < 0.5 else {}
    tables = []
    for _ in range(releases):
        who = [rng.randrange(people) for _ in range(rng.randrange(1, 10))]
        tables.append([(rng.choice(cells), constant.get(p, rng.randrange(values)), p) for p in who])
    register = [
        (tuple(_cell(rng, j) for j in range(2)), rng.randrange(people + 1))
        for _ in range(rng.randrange(1, 8))
    ]
    return tables, register


AXES = (
    ordered().grow("age", "number", [float(i) for i in range(SIZES[0])]),
    Axis("job", "category", "flat", tuple("abcd")),
)


def _cells(some):
    low = np.array([[min(one[0]), 0] for one in some], np.int32)
    high = np.array([[max(one[0]), SIZES[1] - 1] for one in some], np.int32)
    bits = np.array([[sum(1 << code for code in one[1])] for one in some], np.uint64)
    return Cells(low, high, {1: bits})


def _view(tables, register):
    """The same as codes, the way that files become a view."""
    releases = []
    _, number = np.unique([p for _, p in register], return_inverse=True)
    first = {p: i for i, p in reversed(list(enumerate(p for _, p in register)))}
    rank = {p: i for i, p in enumerate(sorted(first, key=first.get))}
    person = np.array([rank[p] for _, p in register], np.int64)
    for i, rows in enumerate(tables):
        cells = _cells([cell for cell, _, _ in rows])
        one, class_ = cells.unique()
        who = np.array([p for _, _, p in rows], np.int32)
        several = len(set(who.tolist())) < len(who)
        held = np.array([sum(p == q for _, _, q in rows) for _, p in register], np.int64)
        releases.append(
            ReleaseView(
                f"release {i + 1}",
                cells.take(one),
                class_.astype(np.int32),
                np.array([v for _, v, _ in rows], np.int32),
                person=who if several else None,
                rows_held=held if several else None,
            )
        )
    people = Targets(
        np.full((2, len(register)), -1, np.int32),
        np.arange(1, len(register) + 1),
        cells=_cells([cell for cell, _ in register]),
        person=person if len(number) > len(set(person.tolist())) else None,
    )
    return View(AXES, tuple(releases), Axis("ill", "category", "flat", tuple("xyz")), people=people)


def _fits(known, row):
    return all(mine & theirs for mine, theirs in zip(known, row[0], strict=True))


def _by_person(register):
    people = {}
    for cells, person in register:
        people.setdefault(person, []).append(cells)
    return people


def _linked(rows, register):
    """Of each person who fits: candidates, whether a row has their name, and a value is settled."""
    people = _by_person(register)
    found = {}
    for person, vectors in people.items():
        told = []
        for known in vectors:
            fitting = [row for row in rows if _fits(known, row)]
            if not fitting:
                continue
            who = {p for _, _, p in fitting}
            others = [
                {q for q, some in people.items() if any(_fits(one, row) for one in some)}
                for row in fitting
            ]
            settled = any(
                all(any(p == q and v == s for _, v, q in fitting) for p in who) for s in range(3)
            )
            certain = len(who) == 1 and any(len(one) == 1 for one in others)
            told.append((len(who), certain, settled))
        if told:
            least = min(n for n, _, _ in told)
            found[person] = least, any(c for _, c, _ in told), any(s for _, _, s in told)
    return found


# Each of these gives what the attack counts and what plain Python counts, for one random case.

NOBODY = "nobody is found"


def _histogram(numbers):
    return {n: numbers.count(n) for n in sorted(set(numbers))}


def _linking(seed, view_of=_view):
    tables, register = _case(random.Random(seed), 1)
    linked = _linked(tables[0], register)
    numbers = [n for n, _, _ in linked.values()]
    expected = {
        "candidates": _histogram(numbers),
        "certain": sum(certain for _, certain, _ in linked.values()),
        "settled": sum(settled for _, _, settled in linked.values()),
        "exposed": sum(certain or settled for _, certain, settled in linked.values()),
        "people": len(linked),
        "register": len(_by_person(register)),
        "highest": pytest.approx(1 / min(numbers, default=1)),
    }
    try:
        finding = linking(view_of(tables, register))
    except NobodyFoundError:
        return NOBODY, expected if linked else NOBODY
    prosecutor = finding.details["prosecutor"]
    counted = {
        **{key: finding.details[key] for key in ("candidates", "certain", "settled", "register")},
        "exposed": finding.exposed,
        "people": finding.people,
        # Of somebody else than whom the definition means, nothing is expected.
        "highest": expected["highest"] if "adversary" in prosecutor else prosecutor["highest"],
    }
    return counted, expected if linked else NOBODY


def _values_left(tables, register, held=None):
    """How many values are left of each person who is found in every release.

    ``held`` says of each release which cell holds each row of the register, where that is known.
    """
    people, left = _by_person(register), {}
    repeated = [len({p for _, _, p in rows}) < len(rows) for rows in tables]
    constant = any(repeated) and all(
        not again or len({(p, v) for _, v, p in rows}) == len({p for _, _, p in rows})
        for rows, again in zip(tables, repeated, strict=True)
    )
    several_rows = len(register) > len(people) or any(repeated)
    for person, vectors in people.items():
        if held is None:
            each = [
                [{v for c, v, _ in rows if _fits(known, (c,))} for known in vectors]
                for rows in tables
            ]
        else:
            listed = [i for i, (_, p) in enumerate(register) if p == person]
            each = [
                [{v for c, v, _ in rows if c == cells[i]} for i in listed]
                for rows, cells in zip(tables, held, strict=True)
            ]
        each = [[some for some in by_release if some] for by_release in each]
        if not all(each):
            continue
        several = len(vectors) > 1 or any(
            again and sum(p == person for _, _, p in rows) > 1
            for rows, again in zip(tables, repeated, strict=True)
        )
        if constant or not several_rows:
            some = set.intersection(*(one for by_release in each for one in by_release))
            left[person] = len(some)
        elif several:
            left[person] = min(len(set().union(*by_release)) for by_release in each)
        else:
            left[person] = len(set.intersection(*(set().union(*one) for one in each)))
    return {person: n for person, n in left.items() if n}


def _intersected(view, values_left, **options):
    numbers = list(values_left.values())
    expected = (_histogram(numbers), len(numbers), numbers.count(1)) if numbers else NOBODY
    try:
        finding = intersection(view, **options)
    except NobodyFoundError:
        return NOBODY, expected
    return (finding.details["candidates_after"], finding.people, finding.exposed), expected


def _intersection(seed, view_of=_view):
    tables, register = _case(random.Random(seed), 2)
    return _intersected(view_of(tables, register), _values_left(tables, register))


def _intersection_of_known_classes(seed):
    """The same where the class that holds each row of the register is known."""
    rng = random.Random(seed)
    tables, register = _case(rng, 2)
    held = [
        [rng.choice([None, *(cell for cell, _, _ in rows)]) for _ in register] for rows in tables
    ]
    view = _view(tables, register)
    releases = []
    for release, rows, cells in zip(view.releases, tables, held, strict=True):
        class_of = {
            cell: int(class_) for (cell, _, _), class_ in zip(rows, release.class_, strict=True)
        }
        holds = np.array([class_of.get(cell, -1) for cell in cells], np.int32)
        releases.append(replace(release, true_class=holds))
    view = replace(view, releases=tuple(releases))
    return _intersected(view, _values_left(tables, register, held), location="assumed")


def _homogeneity(seed):
    tables, register = _case(random.Random(seed), 1)
    classes = {}
    for cell, value, person in tables[0]:
        classes.setdefault(cell, []).append((value, person))
    everybody = {p for _, _, p in tables[0]}
    uniform, by_number, top = set(), set(), Fraction(0)
    for rows in classes.values():
        who = {p for _, p in rows}
        shares = {s: Fraction(len({p for v, p in rows if v == s}), len(who)) for s, _ in rows}
        top = max(top, *shares.values())
        uniform |= who if max(shares.values()) == 1 else set()
        for p in who:
            own = sum(q == p for _, q in rows)
            by_number |= {p} if any(sum(v != s for v, _ in rows) < own for s in shares) else set()
    constant = len({(p, v) for _, v, p in tables[0]}) == len(everybody)
    by_classes = set()
    if constant:
        for p in everybody:
            sets = [{v for v, _ in rows} for rows in classes.values() if p in {q for _, q in rows}]
            by_classes |= {p} if len(set.intersection(*sets)) == 1 else set()
    several = len(everybody) < len(tables[0])
    exposed = len(uniform | by_number | by_classes if several else uniform)
    finding = homogeneity(_view(tables, register))
    counted = [finding.people, finding.exposed, finding.sure]
    expected = [len(everybody), exposed, 1 if exposed else pytest.approx(float(top))]
    if several:
        certain = finding.details["certain_by"]
        counted += [certain["class"], certain["number of rows"]]
        expected += [len(uniform), len(by_number)]
    return counted, expected


def _skewness(seed):
    tables, register = _case(random.Random(seed), 1)
    everybody = {p for _, _, p in tables[0]}
    hit = set()
    for cell, value, person in tables[0]:
        here = {p for c, _, p in tables[0] if c == cell}
        share = Fraction(len({p for c, v, p in tables[0] if c == cell and v == value}), len(here))
        before = Fraction(len({p for _, v, p in tables[0] if v == value}), len(everybody))
        hit |= {person} if share >= Fraction(1, 2) and share >= 2 * before else set()
    finding = skewness(_view(tables, register))
    return (finding.people, finding.exposed), (len(everybody), len(hit))


COUNTS = (_linking, _intersection, _intersection_of_known_classes, _homogeneity, _skewness)


@pytest.mark.parametrize("counts", COUNTS)
def test_random_people_with_several_rows_agree_with_plain_python(counts):
    for seed in range(40):
        counted, expected = counts(seed)
        assert counted == expected, seed


@pytest.mark.long
@pytest.mark.parametrize("counts", COUNTS)
def test_thousands_of_random_tables_agree_with_plain_python(counts):
    for seed in range(1000, 3500):
        counted, expected = counts(seed)
        assert counted == expected, seed


def _of_rows(tables, register):
    """A view that takes a row for a person."""
    view = _view(tables, register)
    releases = tuple(replace(one, person=None, rows_held=None) for one in view.releases)
    return replace(view, releases=releases)


def _of_listed_rows(tables, register):
    """A view that takes everybody who is listed twice for two people."""
    view = _view(tables, register)
    return replace(view, people=replace(view.people, person=None))


def _by_one_column(tables, register):
    """A view that leaves a shared column out."""
    view = _view(tables, register)
    every = np.uint64(2 ** SIZES[1] - 1)
    cells = view.people.cells
    blank = replace(cells, sets={1: np.full_like(cells.sets[1], every)})
    return replace(view, people=replace(view.people, cells=blank))


@pytest.mark.parametrize("counts", [_linking, _intersection])
@pytest.mark.parametrize("mutant", [_of_rows, _of_listed_rows, _by_one_column])
def test_the_oracles_see_rows_counted_for_people_and_columns_left_out(counts, mutant):
    pairs = (counts(seed, mutant) for seed in range(100))
    assert any(counted != expected for counted, expected in pairs)


# The same from files: labels, a kept column, blanks and ranges, and a person column in both.

FILES = shoal.Schema.of(quasi=["age", "job"], sensitive="ill", keep="memo", person="who").set(
    age=shoal.quasi(kind="number"), job=shoal.quasi(domain=list("abcd"))
)


def _written(cell, blank):
    """A cell of leaves as a label: a range of numbers, a set of words, or nothing."""
    if cell[1] == frozenset(range(SIZES[1])):
        job = blank
    else:
        some = ["abcd"[code] for code in sorted(cell[1])]
        job = some[0] if len(some) == 1 else "{" + ", ".join(some) + "}"
    low, high = min(cell[0]), max(cell[0])
    if (low, high) == (0, SIZES[0] - 1):
        return blank, job
    return (str(low) if low == high else f"{low}-{high}"), job


def _files(rng):
    """Random encounters with a memo each, and a register that knows some of the memos."""
    (rows,), register = _case(rng, 1)
    memos = [rng.randrange(3) for _ in rows]
    known = [rng.choice((None, 0, 1, 2)) for _ in register]
    labels = [_written(cell, "*") for cell, _, _ in rows]
    table = pa.table(
        {
            "age": [age for age, _ in labels],
            "job": [job for _, job in labels],
            "memo": [f"memo {one}" for one in memos],
            "ill": ["xyz"[value] for _, value, _ in rows],
            "who": [f"p{person}" for _, _, person in rows],
        }
    )
    asked = [_written(cell, None) for cell, _ in register]
    words = [None if one is None else f"memo {one}" for one in known]
    targets = pa.table(
        {
            "who": [f"p{person}" for _, person in register],
            "age": pa.array([age for age, _ in asked], pa.string()),
            "job": pa.array([job for _, job in asked], pa.string()),
            "memo": pa.array(words, pa.string()),
        }
    )
    every = frozenset(range(3))
    wide = [((*cell, frozenset((m,))), v, p) for (cell, v, p), m in zip(rows, memos, strict=True)]
    asking = [
        ((*cell, every if m is None else frozenset((m,))), p)
        for (cell, p), m in zip(register, known, strict=True)
    ]
    return table, targets, (rows, register), (wide, asking)


def _linking_by_files(seed):
    table, targets, narrow, wide = _files(random.Random(seed))
    linked = [_linked(*rows_and_register) for rows_and_register in (narrow, wide)]
    if not any(linked):
        return NOBODY, NOBODY
    finding = shoal.attack("linking", [table], targets=targets, schema=FILES)
    exposed = [sum(c or s for _, c, s in people.values()) for people in linked]
    used = "memo" in finding.details["placed_by"]["columns"]
    numbers = [n for n, _, _ in linked[used].values()]
    counted = (finding.exposed, finding.exposed, finding.details["candidates"])
    return counted, (max(exposed), exposed[used], _histogram(numbers))


@pytest.mark.parametrize("seed", range(3))
def test_files_with_kept_columns_blanks_and_several_rows_agree_with_plain_python(seed):
    counted, expected = _linking_by_files(seed)
    assert counted == expected


@pytest.mark.long
def test_hundreds_of_files_agree_with_plain_python():
    for seed in range(100, 400):
        counted, expected = _linking_by_files(seed)
        assert counted == expected, seed
