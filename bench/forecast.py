"""Forecasts against the truth: the whole protocol of ``shoal forecast --validate``.

Adult's complete rows and IPUMS Los Angeles: samples of 15,000 people, 500 to 4,000 more in both,
k = 5 to 40, l = 2 and 3: 32 settings, 3 seeds. The error is the mean of |estimated - real| in
percentage points of classes; the paper's own estimate stands beside. Sattar and Helal's columns
(age, sex, education, race, birth place) and the seven that most papers take. IPUMS with and without
the people whose occupation is "not applicable" (999, 43.7 % of the rows).
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from bench.data import adult, folder
from bench.measure import Line, Unavailable
from shoal.forecasts.validation import Validation, validate_forecast

ADULT = {
    "Sattar's 5 columns": ("age", "sex", "education_num", "race", "native_country"),
    "7 columns": (
        "age",
        "workclass",
        "education",
        "marital_status",
        "race",
        "sex",
        "native_country",
    ),
}
IPUMS = ("age", "classwkg", "educrec", "marst", "raceg", "sex", "bplg")
NUMBERS = ("age", "education_num", "educrec")
ADULT_LIMITS = {"simulation": 0.6, "closed form": 1.3}
ABSENT = "999"
"""The code of people without an occupation."""
SMALL = {"forecast": {"seeds": 1, "repeats": 3}}


def run(seeds: int = 3, repeats: int = 20) -> Iterator[Line]:
    """The errors of all estimators on both tables."""
    where = folder()
    if where is None:
        raise Unavailable("a stand-in says nothing about forecasts; set SHOAL_DATA")
    how = {"seeds": seeds, "repeats": repeats}
    for name, quasi in ADULT.items():
        cells = adult()
        table = typed({n: cells[n] for n in (*quasi, "occupation")})
        yield from lines(f"Adult, {name}", table, "occupation", how, ADULT_LIMITS)
    rows = ipums(where)
    for name, keep in OCCUPATION.items():
        columns = {n: [row[n] for row in rows if keep(row)] for n in (*IPUMS, "occ1950")}
        yield from lines(f"IPUMS 1970, {name}", typed(columns), "occ1950", how, {})


OCCUPATION: dict[str, Callable[[dict[str, str]], bool]] = {
    "everybody": lambda row: True,
    "with an occupation": lambda row: row["occ1950"] != ABSENT,
}


def ipums(where: Path) -> list[dict[str, str]]:
    """The rows of the 1970 census."""
    with gzip.open(where / "ipums_la_97.csv.gz", "rt", encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def typed(columns: dict[str, list[str]]) -> pa.Table:
    """The columns as an Arrow table; numbers as numbers, all else as words."""
    return pa.table(
        {n: pa.array(map(int, cells) if n in NUMBERS else cells) for n, cells in columns.items()}
    )


def lines(
    case: str, table: pa.Table, sensitive: str, how: dict[str, Any], limits: dict[str, float]
) -> Iterator[Line]:
    """Every estimator's error on one table."""
    quasi = [name for name in table.column_names if name != sensitive]
    found = validate_forecast(table, shoal.Schema.of(quasi=quasi, sensitive=sensitive), **how)
    print(_told(found), file=sys.stderr, flush=True)
    real = [one.real for one in found.trials]
    for name, one in found.scores.items():
        alike = "–" if one.correlation is None else f"{one.correlation:.3f}"
        inside = "" if one.covered is None else f", {one.covered:.0%} in the interval"
        measured = (
            f"bias {100 * one.bias:+.2f}, corr. {alike}, Brier {one.brier:.4f}{inside} "
            f"(real {100 * sum(real) / len(real):.2f} %)"
        )
        yield Line(f"{case}: {name}", measured, 100 * one.mae, limits.get(name), unit=" points")


def _told(found: Validation) -> str:
    """The reliability of the two that know the overlap: chance said, share that came true."""
    told = []
    for name in ("simulation", "closed form"):
        bins = (
            f"{one.expected:.2f}:{one.exposed:.2f}"
            for one in found.scores[name].reliability
            if one.expected is not None
        )
        told.append(f"  {name}, chance : came true  {'  '.join(bins)}")
    return "\n".join([*told, *found.notes])
