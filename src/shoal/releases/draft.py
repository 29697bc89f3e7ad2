"""Drafts: the classes that a method makes of a table, judged, and not yet written.

A table is drafted at once (`TableDraft`) or, where it is too large for one tally, in parts
(`DraftInParts`). A draft can be judged, or its rows streamed with the numbers of their classes; the
classes' labels, their counts and the publisher's facts are complete once either has been done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import NotMetError
from shoal.core.model import Model, list_joint_columns
from shoal.core.release import Verdict
from shoal.core.schema import Schema
from shoal.core.tally import Cut, Groups, Tally
from shoal.engines.protocol import Frame, Pieces
from shoal.kernels import disclosure
from shoal.measures.loss import loss
from shoal.methods import find_kernels, find_method, guarantees_rule
from shoal.releases.judgement import combine_verdicts, judge_classes
from shoal.releases.manifest import PublicCounts, published_schema
from shoal.releases.options import PARTITION, STARRED, Request
from shoal.releases.suppression import (
    count_suppressible,
    explain_suppression,
    place_suppressed_rows,
    suppress_failing_classes,
)
from shoal.releases.tallying import Encoded, Survey

Labels = tuple[NDArray[np.int32], pa.Array]
"""Per class the number of its label, and the labels (null: null)."""


def recode_rows(
    frame: Frame, encoded: Encoded, cut: Cut, schema: Schema, key: bytes, form: str = PARTITION
) -> Iterator[pa.RecordBatch]:
    """The rows of a frame with their classes, as the engine streams them.

    All columns that the form publishes as they are come with them, in the form's order.
    """
    carry = [c.name for c in published_schema(schema, form).columns if c.role != "quasi"]
    carry += [schema.provider.name] if schema.provider else []
    person = schema.person.name if schema.person else None
    # The pieces are not kept here: the engine frees them as soon as it has them.
    return frame.recode(encoded.codings, _select_pieces(encoded, cut), carry, person, key)


def _select_pieces(encoded: Encoded, cut: Cut) -> Pieces:
    codes = tuple(np.ascontiguousarray(column[cut.entry]) for column in encoded.codes())
    return Pieces(codes, cut.class_, cut.count)


def label_classes(axes: Sequence[Axis], cells: Cells) -> dict[str, Labels]:
    """The published labels of every class, by column."""
    labels = {}
    for j, axis in enumerate(axes):
        number, texts = cells.labels(axes, j)
        labels[axis.name] = number, pa.array(texts.tolist(), pa.string())
    return labels


PROMISING = ("mondrian", "full-domain")
COMPILING = "compiling kernels (once per machine)"


def make_cut(tally: Tally, request: Request) -> Cut:
    """The method's cut, without the classes that fail by the distributions as published."""
    suppressible = count_suppressible(tally, request)
    cut = run_method(tally, request, suppressible)
    try:
        return suppress_failing_classes(tally, cut, request.rule, suppressible)
    except NotMetError as error:
        if guarantees_rule(request.method):
            raise
        raise NotMetError(
            f"The method {request.method} does not promise any rule, and did not meet this one. "
            f"{error.fact}",
            f"use a method that does, such as {' or '.join(PROMISING)}.",
        ) from None


def run_method(tally: Tally, request: Request, suppressible: int) -> Cut:
    """The method's own cut of a tally, with at most so many rows suppressed."""
    if not is_compiled(request.method, request.rule):
        request.progress(COMPILING, 0, 1)
    return find_method(request.method)(
        tally,
        request.rule,
        rng=np.random.default_rng(0),
        hold_back=suppressible,
        progress=lambda done, total: request.progress("making classes", done, total),
        **request.parameters,
    )


def is_compiled(name: str, rule: Model) -> bool:
    """Whether numba's cache holds the kernels already that a method and a rule need."""
    needed = [*find_kernels(name), *(() if rule.local else (disclosure,))]
    return all(map(_has_compiled, needed))


def _has_compiled(kernel: ModuleType) -> bool:
    caches = (getattr(function, "_cache", None) for function in vars(kernel).values())
    folder = next((cache.cache_path for cache in caches if cache is not None), None)
    stem = kernel.__name__.rpartition(".")[2]
    return folder is None or any(Path(folder).glob(f"{stem}.*.nbi"))


class Draft(Protocol):
    """Classes of a table, ready to be published."""

    def judge(self) -> Verdict:
        """The verdict on the classes, by construction."""

    def rows(self, key: bytes) -> Iterator[pa.RecordBatch]:
        """Every published row with the number of its class; ``key`` is for hashing people."""

    def labels(self) -> dict[str, Labels]:
        """The classes' labels by column."""

    def counts(self) -> PublicCounts:
        """What the public may know of the classes."""

    def facts(self) -> dict[str, Any]:
        """What the publisher may know besides."""


class TableDraft:
    """The classes of a table that one tally holds.

    ``encoded`` leads from the rows to their entries; ``tally`` has the same entries, and the
    columns of them that classes are made of and judged by.
    """

    def __init__(
        self, frame: Frame, encoded: Encoded, tally: Tally, cut: Cut, request: Request
    ) -> None:
        self._frame, self._encoded, self._request = frame, encoded, request
        self._quasi, rule = tally.quasi, request.rule
        self._cut = place_suppressed_rows(tally, cut, request)
        self._groups = Groups.of(tally, self._cut, list_joint_columns(rule))
        self._facts = {
            "held_back": self._cut.suppressed,
            STARRED: cut.suppressed - self._cut.suppressed,
            "loss": loss(tally, self._cut),
            "explanation": explain_suppression(tally, cut, rule),
            **self._cut.facts,
        }

    @classmethod
    def of(cls, frame: Frame, plan: Survey, request: Request) -> TableDraft:
        """The classes that the method makes of a table."""
        encoded = plan.encode(frame)
        return cls(frame, encoded, encoded.tally, make_cut(encoded.tally, request), request)

    def judge(self) -> Verdict:
        """The verdict on the classes, by construction."""
        return judge_classes(self._request.rule, self._groups, "by construction")

    def rows(self, key: bytes) -> Iterator[pa.RecordBatch]:
        """Every published row with the number of its class."""
        asked = self._request
        return recode_rows(self._frame, self._encoded, self._cut, asked.schema, key, asked.form)

    def labels(self) -> dict[str, Labels]:
        """The classes' labels by column."""
        return label_classes(self._quasi, self._cut.cells)

    def counts(self) -> PublicCounts:
        """What the public may know of the classes."""
        return PublicCounts.of(self._groups)

    def facts(self) -> dict[str, Any]:
        """What the publisher may know besides."""
        return self._facts


class DraftInParts:
    """The classes of a table too large for one tally: one part after the other."""

    def __init__(self, parts: Sequence[Frame], plan: Survey, request: Request) -> None:
        self._parts, self._plan, self._request = parts, plan, request
        self._cells: list[Cells] = []
        self._counts = PublicCounts(0, 0, {})
        self._lost = 0.0

    def _make(self, part: Frame) -> tuple[Encoded, Cut, Groups]:
        encoded = self._plan.encode_part(part)
        cut = make_cut(encoded.tally, self._request)
        groups = Groups.of(encoded.tally, cut)
        self._lost += loss(encoded.tally, cut) * encoded.tally.rows
        self._cells.append(cut.cells)
        here = PublicCounts.of(groups)
        rows, classes = self._counts.rows + here.rows, self._counts.classes + here.classes
        missing = Counter(self._counts.missing) + Counter(here.missing)
        self._counts = PublicCounts(rows, classes, here.values, missing)
        return encoded, cut, groups

    def judge(self) -> Verdict:
        """The verdict on the classes, by construction."""
        rule = self._request.rule
        verdicts = [
            judge_classes(rule, self._make(part)[2], "by construction") for part in self._parts
        ]
        return combine_verdicts(rule, verdicts)

    def rows(self, key: bytes) -> Iterator[pa.RecordBatch]:
        """Every published row with the number of its class, counted on from part to part."""
        for part in self._parts:
            before = self._counts.classes
            encoded, cut, _ = self._make(part)
            stream = recode_rows(part, encoded, cut, self._request.schema, key)
            del encoded, cut  # the part's memory is the engine's while it streams
            for batch in stream:
                class_ = batch.column(0).to_numpy(zero_copy_only=False) + np.int32(before)
                yield batch.set_column(0, "class_", pa.array(class_, pa.int32()))

    def labels(self) -> dict[str, Labels]:
        """The classes' labels by column."""
        axes = self._plan.axes[: len(self._plan.schema.quasi)]
        return label_classes(axes, Cells.joined(self._cells))

    def counts(self) -> PublicCounts:
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
