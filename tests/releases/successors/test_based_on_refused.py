"""What a release cannot be based on, and that nothing is written then."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.core.column import Role
from shoal.releases.successors import based_on as based
from shoal.releases.successors.earlier import read_earlier_release


def second(town, rows, **settings):
    table = town.write(town.folder / "later.csv", rows)
    settings = {"based_on": town.folder / "release", "out": town.folder / "second"} | settings
    return town.publish(source=table, **settings)


def test_without_a_person_column_it_is_refused(town):
    town.publish()
    schema = town.schema(patient=shoal.identifier)
    with pytest.raises(shoal.SchemaError, match="who each row is about"):
        second(town, town.rows, schema=schema)


def test_an_earlier_release_without_people_is_refused(town):
    town.publish(schema=town.schema(patient=shoal.identifier))
    with pytest.raises(shoal.InputError, match="does not say who"):
        second(town, town.rows)


def test_a_table_is_no_release(town):
    release = town.publish()
    with pytest.raises(shoal.UsageError, match="release folder"):
        second(town, town.rows, based_on=release.path)
    with pytest.raises(shoal.InputError, match="no file or folder"):
        second(town, town.rows, based_on=town.folder / "nowhere")


def test_the_companion_must_be_there(town):
    release = town.publish()
    elsewhere = town.folder / "safe"
    release.companion.rename(elsewhere)
    with pytest.raises(shoal.InputError, match="missing") as error:
        second(town, town.rows)
    assert "release.private" in error.value.hint


def test_a_companion_elsewhere_is_found_through_the_release(town):
    release = town.publish(companion=town.folder / "safe")
    assert second(town, town.rows, based_on=release).private["rows_frozen"] == 80


def test_the_companion_must_be_that_of_the_table(town):
    first = town.publish()
    other = town.publish(out=town.folder / "other")
    shutil.rmtree(first.companion)
    shutil.copytree(other.companion, first.companion)
    with pytest.raises(shoal.InputError, match="another table"):
        second(town, town.rows)


def test_a_table_that_was_changed_is_refused(town):
    first = town.publish()
    with first.path.open("a", encoding="utf-8") as handle:
        handle.write("1,f,02138,flu\n")
    with pytest.raises(shoal.InputError, match="was changed after it was published"):
        second(town, town.rows)


def test_a_damaged_companion_is_refused(town):
    release = town.publish()
    path = release.companion / "companion.json"
    no_key = json.dumps(town.companion(release) | {"key": "no hexadecimal"})
    for damage in ("{", "[]", '{"key": "00"}', no_key):
        path.write_text(damage, encoding="utf-8")
        with pytest.raises(shoal.InputError, match="cannot be read"):
            second(town, town.rows)


def test_rows_of_another_length_are_refused(town):
    release = town.publish()
    path = release.companion / "rows.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(shoal.InputError, match="cannot be read"):
        second(town, town.rows)


def test_other_quasi_identifiers_are_refused(town):
    town.publish()
    for roles in ({"born": shoal.quasi}, {"zip": shoal.identifier}):
        with pytest.raises(shoal.SchemaError, match=f"not those.*{next(iter(roles))}"):
            second(town, town.rows, schema=town.schema(**roles))


@pytest.mark.parametrize(
    "role", [shoal.intervals(5, 10), shoal.equal_width(8, 4), shoal.tree([["1", "*"]])]
)
def test_another_hierarchy_is_refused(town, role):
    town.publish("k-anonymity k=20")
    with pytest.raises(shoal.SchemaError, match="'age' does not generalise as"):
        second(town, town.rows, schema=town.schema(age=shoal.quasi(role)))


def test_bins_that_the_data_decides_are_refused(town):
    schema = town.schema(age=shoal.quasi(shoal.equal_frequency(4, 2)))
    town.publish(schema=schema)
    with pytest.raises(shoal.SchemaError, match="does not generalise as"):
        second(town, town.rows, schema=schema)


def test_a_tree_may_grow(town):
    roles = [{"sex": shoal.quasi(shoal.tree({"person": list(s)}))} for s in ("fm", "fmx", "fx")]
    town.publish(schema=town.schema(**roles[0]))
    assert second(town, town.rows, schema=town.schema(**roles[1])).private["rows_frozen"] == 80
    with pytest.raises(shoal.SchemaError, match="'sex' does not generalise as"):
        second(town, town.rows, schema=town.schema(**roles[2]), out=town.folder / "third")


def test_rows_about_nobody_are_refused(town):
    first = town.publish()
    nameless = [row | {"patient": ""} if i == 3 else row for i, row in enumerate(town.rows)]
    with pytest.raises(shoal.InputError, match="1 row does not say who"):
        second(town, nameless)
    with pytest.raises(shoal.InputError, match="1 row does not say who"):
        town.publish(source=town.write(town.folder / "n.csv", nameless), replace=True)
    assert first.folder.exists()


def test_a_column_with_one_value_left_needs_its_domain(town):
    for row in town.rows:
        row["sex"] = "f" if int(row["patient"][1:]) % 2 else "m"
    town.write(town.table, town.rows)
    town.publish("k-anonymity k=30")
    women = [row for row in town.rows if row["sex"] == "f"]
    with pytest.raises(shoal.InputError, match="'sex' has one value left"):
        second(town, women)
    schema = town.schema(sex=shoal.quasi(domain=("f", "m"), kind="category"))
    release = second(town, women, schema=schema)
    assert {row["sex"] for row in town.published(release)} == {"*"}


def test_the_written_file_is_compared_and_refused_when_finer(town, monkeypatch):
    """Where the maker forgets the old cells, the check on the file does not."""
    town.publish()
    rows = [*town.rows[::2], *(row | {"patient": f"N{row['patient']}"} for row in town.rows)]

    def forgetful(tally, was, cells, request):
        return based._combine_classes(tally, was - was - 1, cells, was - was - 1, request)

    monkeypatch.setattr(based, "extend_cut", forgetful)
    with pytest.raises(shoal.NotMetError, match="do not cover"):
        second(town, rows)
    assert not (town.folder / "second").exists()
    assert not (town.folder / "second.private").exists()


def test_somebody_replaced_while_publishing_is_noticed(town):
    release = town.publish()
    before = read_earlier_release(release, town.schema().fit(shoal.open(town.table).fields))
    others = [row | {"patient": f"X{i}"} for i, row in enumerate(town.rows)]
    frame = shoal.open(town.write(town.folder / "others.csv", others))
    with pytest.raises(shoal.InputError, match="changed while"):
        based.check_against_earlier(frame, town.schema(), before, before.rows, before.key)


def test_people_who_are_named_in_another_way_are_refused(town):
    """Else everybody would be new, and nobody's old cell looked at."""
    town.publish()
    others = [row | {"patient": f"{row['patient']}/24"} for row in town.rows]
    with pytest.raises(shoal.InputError, match="Nobody of the earlier release") as error:
        second(town, others)
    assert "'patient'" in error.value.hint
    assert not (town.folder / "second").exists()


@pytest.mark.parametrize("before", ["0{:03d}", "p{:03d}", "Px{:03d}", "P0{}"])
@pytest.mark.parametrize("now", [str.upper, str.lower, lambda name: name.lstrip("0")])
def test_some_people_written_otherwise_are_refused(town, before, now):
    """They would be new, and what was published of them not looked at."""
    names = [before.format(i) if i < 9 else f"{i}" for i in range(1, 81)]
    rows = [row | {"patient": name} for row, name in zip(town.rows, names, strict=True)]
    town.publish(source=town.write(town.table, rows))
    others = [row | {"patient": now(row["patient"])} for row in rows]
    changed = sum(now(name) != name for name in names)
    if not changed:
        assert second(town, others).private["rows_frozen"] == 80
        return
    with pytest.raises(shoal.InputError, match=f"^{changed} people who seem to be new") as error:
        second(town, others)
    assert "'patient'" in error.value.hint
    assert not (town.folder / "second").exists()


def test_zeros_that_were_not_there_are_noticed_as_well(town):
    rows = [row | {"patient": f"{i}x" if i % 2 else f"{i}"} for i, row in enumerate(town.rows)]
    town.publish(source=town.write(town.table, rows))
    others = [row | {"patient": row["patient"].zfill(6)} for row in rows]
    kept = [*others[:20], *rows[20:]]
    with pytest.raises(shoal.InputError, match=r"^20 people"):
        second(town, kept)


def test_newcomers_beside_people_who_are_still_there_may_be_named_alike(town):
    town.publish()
    release = second(
        town, [*town.rows, *(r | {"patient": r["patient"].lower()} for r in town.rows)]
    )
    assert release.private["rows_frozen"] == 80
    assert release.private["rows_new"] == 80


def test_people_of_another_kind_are_refused(town):
    rows = [row | {"patient": f"{i:03d}"} for i, row in enumerate(town.rows)]
    town.publish(source=town.write(town.table, rows))
    schema = town.schema(patient=Role("person", kind="number"))
    with pytest.raises(shoal.SchemaError, match=r"'patient' was a code .* is a number") as error:
        second(town, rows, schema=schema)
    assert 'kind = "code"' in error.value.hint


def test_kinds_are_those_of_the_earlier_release(town):
    """Codes whose zeros happen to be gone are codes still, and no other number than they were."""
    rows = [row | {"patient": f"{i:02d}"} for i, row in enumerate(town.rows)]
    town.publish(source=town.write(town.table, rows))
    release = second(town, rows[10:])
    assert release.private["rows_gone"] == 10
    assert release.private["rows_new"] == 0


def test_a_column_without_values_is_told_as_that(town):
    town.publish()
    empty = [row | {"age": ""} for row in town.rows]
    with pytest.raises(shoal.InputError, match="'age' has no values; it was a number"):
        second(town, empty)
    release = second(town, [row | {"sex": "", "zip": ""} for row in town.rows])
    assert release.private["rows_new"] == 0
    schema = town.schema(age=shoal.quasi(kind="category"))
    with pytest.raises(shoal.SchemaError, match=r"'age' was a number .* is a category"):
        second(town, town.rows, schema=schema, replace=True)


def test_a_column_that_is_starred_in_both_is_compared(town):
    """No value is known then; six ages under k=5 are one class."""
    six = [row | {"age": f"{30 + i}", "sex": "f"} for i, row in enumerate(town.rows[:6])]
    schema = town.schema(zip=shoal.identifier)
    settings = {"rule": "k-anonymity k=5", "schema": schema}
    first = town.publish(source=town.write(town.table, six), **settings)
    assert {row["age"] for row in town.published(first)} == {"*"}
    release = second(town, six, **settings)
    assert release.private["rows_frozen"] == 6
    assert {row["age"] for row in town.published(release)} == {"*"}
