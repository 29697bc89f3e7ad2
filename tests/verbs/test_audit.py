"""Audit: figures of any table, against plain Python."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction

import pytest
from tests.oracles import plain_models as oracle

import shoal


def as_classes(rows, quasi, sensitive):
    found: dict = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in quasi), []).append(row[sensitive])
    return list(found.values())


@pytest.fixture
def release(town):
    return town.publish("k-anonymity k=5")


@pytest.fixture
def table(town, release):
    return as_classes(town.published(release), town.quasi, "diagnosis")


def test_json_has_the_keys_of_edition_one(release, town):
    found = shoal.audit(release.folder).to_json()
    assert list(found) == [
        "edition",
        "rows",
        "people",
        "classes",
        "reached",
        "not_evaluated",
        "risk",
        "utility",
    ]
    assert found["edition"] == 1
    assert (found["rows"], found["classes"]) == (80, release.verdict.classes)
    for one in found["reached"]:
        assert {"model", "value"} <= set(one)
    first = found["reached"]
    assert {"model": "k-anonymity", "value": town.sizes(release)[0]} in first
    assert all(one.get("on", "diagnosis") == "diagnosis" for one in first)
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found


def test_whole_numbers_are_printed_as_such(release):
    text = json.dumps(shoal.audit(release.folder).to_json())
    assert '{"model": "k-anonymity", "value": 5}' in text
    assert '"value": 5.0' not in text


def test_values_are_those_of_the_oracle(release, table):
    audit = shoal.audit(release.folder)
    everybody = range(len(table))
    whole = oracle.frequencies(oracle.whole(table))
    parts = [oracle.frequencies(rows) for rows in table]
    entropy = min(math.exp(-sum(p * math.log(p) for p in part.values())) for part in parts)
    assert audit.reached("k-anonymity") == min(map(len, table))
    assert audit.reached("distinct-diversity") == min(len(set(rows)) for rows in table)
    assert audit.reached("entropy-diversity") == pytest.approx(entropy)
    t = max(oracle.equal(part, whole) for part in parts)
    assert audit.reached("t-closeness", distance="equal") == pytest.approx(float(t))
    alpha = max(max(part.values()) for part in parts)
    assert audit.reached("alpha-k") == pytest.approx(float(alpha))
    beta = max((part.get(v, 0) - whole[v]) / whole[v] for part in parts for v in whole)
    assert audit.reached("beta-likeness") == pytest.approx(float(beta))
    assert all(oracle.beta_likeness(table, i, beta) for i in everybody)
    assert all(oracle.t_closeness(table, i, Fraction(t)) for i in everybody)


def test_delta_disclosure_is_infinite_where_a_value_is_missing(town):
    rows = [{"q": "1", "d": "a"}, {"q": "1", "d": "b"}, {"q": "2", "d": "a"}]
    table = town.write(town.folder / "d.csv", rows)
    audit = shoal.audit(table, shoal.Schema.of(quasi="q", sensitive="d"))
    assert audit.reached("delta-disclosure") == math.inf
    told = [o for o in audit.to_json()["reached"] if o["model"] == "delta-disclosure"]
    assert told[0]["value"] == "inf"


def test_risk_of_the_raw_table(town):
    audit = shoal.audit(town.table, town.schema())
    sizes = Counter(tuple(row[name] for name in town.quasi) for row in town.rows).values()
    risk = audit.to_json()["risk"]
    assert audit.risk.prosecutor == 1 / min(sizes)
    assert audit.risk.marketer == pytest.approx(len(sizes) / 80)
    assert audit.risk.uniques == sum(size == 1 for size in sizes)
    assert risk["uniques"] == audit.risk.uniques


def test_utility_without_and_with_the_original(town, release):
    sizes = town.sizes(release)
    alone = shoal.audit(release.folder).utility
    assert alone["average_class_size"] == 80 / len(sizes)
    assert alone["discernibility"] == sum(size**2 for size in sizes)
    found = shoal.audit(release.folder, town.schema(), original=town.table).utility
    assert found["loss"] == pytest.approx(release.private["loss"])
    assert found["granularity"] == pytest.approx(1 - release.private["loss"])
    assert found["rows_suppressed"] == 0
    assert found["marginals"]
    assert 0 < found["non_uniform_entropy"] < 1


def test_the_original_s_columns_may_stand_in_another_order(town, release):
    turned = [dict(reversed(row.items())) for row in town.rows]
    original = town.write(town.folder / "turned.csv", turned)
    one, other = (
        shoal.audit(release.folder, town.schema(), original=table).to_json()["utility"]
        for table in (town.table, original)
    )
    for key in ("loss", "discernibility", "non_uniform_entropy", "rows_suppressed"):
        assert one[key] == pytest.approx(other[key])


def test_entropy_of_the_file_is_that_of_the_cut(town):
    """Bits lost, row by row in plain Python, for one ordered column."""
    rows = [{"age": str(a), "d": "x"} for a in (1, 1, 2, 3, 5, 5, 8, 9)]
    table = town.write(town.folder / "e.csv", rows)
    schema = shoal.Schema.of(quasi="age", sensitive="d")
    release = shoal.publish(table, schema, "k-anonymity k=4", out=town.folder / "e")
    assert {row["age"] for row in town.published(release)} == {"[1-3]", "[5-9]"}
    lost = sum(math.log2(4 / n) * n for n in (2, 1, 1, 2, 1, 1))
    most = sum(math.log2(8 / n) * n for n in (2, 1, 1, 2, 1, 1))
    utility = shoal.audit(release.folder, schema, original=table).utility
    assert utility["non_uniform_entropy"] == pytest.approx(lost / most)


def test_rows_that_are_missing_count_as_suppressed(town, release):
    rows = town.published(release)[:-9]
    town.write(release.path, rows, list(rows[0]))
    audit = shoal.audit(release.path, town.schema(), original=town.table)
    assert audit.utility["rows_suppressed"] == 9


def test_an_untouched_table_loses_nothing(town):
    utility = shoal.audit(town.table, town.schema(), original=town.table).utility
    assert utility["loss"] == 0
    assert utility["granularity"] == 1
    assert utility["non_uniform_entropy"] == pytest.approx(0, abs=1e-9)


def test_a_population_gives_the_journalist_s_risk_and_its_models(town, release):
    others = [{**row, "patient": f"other {i}"} for i, row in enumerate(town.people(300, seed=3))]
    everybody = town.write(town.folder / "all.csv", others + town.rows)
    audit = shoal.audit(release.folder, town.schema(), population=everybody)
    assert audit.reached("k-map") >= audit.reached("k-anonymity")
    assert audit.risk.journalist < audit.risk.prosecutor
    names = {one.model for one in shoal.audit(release.folder).measured}
    assert "k-map" not in names


def test_what_was_not_measured_is_named(release):
    with pytest.raises(shoal.UsageError, match="was not measured"):
        shoal.audit(release.folder).reached("k-map")


def test_an_audit_needs_roles(town):
    with pytest.raises(shoal.UsageError, match="roles"):
        shoal.audit(town.table)


def test_each_sensitive_column_is_measured_by_itself(town):
    audit = shoal.audit(town.table, town.schema(born=shoal.sensitive, hospital=shoal.identifier))
    on = {one.on for one in audit.measured if one.model == "distinct-diversity"}
    assert on == {"diagnosis", "born"}
    assert str(audit).startswith("80 rows in")


def test_labels_that_cannot_be_read_are_an_error_and_not_a_guess(town):
    rows = [{**row, "age": "young"} for row in town.rows]
    table = town.write(town.folder / "odd.csv", rows)
    with pytest.raises(shoal.InputError, match="'age' has 1 labels"):
        shoal.audit(table, town.schema(), original=town.table)


@pytest.fixture
def kept(town):
    """Ten classes of ten people in age; a kept town tells five apart; a population of 200."""
    rows = [{"age": f"{i // 10}0", "town": f"t{i % 5}", "dx": "xy"[i % 2]} for i in range(100)]
    table = town.write(town.folder / "kept.csv", rows)
    return table, shoal.Schema.of(quasi=["age"], keep=["town"], sensitive=["dx"]), rows


@pytest.mark.parametrize("column", ["town", None])
def test_kept_columns_count_whether_there_is_a_population_or_not(town, kept, column):
    table, schema, rows = kept
    people = [{"age": r["age"], **({column: r[column]} if column else {})} for r in rows] * 2
    everybody = town.write(town.folder / "all.csv", people)
    alone = shoal.audit(table, schema).risk
    beside = shoal.audit(table, schema, population=everybody)
    sizes = Counter((row["age"], row["town"]) for row in rows)
    assert alone.prosecutor == beside.risk.prosecutor == 1 / min(sizes.values()) == 1 / 2
    assert alone.marketer == beside.risk.marketer == len(sizes) / 100
    known = Counter(tuple(one.values()) for one in people)  # by the columns that it has
    assert beside.risk.journalist == 1 / min(known.values()) == (1 / 4 if column else 1 / 20)
    assert beside.risk.marketer_population == beside.risk.journalist
    assert beside.reached("k-map") == 20  # a rule leaves kept columns out


def test_kept_numbers_are_looked_up_as_numbers(town):
    rows = [{"q": "ab"[i % 2], "n": str(i // 4), "dx": "x"} for i in range(16)]
    table = town.write(town.folder / "n.csv", rows)
    people = [{"q": row["q"], "n": f"{row['n']}.0"} for row in rows] * 3
    everybody = town.write(town.folder / "all.csv", people)
    schema = shoal.Schema.of(quasi=["q"], sensitive=["dx"], keep=["n"])
    found = shoal.audit(table, schema, population=everybody)
    assert (found.risk.prosecutor, found.risk.journalist) == (1 / 2, 1 / 6)


def test_buckets_are_compared_with_no_other_table(town):
    release = town.publish("distinct-diversity l=2", form="buckets")
    for given in ("population", "original"):
        with pytest.raises(shoal.UsageError, match="uckets"):
            shoal.audit(release, **{given: town.table})
