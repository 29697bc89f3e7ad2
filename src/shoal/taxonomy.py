"""Taxonomies as rows, leaf first and root last: checked, ordered, read from ARX's CSV and mappings.

    Bachelors;Undergraduate;Higher education;*
    11th;High School;Secondary education;*

Messages name lines and counts, never a label.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.axis import Axis
from shoal.errors import HierarchyError
from shoal.labels import ROOT, text

_NUMBER = re.compile(r"-?\d+(\.\d+)?")

Rows = tuple[tuple[str, ...], ...]


def read_csv(content: str) -> Rows:
    """The rows of ARX's CSV: separated by ``;`` or ``,``, no header; blank lines are skipped."""
    content = content.removeprefix("\ufeff")
    rows, lines = _split(content, ";")
    if rows and len(rows[0]) == 1:
        rows, lines = _split(content, ",")
    check(rows, lines)
    return tuple(rows)


def _split(content: str, delimiter: str) -> tuple[list[tuple[str, ...]], list[int]]:
    """The rows and their line numbers."""
    reader = csv.reader(io.StringIO(content), delimiter=delimiter)
    rows, lines = [], []
    try:
        for row in reader:
            if row:
                rows.append(tuple(row))
                lines.append(reader.line_num)
    except csv.Error:
        fact = f"Line {reader.line_num} of the hierarchy is not CSV."
        raise HierarchyError(fact, "Check its quotes and its longest cell.") from None
    return rows, lines


def write_csv(axis: Axis) -> str:
    """The leaves of an axis with the nodes above them as ARX's CSV, separated by ``;``."""
    columns = [[text(leaf) for leaf in axis.leaves]]
    for level in axis.levels:
        sizes = np.diff(np.append(level.starts, len(axis.leaves)))
        columns.append(np.repeat(np.array(level.labels, dtype=object), sizes).tolist())
    out = io.StringIO()
    rows = ((*row, axis.root) for row in zip(*columns, strict=True))
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
    return out.getvalue()


def from_mapping(mapping: Mapping[Any, Any]) -> Rows:
    """The rows of a nested mapping from groups to groups or leaves; short branches are padded.

    >>> from_mapping({"Europe": ["Italy", "France"], "Asia": {"East": ["Japan"]}})[0]
    ('Italy', 'Italy', 'Europe', '*')
    """
    paths = list(_paths(mapping, (ROOT,)))
    longest = max((len(path) for path in paths), default=0)
    # a short branch repeats its leaf, so that its group stays on the level of its siblings
    return tuple((path[0],) * (longest - len(path)) + path for path in paths)


def _paths(node: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(node, Mapping):
        for group, inner in node.items():
            yield from _paths(inner, (text(group), *above))
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for leaf in node:
            yield from _paths(leaf, above)
    else:
        yield (text(node), *above)


def check(rows: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
    """Raise HierarchyError unless the rows are one tree; `lines` are their line numbers."""
    if not rows:
        raise HierarchyError("The hierarchy is empty.", "One row for each value, leaf first.")
    height = len(rows[0])
    ragged = [line for row, line in zip(rows, lines, strict=True) if len(row) != height]
    _refuse(ragged, f"differ from the first row's {height} cells", "All rows need the same length.")
    if height < 2:
        raise HierarchyError("The hierarchy has one level only.", "End each row with its root: *")
    empty = [line for row, line in zip(rows, lines, strict=True) if "" in row[1:]]
    _refuse(empty, "have a group without a label", "Every level above the leaf needs a label.")
    _check_parents(rows, lines, height)
    _check_cycle(rows)
    _check_labels(rows, height)


def _check_parents(rows: Sequence[Sequence[str]], lines: Sequence[int], height: int) -> None:
    parent: list[dict[str, str]] = [{} for _ in range(height)]
    wrong: list[list[int]] = [[] for _ in range(height)]
    for row, line in zip(rows, lines, strict=True):
        for depth in range(height - 1):
            if parent[depth].setdefault(row[depth], row[depth + 1]) != row[depth + 1]:
                wrong[depth].append(line)
        if parent[-1].setdefault("", row[-1]) != row[-1]:
            wrong[-1].append(line)
    _refuse(wrong[-1], "end in a second root", "The last cell is the same in all rows: *")
    _refuse(wrong[0], "repeat a leaf under another parent", "Each value has one row.")
    for depth in range(1, height - 1):
        fact = f"put a group of level {depth} under a second parent"
        _refuse(wrong[depth], fact, "Give groups with different parents different labels.")


def _check_cycle(rows: Sequence[Sequence[str]]) -> None:
    above: dict[str, set[str]] = {}
    for row in rows:
        for child, parent in pairwise(row):
            if child != parent:  # a label repeated upwards pads a short branch
                above.setdefault(child, set()).add(parent)
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        count = len(error.args[1]) - 1
        raise HierarchyError(
            f"The hierarchy has a cycle through {count} groups.",
            "A group cannot be inside one of its own members: rename one of them.",
        ) from None


def _check_labels(rows: Sequence[Sequence[str]], height: int) -> None:
    """A label that stands for two different groups, or for a leaf elsewhere, would mislead."""
    leaves: list[dict[str, set[str]]] = [{} for _ in range(height - 2)]
    for row in rows:
        for group, label in zip(leaves, row[1:-1], strict=True):
            group.setdefault(label, set()).add(row[0])
    values = {row[0] for row in rows}
    seen: dict[str, set[str]] = {rows[0][-1]: {row[0] for row in rows}}
    seen.setdefault(ROOT, seen[rows[0][-1]])
    twice = 0
    for level in leaves:
        for label, members in level.items():
            if len(members) > 1:
                twice += seen.setdefault(label, members) != members
                twice += label in values and label not in members
    if twice:
        raise HierarchyError(
            f"{twice} labels of the hierarchy stand for several groups, or for a value elsewhere.",
            "Give each group a label of its own.",
        )


def _refuse(lines: Sequence[int], fact: str, hint: str) -> None:
    if lines:
        shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
        raise HierarchyError(f"{len(lines)} rows of the hierarchy (line {shown}) {fact}.", hint)


def in_order(rows: Rows) -> Rows:
    """The rows in tree order, each leaf once: groups and leaves as they first appear.

    Leaves are sorted as numbers inside a group where all are numbers.

    >>> in_order((("9", "x", "*"), ("a", "y", "*"), ("10", "x", "*"), ("8", "x", "*")))
    (('8', 'x', '*'), ('9', 'x', '*'), ('10', 'x', '*'), ('a', 'y', '*'))
    """
    rows = tuple(dict.fromkeys(rows))
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row[1], []).append(row[0])
    place = [
        {label: i for i, label in enumerate(dict.fromkeys(column))}
        for column in zip(*rows, strict=True)
    ]
    place[0] = {leaf: i for group in groups.values() for i, leaf in enumerate(by_value(group))}
    return tuple(
        sorted(rows, key=lambda row: tuple(p[c] for p, c in zip(place, row, strict=True))[::-1])
    )


def by_value(texts: Sequence[str]) -> list[str]:
    """The texts sorted as numbers where all are numbers; otherwise as they stand."""
    if all(_NUMBER.fullmatch(t) for t in texts):
        return sorted(texts, key=lambda t: (float(t), t))
    return list(texts)
