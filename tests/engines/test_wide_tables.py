"""Tables of thousands of columns: a few queries for all of them, and the same decisions."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core import schema_toml
from shoal.core.errors import ShoalError
from shoal.engines import duckdb as duck
from shoal.engines import duckdb as engine
from shoal.engines.type_inference import text_census
from shoal.releases.tallying import encode
from shoal.verbs.look import MAX_QUASI

_COLUMNS = pytest.mark.parametrize(
    "columns", [500, pytest.param(2_000, marks=pytest.mark.long)], ids=["500", "2000"]
)
_MOST_QUERIES = 100
_ATOMS = (
    *(
        "0",
        "1",
        "7",
        "42",
        "007",
        "34.0",
        "34.5",
        "1.234",
        "1,234",
        "1,5",
        "-3",
        "+2",
        "1e3",
        "1e999",
    ),
    *("1 234", "1'234.5", ".5", "5.", ",5", "12345678901234567", "01301", "13053", "A01", "A02.1"),
    *("2020-01-31", "2020-02-30", "31/12/2019", "12/31/2019", "01.02.99", "2020-01-31 10:30"),
    *("red", "green", "very dark blue sea", "two words", "naïve", "S", "M", "L", "low", "high"),
    *(
        "10-19",
        "20-29",
        "[30-40)",
        "<30",
        "80+",
        "",
        " ",
        "NA",
        "n/a",
        "?",
        "-",
        "none",
        "None",
        ".",
    ),
    *(" red", "red ", "\u00a034", "inf", "-inf", "nan", "NULL", "x_1", "²", "it's", "medium"),
    *("many words in one cell that nobody else has written before", "v1", "a" * 90),
)


class _Counting:
    """An engine that counts what it is asked; everything else is the engine's own."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.queries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, *given: Any) -> Any:
        self.queries += 1
        return self._connection.execute(*given)

    def sql(self, *given: Any, **named: Any) -> Any:
        self.queries += 1
        return self._connection.sql(*given, **named)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[_Counting]:
    """Every engine that a table is opened with, counting."""
    started: list[_Counting] = []

    def connect() -> _Counting:
        started.append(_Counting(engine.connect()))
        return started[-1]

    monkeypatch.setattr(sys.modules["shoal.engines.open_table"], "connect", connect)
    return started


def _write_wide(path: Path, columns: int, rows: int = 60) -> Path:
    draw = random.Random(5)
    cells: tuple[Callable[[], str], ...] = (
        lambda: str(draw.randint(0, 900)),
        lambda: f"{draw.uniform(0, 9):.2f}",
        lambda: f"{draw.randint(1950, 2020)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}",
        lambda: draw.choice(("red", "green", "blue")),
        lambda: f"A{draw.randint(0, 99):02}",
        lambda: draw.choice(("10-19", "20-29", "30-39")),
        lambda: draw.choice(("3", "4", "NA", "")),
        lambda: f"{draw.randint(0, 999):05}",
    )
    names = ["age", "sex", "diagnosis", *(f"v{i}" for i in range(columns - 3))]
    own = (cells[0], lambda: draw.choice("fm"), lambda: draw.choice(("flu", "hiv", "cold")))
    kinds = [*own, *(cells[i % len(cells)] for i in range(columns - 3))]
    lines = [",".join(names), *(",".join(cell() for cell in kinds) for _ in range(rows))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


_KINDS = ("number", "number", "date", "category", "code", "category", "number", "code")


@_COLUMNS
def test_a_look_at_many_columns_takes_few_queries(
    tmp_path: Path, engines: list[_Counting], columns: int
) -> None:
    look = shoal.look(_write_wide(tmp_path / "wide.csv", columns))
    assert sum(one.queries for one in engines) < _MOST_QUERIES
    assert [field.kind for field in look.fields[3:11]] == list(_KINDS)
    assert [field.kind for field in look.fields[11:19]] == list(_KINDS)
    assert look.fields[8].ordered
    assert len(look.profiles) == columns
    assert f"{MAX_QUASI} of the {2 + columns // 8} quasi-identifiers" in look.describe_unique()


@_COLUMNS
def test_a_release_of_many_columns_takes_few_queries(
    tmp_path: Path, engines: list[_Counting], columns: int
) -> None:
    source = _write_wide(tmp_path / "wide.csv", columns)
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive="diagnosis", drop="*")
    shoal.publish(source, schema, "k-anonymity k=5", out=tmp_path / "out")
    assert 0 < sum(one.queries for one in engines) < 1.5 * _MOST_QUERIES
    header = (tmp_path / "out" / "table.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == "age,sex,diagnosis"


def _open(table: pa.Table, **reading: Any) -> Any:
    """The fields and the values of a table, or what is wrong with it."""
    try:
        frame = shoal.open(table, **reading)
    except ShoalError as error:
        return str(error)
    try:
        columns = {field.name: frame.column(field.name).to_pylist() for field in frame.fields}
        return frame.fields, columns, frame.profile()
    finally:
        frame.close()


def _draw_columns(draw: random.Random, columns: int, rows: int) -> dict[str, pa.Array]:
    drawn: dict[str, pa.Array] = {}
    for i in range(columns):
        few = draw.sample(_ATOMS, draw.randint(1, 4))
        cells = [None if draw.random() < 0.05 else draw.choice(few) for _ in range(rows)]
        name = draw.choice(("zip", "v", "code", "weight", "icd")) + str(i)
        drawn[name] = pa.array(cells, pa.string())
    return drawn


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(i, marks=pytest.mark.long) for i in range(1, 9))]
)
@pytest.mark.parametrize(
    "reading", [{}, {"decimal": ","}, {"day_first": False, "nulls": ["red", "?"]}]
)
def test_columns_are_read_together_as_each_is_alone(seed: int, reading: dict[str, Any]) -> None:
    drawn = _draw_columns(random.Random(seed), 32, 12)
    alone = {name: _open(pa.table({name: cells}), **reading) for name, cells in drawn.items()}
    sound = {name: cells for name, cells in drawn.items() if not isinstance(alone[name], str)}
    assert len(sound) > 16
    fields, columns, profiles = _open(pa.table(sound), **reading)
    for field in fields:
        own_fields, own_columns, own_profiles = alone[field.name]
        assert own_fields == (field,)
        assert own_columns[field.name] == columns[field.name]
        own, other = own_profiles[field.name], profiles[field.name]
        assert own.entropy == pytest.approx(other.entropy, abs=1e-9)
        assert {**vars(own), "entropy": 0} == {**vars(other), "entropy": 0}
    wrong = [name for name in drawn if isinstance(alone[name], str)]
    if wrong:  # an error is about the first column that has one, as it would be alone
        assert _open(pa.table(drawn), **reading) == alone[wrong[0]]


def test_lots_are_bounded_by_cells_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = _draw_columns(random.Random(9), 30, 12)
    together = _open(pa.table(drawn))
    monkeypatch.setattr(text_census, "MAX_LOT_CELLS", 40)
    monkeypatch.setattr(text_census, "MAX_LOT_ROWS", 10**6)
    in_threes = _open(pa.table(drawn))
    monkeypatch.setattr(text_census, "MAX_LOT_ROWS", 1)
    by_themselves = _open(pa.table(drawn))
    assert together == in_threes == by_themselves


def _write_quasi(path: Path, columns: int, rows: int) -> list[str]:
    draw = random.Random(3)
    names = [f"q{i}" for i in range(columns)]
    lines = [",".join([*names, "ill"])]
    for _ in range(rows):
        cells = [str(draw.randint(0, 9)) if i % 2 else draw.choice("abcd") for i in range(columns)]
        lines.append(",".join([*cells, draw.choice(("flu", "hiv"))]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return names


@pytest.mark.parametrize("columns", [100, pytest.param(300, marks=pytest.mark.long)])
def test_many_quasi_identifiers_fit_into_memory(tmp_path: Path, columns: int) -> None:
    names = _write_quasi(tmp_path / "wide.csv", columns, 60)
    schema = shoal.Schema.of(quasi=names, sensitive="ill")
    release = shoal.publish(tmp_path / "wide.csv", schema, "k-anonymity k=3", out=tmp_path / "out")
    assert release.verdict.holds
    assert release.verdict.rows == 60


def test_codes_of_many_columns_are_joined_in_stages_as_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = _write_quasi(tmp_path / "wide.csv", 70, 200)
    schema = shoal.Schema.of(quasi=names, sensitive="ill")
    counted = []
    for joins in (1_000, 32, 1):
        monkeypatch.setattr(duck, "_JOINS", joins)
        with closing(shoal.open(tmp_path / "wide.csv")) as frame:
            tally = encode(frame, schema.fit(frame.fields)).tally
        keys = np.column_stack([*tally.keys, tally.count])
        counted.append(sorted(map(tuple, keys.tolist())))
    assert counted[0] == counted[1] == counted[2]


def test_what_many_columns_have_alike_is_written_as_each_would_be() -> None:
    columns = {f"note {i}": "drop" for i in range(5)} | {"*_id": "identifier", "é.x": "drop"}
    schema = shoal.Schema.of(quasi=["age", "home town"], sensitive="ill").set(columns)
    text = schema.to_toml()
    assert shoal.Schema.parse(text).columns == schema.columns
    for column in schema.columns:
        assert schema_toml.format_column_section(column) in text


def test_columns_that_are_dropped_are_not_recognised(tmp_path: Path) -> None:
    lines = ["age,ill,note", *(f"{30 + i % 3},flu,{i % 4}" for i in range(12))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    frame = shoal.open(tmp_path / "people.csv", left_out=lambda names: ["note"])
    assert [field.kind for field in frame.fields] == ["number", "category", "category"]
    assert frame.column("note").to_pylist()[:3] == ["0", "1", "2"]
    frame.close()


def test_what_does_not_fit_is_told_by_what_there_is_too_little_of() -> None:
    full = "failed to offload data block (limit set by the 'max_temp_directory_size' setting)"
    for message, fact in ((full, "disk space"), ("could not allocate block", "more memory than")):
        with pytest.raises(ShoalError, match=fact), engine.translate_errors():
            raise duckdb.OutOfMemoryException(message)
