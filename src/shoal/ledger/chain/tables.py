"""The tables of a ledger and how one edition becomes the next, alike in SQLite and PostgreSQL.

Triggers refuse to change or delete a row, and to add any but the next: a slip of the hand, or of a
program, is stopped in the database itself. They do not stop the database's owner, who can drop
them; what such a hand changed is found by the chain, and a check finds that triggers are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from shoal.core.errors import InputError

METADATA = sa.MetaData()
"""The tables as edition 1 made them: a later edition adds to them in a migration of its own."""


class Blob(sa.LargeBinary):
    """Bytes, read as they are stored.

    In SQLite a damaged cell may be a number, and so many bytes would be made of it.
    """

    cache_ok = True

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        """None: nothing is made of them."""
        return None


EDITIONS = sa.Table(
    "shoal_ledger_editions",
    METADATA,
    sa.Column("edition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Text, nullable=False),
)
ENTRIES = sa.Table(
    "shoal_ledger_entries",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("signer", sa.Text, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
    sa.Column("sealed_sha256", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, index=True),
    sa.Column("body", sa.Text, nullable=False),
)
SEALED = sa.Table(
    "shoal_ledger_sealed",
    METADATA,
    sa.Column(
        "number", sa.Integer, sa.ForeignKey(ENTRIES.c.number), primary_key=True, autoincrement=False
    ),
    sa.Column("content", Blob, nullable=False),
)

_NEXT = {
    EDITIONS: "(SELECT coalesce(max(edition), 0) + 1 FROM shoal_ledger_editions) = NEW.edition",
    ENTRIES: "(SELECT coalesce(max(number), 0) + 1 FROM shoal_ledger_entries) = NEW.number",
    # only with its entry, in the same transaction: a content is never added to an older one
    SEALED: "(SELECT coalesce(max(number), 0) FROM shoal_ledger_entries) = NEW.number"
    " AND NOT EXISTS (SELECT 1 FROM shoal_ledger_sealed WHERE number = NEW.number)",
}
_REFUSED = "a ledger is only ever added to"
_RAISED = f"RAISE EXCEPTION '{_REFUSED}' USING ERRCODE = 'integrity_constraint_violation'"


def _create_first_edition(connection: sa.Connection) -> None:
    METADATA.create_all(connection)
    for statement in _trigger_statements(connection):
        connection.exec_driver_sql(statement)


def _trigger_statements(connection: sa.Connection) -> list[str]:
    if connection.dialect.name == "sqlite":
        return [*_sqlite_triggers()]
    schema = connection.execute(sa.select(sa.func.current_schema())).scalar_one()
    return [*_postgresql_triggers(connection.dialect.identifier_preparer.quote(schema))]


def find_unguarded_tables(connection: sa.Connection) -> list[str]:
    """The tables of which a trigger is missing, disabled, or another than it was made."""
    if connection.dialect.name == "sqlite":
        query = "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger'"
        existing = {" ".join(str(sql).split()) for _, sql in connection.exec_driver_sql(query)}
        return [
            table.name
            for table in _NEXT
            if any(
                " ".join(trigger.split()) not in existing
                for trigger in _sqlite_triggers()
                if f" ON {table.name} " in trigger
            )
        ]
    guards: dict[str, set[str]] = {table.name: set() for table in _NEXT}
    for table in _NEXT:
        rows = connection.execute(_GUARDS, {"table": table.name})
        guards[table.name] = {name for name, source in rows if _is_guarding(table, name, source)}
    return [
        name
        for name, existing in guards.items()
        if existing != {f"{name}_insert", f"{name}_change"}
    ]


_GUARDS = sa.text(
    "SELECT t.tgname, p.prosrc FROM pg_catalog.pg_trigger t"
    " JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid"
    " WHERE t.tgrelid = to_regclass(:table) AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')"
)


def _is_guarding(table: sa.Table, name: str, source: str) -> bool:
    asks = f"IF NOT ({_NEXT[table]}) THEN" if name.endswith("_insert") else f"BEGIN {_RAISED}"
    return asks in source and _RAISED in source


def restore_triggers(connection: sa.Connection) -> None:
    """Put back the triggers, inside the caller's transaction."""
    for statement in _trigger_statements(connection):
        words = statement.split()
        if words[1] == "TRIGGER":
            on = (
                "" if connection.dialect.name == "sqlite" else f" ON {words[words.index('ON') + 1]}"
            )
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {words[2]}{on}")
        again = statement.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
        connection.exec_driver_sql(again)


def _sqlite_triggers() -> Iterator[str]:
    for table, is_next in _NEXT.items():
        # an INSERT OR REPLACE deletes without asking the delete trigger; this one it must ask
        cases = {"INSERT": f"WHEN NOT ({is_next})", "UPDATE": "", "DELETE": ""}
        for event, when in cases.items():
            yield (
                f"CREATE TRIGGER {table.name}_{event.lower()} BEFORE {event} ON {table.name} {when}"
                f" BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
            )


def _postgresql_triggers(schema: str) -> Iterator[str]:
    # whatever path the writer has, a trigger looks at the tables beside its own, never at others
    declaration = f"RETURNS trigger LANGUAGE plpgsql SET search_path = {schema}, pg_temp AS"
    raised = _RAISED
    for table, is_next in _NEXT.items():
        name = table.name
        yield (f"CREATE FUNCTION {name}_refused() {declaration} $$ BEGIN {raised}; END $$")
        yield (
            f"CREATE FUNCTION {name}_next() {declaration}"
            f" $$ BEGIN IF NOT ({is_next}) THEN {raised}; END IF; RETURN NEW; END $$"
        )
        yield (
            f"CREATE TRIGGER {name}_insert BEFORE INSERT ON {name}"
            f" FOR EACH ROW EXECUTE FUNCTION {name}_next()"
        )
        yield (
            f"CREATE TRIGGER {name}_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {name}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {name}_refused()"
        )


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_create_first_edition,)
"""Migration n leads from edition n - 1 to edition n; one that was published is never changed."""


def read_edition(connection: sa.Connection) -> int:
    """The edition of the ledger in a database; 0 where there is none."""
    if not sa.inspect(connection).has_table(EDITIONS.name):
        return 0
    return _newest(connection)


def _newest(connection: sa.Connection) -> int:
    newest = connection.execute(sa.select(sa.func.max(EDITIONS.c.edition))).scalar() or 0
    if not isinstance(newest, int):
        raise damaged_ledger_error()
    return newest


def damaged_ledger_error() -> InputError:
    """That a column of numbers holds something else."""
    return InputError("The ledger's database is damaged.", "Restore a copy of it.")


def check_current_edition(connection: sa.Connection) -> None:
    """Refuse a ledger that became another edition's since it was opened."""
    if needs_migration(_newest(connection)):
        raise InputError("The ledger was put back to an older edition.", "Open it again.")


def is_occupied(connection: sa.Connection) -> bool:
    """Whether a new ledger would meet an old one, or anything at all in a file of SQLite."""
    inspector = sa.inspect(connection)
    is_sqlite = connection.dialect.name == "sqlite"
    ours = any(inspector.has_table(table.name) for table in METADATA.sorted_tables)
    return ours or (is_sqlite and bool(inspector.get_table_names()))


def needs_migration(edition: int) -> bool:
    """Whether a ledger waits for a migration; one that a newer shoal wrote is refused."""
    if edition > len(MIGRATIONS):
        raise InputError(
            f"The ledger is of edition {edition}; this shoal knows up to {len(MIGRATIONS)}.",
            "Install a newer shoal.",
        )
    return edition < len(MIGRATIONS)


def migrate(connection: sa.Connection) -> None:
    """Bring a database to today's edition, inside the caller's transaction."""
    current = read_edition(connection)
    todo = MIGRATIONS[current:] if needs_migration(current) else ()
    for edition, migration in enumerate(todo, start=current + 1):
        migration(connection)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        connection.execute(sa.insert(EDITIONS).values(edition=edition, at=now))
