"""Minimality: a method that generalises only as far as it must tells why it stopped.

The adversary knows the method and its rule, the quasi-identifiers of everybody in the release,
and the release. A class is a group of people that the method could not cut further. So of all
the worlds (ways to hand out the class's values to its people) only those are possible in which
the method, given these people with these values, leaves them whole. A person's posterior for a
value is its share among the possible worlds, where before it was the value's share in the class.

Wong, Fu, Wang, Pei: Minimality attack in privacy preserving data publishing, VLDB 2007.

All worlds of a class are tried where there are not too many (people with equal
quasi-identifiers may swap values, and that is one world to the method); else worlds are drawn.
A person is exposed when a value's posterior is above the share of the class's most common value:
exactly where all worlds were tried; where they were drawn by more than chance, the lower end of
its Wilson interval being higher, at 95 % for all people and values together (Bonferroni).

``worlds`` times ``classes`` worlds are tried at most: a few of each class, and the rest where any
are ruled out, of one class ten times ``worlds`` if not all of them. A class with no possible world
among the drawn ones was not measured and is counted apart: where few are possible each tells most.

It does not see what a method that does not cut from the top reveals, what classes tell about each
other, nor classes it did not draw: at most ``classes`` are examined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.candidate_classes import find_full_classes
from shoal.core.axis import Axis
from shoal.core.errors import InputError, NotMetError
from shoal.core.histogram import Histogram
from shoal.core.model import parse_whole_number
from shoal.core.release import Finding, wilson_interval
from shoal.core.tally import Cut, Tally
from shoal.core.theory.adversary_view import (
    UNKNOWN,
    WORST_LISTED,
    Needs,
    ReleaseView,
    Targets,
    View,
    get_single_release,
    show_labels,
)
from shoal.kernels.combinatorics import count_fillings, iterate_fillings

NEEDS = Needs(releases=1, max_releases=1, people=True, method=True)
OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "worlds": lambda worlds: parse_whole_number(worlds, "worlds", 1),
    "classes": lambda classes: parse_whole_number(classes, "classes", 1),
}
SIGNIFICANCE = 0.05
TRIAL_WORLDS = 50
"""Worlds that tell whether a class rules out any; one that keeps them all rules out few."""
MAX_TIMES_WORLDS = 10
"""At most so many times ``worlds`` are drawn of one class; then it is left as not measured."""

ASSUMPTIONS = (
    "the adversary knows the method and its rule",
    "the adversary knows the quasi-identifiers of everybody in the release, and who is in it",
    "the method cuts from the top: a class is a group that it would not cut further",
)


def minimality(
    view: View, *, rng: np.random.Generator | None = None, worlds: int = 200, classes: int = 50
) -> Finding:
    """Rule out the ways to hand out a class's values that the method would have cut further.

    Parameters
    ----------
    view
        What the adversary has: one release, exactly its people, and the method that made it.
    rng
        Draws classes and worlds.
    worlds
        How many worlds are tried of a class, on average.
    classes
        How many classes are examined at most.

    Returns
    -------
    Finding
        Of how many people in the examined classes a value is more certain than by the class alone.

    Raises
    ------
    InputError
        The people or the method are missing, another method made the release, or no possible world
        was found.
    NobodyFoundError
        In no class as many people are known as it has rows.
    """
    release, values = get_single_release(view)
    if view.people is None or view.method is None:
        raise InputError(
            "Minimality needs the people of the release and the method that made it.",
            "give the people as targets, and a release folder: its manifest names the method.",
        )
    rng = rng or np.random.default_rng(0)
    worlds, classes = OPTIONS["worlds"](worlds), OPTIONS["classes"](classes)
    class_of, usable = find_full_classes(release, view.people)
    chosen = rng.permutation(_order_classes(release, usable))[:classes]
    combinations = _Combinations.of(view, release)
    attempted = [
        _ClassWorlds.of(view, release, combinations, class_of, int(number)) for number in chosen
    ]
    _try_worlds(attempted, worlds, worlds * classes, rng)
    examined = [class_ for class_ in attempted if class_.n_possible]
    held = combinations.find_held(view.people)
    contradicted = [class_ for class_ in attempted if class_.contradicted(held)]
    if not examined:
        raise _nothing_measured_error(attempted, contradicted)
    not_measured = [
        class_ for class_ in attempted if not class_.n_possible and class_ not in contradicted
    ]
    details = {
        "classes": len(usable),
        "skipped_classes": int((~usable).sum()),
        "examined_classes": len(examined),
        "exact_classes": sum(class_.exact for class_ in examined),
        "contradicted_classes": len(contradicted),
        "unmeasured_classes": len(not_measured),
        "unmeasured_people": sum(len(class_.members) for class_ in not_measured),
        "unmeasured_worlds": sum(class_.tried for class_ in not_measured),
        "worlds": sum(class_.tried for class_ in examined),
        "worlds_kept": float(
            np.mean([class_.possible_weight / class_.weight for class_ in examined])
        ),
        "classes_that_rule_out_nothing": sum(class_.rules_out_nothing for class_ in examined),
    }
    return _build_finding(view, values, _Outcome.of_classes(examined), details)


def _nothing_measured_error(
    attempted: Sequence[_ClassWorlds], contradicted: Sequence[_ClassWorlds]
) -> InputError:
    if len(contradicted) == len(attempted):
        return InputError(
            f"The method would have cut each of the {len(attempted):,} examined classes further, "
            "so it did not make this release.",
            "give the method and rule that made it, and exactly the people in it.",
        )
    return InputError(
        f"None of the {sum(class_.tried for class_ in attempted):,} ways tried to hand out the "
        "values of "
        f"{len(attempted):,} classes is possible, so nothing was measured. The fewer ways are "
        "possible, the more they tell.",
        "try more: worlds=2000.",
    )


def _order_classes(release: ReleaseView, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The usable classes in an order that the order of rows does not change."""
    number = np.flatnonzero(usable)
    cells = release.cells.take(number)
    words = (word for _, bits in sorted(cells.sets.items()) for word in bits.T)
    return number[np.lexsort((*words, *cells.high.T, *cells.low.T))]


@dataclass(frozen=True)
class _Combinations:
    """What is handed out to the people of a class: the rows that it publishes.

    A row is a combination of values where the method looked at other columns than the one to
    learn: which of them a person has decides both what the method did and what the person's value
    is.
    """

    method_columns: tuple[Axis, ...]
    """The columns that the method looks at, which are the first of a combination."""
    combinations: NDArray[np.int32]
    """(columns, combinations): the distinct combinations of values ..."""
    of_row: NDArray[np.int64]
    """... and which of them each row of the release is."""
    sensitive_place: int
    """The place of the column to learn in a combination."""
    totals: tuple[NDArray[np.int64], ...]
    """By column looked at how many rows of the whole release have each value."""

    @classmethod
    def of(cls, view: View, release: ReleaseView) -> _Combinations:
        assert view.sensitive is not None
        assert release.values is not None
        method_columns, codes = view.judged, release.judged
        if not method_columns or codes is None:
            method_columns, codes = (view.sensitive,), release.values[np.newaxis]
        names = [axis.name for axis in method_columns]
        if view.sensitive.name not in names:
            names.append(view.sensitive.name)
            codes = np.concatenate([codes, release.values[np.newaxis]])
        combinations, of_row = np.unique(codes, axis=1, return_inverse=True)
        totals = (
            np.bincount(column, minlength=axis.size).astype(np.int64)
            for axis, column in zip(method_columns, codes, strict=False)
        )
        sensitive_place = names.index(view.sensitive.name)
        return cls(method_columns, combinations, of_row.reshape(-1), sensitive_place, tuple(totals))

    def find_held(self, people: Targets) -> NDArray[np.int64] | None:
        """The combination that each person truly has, -1 where none is; None: it is not known."""
        true_values = people.judged
        if true_values is None or people.values is None:
            true_values = None if people.values is None else people.values[np.newaxis]
        elif len(self.combinations) > len(true_values):
            true_values = np.concatenate([true_values, people.values[np.newaxis]])
        if true_values is None or len(true_values) != len(self.combinations):
            return None
        distinct, number = np.unique(
            np.concatenate([self.combinations, true_values], axis=1), axis=1, return_inverse=True
        )
        number, size = number.reshape(-1), self.combinations.shape[1]
        place = np.full(distinct.shape[1], -1, np.int64)
        place[number[:size]] = np.arange(size)
        return np.asarray(place[number[size:]])


@dataclass(eq=False)
class _ClassWorlds:
    """One class: its people and rows, and which of its worlds are possible.

    A world is an array (keys, combinations) of how many people with each key have each
    combination of values.
    """

    number: int
    members: NDArray[np.int64]
    """Numbers of the people, ascending by their keys ..."""
    key: NDArray[np.int64]
    """... which of the distinct keys each has ..."""
    codes: NDArray[np.int64]
    """... and the combinations of values in the class, with how many rows have each ..."""
    counts: NDArray[np.int64]
    value: NDArray[np.int32]
    """... and the value to learn that each of them has."""
    is_possible: Callable[[NDArray[np.int64]], bool]
    weighted_counts: NDArray[Any]
    """(keys, values): the sum of the possible worlds by their weights, in whole numbers."""
    exact: bool = False
    """Whether all worlds were tried."""
    tried: int = 0
    n_possible: int = 0
    """How many of the worlds tried are possible."""
    weight: int = 0
    """The weight of the worlds tried (the ways to hand out values that each stands for) ..."""
    possible_weight: int = 0
    """... and of those that are possible."""

    @classmethod
    def of(
        cls,
        view: View,
        release: ReleaseView,
        combinations: _Combinations,
        class_of: NDArray[Any],
        number: int,
    ) -> _ClassWorlds:
        assert view.people is not None
        members = np.flatnonzero(class_of == number)
        keys, key = np.unique(view.people.keys[:, members], axis=1, return_inverse=True)
        order = np.argsort(key, kind="stable")  # whatever the order of the targets
        rows = combinations.of_row[release.class_ == number]
        codes, counts = np.unique(rows, return_counts=True)
        weighted_counts = np.zeros((keys.shape[1], len(codes)), dtype=object)
        is_possible = _build_test(view, combinations, keys, codes)
        value = combinations.combinations[combinations.sensitive_place, codes]
        return cls(
            number, members[order], key[order], codes, counts, value, is_possible, weighted_counts
        )

    @property
    def rules_out_nothing(self) -> bool:
        return self.n_possible == self.tried

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.key)

    @property
    def prior(self) -> float:
        return float(self.by_value[1].max() / self.counts.sum())

    @property
    def by_value(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[Any]]:
        """The values in the class, how many rows have each, and ``weighted_counts`` by value."""
        values, value_number = np.unique(self.value, return_inverse=True)
        counts = np.bincount(value_number, weights=self.counts).astype(np.int64)
        weighted_counts = np.zeros((len(values), len(self.weighted_counts)), dtype=object)
        np.add.at(weighted_counts, value_number, self.weighted_counts.T)
        return values, counts, weighted_counts.T

    def count_worlds(self, limit: int) -> int:
        """How many worlds there are, if at most so many; else more than that."""
        return count_fillings(self.sizes.tolist(), tuple(self.counts.tolist()), limit)

    def draw(self, worlds: int, rng: np.random.Generator) -> int:
        """Hand out the values at random so many times more; returns how many times."""
        size = len(self.codes)
        values = np.repeat(np.arange(size), self.counts)
        for world in rng.permuted(np.tile(values, (worlds, 1)), axis=1):
            pairs = np.bincount(self.key * size + world, minlength=self.weighted_counts.size)
            self._add_world(pairs.reshape(self.weighted_counts.shape), 1)
        return worlds

    def try_all(self) -> int:
        """Forget what was drawn and try every world; returns how many there are."""
        self.exact, self.weighted_counts[:] = True, 0
        self.tried = self.n_possible = self.weight = self.possible_weight = 0
        orderings = prod(map(factorial, self.sizes.tolist()))
        for world in iterate_fillings(self.sizes.tolist(), tuple(self.counts.tolist())):
            orderings_alike = prod(factorial(count) for row in world for count in row)
            self._add_world(np.array(world, dtype=np.int64), orderings // orderings_alike)
        return self.tried

    def _add_world(self, world: NDArray[np.int64], weight: int) -> None:
        self.tried, self.weight = self.tried + 1, self.weight + weight
        if self.is_possible(world):
            self.n_possible, self.possible_weight = (
                self.n_possible + 1,
                self.possible_weight + weight,
            )
            self.weighted_counts += world.astype(object) * weight

    def contradicted(self, held: NDArray[np.int64] | None) -> bool:
        """Whether no world is possible, or none is known to be and the true one is not.

        ``held`` are the combinations that people truly have, where that is known.
        """
        if self.n_possible or self.exact or held is None:
            return self.exact and not self.n_possible
        place = np.searchsorted(self.codes, held[self.members]).clip(max=len(self.codes) - 1)
        true_world = np.zeros(self.weighted_counts.shape, dtype=np.int64)
        np.add.at(true_world, (self.key, place), self.codes[place] == held[self.members])
        return np.array_equal(true_world.sum(axis=0), self.counts) and not self.is_possible(
            true_world
        )

    def find_likeliest(self, significance: float) -> tuple[NDArray[Any], ...]:
        """By key: the likeliest value, its posterior, the lower end of that, and whether it is
        above what the class alone says of any value.
        """
        sizes, n_rows = self.sizes.astype(object), int(self.counts.sum())
        values, counts, weighted_counts = self.by_value
        if self.rules_out_nothing:  # the class's own shares, without the noise of the draw
            best = np.full(len(sizes), counts.argmax())
            posterior = np.full(len(sizes), self.prior)
            return values[best], posterior, posterior, posterior > self.prior
        posteriors = np.asarray(
            weighted_counts / (sizes * self.possible_weight)[:, np.newaxis], np.float64
        )
        best, posterior = posteriors.argmax(axis=1), posteriors.max(axis=1)
        if self.exact:  # compared in whole numbers
            support = weighted_counts[np.arange(len(best)), best] * n_rows
            above = support > sizes * self.possible_weight * int(counts.max())
            return values[best], posterior, posterior, above.astype(np.bool_)
        posterior_low = np.array(
            [
                wilson_interval(chance * self.n_possible, self.n_possible, significance)[0]
                for chance in posterior
            ]
        )
        return values[best], posterior, posterior_low, posterior_low > self.prior


def _try_worlds(
    classes: Sequence[_ClassWorlds], worlds: int, budget: int, rng: np.random.Generator
) -> None:
    """Draw a few worlds of each class; where any are ruled out, try all if the budget allows it,
    beginning where none is possible yet, and draw more of the others.
    """
    trial_worlds = min(TRIAL_WORLDS, worlds)
    budget -= sum(class_.draw(trial_worlds, rng) for class_ in classes)
    informative = [
        (class_.n_possible > 0, class_.count_worlds(budget), class_)
        for class_ in classes
        if class_.n_possible < class_.tried
    ]
    informative.sort(key=lambda entry: entry[:2])
    unfinished = []
    for i, (_, n_worlds, class_) in enumerate(informative):
        if n_worlds <= budget // min(
            2, len(informative) - i
        ):  # half, so that something is left for others
            budget -= class_.try_all()
        else:
            unfinished.append(class_)
    while unfinished and (more := min(trial_worlds, budget // len(unfinished))):
        budget -= sum(class_.draw(more, rng) for class_ in unfinished)
        unfinished = [class_ for class_ in unfinished if class_.tried < MAX_TIMES_WORLDS * worlds]


def _build_test(
    view: View, combinations: _Combinations, keys: NDArray[Any], codes: NDArray[np.int64]
) -> Callable[[NDArray[np.int64]], bool]:
    """Whether the method would leave a class's people whole in a world."""
    assert view.method is not None
    method, answers = view.method, dict[bytes, bool]()

    def is_possible(world: NDArray[np.int64]) -> bool:
        if (world_key := world.tobytes()) not in answers:
            key, row = np.nonzero(world)
            values = combinations.combinations[: len(combinations.method_columns), codes[row]]
            tally = Tally(
                view.axes,
                combinations.method_columns,
                keys[:, key],
                np.ascontiguousarray(values),
                world[key, row],
                reference=combinations.totals,
            )
            answers[world_key] = _leaves_whole(method, tally)
        return answers[world_key]

    return is_possible


def _leaves_whole(method: Callable[[Tally], Cut], people: Tally) -> bool:
    try:
        cut = method(people)
    except NotMetError:  # together they break the rule, so the method did not publish them so
        return False
    return cut.classes == 1 and not cut.suppressed


@dataclass(frozen=True)
class _Outcome:
    """The people of all examined classes, one entry each."""

    classes: list[_ClassWorlds]
    of: NDArray[np.int64]
    """Each person's place in ``classes``."""
    person: NDArray[np.int64]
    prior: NDArray[np.float64]
    """What each person's class alone says of any value at most."""
    value: NDArray[np.int32]
    """The likeliest value of each person ..."""
    posterior: NDArray[np.float64]
    """... its posterior, and the lower end of that."""
    posterior_low: NDArray[np.float64]
    exposed: NDArray[np.bool_]
    """Who has a value more certain than any is by the class alone, beyond chance."""

    @classmethod
    def of_classes(cls, classes: list[_ClassWorlds]) -> _Outcome:
        drawn = [class_ for class_ in classes if not (class_.exact or class_.rules_out_nothing)]
        significance = SIGNIFICANCE / max(sum(class_.by_value[2].size for class_ in drawn), 1)
        of = np.repeat(np.arange(len(classes)), [len(class_.members) for class_ in classes])
        judged = (
            [part[class_.key] for part in class_.find_likeliest(significance)] for class_ in classes
        )
        parts = (np.concatenate(part) for part in zip(*judged, strict=True))
        prior = np.array([class_.prior for class_ in classes])[of]
        person = np.concatenate([class_.members for class_ in classes])
        return cls(classes, of, person, prior, *parts)

    def worst_first(self, people: Targets) -> NDArray[np.int64]:
        """The exposed, then the others; each by gain, posterior and row."""
        gain = self.posterior - self.prior
        return np.lexsort((people.rows[self.person], -self.posterior, -gain, ~self.exposed))


def _build_finding(
    view: View, values: Histogram, outcome: _Outcome, details: dict[str, Any]
) -> Finding:
    assert view.people is not None
    order, is_exposed = outcome.worst_first(view.people), outcome.exposed
    worst = int(order[0])
    details["largest_gain"] = float((outcome.posterior - outcome.prior).max())
    if view.people.values is not None:
        truth = view.people.values[outcome.person]
        details["exposed_right"] = int((outcome.value == truth)[is_exposed].sum())
        details["exposed_known"] = int((truth != UNKNOWN)[is_exposed].sum())
    return Finding(
        attack="minimality",
        people=len(is_exposed),
        exposed=int(is_exposed.sum()),
        sure=float(outcome.posterior[worst]),
        guessing=float(values.total.max() / values.total.sum()),
        sentence=_describe(values, outcome, details),
        defence="use a rule that does not depend on who has which value (k-anonymity), a method "
        "that does not stop at the last possible cut, or differential privacy.",
        example=_describe_example(view, values, outcome, worst),
        assumptions=ASSUMPTIONS,
        worst=tuple(view.people.rows[outcome.person[order[:WORST_LISTED]]].tolist()),
        witness=_build_witness(view, outcome, worst),
        details=details,
    )


def _describe(values: Histogram, outcome: _Outcome, details: dict[str, Any]) -> str:
    people, examined = len(outcome.exposed), len(outcome.classes)
    text = (
        f"Knowing the method makes the {values.axis.name} of {outcome.exposed.sum():,} of "
        f"{people:,} people more certain than their class does (examined: {examined:,} of "
        f"{details['classes']:,} classes)"
    )
    if details["classes_that_rule_out_nothing"] == examined:
        text += ": the method leaves these classes whole whoever has which value"
    else:
        percent = 100 * details["worlds_kept"]
        text += f"; {percent:.3g} % of the ways to hand out the values are possible"
    if details["unmeasured_classes"]:
        text += (
            f"; {details['unmeasured_people']:,} people in {details['unmeasured_classes']:,} more "
            f"classes were not measured: none of {details['unmeasured_worlds']:,} ways tried is "
            "possible, and the fewer are, the more they tell"
        )
    return f"{text}."


def _describe_example(view: View, values: Histogram, outcome: _Outcome, i: int) -> str:
    assert view.people is not None
    class_ = outcome.classes[outcome.of[i]]
    value = f" ({view.format_sensitive(int(outcome.value[i]))})" if view.show else ""
    return (
        f"Row {view.people.rows[outcome.person[i]]:,} of the targets is in a class of "
        f"{len(class_.members):,} rows; by the class alone no {values.axis.name} is more than "
        f"{class_.prior:.0%} likely. Of {'all ' if class_.exact else ''}{class_.tried:,} ways "
        "to hand out "
        f"its values{'' if class_.exact else ', drawn at random,'} the method would have left the "
        f"class whole in {class_.n_possible:,}, "
        f"and then the person has the same one{value} with a chance of {outcome.posterior[i]:.0%}."
    )


def _build_witness(view: View, outcome: _Outcome, i: int) -> dict[str, Any]:
    assert view.people is not None
    class_ = outcome.classes[outcome.of[i]]
    value = {"value": view.format_sensitive(int(outcome.value[i]))} if view.show else {}
    return {
        "row": int(view.people.rows[outcome.person[i]]),
        "class": class_.number,
        "rows": len(class_.members),
        "worlds": class_.tried,
        "worlds_kept": class_.n_possible,
        "exact": class_.exact,
        "prior": class_.prior,
        "posterior": float(outcome.posterior[i]),
        "posterior_at_least": float(outcome.posterior_low[i]),
        **value,
        **show_labels(view, class_.number),
    }
