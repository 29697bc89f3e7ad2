"""The PostgreSQL door against a real server, started for the test where one is installed."""

from __future__ import annotations

import pytest

import shoal
from shoal.core.errors import InputError

pytest.importorskip("adbc_driver_postgresql", reason="the postgres extra is not installed")
SETUP = """
CREATE TABLE people (age int, zip text, "höhe in m" numeric(4,2), born date, ill boolean);
INSERT INTO people VALUES (34, '01301', 1.80, '1990-01-02', true),
 (NULL, '13053', 1.65, NULL, false),
 (41, '01301', NULL, '1983-05-06', NULL);
CREATE TABLE lists (a int[]); INSERT INTO lists VALUES ('{1,2}');
"""


@pytest.fixture(scope="module")
def server(postgresql):
    """The URL of a server that holds some tables."""
    psycopg = pytest.importorskip("psycopg", reason="the postgres extra is not installed")
    with psycopg.connect(postgresql, autocommit=True) as database:
        database.execute(SETUP)
    return postgresql


def test_a_table_by_url(server):
    frame = shoal.open(f"{server}&table=people")
    assert {field.name: field.kind for field in frame.fields} == {
        "age": "number",
        "zip": "code",
        "höhe in m": "number",
        "born": "date",
        "ill": "category",
    }
    found = frame.values(["age", "zip", "höhe in m", "ill"])
    assert sorted(found["age"].values) == [34.0, 41.0]
    assert found["age"].nulls == 1
    assert sorted(found["höhe in m"].values) == [1.65, 1.8]
    assert dict(zip(found["zip"].values, found["zip"].counts.tolist(), strict=True)) == {
        "01301": 2,
        "13053": 1,
    }
    assert found["ill"].nulls == 1


def test_a_query(server):
    frame = shoal.open(server, query="SELECT age FROM people WHERE age IS NOT NULL")
    assert sorted(frame.values(["age"])["age"].values) == [34.0, 41.0]


@pytest.mark.parametrize(
    ("table", "error"), [("nobody", "did not answer"), ("lists", "column of lists")]
)
def test_what_cannot_be_read_is_said(server, table, error):
    with pytest.raises(InputError, match=error):
        shoal.open(f"{server}&table={table}")
