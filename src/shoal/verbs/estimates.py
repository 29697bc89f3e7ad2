"""Estimates: how many people have each value, from answers that may have been exchanged.

With n answers of which c are y, and chances p of a true answer and q of any other one,

    estimate = (c − n q) / (p − q)

is the number of people with value y, but for chance: it is right on average (Warner 1965; Wang,
Blocki, Li, Jha 2017). Two times in three it is off by less than its standard error. Estimates of
few people are mostly noise, and may be below 0 or above all of them. They say nothing about any
one person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Estimates:
    """What a randomised release says of a column, group by group.

    Parameters
    ----------
    column
        The sensitive column.
    by
        The quasi-identifiers that make the groups.
    groups
        The labels of each group, one for each of ``by``; None: the cell is empty.
    values
        The values of the column; an empty text is the empty cell.
    answers, estimated, error
        How often each value was answered, how many people have it by the estimate, and the
        standard error of that: arrays of (groups, values).
    """

    column: str
    by: tuple[str, ...]
    groups: tuple[tuple[str | None, ...], ...]
    values: tuple[str, ...]
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

    Parameters
    ----------
    source
        The release: its folder, or the ``Release`` that ``shoal.publish`` returned.
    column
        A sensitive column; may be left out where the release has one alone.
    by
        Quasi-identifiers whose published labels make groups; without any, everybody is one group.

    Returns
    -------
    Estimates
        For each group and value the answers, the estimate and its standard error.

    Raises
    ------
    UsageError
        The release is not randomised, or has no such column.
    InputError
        The table has values that could not be answered.

    Examples
    --------
    >>> shoal.estimates("release", "disease", by=["sex"])  # doctest: +SKIP
    """
    release = find_release(source)
    answers = {} if release is None else read_answers(release[1])
    if release is None or not answers:
        raise UsageError(
            "Only a randomised release has answers to estimate from.",
            "publish one: --form randomised --epsilon 1.",
        )
    table, manifest = release
    name = _choose_column(column, answers)
    by = (by,) if isinstance(by, str) else tuple(by)
    schema = parse_released_schema(manifest)
    if unknown := [label for label in by if label not in {c.name for c in schema.quasi}]:
        raise UsageError(
            f"The release has no quasi-identifier {unknown[0]!r}.", "name one that it publishes."
        )
    with open_labels(table, schema, exact=True) as frame:
        rows = read_columns(frame, [*by, name])
    bins = answers[name].bins
    codes = bins.read(rows[name].words())[rows[name].codes]
    if (codes < 0).any():
        raise InputError("The table has values that could not be answered.", "verify it first.")
    group, first = _group_rows([rows[n].codes for n in by], [len(rows[n].values) for n in by])
    counts = np.bincount(group * bins.size + codes, minlength=len(first) * bins.size)
    counts = counts.reshape(-1, bins.size)
    words = [[rows[label].words()[c] for c in rows[label].codes[first]] for label in by]
    groups = tuple(zip(*words, strict=True)) if by else ((),)
    estimated, error = answers[name].estimate(counts.astype(np.float64))
    return Estimates(name, by, groups, bins.labels, counts, estimated, error)


def _group_rows(
    codes: Sequence[NDArray[Any]], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The group of each row (one number where all are one group), and each group's first row."""
    if not codes:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    number, first = number_combinations(codes, sizes)
    return number.astype(np.int64), first


def _choose_column(column: str | None, answers: dict[str, Answers]) -> str:
    if column is None and len(answers) == 1:
        return next(iter(answers))
    if column not in answers:
        raise UsageError(
            f"Answers were drawn for: {join_column_names(answers)}.",
            f"name one: column={next(iter(answers))!r}.",
        )
    return column
