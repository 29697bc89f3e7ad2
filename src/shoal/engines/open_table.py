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
from shoal.engines.type_inference.column_kind import name_fields, recognise_columns
from shoal.engines.type_inference.column_records import DuckConnection, LeftOut, ReadingOptions
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

    How it is written and what its columns are is recognised on the whole table, and stands in each
    field's notes. What was recognised wrongly can be stated.

    Parameters
    ----------
    source
        The path of a CSV, Excel, Parquet or Arrow file, a database URL, a release folder, or a
        pandas, Polars, Arrow or DuckDB table. A frame is returned as it is.
    delimiter, quote, encoding
        How a text file is written.
    decimal
        The decimal sign, "." or ",".
    day_first
        Whether the day comes before the month in dates.
    nulls
        Marks that mean null, besides the empty cell.
    sheet
        The sheet of a workbook.
    header_row
        The row with the header, the first being 1; a header that is stated is not doubted.
    header
        False where the first row is data: columns are called ``column 1``, ``column 2`` and so on.
    query
        What is read of a database.
    kinds
        The kind of a column by its name: number, date, code, category or text.
    one_row
        Which row stands for each person, as in ``shoal.publish``.
    left_out
        Picks, of the columns' names, those that nobody will use: they are read as text, and their
        kind is not recognised.

    Returns
    -------
    Frame
        The open table; ``close`` releases it.

    Raises
    ------
    InputError
        The table cannot be read.
    UsageError
        An option is wrong, or does not fit the source.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = open(pa.table({"age": [34, None], "zip": ["01301", "13053"]}))
    >>> [(field.name, field.kind) for field in frame.fields]
    [('age', 'number'), ('zip', 'code')]
    """
    source, one_row = split_one_row(source, one_row)
    if isinstance(source, Frame):
        refuse_open_table(one_row)
        return source
    header_place = HeaderPlace.of(header_row, header)
    marks = None if nulls is None else tuple(nulls)
    style = _read_stated_style(source)
    decimal = decimal or (style.decimal if style else None)
    reading = ReadingOptions(decimal, day_first, marks, dict(kinds or {}), left_out)
    engine, spool = connect(), Spool()
    origin = _find_source_file(source)
    try:
        with translate_errors():
            if isinstance(source, (str, PathLike)):
                text = {
                    "delimiter": delimiter or (style.delimiter if style else None),
                    "quote": quote,
                    "encoding": encoding or (style.encoding if style else None),
                }
                read = _read_named_source(
                    str(source), engine, spool, text, (sheet, header_place), query
                )
            else:
                from shoal.engines.readers.memory import read_object

                read = _ReadSource(read_object(source, engine, spool))
            raw = read.query
            longest = check_texts(engine, raw, reading.kinds, spool.longest)
            typing = recognise_columns if one_row is None else one_row.keep
            typed, fields = typing(engine, raw, reading, longest)
            if isinstance(source, (str, PathLike)) and _is_text(str(source)):
                fields = (
                    _clear_header_doubts(fields)
                    if header_place.stated
                    else _note_doubtful_names(engine, raw, fields, longest)
                )
    except BaseException:
        engine.close()
        spool.close()
        raise
    first, *others = fields
    noted_fields = (replace(first, notes=first.notes + read.notes), *others)
    if origin is not None:
        comma = any(field.decimal_comma for field in fields)
        origin = replace(origin, style=replace(read.style, decimal="," if comma else "."))
        origin = replace(origin, has_header=_is_text(origin.path.name))

    def close() -> None:
        engine.close()
        spool.close()

    return DuckFrame(engine, typed, noted_fields, close=close, source=origin, longest=longest)


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
    style = _read_stated_style(source) or STANDARD_STYLE
    stated_delimiter = delimiter or (style.delimiter if style is not STANDARD_STYLE else None)
    names = glimpse_names(
        Path(source), stated_delimiter, quote, encoding, HeaderPlace.of(header_row, header)
    )
    return None if names is None else name_fields(names)


class _ReadSource(NamedTuple):
    """A query over what was opened, and what was noticed of it as a whole."""

    query: str
    notes: tuple[str, ...] = ()
    """Notes on the table, which its first column carries."""
    style: TextStyle = STANDARD_STYLE


def _read_stated_style(source: Any) -> TextStyle | None:
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


def _clear_header_doubts(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields without a doubt about their names, where somebody has said where the header is."""
    plain = (tuple(note for note in field.notes if note != LIKE_A_VALUE) for field in fields)
    return tuple(replace(field, notes=notes) for field, notes in zip(fields, plain, strict=True))


def _note_doubtful_names(
    engine: DuckConnection, query: str, fields: tuple[Field, ...], longest: Mapping[str, int]
) -> tuple[Field, ...]:
    """The fields, with a note on those whose name is one of their own values too.

    ``longest`` holds the bytes of each column's longest text, where they are known.
    """
    candidates = [
        field
        for field in fields
        if _may_hold_its_name(field)
        and longest.get(field.name, math.inf) >= len(field.name.encode(errors="replace"))
    ]
    doubted: set[str] = set()
    for at in range(0, len(candidates), _LOT):
        lot = candidates[at : at + _LOT]
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


def _find_source_file(source: Any) -> SourceFile | None:
    if not isinstance(source, (str, PathLike)):
        return None
    path = Path(source)
    return SourceFile.of(path) if path.is_file() else None


def _read_named_source(
    source: str,
    engine: DuckConnection,
    spool: Spool,
    text: Mapping[str, str | None],
    sheet: tuple[str | None, HeaderPlace],
    query: str | None,
) -> _ReadSource:
    from shoal.engines.readers.database import is_database, read_sql

    if is_database(source):
        return _ReadSource(query_parquet(read_sql(source, spool, query)))
    if query is not None:
        raise UsageError("A query needs a database URL.", "Leave query= out.")
    refuse_database_address(source)
    path = _find_table_file(Path(source))
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    suffix = suffix.lower()
    if suffix in _TEXT:
        from shoal.engines.readers.csv import read_csv

        spooled, notes, style = read_csv(path, spool, head=sheet[1], **text)
        return _ReadSource(query_parquet(spooled), notes, style)
    if suffix in _SHEETS:
        from shoal.engines.readers.excel import read_excel

        spooled, notes = read_excel(path, spool, *sheet)
        return _ReadSource(query_parquet(spooled), notes)
    if suffix == ".parquet":
        return _ReadSource(read_parquet(path, engine))
    if suffix in _ARROW:
        return _ReadSource(read_feather(path, engine, spool))
    raise UsageError(f"{path.name} is of an unknown kind.", f"Known endings: {_KNOWN}.")


def _find_table_file(path: Path) -> Path:
    """The file itself; a release folder stands for the table inside it."""
    if path.is_dir():
        tables = [path / f"table{end}" for end in FORMATS]
        existing = [table for table in tables if table.is_file()]
        if not (path / "manifest.json").is_file() or not existing:
            raise InputError(f"{path.name} is a folder, but not a release.", "Name a file in it.")
        return existing[0]
    if not path.is_file():
        raise InputError(f"There is no file {path.name}.", "Check the path.")
    try:
        path.open("rb").close()
    except OSError:
        raise InputError(f"{path.name} cannot be opened.", "Check who may read it.") from None
    return path
