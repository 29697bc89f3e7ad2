"""The private companion as attacks read it, and as the next release does."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import date, timedelta

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.adversary.context import build_context
from shoal.core.theory.adversary_view import Needs
from shoal.releases.companion import find_companion, hash_person_values, read_companion
from shoal.releases.published_table import read_published_tables
from shoal.verbs.attack import attack

AGES = shoal.tree([[str(a), f"{a // 10}0s", "*"] for a in range(18, 90)])
IDS = {
    "text": lambda i: f"Ann {i}",
    "code": lambda i: f"{i:04d}",
    "whole": str,
    "half": lambda i: str(i / 2),
    "date": lambda i: (date(1950, 1, 1) + timedelta(days=i)).isoformat(),
}


def holds(releases, people, schema=None):
    """For each release the class of each of the people, as its companion tells it."""
    which = range(len(releases))
    view = build_context(releases, schema, people).view(which, Needs(people=True))
    return [None if one.true_class is None else one.true_class.tolist() for one in view.releases]


def damaged(release, **told):
    path = release.companion / "companion.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | told), encoding="utf-8")


# Who is who


@pytest.mark.parametrize("id_of", IDS.values(), ids=IDS)
def test_people_are_hashed_as_they_were_when_published(town, id_of):
    """Whatever the person column holds: half of SHA-256 over SHA-256(key) and the text."""
    rows = [row | {"patient": id_of(i), "diagnosis": f"d{i}"} for i, row in enumerate(town.rows)]
    release = town.publish(source=town.write(town.folder / "ids.csv", rows))
    frame = shoal.open(town.folder / "ids.csv")
    people = frame.values(["patient"])["patient"].values
    frame.close()
    private = read_companion(release, release.path)
    found = hash_person_values(people, private.key).to_pylist()
    written = pq.read_table(release.companion / "rows.parquet")["person"]
    assert set(found) == set(written.to_pylist())
    inner = hashlib.sha256(private.key).digest()
    texts = map(id_of, range(len(rows)))
    assert {hashlib.sha256(inner + f"={t}".encode()).hexdigest()[:32] for t in texts} == set(found)
    (own,) = holds([release], town.folder / "ids.csv")
    (view,) = build_context([release]).view((0,), Needs()).releases
    published = [row["diagnosis"] for row in town.published(release)]
    assert own == [view.class_[published.index(row["diagnosis"])] for row in rows]


def test_some_are_absent_but_all_are_not_known(town):
    release = town.publish()
    strangers = [row | {"patient": f"X{i}"} for i, row in enumerate(town.rows)]
    some = town.write(town.folder / "some.csv", [*town.rows[:3], *strangers[3:6]])
    (found,) = holds([release], some)
    assert [one >= 0 for one in found] == [True] * 3 + [False] * 3
    assert holds([release], town.write(town.folder / "all.csv", strangers)) == [None]
    nameless = [row | {"patient": ""} for row in town.rows[:4]]
    with pytest.raises(shoal.InputError, match="4 rows of the people's table do not say whom"):
        holds([release], town.write(town.folder / "none.csv", nameless))


def test_releases_that_call_people_otherwise_do_not_make_them_absent(town):
    """The second hospital has numbers of its own: by the first's, nobody would be in it."""
    first = town.publish()
    renumbered = [row | {"patient": f"Q{i}"} for i, row in enumerate(town.rows)]
    table = town.write(town.folder / "second.csv", renumbered)
    second = town.publish(source=table, out=town.folder / "second")
    known, unknown = holds([first, second], town.table)
    assert unknown is None
    assert min(known) >= 0
    assert attack("intersection", [first, second], targets=town.table).people == len(town.rows)


# What the companion says of columns


def test_a_folder_takes_person_kinds_and_hierarchies_from_the_companion(town):
    schema = town.schema(age=shoal.quasi(AGES, domain=range(18, 90), bounds=(18, 89)))
    release = town.publish(schema=schema)
    (seen,) = read_published_tables([release.folder], None, lambda *_: None)
    assert seen.roles.names == ("age", "sex", "zip", "diagnosis", "patient")
    assert seen.roles.person.name == "patient"
    age = seen.roles.column("age")
    assert (age.kind, age.domain, age.bounds) == ("number", None, None)
    assert age.hierarchy.rows == AGES.rows
    assert seen.schema.names == ("age", "sex", "zip", "diagnosis")
    shutil.rmtree(release.companion)
    (seen,) = read_published_tables([release.folder], None, lambda *_: None)
    assert seen.roles.names == seen.schema.names
    assert seen.roles.column("age").hierarchy is None


def test_red_team_needs_no_schema_where_companions_are_at_hand(town):
    schema = town.schema(age=shoal.quasi(AGES))
    first, second = (
        town.publish(f"k-anonymity k={k}", schema, out=town.folder / f"r{k}") for k in (4, 9)
    )
    folders, few = [first.folder, second.folder], town.write(town.folder / "f.csv", town.rows[:30])
    found = attack("red-team", folders, targets=few)
    assert found == attack("red-team", folders, targets=few, schema=schema)
    assert holds(folders, few) == holds(folders, few, schema)
    assert None not in holds(folders, few)
    other = shutil.copy(second.path, town.folder / "other.csv")  # borrows all that is known
    assert attack("intersection", [first.folder, other], targets=few).people == 30
    for release in (first, second):
        shutil.rmtree(release.companion)
    with pytest.raises(shoal.InputError, match=r"'age' has .* cannot be read"):
        attack("red-team", folders, targets=few)


def test_people_listed_twice_are_one_person_without_a_schema(town):
    release = town.publish()
    twice = town.write(town.folder / "twice.csv", [*town.rows, town.rows[0]])
    assert attack("linking", [release.folder], targets=twice).people == len(town.rows)


def test_a_given_schema_is_not_overruled(town):
    """What the publisher dropped may be what another publishes."""
    release = town.publish()
    raw = [{name: row[name] for name in ("age", "born", "diagnosis")} for row in town.rows]
    other = town.write(town.folder / "other.csv", raw)
    roles = shoal.Schema.of(quasi=["age", "born"], sensitive=["diagnosis"])
    found = attack("intersection", [release.folder, other], targets=town.table, schema=roles)
    assert found.people == len(town.rows)


# Companions that tell nothing


def lose(release):
    shutil.rmtree(release.companion)


def swap(release):
    damaged(release, table_sha256="0" * 64)


def age(release):
    damaged(release, edition=99)


def garble(release):
    (release.companion / "companion.json").write_text("{", encoding="utf-8")


def unkey(release):
    damaged(release, key="no hexadecimal")


def misspell(release):
    damaged(release, schema="[columns\n")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lose, "missing"),
        (swap, "another table"),
        (age, "edition 99"),
        (garble, "cannot be read"),
        (unkey, "cannot be read"),
        (misspell, "cannot be read"),
    ],
)
def test_whatever_is_wrong_with_it_is_an_error_unless_it_is_not_there(town, harm, said):
    release = town.publish()
    harm(release)
    with pytest.raises(shoal.InputError, match=said):
        read_companion(release, release.path)
    assert find_companion(release, release.path) is None
    if harm is lose:  # an adversary has none either
        assert holds([release], town.table) == [None]
    else:
        with pytest.raises(shoal.InputError, match=said):
            holds([release], town.table)
    with pytest.raises(shoal.InputError, match=said):
        town.publish(based_on=release, out=town.folder / "second")


def test_rows_that_are_gone_are_an_error(town):
    release = town.publish()
    path = release.companion / "rows.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(shoal.InputError, match="rows were changed since"):
        holds([release], town.table)
    path.unlink()
    with pytest.raises(shoal.InputError, match="lacks its file"):
        holds([release], town.table)


def test_a_table_that_is_gone_is_an_error_either_way(town):
    release = town.publish()
    release.path.unlink()
    with pytest.raises(shoal.InputError, match=r"table\.csv"):
        attack("homogeneity", [release])
    with pytest.raises(shoal.InputError, match=r"table\.csv"):
        town.publish(based_on=release, out=town.folder / "second")
