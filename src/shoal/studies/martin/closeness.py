"""How close what k implications tell is to what k negations tell: one rule for figures 5 and 6.

The paper leaves open where intervals of age begin, and more; each way to read it is judged, and
none is picked: close in all of them agrees, in some partly, in none differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.studies.claims import (
    AGREES,
    DIFFERS,
    PARTLY,
    Claim,
    Number,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.martin.ages import IMPLICATIONS

CLOSE, CLOSE_MEAN = 10, 2
"""Percentage points: nowhere further apart, and on average."""
BOUNDS = f"is at most {CLOSE} points, and on average at most {CLOSE_MEAN}, above"
OURS = "The bounds are ours, chosen with the numbers known."
NOTE = (
    "The paper calls the two close; no number that it gives for that is known here. That "
    f"{CLOSE} points anywhere and {CLOSE_MEAN} on average are close is ours, chosen with the "
    "numbers known. The average that is judged is over what can "
    "differ: not over k = 0, and not where negations alone tell everything; averages over more are "
    "given beside it and are smaller."
)


@dataclass(frozen=True)
class Distance:
    """How far implications are above negations in one reading of the paper."""

    reading: str
    most: Number
    mean: Number
    """Over what can differ."""
    further_means: tuple[Number, ...]
    """Means over more, which are smaller: there the two are equal whatever they are."""

    @property
    def close(self) -> bool:
        """Whether both bounds hold."""
        return self.most.mean <= CLOSE and self.mean.mean <= CLOSE_MEAN


def measure_distance(
    rows: Rows,
    reading: str,
    where: Mapping[str, Any],
    further_means: Mapping[str, Mapping[str, Any]],
) -> Distance:
    """Of the rows of one reading; ``further_means`` names means over other rows, and which rows."""
    here = {**where, "knowledge": IMPLICATIONS}
    last = max(select_rows(rows, **here), key=lambda row: float(row["beyond"]))
    at = {name: last[name] for name in ("table", "k") if name in last}

    def points(said: str, **more: Any) -> Number:
        return compute_mean(
            rows, "beyond", said=f"{said}; {reading}", unit=" points", **here, **more
        )

    return Distance(
        reading,
        points(f"most, at k = {last['k']}", **at),
        points("mean over what can differ", can_differ=True),
        tuple(points(words, **more) for words, more in further_means.items()),
    )


def judge_closeness(says: str, distances: Sequence[Distance]) -> Claim:
    """The claim over all readings: ours are the reading's that is furthest apart in each."""
    far = [distance for distance in distances if not distance.close]
    verdict = AGREES if not far else PARTLY if len(far) < len(distances) else DIFFERS
    worst = max(distances, key=lambda distance: distance.mean.mean)
    ours = (
        max((number.most for number in distances), key=lambda number: number.mean),
        worst.mean,
        *worst.further_means,
    )
    others = (
        number
        for distance in distances
        for number in (distance.most, distance.mean, *distance.further_means)
        if number not in ours
    )
    within = f"{len(distances) - len(far)} of {len(distances)} readings keep both"
    why = f"{OURS} {within}; {_describe_passed_bounds(far)}."
    return Claim(says, "close", ours, verdict, why if far else "", tuple(others))


def _describe_passed_bounds(far: Sequence[Distance]) -> str:
    return "; ".join(
        f"{distance.reading}: "
        + " and ".join(
            part
            for part, passed in (
                (f"up to {distance.most.mean:.1f} points", distance.most.mean > CLOSE),
                (
                    f"{distance.mean.mean:.2f} on average ({distance.further_means[-1].mean:.2f} "
                    "over all)",
                    distance.mean.mean > CLOSE_MEAN,
                ),
            )
            if passed
        )
        for distance in far
    )
