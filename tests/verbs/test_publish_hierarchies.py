"""Every sort of hierarchy, from the schema to labels in the published file and back."""

from __future__ import annotations

import re

import pytest

import shoal

SEX = {"known": ["f", "m"]}
CASES = {
    "ordered": ("age", "ordered", r"\d+|\[\d+-\d+\]|\*"),
    "intervals": ("age", {"intervals": [5, 10, 20]}, r"\d+|\[\d*[05]-\d*[49]\]|\*"),
    "open": ("age", {"intervals": [10], "bottom": 30, "top": 70}, r"\d+|\[\d0-\d9\]|<30|>=70|\*"),
    "origin": ("age", {"intervals": [10], "origin": 5}, r"\d+|\[\d5-\d4\]|\*"),
    "equal-width": ("age", {"equal-width": [8, 4, 2]}, r"\d+|\[.*\]|<\S+|>=\S+|\*"),
    "equal-frequency": ("age", {"equal-frequency": [8, 4, 2]}, r"\d+|\[.*\]|\*"),
    "prefixes": ("zip", "prefixes", r"0\d+|0\d*\*+|\*"),
    "lengths": ("zip", {"prefixes": [3]}, r"0\d{4}|0\d\d\*\*|\*"),
    "dates": ("born", "dates", r"\d{4}(-\d\d(-\d\d)?|-Q\d|-\d{4})?|\*"),
    "some dates": ("born", {"dates": ["day", "year"]}, r"\d{4}(-\d\d-\d\d)?|\*"),
    "flat": ("zip", "flat", r"0\d{4}|\{0\d{4}(, 0\d{4})+\}|\*"),
    "tree": ("sex", {"tree": [["f", "known", "*"], ["m", "known", "*"]]}, r"f|m|known|\*"),
}


@pytest.mark.parametrize("name", CASES)
def test_end_to_end_through_a_schema_file(town, name):
    column, hierarchy, pattern = CASES[name]
    text = town.schema().set({column: shoal.quasi(shoal.Hierarchy.from_toml(hierarchy))}).to_toml()
    schema = shoal.Schema.parse(text)
    release = town.publish("k-anonymity k=4", schema)
    rows = town.published(release)
    assert len(rows) == 80
    assert all(re.fullmatch(pattern, row[column]) for row in rows), {r[column] for r in rows}
    quasi = [c.name for c in schema.quasi]
    assert town.sizes(release, quasi)[0] >= 4
    measured = shoal.audit(release.folder, schema, original=town.table)
    assert measured.utility["loss"] == pytest.approx(release.private["loss"])
    assert measured.utility["rows_suppressed"] == 0


def test_a_taxonomy_of_arx_in_a_file_beside_the_schema(town):
    zips = sorted({row["zip"] for row in town.rows})
    town.folder.joinpath("zip.csv").write_text(
        "".join(f"{z};{'west' if z < '02000' else 'east'};*\n" for z in [*zips, "99999"]),
        encoding="utf-8",
    )
    lines = [
        f'{name} = "{role}"'
        for name, role in (
            ("patient", "person"),
            ("name", "identifier"),
            ("age", "quasi"),
            ("sex", "quasi"),
            ("hospital", "provider"),
            ("born", "identifier"),
            ("diagnosis", "sensitive"),
        )
    ]
    text = "\n".join(
        ["[columns]", *lines, '[columns.zip]\nrole = "quasi"', 'hierarchy = { file = "zip.csv" }']
    )
    schema = shoal.Schema.parse(
        text, files=lambda name: (town.folder / name).read_text(encoding="utf-8")
    )
    release = town.publish("k-anonymity k=6", schema)
    assert {row["zip"] for row in town.published(release)} <= {*zips, "west", "east", "*"}
    assert {"west", "east"} & {row["zip"] for row in town.published(release)}
    assert "99999" not in release.path.read_text(encoding="utf-8")
    assert "99999" not in str(town.manifest(release))


def test_a_value_that_the_hierarchy_does_not_cover_is_named_by_column_and_count(town):
    schema = town.schema(zip=shoal.quasi(shoal.tree({"west": ["01301", "01302"]})))
    with pytest.raises(shoal.HierarchyError, match="'zip'") as error:
        town.publish(schema=schema)
    assert "2" in error.value.fact
    assert "02138" not in str(error.value)
    assert town.names() == {"people.csv"}


def test_a_value_outside_the_domain_is_named_by_column_and_count(town):
    schema = town.schema(sex=shoal.quasi(domain=("f", "x")))
    men = sum(row["sex"] == "m" for row in town.rows)
    with pytest.raises(shoal.SchemaError, match=f"1 values outside .* {men} rows"):
        town.publish(schema=schema)


def test_verify_knows_the_tree_of_a_sensitive_column_and_only_the_published_part(town):
    tree = shoal.tree({"lung": ["flu", "cold", "asthma"], "heart": ["angina", "infarct"]})
    schema = town.schema(diagnosis=shoal.sensitive(tree))
    rule = "k-anonymity k=4 & t-closeness t=0.3 distance=hierarchical"
    release = town.publish(rule, schema)
    assert release.verdict.judgements[1].reached > 0
    again = shoal.verify(release.folder)
    assert again.judgements[1].reached == release.verdict.judgements[1].reached
    assert "lung" in town.manifest(release)["schema"]
    assert "infarct" not in str(town.manifest(release))


def test_ordered_distance_survives_the_file(town):
    for row in town.rows:
        row["diagnosis"] = str(100 + ord(row["diagnosis"][0]) % 7)
    town.write(town.table, town.rows)
    for format_ in ("csv", "xlsx", "parquet"):
        release = town.publish(
            "t-closeness t=0.25 distance=ordered", format=format_, out=town.folder / format_
        )
        assert shoal.verify(release.folder) == release.verdict


@pytest.fixture
def population(town):
    others = [row | {"patient": f"N{i}"} for i, row in enumerate(town.people(400, seed=5))]
    everybody = others + town.rows
    return town.write(town.folder / "everybody.csv", everybody)


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_k_map_end_to_end(town, population, format_):
    rule = "k-map k=12"
    release = town.publish(rule, population=population, format=format_)
    everybody = town.read(population)
    table = shoal.open(release.path)
    assert release.verdict.judgements[0].reached >= 12
    if format_ == "csv":
        for row in town.published(release):
            assert sum(inside(row, one) for one in everybody) >= 12
    k = shoal.audit(release.folder).reached("k-anonymity")
    assert k < 12  # the population hides them, not the table
    assert shoal.verify(release.folder, population=population).holds
    with pytest.raises(shoal.UsageError, match="population"):
        shoal.verify(release.folder)
    assert table is not None


def inside(labels, row):
    if ends := re.fullmatch(r"\[(\d+)-(\d+)\]", labels["age"]):
        age = int(ends[1]) <= int(row["age"]) <= int(ends[2])
    else:
        age = labels["age"] in ("*", row["age"])
    prefix = labels["zip"].rstrip("*")
    return age and labels["sex"] in ("*", row["sex"]) and row["zip"].startswith(prefix)


def test_delta_presence_end_to_end(town, population):
    rule = "delta-presence low=0 high=0.5"
    release = town.publish(rule, population=population)
    everybody = town.read(population)
    rows = town.published(release)
    for labels in {tuple(row[name] for name in town.quasi) for row in rows}:
        one = dict(zip(town.quasi, labels, strict=True))
        here = sum(tuple(row[name] for name in town.quasi) == labels for row in rows)
        assert here / sum(inside(one, row) for row in everybody) <= 0.5
    assert shoal.verify(release.folder, population=population).holds


def test_a_population_that_lacks_values_of_the_table(town):
    """Nobody of the population lives in 01301: k-map counts nobody there, and says so."""
    few = [row for row in town.people(300, seed=7) if row["zip"] != "01301"]
    population = town.write(town.folder / "few.csv", few)
    release = town.publish("k-map k=3", population=population, hold_back=0.5)
    assert "01301" not in {row["zip"] for row in town.published(release)}
    assert shoal.verify(release.folder, population=population).holds
    lacking = town.write(town.folder / "lacking.csv", [{"age": row["age"]} for row in few], ["age"])
    with pytest.raises(shoal.ShoalError, match="sex"):
        town.publish("k-map k=3", population=lacking, out=town.folder / "x")


def test_no_population_where_the_rule_needs_one(town):
    with pytest.raises(shoal.UsageError, match="population"):
        town.publish("k-map k=3")
    assert town.names() == {"people.csv"}
