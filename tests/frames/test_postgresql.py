"""The PostgreSQL door against a real server, started for the test where one is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import shoal
from shoal.errors import InputError

pytest.importorskip("adbc_driver_postgresql", reason="the postgres extra is not installed")
SETUP = """
CREATE TABLE people (age int, zip text, "höhe in m" numeric(4,2), born date, ill boolean);
INSERT INTO people VALUES (34, '01301', 1.80, '1990-01-02', true),
 (NULL, '13053', 1.65, NULL, false),
 (41, '01301', NULL, '1983-05-06', NULL);
CREATE TABLE lists (a int[]); INSERT INTO lists VALUES ('{1,2}');
"""


@pytest.fixture(scope="module")
def server():
    """A private server on a socket in a temporary folder; its URL."""
    if not all(map(shutil.which, ("initdb", "pg_ctl", "psql"))):
        pytest.skip("no PostgreSQL server is installed: initdb, pg_ctl and psql are not on PATH")
    user = next((n for n in ("postgres", "nobody") if n in {p.pw_name for p in pwd.getpwall()}), "")
    as_user = ["runuser", "-u", user, "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
    folder.chmod(0o777)

    def run(*command: str) -> None:
        subprocess.run([*as_user, *command], check=True, capture_output=True, cwd="/")

    try:
        run("initdb", "-D", f"{folder}/data", "-U", "shoal", "-A", "trust", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        run("pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
        run("psql", "-h", str(folder), "-U", "shoal", "-d", "postgres", "-c", SETUP)
        yield f"postgresql://shoal@/postgres?host={folder}"
    finally:
        subprocess.run(
            [*as_user, "pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop"],
            check=False, capture_output=True, cwd="/",
        )  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)


def test_a_table_by_url(server):
    frame = shoal.open(f"{server}&table=people")
    assert {field.name: field.kind for field in frame.fields} == {
        "age": "number", "zip": "code", "höhe in m": "number", "born": "date", "ill": "category",
    }  # fmt: skip
    found = frame.values(["age", "zip", "höhe in m", "ill"])
    assert sorted(found["age"].values) == [34.0, 41.0]
    assert found["age"].nulls == 1
    assert sorted(found["höhe in m"].values) == [1.65, 1.8]
    assert dict(zip(found["zip"].values, found["zip"].counts.tolist(), strict=True)) == {
        "01301": 2, "13053": 1,
    }  # fmt: skip
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
