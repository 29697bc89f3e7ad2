"""Minimality: a method that generalises only as far as it must tells why it stopped.

The adversary knows the method and its rule, the quasi-identifiers of everybody in the release,
and the release. A class is a group of people that the method could not cut further. So of all
the worlds (ways to hand out the class's values to its people) only those are possible in which
the method, given these people with these values, leaves them whole. Worlds are drawn at random;
a person's posterior for a value is its share among the possible ones, where before it was the
value's share in the class.

Wong, Fu, Wang, Pei: Minimality attack in privacy preserving data publishing, VLDB 2007.

A person is exposed when a value's posterior is above the share of the class's most common value
by more than chance: the lower end of its Wilson interval, at 95 % for all the people and values
examined together (Bonferroni), is higher.

It does not see what a method that does not cut from the top reveals, what classes tell about each
other, nor classes it did not draw: at most ``classes`` are examined. Posteriors are those of the
drawn worlds, ``worlds`` a class on average, most of them where any world is ruled out; where few
are possible only large gains are found, and more ``worlds`` find more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.homogeneity import named, single
from shoal.attacks.view import WORST, Needs, NobodyFoundError, People, Published, View
from shoal.errors import InputError, NotMetError
from shoal.model import whole
from shoal.release import Finding
from shoal.tally import Cut, Histogram, Tally

NEEDS = Needs(releases=1, most=1, people=True, method=True)
DOUBT = 0.05
FEW = 50
"""Worlds that tell whether a class rules out any; one that keeps them all rules out few."""

ASSUMPTIONS = (
    "the adversary knows the method and its rule",
    "the adversary knows the quasi-identifiers of everybody in the release, and who is in it",
    "the method cuts from the top: a class is a group that it would not cut further",
)


def minimality(
    view: View,
    *,
    rng: np.random.Generator | None = None,
    worlds: int = 200,
    classes: int = 50,
) -> Finding:
    """Rule out the ways to hand out a class's values that the method would have cut further."""
    release, values = single(view)
    if view.people is None or view.method is None:
        raise InputError(
            "Minimality needs the people of the release and the method that made it.",
            "give the people as targets, and a release folder: its manifest names the method.",
        )
    rng = rng or np.random.default_rng(0)
    worlds, classes = whole(worlds, "worlds", 1), whole(classes, "classes", 1)
    class_of, usable = _located(release, view.people)
    chosen = rng.permutation(_canonical(release, usable))[:classes]
    drawn = [_Class.of(view, values, class_of, int(number)) for number in chosen]
    _draw(drawn, worlds, rng)
    examined = [one for one in drawn if one.kept]
    if not examined:
        raise InputError(
            f"The method would have cut each of the {len(drawn):,} examined classes further, so "
            "it did not make this release.",
            "give the method and rule that made it, and exactly the people in it.",
        )
    details = {
        "classes": len(usable),
        "skipped_classes": int((~usable).sum()),
        "examined_classes": len(examined),
        "contradicted_classes": len(drawn) - len(examined),
        "worlds": sum(one.drawn for one in examined),
        "worlds_kept": float(np.mean([one.kept / one.drawn for one in examined])),
        "classes_that_rule_out_nothing": sum(one.rules_out_nothing for one in examined),
    }
    return _finding(view, values, _Outcome.of_classes(examined), details)


def _located(release: Published, people: People) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The only class that holds each person (-1: none or several), and which classes are usable:
    those whose cells hold as many people as they have rows, and nobody who could be elsewhere.
    """
    start, classes = release.cells.contains(people.keys)
    person = np.repeat(np.arange(len(people)), np.diff(start))
    only = (np.diff(start) == 1)[person]
    class_of = np.full(len(people), -1, dtype=np.int64)
    class_of[person[only]] = classes[only]
    covered, sure = (np.bincount(c, minlength=len(release.cells)) for c in (classes, classes[only]))
    usable = (covered == release.rows) & (sure == release.rows)
    if not usable.any():
        raise NobodyFoundError(
            f"In none of the {len(usable):,} classes are as many people known as it has rows.",
            "give as targets exactly the people in the release, one row each.",
        )
    return class_of, usable


def _canonical(release: Published, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The usable classes in an order that the order of rows does not change."""
    number, cells = np.flatnonzero(usable), release.cells
    ends = np.concatenate((cells.low, cells.high), axis=1)[number]
    return number[np.lexsort(ends.T[::-1])]


@dataclass
class _Class:
    """One class: its people and values, and how many of its drawn worlds are possible."""

    number: int
    members: NDArray[np.int64]
    """Numbers of the people, ascending by their keys ..."""
    kind: NDArray[np.int64]
    """... which of the distinct keys each has ..."""
    codes: NDArray[np.int32]
    """... and the values of the class, with how many of them have each."""
    counts: NDArray[np.int64]
    possible: Callable[[NDArray[Any]], bool]
    times: NDArray[np.int64]
    """(values, people): in how many of the possible worlds a person has a value."""
    drawn: int = 0
    kept: int = 0

    @classmethod
    def of(cls, view: View, values: Histogram, class_of: NDArray[Any], number: int) -> _Class:
        assert view.people is not None
        members = np.flatnonzero(class_of == number)
        keys, kind = np.unique(view.people.keys[:, members], axis=1, return_inverse=True)
        order = np.argsort(kind, kind="stable")  # whatever the order of the targets
        codes, counts = (np.array(part) for part in values.of_class(number))
        possible = _possible(view, values, keys, kind[order])
        times = np.zeros((len(codes), len(members)), dtype=np.int64)
        return cls(number, members[order], kind[order], codes, counts, possible, times)

    @property
    def rules_out_nothing(self) -> bool:
        """Every world that was drawn is possible."""
        return self.kept == self.drawn

    @property
    def prior(self) -> float:
        """The share of the most common value."""
        return float(self.counts.max() / self.counts.sum())

    def draw(self, worlds: int, rng: np.random.Generator) -> None:
        """Hand out the values at random so many times more; count the possible worlds."""
        values = np.repeat(self.codes, self.counts)
        drawn = rng.permuted(np.tile(values, (worlds, 1)), axis=1)
        kept = drawn[[self.possible(world) for world in drawn]]
        self.drawn, self.kept = self.drawn + worlds, self.kept + len(kept)
        self.times += np.stack([(kept == code).sum(axis=0) for code in self.codes])

    def posterior(self) -> NDArray[np.float64]:
        """(values, people): the share of each value among the possible worlds."""
        if self.rules_out_nothing:  # the class's own shares, without the noise of the draw
            return np.tile(self.counts / self.counts.sum(), (len(self.members), 1)).T
        alike = np.bincount(self.kind)  # what is true of one is true of all with equal keys
        pooled = np.stack([np.bincount(self.kind, row) for row in self.times])
        return np.asarray((pooled / alike / self.kept)[:, self.kind])


def _draw(classes: list[_Class], worlds: int, rng: np.random.Generator) -> None:
    """``worlds`` draws for each class on average: a few to see whether any world is ruled out,
    and all the rest where some are.
    """
    few = min(FEW, worlds)
    for one in classes:
        one.draw(few, rng)
    telling = [one for one in classes if one.kept < one.drawn]
    for one in telling:
        one.draw((worlds - few) * len(classes) // len(telling), rng)


def _possible(
    view: View, values: Histogram, keys: NDArray[Any], kind: NDArray[Any]
) -> Callable[[NDArray[Any]], bool]:
    """Whether the method would leave people with ``keys[:, kind]`` whole, by their values."""
    assert view.method is not None
    method, size = view.method, values.axis.size
    known: dict[bytes, bool] = {}

    def answer(world: NDArray[Any]) -> bool:
        pair, count = np.unique(kind * size + world, return_counts=True)
        same = pair.tobytes() + count.tobytes()  # people with equal keys may swap their values
        if same not in known:
            handed = (pair % size).astype(np.int32)[np.newaxis]
            there, total = keys[:, pair // size], (values.total,)
            tally = Tally(view.axes, (values.axis,), there, handed, count, reference=total)
            known[same] = _one_class(method, tally)
        return known[same]

    return answer


def _one_class(method: Callable[[Tally], Cut], people: Tally) -> bool:
    try:
        cut = method(people)
    except NotMetError:  # together they break the rule, so the method did not publish them so
        return False
    return cut.classes == 1 and not cut.held_back


@dataclass(frozen=True)
class _Outcome:
    """The people of all examined classes, one entry each."""

    classes: list[_Class]
    of: NDArray[np.int64]
    """Each person's place in ``classes``."""
    person: NDArray[np.int64]
    value: NDArray[np.int32]
    """The likeliest value of each person ..."""
    share: NDArray[np.float64]
    """... its posterior, the lower end of that, and what the class alone says at most."""
    lower: NDArray[np.float64]
    prior: NDArray[np.float64]

    @classmethod
    def of_classes(cls, classes: list[_Class]) -> _Outcome:
        """Put the classes' people side by side and judge all their posteriors together."""
        of = np.repeat(np.arange(len(classes)), [len(one.members) for one in classes])
        shares = [one.posterior() for one in classes]
        pairs = zip(classes, shares, strict=True)
        value = np.concatenate([one.codes[share.argmax(axis=0)] for one, share in pairs])
        share = np.concatenate([share.max(axis=0) for share in shares])
        compared = sum(one.times.size for one in classes if not one.rules_out_nothing)
        z = NormalDist().inv_cdf(1 - DOUBT / 2 / max(compared, 1))
        kept, prior = np.array([(one.kept, one.prior) for one in classes]).T[:, of]
        person = np.concatenate([one.members for one in classes])
        return cls(classes, of, person, value, share, _wilson(share, kept, z), prior)

    @property
    def exposed(self) -> NDArray[np.bool_]:
        """Who has a value more certain than any is by the class alone, beyond chance."""
        return self.lower > self.prior

    def worst_first(self, people: People) -> NDArray[np.int64]:
        """The exposed, then the others; each by gain, posterior and row."""
        gain = self.share - self.prior
        return np.lexsort((people.rows[self.person], -self.share, -gain, ~self.exposed))


def _wilson(share: NDArray[Any], of: NDArray[Any], z: float) -> NDArray[np.float64]:
    """The lower end of the Wilson interval of a share."""
    middle = share + z * z / (2 * of)
    spread = z * np.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return np.asarray((middle - spread) / (1 + z * z / of))


def _finding(view: View, values: Histogram, outcome: _Outcome, details: dict[str, Any]) -> Finding:
    assert view.people is not None
    order, hit = outcome.worst_first(view.people), outcome.exposed
    worst = int(order[0])
    details["largest_gain"] = float((outcome.share - outcome.prior).max())
    if view.people.values is not None:
        truth = view.people.values[outcome.person]
        details["exposed_right"] = int((outcome.value == truth)[hit].sum())
    return Finding(
        attack="minimality",
        people=len(hit),
        exposed=int(hit.sum()),
        sure=float(outcome.share[worst]),
        guessing=float(values.total.max() / values.total.sum()),
        sentence=_sentence(values, outcome, details),
        defence="use a rule that does not depend on who has which value (k-anonymity), a method "
        "that does not stop at the last possible cut, or differential privacy.",
        example=_example(view, values, outcome, worst),
        assumptions=ASSUMPTIONS,
        worst=tuple(view.people.rows[outcome.person[order[:WORST]]].tolist()),
        witness=_witness(view, outcome, worst),
        details=details,
    )


def _sentence(values: Histogram, outcome: _Outcome, details: dict[str, Any]) -> str:
    hit, examined = outcome.exposed, len(outcome.classes)
    said = (
        f"Knowing the method makes the {values.axis.name} of {hit.sum():,} of {len(hit):,} people "
        f"more certain than their class does (examined: {examined:,} of {details['classes']:,} "
        "classes)"
    )
    if details["classes_that_rule_out_nothing"] == examined:
        return f"{said}: the method leaves these classes whole whoever has which value."
    return f"{said}; {details['worlds_kept']:.0%} of the ways to hand out the values are possible."


def _example(view: View, values: Histogram, outcome: _Outcome, i: int) -> str:
    assert view.people is not None
    one = outcome.classes[outcome.of[i]]
    value = f" ({view.value(int(outcome.value[i]))})" if view.show else ""
    return (
        f"Row {view.people.rows[outcome.person[i]]:,} of the targets is in a class of "
        f"{len(one.members):,} rows; by the class alone no {values.axis.name} is more than "
        f"{one.prior:.0%} likely. Of {one.drawn:,} ways to hand out its values the method would "
        f"have left the class whole in {one.kept:,}, and in {outcome.share[i]:.0%} of those the "
        f"person has the same one{value}."
    )


def _witness(view: View, outcome: _Outcome, i: int) -> dict[str, Any]:
    assert view.people is not None
    one = outcome.classes[outcome.of[i]]
    value = {"value": view.value(int(outcome.value[i]))} if view.show else {}
    return {
        "row": int(view.people.rows[outcome.person[i]]),
        "class": one.number,
        "rows": len(one.members),
        "worlds": one.drawn,
        "worlds_kept": one.kept,
        "prior": one.prior,
        "posterior": float(outcome.share[i]),
        "posterior_at_least": float(outcome.lower[i]),
        **value,
        **named(view, one.number),
    }
