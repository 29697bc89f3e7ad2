"""The error tree. Every error is a fact, then a hint with what to do; neither shows a cell value.

    ShoalError            1  internal: nothing below fits
    ├── UsageError        2  the call is wrong: an unknown name, an option out of range
    │   └── UndecidedError       an exact verdict would take too long
    ├── Interrupted     130  stopped by the user; it says what was written
    ├── NotMetError       3  the requirement cannot be met, or is not met
    │   └── NotEvaluatedError    nobody can say whether it is met
    ├── ExposedError      4  an attack exceeded its limit
    └── InputError        5  the data is wrong
        ├── SchemaError       the schema does not fit the table
        ├── HierarchyError    a hierarchy is broken or does not cover its column
        └── OutputError       the result cannot be written

The number is the exit code of the command line.

`refuse_database_address` keeps passwords out of errors: ``postgresql:user:password@host`` lacks
its slashes, and taken for a path it would be printed where that file is missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence


class ShoalError(Exception):
    """A fact and a hint: ``str(error)`` is what a person reads.

    >>> print(ShoalError("The table is empty.", "Check the file."))
    The table is empty.
    Hint: Check the file.
    """

    exit_code = 1

    def __init__(self, fact: str, hint: str = "") -> None:
        super().__init__(fact, hint)
        self.fact = fact
        self.hint = hint

    @staticmethod
    def collect(*checks: Callable[[], object]) -> None:
        """Make all the checks, and raise their errors as one.

        >>> def refuse(fact):
        ...     raise UsageError(fact, "change it.")
        >>> ShoalError.collect(lambda: refuse("A is wrong."), lambda: refuse("B is wrong."))
        Traceback (most recent call last):
        shoal.core.errors.UsageError: A is wrong.
        B is wrong.
        Hint: change it.
        """
        raised: dict[str, ShoalError] = {}
        for check in checks:
            try:
                check()
            except ShoalError as error:
                raised.setdefault(str(error), error)
        errors = list(raised.values())
        if len(errors) == 1:
            raise errors[0]
        if errors:
            kinds = {type(error) for error in errors}
            kind = kinds.pop() if len(kinds) == 1 else UsageError
            hints = dict.fromkeys(error.hint for error in errors if error.hint)
            raise kind("\n".join(error.fact for error in errors), "\n".join(hints))

    def __str__(self) -> str:
        return f"{self.fact}\nHint: {self.hint}" if self.hint else self.fact


class UsageError(ShoalError):
    """The call itself is wrong."""

    exit_code = 2


class UndecidedError(UsageError):
    """An exact verdict would take too long, and nothing is approximated."""


class Interrupted(ShoalError):
    """The user stopped the work; the fact says what was written, if anything."""

    exit_code = 130


class NotMetError(ShoalError):
    """The requirement cannot be met, or a table does not meet it."""

    exit_code = 3


class NotEvaluatedError(NotMetError):
    """A requirement that nobody can judge on this table, and so counts as one that is not met."""


class ExposedError(ShoalError):
    """An attack found more than its limit allows."""

    exit_code = 4


class InputError(ShoalError):
    """The data cannot be used as it is."""

    exit_code = 5


def join_errors(errors: Sequence[InputError]) -> InputError:
    """Several errors as one that says all of them; a single one as it is.

    >>> print(join_errors([InputError("A is empty.", "fill it."), InputError("B is.", "fill it.")]))
    A is empty. B is.
    Hint: fill it.
    """
    if len(errors) == 1:
        return errors[0]
    kinds = {type(error) for error in errors}
    kind = kinds.pop() if len(kinds) == 1 else InputError
    hints = dict.fromkeys(error.hint for error in errors)
    return kind(" ".join(error.fact for error in errors), "\n".join(hints))


class SchemaError(InputError):
    """The schema does not fit the table."""


class HierarchyError(InputError):
    """A hierarchy is broken, or does not cover its column."""


class OutputError(InputError):
    """The result cannot be written."""


_DATABASES = r"postgres(?:ql)?|pgsql|mysql|mariadb|mssql|oracle|sqlserver|mongodb|redis|jdbc|odbc"
_ADDRESS = re.compile(
    rf"\s*(?:(?:{_DATABASES})(?:\+\w+)?\s*(?::|//)|sqlite:|(?:[a-z][\w+.-]*:)?/*[^/\\@\s]+:[^/\\]*@)",
    re.IGNORECASE,
)


def is_database_address(text: str) -> bool:
    """Whether a text is an address of a database, well or badly written, and no path.

    >>> [is_database_address(text) for text in ("postgresql:ann:secret@host/db", "ann:secret@host")]
    [True, True]
    >>> paths = "people.csv", "C:\\\\data\\\\a@b.csv", "postgresql.csv"
    >>> any(is_database_address(text) for text in paths)
    False
    """
    return _ADDRESS.match(text) is not None


def refuse_database_address(path: str | os.PathLike[str]) -> None:
    """Refuse, without printing it, an address that stands where a path is meant."""
    text = os.fspath(path)
    if is_database_address(text) and not os.path.exists(text):
        raise UsageError(
            "An address of a database stands where a file is meant, or lacks its slashes.",
            "write postgresql://USER@HOST/DATABASE or sqlite:///FILE, in full.",
        )
