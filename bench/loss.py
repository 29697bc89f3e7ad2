"""Loss on the peers' own setting: Adult's 30,162 complete training rows, eight columns.

NCP of a cell is width / range for numbers, and for categories leaves / domain, 0 for a single leaf:
the convention the peers' numbers were measured by (anonypy's .084 and .203 come out again with it),
so the only one they may be held against. The other in use, (leaves - 1) / (domain - 1), is shoal's
``loss``; it is smaller for the same classes and is printed without a limit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bench.data import QUASI, adult_codes, source
from bench.measure import Line
from shoal import Schema
from shoal import open as open_frame
from shoal.core.axis import Axis
from shoal.core.tally import Cut, Tally
from shoal.measures.loss import loss
from shoal.methods.mondrian import mondrian
from shoal.models import rule
from shoal.releases.tallying import encode

BEST = {5: 0.040, 10: 0.066, 50: 0.159}
"""NCP of the best of the peers (mosaicrown's Mondrian) by k."""


def run() -> Iterator[Line]:
    """Ours against the best of the peers, in both conventions."""
    tally = _tally()
    real = source() == "Adult"
    note = "" if real else " (stand-in: not comparable)"
    for k, best in BEST.items():
        cut = mondrian(tally, rule(f"k-anonymity k={k}"))
        value = ncp(tally, cut)
        told = f"{value:.4f} : {best:.3f}"
        yield Line(f"NCP k={k}, leaves / domain{note}", told, value / best, 1 if real else None)
        yield Line(f"NCP k={k}, (leaves - 1) / (domain - 1)", f"{loss(tally, cut):.4f}")


def _tally() -> Tally:
    """Adult as a user has it, with the hierarchies shoal chooses when nobody says otherwise."""
    table = adult_codes("train")
    names = (*QUASI, "income")
    arrays = {n: pa.array(table.values[n]).take(pa.array(table.codes[n])) for n in names}
    frame = open_frame(pa.table(arrays))
    return encode(frame, Schema.of(quasi=QUASI, sensitive="income").fit(frame.fields)).tally


def ncp(tally: Tally, cut: Cut) -> float:
    """Mean over rows and columns, categories by leaves / domain; a row held back counts 1."""
    kept = cut.class_ >= 0
    rows = np.bincount(cut.class_[kept], weights=cut.count[kept], minlength=cut.classes)
    widths = [_width(axis, j, cut) for j, axis in enumerate(tally.quasi)]
    lost = float(rows @ np.mean(widths, axis=0)) + cut.suppressed
    return lost / tally.rows


def _width(axis: Axis, column: int, cut: Cut) -> np.ndarray:
    if column not in cut.cells.sets:
        return axis.width(cut.cells.low[:, column], cut.cells.high[:, column])
    leaves = np.bitwise_count(cut.cells.sets[column]).sum(axis=1)
    return np.where(leaves == 1, 0.0, leaves / axis.size)
