"""The Excel door: .xlsx, .xls and .ods through calamine, cells as the text a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from shoal.errors import InputError, UsageError
from shoal.frames.header import WrongRows, clean_names
from shoal.frames.limits import TEXT_LIMIT, check_workbook, text_too_long
from shoal.frames.spool import Spool


def read_excel(path: Path, spool: Spool, sheet: str | None = None) -> Path:
    """Spool one sheet; its first row is the header. Text cells keep their leading zeros."""
    import python_calamine as calamine  # only this door needs it

    check_workbook(path)
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError:
        raise InputError(f"{path.name} has a password.", "Save it without one first.") from None
    except (calamine.CalamineError, calamine.XmlError, calamine.ZipError):
        raise InputError(f"{path.name} is not a workbook.", "Save it again as .xlsx.") from None
    rows = book.get_sheet_by_name(_sheet(book.sheet_names, sheet)).iter_rows()
    header = next(rows, None)
    if header is None:
        raise InputError(f"The sheet in {path.name} is empty.", "Choose another with sheet=.")
    names = clean_names(_cell(cell) for cell in header)
    return spool.rows(names, _rows(rows, len(names)))


def _sheet(names: list[str], wanted: str | None) -> str:
    listed = ", ".join(map(repr, names))
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None:
        raise UsageError(f"There are {len(names)} sheets.", f"Set sheet= to one of {listed}.")
    if wanted not in names:
        raise UsageError(f"There is no sheet {wanted!r}.", f"Set sheet= to one of {listed}.")
    return wanted


def _rows(rows: Iterator[list[Any]], width: int) -> Iterator[list[str | None]]:
    """Rows as text; empty rows are harmless at the end of the sheet, and only there."""
    wrong = WrongRows(width, "row")
    blank: list[int] = []
    for number, row in enumerate(rows, 2):
        cells = [_cell(cell) for cell in row]
        if width > 1 and not any(cells):
            blank.append(number)
            continue
        for empty in blank:
            wrong.fields(empty, 0)
        blank.clear()
        if any(len(cell) > TEXT_LIMIT for cell in cells if cell):
            raise text_too_long(f"row {number:,}")
        yield cells
    wrong.check("Delete the empty rows of the sheet.")


def _cell(value: object) -> str | None:
    """A cell as text: whole floats without a point, midnight as a date."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value)
