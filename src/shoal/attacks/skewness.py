"""Skewness: a class that is unlike the table tells something about everybody in it.

Of each row the adversary's belief in the row's own value after finding its class (the value's
share in the class) is compared with the belief before (its share in the whole table). A row is
exposed when its class makes its value at least ``sure`` likely, and at least ``times`` as likely
as the table does. Both compare whole numbers, so ties are decided exactly.

Li, Li, Venkatasubramanian: t-closeness: privacy beyond k-anonymity and l-diversity, ICDE 2007
(skewness attack): where the whole table is skewed, diversity does not prevent that a class tells
much. The farthest class is told by the equal distance, ½ Σ |p − q|: the t the release reaches.

A row without a value is nobody's gain: it is counted apart (``missing``), unless the schema says
that missing is a value of its own.

Where people have several rows, a share is that of the people who have the value among all people
of the class, and of the table.

It does not see values that mean nearly the same (similarity attack), that a class rules a value
out, nor beliefs that stay under ``sure`` however much they grew: the histogram of gains does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.histogram import Histogram
from shoal.core.model import Number, format_parameter, is_at_most, parse_fraction
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import (
    WORST_LISTED,
    Needs,
    ReleaseView,
    View,
    get_single_release,
    show_labels,
    state_missing_values,
)

NEEDS = Needs(releases=1, max_releases=1, counts_people=True)
OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "sure": lambda sure: parse_fraction(sure, "sure", 0, 1, above=True),
    "times": lambda times: parse_fraction(times, "times", 1),
}
GAINS = (1, 2, 5, 10)
"""The gains by which rows are counted: under 1, 1 to 2, 2 to 5, 5 to 10, 10 and more."""

ASSUMPTIONS = (
    "the adversary knows that the person is in the release, and the quasi-identifiers",
    "before looking at the class the adversary believes what the whole release shows",
)


def skewness(
    view: View, *, rng: np.random.Generator | None = None, sure: Number = 0.5, times: Number = 2
) -> Finding:
    """Find the rows whose class makes their value likely, and much more so than the table.

    Parameters
    ----------
    view
        What the adversary has: one release, with a sensitive column to learn.
    rng
        Not used: nothing is random.
    sure
        How likely the class must make the value at least.
    times
        How many times as likely as the table that must be at least.

    Returns
    -------
    Finding
        How many people have such a value.
    """
    release, values = get_single_release(view)
    min_belief, min_gain = OPTIONS["sure"](sure), OPTIONS["times"](times)
    rows, total = values.rows[values.class_], values.total[values.value]
    everybody = values.grand_total
    is_likely = is_at_most([rows], [values.count], 1 / min_belief) & ~values.is_blank
    is_exposed = is_likely & is_at_most([rows, total], [values.count, everybody], 1 / min_gain)
    share, share_before = values.count / rows, total / everybody
    gain = np.where(values.is_blank, 0.0, values.count * everybody / (rows * total))
    pair_of_row = _find_pair_of_row(values, release)
    order = _order_worst_first(pair_of_row, is_exposed, share, gain)
    worst, exposed = int(pair_of_row[order[0]]), len(release.people_of(is_exposed[pair_of_row]))
    return Finding(
        attack="skewness",
        people=release.persons,
        exposed=exposed,
        sure=float(share[worst]),
        guessing=float(share_before[worst]),
        sentence=f"For {exposed:,} of {everybody:,} {release.unit} their class makes their "
        f"{values.axis.name} at least {float(min_belief):.0%} likely and at least "
        f"{format_parameter(min_gain)} "
        f"times as likely as the whole table does; the largest gain of "
        f"{'any row' if release.person is None else 'anybody'} is {gain.max():.3g}-fold.",
        defence="ask for t-closeness, or for beta-likeness where rare values matter most.",
        example=_describe_example(view, values, worst),
        assumptions=(*ASSUMPTIONS, *state_missing_values(values)),
        worst=tuple((order[:WORST_LISTED] + 1).tolist()),
        table="release 1",
        witness=_build_witness(view, values, worst),
        details={
            "sure": float(min_belief),
            "times": float(min_gain),
            "largest_gain": float(gain.max()),
            **({"missing": int(values.blanks.sum())} if values.all_blanks else {}),
            **_build_details(values),
        },
    )


def _find_pair_of_row(values: Histogram, release: ReleaseView) -> NDArray[np.int64]:
    size, codes = values.axis.size, np.asarray(release.values)
    pairs, rows = values.class_ * size + values.value, release.class_.astype(np.int64) * size
    return np.asarray(np.searchsorted(pairs, rows + codes))


def _order_worst_first(
    pair_of_row: NDArray[Any],
    is_exposed: NDArray[np.bool_],
    share: NDArray[Any],
    gain: NDArray[Any],
) -> NDArray[np.int64]:
    """The rows: exposed ones by belief, then gain; the others by gain, then belief."""
    first, second = np.where(is_exposed, (share, gain), (gain, share))
    return np.lexsort((-second[pair_of_row], -first[pair_of_row], ~is_exposed[pair_of_row]))


def _build_details(values: Histogram) -> dict[str, Any]:
    rows, total = values.rows[values.class_], values.total[values.value]
    everybody = values.grand_total
    known = np.where(values.is_blank, 0, values.count)
    # Exact, as the options are: rows whose gain is at least so much.
    rows_above = [
        int(known[is_at_most([rows * g, total], [values.count, everybody], Fraction(1))].sum())
        for g in GAINS
    ]
    names = ("under 1", "1 to 2", "2 to 5", "5 to 10", "10 and more")
    bounds = [int(known.sum()), *rows_above, 0]
    more = np.maximum(values.count / rows - total / everybody, 0)
    distance = values.sum(np.where(values.is_blank, 0.0, more))
    return {
        "classes": len(values.rows),
        "rows_by_gain": {name: bounds[i] - bounds[i + 1] for i, name in enumerate(names)},
        "farthest_class": float(distance.max()),
    }


def _describe_example(view: View, values: Histogram, pair: int) -> str:
    count, total = int(values.count[pair]), int(values.total[values.value[pair]])
    rows, everybody = int(values.rows[values.class_[pair]]), values.grand_total
    unit = view.releases[0].unit
    value = f" ({view.format_sensitive(int(values.value[pair]))})" if view.show else ""
    return (
        f"One {values.axis.name}{value} is that of {total:,} of all {everybody:,} {unit} "
        f"({total / everybody:.1%}), but of {count:,} of the {rows:,} {unit} of one class "
        f"({count / rows:.1%}). Whoever finds a person in this class believes it "
        f"{count * everybody / (rows * total):.3g} times as strongly as before."
    )


def _build_witness(view: View, values: Histogram, pair: int) -> dict[str, Any]:
    class_, code = int(values.class_[pair]), int(values.value[pair])
    value = {"value": view.format_sensitive(code)} if view.show else {}
    return {
        "class": class_,
        "rows": int(values.rows[class_]),
        "with_the_value": int(values.count[pair]),
        "with_the_value_in_the_table": int(values.total[code]),
        **value,
        **show_labels(view, class_),
    }
