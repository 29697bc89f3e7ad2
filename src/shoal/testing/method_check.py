"""The check of a method: what it makes of small tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.errors import NotMetError
from shoal.core.model import Mask, Model, list_joint_columns
from shoal.core.tally import Cut, Groups, Tally
from shoal.models.k_anonymity import KAnonymity
from shoal.testing.promises import check_documented, check_equal, check_true, list_needed_columns
from shoal.testing.random_tables import double_people, sample, shuffle_entries


def check_method(
    method: Callable[..., Cut],
    model: Model | None = None,
    *,
    seeds: Sequence[int] = range(3),
    promises: bool = True,
    **parameters: Any,
) -> None:
    """A method's cut places everybody, meets the model, and depends on the tally's content only.

    What the method tells of its progress never goes back, and ends where all is done.
    ``promises``: whether the method says so itself; else nobody is told that it meets the model.
    """
    model = model or KAnonymity(3)
    promised = model if promises else None
    check_documented(method)
    for seed in seeds:
        tally, before = sample(seed, list_needed_columns(model))
        cut = _run_method(method, tally, model, parameters)
        _check_cut(promised, tally, cut)
        other, _ = shuffle_entries(tally, before, np.random.default_rng(seed))
        again = _run_method(method, other, model, parameters)
        check_true(
            _list_content(other, again) == _list_content(tally, cut), "the order of entries matters"
        )
        double, _ = double_people(tally, before)
        _check_cut(promised, double, _run_method(method, double, model, parameters))
        if not promises:
            continue
        try:
            cut = _run_method(method, tally, KAnonymity(tally.rows + 1), parameters)
        except NotMetError:
            continue
        check_true(cut.suppressed == tally.rows, "a rule that cannot be met is not refused")


def _run_method(method: Callable[..., Cut], tally: Tally, model: Model, parameters: Any) -> Cut:
    reported: list[tuple[int, int]] = []
    arguments = {"rng": np.random.default_rng(0), "progress": lambda *now: reported.append(now)}
    cut = method(tally, model, **arguments, **parameters)
    _check_progress(reported)
    return cut


def _check_progress(reported: Sequence[tuple[int, int]]) -> None:
    shares = [Fraction(done, total) for done, total in reported]
    check_true(
        all(0 <= share <= 1 for share in shares), "progress is more than all, or less than nothing"
    )
    check_true(shares == sorted(shares), "progress goes back")
    check_true(not reported or shares[-1] == 1, "progress ends before all is done")


def _check_cut(model: Model | None, tally: Tally, cut: Cut) -> None:
    total = np.bincount(cut.entry, weights=cut.count, minlength=tally.entries)
    check_equal(total, tally.count, "the pieces of an entry do not add up to its count")
    check_true((cut.count > 0).all(), "a piece without people")
    check_true(cut.class_.max(initial=-1) < cut.classes, "a piece in a class that does not exist")
    groups = Groups.of(tally, cut, list_joint_columns(model) if model else ())
    check_true((groups.rows > 0).all(), "a class without people")
    check_true(not model or model.holds(groups).all(), f"a published class does not meet {model}")
    check_true(len(cut.cells.unique()[0]) == cut.classes, "two classes publish the same cells")
    published = cut.class_ >= 0
    entry, class_ = cut.entry[published], cut.class_[published]
    for j, codes in enumerate(tally.keys):
        check_true(
            _lies_inside(cut.cells, j, class_, codes[entry]).all(),
            "a cell misses one of its people",
        )


def _lies_inside(cells: Cells, column: int, class_: NDArray[Any], code: NDArray[Any]) -> Mask:
    if column in cells.sets:
        words = cells.sets[column][class_, code // 64]
        return np.asarray((words >> (code % 64).astype(np.uint64)) & np.uint64(1) == 1)
    low, high = cells.low[class_, column], cells.high[class_, column]
    return np.asarray((low <= code) & (code <= high))


def _list_content(tally: Tally, cut: Cut) -> list[tuple[Any, ...]]:
    """The cut without any numbering: each piece by its codes and its class's cells."""
    cells = [np.column_stack((cut.cells.low, cut.cells.high)).astype(np.int64)]
    cells += [bits.view(np.int64) for _, bits in sorted(cut.cells.sets.items())]
    each = np.concatenate(cells, axis=1)
    cell = np.vstack((each, np.full((1, each.shape[1]), -1)))[cut.class_]  # the last: held back
    codes = np.concatenate([tally.keys, tally.values]).T[cut.entry]
    return sorted(map(tuple, np.column_stack((codes, cut.count, cell)).tolist()))
