"""The file behind a frame, as it was when it was opened."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.core.errors import InputError


@dataclass(frozen=True)
class TextStyle:
    """How a CSV file is written."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def to_json(self) -> dict[str, str]:
        """What a manifest says of it."""
        return asdict(self)

    def reading(self) -> dict[str, Any]:
        """How such a file is opened again: options of ``shoal.open``."""
        return {} if self == STANDARD_STYLE else asdict(self)

    @classmethod
    def from_json(cls, stated: Any) -> TextStyle | None:
        """What a manifest says; None where it says nothing that can be read."""
        if not isinstance(stated, Mapping) or set(stated) != {"delimiter", "decimal", "encoding"}:
            return None
        return cls(**stated) if all(isinstance(word, str) for word in stated.values()) else None


STANDARD_STYLE = TextStyle()


@dataclass(frozen=True)
class SourceFile:
    """A file's path and the state in which it was found, so that a change is noticed."""

    path: Path
    state: tuple[int, ...]
    style: TextStyle = STANDARD_STYLE
    """How it is written, where it is a text file."""
    has_header: bool = False
    """Whether a row of it names the columns, and not its format."""

    @classmethod
    def of(cls, path: Path) -> SourceFile:
        """The file as it is now."""
        return cls(path, _state(path))

    def check(self) -> None:
        """Raise where the file is no longer the one that was opened."""
        try:
            same = _state(self.path) == self.state
        except OSError:
            same = False
        if not same:
            raise InputError(
                f"{self.path.name} changed after it was opened.",
                "Publish from a copy that nobody writes to.",
            )

    def fingerprint(self, key: bytes) -> str:
        """HMAC-SHA-256 of the content: nobody without the key can guess what was read."""
        digest = hmac.new(key, digestmod=hashlib.sha256)
        with self.path.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()


def _state(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
