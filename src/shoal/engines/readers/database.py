"""The database doors: SQLite with the standard library, PostgreSQL through ADBC.

Both stream in batches into the spool. Nothing of a URL but its file or table is ever shown, since
it may hold a password.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import shoal.engines.type_inference.value_forms as forms
from shoal.core.column import describe_name
from shoal.core.errors import InputError, UsageError
from shoal.engines.readers.header import clean_names
from shoal.engines.readers.spool import Spool

SCHEMES = ("sqlite", "postgresql", "postgres")
_BATCH = 10_000


def is_database(source: str) -> bool:
    """Whether a text is a database URL.

    >>> is_database("sqlite:///people.db?table=people"), is_database("people.csv")
    (True, False)
    """
    return source.partition("://")[0].lower() in SCHEMES and "://" in source


def read_sql(url: str, spool: Spool, query: str | None = None) -> Path:
    """Spool a table (``?table=``) or the result of ``query``."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    table = options.pop("table", None)
    if query is not None and table is not None:
        raise UsageError("Both a table and a query are given.", "Leave one of them out.")
    if parts.scheme.lower() == "sqlite":
        return _read_sqlite(Path(unquote(parts.path).removeprefix("/")), spool, table, query)
    if query is None and table is None:
        raise UsageError("No table is named.", "Add ?table=NAME to the URL, or set query=.")
    rest = urlunsplit(parts._replace(query=urlencode(options)))
    table_sql = ".".join(map(forms.quote_column, (table or "").split(".")))
    return _read_postgresql(rest, spool, query or f"SELECT * FROM {table_sql}")


def _read_sqlite(path: Path, spool: Spool, table: str | None, query: str | None) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {path.name}.", "Four slashes begin a full path.")
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            select = query or f"SELECT * FROM {forms.quote_column(_choose_table(database, table))}"
            cursor = database.execute(select)
            if cursor.description is None:
                raise UsageError("The query returns no table.", "Give a SELECT.")
            names = clean_names(item[0] for item in cursor.description)
            return spool.rows(names, _read_text_rows(cursor, names))
    except sqlite3.Error as error:
        raise InputError(
            f"{path.name} cannot be read as SQLite ({type(error).__name__}).",
            "Check the file, the table's name and the query.",
        ) from None


def _choose_table(database: sqlite3.Connection, wanted: str | None) -> str:
    tables = database.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    names = [str(row[0]) for row in tables]
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None or wanted not in names:
        fact = f"There is no table {wanted!r}." if wanted else f"There are {len(names)} tables."
        raise UsageError(fact, f"Add ?table= and one of {', '.join(names)} to the URL.")
    return wanted


def _read_text_rows(cursor: sqlite3.Cursor, names: list[str]) -> Iterator[list[str | None]]:
    """Rows as text: a column may hold any mixture of types, so each cell is read as written."""
    while block := cursor.fetchmany(_BATCH):
        for row in block:
            for name, cell in zip(names, row, strict=True):
                if isinstance(cell, bytes):
                    raise InputError(
                        f"Column {describe_name(name)} is a column of binary data.",
                        "Leave it out with query=.",
                    )
            yield [None if cell is None else str(cell) for cell in row]


def _read_postgresql(url: str, spool: Spool, query: str) -> Path:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise UsageError(
            "PostgreSQL needs a driver that is not installed.", "pip install 'shoal[postgres]'"
        ) from None
    try:
        with dbapi.connect(url) as database, database.cursor() as cursor:
            cursor.execute(query)
            reader = cursor.fetch_record_batch()
            clean_names(reader.schema.names)
            return spool.batches(reader.schema, reader)
    except dbapi.Error as error:
        if re.search("authentication|password|pg_hba", str(error)):
            raise InputError(
                "The database lets nobody in under this name and password.",
                "Check the user, the password and the database in the address.",
            ) from None
        raise InputError(
            f"The database did not answer the query ({type(error).__name__}).",
            "Check the address, the table's name and the query.",
        ) from None
