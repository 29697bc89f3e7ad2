"""A place in a table that says more than its text: a note below, a tone, a link."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.errors import UsageError

TONES = ("note", "good", "warning", "danger")
_NEARBY = re.compile(r"(?!/)[\w./#-]+")
_UP = ".."


@dataclass(frozen=True)
class Noted:
    """Text for a table; its lines are kept, and `backticks` set code in the note.

    ``tone`` sets the text off, for a word that also reads without colour; ``link`` leads to a file
    beside the page or below it, for a page refers to nothing else.
    """

    text: str
    note: str = ""
    tone: str = ""
    link: str = ""

    def __post_init__(self) -> None:
        if self.tone and self.tone not in TONES:
            raise UsageError("A note has an unknown tone.", f"Use one of {', '.join(TONES)}.")
        parts = self.link.partition("#")[0].split("/")
        if self.link and (_UP in parts or not _NEARBY.fullmatch(self.link)):
            raise UsageError(
                "A page links to files beside it only.", "Name the file relative to the page."
            )
