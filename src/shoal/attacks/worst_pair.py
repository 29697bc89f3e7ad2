"""Worst pair: the intersection of releases when nobody says who is in them.

Classes, one of each of some releases, whose cells all meet in every column may hold the same
person, whose value is then one that all of them have. Such a *combination* of the last release's
class with classes of earlier ones *exposes* whoever is in all if its classes have at least one
value in common, fewer than ``l`` of them, and fewer than each class has alone:

    1 ≤ |S1 ∩ ... ∩ Sn| < l   and   |S1 ∩ ... ∩ Sn| < min(|S1|, ..., |Sn|)

Of two releases it is a pair of classes. Every row of the last release that is in a class with such
a combination counts as exposed. Of several releases every combination of two or more counts, for
somebody may be in any of them: three may leave one value where every two leave two.

After Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy,
KDD 2008, with the worst assumed about who is in them; 1 ≤ |S1 ∩ S2| < l is the vulnerable class of
Sattar and Helal: Privacy risk against composition attack, 2018, definitions 2 to 4.

A row without a value may have any: it adds none to its class's, so that blanks never make more
values look left. A class of nothing but such rows leaves nothing that is known, and exposes nobody.

It does not say that anybody is in all of them: cells may meet where nobody is. Nor does it see
somebody who could be in several classes of a release, which leaves more values. Give the
intersection the people, where they are known, for what is true of them. The search for
combinations of three or more has a limit (``MAX_WORK``); where it is reached, the finding says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.randomised_answers import bound_pair_of_answers, shows_answers
from shoal.attacks._shared.row_matching import describe_class
from shoal.attacks._shared.value_evidence import collect_class_values
from shoal.core.cells import find_meeting_classes, meet
from shoal.core.errors import InputError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import (
    WORST_LISTED,
    Needs,
    NobodyFoundError,
    ReleaseView,
    View,
    count_missing_values,
    state_no_value_added,
)
from shoal.kernels.box_combinations import (
    Boxes,
    BoxSide,
    CombinationSearch,
    PairSearch,
    search_combinations,
    search_pairs,
)

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]

MAX_NAMED = 10
"""How many values a witness lists."""

MAX_WORK = 1_000_000_000
"""So often a class may be compared with a combination of others; then the search is cut short."""
PAIRS_AT_ONCE = 4_000_000
"""About so many pairs of classes that meet are listed at a time."""

ASSUMPTIONS = (
    "the worst is assumed, for nobody says who is in both releases: somebody is in both classes "
    "of every pair whose cells meet and that have a value in common",
    "whoever is in both has the same sensitive value in both",
    "the adversary knows the person's quasi-identifiers, and by them the class in each release",
)
ASSUMPTIONS_OF_SEVERAL = (
    "the worst is assumed, for nobody says who is in which releases: somebody is in all classes "
    "of every combination whose cells meet and that have a value in common",
    "whoever is in several releases has the same sensitive value in all of them",
    ASSUMPTIONS[-1],
)
DEFENCE = (
    "ask for larger and more varied classes (composition), publish one table together with the "
    "other publisher, or give the people, to see whom it is true of."
)


def _check_l(l: Any) -> int:
    if isinstance(l, bool) or not isinstance(l, int) or l < 2:
        raise UsageError("l is a number of values, at least 2.", "write for example l=2.")
    return l


NEEDS = Needs(releases=2, supposition_option="--l 2", reads_answers=True, targets_last_release=True)
OPTIONS = {"l": _check_l}


class _Pair(NamedTuple):
    """Two classes whose cells meet, and how many values they have in common."""

    first: int
    second: int
    common: int


def worst_pair(
    view: View, *, rng: np.random.Generator | None = None, l: int = 2, work: int | None = None
) -> Finding:
    """Intersect the values of classes that meet, and count the last release's rows in the worst.

    Parameters
    ----------
    view
        What the adversary has: two or more releases with a sensitive column in common.
    rng
        Not used: nothing is random.
    l
        Fewer values than this expose somebody.
    work
        The limit of the search for combinations of three or more classes: how often a class is
        compared with a combination (``MAX_WORK`` unless given).

    Returns
    -------
    Finding
        How many rows of the last release are in a class with an exposing combination.

    Raises
    ------
    NobodyFoundError
        No two classes meet and have a value in common.
    InputError
        The releases cannot be compared.
    """
    _check_view(view)
    sensitive, min_values = view.sensitive, _check_l(l)
    assert sensitive is not None
    if shows_answers(view):
        return bound_pair_of_answers(view, min_values)
    *earlier, last = view.releases
    values = [release.histogram(sensitive).without_blanks for release in view.releases]
    _check_comparable(view, values)
    sides = [
        _build_boxes(*release_and_values)
        for release_and_values in zip(view.releases, values, strict=True)
    ]
    words, boxes = sides[-1][1], [side for side, _ in sides]
    pairs = [search_pairs(box, boxes[-1], words, min_values) for box in boxes[:-1]]
    if not any(pair_search.met.any() for pair_search in pairs):
        raise NobodyFoundError(
            "Nobody can be in both releases: no two classes meet and have a value in common."
            if len(earlier) == 1
            else f"Nobody can be in {last.name} and another release: no two classes meet and have "
            "a value in common.",
            "check that the releases are about the same people, and name columns and values alike.",
        )
    if len(earlier) == 1:
        return _build_finding(view, (values[0], values[1]), pairs[0], min_values)
    return _SeveralReleases(view, values, pairs, min_values).build_finding(
        boxes, words, MAX_WORK if work is None else work
    )


def _check_view(view: View) -> None:
    if len(view.releases) < 2:
        raise InputError(
            "The worst pair needs two releases.", "give two releases about the same people."
        )
    if not all(len(release.class_) for release in view.releases):
        raise InputError("One of the releases has no rows.", "give releases with rows.")
    if view.sensitive is None or any(release.values is None for release in view.releases):
        raise InputError(
            "The worst pair needs a sensitive column that all releases publish.",
            "name one with --on.",
        )
    if shows_answers(view) and len(view.releases) > 2:
        raise InputError(
            f"Answers stand in the place of values of {view.sensitive.name} in one of the "
            "releases, and what several tell beside answers is not worked out.",
            "give two releases at a time; what answers give away is what they spend of the budget.",
        )


def _check_comparable(view: View, values: Sequence[Histogram]) -> None:
    """Refuse releases without common values, which may be spelt differently, or other cells."""
    assert view.sensitive is not None
    *earlier, last = zip(view.releases, values, strict=True)
    for release, histogram in earlier:
        if not ((histogram.total > 0) & (last[1].total > 0)).any():
            raise InputError(
                f"The releases have no value of {view.sensitive.name} in common.",
                "name values alike in both; releases about other people have nothing to intersect.",
            )
        # A set compared with a range raises.
        meet(release.cells.take(np.arange(1)), last[0].cells.take(np.arange(1)))


def _build_boxes(release: ReleaseView, values: Histogram) -> tuple[BoxSide, Ints]:
    """A release's classes as boxes with values, and where each column's set ends."""
    cells = release.cells
    ranges = [j for j in range(cells.low.shape[1]) if j not in cells.sets]
    low, high = (np.ascontiguousarray(end[:, ranges]) for end in (cells.low, cells.high))
    parts = [cells.sets[j] for j in sorted(cells.sets)]
    sets = np.concatenate([np.zeros((len(cells), 0), np.uint64), *parts], axis=1)
    words = np.cumsum([part.shape[1] for part in parts], dtype=np.int64)
    return BoxSide(
        low, high, sets, collect_class_values(values), values.distinct, release.rows
    ), words


def _build_finding(
    view: View, values: tuple[Histogram, Histogram], pairs: PairSearch, l: int
) -> Finding:
    assert view.sensitive is not None
    first, second = view.releases
    values_left = np.where(pairs.few > 0, pairs.common, 0)[second.class_]
    rows = np.flatnonzero(values_left)
    total, pair = values[0].total + values[1].total, _find_worst_pair(view, pairs)
    return Finding(
        attack="worst-pair",
        people=len(values_left),
        exposed=len(rows),
        sure=1 / pair.common,
        guessing=float(total.max() / total.sum()),
        sentence=f"If the worst is so, {len(rows):,} of {len(values_left):,} rows of {second.name} "
        f"are of people whom {first.name} leaves fewer than {l} values of {view.sensitive.name}: "
        f"of {pairs.met.sum():,} pairs of classes that somebody could be in, {pairs.few.sum():,} "
        "leave so few.",
        defence=DEFENCE,
        example=_describe_example(view, values, pair),
        assumptions=(*ASSUMPTIONS, *state_no_value_added(view)),
        worst=tuple((rows[np.lexsort((rows, values_left[rows]))[:WORST_LISTED]] + 1).tolist()),
        table="release 2",
        witness=_build_witness(view, values, pair),
        details={
            "l": l,
            "pairs": int(pairs.met.sum()),
            "pairs_exposing": int(pairs.few.sum()),
            "classes_exposed": int((pairs.few > 0).sum()),
            "values_left": {
                n: int((values_left == n).sum()) for n in np.unique(values_left[rows]).tolist()
            },
            **count_missing_values(view),
        },
    )


def _find_worst_pair(view: View, pairs: PairSearch) -> _Pair:
    """The pair that leaves fewest values, an exposing one if any is; of equals the largest."""
    first, second = view.releases
    rows = np.minimum(first.rows[pairs.first], second.rows)
    order = np.lexsort((-rows, pairs.common, pairs.few == 0, pairs.met == 0))
    at = int(order[0])
    return _Pair(int(pairs.first[at]), at, int(pairs.common[at]))


def _describe_example(view: View, values: tuple[Histogram, Histogram], pair: _Pair) -> str:
    distinct = [int(each.distinct[class_]) for each, class_ in zip(values, pair[:2], strict=True)]
    rows = [
        int(release.rows[class_]) for release, class_ in zip(view.releases, pair[:2], strict=True)
    ]
    several = "are in both; whoever is in both has one of them"
    return (
        f"A class of release 1 has {distinct[0]:,} values ({rows[0]:,} rows), a class of release 2 "
        f"that its cells meet has {distinct[1]:,} ({rows[1]:,} rows); {pair.common:,} "
        f"{'is in both; whoever is in both has it' if pair.common == 1 else several}."
    )


def _build_witness(view: View, values: tuple[Histogram, Histogram], pair: _Pair) -> dict[str, Any]:
    sides = []
    for release, histogram, class_ in zip(view.releases, values, pair[:2], strict=True):
        step = describe_class(release, class_, np.flatnonzero(release.class_ == class_) + 1)
        step["values"] = int(histogram.distinct[class_])
        if view.show and release.labels is not None:
            step["labels"] = dict(release.labels(class_))
        sides.append(step)
    witness: dict[str, Any] = {"releases": sides, "left": pair.common}
    if view.show:
        both = set(values[0].of_class(pair.first)[0]) & set(values[1].of_class(pair.second)[0])
        witness["left_named"] = [view.format_sensitive(code) for code in sorted(both)[:MAX_NAMED]]
    return witness


class _SeveralReleases:
    """What three or more releases leave together: pairs, and combinations of more classes."""

    def __init__(
        self, view: View, values: Sequence[Histogram], pairs: Sequence[PairSearch], l: int
    ) -> None:
        *self.earlier, self.last = view.releases
        self.view, self.values, self.pairs, self.l = view, values, pairs, l
        self.values_left = np.zeros(len(self.last.cells), np.int64)
        """How many values the worst combination leaves each class; 0 where none exposes."""
        self.chosen_classes = np.full((len(self.last.cells), len(self.earlier)), -1, np.int64)
        """The classes of the earlier releases in it; -1 for a release that is not."""
        self.cut_short = 0
        """Of how many classes the search was cut short."""
        for i, pair in enumerate(pairs):
            worse = (pair.few > 0) & ((self.values_left == 0) | (pair.common < self.values_left))
            self.values_left[worse] = pair.common[worse]
            self.chosen_classes[worse] = -1
            self.chosen_classes[worse, i] = pair.first[worse]
        self.exposed_by_pairs = self.values_left > 0

    def build_finding(self, sides: Sequence[BoxSide], words: Ints, work: int) -> Finding:
        self._search_combinations(sides, words, work)
        assert self.view.sensitive is not None
        values_left = self.values_left[self.last.class_]
        rows = np.flatnonzero(values_left)
        total = np.sum([each.total for each in self.values], axis=0)
        class_, fewest = self._find_worst_class()
        return Finding(
            attack="worst-pair",
            people=len(values_left),
            exposed=len(rows),
            sure=1 / fewest,
            guessing=float(total.max() / total.sum()),
            sentence=self._describe(values_left),
            defence=DEFENCE,
            example="" if class_ is None else self._describe_example(class_),
            assumptions=(
                *ASSUMPTIONS_OF_SEVERAL,
                *state_no_value_added(self.view),
                *self._describe_limits(fewest),
            ),
            worst=tuple((rows[np.lexsort((rows, values_left[rows]))[:WORST_LISTED]] + 1).tolist()),
            table=f"release {len(self.view.releases)}",
            witness={} if class_ is None else self._build_witness(class_),
            details={
                "l": self.l,
                "pairs": int(sum(pair.met.sum() for pair in self.pairs)),
                "pairs_exposing": int(sum(pair.few.sum() for pair in self.pairs)),
                "classes_exposed": int((self.values_left > 0).sum()),
                "exposed_by_no_pair": int(
                    (values_left > 0).sum() - self.exposed_by_pairs[self.last.class_].sum()
                ),
                "values_left": {
                    n: int((values_left == n).sum()) for n in np.unique(values_left[rows]).tolist()
                },
                "limits": self.cut_short,
                **count_missing_values(self.view),
            },
        )

    def _search_combinations(self, sides: Sequence[BoxSide], words: Ints, work: int) -> None:
        """Look for combinations that leave fewer than the pairs do, some classes at a time."""
        offset = np.cumsum([0, *(len(side.low) for side in sides[:-1])])
        boxes = _concatenate_boxes(sides[:-1])
        below = np.where(self.values_left > 0, self.values_left, self.l)
        size = max(1, PAIRS_AT_ONCE // max(1, int(offset[-1])))
        for first in range(0, len(below), size):
            classes = np.arange(first, min(first + size, len(below)))
            meeting = self._list_meeting_classes(classes, offset)
            last = _concatenate_boxes([BoxSide._make(part[classes] for part in sides[-1])])
            combined, work = search_combinations(
                boxes, len(self.earlier), last, meeting, words, below[classes], work
            )
            self._record_combinations(classes, combined, offset)

    def _list_meeting_classes(self, classes: Ints, offset: Ints) -> tuple[Ints, Ints]:
        """Of some classes all those of earlier releases that they meet, and where each begins."""
        cells, class_, met = self.last.cells.take(classes), [], []
        for release, before in zip(self.earlier, offset, strict=False):
            start, others = find_meeting_classes(cells, release.cells)
            class_.append(np.repeat(np.arange(len(classes)), np.diff(start)))
            met.append(others + before)
        number = np.concatenate(class_)
        order = np.argsort(number, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(classes)))])
        return start.astype(np.int64), np.concatenate(met)[order].astype(np.int64)

    def _record_combinations(
        self, classes: Ints, combined: CombinationSearch, offset: Ints
    ) -> None:
        better = combined.left > 0
        chosen_classes = combined.chosen[better].astype(np.int64)
        self.values_left[classes[better]] = combined.left[better]
        self.chosen_classes[classes[better]] = np.where(
            chosen_classes < 0, -1, chosen_classes - offset[:-1]
        )
        self.cut_short += int(combined.unfinished.sum())

    def _find_worst_class(self) -> tuple[int | None, int]:
        """The class that is left fewest values, of equals the largest; and how many at least.

        Where no combination exposes, each leaves ``l`` values, or as many as a class of it has
        alone, which a pair shows: that is a bound.
        """
        if self.values_left.any():
            order = np.lexsort((-self.last.rows, self.values_left, self.values_left == 0))
            return int(order[0]), int(self.values_left[order[0]])
        common = [int(pair.common[pair.met > 0].min()) for pair in self.pairs if pair.met.any()]
        return None, min(self.l, *common)

    def _list_combination(self, class_: int) -> list[tuple[ReleaseView, Histogram, int]]:
        earlier_classes = [
            (release, values, int(chosen))
            for release, values, chosen in zip(
                self.earlier, self.values, self.chosen_classes[class_], strict=False
            )
            if chosen >= 0
        ]
        return [*earlier_classes, (self.last, self.values[-1], class_)]

    def _describe(self, values_left: Ints) -> str:
        assert self.view.sensitive is not None
        exposed = int((values_left > 0).sum())
        beyond_pairs = exposed - int(self.exposed_by_pairs[self.last.class_].sum())
        beyond_text = (
            f"; of {beyond_pairs:,} only three or more classes together do" if beyond_pairs else ""
        )
        cut_short = (
            f" The search was cut short at {self.cut_short:,} of {len(self.values_left):,} "
            "classes: more people may be exposed than this says."
        )
        return (
            f"If the worst is so, {exposed:,} of {len(values_left):,} rows of {self.last.name} are "
            f"of people whom the other {len(self.earlier):,} releases together leave fewer than "
            f"{self.l} values of {self.view.sensitive.name}{beyond_text}."
            f"{cut_short * bool(self.cut_short)}"
        )

    def _describe_limits(self, fewest: int) -> tuple[str, ...]:
        if self.cut_short:
            return (
                f"the search ends at a limit, which {self.cut_short:,} classes reached: of these "
                "it is not known whether a combination exposes them",
            )
        if not self.values_left.any():
            return (f"no combination leaves fewer than {fewest}; how sure is a bound by that",)
        return ()

    def _describe_example(self, class_: int) -> str:
        classes = self._list_combination(class_)
        has = ", ".join(
            f"{int(values.distinct[at]):,} ({int(release.rows[at]):,} rows)"
            for release, values, at in classes
        )
        left = int(self.values_left[class_])
        whose = "whoever is in all has it" if left == 1 else "whoever is in all has one of them"
        return (
            f"Of {len(classes)} releases a class each, whose cells all meet, has so many values: "
            f"{has}; {left:,} {'is' if left == 1 else 'are'} in all of them, and {whose}."
        )

    def _build_witness(self, class_: int) -> dict[str, Any]:
        sides, common = [], None
        for release, values, at in self._list_combination(class_):
            step = describe_class(release, at, np.flatnonzero(release.class_ == at) + 1)
            step["values"] = int(values.distinct[at])
            if self.view.show and release.labels is not None:
                step["labels"] = dict(release.labels(at))
            sides.append(step)
            has = set(values.of_class(at)[0])
            common = has if common is None else common & has
        witness: dict[str, Any] = {"releases": sides, "left": int(self.values_left[class_])}
        if self.view.show:
            named = sorted(common or ())[:MAX_NAMED]
            witness["left_named"] = [self.view.format_sensitive(code) for code in named]
        return witness


def _concatenate_boxes(sides: Sequence[BoxSide]) -> Boxes:
    joined = [np.concatenate(part) for part in zip(*(side[:5] for side in sides), strict=True)]
    which = np.repeat(np.arange(len(sides)), [len(side.low) for side in sides])
    return Boxes._make([*map(np.ascontiguousarray, joined), which.astype(np.int64)])
