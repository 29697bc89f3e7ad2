"""What a release cannot be based on, and that nothing is written then."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.flow import based
from shoal.flow.earlier import earlier


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
    with pytest.raises(shoal.InputError, match="another table"):
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
    with pytest.raises(shoal.InputError, match="1 rows do not say who"):
        second(town, nameless)
    town.publish(source=town.write(town.folder / "n.csv", nameless), replace=True)
    with pytest.raises(shoal.InputError, match="1 rows of the earlier release do not say"):
        second(town, town.rows)
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
        return based._made(tally, was - was - 1, cells, was - was - 1, request)

    monkeypatch.setattr(based, "grown", forgetful)
    with pytest.raises(shoal.NotMetError, match="do not cover"):
        second(town, rows)
    assert not (town.folder / "second").exists()
    assert not (town.folder / "second.private").exists()


def test_somebody_replaced_while_publishing_is_noticed(town):
    release = town.publish()
    before = earlier(release, town.schema().fit(shoal.open(town.table).fields))
    others = [row | {"patient": f"X{i}"} for i, row in enumerate(town.rows)]
    frame = shoal.open(town.write(town.folder / "others.csv", others))
    with pytest.raises(shoal.InputError, match="changed while"):
        based.check(frame, town.schema(), before, before.rows, before.key)


def test_people_who_are_named_in_another_way_are_refused(town):
    """Else everybody would be new, and nobody's old cell looked at."""
    town.publish()
    others = [row | {"patient": f"{row['patient']}/24"} for row in town.rows]
    with pytest.raises(shoal.InputError, match="Nobody of the earlier release") as error:
        second(town, others)
    assert "'patient'" in error.value.hint
    assert not (town.folder / "second").exists()
