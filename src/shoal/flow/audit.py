"""Audit: measure any table, whoever made it, as it stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.axis import Axis
from shoal.errors import UsageError
from shoal.flow.encode import encode
from shoal.flow.recount import Recount, leaf, read_cells, recount
from shoal.flow.verify import open_published, population_of, published_schema, release_folder
from shoal.frames import open as open_frame
from shoal.models import registry
from shoal.release import EDITION, MANIFEST, json_object, jsonable, read_manifest, short
from shoal.risk import Assessment, assess
from shoal.schema import Schema
from shoal.tally import HELD_BACK, Cut, Groups, Tally
from shoal.utility import average_class, discernibility, loss, marginals, suppressed


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
        return json_object(
            {"model": self.model, **named, **dict(self.parameters), "value": self.value}
        )


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
    folder = release_folder(source)
    if folder is not None:
        manifest = read_manifest((folder / MANIFEST).read_text(encoding="utf-8"))
        schema, source = schema or published_schema(manifest), folder / str(manifest["file"])
    if schema is None:
        raise UsageError("An audit needs the columns' roles.", "add -s schema.toml or --quasi COL.")
    frame = open_published(source, schema, exact=folder is not None, **reading)
    count = recount(frame, schema)
    if population is not None:
        count = population_of(count, schema, population)
    groups = Groups.of(count.tally, count.cut)
    risk = assess(groups.rows, groups.population, sampling_fraction)
    return Audit(
        int(groups.rows.sum()),
        len(groups),
        tuple(_reached(groups)),
        risk,
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
    frame = open_frame(original, kinds=schema.kinds)
    wanted = dataclasses.replace(schema, columns=(*schema.quasi, *schema.sensitive))
    fields = [field for field in frame.fields if field.name in wanted.names]
    tally = encode(frame, wanted.fit(fields)).tally
    both, cut = beside(tally, count)
    return found | {
        "loss": loss.loss(both, cut),
        "granularity": 1 - loss.loss(both, cut),
        "discernibility": discernibility.raw(both, cut),
        "average_class": average_class.average_class(both, cut),
        "rows_suppressed": suppressed.raw(both, cut),
        "marginals": marginals.raw(both, cut).to_dict(),
    }


def beside(original: Tally, count: Recount) -> tuple[Tally, Cut]:
    """The original's tally with the published entries beside it, and a cut of these.

    Nobody knows which published row was which original one, so the published entries count
    nobody in the tally; the cut counts them. Rows missing from the release are held back.
    """
    cells = read_cells(count, original.quasi)
    entries = count.tally.entries
    values = (
        np.stack(
            [
                axis.codes([leaf(old, code) for code in range(old.size)])[codes]
                for axis, old, codes in zip(
                    original.sensitive, count.tally.sensitive, count.tally.values, strict=True
                )
            ]
        )
        if original.sensitive
        else np.zeros((0, entries), np.int32)
    )
    tally = dataclasses.replace(
        original,
        providers=None,
        provider=None,
        keys=np.concatenate((original.keys, cells.low[count.cut.class_].T), axis=1),
        values=np.concatenate((original.values, values.astype(np.int32)), axis=1),
        count=np.concatenate((original.count, np.zeros(entries, np.int64))),
    )
    missing = max(0, original.rows - int(count.cut.count.sum()))
    cut = Cut(
        np.append(count.cut.entry + original.entries, 0).astype(np.int32),
        np.append(count.cut.class_, HELD_BACK).astype(np.int32),
        np.append(count.cut.count, missing),
        cells,
    )
    return tally, cut
