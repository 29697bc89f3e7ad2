"""What was made of a table: all at once, or of one too large for that in parts.

Both can be judged, or streamed row by row with class numbers; the labels of the classes, their
counts and the publisher's facts are complete once all rows have been streamed or judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from shoal.cells import Cells
from shoal.flow.encode import Encoded, Survey
from shoal.flow.judge import together, verdict
from shoal.flow.make import explain, finish, make
from shoal.flow.recoded import Labels, labels_of, recoded
from shoal.flow.record import Counts
from shoal.flow.request import STARRED, Request
from shoal.frames.frame import Frame
from shoal.model import products
from shoal.release import Verdict
from shoal.tally import Cut, Groups, Tally
from shoal.utility.loss import loss


class Made(Protocol):
    """Classes of a table, ready to be published."""

    def judged(self) -> Verdict:
        """The verdict on the classes, by construction."""

    def rows(self, key: bytes) -> Iterator[pa.RecordBatch]:
        """Every published row with the number of its class; ``key`` is for hashing people."""

    def labels(self) -> dict[str, Labels]:
        """The classes' labels by column."""

    def counts(self) -> Counts:
        """What the public may know of the classes."""

    def facts(self) -> dict[str, Any]:
        """What the publisher may know besides."""


class Whole:
    """The classes of a table that one tally holds.

    ``encoded`` leads from the rows to their entries; ``tally`` has the same entries, and the
    columns of them that classes are made of and judged by.
    """

    def __init__(
        self, frame: Frame, encoded: Encoded, tally: Tally, made: Cut, request: Request
    ) -> None:
        self._frame, self._encoded, self._request = frame, encoded, request
        self._quasi, rule = tally.quasi, request.rule
        self._cut = finish(tally, made, request)
        self._groups = Groups.of(tally, self._cut, products(rule))
        self._facts = {
            "held_back": self._cut.held_back,
            STARRED: made.held_back - self._cut.held_back,
            "loss": loss(tally, self._cut),
            "explanation": explain(tally, made, rule),
            **self._cut.facts,
        }

    @classmethod
    def of(cls, frame: Frame, plan: Survey, request: Request) -> Whole:
        """The classes that the method makes of a table."""
        encoded = plan.encode(frame)
        return cls(frame, encoded, encoded.tally, make(encoded.tally, request), request)

    def judged(self) -> Verdict:
        """The verdict on the classes, by construction."""
        return verdict(self._request.rule, self._groups, "by construction")

    def rows(self, key: bytes) -> Iterator[pa.RecordBatch]:
        """Every published row with the number of its class."""
        asked = self._request
        return recoded(self._frame, self._encoded, self._cut, asked.schema, key, asked.form)

    def labels(self) -> dict[str, Labels]:
        """The classes' labels by column."""
        return labels_of(self._quasi, self._cut.cells)

    def counts(self) -> Counts:
        """What the public may know of the classes."""
        return Counts.of(self._groups)

    def facts(self) -> dict[str, Any]:
        """What the publisher may know besides."""
        return self._facts


class Parts:
    """The classes of a table too large for one tally: one part after the other."""

    def __init__(self, parts: Sequence[Frame], plan: Survey, request: Request) -> None:
        self._parts, self._plan, self._request = parts, plan, request
        self._cells: list[Cells] = []
        self._counts = Counts(0, 0, {})
        self._lost = 0.0

    def _make(self, part: Frame) -> tuple[Encoded, Cut, Groups]:
        encoded = self._plan.encode_part(part)
        cut = make(encoded.tally, self._request)
        groups = Groups.of(encoded.tally, cut)
        self._lost += loss(encoded.tally, cut) * encoded.tally.rows
        self._cells.append(cut.cells)
        here = Counts.of(groups)
        rows, classes = self._counts.rows + here.rows, self._counts.classes + here.classes
        missing = Counter(self._counts.missing) + Counter(here.missing)
        self._counts = Counts(rows, classes, here.values, missing)
        return encoded, cut, groups

    def judged(self) -> Verdict:
        """The verdict on the classes, by construction."""
        rule = self._request.rule
        found = [verdict(rule, self._make(part)[2], "by construction") for part in self._parts]
        return together(rule, found)

    def rows(self, key: bytes) -> Iterator[pa.RecordBatch]:
        """Every published row with the number of its class, counted on from part to part."""
        for part in self._parts:
            before = self._counts.classes
            encoded, cut, _ = self._make(part)
            stream = recoded(part, encoded, cut, self._request.schema, key)
            del encoded, cut  # the part's memory is the engine's while it streams
            for batch in stream:
                class_ = batch.column(0).to_numpy(zero_copy_only=False) + np.int32(before)
                yield batch.set_column(0, "class_", pa.array(class_, pa.int32()))

    def labels(self) -> dict[str, Labels]:
        """The classes' labels by column."""
        axes = self._plan.axes[: len(self._plan.schema.quasi)]
        return labels_of(axes, Cells.joined(self._cells))

    def counts(self) -> Counts:
        """What the public may know of the classes."""
        return self._counts

    def facts(self) -> dict[str, Any]:
        """What the publisher may know besides."""
        return {
            "held_back": 0,
            STARRED: 0,
            "loss": self._lost / max(self._counts.rows, 1),
            "explanation": "No row is held back.",
            "parts": len(self._parts),
        }
