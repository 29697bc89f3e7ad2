"""The front door: whatever holds a table becomes a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from shoal.addresses import refuse_address
from shoal.errors import InputError, UsageError
from shoal.frames.column import Engine
from shoal.frames.duck import DuckFrame
from shoal.frames.engine import connect, guarded
from shoal.frames.frame import Frame
from shoal.frames.kinds import Reading, recognise
from shoal.frames.limits import check_texts
from shoal.frames.source import Source
from shoal.frames.spool import Spool
from shoal.frames.stored import parquet, read_feather, read_parquet
from shoal.frames.write import FORMATS

_TEXT = (".csv", ".tsv", ".txt")
_SHEETS = (".xlsx", ".xls", ".ods", ".xlsm", ".xlsb")
_ARROW = (".feather", ".arrow")
_KNOWN = ", ".join((*_TEXT, *_SHEETS, ".parquet", *_ARROW))


def open(
    source: Any,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    day_first: bool | None = None,
    nulls: Sequence[str] | None = None,
    sheet: str | None = None,
    query: str | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Frame:
    """Open a table: a path, a database URL, a release folder, or a table in memory.

    Everything is recognised on the whole table and told in each field's notes; whatever was
    recognised wrongly can be set: ``delimiter``, ``quote`` and ``encoding`` of text files,
    ``sheet`` of a workbook, ``query`` of a database, the ``decimal`` sign, ``day_first`` in dates,
    ``nulls`` (marks that mean null, besides the empty cell), and ``kinds`` (number, date, code,
    category or text, by column).

    >>> import pyarrow as pa
    >>> frame = open(pa.table({"age": [34, None], "zip": ["01301", "13053"]}))
    >>> [(field.name, field.kind) for field in frame.fields]
    [('age', 'number'), ('zip', 'code')]
    """
    if isinstance(source, Frame):
        return source
    marks = None if nulls is None else tuple(nulls)
    reading = Reading(decimal, day_first, marks, dict(kinds or {}))
    engine, spool = connect(), Spool()
    origin = _origin(source)
    try:
        with guarded():
            if isinstance(source, (str, PathLike)):
                text = {"delimiter": delimiter, "quote": quote, "encoding": encoding}
                raw, notes = _named(str(source), engine, spool, text, sheet, query)
            else:
                raw, notes = _object(source, engine, spool), ()
            check_texts(engine, raw, reading.kinds)
            typed, fields = recognise(engine, raw, reading)
    except BaseException:
        engine.close()
        spool.close()
        raise
    noted = tuple(
        field if field.kind in ("number", "date") else replace(field, notes=field.notes + notes)
        for field in fields
    )

    def close() -> None:
        engine.close()
        spool.close()

    return DuckFrame(engine, typed, noted, close=close, source=origin)


def _origin(source: Any) -> Source | None:
    """The file that is opened, as it stands before it is read; None where there is none."""
    if not isinstance(source, (str, PathLike)):
        return None
    path = Path(source)
    return Source.of(path) if path.is_file() else None


def _object(source: Any, engine: Engine, spool: Spool) -> str:
    from shoal.frames.memory import read_object

    return read_object(source, engine, spool)


def _named(
    source: str,
    engine: Engine,
    spool: Spool,
    text: Mapping[str, str | None],
    sheet: str | None,
    query: str | None,
) -> tuple[str, tuple[str, ...]]:
    """The query over a path or URL, and notes on the whole of it."""
    from shoal.frames import sql

    if sql.is_database(source):
        return parquet(sql.read_sql(source, spool, query)), ()
    if query is not None:
        raise UsageError("A query needs a database URL.", "Leave query= out.")
    refuse_address(source)
    path = _file(Path(source))
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    suffix = suffix.lower()
    if suffix in _TEXT:
        from shoal.frames.csv import read_csv

        spooled, notes = read_csv(path, spool, **text)
        return parquet(spooled), notes
    if suffix in _SHEETS:
        from shoal.frames.excel import read_excel

        return parquet(read_excel(path, spool, sheet)), ()
    if suffix == ".parquet":
        return read_parquet(path), ()
    if suffix in _ARROW:
        return read_feather(path, engine, spool), ()
    raise UsageError(f"{path.name} is of an unknown kind.", f"Known endings: {_KNOWN}.")


def _file(path: Path) -> Path:
    """The file itself; a release folder stands for the table inside it."""
    if path.is_dir():
        tables = [path / f"table{end}" for end in FORMATS]
        found = [table for table in tables if table.is_file()]
        if not (path / "manifest.json").is_file() or not found:
            raise InputError(f"{path.name} is a folder, but not a release.", "Name a file in it.")
        return found[0]
    if not path.is_file():
        raise InputError(f"There is no file {path.name}.", "Check the path.")
    try:
        path.open("rb").close()
    except OSError:
        raise InputError(f"{path.name} cannot be opened.", "Check who may read it.") from None
    return path
