"""A corrupt byte in a ledger's database, or a release without its table, is bad input.

Whatever is done to the file, no command ends in an internal error: it works where the damage does
not matter to it, or says what is wrong and what to do (exit code 5; 3 where ``verify`` found it).
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import cycle, product
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main
from shoal.ledger.chain.checkpoint import BLOCK_ENTRIES

ROLES = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
COMMANDS = (
    ("ledger", "list"),
    ("ledger", "verify"),
    ("ledger", "show", "2"),
    ("ledger", "admit", "second"),
    ("ledger", "recheck"),
    ("ledger", "withdraw", "2", "--reason", "x"),
)
PAGE = 4096
TABLES = {
    "shoal_ledger_editions": ("edition", "at"),
    "shoal_ledger_entries": (
        "number",
        "previous",
        "hash",
        "signer",
        "signature",
        "sealed_sha256",
        "kind",
        "body",
    ),
    "shoal_ledger_sealed": ("number", "content"),
}
CELLS = (
    "NULL",
    "0",
    "-1",
    "7",
    "9223372036854775807",
    "1e308",
    "'x'",
    "''",
    "x'ff00fe'",
    "CAST(x'ff00fe' AS TEXT)",
    "'[1]'",
    "'{}'",
)


@pytest.fixture(scope="module")
def founded(tmp_path_factory) -> dict[Path, bytes]:
    """The files of a ledger with a release and a checkpoint, and of a release to be admitted."""
    folder = tmp_path_factory.mktemp("founded")
    for name, age in (("release", 1), ("second", 2)):
        table = folder / f"{name}.csv"
        table.write_text("age,ill\n" + "".join(f"{age},{ill}\n" for ill in "abc"), encoding="utf-8")
        shoal.publish(table, ROLES, "k-anonymity k=3", out=folder / name)
    with shoal.Ledger.init(folder / "releases.db") as made:
        made.admit(folder / "release")
    with closing(sqlite3.connect(folder / "releases.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in files}


@pytest.fixture
def anew(founded, tmp_path, monkeypatch) -> Callable[[], Path]:
    """Puts all files back as they were; the ledger's."""
    monkeypatch.chdir(tmp_path)

    def put() -> Path:
        for log in tmp_path.glob("releases.db-*"):
            log.unlink()
        for path, content in founded.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(content)
            (tmp_path / path).chmod(0o600)  # as a key must be
        return tmp_path / "releases.db"

    return put


@pytest.fixture
def ledger(anew) -> Path:
    return anew()


def run(command: tuple[str, ...]) -> tuple[int, str]:
    """The exit code of a command, and what is wrong if it neither works nor reports damage."""
    done = CliRunner().invoke(main, command)
    fault = ""
    if done.exit_code not in ((0, 3, 5) if "verify" in command else (0, 5)):
        fault = f"{command} ends with {done.exit_code}: {done.output}"
    elif done.exit_code == 5 and "\nHint: " not in done.output:
        fault = f"{command} gives no hint: {done.output}"
    return done.exit_code, fault


def bytes_of_parts(content: bytes, draw: random.Random, each: int) -> Iterator[int]:
    """Bytes of the file's header, and of every page's header, pointers, and what it holds."""
    yield from draw.sample(range(100), each)
    for page in range(0, len(content), PAGE):
        start = page or 100
        yield from draw.sample(range(start, start + 12), each)
        yield from draw.sample(range(start + 12, start + 40), each)
        used = [place for place in range(start + 40, page + PAGE) if content[place]]
        yield from draw.sample(used, min(each, len(used)))


def other_bytes(byte: int, draw: random.Random) -> list[int]:
    return sorted({byte ^ 1 << draw.randrange(8), draw.randrange(256), 0, 255} - {byte})


def test_without_damage_every_command_works(anew):
    for command in COMMANDS:
        anew()
        assert run(command) == (0, "")


def test_a_corrupt_byte_is_no_internal_error(anew):
    content, draw, commands = anew().read_bytes(), random.Random(1), cycle(COMMANDS)
    codes = set()
    for place in bytes_of_parts(content, draw, 3):
        damaged = bytearray(content)
        damaged[place] = draw.choice(other_bytes(content[place], draw))
        anew().write_bytes(damaged)
        code, fault = run(next(commands))
        assert fault == "", place
        codes.add(code)
    assert codes >= {0, 5}


@pytest.mark.long
def test_many_corrupt_bytes_are_no_internal_error(anew):
    content, draw, commands = anew().read_bytes(), random.Random(2), cycle(COMMANDS)
    for place in bytes_of_parts(content, draw, 12):
        for byte in other_bytes(content[place], draw):
            damaged = bytearray(content)
            damaged[place] = byte
            anew().write_bytes(damaged)
            assert run(next(commands))[1] == "", (place, byte)


@pytest.mark.long
def test_a_schema_with_another_letter_is_no_internal_error(anew):
    content, draw, commands = anew().read_bytes(), random.Random(3), cycle(COMMANDS)
    start = content.index(b"CREATE TABLE", 100)
    for place in range(min(start, PAGE // 2), PAGE):
        damaged = bytearray(content)
        damaged[place] = draw.choice((content[place] ^ 1, 0xFF, *b"x,) "))
        anew().write_bytes(damaged)
        assert run(next(commands))[1] == "", place


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "one byte": lambda content: content[:1],
    "its header alone": lambda content: content[:100],
    "one page": lambda content: content[:PAGE],
    "without its last page": lambda content: content[:-PAGE],
    "without its last byte": lambda content: content[:-1],
    "half": lambda content: content[: len(content) // 2],
    "random": lambda content: random.Random(4).randbytes(len(content)),
    "random after its header": lambda content: content[:100] + random.Random(5).randbytes(9000),
    "zeros": lambda content: bytes(len(content)),
    "text": lambda _: b"a ledger\n" * 100,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_cut_or_is_no_database_is_bad_input(anew, damage):
    for command in COMMANDS:
        ledger = anew()
        ledger.write_bytes(DAMAGES[damage](ledger.read_bytes()))
        code, fault = run(command)
        assert fault == ""
        assert code == 5 or damage.startswith("without its last"), (command, damage)


@pytest.mark.parametrize("fill", ["zeros", "random"])
def test_a_page_that_is_overwritten_is_no_internal_error(anew, fill):
    pages, draw = len(anew().read_bytes()) // PAGE, random.Random(6)
    for page, command in product(range(pages), COMMANDS[1::2]):
        ledger = anew()
        damaged = bytearray(ledger.read_bytes())
        damaged[page * PAGE : (page + 1) * PAGE] = (
            bytes(PAGE) if fill == "zeros" else draw.randbytes(PAGE)
        )
        ledger.write_bytes(damaged)
        assert run(command)[1] == "", page


def put_in_cells(ledger: Path, table: str, column: str, value: str) -> None:
    """Put a value into a whole column, in a table that no longer says what may be in it."""
    with closing(sqlite3.connect(ledger)) as database, database:
        triggers = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute(f"CREATE TABLE copy AS SELECT * FROM {table}")
        database.execute(f"DROP TABLE {table}")
        database.execute(f"ALTER TABLE copy RENAME TO {table}")
        database.execute(f"UPDATE {table} SET {column} = {value}")


def test_cells_of_another_kind_are_no_internal_error(anew):
    commands, draw = cycle(COMMANDS), random.Random(7)
    cells = [(table, *cell) for table, names in TABLES.items() for cell in product(names, CELLS)]
    for cell in draw.sample(cells, 30):
        put_in_cells(anew(), *cell)
        assert run(next(commands))[1] == "", cell


@pytest.mark.long
def test_all_cells_of_another_kind_are_no_internal_error(anew):
    for table, names in TABLES.items():
        for *cell, command in product(names, CELLS, COMMANDS):
            put_in_cells(anew(), table, *cell)
            assert run(command)[1] == "", (table, cell)


def test_a_checkpoint_that_was_changed_is_not_believed(anew):
    ledger = anew()
    with shoal.Ledger(ledger) as kept:
        for number in range(BLOCK_ENTRIES):
            kept.book.append({"kind": "publisher", "name": str(number), "public": f"{number:064x}"})
        assert kept.check() == ()
    content = ledger.read_bytes()
    values = ("NULL", "9223372036854775807", "CAST(x'ff00fe' AS TEXT)")
    for column, value in product(("walked", "content", "signature"), values):
        ledger.write_bytes(content)
        put_in_cells(ledger, "shoal_ledger_checkpoints", column, value)
        assert run(("ledger", "list", "--last", "1")) == (0, ""), (column, value)


def test_a_body_that_is_no_text_is_damage(ledger):
    with closing(sqlite3.connect(ledger)) as database, database:
        database.execute("DROP TRIGGER shoal_ledger_entries_update")
        database.execute(
            "UPDATE shoal_ledger_entries SET body = CAST(x'ff00fe' AS TEXT) WHERE number = 2"
        )
    for command in COMMANDS:
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 5, done.output


@pytest.mark.parametrize(
    "command", [("ledger", "admit", "release"), ("ledger", "admit", "release", "--dry-run")]
)
def test_a_release_without_its_table_is_bad_input(ledger, tmp_path, command):
    (tmp_path / "release" / "table.csv").unlink()
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 5
    assert "table.csv" in done.output
    assert "Hint: " in done.output
