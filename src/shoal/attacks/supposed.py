"""Knowledge that somebody is supposed to have: how sure it makes of what is asked.

Of a class's people nobody knows whose value is which: every way to deal its values out to them is
equally likely (random worlds), and the belief is the share, of the ways that the knowledge allows,
in which what is asked is true. Where a person could be in several classes, every combination of
the people's classes is tried, those dropped in which the knowledge is impossible, and the largest
belief is told, as the most that somebody could come to believe.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, section 2.

It does not say whether anybody knows it, nor which combination of classes is the true one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from shoal.attacks.meant import Somebody, called, codes, people, said, same_column
from shoal.attacks.view import Published, View, named
from shoal.attacks.worded import counted, rank, share
from shoal.disclosure import MOST as MOST_PIECES
from shoal.errors import InputError
from shoal.histogram import Histogram
from shoal.knowledge import Atom, Implication
from shoal.model import written
from shoal.release import Finding
from shoal.worlds import DRAWS, MOST, Belief, ImpossibleError, belief

RANDOM_WORLDS = (
    "the adversary knows that the people are in the release, and each one's class",
    "every way to deal a class's values out to its people is equally likely (random worlds)",
)
DEFENCE = "ask for safety from so many pieces of knowledge: {requirement}."
COMBINATIONS = 10_000
"""So many combinations of the classes that people could be in are tried."""
_STEPS, _DRAWS = 1_000, 2_000  # what each combination is allowed at least


@dataclass(frozen=True)
class _Case:
    """A question with what is known, whom it speaks of, and what follows in each combination."""

    view: View
    values: Histogram
    about: Atom
    knowing: Sequence[Implication]
    codes: Mapping[str, int]
    people: Mapping[str, Somebody]
    who: Somebody
    """The person asked about."""
    believed: Sequence[tuple[int, Belief]]
    """Of each combination that is possible: that person's class, and the belief."""

    @cached_property
    def most(self) -> tuple[int, Belief]:
        """The combination that gives most away."""
        return max(self.believed, key=lambda one: _told(one[1]))

    @cached_property
    def least(self) -> Belief:
        """The belief in the one that gives least away."""
        return min((found for _, found in self.believed), key=_told)

    @property
    def several(self) -> int:
        """How many of the people fit several classes."""
        return sum(len(one.classes) > 1 for one in self.people.values())

    @property
    def combinations(self) -> int:
        """The combinations of classes that there are, possible or not."""
        return prod(len(one.classes) for one in self.people.values())

    def count(self, class_: int) -> tuple[int, int]:
        """How many of a class have the value asked about, and how many there are."""
        found, counts = self.values.of_class(class_)
        there = dict(zip(found, counts, strict=True))
        return there.get(self.codes[self.about.value], 0), sum(counts)

    @property
    def by_class(self) -> Fraction:
        """The belief without any knowledge: the value's share of a class, the largest."""
        return max(Fraction(*self.count(class_)) for class_ in self.who.classes)


def supposed(
    view: View,
    release: Published,
    values: Histogram,
    about: Atom,
    knowing: Sequence[Implication],
    sure: Fraction,
    rng: np.random.Generator | None = None,
) -> Finding:
    """How sure the knowledge makes somebody of what it is asked ``about``."""
    atoms = said(about, knowing)
    same_column(atoms, values.axis.name)
    of_word, who = codes(view, atoms), people(view, release, atoms)
    believed = _believed(values, of_word, who, about, knowing, rng)
    case = _Case(view, values, about, knowing, of_word, who, who[called(about)], believed)
    reached = any(_most(found) >= sure for _, found in believed)
    return Finding(
        attack="background",
        people=1,
        exposed=int(reached),
        sure=case.most[1].probability,
        guessing=float(values.total[of_word[about.value]] / values.total.sum()),
        sentence=_sentence(case),
        defence=_defence(view, sure, len(knowing), reached),
        example=_example(case),
        assumptions=_assumptions(case),
        worst=(case.who.row,),
        table=case.who.table,
        witness=_witness(case),
        details=_details(case, sure),
    )


def _believed(
    values: Histogram,
    of_word: Mapping[str, int],
    who: Mapping[str, Somebody],
    about: Atom,
    knowing: Sequence[Implication],
    rng: np.random.Generator | None,
) -> list[tuple[int, Belief]]:
    """In each combination of the people's classes: the class asked about, and the belief."""

    def coded(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
        return tuple(Atom(called(a), a.column, str(of_word[a.value])) for a in atoms)

    number = _few(prod(len(one.classes) for one in who.values()))
    budget = {"most": max(MOST // number, _STEPS), "draws": max(DRAWS // number, _DRAWS)}
    pieces = [Implication(coded(one.given), coded(one.then)) for one in knowing]
    (asked,) = coded([about])
    every = sorted({class_ for one in who.values() for class_ in one.classes})
    counts = {class_: _by_code(values, class_) for class_ in every}
    found: list[tuple[int, Belief]] = []
    impossible: ImpossibleError | None = None
    for combination in product(*(one.classes for one in who.values())):
        at = dict(zip(who, combination, strict=True))
        here = sorted(set(combination))
        where = {name: here.index(class_) for name, class_ in at.items()}
        try:
            one = belief([counts[c] for c in here], where, pieces, asked, rng=rng, **budget)
        except ImpossibleError as error:
            impossible = error
        else:
            found.append((at[asked.person], one))
    if impossible is not None and not found:
        raise impossible if number == 1 else _nowhere(number)
    return found


def _few(number: int) -> int:
    if number > COMBINATIONS:
        raise InputError(
            f"The people whom the knowledge names could be in {number:,} combinations of classes; "
            f"at most {COMBINATIONS:,} are tried.",
            "write #7 for the person of row 7 of the release, or give targets with more columns.",
        )
    return number


def _nowhere(number: int) -> ImpossibleError:
    return ImpossibleError(
        f"The knowledge contradicts the table in all {number:,} combinations of classes that the "
        "people could be in.",
        "leave out pieces until it does not.",
    )


def _by_code(values: Histogram, class_: int) -> dict[Hashable, int]:
    return {str(code): n for code, n in zip(*values.of_class(class_), strict=True)}


def _most(found: Belief) -> Fraction:
    """The belief; of one that was sampled the most that it may be."""
    if found.exact is not None:
        return found.exact
    return Fraction(found.probability if found.interval is None else found.interval[1])


def _told(found: Belief) -> float | Fraction:
    return found.probability if found.exact is None else found.exact


def _defence(view: View, sure: Fraction, pieces: int, reached: bool) -> str:
    if not reached:
        return f"nothing is needed at {share(float(sure))}: what is known does not make so sure."
    k = min(max(pieces, 1), MOST_PIECES)
    return DEFENCE.format(requirement=view.about(f"ck-safety c={written(sure)} k={k}"))


def _assumptions(case: _Case) -> tuple[str, ...]:
    told = (*RANDOM_WORLDS, "what the adversary is supposed to know is true")
    if not case.several:
        return told
    return (
        "the adversary knows that the people are in the release, and takes who fits several "
        "classes to be where the knowledge tells most",
        *told[1:],
    )


def _sentence(case: _Case) -> str:
    name, up_to = case.values.axis.name, "up to " if case.several else ""
    alone = share(case.by_class)
    if not case.knowing:
        return (
            f"The class alone makes one {up_to}{alone} sure of the {name} asked about."
            f"{_combined(case)}"
        )
    pieces = counted(len(case.knowing), "piece", "pieces")
    return (
        f"Whoever has {pieces} of knowledge, about {counted(len(case.people), 'person', 'people')}"
        f", is {up_to}{share(_told(case.most[1]))} sure of the {name} asked about"
        f"{_between(case.most[1])}; by the class alone, {up_to}{alone}.{_combined(case)}"
    )


def _between(found: Belief) -> str:
    if found.interval is None:
        return ""
    low, high = found.interval
    return f" (95 % interval {low:.1%} to {high:.1%}, from {found.draws:,} draws)"


def _combined(case: _Case) -> str:
    """That people fit several classes, and how far that leaves the belief open."""
    if not case.several:
        return ""
    who = counted(case.several, "person fits", "people fit")
    possible, every = len(case.believed), case.combinations
    ways = counted(possible, "combination", "combinations")
    left = f" (of {every:,}; in the others the knowledge is impossible)" if possible < every else ""
    low, high = share(_told(case.least)), share(_told(case.most[1]))
    return (
        f" {who} several classes of the release: over {ways} of classes{left} the belief is "
        f"{low if low == high else f'{low} to {high}'}."
    )


def _example(case: _Case) -> str:
    (class_, found), name, who = case.most, case.values.axis.name, case.who
    there, size = case.count(class_)
    table = "the targets" if who.table == "targets" else "the release"
    within = f"is in a class of {size:,}"
    if len(who.classes) > 1:
        within = f"fits {len(who.classes):,} classes, and the one that tells most is of {size:,}"
    have = counted(there, "has", "have") if there else "none has"
    told = (
        f"The person of row {who.row:,} of {table} {within}, of which {have} the {name} asked about"
    )
    if case.knowing:
        told += (
            f": {share(Fraction(there, size))}. What the adversary knows makes that "
            f"{share(_told(found))}"
        )
    if not case.view.show:
        return f"{told}."
    known = "".join(f"\nKnown: {one}" for one in case.knowing)
    return f"{told}.\nAsked: {case.about}{known}"


def _witness(case: _Case) -> dict[str, Any]:
    class_, code = case.most[0], case.codes[case.about.value]
    there, size = case.count(class_)
    shown: dict[str, Any] = {}
    if case.view.show:
        shown = {"about": str(case.about), "knowing": [str(one) for one in case.knowing]}
    return {
        "row": case.who.row,
        "class": class_,
        "classes": len(case.who.classes),
        "rows": size,
        "with_the_value": there,
        "rank": rank(case.values, class_, code) if there else None,
        **shown,
        **named(case.view, class_),
    }


def _details(case: _Case, sure: Fraction) -> dict[str, Any]:
    highest, lowest = case.most[1], case.least
    return {
        "sure": float(sure),
        "pieces": len(case.knowing),
        "people_mentioned": len(case.people),
        "people_in_several_classes": case.several,
        "exact": _exact(highest),
        "by_class_alone": str(case.by_class),
        "combinations": case.combinations,
        "combinations_possible": len(case.believed),
        "highest": highest.probability,
        "lowest": lowest.probability,
        "lowest_exact": _exact(lowest),
        "draws": highest.draws,
        "interval": highest.interval,
    }


def _exact(found: Belief) -> str | None:
    return None if found.exact is None else str(found.exact)
