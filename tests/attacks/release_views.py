"""Views of two releases, made by hand from rows of labels or from random codes."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.hierarchy import ordered, prefixes
from shoal.core.theory.adversary_view import ReleaseView, View

GOLDEN = Path(__file__).parent.parent / "golden"


def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def category(name, *leaves):
    return ordered().grow(name, "category", leaves)


ZIP = prefixes().grow("ZIP", "code", ["02138", "02139", "02141", "02142"])
FIG3 = (category("Race", "Asian", "Black", "White"), ZIP)
FIG4 = (
    category("Race", "black", "white"),
    ordered().grow("BirthDate", "number", [float(year) for year in range(1960, 1970)]),
    category("Gender", "female", "male"),
    ZIP,
)
WORDS = {
    "Person": "*",
    "person": "*",
    "human": "*",
    "1960-69": "[1960-1969]",
    "02130": "0213*",
    "02140": "0214*",
}
"""The papers' labels that need their hierarchy to be understood, as Shoal writes them."""


def release(name, axes, rows, shared=()):
    """Rows of labels as a release; ``shared`` are (column, values in the order of codes)."""
    labels = [tuple(WORDS.get(row[a.name], row[a.name]) for a in axes) for row in rows]
    classes = sorted(set(labels))
    ends = [axis.parse([one[j] for one in classes]) for j, axis in enumerate(axes)]
    assert all(read.all() for *_, read in ends)
    low, high = (np.stack([end[i] for end in ends], axis=1) for i in (0, 1))
    class_ = np.array([classes.index(one) for one in labels], np.int32)
    codes = [[values.index(row[column]) for row in rows] for column, values in shared]
    codes = np.array(codes, np.int32).reshape(-1, len(rows))
    return ReleaseView(name, Cells(low, high), class_, codes[0] if shared else None, codes)


def joined(axes, tables, sensitive=None, **more):
    """A view of releases that share the sensitive column, where there is one."""
    if sensitive is None:
        made = (release(name, axes, rows) for name, rows in tables.items())
        return View(axes, tuple(made), **more)
    values = sorted({row[sensitive] for rows in tables.values() for row in rows})
    shared = [(sensitive, values)]
    made = (release(name, axes, rows, shared) for name, rows in tables.items())
    axis = Axis(sensitive, "category", "flat", tuple(values))
    return View(axes, tuple(made), axis, (sensitive,), **more)


def cut(name, spread, keys, size, values, order):
    """Points (columns, rows) generalised so far to either side, the second column as sets,
    reordered.
    """
    low, high = np.maximum(keys - spread[0], 0), np.minimum(keys + spread[1], size - 1)
    bits = np.zeros(keys.shape[1], np.uint64)
    for code in range(size):
        inside = (low[1] <= code) & (code <= high[1]) | (keys[1] == code)
        bits |= inside.astype(np.uint64) << np.uint64(code)
    cells = Cells(low.T.astype(np.int32), high.T.astype(np.int32), {1: bits[:, None]})
    first, class_ = cells.unique()
    shared = values[None, order].astype(np.int32)
    return ReleaseView(name, cells.take(first), class_[order].astype(np.int32), shared[0], shared)


def random_view(rng, rows, size=5, values=3, added=0, removed=0, shuffle=True, alike=1):
    """Two releases of one random table, each in its own order unless they are not shuffled; the
    second without the first ``removed`` and only it with the last ``added`` people. So many rows
    after each other are ``alike`` in the first release.
    """
    axes = (
        ordered().grow("a", "number", [float(i) for i in range(size)]),
        Axis("b", "category", "flat", tuple("vwxyz"[:size])),
    )
    everybody = rows + added
    keys, value = rng.integers(0, size, (2, everybody)), rng.integers(0, values, everybody)
    spreads = rng.integers(0, 3, (2, 2, 2, everybody))
    first = np.arange(everybody) // alike * alike
    keys, value, spreads[0] = keys[:, first], value[first], spreads[0][..., first]
    orders = np.arange(rows), np.arange(removed, everybody)
    orders = [rng.permutation(order) for order in orders] if shuffle else orders
    made = [cut(f"r{i}", spreads[i - 1], keys, size, value, one) for i, one in enumerate(orders, 1)]
    return View(axes, tuple(made), shared=("value",))


def meets(view):
    """For each pair of rows that can be one person, the linked cell; by plain sets of leaves."""
    found = {}
    sides = [[leaves(one, row) for row in range(len(one.class_))] for one in view.releases]
    for (i, mine), (j, theirs) in itertools.product(*map(enumerate, sides)):
        cell = tuple(a & b for a, b in zip(mine[0], theirs[0], strict=True))
        if all(cell) and mine[1] == theirs[1]:
            found[i, j] = cell
    return found


def leaves(published, row):
    cells, class_ = published.cells, published.class_[row]
    cell = []
    for j in range(cells.low.shape[1]):
        if j in cells.sets:
            word = int(cells.sets[j][class_, 0])
            cell.append(frozenset(i for i in range(64) if word >> i & 1))
        else:
            cell.append(frozenset(range(cells.low[class_, j], cells.high[class_, j] + 1)))
    return cell, tuple(published.shared[:, row])


def assignments(view):
    """Every largest assignment of rows to rows, as dictionaries."""
    options = {i: [] for i in range(len(view.releases[0].class_))}
    for i, j in meets(view):
        options[i].append(j)
    found = list(_assigned(list(options.items()), set()))
    most = max(map(len, found))
    return [one for one in found if len(one) == most]


def _assigned(options, taken):
    if not options:
        yield {}
        return
    (row, partners), *rest = options
    for partner in (*partners, None):
        if partner not in taken:
            more = taken | {partner} - {None}
            for one in _assigned(rest, more):
                yield one if partner is None else {row: partner, **one}
