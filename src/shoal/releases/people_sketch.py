"""Sketches of the people in a table: whether two tables are about the same ones, by any name.

A sketch is the smallest of the hashes of all people (bottom-k; Broder: On the resemblance and
containment of documents, 1997; Bar-Yossef and others: Counting distinct elements in a data stream,
2002). Of two tables the hashes up to the smaller of the two largest ones are a random sample of
all people of both, from which the share of the smaller table's people who are in the other is
estimated; tables of at most ``SIZE`` people are compared exactly. One person more or less changes
one hash, never the whole.

People are known by the person column; without one each distinct row stands for a person, by all of
its columns that have a role, but for those that are dropped. A sketch tells who is in a table to
whoever can guess people: it lies in the private companion, which tells that already, and in the
ledger under its key.

It does not find the same people under other numbers (new pseudonyms, another spelling), nor,
without a person column, rows of which a column was changed, added or left out. Tables of more than
``MAX_ROWS`` rows are not sketched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.labels import format_value
from shoal.core.schema import Schema
from shoal.engines.protocol import Frame
from shoal.releases.row_listing import read_columns

SKETCH = "people_sketch"
"""The companion's key for it."""
SIZE = 1024
"""Hashes in a sketch."""
MAX_ROWS = 3_000_000
PERSONS, ROWS = "persons", "rows"
"""What stands for a person."""
SAME_PEOPLE = {PERSONS: 0.1, ROWS: 0.5}
"""From this share of the smaller table's people on, two tables are about the same people. Rows of
different people may be alike, so that more of them are needed."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of a table's people, in order."""

    of: str
    lowest: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """For the companion."""
        return {"of": self.of, "lowest": [f"{value:016x}" for value in self.lowest]}

    @classmethod
    def from_json(cls, record: Any) -> Sketch | None:
        """A sketch as it was written; None where there is none, or it is damaged."""
        try:
            lowest = tuple(int(value, 16) for value in record["lowest"])
            return (
                cls(str(record["of"]), lowest) if record["of"] in SAME_PEOPLE and lowest else None
            )
        except (TypeError, KeyError, ValueError):
            return None

    def shared_with(self, other: Sketch) -> float:
        """The share of the smaller table's people who are in the other, as far as it is known.

        >>> Sketch(PERSONS, (1, 2, 3, 4)).shared_with(Sketch(PERSONS, (3, 4)))
        1.0
        """
        if self.of != other.of:
            return 0.0
        full = [sketch.lowest[-1] for sketch in (self, other) if len(sketch.lowest) == SIZE]
        end = min(full, default=2**64)
        mine, theirs = ({h for h in sketch.lowest if h <= end} for sketch in (self, other))
        smaller = min(len(mine), len(theirs))
        return len(mine & theirs) / smaller if smaller else 0.0

    def is_about_people_of(self, other: Sketch) -> bool:
        """Whether so many people are in both that the two are about the same."""
        return self.shared_with(other) >= SAME_PEOPLE[self.of]


def sketch_people(frame: Frame, schema: Schema) -> Sketch | None:
    """The people of a table; None where there are too many, or none."""
    if int(frame.tally([]).count.sum()) > MAX_ROWS:
        return None
    there = {field.name for field in frame.fields}
    person = schema.person
    if person is not None and person.name in there:
        names, of = [person.name], PERSONS
    else:
        known = (c.name for c in schema.columns if c.name in there and c.role != "drop")
        names, of = sorted(known), ROWS
    hashes = _hashes(frame, names) if names else np.zeros(0, np.uint64)
    lowest = np.unique(hashes)[:SIZE].tolist()
    return Sketch(of, tuple(lowest)) if lowest else None


def _hashes(frame: Frame, names: Sequence[str]) -> NDArray[np.uint64]:
    listings = read_columns(frame, list(names))
    each = np.zeros(len(listings[names[0]].codes), np.uint64)
    for name in names:
        words = [None if value is None else format_value(value) for value in listings[name].values]
        label = name if len(names) > 1 else ""  # a person column may be called otherwise
        hashes = np.array([_hash(label, word) for word in words], np.uint64)
        each = each * _MIX + hashes[listings[name].codes]
    return each


def _hash(name: str, word: str | None) -> int:
    value = repr((name, word)).encode(errors="replace")
    return int.from_bytes(sha256(b"shoal people 1\n" + value).digest()[:8], "big")


def sketch_for_companion(frame: Frame, schema: Schema) -> Mapping[str, Any]:
    """What a release's companion says of its people; nothing where they are too many."""
    sketch = sketch_people(frame, schema)
    return {} if sketch is None else {SKETCH: sketch.to_json()}
