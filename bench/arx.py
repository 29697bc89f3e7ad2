"""Adult as ARX is given it: 30,162 rows, nine columns, its own hierarchies; and larger, remixed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from bench.data import Codes, adult_codes, folder, mixed, parquet
from bench.measure import Unavailable
from shoal.core.tally import Cut, Tally
from shoal.measures._counting import count_published_rows
from shoal.releases.tallying import encode

NINE = (
    "sex",
    "age",
    "race",
    "marital_status",
    "education",
    "native_country",
    "workclass",
    "occupation",
    "income",
)
FILES = {"income": "salary_class"}
"""Columns that ARX calls otherwise."""


def file(column: str) -> Path:
    """Where ARX's hierarchy of a column lies."""
    where = folder()
    path = where and where / "hierarchies" / "adult" / f"{FILES.get(column, column)}.csv"
    if not path or not path.is_file():
        raise Unavailable("ARX's hierarchies of Adult are not there; set SHOAL_DATA")
    return path


def copied(target: Path) -> Path:
    """A folder of the hierarchies, each named after its column, as the command line wants them."""
    target.mkdir()
    for name in NINE:
        shutil.copy(file(name), target / f"{name}.csv")
    return target


@cache
def schema(quasi: Sequence[str] = NINE, sensitive: Sequence[str] = ()) -> shoal.Schema:
    """The columns' roles, with hierarchies."""
    tree = {n: shoal.from_arx_csv(file(n).read_text("utf-8")) for n in (*quasi, *sensitive)}
    roles = {name: shoal.quasi(tree[name]) for name in quasi}
    roles |= {name: shoal.sensitive(tree[name]) for name in sensitive}
    return shoal.Schema.of(quasi=quasi, sensitive=sensitive).set(roles)


def tally(source: Any, quasi: Sequence[str] = NINE, sensitive: Sequence[str] = ()) -> Tally:
    """A table of Adult's columns, in memory or a file, as codes of the hierarchies."""
    frame = shoal.open(source)
    try:
        return encode(frame, schema(tuple(quasi), tuple(sensitive)).fit(frame.fields)).tally
    finally:
        frame.close()


def nine(apart: Sequence[str] = ()) -> Tally:
    """The 30,162 rows; columns that are set apart are sensitive."""
    quasi = [name for name in NINE if name not in apart]
    return tally(adult_codes("train").arrow(NINE), quasi, apart)


def large(rows: int) -> Path:
    """The nine columns remixed, as a Parquet file in the cache."""
    return parquet(rows, _remixed, "-nine")


def _remixed(rows: int, seed: int) -> Codes:
    return mixed(adult_codes("train"), NINE, rows, np.random.default_rng((rows, seed)))


def granularity(tally: Tally, cut: Cut) -> float:
    """As ARX reports it: the columns' shares are averaged first, and scaled afterwards."""
    size = np.array([axis.size for axis in tally.quasi])
    share = (cut.cells.widths(tally.quasi) * (size - 1) + 1) / size
    mean = (count_published_rows(cut) @ share + cut.suppressed) / tally.rows
    least = (1 / size).mean()
    return float(1 - (mean.mean() - least) / (1 - least))
