"""What is handed in to a pool: nobody's rows twice, and hints that a provider can follow."""

from __future__ import annotations

import json
import random
import shlex
from dataclasses import replace

import pyarrow as pa
import pytest

import shoal
from shoal.flow import pool_store
from shoal.flow.pool import pool_add, pool_init, pool_publish, pool_status
from shoal.flow.pool_rows import content_of

RULE = "m-privacy m=1 (k-anonymity k=3)"
KINDS = {"who": "category", "age": "number", "seen": "date", "diagnosis": "category"}


def schema(**roles: str) -> shoal.Schema:
    roles = {"age": "quasi", "seen": "quasi", "diagnosis": "sensitive", **roles}
    columns = (shoal.Column(n, r, KINDS.get(n, "category")) for n, r in roles.items())
    return shoal.Schema(tuple(columns))


def rows(seed: int = 1, number: int = 30, **more) -> pa.Table:
    rng = random.Random(seed)
    return pa.table({
        "age": [rng.randrange(20, 80) for _ in range(number)],
        "seen": [f"2026-01-{rng.randrange(1, 29):02}" for _ in range(number)],
        "diagnosis": [rng.choice(("flu", "cold", None)) for _ in range(number)],
        **more,
    })  # fmt: skip


def people(*numbers: int) -> dict[str, list[str]]:
    return {"who": [f"P{n}" for n in numbers]}


@pytest.fixture
def pool(tmp_path):
    pool_init(tmp_path / "pool", schema(), RULE, providers=["St Anna", "Harbour"])
    pool_add(tmp_path / "pool", "St Anna", rows())
    return tmp_path / "pool"


# Twice


def test_the_same_rows_in_any_order_are_found(pool):
    before = (pool / "private/members.json").read_bytes()
    backwards = rows().take(list(range(29, -1, -1)))
    with pytest.raises(shoal.InputError, match="handed in as those of 'St Anna'") as error:
        pool_add(pool, "Harbour", backwards)
    assert shlex.split(error.value.hint)[-4:] == ["--provider", "St Anna", "FILE", "--replace"]
    assert (pool / "private/members.json").read_bytes() == before
    assert pool_add(pool, "St Anna", backwards, replace=True).rows == 30
    assert pool_add(pool, "Harbour", rows(2)).awaited == ()


def test_a_few_rows_may_be_alike_by_chance(pool):
    pool_add(pool, "St Anna", rows(number=9), replace=True)
    assert pool_add(pool, "Harbour", rows(number=9)).rows == 9


def test_the_hash_of_rows_is_that_of_their_values():
    whole = pa.table({"a": [1.0, 2.0, 2.0], "b": ["x", None, "y"], "of": ["A"] * 3})
    alike = content_of(whole, "of")
    other = whole.set_column(2, "of", [["B"] * 3])
    assert content_of(other.take([2, 0, 1]).select(["b", "of", "a"]), "of") == alike
    for changed in (
        whole.slice(1),
        whole.set_column(1, "b", [["x", "", "y"]]),
        whole.set_column(0, "a", [[2.0, 1.0, 2.0]]),
        whole.rename_columns(["b", "a", "of"]),
        pa.concat_tables([whole, whole]),
    ):
        assert content_of(changed, "of") != alike


def test_people_of_two_providers_are_found_when_they_are_added(tmp_path):
    pool_init(tmp_path / "pool", schema(who="person"), RULE)
    pool_add(tmp_path / "pool", "St Anna", rows(number=30, **people(*range(30))))
    for numbers, said in ((range(29, 59), "1 row is"), (range(20, 50), "10 rows are")):
        with pytest.raises(shoal.InputError, match=f"{said} about people") as error:
            pool_add(tmp_path / "pool", "Harbour", rows(2, **people(*numbers)))
        assert "P2" not in str(error.value)
    own = rows(3, **people(*range(10, 40)))
    assert pool_add(tmp_path / "pool", "St Anna", own, replace=True).rows == 30
    assert pool_add(tmp_path / "pool", "Harbour", rows(2, **people(*range(40, 70)))).rows == 30


# Hints


@pytest.mark.parametrize(
    ("table", "said", "hint"),
    [
        (rows(wage=range(30)), "a column that was not agreed on: wage", "leave it out of the file"),
        (rows(wage=range(30), job=["x"] * 30), "columns that were", "leave them out of the file"),
        (rows(age=["old"] * 30), "not numbers", "correct the file"),
        (rows(provider=["Harbour"] + ["St Anna"] * 29), "in 1 row", "leave the column out"),
    ],
)
def test_hints_are_what_a_provider_can_do(pool, table, said, hint):
    with pytest.raises(shoal.InputError, match=said) as error:
        pool_add(pool, "St Anna", table, replace=True)
    assert hint in error.value.hint
    assert "kinds=" not in error.value.hint


def test_a_value_that_the_agreed_hierarchy_lacks_is_the_provider_s_to_correct(tmp_path):
    known = shoal.tree([["flu", "lung", "*"], ["cold", "lung", "*"]])
    agreed = schema().set(diagnosis=shoal.quasi(known, kind="category"))
    pool_init(tmp_path / "pool", agreed, RULE)
    with pytest.raises(shoal.HierarchyError) as error:
        pool_add(tmp_path / "pool", "North", rows(diagnosis=["flu", "measles"] * 15))
    assert "agreed on" in error.value.hint
    assert "measles" not in str(error.value)


# The folder


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "is gone"), ("{", "is damaged"), ("[]", "is damaged"), ('{"agreement": 1}', "damaged")],
)
def test_a_list_of_members_that_is_gone_or_broken_is_told_as_such(pool, content, said):
    path = pool / "private/members.json"
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(shoal.InputError, match=rf"private/members\.json of the pool .*{said}") as e:
        pool_add(pool, "Harbour", rows(2))
    assert "put back a copy" in e.value.hint


def test_a_folder_that_is_no_pool_is_told_as_such(tmp_path):
    for name in ("none", "."):
        with pytest.raises(shoal.InputError, match="is not a pool"):
            pool_status(tmp_path / name)


def test_rows_that_were_changed_do_not_keep_others_from_adding_theirs(tmp_path):
    pool_init(tmp_path / "pool", schema(who="person"), RULE)
    pool_add(tmp_path / "pool", "St Anna", rows(**people(*range(30))))
    next((tmp_path / "pool/private").glob("*.parquet")).write_bytes(b"changed")
    assert pool_add(tmp_path / "pool", "Harbour", rows(2, **people(*range(30)))).rows == 30
    with pytest.raises(shoal.InputError, match="'St Anna' were changed") as error:
        pool_publish(tmp_path / "pool", tmp_path / "out")
    assert "--provider 'St Anna' FILE --replace" in error.value.hint


def test_status_tells_names_and_no_counts(pool):
    found = pool_status(pool)
    assert (found.added, found.awaited) == (("St Anna",), ("Harbour",))
    assert found.agreement == pool_store.load(pool).hash
    assert "30" not in str(found).replace(found.agreement, "")
    assert str(found).splitlines()[2:] == ["rows added: St Anna", "awaited: Harbour"]
    told = found.to_json()
    assert set(told) == {"edition", "folder", "agreement", "rule", "added", "awaited"}
    pool_add(pool, "Harbour", rows(2))
    assert str(pool_status(pool)).endswith("rows added: Harbour, St Anna\nawaited: nobody")


# What is agreed on


def test_the_agreement_has_no_counts_of_one_provider_s_table(tmp_path):
    text = schema().to_toml() + "# 42 rows in our ward\n"
    noted = shoal.Schema.parse(text)
    columns = tuple(replace(c, reason="17 values in 3,000 rows") for c in noted.columns)
    pool_init(tmp_path / "pool", replace(noted, columns=columns), RULE)
    content = (tmp_path / "pool/pool.json").read_text(encoding="utf-8")
    assert content.endswith("}\n")
    assert not any(word in content for word in ("reason", "3,000", "our ward"))
    agreed = pool_store.load(tmp_path / "pool").agreement.schema
    assert agreed.column("age").kind == "number"


TWO = {"job": "sensitive"}
ONE = "distinct-diversity l=2"


@pytest.mark.parametrize(
    ("roles", "part", "said"),
    [
        (TWO, ONE, "which of 2 sensitive columns"),
        (TWO, f"{ONE} & entropy-diversity l=2", "which of 2"),
        ({}, f"{ONE} on=age", "'age' is not a sensitive column"),
        (TWO, f"{ONE} on=diagnosis*age", "'age' is not a sensitive column"),
        ({"home town": "sensitive"}, ONE, "which of 2"),
    ],
)
def test_a_rule_is_about_columns_that_are_sensitive(tmp_path, roles, part, said):
    with pytest.raises(shoal.UsageError, match=said) as error:
        pool_init(tmp_path / "pool", schema(**roles), f"m-privacy m=1 (k-anonymity k=3 & {part})")
    assert not (tmp_path / "pool").exists()
    line = shlex.split(error.value.hint.removeprefix("name one: "))[1].rstrip(";")
    assert "on=diagnosis" in line
    assert pool_init(tmp_path / "pool", schema(**roles), line).rule == line


def test_a_name_with_a_blank_can_be_typed(tmp_path):
    roles = {"diagnosis": "quasi", "home town": "sensitive"}
    with pytest.raises(shoal.UsageError, match="not a sensitive column") as error:
        pool_init(tmp_path / "pool", schema(**roles), f"m-privacy m=1 ({ONE} on=age)")
    line = shlex.split(error.value.hint.removeprefix("name one: "))[1]
    assert pool_init(tmp_path / "pool", schema(**roles), line).rule == line


def test_products_of_sensitive_columns_can_be_agreed_on(tmp_path):
    rule = f"m-privacy m=1 ({ONE} on=diagnosis*job)"
    assert pool_init(tmp_path / "pool", schema(**TWO), rule).rule == rule


def test_a_rule_about_values_needs_a_sensitive_column(tmp_path):
    with pytest.raises(shoal.UsageError, match="the schema names none"):
        pool_init(tmp_path / "pool", schema(diagnosis="quasi"), f"m-privacy m=1 ({ONE})")


# Where things lie


@pytest.mark.parametrize("place", ["out", "deep/er/out"])
def test_nothing_private_is_put_into_what_is_public(tmp_path, place):
    public = tmp_path / "public"
    shoal.publish(rows(), schema(), "k-anonymity k=3", out=public)
    (public / place).parent.mkdir(parents=True, exist_ok=True)
    for out, companion in ((public / place, None), (tmp_path / "out", public / place)):
        with pytest.raises(shoal.UsageError, match="folder of a release, which is public"):
            shoal.publish(rows(), schema(), "k-anonymity k=3", out=out, companion=companion)
    with pytest.raises(shoal.UsageError, match="folder of a release"):
        pool_init(public / place, schema(), RULE)
    assert not (public / place).exists()
    assert json.loads((public / "manifest.json").read_bytes())["rows"] == 30


def test_a_release_does_not_lie_in_a_pool(pool):
    for out in (pool / "out", pool / "private/out"):
        with pytest.raises(shoal.UsageError, match="folder of a pool"):
            shoal.publish(rows(), schema(), "k-anonymity k=3", out=out)


def test_another_program_s_manifest_is_in_nobody_s_way(tmp_path):
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    shoal.publish(rows(), schema(), "k-anonymity k=3", out=tmp_path / "out")
    assert (tmp_path / "out/manifest.json").read_bytes().endswith(b"}\n")
