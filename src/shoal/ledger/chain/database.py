"""Where a ledger lies: a file of SQLite, or a PostgreSQL database shared by several publishers.

A write is one transaction that nobody else's can overlap, and is on the disk when it returns:
write-ahead log with full synchronisation and ``BEGIN IMMEDIATE`` in SQLite, an advisory lock in the
transaction, one for each schema, and synchronous commit in PostgreSQL. A file is given its log when
a ledger is founded in it; one that is only opened is not changed. What goes wrong in a database is
raised as an error of Shoal's; nothing of an address is ever shown, since it may hold a password.

SQLite's log needs memory shared by all writers: it does not work on a folder of another machine.
Where the file or its folder may not be written, a ledger that nobody has open is read as it lies.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from shoal.core.errors import (
    InputError,
    OutputError,
    ShoalError,
    UsageError,
    refuse_database_address,
)
from shoal.ledger.chain.keys import sync_parent_folder
from shoal.ledger.chain.tables import ENTRIES

PATIENCE = 30.0
"""Seconds to wait for another writer."""
_CONNECT = 10
"""Seconds to wait for a server to answer at all."""
_BEGINS = "shoal_begins"
_PRAGMAS = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
_FROZEN = "mode=ro&immutable=1"
_AGAIN = "Look at the ledger's head before trying again."


@dataclass(frozen=True)
class LedgerDatabase:
    """An open database; ``reading`` and ``writing`` are its transactions."""

    name: str
    """What errors call it: the file's name, or the kind of database."""
    engine: sa.Engine = field(repr=False)
    patience: float
    path: Path | None = None

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that only reads, and sees one state of the ledger throughout."""
        engine = self.engine
        if engine.dialect.name == "postgresql":
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        with (
            self._translating_errors(InputError),
            engine.connect() as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that no other writer's overlaps; it is on the disk when this returns."""
        engine = self.engine.execution_options(**{_BEGINS: "BEGIN IMMEDIATE"})
        with (
            self._translating_errors(OutputError),
            engine.connect() as connection,
            connection.begin(),
        ):
            if connection.dialect.name == "postgresql":
                _wait_for_writers(connection, self.patience)
            yield connection

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Let go of the database if what is done inside fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def prepare(self) -> None:
        """Give a new file its write-ahead log, for good, and let its name survive a crash."""
        if self.path is None:
            return
        engine = self.engine.execution_options(**{_BEGINS: ""})  # not inside a transaction
        with self._translating_errors(OutputError), engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        try:
            sync_parent_folder(self.path)
        except OSError as error:
            raise OutputError(
                f"The folder of {self.name} cannot be kept on the disk ({error.strerror}).",
                "Check the folder's owner and the disk; no ledger was founded.",
            ) from None

    @contextmanager
    def _translating_errors(self, kind: type[InputError]) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise _translate_error(self, kind, error) from None
        except UnicodeDecodeError:  # by SQLite, whose message repeats a damaged schema
            raise _NO_LEDGER[0](_NO_LEDGER[1].format(name=self.name), _NO_LEDGER[2]) from None
        except SQLAlchemyError as error:
            raise kind(f"{self.name} failed ({type(error).__name__}).", _AGAIN) from None


def open_database(
    where: str | Path, patience: float = PATIENCE, *, new: bool = False
) -> LedgerDatabase:
    """The place that a path or an address names; a file is made only if ``new``."""
    scheme, separator, rest = str(where).partition("://")
    if not separator:
        refuse_database_address(where)
        return _open_sqlite(Path(where), patience, new)
    if scheme.lower() == "sqlite":
        return _open_sqlite(Path(rest.removeprefix("/")), patience, new)
    if scheme.lower() in ("postgresql", "postgres"):
        return _open_postgresql(rest, patience)
    raise UsageError(
        f"A ledger cannot lie in {scheme!r}.",
        "Give a path for a file of SQLite, or an address that begins with postgresql://",
    )


def check_ledger_file(path: Path) -> None:
    """Refuse a path where no file of a ledger is."""
    if path.is_dir():
        raise InputError(f"{path.name or path} is a folder.", "Name a file in it.")
    if not path.is_file():
        raise InputError(
            f"There is no ledger {path.name}.", "shoal ledger init makes one; or check the path."
        )


def _open_sqlite(path: Path, patience: float, new: bool) -> LedgerDatabase:
    if not new or path.is_dir():
        check_ledger_file(path)
    mode = "mode=rwc" if new else _choose_mode(path.resolve())
    address = f"{path.absolute().as_uri()}?{mode}"

    def connect() -> sqlite3.Connection:
        # without SQLite's own idea of when a transaction begins: see _begin
        connection = sqlite3.connect(
            address, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
        )
        try:
            connection.executescript(_PRAGMAS)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    # what is read as it lies is opened each time, since SQLite does not look for changes in it
    pool = sa.NullPool if mode == _FROZEN else sa.QueuePool
    engine = sa.create_engine("sqlite://", creator=connect, poolclass=pool, hide_parameters=True)
    sa.event.listen(engine, "begin", _begin)
    return LedgerDatabase(path.name, engine, patience, path)


def _choose_mode(path: Path) -> str:
    """How a file is opened: to write, or to read only, also where SQLite can make no log."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return "mode=rw"
    is_open = any(path.with_name(path.name + log).exists() for log in ("-wal", "-shm"))
    return "mode=ro" if is_open else _FROZEN


def _begin(connection: sa.Connection) -> None:
    if statement := connection.get_execution_options().get(_BEGINS, "BEGIN"):
        connection.exec_driver_sql(statement)


def _wait_for_writers(connection: sa.Connection, patience: float) -> None:
    wait = max(1, round(patience * 1000))  # 0 would be for ever
    wanted = {"synchronous_commit": "on", "lock_timeout": f"{wait}ms"}
    local = [sa.func.set_config(name, value, True) for name, value in wanted.items()]
    connection.execute(sa.select(*local))
    connection.execute(_LOCK)


def _schema_of_ledger() -> sa.ColumnElement[str]:
    """The schema in which the ledger lies, on whichever search path; else that of a new one."""
    table = sa.table("pg_class", sa.column("oid"), sa.column("relnamespace"), schema="pg_catalog")
    space = sa.table("pg_namespace", sa.column("oid"), sa.column("nspname"), schema="pg_catalog")
    named = sa.select(space.c.nspname).join(table, table.c.relnamespace == space.c.oid)
    schema_name = named.where(table.c.oid == sa.func.to_regclass(ENTRIES.name)).scalar_subquery()
    return sa.func.coalesce(schema_name, sa.func.current_schema())


_LOCK = sa.select(
    sa.func.pg_advisory_xact_lock(sa.func.hashtext("shoal"), sa.func.hashtext(_schema_of_ledger()))
)


def _open_postgresql(rest: str, patience: float) -> LedgerDatabase:
    try:
        url = sa.make_url(f"postgresql+psycopg://{rest}")
        wait = {"connect_timeout": url.query.get("connect_timeout", _CONNECT)}
        # a writer must see what was added while it waited for its turn
        engine = sa.create_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            connect_args=wait,
            hide_parameters=True,
        )
    except ImportError:
        raise UsageError(
            "PostgreSQL needs a driver that is not installed.", "pip install 'shoal[postgres]'"
        ) from None
    except (ArgumentError, ValueError):
        raise UsageError(
            "The ledger's address cannot be read.", "postgresql://USER@HOST/DATABASE"
        ) from None
    return LedgerDatabase("PostgreSQL", engine, patience)


def _translate_error(
    where: LedgerDatabase, kind: type[InputError], error: DBAPIError
) -> ShoalError:
    known_error = _find_known_error(error)
    if known_error is None:
        return kind(f"{where.name} failed ({type(error.orig).__name__}).", _AGAIN)
    raised, fact, hint = known_error
    return raised(fact.format(name=where.name, seconds=f"{where.patience:g}"), hint)


def _find_known_error(error: DBAPIError) -> _KnownError | None:
    """What is known of an error by SQLite's code, or by PostgreSQL's state or its first letters."""
    if isinstance(error.orig, sqlite3.Error):
        code = getattr(error.orig, "sqlite_errorcode", None)
        # above 0xFF are SQLite's finer shades; without a code, what is stored is no text
        return _NO_LEDGER if code is None else _SQLITE.get(code & 0xFF)
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        if not isinstance(error, OperationalError):
            return None
        return _REFUSED if _is_refused(error.orig) else _SILENT
    return _STATES.get(state) or _STATES.get(state[:2])


def _is_refused(error: object) -> bool:
    """Whether a server answered, and let nobody in: without a state, by what the driver knows."""
    connection = getattr(error, "pgconn", None)
    password_used = any(
        getattr(connection, name, False) for name in ("used_password", "needs_password")
    )
    return (
        password_used or re.search("authentication|password|pg_hba|role ", str(error)) is not None
    )


_KnownError = tuple[type[InputError], str, str]
_LOCKED: _KnownError = (
    OutputError,
    "{name} is being written by somebody else for more than {seconds} seconds.",
    "Try again; if it lasts, look for a program that holds it open.",
)
_FULL: _KnownError = (
    OutputError,
    "{name} cannot be written: the disk is full. Nothing was recorded.",
    "Make room, then try again; what was recorded before is safe.",
)
_FAILS: _KnownError = (
    OutputError,
    "{name} cannot be read or written: the disk fails, or lets no file grow further.",
    f"Check the disk and the space left. {_AGAIN}",
)
_READ_ONLY: _KnownError = (
    OutputError,
    "{name} may not be written by you.",
    "Check who owns it and its folder.",
)
_NO_LEDGER: _KnownError = (
    InputError,
    "{name} is not a ledger, or is damaged.",
    "Check the path, or restore a copy.",
)
_NO_OPENING: _KnownError = (
    InputError,
    "{name} cannot be opened.",
    "Check that its folder is there and is yours to write.",
)
_SILENT: _KnownError = (
    InputError,
    "{name} does not answer.",
    f"Check the address and the server. {_AGAIN}",
)
_REFUSED: _KnownError = (
    InputError,
    "{name} lets nobody in under this name and password.",
    "Check the user, the password and the database in the address.",
)
_APPEND_ONLY: _KnownError = (
    OutputError,
    "{name} refused the entry: a ledger is only ever added to.",
    _AGAIN,
)

_SQLITE: dict[int, _KnownError] = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: _FAILS,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_NOTADB: _NO_LEDGER,
    sqlite3.SQLITE_CORRUPT: _NO_LEDGER,
    sqlite3.SQLITE_CANTOPEN: _NO_OPENING,
    sqlite3.SQLITE_CONSTRAINT: _APPEND_ONLY,
}
_STATES: dict[str, _KnownError] = {
    "55P03": _LOCKED,
    "53100": _FULL,
    "42501": _READ_ONLY,
    "25006": _READ_ONLY,
    "23": _APPEND_ONLY,
    "08": _SILENT,
    "28": _REFUSED,
    "3D": _SILENT,
    "53": _SILENT,
    "57": _SILENT,
}
