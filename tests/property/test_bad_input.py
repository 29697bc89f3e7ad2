"""Whatever stands in a file or an argument, the answer is an error in our words."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.core.errors import UsageError
from shoal.models import rule

ROWS = 1_000


def zigzag(number: int) -> bytes:
    """A number as the footer of a Parquet file writes it."""
    number, digits = number << 1, bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


@pytest.mark.parametrize("claimed", [900, 999, 1_001, 8_000])
def test_a_parquet_file_that_claims_another_number_of_rows_is_refused(tmp_path, claimed):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": list(range(ROWS)), "ill": ["flu", "cold"] * 500}), path)
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:].replace(zigzag(ROWS), zigzag(claimed))
    path.write_bytes(content[:start] + footer)
    with pytest.raises(shoal.InputError, match="claims another number of rows than it holds"):
        shoal.open(path)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "data_page_size": 200, "compression": "none"},
        {"row_group_size": 70, "compression": "zstd", "write_statistics": False},
        {"write_page_index": True, "write_page_checksum": True},
    ],
)
def test_the_rows_of_honest_parquet_files_are_counted_as_they_are(tmp_path, settings):
    path = tmp_path / "a.parquet"
    ages = [None if i % 7 == 0 else i for i in range(ROWS)]
    pq.write_table(pa.table({"age": ages, "ill": ["flu", "cold"] * 500}), path, **settings)
    assert shoal.open(path).profile()["age"].rows == ROWS


def test_a_parquet_file_of_another_writer_is_counted_too(tmp_path):
    path = tmp_path / "a.parquet"
    duckdb.sql(
        f"COPY (SELECT i AS age, 'x' || i % 9 AS town FROM range({ROWS}) AS t(i))"
        f" TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 200)"
    )
    assert shoal.open(path).profile()["town"].rows == ROWS


def test_lists_nested_a_thousand_deep_are_bad_input(tmp_path):
    kind, value = pa.int32(), 1
    for _ in range(1_000):
        kind, value = pa.list_(kind), [value]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": pa.array([value], kind)}), path)
    with pytest.raises(shoal.InputError, match="nest too deeply"):
        shoal.open(path)


# Rules, schemas, manifests


@pytest.mark.parametrize(
    "text",
    [
        "m-privacy m=2 (" * 500 + "k-anonymity k=2" + ")" * 500,
        "(" * 500 + "k-anonymity k=2" + ")" * 500,
        "recursive-diversity c=1e999 l=2",
        "t-closeness t=1e-999",
        f"k-anonymity k={'9' * 5_000}",
        f"k-anonymity k={'9' * 30}",
        f"t-closeness t=1/{'9' * 400}",
        "k-anonymity k=2 & " * 5_000 + "k-anonymity k=2",
    ],
)
def test_a_rule_beyond_all_measure_is_wrong_usage(text):
    table = pa.table({"age": [30] * 9, "ill": ["flu", "cold", "flu"] * 3})
    schema = shoal.Schema.of(quasi="age", sensitive="ill")
    with pytest.raises(shoal.UsageError):
        shoal.publish(table, schema, text)


@pytest.mark.parametrize(
    "text",
    [
        "edition = " + "9" * 5_000,
        "a = " + "[" * 5_000 + "]" * 5_000,
        "[columns.age]\nhierarchy = " + "{tree = " * 900 + "1" + "}" * 900,
        f"[columns.age]\nbounds = [0, {'9' * 400}]",
        f"[columns.age]\nweight = {'9' * 400}",
        f"[columns.age]\nhierarchy = {{intervals = [{'9' * 400}]}}",
        f"[columns.age]\nhierarchy = {{intervals = [5], top = {'9' * 400}}}",
        f"[columns.age]\nhierarchy = {{equal_width = [{'9' * 400}]}}",
        "[columns.age]\nbounds = [0000-00-00, 1]",
    ],
)
def test_a_schema_beyond_all_measure_is_bad_input(text):
    table = pa.table({"age": [30, 31] * 9})
    with pytest.raises(shoal.InputError):
        shoal.publish(table, shoal.Schema.parse(text).set(age="quasi"), "k-anonymity k=2")


@pytest.fixture
def release(tmp_path):
    table = pa.table({"age": [30 + i % 3 for i in range(30)], "ill": ["flu", "cold", "flu"] * 10})
    schema = shoal.Schema.of(quasi="age", sensitive="ill")
    shoal.publish(table, schema, "k-anonymity k=2", out=tmp_path / "release")
    return tmp_path / "release"


@pytest.mark.parametrize("verb", [shoal.verify, shoal.audit])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("rule", value) for value in (0, [], {}, 1.5, True, ["k-anonymity k=2"])),
        ("schema", 7),
        ("form", []),
        ("columns", {"age": 1}),
        ("rows", -1),
        ("rows", "30"),
        ("method", {}),
        ("privacy", "much"),
        ("file", 3),
        ("classes", 1e9),
    ],
)
def test_a_manifest_with_a_value_of_another_type_is_damaged(release, verb, field, value):
    path = release / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    with pytest.raises(shoal.InputError, match="manifest is damaged"):
        verb(release)


def test_a_manifest_nested_beyond_measure_is_damaged(release):
    (release / "manifest.json").write_text('{"edition":' + "[" * 100_000)
    with pytest.raises(shoal.InputError, match="manifest is damaged"):
        shoal.verify(release)


# Addresses


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:ann:secret@host/db",
        "postgres:ann:secret@host",
        "postgresql//ann:secret@host",
        "ann:secret@host/db",
        "mysql:ann:secret@host",
        "postgresql:/ann:secret@host",
        "jdbc:postgresql://ann:secret@host/db",
        "mysql://ann:secret@host/db",
    ],
)
def test_an_address_without_its_slashes_is_never_a_file_and_never_printed(
    tmp_path, monkeypatch, address
):
    monkeypatch.chdir(tmp_path)
    for door in (shoal.open, shoal.look, shoal.audit, shoal.Ledger, shoal.Ledger.init):
        with pytest.raises(shoal.ShoalError) as caught:
            door(address)
        assert "secret" not in str(caught.value)
        assert caught.value.exit_code == 2
    table = pa.table({"age": [30] * 4})
    with pytest.raises(shoal.UsageError) as caught:
        shoal.publish(table, shoal.Schema.of(quasi="age"), "k-anonymity k=2", out=address)
    assert "secret" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def guarded_server(postgresql):
    """An address of a server that asks this one user for a password."""
    psycopg = pytest.importorskip("psycopg", reason="the postgres extra is not installed")
    folder = Path(parse_qs(urlsplit(postgresql).query)["host"][0])
    access = folder / "data" / "pg_hba.conf"
    before = access.read_text()
    access.write_text("local all guarded scram-sha-256\n" + before)
    with psycopg.connect(postgresql, autocommit=True) as server:
        server.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        server.execute("SELECT pg_reload_conf()")
        yield f"postgresql://guarded:{{}}@/postgres?host={folder}"
        access.write_text(before)
        server.execute("DROP ROLE guarded")
        server.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize("door", ["ledger", "table"])
def test_a_wrong_password_is_said_to_be_one(guarded_server, door):
    address = guarded_server.format("wrong")
    with pytest.raises(shoal.InputError) as caught:
        shoal.Ledger(address) if door == "ledger" else shoal.open(f"{address}&table=people")
    assert "lets nobody in under this name and password" in caught.value.fact
    assert "wrong" not in str(caught.value)


def test_an_exact_parameter_may_have_many_digits_but_not_any_size():
    exact = Fraction(3**400, 3**400 + 1)
    text = str(rule(f"alpha-k alpha={exact} k=2"))
    assert Fraction(rule(text).alpha) == exact
    for beyond in ("1e999", "1e-999", f"1/{9**400}", str(9**400)):
        with pytest.raises(UsageError, match="beyond all numbers"):
            rule(f"recursive-diversity c={beyond} l=2")
