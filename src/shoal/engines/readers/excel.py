"""The Excel door: .xlsx, .xls and .ods through calamine, cells as the text a person sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path

from shoal.core.errors import InputError, UsageError
from shoal.engines.readers.header import FIRST_ROW, HeaderPlace, WrongRows, clean_names
from shoal.engines.readers.limits import TEXT_LIMIT, check_workbook, long_text_error
from shoal.engines.readers.spool import Spool

_HEAD = 30
"""Titles, dates and notes above a header are looked for in so many rows."""


def read_excel(
    path: Path, spool: Spool, sheet: str | None = None, stated: HeaderPlace = FIRST_ROW
) -> tuple[Path, tuple[str, ...]]:
    """Spool one sheet; returns the Parquet file and what was noticed on the way.

    The header is the sheet's row that is ``stated``; else the first row that is as
    wide as the table, where there are only titles above. Text cells keep their leading zeros.
    """
    import python_calamine as calamine  # only this door needs it

    check_workbook(path)
    with _translate_errors(path):
        book = calamine.CalamineWorkbook.from_path(str(path))
        chosen = book.get_sheet_by_name(_choose_sheet(book.sheet_names, sheet))
        rows = chosen.iter_rows()
        head = [[_format_cell(cell) for cell in row] for row in islice(rows, _HEAD)]
        if not head:
            raise InputError(f"The sheet in {path.name} is empty.", "Choose another with sheet=.")
        at = stated.at if stated.stated else _find_header(head)
        while at >= len(head) and (row := next(rows, None)) is not None:
            head.append([_format_cell(cell) for cell in row])
        if at >= len(head):
            raise UsageError(
                f"Row {at + 1:,} of the sheet is empty.", "Set header_row= to the header's row."
            )
        names = clean_names([""] * len(head[0]) if stated.absent else head[at])
        rest = chain(head[at + 1 :], ([_format_cell(cell) for cell in row] for row in rows))
        skipped = at > 0 and not stated.stated
        note = f"header in row {1 + at}, what stands above is left out (set with --header-row)"
        return spool.rows(names, _check_rows(rest, len(names), at + 2)), (note,) * skipped


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    import python_calamine as calamine

    damaged = InputError(f"{path.name} is not a workbook.", "Save it again as .xlsx.")
    try:
        yield
    except calamine.PasswordError:
        raise InputError(f"{path.name} has a password.", "Save it without one first.") from None
    except (calamine.CalamineError, calamine.XmlError, calamine.ZipError):
        raise damaged from None
    except (OSError, ValueError, OverflowError):
        raise damaged from None
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of the reader's own language, no Exception
            raise damaged from None
        raise


def _find_header(head: Sequence[Sequence[str | None]]) -> int:
    """The row that names the columns: the first that fills the table's width with texts.

    A title has a cell or two. Where no row is such a header below mere titles, it is the first.
    """
    filled = [sum(cell is not None for cell in row) for row in head]
    width = max(filled)
    for at, row in enumerate(head):
        cells = [cell for cell in row if cell is not None]
        if 5 * filled[at] >= 4 * width and width > 1:
            named = len(set(cells)) == len(cells) and not any(map(_is_number, cells))
            return at if named else 0
        if 2 * filled[at] > width:
            return 0
    return 0


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("-", "", 1).isdecimal()


def _choose_sheet(names: list[str], wanted: str | None) -> str:
    listed = ", ".join(map(repr, names))
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None:
        raise UsageError(f"There are {len(names)} sheets.", f"Set sheet= to one of {listed}.")
    if wanted not in names:
        raise UsageError(f"There is no sheet {wanted!r}.", f"Set sheet= to one of {listed}.")
    return wanted


def _check_rows(
    rows: Iterable[list[str | None]], width: int, first: int
) -> Iterator[list[str | None]]:
    """The rows, from row ``first`` of the sheet on; empty ones are harmless at its end alone."""
    wrong = WrongRows(width, "row")
    blank: list[int] = []
    for number, cells in enumerate(rows, first):
        if width > 1 and not any(cells):
            blank.append(number)
            continue
        for empty in blank:
            wrong.add_field_count(empty, 0)
        blank.clear()
        if any(len(cell) > TEXT_LIMIT for cell in cells if cell):
            raise long_text_error(f"row {number:,}")
        yield cells
    wrong.check("Delete the empty rows of the sheet.")


def _format_cell(value: object) -> str | None:
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
