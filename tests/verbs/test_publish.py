"""Publish: what is written, what is not, and what is refused."""

from __future__ import annotations

import re
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal

LABELS = {
    "age": r"\d+|\[\d+-\d+\]|\*",
    "sex": r"f|m|\*",
    "zip": r"0\d{4}|0\d{0,3}\*+|\*",
}


def test_labels_are_ones_a_person_understands(town):
    rows = town.published(town.publish())
    for name, pattern in LABELS.items():
        assert all(re.fullmatch(pattern, row[name]) for row in rows), name
    assert any(re.fullmatch(r"\[\d+-\d+\]", row["age"]) for row in rows)


def test_every_row_is_there_in_a_class_of_k_with_its_own_diagnosis(town):
    release = town.publish()
    rows = town.published(release)
    assert len(rows) == 80 == release.verdict.rows
    assert town.sizes(release)[0] >= 4
    assert len(town.sizes(release)) == release.verdict.classes > 3
    assert Counter(r["diagnosis"] for r in rows) == Counter(r["diagnosis"] for r in town.rows)


def test_each_row_lies_in_its_published_cells(town):
    """Count the originals that each class's labels cover: never fewer than the class has rows."""
    rows = town.published(town.publish())
    for labels in {tuple(row[name] for name in town.quasi) for row in rows}:
        size = sum(tuple(row[name] for name in town.quasi) == labels for row in rows)
        assert sum(covers(labels, row) for row in town.rows) >= size


def covers(labels, row):
    age, sex, zip_ = labels
    if ends := re.fullmatch(r"\[(\d+)-(\d+)\]", age):
        inside = int(ends[1]) <= int(row["age"]) <= int(ends[2])
    else:
        inside = age in ("*", row["age"])
    prefix = zip_.rstrip("*")
    return inside and sex in ("*", row["sex"]) and row["zip"].startswith(prefix)


def test_columns_keep_their_order_and_private_ones_are_gone(town):
    release = town.publish()
    assert list(town.published(release)[0]) == ["age", "sex", "zip", "diagnosis"]
    for path in release.folder.iterdir():
        text = path.read_text(encoding="utf-8")
        for private in ("hospital", "North", "South", "patient", "P001", "Person", "born", "name"):
            assert private not in text, (path.name, private)


def test_the_companion_has_provider_and_keyed_person_for_each_row(town):
    release = town.publish()
    rows = pq.read_table(release.companion / "rows.parquet").to_pylist()
    assert len(rows) == 80
    assert Counter(row["provider"] for row in rows) == Counter(r["hospital"] for r in town.rows)
    people = {row["person"] for row in rows}
    assert len(people) == 80
    assert not people & {row["patient"] for row in town.rows}
    assert release.companion.stat().st_mode & 0o077 == 0
    # in the order of the published rows: the two join by position
    known = {(r["diagnosis"], r["hospital"]) for r in town.rows}
    published = town.published(release)
    assert {
        (shown["diagnosis"], hidden["provider"])
        for shown, hidden in zip(published, rows, strict=True)
    } <= known


def test_two_releases_of_one_table_differ_in_row_order_only(town):
    first = town.published(town.publish())
    second = town.published(town.publish(out=town.folder / "second"))
    assert first != second
    count = [Counter(tuple(row.items()) for row in rows) for rows in (first, second)]
    assert count[0] == count[1]


def test_the_row_order_says_nothing_about_the_table(town):
    """The first row of the table is not always among the first of the release."""
    rows = [{"age": "1", "d": str(i)} for i in range(40)]
    table = town.write(town.folder / "order.csv", rows)
    schema = shoal.Schema.of(quasi="age", sensitive="d")
    places = set()
    for i in range(6):
        release = shoal.publish(table, schema, "k-anonymity k=2", out=town.folder / f"r{i}")
        places.add([row["d"] for row in town.published(release)].index("0"))
    assert len(places) > 2


def test_the_manifest_says_nothing_that_the_table_does_not(town):
    schema = town.schema(
        age=shoal.quasi(shoal.intervals(5, 10), bounds=(0, 117)),
        sex=shoal.quasi(domain=("f", "m", "x"), kind="category"),
    )
    release = town.publish(schema=schema, hold_back=0.1)
    about = town.manifest(release)
    assert about == release.manifest
    assert set(about) == {
        "edition",
        "form",
        "file",
        "sha256",
        "rows",
        "classes",
        "columns",
        "schema",
        "rule",
        "method",
        "parameters",
        "row_order",
        "defused_cells",
        "keep_accepted",
        "people",
    }
    text = str(about)
    for private in ("117", '"x"', "domain", "bounds", "intervals", "loss", "held", "key"):
        assert private not in text, private
    assert about["edition"] == 1
    assert about["rows"] == 80
    assert about["columns"] == {
        "age": "quasi",
        "sex": "quasi",
        "zip": "quasi",
        "diagnosis": "sensitive",
    }


def test_the_companion_knows_the_rest(town):
    release = town.publish(schema=town.schema(age=shoal.quasi(bounds=(0, 117))))
    told = town.companion(release)
    assert "117" in told["schema"]
    assert told["held_back"] == 0
    assert 0 < told["loss"] < 1
    assert told["table_sha256"] == release.manifest["sha256"]
    assert len(told["key"]) == 64
    assert len(told["input"]) == 64
    again = town.publish(replace=True)
    assert town.companion(again)["input"] != told["input"]  # keyed: the same file, another key


@pytest.mark.parametrize("format_", ["csv", "xlsx", "parquet", "feather"])
def test_every_format_holds_the_same_rows(town, format_):
    release = town.publish(format=format_)
    assert release.path.name == f"table.{format_}"
    frame = shoal.open(release.path, kinds=dict.fromkeys(town.quasi, "category"))
    counts = frame.values(["age", "diagnosis"])
    assert counts["age"].counts.sum() == 80
    assert dict(zip(counts["diagnosis"].values, counts["diagnosis"].counts, strict=True)) == (
        Counter(row["diagnosis"] for row in town.rows)
    )
    assert shoal.verify(release.folder).holds
    assert shoal.audit(release.folder).reached("k-anonymity") >= 4


def test_an_unknown_format_or_method_is_refused_before_anything(town):
    with pytest.raises(shoal.UsageError, match="format"):
        town.publish(format="docx")
    with pytest.raises(shoal.UsageError, match="method"):
        town.publish(method="magic")
    with pytest.raises(shoal.UsageError, match="between 0 and 1"):
        town.publish(hold_back=2)
    assert town.names() == {"people.csv"}


def test_a_dry_run_writes_nothing_and_tells_the_outcome(town):
    release = town.publish(dry_run=True)
    assert town.names() == {"people.csv"}
    assert release.folder is None
    assert release.verdict.holds
    written = town.publish()
    assert release.verdict.classes == written.verdict.classes
    assert release.private["loss"] == written.private["loss"]
    with pytest.raises(shoal.InputError, match="dry run"):
        _ = release.path


def test_formulas_are_defused_and_counted(town):
    rows = town.rows
    for row in rows[:7]:
        row["diagnosis"] = "=1+1"
    for row in rows[7:10]:
        row["diagnosis"] = "@home"
    town.write(town.table, rows)
    release = town.publish()
    assert town.manifest(release)["defused_cells"] == 10
    found = Counter(row["diagnosis"] for row in town.published(release))
    assert found["'=1+1"] == 7
    assert found["'@home"] == 3
    assert shoal.verify(release.folder).holds
    assert (
        town.manifest(town.publish(out=town.folder / "p", format="parquet"))["defused_cells"] == 0
    )


def test_a_kept_column_is_refused_unless_accepted(town):
    schema = town.schema(born=shoal.keep)
    with pytest.raises(shoal.NotMetError, match=r"kept as they are.*born") as error:
        town.publish(schema=schema)
    assert error.value.exit_code == 3
    assert town.names() == {"people.csv"}
    release = town.publish(schema=schema, accept_keep=True)
    assert release.verdict.kept_columns_k == 1
    assert {r["born"] for r in town.published(release)} == {r["born"] for r in town.rows}
    assert shoal.verify(release.folder).kept_columns_k == 1


def test_a_person_who_comes_twice_is_an_error(town):
    town.rows[3]["patient"] = town.rows[9]["patient"] = "P000"
    town.write(town.table, town.rows)
    with pytest.raises(shoal.InputError, match=r"2 rows .*'patient'") as error:
        town.publish()
    assert "P000" not in str(error.value)


def test_an_undecided_column_stops_publishing(town):
    schema = shoal.Schema.of(quasi=town.quasi, sensitive="diagnosis")
    with pytest.raises(shoal.SchemaError, match="Undecided"):
        town.publish(schema=schema)
    with pytest.raises(shoal.SchemaError, match="height"):
        town.publish(schema=town.schema(height=shoal.quasi))


def test_k_larger_than_the_table_is_not_met(town):
    with pytest.raises(shoal.NotMetError, match="whole table reaches 80") as error:
        town.publish("k-anonymity k=81")
    assert error.value.exit_code == 3
    assert town.publish("k-anonymity k=80").verdict.classes == 1
    with pytest.raises(shoal.NotMetError, match="no class was found that meets it"):
        town.publish("k-anonymity k=81", hold_back=1.0, out=town.folder / "none")


def test_a_method_takes_its_own_parameters(town):
    strict, relaxed = town.publish(), town.publish(relaxed=True, out=town.folder / "relaxed")
    assert town.manifest(relaxed)["parameters"] == {"relaxed": True}
    assert relaxed.verdict.classes >= strict.verdict.classes
    assert town.sizes(relaxed)[0] >= 4
    with pytest.raises(shoal.UsageError, match="no parameter 'no_such_parameter'"):
        town.publish(no_such_parameter=1, out=town.folder / "x")


def test_a_heavy_column_keeps_more_detail(town):
    width, whole = {}, {}
    for name in ("age", "zip"):
        schema = town.schema(**{name: shoal.quasi(weight=1000)})
        rows = town.published(town.publish(schema=schema, out=town.folder / name))
        width[name] = sum(width_of(row["age"]) for row in rows)
        whole[name] = sum("*" not in row["zip"] for row in rows)
    assert width["age"] < width["zip"]
    assert whole["age"] < whole["zip"]


def width_of(label):
    ends = re.fullmatch(r"\[(\d+)-(\d+)\]", label)
    return int(ends[2]) - int(ends[1]) if ends else 72 if label == "*" else 0


def test_relaxed_divides_equal_people(town):
    rows = [{"age": "30", "d": d} for d in "aaabbbccc"] + [{"age": "40", "d": d} for d in "ab"]
    table = town.write(town.folder / "few.csv", rows)
    schema = shoal.Schema.of(quasi="age", sensitive="d")
    release = shoal.publish(table, schema, "k-anonymity k=3", out=town.folder / "r", relaxed=True)
    assert sum(town.sizes(release, ["age"])) == 11
    assert town.sizes(release, ["age"])[0] >= 3
    assert len(town.sizes(release, ["age"])) == 2


@pytest.mark.parametrize("column", ["age", "sex", "zip"])
def test_null_is_a_value_and_never_a_class_of_its_own(town, column):
    town.rows[0][column] = ""
    town.write(town.table, town.rows)
    release = town.publish()
    assert len(town.published(release)) == 80
    assert town.sizes(release)[0] >= 4
    assert "" not in {row[column] for row in town.published(release)}


def test_many_nulls_are_published_as_null(town):
    for row in town.rows[:30]:
        row["zip"] = "NA"
    town.write(town.table, town.rows)
    for format_ in ("csv", "parquet", "xlsx"):
        release = town.publish(format=format_, out=town.folder / format_)
        frame = shoal.open(release.path, nulls=())
        assert frame.values(["zip"])["zip"].nulls > 3
        assert shoal.verify(release.folder).rows == 80


def test_a_null_diagnosis_counts_as_a_value_where_the_schema_says_so(town):
    for row in town.rows:
        row["diagnosis"] = "" if row["sex"] == "f" else "flu"
    town.write(town.table, town.rows)
    with pytest.raises(shoal.NotMetError):
        town.publish("k-anonymity k=4 & distinct-diversity l=2")
    schema = town.schema(diagnosis=shoal.sensitive(missing="value"))
    release = town.publish("k-anonymity k=4 & distinct-diversity l=2", schema)
    assert {row["sex"] for row in town.published(release)} == {"*"}
    assert release.verdict.judgements[1].reached == 2


def test_two_sensitive_columns_are_named_or_joined(town):
    for i, row in enumerate(town.rows):
        row["drug"] = "abc"[i % 3]
    town.write(town.table, town.rows)
    schema = town.schema(drug=shoal.sensitive)
    with pytest.raises(shoal.UsageError, match="2 columns are sensitive"):
        town.publish("distinct-diversity l=2", schema)
    rule = "distinct-diversity l=3 on=drug & distinct-diversity l=2 on=diagnosis"
    release = town.publish(rule, schema)
    diverse(town.published(release), town.quasi, ["drug"], 3)
    diverse(town.published(release), town.quasi, ["diagnosis"], 2)
    joint = town.publish(
        'distinct-diversity l=5 on="drug*diagnosis"', schema, out=town.folder / "joint"
    )
    diverse(town.published(joint), town.quasi, ["drug", "diagnosis"], 5)
    assert shoal.verify(joint.folder).holds


def diverse(rows, quasi, sensitive, l):
    found: dict = {}
    for row in rows:
        key = tuple(row[name] for name in quasi)
        found.setdefault(key, set()).add(tuple(row[name] for name in sensitive))
    assert min(map(len, found.values())) >= l


def test_progress_names_the_steps(town):
    steps: list[str] = []
    town.publish(progress=lambda step, done, total: steps.append(step))
    told = list(dict.fromkeys(steps))
    assert [step for step in told if "compiling" not in step] == [
        "reading",
        "making classes",
        "writing",
        "verifying",
        "moving into place",
    ]


def test_a_table_in_memory_has_no_fingerprint(town):
    table = pa.table({name: [row[name] for row in town.rows] for name in town.columns})
    release = town.publish(source=table)
    assert town.companion(release)["input"] is None


def test_an_input_that_changes_while_it_is_read_is_an_error(town):
    def change(step, done, total):
        if step == "making classes":
            town.table.write_text("age\n1\n", encoding="utf-8")

    with pytest.raises(shoal.InputError, match=r"people\.csv changed"):
        town.publish(progress=change)
    assert town.names() == {"people.csv"}


def test_compiling_is_announced_where_the_cache_is_cold(town, monkeypatch):
    steps: list[str] = []
    monkeypatch.setattr("shoal.releases.draft.is_compiled", lambda method, rule: False)
    town.publish(dry_run=True, progress=lambda step, done, total: steps.append(step))
    assert "compiling kernels (once per machine)" in steps
