"""The worst case of background knowledge: what tells most about a release, and told as a story.

The people of a class are alike to it, so that its first rows stand for them. The story says the
pieces one by one, or how many it tells at once; values by how common they are in their class, or
by name where they may be shown.

It does not choose the knowledge: see ``shoal.disclosure``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.view import Published, View
from shoal.attacks.worded import common, counted, is_null, rank, share
from shoal.disclosure import Known, Witness, each, witness
from shoal.histogram import Histogram
from shoal.knowledge import Atom, Implication


@dataclass(frozen=True)
class Case:
    """The worst case of a release: the knowledge that tells most, and how far it goes by class."""

    view: View
    release: Published
    values: Histogram
    pieces: int
    knowledge: str
    each: NDArray[np.float64]
    """Of each class: the largest belief about somebody in it."""
    witness: Witness
    missing: int = 0
    """How many rows have a value that nobody knows."""

    @classmethod
    def of(
        cls, view: View, release: Published, values: Histogram, pieces: int, knowledge: str
    ) -> Case:
        """The worst that so many pieces can do; values that nobody knows are as bad as can be."""
        missing, values = int(values.blanks.sum()), values.concentrated
        most = each(values, pieces, knowledge)
        told = witness(values, pieces, knowledge)
        return cls(view, release, values, pieces, knowledge, most, told, missing)

    def row(self, known: Known) -> int:
        """A row that stands for the person: the first, second, … of the class in the file."""
        first = self.release.first_rows
        return int(first[self.release.class_[first] == known.class_][known.person]) + 1

    def atom(self, known: Known) -> Atom:
        """The atom, about a row of the release."""
        return Atom(f"#{self.row(known)}", self.values.axis.name, self.view.value(known.value))

    def piece(self, known: Known) -> Implication:
        """The piece that an atom stands for: it implies the target's, or is denied."""
        denied = person_of(known) == person_of(self.witness.target)
        return Implication((self.atom(known),), () if denied else (self.atom(self.witness.target),))


def person_of(known: Known) -> tuple[int, int]:
    """The person that an atom is about: a class, and a number in it."""
    return known.class_, known.person


def story(case: Case) -> str:
    """The worst case in words: who would have to know what, and of whom it tells what."""
    target, others = case.witness.target, case.witness.others
    who, size = f"row {case.row(target):,}'s person", int(case.values.rows[target.class_])
    end = f"is {share(case.witness.disclosure)} sure that {who} {_has(case, [target])}."
    if not others:
        return f"Whoever finds the class of {who}, of {size:,} rows, {end}{_enough(case)}"
    known = list(_known(case, who))
    if len(known) == 1:
        comma = "," if known[0].startswith("that if") else ""
        return f"Whoever knows {known[0]}{comma} {end}{_enough(case)}"
    pieces = counted(len(others), "piece", "pieces")
    listed = f"{'; '.join(known[:-1])}; and {known[-1]}"
    return f"Suppose that somebody knows {pieces}: {listed}. Whoever does {end}{_enough(case)}"


def _known(case: Case, who: str) -> Iterator[str]:
    """The pieces, person by person: what the target does not have, and what implies her value."""
    target = case.witness.target
    by_person: dict[tuple[int, int], list[Known]] = {}
    for one in case.witness.others:
        by_person.setdefault(person_of(one), []).append(one)
    if denied := by_person.pop(person_of(target), None):
        yield f"that {who} {_lacks(case, denied)}{_number(denied)}"
    for some in by_person.values():
        if_ = f"row {case.row(some[0]):,}'s person {_has(case, some)}"
        yield f"that if {if_}, then {who} {_has(case, [target])}{_number(some)}"


def _number(some: Sequence[Known]) -> str:
    """How many pieces were told as one, so that a reader can count them."""
    return "" if len(some) == 1 else f" ({len(some)} pieces)"


def _has(case: Case, some: Sequence[Known]) -> str:
    """That somebody has one of some values of a class."""
    name = case.values.axis.name
    missing, there = _missing(case, some)
    if not there:
        return f"has no {name}"
    return f"has {_value(case, there)}{' or none' if missing else ''}"


def _lacks(case: Case, some: Sequence[Known]) -> str:
    """That somebody has none of some values of a class."""
    name = case.values.axis.name
    missing, there = _missing(case, some)
    if not there:
        return f"is not without a {name}"
    return f"does not have {_value(case, there)}{' and is not without one' if missing else ''}"


def _missing(case: Case, some: Sequence[Known]) -> tuple[bool, list[Known]]:
    """Whether no value at all is among some that are shown, and the others."""
    if not case.view.show:
        return False, list(some)
    there = [one for one in some if not is_null(case.view, one.value)]
    return len(there) < len(some), there


def _value(case: Case, some: Sequence[Known]) -> str:
    """One of some values of a class, in words."""
    name, class_ = case.values.axis.name, some[0].class_
    if case.view.show:
        return f"the {name} {_either([case.view.value(one.value) for one in some])}"
    words = _either([common(rank(case.values, class_, one.value)) for one in some])
    return f"the {words} {name} of {'the' if class_ == case.witness.target.class_ else 'its'} class"


def _either(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _enough(case: Case) -> str:
    """That fewer pieces do, where they do."""
    used = len(case.witness.others)
    if used == case.pieces:
        return ""
    if not used:
        return " No piece of knowledge is needed."
    return f" {counted(used, 'piece is', 'pieces are')} enough: more add nothing."
