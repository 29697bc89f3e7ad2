"""Addresses of databases that were written wrongly: they hold passwords, and are no paths.

``postgresql:user:password@host`` lacks its slashes. Taken for a path it would become the name of a
file, and be printed where that file is missing.
"""

from __future__ import annotations

import os
import re

from shoal.core.errors import UsageError

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


def refuse_address(path: str | os.PathLike[str]) -> None:
    """Refuse, without printing it, an address that stands where a path is meant."""
    text = os.fspath(path)
    if is_database_address(text) and not os.path.exists(text):
        raise UsageError(
            "An address of a database stands where a file is meant, or lacks its slashes.",
            "write postgresql://USER@HOST/DATABASE or sqlite:///FILE, in full.",
        )
