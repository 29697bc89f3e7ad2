"""Estimates: how many people have each value, from answers that may have been exchanged.

With n answers of which c are y, and chances p of a true answer and q of any other one,

    estimate = (c − n q) / (p − q)

is the number of people with value y, but for chance: it is right on average (Warner 1965; Wang,
Blocki, Li, Jha 2017). Two times in three it is off by less than its standard error. Estimates of
few people are mostly noise, and may be below 0 or above all of them.

They say nothing about any one person, and were the sums of people with equal rows exact, that
would be no randomised release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.column import join_column_names
from shoal.core.errors import InputError, UsageError
from shoal.core.release import EDITION, to_json_value
from shoal.kernels.grouping import number_combinations
from shoal.releases.companion import find_release
from shoal.releases.forms._noise.answers import Answers, read_answers
from shoal.releases.reader import open_labels, parse_released_schema
from shoal.releases.row_listing import read_columns

Floats = NDArray[np.float64]


@dataclass
class AnswerCounts:
    """Answers counted as they are drawn: how many rows of a class have which answers."""

    sizes: Sequence[int]
    _lots: list[tuple[NDArray[Any], NDArray[np.int64]]] = field(default_factory=list)

    def add(self, class_: NDArray[Any], codes: Sequence[NDArray[Any]]) -> None:
        """Count more rows: their classes, and their answers in every column."""
        columns = [class_, *codes]
        number, first = number_combinations(columns, [int(class_.max(initial=0)) + 1, *self.sizes])
        self._lots.append((np.stack([column[first] for column in columns]), np.bincount(number)))

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(sum(count.sum() for _, count in self._lots))

    def table(self, columns: Sequence[int], classes: int | None = None) -> Floats:
        """The counts of some columns together, after those of each class where asked."""
        shape = [*([] if classes is None else [classes]), *(self.sizes[i] for i in columns)]
        picked = [*([] if classes is None else [0]), *(1 + i for i in columns)]
        total = np.zeros(int(np.prod(shape)))
        for codes, count in self._lots:
            place = np.ravel_multi_index(tuple(codes[i] for i in picked), shape)
            total += np.bincount(place, weights=count, minlength=len(total))
        return total.reshape(shape)


def estimate_everybody(answers: Answers, counts: Floats) -> list[dict[str, Any]]:
    """The estimates of everybody, value by value."""
    estimated, error = _inverted(answers, counts)
    return [
        {"value": label, "answers": int(n), "estimate": float(e), "standard_error": float(s)}
        for label, n, e, s in zip(answers.bins.labels, counts, estimated, error, strict=True)
    ]


def _inverted(answers: Answers, counts: Floats) -> tuple[Floats, Floats]:
    """Estimates of (…, values), and their standard errors as the answers themselves tell."""
    estimated = answers.response.estimated(counts)
    total = counts.sum(axis=-1, keepdims=True)
    return estimated, answers.response.deviation(np.clip(estimated, 0, total))


@dataclass(frozen=True)
class Estimates:
    """Of each group of classes: answers, estimates and standard errors, (groups, values)."""

    column: str
    by: tuple[str, ...]
    groups: tuple[tuple[str | None, ...], ...]
    values: tuple[str, ...]
    """An empty one: the empty cell."""
    answers: NDArray[np.int64]
    estimated: Floats
    error: Floats

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        figures = {name: getattr(self, name).tolist() for name in ("answers", "estimated", "error")}
        about = {name: getattr(self, name) for name in ("column", "by", "groups", "values")}
        return {"edition": EDITION, **to_json_value(about), **figures}

    def __str__(self) -> str:
        lines = []
        for group, counts, *both in zip(
            self.groups, self.answers, self.estimated, self.error, strict=True
        ):
            labels = ", ".join(f"{n} {g or '(empty)'}" for n, g in zip(self.by, group, strict=True))
            lines.append(f"{labels or 'everybody'}: {counts.sum():,} people")
            lines += [
                f"  {value or '(empty)':<32} {estimate:12,.1f} ± {error:,.1f}"
                for value, estimate, error in zip(self.values, *both, strict=True)
            ]
        return "\n".join(lines)


def estimates(source: Any, column: str | None = None, *, by: Sequence[str] = ()) -> Estimates:
    """How many people have each value of a column, by a randomised release alone.

    ``by`` are quasi-identifiers whose published labels make groups; without it, everybody.
    """
    release = find_release(source)
    answers = {} if release is None else read_answers(release[1])
    if release is None or not answers:
        raise UsageError(
            "Only a randomised release has answers to estimate from.",
            "publish one: --form randomised --epsilon 1.",
        )
    name, table, by = (
        _named(column, answers),
        release[0],
        (by,) if isinstance(by, str) else tuple(by),
    )
    schema = parse_released_schema(release[1])
    if unknown := [label for label in by if label not in {c.name for c in schema.quasi}]:
        raise UsageError(
            f"The release has no quasi-identifier {unknown[0]!r}.", "name one that it publishes."
        )
    with open_labels(table, schema, exact=True) as frame:
        rows = read_columns(frame, [*by, name])
    codes = answers[name].bins.read(rows[name].words())[rows[name].codes]
    if (codes < 0).any():
        raise InputError("The table has values that could not be answered.", "verify it first.")
    group, first = _grouped([rows[label].codes for label in by], [len(rows[n].values) for n in by])
    size = answers[name].bins.size
    counts = np.bincount((group if by else 0) * size + codes, minlength=len(first) * size)
    counts = counts.reshape(-1, size)
    words = [[rows[label].words()[c] for c in rows[label].codes[first]] for label in by]
    groups = tuple(zip(*words, strict=True)) if by else ((),)
    inverted = _inverted(answers[name], counts.astype(np.float64))
    return Estimates(name, by, groups, answers[name].bins.labels, counts, *inverted)


def _grouped(
    codes: Sequence[NDArray[Any]], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not codes:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    number, first = number_combinations(codes, sizes)
    return number.astype(np.int64), first


def _named(column: str | None, answers: dict[str, Answers]) -> str:
    if column is None and len(answers) == 1:
        return next(iter(answers))
    if column not in answers:
        raise UsageError(
            f"Answers were drawn for: {join_column_names(answers)}.",
            f"name one: column={next(iter(answers))!r}.",
        )
    return column
