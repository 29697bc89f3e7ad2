"""Audit: measure any table, whoever made it, as it stands."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.errors import UsageError
from shoal.flow.encode import encode
from shoal.flow.opening import opened, opened_labels, released, released_schema
from shoal.flow.recount import Recount, leaf, read_cells, recount
from shoal.flow.verify import population_of
from shoal.models import registry
from shoal.release import EDITION, json_object, jsonable, short
from shoal.risk import Assessment, assess
from shoal.schema import Schema
from shoal.tally import HELD_BACK, Cut, Groups, Tally
from shoal.utility import (
    average_class,
    discernibility,
    loss,
    marginals,
    non_uniform_entropy,
    suppressed,
)


@dataclass(frozen=True)
class Reached:
    """The strongest parameter of one model that every class meets."""

    model: str
    value: float
    on: str | None = None
    parameters: tuple[tuple[str, Any], ...] = ()
    """What else the figure depends on: the distance of t-closeness, the l of recursive."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        named = {"on": self.on} if self.on else {}
        whole = math.isfinite(self.value) and self.value == int(self.value)
        value = int(self.value) if whole else self.value
        return json_object({"model": self.model, **named, **dict(self.parameters), "value": value})


@dataclass(frozen=True)
class Audit:
    """Everything measured about one table."""

    rows: int
    classes: int
    measured: tuple[Reached, ...]
    risk: Assessment
    utility: dict[str, Any]

    def reached(self, model: str, on: str | None = None, **parameters: Any) -> float:
        """What the table reaches for a model, by its name (and column, and other parameters)."""
        for one in self.measured:
            same = all(dict(one.parameters).get(k) == v for k, v in parameters.items())
            if one.model == model and on in (None, one.on) and same:
                return one.value
        known = sorted({one.model for one in self.measured})
        raise UsageError(f"{model!r} was not measured.", f"measured are: {', '.join(known)}.")

    def to_json(self) -> dict[str, Any]:
        """The audit as JSON; edition 1."""
        return {
            "edition": EDITION,
            "rows": self.rows,
            "classes": self.classes,
            "reached": [one.to_json() for one in self.measured],
            "risk": jsonable(self.risk.to_dict()),
            "utility": jsonable(self.utility),
        }

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows in {self.classes:,} classes"]
        for one in self.measured:
            extra = "".join(f" {k}={v}" for k, v in one.parameters)
            on = f" on {one.on}" if one.on else ""
            lines.append(f"  {one.model + extra + on:<52} {short(one.value)}")
        risk = self.risk
        lines.append(
            f"  risk: highest {risk.prosecutor:.3g}, mean {risk.marketer:.3g}, "
            f"{risk.uniques:,} people unique ({risk.unique_share:.1%})"
        )
        lines += [
            f"  {name:<52} {short(value)}"
            for name, value in self.utility.items()
            if isinstance(value, (int, float))
        ]
        return "\n".join(lines)

    __repr__ = __str__


def audit(
    source: Any,
    schema: Schema | None = None,
    *,
    original: Any = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    **reading: Any,
) -> Audit:
    """Measure a table: every model, the risk of re-identification, and utility.

    With the ``original`` table the loss and the distance of marginals are measured too, with a
    ``population`` the journalist's risk, with a ``sampling_fraction`` population uniqueness.
    """
    release = released(source)
    if release is not None:
        source, schema = release[0], schema or released_schema(release[1])
    if schema is None:
        raise UsageError("An audit needs the columns' roles.", "add -s schema.toml or --quasi COL.")
    with opened_labels(source, schema, exact=release is not None, **reading) as frame:
        count = recount(frame, schema)
    if population is not None:
        count = population_of(count, schema, population)
    groups = Groups.of(count.tally, count.cut)
    return Audit(
        int(groups.rows.sum()),
        len(groups),
        tuple(_reached(groups)),
        assess(groups.rows, groups.population, sampling_fraction),
        _utility(count, groups, schema, original),
    )


def _reached(groups: Groups) -> Iterable[Reached]:
    """Each model of the room on each sensitive column it can be asked about."""
    for name, model in registry().items():
        if "population" in model.needs and groups.population is None:
            continue
        named = any(field.name == "on" for field in dataclasses.fields(model))
        axes: list[Axis | None] = [h.axis for h in groups.sensitive] if named else [None]
        for axis in axes:
            for variant, probe in model.probes(axis):
                value, on = float(probe.reached(groups)), axis.name if axis else None
                yield Reached(name, value, on, tuple(variant.items()))


def _utility(count: Recount, groups: Groups, schema: Schema, original: Any) -> dict[str, Any]:
    """What is known without the original, and with it what was lost."""
    rows, classes = int(groups.rows.sum()), len(groups)
    found: dict[str, Any] = {
        "average_class_size": rows / classes,
        "discernibility": discernibility.raw(count.tally, count.cut),
    }
    if original is None:
        return found
    wanted = dataclasses.replace(schema, columns=(*schema.quasi, *schema.sensitive))
    with opened(original, kinds=wanted.kinds) as frame:
        fields = [field for field in frame.fields if field.name in wanted.names]
        tally = encode(frame, wanted.fit(fields)).tally
    both, cut = beside(tally, count)
    lost = loss.loss(both, cut)
    pooled = transported(tally, cut)
    return found | {
        "loss": lost,
        "granularity": 1 - lost,
        "discernibility": discernibility.raw(both, cut),
        "average_class": average_class.average_class(both, cut),
        "non_uniform_entropy": non_uniform_entropy.non_uniform_entropy(tally, pooled),
        "rows_suppressed": suppressed.raw(both, cut),
        "marginals": marginals.raw(both, cut).to_dict(),
    }


def beside(original: Tally, count: Recount) -> tuple[Tally, Cut]:
    """The original's tally with the published entries beside it, and a cut of these.

    Nobody knows which published row was which original one, so the published entries count
    nobody in the tally; the cut counts them. Rows missing from the release are held back.
    """
    cells = read_cells(count, original.quasi)
    tally = dataclasses.replace(
        original,
        providers=None,
        provider=None,
        keys=np.concatenate((original.keys, cells.low[count.cut.class_].T), axis=1),
        values=np.concatenate((original.values, _values(original, count.tally)), axis=1),
        count=np.concatenate((original.count, np.zeros(count.tally.entries, np.int64))),
    )
    missing = max(0, original.rows - count.tally.rows)
    cut = Cut(
        np.append(count.cut.entry + original.entries, 0).astype(np.int32),
        np.append(count.cut.class_, HELD_BACK).astype(np.int32),
        np.append(count.cut.count, missing),
        cells,
    )
    return tally, cut


def _values(original: Tally, published: Tally) -> NDArray[np.int32]:
    """The published entries' sensitive values as the original's codes."""
    columns = dict(zip((axis.name for axis in published.sensitive), published.values, strict=True))
    known = {axis.name: axis for axis in published.sensitive}
    out = np.zeros((len(original.sensitive), published.entries), dtype=np.int32)
    for row, axis in zip(out, original.sensitive, strict=True):
        old = known[axis.name]
        row[:] = axis.codes([leaf(old, code) for code in range(old.size)])[columns[axis.name]]
    return out


def transported(original: Tally, cut: Cut) -> Cut:
    """A cut of the original's own entries into as many rows of each class as the cut has.

    Which entry goes where is arbitrary: for measures that add up one term of the entry and one
    of the class, such as entropy, only the totals matter.
    """
    entries, classes = np.cumsum(original.count), np.cumsum(cut.count)
    edges = np.unique(np.concatenate(([0], entries, classes)))
    edges = edges[edges <= min(entries[-1], classes[-1])]
    entry = np.searchsorted(entries, edges[:-1], side="right").astype(np.int32)
    class_ = cut.class_[np.searchsorted(classes, edges[:-1], side="right")]
    return Cut(entry, class_, np.diff(edges), cut.cells)
