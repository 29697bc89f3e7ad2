"""Adult's people in classes by age, marital status, race and sex, and what such a table discloses.

Age stands in intervals of a width that begin at an origin (``ALL``: nobody's age is told); marital
status as it is, as ``MIDDLE`` puts it, or not at all; race and sex as they are or not at all.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import shoal
from shoal.studies.claims import Row
from shoal.studies.entropy import compute_entropy
from shoal.studies.tables import Sample

ALL = "all"
"""The width of the interval that everybody's age is in."""
MIDDLE = {
    "spouse": {"Married-civ-spouse": "present", "Married-AF-spouse": "present"},
    "ever": {
        "Married-civ-spouse": "married",
        "Married-AF-spouse": "married",
        "Married-spouse-absent": "married",
        "Never-married": "never",
    },
}
"""What the middle level of marital status tells; what is not named is the rest."""
IMPLICATIONS, NEGATIONS = "implications", "negations"


def make_histograms(
    sample: Sample,
    width: int | str,
    origin: int = 0,
    *,
    marital: int = 2,
    race: int = 1,
    sex: int = 1,
    middle: str = "spouse",
) -> list[list[int]]:
    """For each class of the table how often each sensitive value occurs in it.

    ``marital``, ``race`` and ``sex`` are levels: 0 as it is, the last not told.
    """
    keys: dict[str, Any] = {"age": _age_intervals(sample.table["age"], width, origin)}
    if marital < 2:
        keys["marital"] = _marital_groups(sample.table["marital_status"], marital, middle)
    if not race:
        keys["race"] = sample.table["race"]
    if not sex:
        keys["sex"] = sample.table["sex"]
    table = pa.table({**keys, "value": sample.table[sample.sensitive]})
    value_counts = table.group_by([*keys, "value"]).aggregate([([], "count_all")]).to_pylist()
    classes: dict[tuple[Any, ...], list[int]] = {}
    for row in value_counts:
        classes.setdefault(tuple(row[key] for key in keys), []).append(row["count_all"])
    return list(classes.values())


def compute_disclosures(classes: list[list[int]], most: int) -> dict[str, list[Fraction]]:
    """The largest belief with 0, 1, …, ``most`` pieces of either knowledge, exactly."""
    return {
        kind: [Fraction(p) for p in shoal.max_disclosure(classes, most, knowledge=kind, exact=True)]
        for kind in (IMPLICATIONS, NEGATIONS)
    }


def find_least_entropy(classes: list[list[int]]) -> float:
    """The entropy of the values of the least varied class, in bits."""
    return min(map(compute_entropy, classes))


def list_disclosures(
    disclosures: dict[str, list[Fraction]], wanted: list[int], **more: Any
) -> list[Row]:
    """A row for each number of pieces and kind of knowledge.

    Implications have with them how many percentage points they are above as many negations. The
    two ``can_differ`` where there is knowledge at all, and negations do not tell all already.
    """
    rows = []
    for k in wanted:
        beyond = float(100 * (disclosures[IMPLICATIONS][k] - disclosures[NEGATIONS][k]))
        for kind in (IMPLICATIONS, NEGATIONS):
            rows.append(
                {
                    "k": k,
                    "knowledge": kind,
                    "disclosure": float(disclosures[kind][k]),
                    **more,
                    "certain": disclosures[kind][k] == 1,
                    "can_differ": k > 0 and disclosures[NEGATIONS][k] < 1,
                    "beyond": beyond if kind == IMPLICATIONS else None,
                }
            )
    return rows


def _age_intervals(ages: Any, width: int | str, origin: int) -> NDArray[np.int64]:
    years = np.asarray(ages.to_numpy(), dtype=np.int64)
    return np.zeros_like(years) if width == ALL else (years - origin) // int(width)


def _marital_groups(column: Any, level: int, middle: str) -> Any:
    if level == 0:
        return column
    groups = MIDDLE[middle]
    at = pc.index_in(column, pa.array(list(groups)))
    return pc.fill_null(pa.array(list(groups.values())).take(at.combine_chunks()), "rest")
