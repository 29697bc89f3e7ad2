"""The tables of a ledger and how one edition becomes the next, alike in SQLite and PostgreSQL.

Triggers refuse to change or delete a row, and to add any but the next: a slip of the hand, or of a
program, is stopped in the database itself. They do not stop the database's owner, who can drop
them; what such a hand changed is found by the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import sqlalchemy as sa

from shoal.errors import InputError

METADATA = sa.MetaData()
"""The tables as edition 1 made them: a later edition adds to them in a migration of its own."""

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
    sa.Column("content", sa.LargeBinary, nullable=False),
)

_NEXT = {
    EDITIONS: "(SELECT coalesce(max(edition), 0) + 1 FROM shoal_ledger_editions) = NEW.edition",
    ENTRIES: "(SELECT coalesce(max(number), 0) + 1 FROM shoal_ledger_entries) = NEW.number",
    # only with its entry, in the same transaction: a content is never added to an older one
    SEALED: "(SELECT coalesce(max(number), 0) FROM shoal_ledger_entries) = NEW.number"
    " AND NOT EXISTS (SELECT 1 FROM shoal_ledger_sealed WHERE number = NEW.number)",
}
_REFUSED = "a ledger is only ever added to"


def _first(connection: sa.Connection) -> None:
    METADATA.create_all(connection)
    if connection.dialect.name == "sqlite":
        statements = _sqlite_triggers()
    else:
        schema = connection.execute(sa.select(sa.func.current_schema())).scalar_one()
        statements = _postgresql_triggers(connection.dialect.identifier_preparer.quote(schema))
    for statement in statements:
        connection.exec_driver_sql(statement)


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
    made = f"RETURNS trigger LANGUAGE plpgsql SET search_path = {schema}, pg_temp AS"
    raised = f"RAISE EXCEPTION '{_REFUSED}' USING ERRCODE = 'integrity_constraint_violation'"
    for table, is_next in _NEXT.items():
        name = table.name
        yield (f"CREATE FUNCTION {name}_refused() {made} $$ BEGIN {raised}; END $$")
        yield (
            f"CREATE FUNCTION {name}_next() {made}"
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


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_first,)
"""Migration n leads from edition n - 1 to edition n; one that was published is never changed."""


def edition_of(connection: sa.Connection) -> int:
    """The edition of the ledger in a database; 0 where there is none."""
    if not sa.inspect(connection).has_table(EDITIONS.name):
        return 0
    return _newest(connection)


def _newest(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.max(EDITIONS.c.edition))).scalar() or 0


def must_be_todays(connection: sa.Connection) -> None:
    """Refuse a ledger that became another edition's since it was opened."""
    if is_older(_newest(connection)):
        raise InputError("The ledger was put back to an older edition.", "Open it again.")


def is_taken(connection: sa.Connection) -> bool:
    """Whether a new ledger would meet an old one, or anything at all in a file of SQLite."""
    found = sa.inspect(connection)
    alone = connection.dialect.name == "sqlite"
    ours = any(found.has_table(table.name) for table in METADATA.sorted_tables)
    return ours or (alone and bool(found.get_table_names()))


def is_older(edition: int) -> bool:
    """Whether a ledger waits for a migration; one that a newer shoal wrote is refused."""
    if edition > len(MIGRATIONS):
        raise InputError(
            f"The ledger is of edition {edition}; this shoal knows up to {len(MIGRATIONS)}.",
            "Install a newer shoal.",
        )
    return edition < len(MIGRATIONS)


def migrate(connection: sa.Connection) -> None:
    """Bring a database to today's edition, inside the caller's transaction."""
    found = edition_of(connection)
    todo = MIGRATIONS[found:] if is_older(found) else ()
    for edition, migration in enumerate(todo, start=found + 1):
        migration(connection)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        connection.execute(sa.insert(EDITIONS).values(edition=edition, at=now))
