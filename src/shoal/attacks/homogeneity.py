"""Homogeneity: where a class has one sensitive value, finding somebody's class is knowing it.

A class is homogeneous when all of its rows have the same sensitive value: nobody can tell its k
people apart, and nobody needs to. In the other classes the adversary guesses each class's most
common value; how often that is right is told too. A missing value is none that one learns: a
class with one is not homogeneous, and its rows without a value are counted apart (``missing``),
unless the schema says that missing is a value of its own.

Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-diversity: privacy beyond k-anonymity, ACM
TKDD 1(1), 2007 (homogeneity attack).

Where people have several rows, people are counted: a class is homogeneous when all of its people
have one value in common there, whatever else they have. Two things more are tried then. Whoever
knows that somebody has r rows in a class knows every value that fewer than r of its rows lack. And
where nobody has two values, whoever knows several classes of somebody intersects them.

It does not see what the adversary knows besides, nor that different values may mean the same (two
names of one illness), nor what a second release adds. Where values may have been exchanged for
others, one that a class shows is nobody's for sure: what can be believed is told instead.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.people_with_several_rows import (
    find_certain_by_classes,
    find_certain_by_number,
)
from shoal.attacks._shared.randomised_answers import find_uniform_answers, shows_answers
from shoal.core.histogram import Histogram
from shoal.core.model import is_at_most
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import (
    UNKNOWN,
    WORST_LISTED,
    Needs,
    ReleaseView,
    View,
    get_single_release,
    refuse_repeated_people,
    show_labels,
    state_missing_values,
)

NEEDS = Needs(releases=1, max_releases=1, reads_answers=True, counts_people=True)
BOUNDS = tuple(Fraction(bound) for bound in ("1/4", "1/2", "3/4", "9/10", "1"))
"""The shares of a class's most common value by which its rows are counted."""

ASSUMPTIONS = (
    "the adversary knows that the person is in the release, and the quasi-identifiers",
    "the classes are what the release shows: rows that share all their cells",
)


PEOPLE_ASSUMPTIONS = (
    "people are counted, of whom some have several rows: the adversary may know how many rows "
    "somebody has in a class, and in which classes somebody is",
)
CLASS, NUMBER, CLASSES = "class", "number of rows", "several classes"
FURTHER_KNOWLEDGE = {
    NUMBER: "for who knows how many rows they have in a class",
    CLASSES: "for who knows several of their classes",
}
"""What may be known of people with several rows, in words."""


def homogeneity(view: View, *, rng: np.random.Generator | None = None) -> Finding:
    """Find the classes whose rows all have one sensitive value.

    Parameters
    ----------
    view
        What the adversary has: one release, with a sensitive column to learn.
    rng
        Not used: nothing is random.

    Returns
    -------
    Finding
        How many people are in homogeneous classes; where a release shows answers in place of
        values, of how many one value is believed.
    """
    release, values = get_single_release(view)
    if shows_answers(view):
        refuse_repeated_people(view, "values that may have been exchanged are weighed by rows")
        return find_uniform_answers(view)
    most_common, rows = _count_most_common(values), values.rows
    uniform = most_common == rows
    certain_people = _find_certain_people(view, release, uniform)
    exposed = len(np.unique(np.concatenate(list(certain_people.values()))))
    order = _order_worst_first(release, most_common / rows)
    details = {
        "classes": len(rows),
        "homogeneous_classes": int(uniform.sum()),
        "largest_homogeneous_class": int(rows[uniform].max(initial=0)),
        "rows_by_top_share": _count_rows_by_share(most_common, rows),
        "guessed_right": float(most_common.sum() / rows.sum()),
        **({"missing": int(values.blanks.sum())} if values.all_blanks else {}),
        **_build_people_details(release, certain_people),
    }
    first = int(release.class_[order[0]])
    return Finding(
        attack="homogeneity",
        people=release.persons,
        exposed=exposed,
        sure=1.0 if exposed else float((most_common / rows).max()),
        guessing=float(values.total[values.occurring_values].max(initial=0) / values.grand_total),
        sentence=_describe(release, values, uniform, certain_people),
        defence="ask for diversity of the sensitive value: entropy-diversity, or at the least "
        "distinct-diversity.",
        example=_describe_example(view, values, first, int(order[0]) + 1),
        assumptions=(
            *ASSUMPTIONS,
            *(() if release.person is None else PEOPLE_ASSUMPTIONS),
            *state_missing_values(values),
        ),
        worst=tuple((order[:WORST_LISTED] + 1).tolist()),
        table="release 1",
        witness=_build_witness(view, values, first),
        details=details,
    )


def _count_most_common(values: Histogram) -> NDArray[np.int64]:
    return values.largest(np.where(values.is_blank, 0, values.count))


def _find_certain_people(
    view: View, release: ReleaseView, uniform: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    certain_people = {CLASS: release.people_of(uniform[release.class_])}
    if release.person is None or view.sensitive is None:
        return certain_people
    certain_people[NUMBER] = find_certain_by_number(release, view.sensitive)
    blank = view.sensitive.null_code if view.sensitive.unknown else UNKNOWN
    if release.is_constant_but_for(blank):
        certain_people[CLASSES] = find_certain_by_classes(release, view.sensitive)
    return certain_people


def _build_people_details(
    release: ReleaseView, certain_people: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    if release.person is None:
        return {}
    return {
        "counted": {"people": release.persons, "rows": len(release.class_)},
        "certain_by": {knowledge: len(people) for knowledge, people in certain_people.items()},
    }


def _order_worst_first(release: ReleaseView, share: NDArray[Any]) -> NDArray[np.int64]:
    """The rows by how uniform their class is, then its size; a class's rows in file order."""
    _, first, number = np.unique(release.class_, return_index=True, return_inverse=True)
    keys = (first[number], -release.rows[release.class_], -share[release.class_])
    return np.lexsort(keys)


def _count_rows_by_share(
    most_common: NDArray[Any], rows: NDArray[Any]
) -> list[dict[str, float | int]]:
    rows_above = [
        int(rows.sum()),
        *(int(rows[is_at_most([rows], [most_common], 1 / b)].sum()) for b in BOUNDS),
        0,
    ]
    ends = [0.0, *(float(bound) for bound in BOUNDS), 1.0]
    return [
        {"from": low, "to": high, "rows": more - fewer}
        for (low, high), (more, fewer) in zip(pairwise(ends), pairwise(rows_above), strict=True)
    ]


def _describe(
    release: ReleaseView,
    values: Histogram,
    uniform: NDArray[np.bool_],
    certain_people: dict[str, NDArray[Any]],
) -> str:
    rows, name, unit = values.rows, values.axis.name, release.unit
    besides = "".join(
        f"; of {len(people):,} people it is certain {FURTHER_KNOWLEDGE[knowledge]}"
        for knowledge, people in certain_people.items()
        if knowledge in FURTHER_KNOWLEDGE and len(people)
    )
    if uniform.any():
        return (
            f"{len(certain_people[CLASS]):,} of {values.grand_total:,} {unit} are in classes "
            f"({uniform.sum():,} of {len(rows):,}) whose {unit} all have the same {name}: finding "
            f"a person's class is enough to know it{besides}."
        )
    most_common = _count_most_common(values)
    most_uniform = int((most_common / rows).argmax())
    return (
        f"No class has a single {name}; in the most uniform one {most_common[most_uniform]:,} of "
        f"{rows[most_uniform]:,} {unit} have the same{besides}."
    )


def _describe_example(view: View, values: Histogram, class_: int, row: int) -> str:
    codes, counts, rows = *_list_known_values(values, class_), int(values.rows[class_])
    most_common = int(np.argmax(counts))
    value = f": {view.format_sensitive(codes[most_common])}" if view.show else ""
    alike = "all have" if counts[most_common] == rows else f"{counts[most_common]:,} have"
    return (
        f"Row {row:,} of the release is in a class of {rows:,}, of which {alike} the same "
        f"{values.axis.name}{value}. To know it of a person one needs to find the class, not the "
        "row."
    )


def _list_known_values(values: Histogram, class_: int) -> tuple[list[int], list[int]]:
    """A class's known values and counts; where none is known, what there is."""
    pairs = list(zip(*values.of_class(class_), strict=True))
    null = values.axis.null_code if values.axis.unknown else -1
    known_pairs = [pair for pair in pairs if pair[0] != null] or pairs
    return [code for code, _ in known_pairs], [count for _, count in known_pairs]


def _build_witness(view: View, values: Histogram, class_: int) -> dict[str, Any]:
    codes, counts = _list_known_values(values, class_)
    most_common = int(np.argmax(counts))
    value = {"value": view.format_sensitive(codes[most_common])} if view.show else {}
    return {
        "class": class_,
        "rows": int(values.rows[class_]),
        "most_common": counts[most_common],
        "distinct": len(counts),
        **value,
        **show_labels(view, class_),
    }
