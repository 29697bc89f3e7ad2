"""How close what k implications tell is to what k negations tell: one rule for figures 5 and 6.

The paper leaves open where intervals of age begin, and more; each way to read it is judged, and
none is picked: close in all of them agrees, in some partly, in none differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.studies.claims import AGREES, DIFFERS, PARTLY, Claim, Number, Rows, chosen, number
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
    beside: tuple[Number, ...]
    """Means over more, which are smaller: there the two are equal whatever they are."""

    @property
    def close(self) -> bool:
        """Whether both bounds hold."""
        return self.most.mean <= CLOSE and self.mean.mean <= CLOSE_MEAN


def distance(
    rows: Rows, reading: str, where: Mapping[str, Any], beside: Mapping[str, Mapping[str, Any]]
) -> Distance:
    """Of the rows of one reading; ``beside`` names further means, and which rows they are over."""
    here = {**where, "knowledge": IMPLICATIONS}
    last = max(chosen(rows, **here), key=lambda row: float(row["beyond"]))
    at = {name: last[name] for name in ("table", "k") if name in last}

    def points(said: str, **more: Any) -> Number:
        return number(rows, "beyond", said=f"{said}; {reading}", unit=" points", **here, **more)

    return Distance(
        reading,
        points(f"most, at k = {last['k']}", **at),
        points("mean over what can differ", can_differ=True),
        tuple(points(said, **more) for said, more in beside.items()),
    )


def closeness(says: str, found: Sequence[Distance]) -> Claim:
    """The claim over all readings: ours are the reading's that is furthest apart in each."""
    far = [one for one in found if not one.close]
    verdict = AGREES if not far else PARTLY if len(far) < len(found) else DIFFERS
    worst = max(found, key=lambda one: one.mean.mean)
    ours = (max((one.most for one in found), key=lambda one: one.mean), worst.mean, *worst.beside)
    others = (
        number
        for one in found
        for number in (one.most, one.mean, *one.beside)
        if number not in ours
    )
    why = f"{OURS} {len(found) - len(far)} of {len(found)} readings keep both; {_passed(far)}."
    return Claim(says, "close", ours, verdict, why if far else "", tuple(others))


def _passed(far: Sequence[Distance]) -> str:
    """Which bound each of these readings passes, and by what."""
    return "; ".join(
        f"{one.reading}: "
        + " and ".join(
            part
            for part, passed in (
                (f"up to {one.most.mean:.1f} points", one.most.mean > CLOSE),
                (
                    f"{one.mean.mean:.2f} on average ({one.beside[-1].mean:.2f} over all)",
                    one.mean.mean > CLOSE_MEAN,
                ),
            )
            if passed
        )
        for one in far
    )
