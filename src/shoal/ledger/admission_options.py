"""What an admission is asked: by whom a release is judged, and how much it may expose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.core.errors import UsageError
from shoal.releases.options import Progress, ignore_progress

SAME, TIME, OVERLAP = "same table", "over time", "overlapping"
RELATIONS = (SAME, TIME, OVERLAP)
"""What a release can be to an earlier one: of the same table, of its table later, of other people
some of whom may be in both."""


@dataclass(frozen=True, kw_only=True)
class AdmissionOptions:
    """How a release is judged together with earlier ones."""

    people: Any = None
    """A table of the people; without it, or with some of them, the worst is assumed of who is in
    both."""
    on: str | None = None
    """A kept column to learn besides the sensitive ones, all of which are judged in any case."""
    relation: str | Mapping[int, str] | None = None
    """What it is to all earlier ones, or to some by their numbers; else found out."""
    l: int = 2
    """Who is left with fewer values than this is exposed."""
    limit: float = 0.0
    """The share of people that an attack may expose."""
    reading: Mapping[str, Any] | None = None
    show: bool = False
    progress: Progress = ignore_progress

    def __post_init__(self) -> None:
        if isinstance(self.l, bool) or not isinstance(self.l, int) or self.l < 2:
            raise UsageError("l is a whole number of at least 2.", "write for example l=2.")
        number = isinstance(self.limit, int | float) and not isinstance(self.limit, bool)
        if not number or not 0 <= self.limit <= 1:
            raise UsageError("The limit is a share between 0 and 1.", "write for example 0.01.")
        if wrong := [relation for relation in self._relations() if relation not in RELATIONS]:
            raise UsageError(
                f"There is no relation {wrong[0]!r}.", f"one of: {', '.join(RELATIONS)}."
            )

    def _relations(self) -> list[str]:
        if isinstance(self.relation, Mapping):
            return list(self.relation.values())
        return [self.relation] if self.relation else []

    def declared(self, number: int) -> str:
        """What the release was said to be to an entry; empty where nobody said."""
        if isinstance(self.relation, Mapping):
            return self.relation.get(number, "")
        return self.relation or ""
