"""What was made of a table: all at once, or of one too large for that in parts.

Both can be judged, or streamed row by row with class numbers; the labels of the classes, their
counts and the publisher's facts are complete once all rows have been streamed or judged.

From class numbers to labels: the rows of a table as the engine streams them, with classes.

Make the classes: the method's cut, settled so that what is published meets the rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells, all_leaves
from shoal.core.errors import NotMetError
from shoal.core.model import Model, find_spoiling_classes, list_joint_columns, split_rule
from shoal.core.release import Verdict, format_reached
from shoal.core.schema import Schema
from shoal.core.tally import Cut, Groups, Tally
from shoal.engines.protocol import Frame, Pieces
from shoal.kernels import disclosure
from shoal.measures.loss import loss
from shoal.methods import find_kernels, find_method, guarantees_rule
from shoal.methods._lattice.ladder import relabel_cells
from shoal.releases.judgement import combine_verdicts, judge_classes, judge_models
from shoal.releases.manifest import PublicCounts, published_schema
from shoal.releases.options import PARTITION, STARRED, Request
from shoal.releases.tallying import Encoded, Survey

# From class numbers to labels: the rows of a table as the engine streams them, with classes.


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
    return frame.recode(encoded.codings, _pieces(encoded, cut), carry, person, key)


def _pieces(encoded: Encoded, cut: Cut) -> Pieces:
    codes = tuple(np.ascontiguousarray(column[cut.entry]) for column in encoded.codes())
    return Pieces(codes, cut.class_, cut.count)


def label_classes(axes: Sequence[Axis], cells: Cells) -> dict[str, Labels]:
    """The published labels of every class, by column."""
    labels = {}
    for j, axis in enumerate(axes):
        number, texts = cells.labels(axes, j)
        labels[axis.name] = number, pa.array(texts.tolist(), pa.string())
    return labels


# Make the classes: the method's cut, settled so that what is published meets the rule.


PROMISING = ("mondrian", "full-domain")
COMPILING = "compiling kernels (once per machine)"


def make_cut(tally: Tally, request: Request) -> Cut:
    """The method's cut, with the classes held back that the final distributions break."""
    allowed = count_suppressible(tally, request)
    cut = run_method(tally, request, allowed)
    try:
        return settle_cut(tally, cut, request.rule, allowed)
    except NotMetError as error:
        if guarantees_rule(request.method):
            raise
        raise NotMetError(
            f"The method {request.method} does not promise any rule, and did not meet this one. "
            f"{error.fact}",
            f"use a method that does, such as {' or '.join(PROMISING)}.",
        ) from None


def count_suppressible(tally: Tally, request: Request) -> int:
    """How many of the table's rows may be held back."""
    return int(Fraction(str(request.hold_back)) * tally.rows)


def run_method(tally: Tally, request: Request, hold_back: int) -> Cut:
    """The method's own cut of a tally, with at most so many rows held back."""
    if not is_compiled(request.method, request.rule):
        request.progress(COMPILING, 0, 1)
    return find_method(request.method)(
        tally,
        request.rule,
        rng=np.random.default_rng(0),
        hold_back=hold_back,
        progress=lambda done, total: request.progress("making classes", done, total),
        **request.parameters,
    )


def is_compiled(name: str, rule: Model) -> bool:
    """Whether numba's cache holds the kernels already that a method and a rule need."""
    needed = [*find_kernels(name), *(() if rule.local else (disclosure,))]
    return all(map(_cached, needed))


def _cached(kernel: ModuleType) -> bool:
    """Whether anything of a file of kernels was compiled before."""
    caches = (getattr(function, "_cache", None) for function in vars(kernel).values())
    folder = next((cache.cache_path for cache in caches if cache is not None), None)
    stem = kernel.__name__.rpartition(".")[2]
    return folder is None or any(Path(folder).glob(f"{stem}.*.nbi"))


def settle_cut(tally: Tally, cut: Cut, rule: Model, allowed: int) -> Cut:
    """Hold back classes that fail once the reference is that of the published rows alone.

    Where classes are judged together, how many must go is known only once the rest holds.
    """
    while True:
        groups = Groups.of(tally, cut, list_joint_columns(rule))
        bad = find_spoiling_classes(rule, groups)
        needed = cut.suppressed + int(groups.rows[bad].sum())
        known = rule.local or not bad.any()
        if (known and needed > allowed) or needed == tally.rows:
            raise _too_many(tally, rule, groups, needed, allowed)
        if not bad.any():
            _check_providers_left(rule, groups)
            return cut
        cut = cut.without(bad)


def _check_providers_left(rule: Model, groups: Groups) -> None:
    """A promise against m providers is empty where holding rows back left no more of them."""
    if "provider" not in rule.needs:
        return
    there, m = (
        len(groups.contributed.contributors),
        max(getattr(p, "m", 0) for p in split_rule(rule)),
    )
    if there <= m:
        raise NotMetError(
            f"Once rows are held back the providers left in the table are {there:,}, of whom {m:,} "
            "may work together.",
            "hold fewer rows back, or weaken the rule.",
        )


def _too_many(tally: Tally, rule: Model, groups: Groups, needed: int, allowed: int) -> NotMetError:
    failed = _failed(rule, groups) or str(rule)
    share = min(1.0, needed / tally.rows + 0.0005)
    return NotMetError(
        f"No way was found to place {needed:,} of {tally.rows:,} rows in a class that meets the "
        f"rule, {allowed:,} may be held back: {failed}.",
        f"allow more with --hold-back {share:.3f}, or weaken the rule."
        if needed < tally.rows
        else "weaken the rule: no class can meet it with the others."
        if not rule.local
        else "weaken the rule, or use another method: no class was found that meets it.",
    )


def add_starred_class(tally: Tally, cut: Cut) -> tuple[Cut, int]:
    """The cut with the rows held back as a class of ``*``, and the number of that class."""
    top = np.array([[axis.size - 1 for axis in tally.quasi]], np.int32)
    sets = {j: all_leaves(tally.quasi[j])[np.newaxis] for j in cut.cells.sets}
    tops = [axis.height for axis in tally.quasi]
    star = relabel_cells(tally.quasi, Cells(np.zeros_like(top), top, sets), tops)
    cells = Cells.joined([cut.cells, star])
    class_ = np.where(cut.class_ < 0, cut.classes, cut.class_).astype(np.int32)
    merged = Cut(cut.entry, class_, cut.count, cells, cut.facts).merged()
    return merged, int(merged.class_[np.flatnonzero(cut.class_ < 0)[0]])


def finish_cut(tally: Tally, cut: Cut, request: Request) -> Cut:
    """The cut as it is published: rows held back are absent, or a class that meets the rule."""
    if request.held_back_as != STARRED or not cut.suppressed:
        return cut
    whole, _ = add_starred_class(tally, cut)
    failed = _failed(request.rule, Groups.of(tally, whole, list_joint_columns(request.rule)))
    if failed:
        raise NotMetError(
            f"With the {cut.suppressed:,} rows held back printed as *, the rule is not met: "
            f"{failed}.",
            "leave them out (--held-back-as absent), or weaken the rule.",
        )
    return whole


def _failed(rule: Model, groups: Groups) -> str:
    """The requirements that do not hold, with what the classes reach."""
    failed = [part for part in judge_models(rule, groups) if not part.holds] if len(groups) else []
    return "; ".join(f"{p.model} (reaches {format_reached(p.reached)})" for p in failed)


def explain_suppression(tally: Tally, cut: Cut, rule: Model) -> str:
    """Why rows are held back: what each requirement says of them as a class of their own."""
    if not cut.suppressed:
        return "No row is held back."
    whole, number = add_starred_class(tally, cut)
    groups = Groups.of(tally, whole, list_joint_columns(rule)).take(np.array([number]))
    lines = [f"{cut.suppressed:,} rows are held back. As a class by themselves:"]
    judged = judge_models(rule, groups)
    for part in judged:
        outcome, word = ("meets", "reaches") if part.holds else ("fails", "would pass at")
        at = f" ({word} {format_reached(part.reached)})" if part.reached >= 0 else ""
        lines.append(f"  {outcome} {part.model}{at}")
    if all(part.holds for part in judged):
        lines.append("So they may be printed as one class of * (--held-back-as starred).")
    return "\n".join(lines)


# What was made of a table: all at once, or of one too large for that in parts.


class Draft(Protocol):
    """Classes of a table, ready to be published."""

    def judged(self) -> Verdict:
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
        self._cut = finish_cut(tally, cut, request)
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

    def judged(self) -> Verdict:
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

    def judged(self) -> Verdict:
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
