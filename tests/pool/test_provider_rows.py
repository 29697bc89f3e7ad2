"""What is handed in to a pool: nobody's rows twice, and hints that a provider can follow."""

from __future__ import annotations

import json
import random
import shlex
import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.pool import pool_folder
from shoal.pool.provider_rows import hash_rows
from shoal.pool.verbs import pool_add, pool_init, pool_publish, pool_status

RULE = "m-privacy m=1 (k-anonymity k=3)"
KINDS = {"who": "category", "age": "number", "seen": "date", "diagnosis": "category"}


def schema(**roles: str) -> shoal.Schema:
    roles = {"age": "quasi", "seen": "quasi", "diagnosis": "sensitive", **roles}
    columns = (shoal.Column(n, r, KINDS.get(n, "category")) for n, r in roles.items())
    return shoal.Schema(tuple(columns))


def rows(seed: int = 1, number: int = 30, **more) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "age": [rng.randrange(20, 80) for _ in range(number)],
            "seen": [f"2026-01-{rng.randrange(1, 29):02}" for _ in range(number)],
            "diagnosis": [rng.choice(("flu", "cold", None)) for _ in range(number)],
            **more,
        }
    )


def people(*numbers: int) -> dict[str, list[str]]:
    return {"who": [f"P{n}" for n in numbers]}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    place = tmp_path_factory.mktemp("begun") / "pool"
    pool_init(place, schema(), RULE, providers=["St Anna", "Harbour"])
    pool_add(place, "St Anna", rows())
    return place


@pytest.fixture
def pool(begun, tmp_path):
    """A copy of a pool that awaits one of two providers."""
    return Path(shutil.copytree(begun, tmp_path / "pool"))


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# Twice


def test_the_same_rows_in_any_order_are_found(pool):
    before = (pool / "private/partners.json").read_bytes()
    backwards = rows().take(list(range(29, -1, -1)))
    with pytest.raises(shoal.InputError, match="as another provider's") as error:
        pool_add(pool, "Harbour", backwards)
    assert "St Anna" not in str(error.value)
    assert (pool / "private/partners.json").read_bytes() == before
    assert pool_add(pool, "St Anna", backwards, replace=True).rows == 30
    assert pool_add(pool, "Harbour", rows(2)).awaited == ()


def test_a_few_rows_may_be_alike_by_chance(pool):
    pool_add(pool, "St Anna", rows(number=9), replace=True)
    assert pool_add(pool, "Harbour", rows(number=9)).rows == 9


def test_the_hash_of_rows_is_that_of_their_values():
    whole = pa.table({"a": [1.0, 2.0, 2.0], "b": ["x", None, "y"], "of": ["A"] * 3})
    alike = hash_rows(whole, "of")
    other = whole.set_column(2, "of", [["B"] * 3])
    assert hash_rows(other.take([2, 0, 1]).select(["b", "of", "a"]), "of") == alike
    for changed in (
        whole.slice(1),
        whole.set_column(1, "b", [["x", "", "y"]]),
        whole.set_column(0, "a", [[2.0, 1.0, 2.0]]),
        whole.rename_columns(["b", "a", "of"]),
        pa.concat_tables([whole, whole]),
    ):
        assert hash_rows(changed, "of") != alike


def test_adding_does_not_tell_who_is_another_s_patient(tmp_path):
    """What is printed or raised for a provider is the same, whoever another's people are."""
    said = []
    for number, theirs in enumerate((range(30), range(100, 130))):
        place = tmp_path / str(number)
        pool_init(place, schema(who="person"), RULE)
        pool_add(place, "St Anna", rows(**people(*theirs)))
        made = pool_add(place, "Harbour", rows(2, **people(*range(30)))).to_json()
        said.append({key: made[key] for key in ("provider", "rows", "sha256", "awaited")})
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (range(29, 59), "One person has .*: 'Harbour' has 1, 'St Anna' has 1"),
        (range(20, 50), "10 people have .*: 'Harbour' has 10, 'St Anna' has 10"),
    ],
)
def test_people_of_two_providers_are_found_when_all_is_published(tmp_path, numbers, said):
    place = tmp_path / "pool"
    pool_init(place, schema(who="person"), RULE)
    pool_add(place, "St Anna", rows(**people(*range(30))))
    pool_add(place, "Harbour", rows(2, **people(*numbers)))
    with pytest.raises(shoal.InputError, match=rf"{said}\.") as error:
        pool_publish(place, tmp_path / "release")
    assert "P2" not in str(error.value)
    assert shlex.split(error.value.hint)[-4:] == ["--provider", "NAME", "FILE", "--replace"]
    assert [path.name for path in tmp_path.iterdir()] == ["pool"]
    pool_add(place, "Harbour", rows(2, **people(*range(30, 60))), replace=True)
    assert pool_publish(place, tmp_path / "release").certificate["rows"] == 60


# Tables that do not fit


TODAY = [date.today()] * 30
WRONG = {
    "lacks columns": (rows().drop_columns(["seen"]), shoal.SchemaError, ""),
    "a column that was not agreed on: wage": (
        rows(wage=range(30)),
        shoal.SchemaError,
        "leave it out of the file",
    ),
    "columns that were not agreed on: job, wage": (
        rows(wage=range(30), job=["x"] * 30),
        shoal.SchemaError,
        "leave them out of the file",
    ),
    "are not numbers": (rows(age=["old"] * 30), shoal.InputError, "correct the file"),
    "a date, not a number": (rows(age=TODAY), shoal.InputError, "correct the file"),
    "no rows": (rows().slice(0, 0), shoal.InputError, ""),
    "names another provider than the one given in 1 row": (
        rows(provider=["Harbour"] + ["St Anna"] * 29),
        shoal.InputError,
        "leave the column out",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_table_that_does_not_fit_the_agreement_is_refused_with_what_to_do(pool, case):
    table, kind, hint = WRONG[case]
    before = everything(pool)
    with pytest.raises(kind, match=case) as error:
        pool_add(pool, "St Anna", table, replace=True)
    assert error.value.exit_code == 5
    assert hint in error.value.hint
    assert not any(word in error.value.hint for word in ("kinds=", "quasi"))
    assert not any(value in str(error.value) for value in ("flu", "old"))
    assert everything(pool) == before


def test_a_value_that_the_agreed_hierarchy_lacks_is_the_provider_s_to_correct(tmp_path):
    known = shoal.tree([["flu", "lung", "*"], ["cold", "lung", "*"]])
    agreed = schema().set(diagnosis=shoal.quasi(known, kind="category"))
    pool_init(tmp_path / "pool", agreed, RULE)
    assert "lung" in (tmp_path / "pool/pool.json").read_text(encoding="utf-8")
    with pytest.raises(shoal.HierarchyError) as error:
        pool_add(tmp_path / "pool", "North", rows(diagnosis=["flu", "measles"] * 15))
    assert "agreed on" in error.value.hint
    assert "measles" not in str(error.value)
    assert pool_add(tmp_path / "pool", "North", rows(diagnosis=["flu", "cold"] * 15)).rows == 30


def test_a_table_may_lack_identifiers_and_may_name_its_provider(tmp_path):
    pool_init(tmp_path / "pool", schema(who="identifier", site="provider"), RULE)
    assert pool_add(tmp_path / "pool", "North", rows()).rows == 30
    own = rows(2, site=["South"] * 30, **people(*range(30)))
    assert pool_add(tmp_path / "pool", "South", own).rows == 30


# Whose rows


def test_names_that_could_be_one_provider_s_are_refused(tmp_path):
    pool_init(tmp_path / "pool", schema(), RULE)
    pool_add(tmp_path / "pool", "St Mary", rows())
    for alike in ("st mary", "StMary", "St  Mary", "ST MARY"):
        with pytest.raises(shoal.InputError, match="case or space"):
            pool_add(tmp_path / "pool", alike, rows())
    with pytest.raises(shoal.InputError, match="already"):
        pool_add(tmp_path / "pool", " St Mary ", rows())


def test_only_those_who_take_part_add_rows(pool):
    with pytest.raises(shoal.UsageError, match="not one of the pool's 2 providers"):
        pool_add(pool, "East", rows(2))


# The folder


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "is gone"), ("{", "is damaged"), ("[]", "is damaged"), ('{"agreement": 1}', "damaged")],
)
def test_a_list_of_partners_that_is_gone_or_broken_is_told_as_such(pool, content, said):
    path = pool / "private/partners.json"
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(
        shoal.InputError, match=rf"private/partners\.json of the pool .*{said}"
    ) as e:
        pool_add(pool, "Harbour", rows(2))
    assert "put back a copy" in e.value.hint


def test_a_folder_that_is_no_pool_is_told_as_such(tmp_path):
    for name in ("none", "."):
        with pytest.raises(shoal.InputError, match="is not a pool"):
            pool_status(tmp_path / name)


def test_status_tells_names_and_no_counts(pool):
    found = pool_status(pool)
    assert (found.added, found.awaited) == (("St Anna",), ("Harbour",))
    assert found.agreement == pool_folder.load_pool(pool).hash
    assert "30" not in str(found).replace(found.agreement, "")
    assert str(found).splitlines()[2:] == ["rows added: St Anna", "awaited: Harbour"]
    told = found.to_json()
    assert set(told) == {"edition", "folder", "agreement", "rule", "added", "awaited"}
    pool_add(pool, "Harbour", rows(2))
    assert str(pool_status(pool)).endswith("rows added: Harbour, St Anna\nawaited: nobody")


# Where things lie


def test_nothing_private_is_put_into_what_is_public(tmp_path):
    public = tmp_path / "public"
    shoal.publish(rows(), schema(), "k-anonymity k=3", out=public)
    for place in (public / "out", public / "deep/er/out"):
        place.parent.mkdir(parents=True, exist_ok=True)
        for out, companion in ((place, None), (tmp_path / "out", place)):
            with pytest.raises(shoal.UsageError, match="folder of a release, which is public"):
                shoal.publish(rows(), schema(), "k-anonymity k=3", out=out, companion=companion)
        with pytest.raises(shoal.UsageError, match="folder of a release"):
            pool_init(place, schema(), RULE)
        assert not place.exists()
    assert json.loads((public / "manifest.json").read_bytes())["rows"] == 30


def test_another_program_s_manifest_is_in_nobody_s_way(tmp_path):
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    shoal.publish(rows(), schema(), "k-anonymity k=3", out=tmp_path / "out")
    assert (tmp_path / "out/manifest.json").read_bytes().endswith(b"}\n")
