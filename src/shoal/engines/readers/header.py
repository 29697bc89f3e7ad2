"""Column names and whole rows: the checks that every door makes alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shoal.core.column import LIKE_A_VALUE, Field
from shoal.core.errors import InputError, UsageError
from shoal.engines.readers.limits import check_column_names

_SHOWN = 5  # wrong rows listed by number; the rest are only counted


@dataclass(frozen=True)
class HeaderPlace:
    """Where somebody says that a file's header is: ``at`` counts from 0, and is -1 without one."""

    at: int = 0
    stated: bool = False

    @classmethod
    def of(cls, row: int | None, header: bool) -> HeaderPlace:
        """The header in row ``row`` of the file, the first being 1, or none at all."""
        if not header and row is not None:
            raise UsageError("A table without a header has it in no row.", "Leave header_row= out.")
        if row is not None and row < 1:
            raise UsageError("The first row of a table is row 1.", "Set header_row= to 1 or more.")
        return cls(-1, True) if not header else cls() if row is None else cls(row - 1, True)

    @property
    def absent(self) -> bool:
        """Whether the first row is data already."""
        return self.at < 0


FIRST_ROW = HeaderPlace()


def clean_names(names: Iterable[object]) -> list[str]:
    """Names without surrounding blanks; a column without a name is called by its position.

    >>> clean_names([" age", "", 7])
    ['age', 'column 2', '7']
    """
    cleaned = [
        str("" if name is None else name).strip() or f"column {place}"
        for place, name in enumerate(names, 1)
    ]
    if not cleaned:
        raise InputError("The table has no columns.", "Check that this is the right table.")
    check_column_names(cleaned)
    # The engine compares names without regard to case, so `Age` and `age` cannot stand together.
    places: dict[str, list[int]] = {}
    for place, name in enumerate(cleaned, 1):
        places.setdefault(name.casefold(), []).append(place)
    if twice := [shared for shared in places.values() if len(shared) > 1]:
        listed = "; ".join(" and ".join(map(str, shared[:_SHOWN])) for shared in twice[:_SHOWN])
        raise InputError(  # by their places: without a header, the names are somebody's row
            f"Columns have the same name: {listed}{'; and others' if len(twice) > _SHOWN else ''}.",
            "Give every column its own name in the first row; upper and lower case count as the "
            "same.",
        )
    return cleaned


def refuse_headless(fields: Sequence[Field]) -> None:
    """Refuse a file whose first row, taken for names, is data: names are published as they are.

    That is so where the names of two columns, or of all, look like a value or are one of their own.
    """
    doubtful = sum(LIKE_A_VALUE in field.notes for field in fields)
    if doubtful < min(2, len(fields)):
        return
    raise InputError(
        f"The table seems to have no header: the names of {doubtful:,} of its {len(fields):,} "
        "columns look like values, and names are published.",
        'if its first row is data, add --no-header: the columns are called "column 1", "column 2" '
        "and so on; or give the file a header. If its first row is the header, add --header-row 1.",
    )


class WrongRows:
    """Rows that do not fit the header: the first few by number, all of them by count."""

    def __init__(self, width: int, unit: str = "line") -> None:
        self.count = 0
        self._width = width
        self._unit = unit
        self._first: list[str] = []

    def add(self, number: int, what: str) -> None:
        """Record that the row at ``number`` is wrong and how."""
        self.count += 1
        if self.count <= _SHOWN:
            self._first.append(f"{self._unit} {number} ({what})")

    def add_field_count(self, number: int, count: int) -> None:
        """Record a row with ``count`` fields."""
        self.add(number, "empty" if not count else f"{count} field{'s' if count > 1 else ''}")

    def check(self, hint: str) -> None:
        """Raise when any row was wrong: nothing is skipped or padded."""
        if not self.count:
            return
        rest = ", …" if self.count > _SHOWN else ""
        rows = "1 row does" if self.count == 1 else f"{self.count:,} rows do"
        raise InputError(
            f"{rows} not fit the header of {self._width} columns: {', '.join(self._first)}{rest}.",
            hint,
        )
