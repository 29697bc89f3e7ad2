"""Verify a release of noise: read its file again, and account for what it says it spends.

What noise was drawn cannot be seen in a file: that a release is differentially private is known by
how it was made. What can be seen is that the file is complete and the one the manifest was written
for, that it holds nothing beside noisy counts of the schema's own cells (or people made of them),
that the estimates are those that follow from the counts, and that noise of the stated scale, on so
many marginals, spends no more than is stated, by OpenDP's own map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import InputError, NotMetError
from shoal.core.labels import restore_cell
from shoal.core.release import Judgement, Verdict
from shoal.dp.bins import build_all_bins
from shoal.dp.consistency import make_consistent
from shoal.engines.protocol import Frame
from shoal.releases.forms._noise.accounted_spend import read_steps, total_spend
from shoal.releases.forms._noise.manifest import (
    AGAIN,
    check_description,
    name_promise,
    names_random_source,
    read_spend,
)
from shoal.releases.forms._noise.measured import Tables
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
from shoal.releases.forms.counts import COUNT, DIGITS, ESTIMATE, MARGINAL
from shoal.releases.manifest import hash_file, publishes_counts
from shoal.releases.reader import open_frame, parse_released_schema
from shoal.releases.row_listing import Listing, read_columns


def verify_noisy(source: Path, manifest: Mapping[str, Any]) -> Verdict:
    """The verdict on a release of counts or of made-up people: its table, and its manifest."""
    if hash_file(source) != manifest.get("sha256"):
        raise InputError(
            f"{source.name} was changed after it was published, or its manifest was.", AGAIN
        )
    verdict = recount_noise(source, manifest)
    check_releasable(manifest)
    return verdict


def check_releasable(manifest: Mapping[str, Any]) -> None:
    """Refuse a release of noise, of whatever form, whose noise is not everybody's secret."""
    privacy = manifest.get("privacy")
    source = privacy.get("randomness") if isinstance(privacy, Mapping) else None
    if manifest.get("releasable") is not True or not names_random_source(source, True):
        raise NotMetError(
            "The noise was drawn from a seed, by which it can be taken away again: the release is "
            "not to be released.",
            "publish it without --seed.",
        )


def recount_noise(table: Path, manifest: Mapping[str, Any]) -> Verdict:
    """The same for a file that was just written, whose noise may be a test's."""
    plan = _read_plan(manifest)
    check_description(manifest, plan)
    judgement, rows = judge_spend(manifest), _read_table(table, plan, manifest)
    if (rows, table.name) != (manifest.get("rows"), manifest.get("file")):
        raise InputError("The table has not the name or the rows that its manifest says.", AGAIN)
    return Verdict(judgement.holds, "by construction", rows, 0, (judgement,))


def judge_spend(manifest: Mapping[str, Any]) -> Judgement:
    """Whether noise of the stated scales spends no more than is stated."""
    steps, spend = read_steps(manifest), read_spend(manifest)
    reached = total_spend(steps, spend.delta)
    holds = reached.within(spend) and (reached.rho or 0) <= (spend.rho or 0)
    return Judgement(name_promise(spend), holds, float(reached.epsilon))


def _read_plan(manifest: Mapping[str, Any]) -> MarginalPlan:
    schema = parse_released_schema(dict(manifest))
    if {column.name: column.role for column in schema.columns} != manifest["columns"]:
        raise InputError("The manifest names columns that its schema does not have.", AGAIN)
    return MarginalPlan(schema, build_all_bins(schema))


def _read_table(table: Path, plan: MarginalPlan, manifest: Mapping[str, Any]) -> int:
    """Read the table and check every cell of it; returns how many rows it has."""
    counts = publishes_counts(manifest)
    own = [MARGINAL, *plan.names, COUNT, ESTIMATE] if counts else list(plan.names)
    with open_frame(table, kinds=dict.fromkeys(own, "label"), nulls=()) as frame:
        if sorted(field.name for field in frame.fields) != sorted(own):
            raise InputError("The table has not the columns that its manifest says.", AGAIN)
        _check_defused(frame, own, manifest.get("defused_cells"))
        if not counts:
            return _check_people(plan, frame)
        listings = read_columns(frame, own)
    _check_estimates(
        _read_tables(plan, manifest["marginals"], listings, COUNT),
        _read_tables(plan, manifest["marginals"], listings, ESTIMATE),
        plan,
    )
    return len(listings[COUNT].codes)


def read_published_counts(table: Path, plan: MarginalPlan, manifest: Mapping[str, Any]) -> Tables:
    """The noisy counts of a release of counts, whatever the order of its rows."""
    own = [MARGINAL, *plan.names, COUNT]
    with open_frame(table, kinds=dict.fromkeys(own, "label"), nulls=()) as frame:
        tables = _read_tables(plan, manifest["marginals"], read_columns(frame, own), COUNT)
    return {marginal: counts.astype(np.int64) for marginal, counts in tables.items()}


def _check_defused(frame: Frame, names: Sequence[str], stated: Any) -> None:
    """No more cells are said to be defused than look so: the number could be another one."""
    columns = frame.values(names).values()
    marked = sum(
        int(count)
        for column in columns
        for value, count in zip(column.values, column.counts, strict=True)
        if restore_cell(value) != value
    )
    if type(stated) is not int or not 0 <= stated <= marked:
        raise InputError("The table has not as many defused cells as its manifest says.", AGAIN)


def _check_people(plan: MarginalPlan, frame: Frame) -> int:
    """Every cell of made-up people is a label of the schema's; returns how many people."""
    rows = 0
    for bins, distinct in zip(plan.bins, frame.values(plan.names).values(), strict=True):
        labels = [*map(restore_cell, distinct.values), *([None] if distinct.nulls else [])]
        counts = np.append(distinct.counts, [distinct.nulls] if distinct.nulls else [])
        rows = int(counts.sum())
        if wrong := int(counts[bins.read(labels) < 0].sum()):
            raise InputError(
                f"{wrong:,} cells of column {bins.name!r} are no label of its domain.", AGAIN
            )
    return rows


def _read_tables(
    plan: MarginalPlan,
    stated: Sequence[Sequence[str]],
    listings: Mapping[str, Listing],
    column: str,
) -> dict[Columns, NDArray[np.float64]]:
    """The numbers of a column by marginal: every cell of every marginal is there once."""
    # The bin of each row; -1 where the cell is empty or names none.
    codes = {
        bins.name: bins.read(listings[bins.name].words())[listings[bins.name].codes]
        for bins in plan.bins
    }
    numbers = _read_numbers(listings[column])
    if column == COUNT and not np.array_equal(numbers, np.rint(numbers)):
        raise InputError("Counts are not whole numbers.", AGAIN)
    names = np.array(listings[MARGINAL].words(), dtype=object)[listings[MARGINAL].codes]
    tables, used = {}, 0
    for marginal in plan.marginals(tuple(tuple(marginal) for marginal in stated)):
        rows = np.flatnonzero(names == plan.name(marginal))
        order = _order_cells(plan, marginal, rows, codes, listings)
        used += len(rows)
        tables[marginal] = numbers[order].reshape(plan.shape(marginal))
    if used < len(names):
        raise InputError(f"{len(names) - used:,} rows are of no marginal of the manifest.", AGAIN)
    return tables


def _order_cells(
    plan: MarginalPlan,
    marginal: Columns,
    rows: NDArray[Any],
    codes: Mapping[str, NDArray[np.int32]],
    listings: Mapping[str, Listing],
) -> NDArray[Any]:
    """The rows of a marginal in the order of its cells, each of which has one."""
    shape, own = plan.shape(marginal), [plan.names[column] for column in marginal]
    places = [codes[name][rows] for name in own]
    empty = [_is_empty(listings[name])[rows] for name in plan.names if name not in own]
    whole = len(rows) == int(np.prod(shape)) and all((place >= 0).all() for place in places)
    if whole and all(cells.all() for cells in empty):
        cell = np.ravel_multi_index(places, shape)
        if len(np.unique(cell)) == len(cell):
            return np.asarray(rows[np.argsort(cell)])
    raise InputError(
        f"The marginal {plan.name(marginal)} has not every cell of its domain once.", AGAIN
    )


def _is_empty(column: Listing) -> NDArray[np.bool_]:
    return np.array([value is None for value in column.values], np.bool_)[column.codes]


def _read_numbers(column: Listing) -> NDArray[np.float64]:
    try:
        read = [float(word if word is not None else "") for word in column.words()]
    except ValueError:
        raise InputError("A count or an estimate is no number.", AGAIN) from None
    return np.array(read, np.float64)[column.codes]


def _check_estimates(
    counts: Mapping[Columns, NDArray[np.float64]],
    stated: Mapping[Columns, NDArray[np.float64]],
    plan: MarginalPlan,
) -> None:
    """The estimates are the consistent ones that follow from the counts, but for rounding."""
    right = make_consistent(counts, plan.sizes)
    near = [np.abs(right[marginal] - stated[marginal]).max() for marginal in counts]
    if not max(near) <= 10.0**-DIGITS:
        raise InputError("The estimates are not those that follow from the counts.", AGAIN)
