"""What came out of a study, and what its paper claims: rows, numbers over them, and claims.

A claim is written over `Number`s, and a number says of which rows it is the mean: whoever has the
rows can count it again (`Number.again`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from shoal import ShoalError
from shoal.studies.pages.words import format_figure

SEED = "seed"
Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
AGREES, PARTLY, DIFFERS, CORRECTED = "agrees", "partly", "differs", "corrected"
FOUND = "found"
VERDICTS = (AGREES, PARTLY, DIFFERS, CORRECTED, FOUND)
"""How ours stands to theirs; `CORRECTED`: the paper prints a mistake, and ours is the right one;
`FOUND`: no claim of the paper's but something found beside it, told apart and not counted."""


@dataclass(frozen=True)
class Number:
    """The mean of one column over some rows, and how far runs or settings are apart."""

    said: str
    """What it is of, for people: "Adult, k = 5"."""
    of: str
    """The column."""
    where: Mapping[str, Any]
    """What its rows have in other columns."""
    unit: str
    """Written behind it: " %", " people"; or "" for a bare number."""
    mean: float
    spread: float
    """The standard deviation over the runs, of each run the mean; 0 where there is one."""
    least: float
    most: float
    runs: int
    """How many different seeds the rows have; 1 where nothing is drawn."""
    rows: int = 1
    """More than the runs where settings that differ are taken together."""

    def again(self, rows: Rows) -> Number:
        """The same number, counted from the rows."""
        return compute_mean(rows, self.of, said=self.said, unit=self.unit, **self.where)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return format_figure(self.to_json())


def compute_mean(rows: Rows, of: str, /, *, said: str = "", unit: str = "", **where: Any) -> Number:
    """The mean of the column ``of`` over the rows that have these values.

    The spread is over seeds alone: rows of one seed are averaged first.

    >>> rows = [{"k": 5, "seed": 0, "hit": 11.0}, {"k": 5, "seed": 1, "hit": 13.0}]
    >>> print(compute_mean(rows, "hit", unit=" %", k=5))
    12.0 ± 1.4 %
    """
    selected = [row for row in select_rows(rows, **where) if row.get(of) is not None]
    values = [float(row[of]) for row in selected]
    if not values:
        raise ShoalError(
            f"No measurement of {of} has {', '.join(where) or 'any'} as asked.",
            "run the study with its own settings.",
        )
    means = [fmean(run) for run in _by_seed(selected, of)]
    spread = stdev(means) if len(means) > 1 else 0.0
    return Number(
        said,
        of,
        where,
        unit,
        fmean(values),
        spread,
        min(values),
        max(values),
        max(1, len(means)),
        len(values),
    )


def _by_seed(rows: Rows, of: str) -> list[list[float]]:
    """What each seed's rows have in a column; rows without a seed are nobody's."""
    by_seed: dict[Any, list[float]] = {}
    for row in rows:
        if row.get(SEED) is not None:
            by_seed.setdefault(row[SEED], []).append(float(row[of]))
    return list(by_seed.values())


def select_rows(rows: Rows, /, **where: Any) -> list[Mapping[str, Any]]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in where.items())]


@dataclass(frozen=True)
class Claim:
    """One thing that a paper says, beside what came out here."""

    says: str
    """The claim in one sentence, in our words."""
    theirs: str
    """The paper's own figure as it prints it; "" where it gives none."""
    ours: tuple[Number, ...]
    verdict: str
    """One of `VERDICTS`, decided from the numbers."""
    why: str = ""
    """The reason, found by experiment, wherever ours is not theirs."""
    because: tuple[Number, ...] = ()
    """The numbers that the reason rests on."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"a verdict is one of {VERDICTS}")
        if self.verdict not in (AGREES, FOUND) and not self.why:
            raise ValueError("a claim that does not agree says why")

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)
