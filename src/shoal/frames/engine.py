"""A private DuckDB engine: in memory, offline, and careful with what its errors say."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from shoal import scratch, stopping
from shoal.errors import InputError, UsageError

MEMORY = "1500MB"
"""What the engine may hold before it spills to disk; the tally itself lives outside it."""

_NO_DISK = re.compile(r"max_temp_directory_size|disk space|no space left|offload", re.IGNORECASE)
"""How the engine says that it could not spill."""
_ENCRYPTED = {"temp_file_encryption": "true", "force_mbedtls_unsafe": "true"}
"""The engine's own encryption of what it spills, with a key that it has in memory only.

It draws the key from a generator that is not made for keys, and takes three times as long: it is
for systems where files cannot lose their names.
"""


def connect(memory: str | None = None) -> duckdb.DuckDBPyConnection:
    """A private engine: in memory, offline; what it spills nobody can read after this process."""
    folder = scratch.make_folder()
    try:
        secret = {} if scratch.hide_names(folder) else _ENCRYPTED
        connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": memory or MEMORY,
                "temp_directory": str(folder),
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                **secret,
            },
        )
        weakref.finalize(connection, scratch.remove_folder, folder)
    except BaseException:  # Ctrl-C while it starts: nobody else would remove the folder
        scratch.remove_folder(folder)
        raise
    stopping.engines.add(connection)
    return connection


@contextmanager
def guarded() -> Iterator[None]:
    """Turn the engine's errors into ours: theirs quote cell values, ours must not."""
    try:
        yield
    except duckdb.ResourceInUseException:
        raise UsageError(
            "The table is still being read.", "Finish or close the earlier stream of rows first."
        ) from None
    except RuntimeError as error:
        if "interrupted" not in str(error).lower():
            raise
        raise KeyboardInterrupt from None  # how the engine reports Ctrl-C
    except duckdb.OutOfMemoryException as error:
        raise _out_of_room(str(error)) from None
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException):
        raise  # ours: a query that was written wrongly
    except (duckdb.Error, pa.ArrowException, OverflowError, UnicodeError) as error:
        line = re.search(r"\bLine: (\d+)", str(error))
        where = f" at line {line[1]}" if line else ""
        raise InputError(
            f"The table cannot be read{where} ({type(error).__name__}).",
            "Check that every value of a column is of the column's kind.",
        ) from None


def _out_of_room(message: str) -> InputError:
    """The error for what does not fit: on disk, where the engine says so, or else in memory."""
    if _NO_DISK.search(message):
        return InputError(
            "The table needs more temporary disk space than there is.",
            "Free space in the temporary folder, or set TMPDIR to a folder with more.",
        )
    return InputError(
        f"The table needs more memory than the {MEMORY} that one step may use.",
        "Use fewer columns: give those that are not needed the role drop.",
    )
