"""The front door: whatever holds a table becomes a frame."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import shoal.engines.type_inference.value_forms as forms
from shoal.core.column import LIKE_A_VALUE
from shoal.core.errors import InputError, UsageError, refuse_database_address
from shoal.core.schema import Field
from shoal.engines.duckdb import DuckFrame, connect, translate_errors
from shoal.engines.one_row import OneRow, refuse_open_table, split_one_row
from shoal.engines.protocol import Frame
from shoal.engines.readers.columnar import query_parquet, read_feather, read_parquet
from shoal.engines.readers.header import HeaderPlace
from shoal.engines.readers.limits import check_texts
from shoal.engines.readers.spool import Spool
from shoal.engines.source import STANDARD_STYLE, SourceFile, TextStyle
from shoal.engines.type_inference.column_decision import DuckConnection, LeftOut, ReadingOptions
from shoal.engines.type_inference.column_kind import name_fields, recognise_columns
from shoal.engines.writers import FORMATS

_TEXT = (".csv", ".tsv", ".txt")
_SHEETS = (".xlsx", ".xls", ".ods", ".xlsm", ".xlsb")
_ARROW = (".feather", ".arrow")
_LOT = 2500  # columns that one query looks at
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
    header_row: int | None = None,
    header: bool = True,
    query: str | None = None,
    kinds: Mapping[str, str] | None = None,
    one_row: OneRow | None = None,
    left_out: LeftOut | None = None,
) -> Frame:
    """Open a table: a path, a database URL, a release folder, or a table in memory.

    Everything is recognised on the whole table and told in each field's notes; whatever was
    recognised wrongly can be set: ``delimiter``, ``quote`` and ``encoding`` of text files,
    ``sheet`` of a workbook, ``header_row`` of both (a header that is stated is believed), or
    ``header=False`` where the first row is data (columns are called ``column 1``, ``column 2`` and
    so on), ``query`` of a database, the ``decimal`` sign, ``day_first`` in dates, ``nulls`` (marks
    that mean null, besides the empty cell), and ``kinds`` (number, date, code, category or text, by
    column). ``one_row`` chooses the row that stands for each person, as ``shoal.publish`` does.
    ``left_out`` picks, of the columns' names, those that nobody will use: they are read as text,
    and what they are is not recognised.

    >>> import pyarrow as pa
    >>> frame = open(pa.table({"age": [34, None], "zip": ["01301", "13053"]}))
    >>> [(field.name, field.kind) for field in frame.fields]
    [('age', 'number'), ('zip', 'code')]
    """
    source, one_row = split_one_row(source, one_row)
    if isinstance(source, Frame):
        refuse_open_table(one_row)
        return source
    head = HeaderPlace.of(header_row, header)
    marks = None if nulls is None else tuple(nulls)
    written = _written_as(source)
    decimal = decimal or (written.decimal if written else None)
    reading = ReadingOptions(decimal, day_first, marks, dict(kinds or {}), left_out)
    engine, spool = connect(), Spool()
    origin = _origin(source)
    try:
        with translate_errors():
            if isinstance(source, (str, PathLike)):
                text = {
                    "delimiter": delimiter or (written.delimiter if written else None),
                    "quote": quote,
                    "encoding": encoding or (written.encoding if written else None),
                }
                read = _named(str(source), engine, spool, text, (sheet, head), query)
            else:
                read = _Read(_object(source, engine, spool))
            raw = read.query
            longest = check_texts(engine, raw, reading.kinds, spool.longest)
            typing = recognise_columns if one_row is None else one_row.keep
            typed, fields = typing(engine, raw, reading, longest)
            if isinstance(source, (str, PathLike)) and _is_text(str(source)):
                fields = (
                    _believed(fields) if head.stated else _doubted(engine, raw, fields, longest)
                )
    except BaseException:
        engine.close()
        spool.close()
        raise
    noted = _with_notes(fields, read)
    if origin is not None:
        comma = any(field.decimal_comma for field in fields)
        origin = replace(origin, style=replace(read.style, decimal="," if comma else "."))
        origin = replace(origin, has_header=_is_text(origin.path.name))

    def close() -> None:
        engine.close()
        spool.close()

    return DuckFrame(engine, typed, noted, close=close, source=origin, longest=longest)


def glimpse_fields(
    source: Any,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    header_row: int | None = None,
    header: bool = True,
    **_: Any,
) -> tuple[Field, ...] | None:
    """The columns of a text table by its header, before a row is read; None where unclear.

    Their kinds are not known yet.
    """
    from shoal.engines.readers.csv import glimpse_names

    if not isinstance(source, (str, PathLike)) or not Path(source).is_file():
        return None
    if not str(source).lower().removesuffix(".gz").endswith(_TEXT):
        return None
    written = _written_as(source) or STANDARD_STYLE
    given = delimiter or (written.delimiter if written is not STANDARD_STYLE else None)
    names = glimpse_names(Path(source), given, quote, encoding, HeaderPlace.of(header_row, header))
    return None if names is None else name_fields(names)


class _Read(NamedTuple):
    """A query over what was opened, and what was noticed of it as a whole."""

    query: str
    notes: tuple[str, ...] = ()
    """Notes on the table, which its first column carries."""
    style: TextStyle = STANDARD_STYLE


def _with_notes(fields: Sequence[Field], read: _Read) -> tuple[Field, ...]:
    first, *others = fields
    return replace(first, notes=first.notes + read.notes), *others


def _written_as(source: Any) -> TextStyle | None:
    """How the table of a release is written, as the manifest beside it says."""
    if not isinstance(source, (str, PathLike)):
        return None
    path = Path(source)
    try:
        folder = path if path.is_dir() else path.parent
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        own = path.is_dir() or path.name in (manifest.get("file"), manifest.get("values"))
        return TextStyle.from_json(manifest.get("csv")) if own else None
    except (OSError, ValueError, AttributeError, RecursionError):  # no manifest: verbs say so
        return None


def _is_text(source: str) -> bool:
    """Whether a header, and not the format, says what the columns are called."""
    return source.lower().removesuffix(".gz").endswith((*_TEXT, *_SHEETS))


def _believed(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields without a doubt about their names, where somebody has said where the header is."""
    plain = (tuple(note for note in field.notes if note != LIKE_A_VALUE) for field in fields)
    return tuple(replace(field, notes=notes) for field, notes in zip(fields, plain, strict=True))


def _doubted(
    engine: DuckConnection, query: str, fields: tuple[Field, ...], longest: Mapping[str, int]
) -> tuple[Field, ...]:
    """The fields, with a note on those whose name is one of their own values too.

    ``longest`` tells the bytes of each column's longest text, where they are known.
    """
    asked = [
        field
        for field in fields
        if _may_hold_its_name(field)
        and longest.get(field.name, math.inf) >= len(field.name.encode(errors="replace"))
    ]
    doubted: set[str] = set()
    for at in range(0, len(asked), _LOT):
        lot = asked[at : at + _LOT]
        tests = ", ".join(
            f"bool_or({forms.trim_blanks(forms.quote_column(field.name))}"
            f" = {forms.quote_text(field.name)})"
            for field in lot
        )
        answers = engine.execute(f"SELECT {tests} FROM ({query})").fetchall()[0]
        doubted |= {field.name for field, is_value in zip(lot, answers, strict=True) if is_value}
    return tuple(
        replace(field, notes=(*field.notes, LIKE_A_VALUE)) if field.name in doubted else field
        for field in fields
    )


def _may_hold_its_name(field: Field) -> bool:
    """Whether a value can be the column's name, which is not in doubt already.

    No number or date begins with a letter, and the marks that do are known.
    """
    if LIKE_A_VALUE in field.notes:
        return False
    is_word = field.name[:1].isalpha() and field.name not in dict(field.null_marks)
    return field.kind not in ("number", "date") or not is_word


def _origin(source: Any) -> SourceFile | None:
    """The file that is opened, as it stands before it is read; None where there is none."""
    if not isinstance(source, (str, PathLike)):
        return None
    path = Path(source)
    return SourceFile.of(path) if path.is_file() else None


def _object(source: Any, engine: DuckConnection, spool: Spool) -> str:
    from shoal.engines.readers.memory import read_object

    return read_object(source, engine, spool)


def _named(
    source: str,
    engine: DuckConnection,
    spool: Spool,
    text: Mapping[str, str | None],
    sheet: tuple[str | None, HeaderPlace],
    query: str | None,
) -> _Read:
    """The query over a path or URL, and notes on the whole of it."""
    from shoal.engines.readers.database import is_database, read_sql

    if is_database(source):
        return _Read(query_parquet(read_sql(source, spool, query)))
    if query is not None:
        raise UsageError("A query needs a database URL.", "Leave query= out.")
    refuse_database_address(source)
    path = _file(Path(source))
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    suffix = suffix.lower()
    if suffix in _TEXT:
        from shoal.engines.readers.csv import read_csv

        spooled, notes, style = read_csv(path, spool, head=sheet[1], **text)
        return _Read(query_parquet(spooled), notes, style)
    if suffix in _SHEETS:
        from shoal.engines.readers.excel import read_excel

        spooled, notes = read_excel(path, spool, *sheet)
        return _Read(query_parquet(spooled), notes)
    if suffix == ".parquet":
        return _Read(read_parquet(path, engine))
    if suffix in _ARROW:
        return _Read(read_feather(path, engine, spool))
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
