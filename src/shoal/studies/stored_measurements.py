"""Measurements kept on disk as they are made, so that a run that was stopped goes on.

One line of JSON each in ``measured.jsonl``, found again by a key over everything that it depends
on (`shoal.studies.keys`). A line that a killed run left unfinished, and whatever else is no
measurement, is passed over. Nothing is kept where no folder is given.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from shoal import InputError, OutputError
from shoal.studies.claims import Row

FILE = "measured.jsonl"


class StoredMeasurements:
    """What was measured in a folder so far."""

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / FILE
        self._rows: dict[str, tuple[list[Row], float]] = {}
        self._seconds: dict[str, float] = {}
        self.now = 0.0
        """The seconds that what is new took."""
        content = b"" if self.path is None else _read(self.path)
        self._torn = bool(content) and not content.endswith(b"\n")
        for line in content.split(b"\n"):
            measurement = _measurement(line)
            if measurement is not None:
                self._rows[measurement["key"]] = (
                    measurement["rows"],
                    float(measurement["seconds"]),
                )

    @property
    def seconds(self) -> float:
        """What measuring took, now or then, of all that was asked for."""
        return sum(self._seconds.values())

    def get(self, key: str) -> list[Row] | None:
        """The rows measured under this key, or nothing."""
        if key not in self._rows:
            return None
        rows, self._seconds[key] = self._rows[key]
        return rows

    def put(self, key: str, rows: list[Row], seconds: float) -> None:
        """Keep rows and what they took; a run that is killed after this has them."""
        self._rows[key] = (rows, seconds)
        self._seconds[key] = seconds
        self.now += seconds
        if self.path is None:
            return
        record = {"key": key, "seconds": round(seconds, 3), "rows": rows}
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        try:
            self._append(self.path, b"\n" + line if self._torn else line)
        except OSError as error:
            raise OutputError(
                f"{FILE} cannot be written: {error.strerror or 'the disk failed'}.",
                "choose a folder you may write to, with enough free space.",
            ) from None

    def _append(self, path: Path, line: bytes) -> None:
        """All at once, so that a line is whole or the last."""
        self._torn = True  # until it is whole
        binary = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        file = os.open(path, binary, 0o666)
        try:
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)
        self._torn = False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(
            f"{FILE} cannot be read: {error.strerror or 'the disk failed'}.",
            "check the file, or choose another folder.",
        ) from None


def _measurement(line: bytes) -> dict[str, Any] | None:
    """A line's measurement; none where it is not one, or not all of it."""
    try:
        record = json.loads(line)
    except ValueError:  # neither UTF-8 nor JSON: the last line of a run that was killed
        return None
    if not isinstance(record, dict):
        return None
    key, seconds, rows = (record.get(name) for name in ("key", "seconds", "rows"))
    right = isinstance(key, str) and isinstance(seconds, int | float) and isinstance(rows, list)
    return record if right and all(isinstance(row, dict) for row in rows or ()) else None
