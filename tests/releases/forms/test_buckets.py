"""Buckets: exact quasi-identifiers, permuted values, in one table or two; verified and attacked."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections import Counter, defaultdict
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.adversary.context import place_in_buckets
from shoal.adversary.targets import read_people_table
from shoal.releases.companion import find_companion
from shoal.releases.forms.buckets import check_written_buckets
from shoal.releases.manifest import published_schema
from shoal.releases.published_table import read_published_tables
from shoal.releases.reader import open_labels
from shoal.releases.row_listing import read_columns

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/martin_fig1_3.json").read_text())
FIGURE_1, FIGURE_3 = GOLDEN["fig1"], GOLDEN["fig3"]
RULE = "distinct-diversity l=3"
QUASI = ("Zip", "Age", "Sex")
SCHEMA = shoal.Schema.of(identifier=["Name"], quasi=QUASI, sensitive=["Disease"])


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def per_bucket(rows, columns) -> dict[str, Counter]:
    found = defaultdict(Counter)
    for row in rows:
        found[row["bucket"]][tuple(str(row[name]) for name in columns)] += 1
    return found


def contents(found: dict[str, Counter]) -> list:
    return sorted(sorted(one.items()) for one in found.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Figure 1 as a file, and published in buckets: in one table and in two."""
    folder = tmp_path_factory.mktemp("figure")
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(FIGURE_1[0]))
        writer.writeheader()
        writer.writerows(FIGURE_1)
    for name, two in (("one", False), ("two", True)):
        shoal.publish(
            folder / "people.csv", SCHEMA, RULE, out=folder / name, form="buckets", two_tables=two
        )
    return folder


def copy(folder: Path, name: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder / name, tmp_path / name))


def bucketed(rows):
    """Figure 3 has a bucket for each sex; its rows with the bucket's number."""
    return [{**row, "bucket": row["Sex"]} for row in rows]


# What is published


def test_figure_1_becomes_figure_3(folder):
    rows = read(folder / "one/table.csv")
    assert list(rows[0]) == ["bucket", *QUASI, "Disease"]
    for columns in (QUASI, ("Disease",)):
        expected = contents(per_bucket(bucketed(FIGURE_3), columns))
        assert contents(per_bucket(rows, columns)) == expected
    assert [row["bucket"] for row in rows] == ["1"] * 5 + ["2"] * 5


def test_in_two_tables_the_second_has_the_histograms(folder):
    people, values = (read(folder / f"two/{name}.csv") for name in ("table", "values"))
    assert list(people[0]) == ["bucket", *QUASI]
    assert list(values[0]) == ["bucket", "Disease", "count"]
    assert contents(per_bucket(people, QUASI)) == contents(per_bucket(bucketed(FIGURE_3), QUASI))
    counts = defaultdict(list)
    for row in values:
        counts[row["bucket"]].append(int(row["count"]))
    found = sorted(sorted(some, reverse=True) for some in counts.values())
    assert found == sorted(GOLDEN["buckets_sorted_counts"])


@pytest.mark.parametrize("name", ["one", "two"])
def test_the_manifest_says_what_the_table_is(folder, name):
    manifest = json.loads((folder / name / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["form"] == "buckets"
    assert not manifest["keep_accepted"]  # the form says that columns are exact
    assert manifest["exact"] == list(QUASI)
    roles = {"bucket": "quasi", **dict.fromkeys(QUASI, "keep"), "Disease": "sensitive"}
    assert manifest["columns"] == roles
    assert ("values" in manifest, "values_sha256" in manifest) == (name == "two",) * 2
    assert "hierarchy" not in manifest["schema"].partition("[columns.Disease]")[0]


def test_nothing_is_lost_but_rows_held_back(tmp_path):
    ages, cancer = list(range(40)), ["a", "b", "c", "d"] * 9 + ["a"] * 4
    table = pa.table({"age": ages, "sex": ["f", "m"] * 20, "disease": cancer})
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["disease"])
    asked = {"form": "buckets", "hold_back": 0.2, "dry_run": True}
    release = shoal.publish(table, schema, "distinct-diversity l=4", **asked)
    held = release.private["held_back"]
    assert release.private["loss"] == held / 40
    assert release.verdict.rows == 40 - held


def test_the_permutation_and_the_numbers_are_random(tmp_path):
    """200 buckets of three people each, whose values would tell who they are."""
    groups, people = [g for g in range(200) for _ in range(3)], list(range(3)) * 200
    table = pa.table({"group": groups, "person": people, "value": list("abc") * 200})
    schema = shoal.Schema.of(quasi=["group", "person"], sensitive=["value"])
    shoal.publish(table, schema, RULE, out=tmp_path / "out", form="buckets")
    rows = read(tmp_path / "out/table.csv")
    values, order = defaultdict(dict), defaultdict(list)
    for row in rows:
        values[row["bucket"]][row["person"]] = row["value"]
        order[row["bucket"]].append(row["person"])
    assert len(values) == 200
    pairings = Counter("".join(one[p] for p in "012") for one in values.values())
    assert len(pairings) == 6
    assert min(pairings.values()) > 8
    orders = Counter("".join(one) for one in order.values())
    assert len(orders) == 6
    assert min(orders.values()) > 8
    number = {int(row["bucket"]): int(row["group"]) for row in rows}
    assert sum(number[i] < number[i + 1] for i in range(1, 200)) in range(60, 140)
    assert [row["bucket"] for row in rows] == [str(b) for b in range(1, 201) for _ in range(3)]


@pytest.mark.parametrize(("format", "two"), [("parquet", True), ("xlsx", True), ("csv", False)])
def test_awkward_cells_are_kept_exactly(tmp_path, format, two):
    """Nulls, codes, dates, formulas and several sensitive columns, which move together."""
    zips = ["01301", "1301", None, "=1+1", "a,b", '"q"', "02138", "x y"]
    born = [None, *(f"19{i}0-02-03" for i in range(1, 8))]
    weight = [1.5, None, 0.1, 3.0, 2.25, 7.125, 1e-9, 12345.678]
    pairs = [("flu", 1), (None, 2), ("cold", None), ("-x", 4)]
    days = pa.array(born).cast(pa.date32())
    source = {"zip": zips, "born": days, "weight": weight, "ward": list("NS") * 4}
    sensitive = {"ill": [p[0] for p in pairs] * 2, "days": [p[1] for p in pairs] * 2}
    table = pa.table({**source, **sensitive, "clinic": ["A", "B"] * 4, "who": list("abcdefgh")})
    schema = shoal.Schema.of(
        quasi=["zip", "born", "weight"],
        keep=["ward"],
        sensitive=["ill", "days"],
        provider="clinic",
        person="who",
    )
    rule = "distinct-diversity l=3 on=ill & distinct-diversity l=3 on=days"
    out = tmp_path / "out"
    shoal.publish(
        table,
        schema,
        rule,
        out=out,
        form="buckets",
        two_tables=two,
        format=format,
        accept_keep=True,
    )
    assert shoal.verify(out).holds
    if format == "parquet":
        rows = pq.read_table(out / "table.parquet").to_pylist()
        exact = ("zip", "born", "weight", "ward")
        assert Counter(tuple(r[n] for n in exact) for r in rows) == Counter(
            tuple(r[n] for n in exact) for r in table.to_pylist()
        )
        values = pq.read_table(out / "values.parquet").to_pylist() if two else rows
        found = Counter()
        for row in values:
            found[row["ill"], row["days"]] += row.get("count", 1)
        assert found == Counter(pairs * 2)
        hidden = pq.read_table(f"{out}.private/rows.parquet").to_pylist()
        clinics = dict(zip(zips, ["A", "B"] * 4, strict=True))
        assert [row["provider"] for row in hidden] == [clinics[row["zip"]] for row in rows]
        private = json.loads(Path(f"{out}.private/companion.json").read_text(encoding="utf-8"))
        assert private["rows"] == "of the people; values are permuted"


# What is refused


@pytest.mark.parametrize(
    "rule",
    [
        "k-anonymity k=2",
        "k-map k=2",
        "delta-presence low=0 high=0.5",
        "alpha-k alpha=0.5 k=2",
        "distinct-diversity l=3 & k-anonymity k=5",
    ],
)
def test_rules_about_who_somebody_is_are_refused(folder, rule):
    with pytest.raises(shoal.UsageError, match="says nothing") as error:
        shoal.publish(folder / "people.csv", SCHEMA, rule, form="buckets", dry_run=True)
    assert "generalised cells" in error.value.hint
    with pytest.raises(shoal.UsageError, match="says nothing"):  # before anything is read
        shoal.verify(folder / "one", rule=rule)


TWO = shoal.Schema.of(quasi=["age"], sensitive=["ill", "drug"])
PAIRS = pa.table({"age": [1, 2, 3, 4], "ill": list("abcd"), "drug": ["x"] * 4})


def test_every_sensitive_column_is_judged_by_itself(tmp_path):
    """All four have the same drug: pairs are diverse, and who looks up a bucket learns it."""
    alone, pair, drug = (
        f"distinct-diversity l={n}" for n in ("3 on=ill", "3 on=ill*drug", "1 on=drug")
    )
    asked = {"form": "buckets", "out": tmp_path / "out"}
    shoal.publish(PAIRS, TWO, f"{alone} & {drug}", **asked)
    cases = {alone: "drug", pair: "ill, drug", f"{pair} & {drug}": "ill", RULE: "ill, drug"}
    for rule, bare in cases.items():
        with pytest.raises(shoal.UsageError, match=f"themselves: {bare}\\.") as error:
            shoal.publish(PAIRS, TWO, rule, **asked, replace=True)
        assert f'-m "entropy-diversity l=3 on={bare.split(", ")[-1]}"' in error.value.hint
        with pytest.raises(shoal.UsageError, match=bare):
            shoal.verify(tmp_path / "out", rule=rule)


@pytest.mark.parametrize(
    "asked",
    [
        {"based_on": "one"},
        {"after": ["one"]},
        {"held_back_as": "starred"},
        {"form": "cubes"},
        {"form": "partition", "two_tables": True},
    ],
)
def test_what_does_not_go_with_buckets_is_refused(folder, asked):
    with pytest.raises(shoal.UsageError):
        shoal.publish(folder / "people.csv", SCHEMA, RULE, **{"form": "buckets", **asked})


@pytest.mark.parametrize(("name", "two"), [("bucket", False), ("Bucket", True), ("count", True)])
def test_columns_that_buckets_add_may_not_be_there(name, two):
    table = pa.table({name: [1, 2, 3], "ill": ["a", "b", "c"]})
    schema = shoal.Schema.of(quasi=[name], sensitive=["ill"])
    with pytest.raises(shoal.UsageError, match=name):
        shoal.publish(table, schema, RULE, form="buckets", two_tables=two)


def test_a_sensitive_column_is_needed_and_kept_ones_are_accepted_by_the_user():
    table = pa.table({"age": [1, 2, 3], "ill": ["a", "b", "c"]})
    for roles, error in (
        ({"quasi": ["age", "ill"]}, shoal.UsageError),
        ({"quasi": [], "keep": ["age"], "sensitive": ["ill"]}, shoal.NotMetError),
    ):
        with pytest.raises(error):
            shoal.publish(table, shoal.Schema.of(**roles), RULE, form="buckets", dry_run=True)


def test_nothing_is_based_on_buckets_nor_judged_after_others(folder):
    schema = shoal.Schema.of(person="Name", quasi=QUASI, sensitive=["Disease"])
    with pytest.raises(shoal.UsageError, match="buckets"):
        shoal.publish(folder / "people.csv", schema, RULE, based_on=folder / "one")
    with pytest.raises(shoal.UsageError, match="after"):
        shoal.verify(folder / "one", after=[folder / "two"])


# Verification


@pytest.mark.parametrize("name", ["one", "two"])
def test_the_file_is_counted_by_bucket(folder, name):
    found = shoal.verify(folder / name)
    assert (found.holds, found.rows, found.classes, found.kept_columns_k) == (True, 10, 2, 1)
    assert not shoal.verify(folder / name, rule="distinct-diversity l=4").holds


def test_one_table_and_two_measure_alike(folder):
    one, two = (shoal.audit(folder / name) for name in ("one", "two"))
    assert one.to_json() == two.to_json()
    assert (two.classes, two.kept_columns_k) == (2, 1)


TAMPERED = {
    "table.csv": [("M", "X"), ("1,14850", "2,14850"), ("bucket", "class")],
    "values.csv": [
        ("Flu", "Cold"),
        (",1\n", ",2\n"),
        (",2\n", f",{10**20}\n"),
        ("Disease", "Age"),
    ],
}


@pytest.mark.parametrize(
    ("file", "old", "new"), [(f, *pair) for f, pairs in TAMPERED.items() for pair in pairs]
)
def test_a_changed_file_is_noticed(folder, tmp_path, file, old, new):
    out = copy(folder, "two", tmp_path)
    text = (out / file).read_text(encoding="utf-8")
    (out / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    assert text != (out / file).read_text(encoding="utf-8")
    with pytest.raises(shoal.ShoalError) as error:
        shoal.verify(out)
    assert not any(row["Disease"] in str(error.value) for row in FIGURE_1)


def rewritten(out: Path, **changes) -> Path:
    """The release with another manifest."""
    path = out / "manifest.json"
    told = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(told), encoding="utf-8")
    return out


@pytest.mark.parametrize("name", ["one", "two"])
def test_another_word_for_the_form_does_not_make_exact_columns_a_crowd(folder, tmp_path, name):
    out = rewritten(copy(folder, name, tmp_path), form="partition", rule="k-anonymity k=5")
    with pytest.raises(shoal.UsageError, match="says nothing"):
        shoal.verify(out)
    with pytest.raises(shoal.InputError, match="can be found"):
        shoal.attack("linking", out, targets=folder / "people.csv")


def test_what_would_pass_for_buckets_is_not_published():
    table = pa.table({"bucket": [1, 1, 1], "age": [1, 2, 3], "ill": list("abc")})
    schema = shoal.Schema.of(quasi=["bucket"], keep=["age"], sensitive=["ill"])
    with pytest.raises(shoal.UsageError, match="pass for one in buckets"):
        shoal.publish(table, schema, RULE, accept_keep=True, dry_run=True)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_manifest_that_the_companion_contradicts_is_noticed(folder, tmp_path):
    out = copy(folder, "two", tmp_path)
    shutil.copytree(folder / "two.private", tmp_path / "two.private")
    assert shoal.verify(out).holds
    for change in ({"rule": "distinct-diversity l=2"}, {"form": "partition"}):
        whole = (out / "manifest.json").read_text(encoding="utf-8")
        with pytest.raises(shoal.InputError, match=f"agree on: {next(iter(change))}"):
            shoal.verify(rewritten(out, **change))
        (out / "manifest.json").write_text(whole, encoding="utf-8")
    values = out / "values.csv"
    values.write_text(values.read_text("utf-8").replace("Mumps", "Cold"), encoding="utf-8")
    with pytest.raises(shoal.InputError, match="was changed") as error:
        shoal.verify(out)
    assert "both tables" in error.value.hint
    rewritten(out, values_sha256=digest(values))
    with pytest.raises(shoal.InputError, match="agree on: values_sha256"):
        shoal.verify(out)
    assert find_companion(out, out / "table.csv") is None
    shutil.rmtree(tmp_path / "two.private")
    assert shoal.verify(out).holds  # whoever has no companion cannot tell


def test_values_of_another_release_or_none_are_noticed(folder, tmp_path):
    out = copy(folder, "two", tmp_path)
    (out / "values.csv").unlink()
    with pytest.raises(shoal.InputError, match=r"values\.csv"):
        shoal.verify(out)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    for values in ("../values.csv", 5, "table.csv"):
        (out / "manifest.json").write_text(json.dumps({**manifest, "values": values}))
        with pytest.raises(shoal.InputError, match="damaged"):
            shoal.verify(out)


def test_swapped_values_in_one_table_are_noticed(folder, tmp_path):
    """Two values that change places between buckets: what was written is not what was read."""
    out, schema = copy(folder, "one", tmp_path), published_schema(_settled(), "buckets")
    rows = read(out / "table.csv")
    source = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    check_written_buckets(out / "table.csv", None, source, schema)
    first = next(row for row in rows if row["Disease"] == "Mumps")
    other = next(row for row in rows if row["Disease"] == "Heart Disease")
    for column, what in (("Disease", "Disease"), ("Age", "Zip, Age, Sex")):
        first[column], other[column] = other[column], first[column]
        changed = pa.table({name: [row[name] for row in rows] for name in rows[0]})
        with pytest.raises(shoal.OutputError, match=what):
            check_written_buckets(out / "table.csv", None, changed, schema)
        first[column], other[column] = other[column], first[column]


def _settled() -> shoal.Schema:
    kinds = {"Zip": "code", "Age": "number", "Sex": "category"}
    quasi = {name: shoal.quasi(kind=kind) for name, kind in kinds.items()}
    return shoal.Schema.of(quasi=QUASI, sensitive=["Disease"]).set(
        **quasi, Disease=shoal.sensitive(kind="category")
    )


# Attacks


def test_the_two_tables_are_joined_in_the_order_of_the_people(folder):
    schema = shoal.Schema.parse(
        json.loads((folder / "two/manifest.json").read_text(encoding="utf-8"))["schema"]
    )
    with open_labels(folder / "two/table.csv", schema, exact=True) as frame:
        columns = read_columns(frame, [field.name for field in frame.fields])
    assert list(columns) == ["bucket", *QUASI, "Disease"]
    joined = {name: [one.values[code] for code in one.codes] for name, one in columns.items()}
    people = read(folder / "two/table.csv")
    assert all(joined[name] == [row[name] for row in people] for name in people[0])
    rows = [dict(zip(joined, row, strict=True)) for row in zip(*joined.values(), strict=True)]
    expected = contents(per_bucket(bucketed(FIGURE_3), ["Disease"]))
    assert contents(per_bucket(rows, ["Disease"])) == expected


@pytest.mark.parametrize(("name", "schema"), [("one", SCHEMA), ("two", None)])
def test_buckets_are_the_classes_of_attacks_whatever_schema_is_given(folder, name, schema):
    tried = shoal.red_team(folder / name, targets=folder / "people.csv", schema=schema)
    found = {one.attack: one for one in tried.findings}
    assert set(found) == {"homogeneity", "minimality", "skewness"}
    assert (found["homogeneity"].exposed, found["homogeneity"].sure) == (0, 0.4)
    assert "can be found" in dict(tried.skipped)["linking"]


def test_buckets_are_not_compared_with_other_releases(folder):
    tried = shoal.red_team([folder / "one", folder / "two"], targets=folder / "people.csv")
    assert len(tried.findings) == 4
    reasons = dict(tried.skipped)
    assert all("cannot be compared" in reasons[name] for name in ("intersection", "minimality"))


def test_people_are_in_the_bucket_of_the_row_that_has_their_cells(folder):
    asked = {"targets": folder / "people.csv", "names": "Name", "about": "Ed.Disease=Lung Cancer"}
    found = shoal.attack("background", folder / "two", knowing="not Ed.Disease=Mumps", **asked)
    assert (found.sure, found.guessing) == (0.5, 0.2)


def test_people_of_several_buckets_or_none_have_no_bucket(folder):
    seen = read_published_tables([folder / "one"], None, lambda *step: None)
    people = pa.table({"Sex": ["F", "M", None, "M"], "Age": [24, 27, 25, 99], "Name": list("abcd")})
    bucket = {row["Sex"]: float(row["bucket"]) for row in read(folder / "one/table.csv")}

    def buckets(*names: str) -> list[float | None]:
        found = place_in_buckets(
            read_people_table(people.select(list(names)), seen, {}), seen
        ).listings["bucket"]
        return [found.values[code] for code in found.codes]

    assert buckets("Sex", "Age") == [bucket["F"], bucket["M"], None, None]
    assert buckets("Sex") == [bucket["F"], bucket["M"], None, bucket["M"]]
    assert buckets("Age") == [None, bucket["M"], bucket["M"], None]  # two people are 24
    with pytest.raises(shoal.InputError, match="none of"):
        buckets("Name")


def test_codes_that_are_one_number_are_two_people(tmp_path):
    table = pa.table({"zip": ["01", "02", "03", "04"], "ill": list("abab")})
    schema = shoal.Schema.of(quasi=["zip"], sensitive=["ill"])
    shoal.publish(table, schema, "distinct-diversity l=2", out=tmp_path / "out", form="buckets")
    seen = read_published_tables([tmp_path / "out"], None, lambda *step: None)
    people = read_people_table(pa.table({"zip": ["01", "1", "4"]}), seen, {"zip": "code"})
    found = place_in_buckets(people, seen).listings["bucket"]
    own = {row["zip"]: float(row["bucket"]) for row in read(tmp_path / "out/table.csv")}
    assert [found.values[code] for code in found.codes] == [own["01"], None, None]


# Minimality: a bucket that was not cut further tells why


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Six people whom the method leaves whole, because the three younger have one illness."""
    folder = tmp_path_factory.mktemp("whole")
    people = [{"who": str(i), "age": i, "sex": "fm"[i % 2], "ill": "aaaabb"[i]} for i in range(6)]
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(people[0]))
        writer.writeheader()
        writer.writerows(people)
    schema = shoal.Schema.of(identifier=["who"], quasi=["age"], keep=["sex"], sensitive=["ill"])
    for form in ("partition", "buckets"):
        shoal.publish(
            folder / "people.csv",
            schema,
            "distinct-diversity l=2",
            out=folder / form,
            form=form,
            accept_keep=True,
        )
    return folder


@pytest.mark.parametrize("private", [True, False])
def test_minimality_is_as_strong_on_buckets_as_on_cells(whole, tmp_path, private):
    out = whole / "buckets" if private else copy(whole, "buckets", tmp_path)
    asked = {"targets": whole / "people.csv", "on": "ill"}
    cells, found = (shoal.attack("minimality", one, **asked) for one in (whole / "partition", out))
    assert (found.exposed, found.sure, found.details) == (cells.exposed, cells.sure, cells.details)
    assert found.worst == cells.worst
    # Cut at the median, both halves have two illnesses unless the two b are on one side.
    worlds = {w for w in permutations("aaaabb") if len({w[:3].count("b"), 1}) == 2}
    young = sum(w[0] == "a" for w in worlds) / len(worlds)
    assert found.details["worlds_kept"] == pytest.approx(len(worlds) / 15)
    assert found.sure == pytest.approx(young)


def test_minimality_needs_all_that_the_buckets_were_made_by(whole, tmp_path):
    (tmp_path / "people.csv").write_text("sex,ill\nf,a\nm,b\n", encoding="utf-8")
    with pytest.raises(shoal.InputError, match="made by: age"):
        shoal.attack("minimality", whole / "buckets", targets=tmp_path / "people.csv")
    out = rewritten(copy(whole, "buckets", tmp_path), exact=[])
    with pytest.raises(shoal.InputError, match="does not say"):
        shoal.attack("minimality", out, targets=whole / "people.csv")
    with pytest.raises(shoal.InputError, match="damaged"):
        shoal.attack("minimality", rewritten(out, exact=5), targets=whole / "people.csv")


def test_a_control_group_has_the_exact_columns_too(whole, tmp_path):
    control = tmp_path / "control.csv"
    control.write_text("sex\nf\n", encoding="utf-8")
    asked = {"targets": whole / "people.csv", "control": control}
    with pytest.raises(shoal.InputError, match="lacks columns that the targets have: age"):
        shoal.attack("minimality", whole / "buckets", **asked)
    control.write_text("age,sex\n9,f\n", encoding="utf-8")
    assert shoal.attack("minimality", whole / "buckets", **asked).people == 6


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_schema_that_is_given_does_not_make_other_classes(folder, name):
    """Over an exact column rows have anybody's values, which would hide what buckets say."""
    asked = shoal.Schema.of(quasi=["Sex"], keep=["Zip", "Age", "bucket"], sensitive=["Disease"])
    sexless = shoal.Schema.of(quasi=["Zip"], keep=["Sex", "Age", "bucket"], sensitive=["Disease"])
    for schema in (None, asked, sexless):
        assert shoal.verify(folder / name, schema).classes == 2
        assert not shoal.verify(folder / name, schema, "ck-safety c=0.6 k=1").holds
        assert shoal.audit(folder / name, schema).reached("ck-safety", k=1) == pytest.approx(2 / 3)
