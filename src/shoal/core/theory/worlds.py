"""Belief: how certain somebody is of one person's value, given what they know.

Random worlds: in each class every way of dealing its values to its people is equally likely, and
classes are independent. The belief in an atom is the share of the worlds that agree with the
knowledge in which the atom holds, Pr(atom | knowledge) (Martin, Kifer, Machanavajjhala, Gehrke and
Halpern: Worst-case background knowledge for privacy-preserving data publishing, 2007). To compute
it is #P-hard in general (their Theorem 8).

Exact: only the people mentioned are dealt values, one after the other and without replacement, and
values that nobody mentions are one value, "other". Worlds that leave the same counts and the same
pieces of knowledge undecided are counted together; those that break a piece are dropped; once
every piece holds, the rest is a product. Classes that no chain of pieces joins to the atom are
independent of it: there the knowledge only has to be possible. Beyond `MAX_STEPS` worlds are drawn
at random, and the share comes with Wilson's 95 % interval.

What it does not see: whether the knowledge is true, other columns than the one, what the other
columns or the world at large say about a value ("men rarely have it"), people who are not in the
table, and an adversary who does not know in which class somebody is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress
from operator import index
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import InputError, UsageError
from shoal.core.labels import format_value
from shoal.core.model import parse_whole_number
from shoal.core.release import wilson_interval
from shoal.core.theory.knowledge import Atom, Implication, Knowledge, parse_atom, parse_knowledge

MAX_STEPS = 1_000_000
"""How many steps an exact answer may take: one for each value in each case told apart."""
DRAWS = 200_000
_MIN_AGREEING = 100  # worlds that agree with the knowledge: fewer give no share worth reporting
_BATCH = 2_000_000  # cells of an array held at once, when worlds are drawn

Classes = Sequence[Mapping[Hashable, int]]
_Cases = dict[tuple[int, tuple[int, ...]], int]  # pieces undecided, values left -> how many worlds


class ImpossibleError(InputError):
    """No world agrees with the knowledge."""


@dataclass(frozen=True)
class Belief:
    """The belief in an atom: `exact`, or the share of `draws` worlds with its `interval`.

    `before` is the belief without any knowledge: the value's share of the person's class.
    """

    probability: float
    exact: Fraction | None
    interval: tuple[float, float] | None
    draws: int
    before: Fraction


class _Deal(NamedTuple):
    """One person's turn: what is left in their class, and what each value decides."""

    counts: tuple[int, ...] | None  # the class's values, "other" last; None after its first person
    left: int  # how many values the class still holds
    settles: NDArray[np.bool_]  # (values, pieces): the piece holds, whatever the others have
    due: int  # the pieces about nobody later, as bits


def belief(
    classes: Classes,
    where: Mapping[str, int],
    knowing: Knowledge | Iterable[Knowledge],
    about: str | Atom,
    *,
    rng: np.random.Generator | None = None,
    most: int = MAX_STEPS,
    draws: int = DRAWS,
) -> Belief:
    """The belief in an atom of somebody who knows a table's classes, and something besides.

    Parameters
    ----------
    classes : sequence of mappings
        The counts of each class's values. Values are compared as written; one that a class does
        not have nobody in it can have.
    where : mapping
        The class of each person mentioned, by number.
    knowing : str, Atom, Implication, or several
        What is known; for the text see `shoal.core.theory.knowledge`.
    about : str or Atom
        What is believed.
    rng : numpy.random.Generator, optional
        Draws worlds where counting them would take too long.
    most : int
        So many steps an exact answer may take; beyond them it is estimated.
    draws : int
        So many worlds are drawn then, of which those count that agree with the knowledge.

    Returns
    -------
    Belief

    Raises
    ------
    InputError
        Where somebody is not in the table, the knowledge contradicts it (`ImpossibleError`), or
        too few of the drawn worlds agree with it.
    UsageError
        Where the knowledge is about several columns, or a class is none.

    Examples
    --------
    >>> men, women = {"flu": 2, "lung": 2, "mumps": 1}, {"flu": 2, "a": 1, "b": 1, "c": 1}
    >>> knows = "Hannah.disease=flu -> Charlie.disease=flu"
    >>> belief([men, women], {"Charlie": 0, "Hannah": 1}, knows, "Charlie.disease=flu").exact
    Fraction(10, 19)
    """
    about = parse_atom(about)
    fact, known = Implication((), (about,)), parse_knowledge(knowing)
    most, draws = parse_whole_number(most, "most", 0), parse_whole_number(draws, "draws", 1)
    _check_classes(classes, where)
    _check_people(classes, where, (fact, *known))
    rng = np.random.default_rng() if rng is None else rng
    own, *others = _parts((fact, *known), where)  # the fact is the first of its part
    for part in others:
        _check_possible(_deals(classes, where, part), len(part), most, draws, rng)
    deals, here = _deals(classes, where, own), classes[where[about.person]]
    counts = _counts(here)
    before = Fraction(counts[about.value], counts.total())
    pieces = (1 << len(own)) - 1
    total = _count_worlds(deals, pieces - 1, most)  # bit 0 is the fact
    if total == 0:
        raise _contradiction()
    true = _count_worlds(deals, pieces, most) if total else None
    if total is None or true is None:
        return _estimate(deals, draws, rng, before)
    exact = Fraction(true, total)
    return Belief(float(exact), exact, None, 0, before)


def _check_classes(classes: Classes, where: Mapping[str, int]) -> None:
    if not isinstance(where, Mapping):
        raise UsageError("Nothing says where the people are.", 'As in where={"Ed": 0}.')
    if not isinstance(classes, Sequence) or not all(
        isinstance(class_, Mapping) for class_ in classes
    ):
        raise UsageError("The classes are no list of counts.", 'As in [{"flu": 2, "mumps": 1}].')
    counts = [count for class_ in classes for count in class_.values()]
    if not all(isinstance(count, int | np.integer) and count >= 0 for count in counts):
        raise UsageError("The counts are not all whole numbers from 0 on.", 'As in {"flu": 2}.')


def _check_people(
    classes: Classes, where: Mapping[str, int], pieces: Sequence[Implication]
) -> None:
    """Raise unless every mentioned person has a place and all atoms are about one column."""
    atoms = [atom for piece in pieces for atom in piece.atoms]
    columns, people = {atom.column for atom in atoms}, {atom.person for atom in atoms}
    if len(columns) > 1:
        fact = f"The knowledge and the question are about {len(columns)} columns."
        raise UsageError(fact, "Write them all about the one column that is learnt.")
    if lost := sum(person not in where for person in people):
        fact = f"Of the people mentioned ({len(people)}), {lost} cannot be found in the table."
        raise InputError(fact, "Check how they are written, or leave out what is about them.")
    if astray := sum(not _is_class(where[person], classes) for person in people):
        fact = f"For {astray} of the people mentioned ({len(people)}) there is no such class."
        raise UsageError(fact, f"Classes are numbered from 0; the last is {len(classes) - 1}.")
    for place, mentioned in Counter(where[person] for person in people).items():
        size = sum(classes[place].values())
        if mentioned > size:
            fact = f"{mentioned} of the people mentioned are in a class of {size}."
            raise ImpossibleError(fact, "Check that no person is mentioned under two names.")


def _is_class(place: object, classes: Classes) -> bool:
    return isinstance(place, int | np.integer) and int(place) in range(len(classes))


def _parts(pieces: Sequence[Implication], where: Mapping[str, int]) -> list[list[Implication]]:
    """The pieces in parts without a class in common, each in the order in which it is joined."""
    parts, rest = [], list(pieces)
    while rest:
        part: list[Implication] = []
        joined, rest = rest[:1], rest[1:]
        while joined:
            part += joined
            places = {where[atom.person] for piece in joined for atom in piece.atoms}
            touch = [any(where[atom.person] in places for atom in piece.atoms) for piece in rest]
            joined = list(compress(rest, touch))
            rest = [piece for piece, touched in zip(rest, touch, strict=True) if not touched]
        parts.append(part)
    return parts


def _counts(class_: Mapping[Hashable, int]) -> Counter[str]:
    """A class's values as they are written in atoms."""
    counts: Counter[str] = Counter()
    for value, count in class_.items():
        counts[format_value(value)] += index(count)  # a number of any length: products of them grow
    return counts


def _deals(
    classes: Classes, where: Mapping[str, int], pieces: Sequence[Implication]
) -> list[_Deal]:
    """The people whom the pieces mention, class by class in the order of their mention."""
    atoms = [atom for piece in pieces for atom in piece.atoms]
    crowd: dict[int, dict[str, None]] = {}
    for atom in atoms:
        crowd.setdefault(where[atom.person], {})[atom.person] = None
    order = {person: n for n, person in enumerate(p for people in crowd.values() for p in people)}
    ends = [max(order[atom.person] for atom in piece.atoms) for piece in pieces]
    deals = []
    for place, people in crowd.items():
        counts = _counts(classes[place])
        values = sorted(
            {atom.value for atom in atoms if atom.person in people and counts[atom.value]}
        )
        size, held = counts.total(), [counts[value] for value in values]
        start = (*held, size - sum(held))
        for turn, person in enumerate(people):
            due = sum(1 << n for n, end in enumerate(ends) if end == order[person])
            settles = _settles(person, values, pieces)
            deals.append(_Deal(None if turn else start, size - turn, settles, due))
    return deals


def _settles(
    person: str, values: Sequence[str], pieces: Sequence[Implication]
) -> NDArray[np.bool_]:
    """(values and "other", pieces): whether the person's value alone makes the piece hold."""

    def holds(piece: Implication, value: str | None) -> bool:
        broken = any(atom.person == person and atom.value != value for atom in piece.given)
        return broken or any(atom.person == person and atom.value == value for atom in piece.then)

    return np.array([[holds(piece, value) for piece in pieces] for value in (*values, None)])


def _count_worlds(deals: Sequence[_Deal], pieces: int, most: int) -> int | None:
    """How many ways of dealing agree with the pieces (bits); None where it takes too long."""
    cases: _Cases = {(pieces, ()): 1}
    spent = 0
    for deal in deals:
        bits = [sum(1 << int(n) for n in np.flatnonzero(row)) for row in deal.settles]
        spent += len(bits) * len(cases)
        if spent > most:
            return None
        cases = _deal_once(cases, deal, bits)
    return sum(cases.values())


def _deal_once(cases: _Cases, deal: _Deal, settles: Sequence[int]) -> _Cases:
    after: _Cases = defaultdict(int)
    for (open_, counts), ways in cases.items():
        if not open_:  # whatever the others have: nothing more to tell apart
            after[0, ()] += ways * deal.left
            continue
        counts = counts if deal.counts is None else deal.counts
        for value, count in enumerate(counts):
            still = open_ & ~settles[value]
            if count and not still & deal.due:
                left = (*counts[:value], count - 1, *counts[value + 1 :]) if still else ()
                after[still, left] += ways * count
    return after


def _draw_worlds(deals: Sequence[_Deal], draws: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(draws, pieces): which pieces hold in worlds drawn at random."""
    holds = np.zeros((draws, deals[0].settles.shape[1]), dtype=bool)
    counts = np.empty((0, 0), dtype=np.int64)
    for deal in deals:
        if deal.counts is not None:
            counts = np.tile(np.array(deal.counts, dtype=np.int64), (draws, 1))
        place = rng.integers(deal.left, size=(draws, 1))
        value = (place >= counts.cumsum(axis=1)).sum(axis=1)
        counts[np.arange(draws), value] -= 1
        holds |= deal.settles[value]
    return holds


def _batches(
    deals: Sequence[_Deal], draws: int, rng: np.random.Generator
) -> Iterator[NDArray[np.bool_]]:
    size = max(1, _BATCH // max(max(deal.settles.shape) for deal in deals))
    for start in range(0, draws, size):
        yield _draw_worlds(deals, min(size, draws - start), rng)


def _estimate(
    deals: Sequence[_Deal], draws: int, rng: np.random.Generator, before: Fraction
) -> Belief:
    """The share of the drawn worlds with the first piece among those with all the others."""
    agreeing = true = 0
    for holds in _batches(deals, draws, rng):
        agree = holds[:, 1:].all(axis=1)
        agreeing += int(agree.sum())
        true += int((agree & holds[:, 0]).sum())
    if agreeing < _MIN_AGREEING:
        raise _too_few(agreeing, draws)
    return Belief(true / agreeing, None, wilson_interval(true, agreeing), agreeing, before)


def _check_possible(
    deals: Sequence[_Deal], pieces: int, most: int, draws: int, rng: np.random.Generator
) -> None:
    worlds = _count_worlds(deals, (1 << pieces) - 1, most)
    if worlds == 0:
        raise _contradiction()
    if worlds is None and not any(h.all(axis=1).any() for h in _batches(deals, draws, rng)):
        raise _too_few(0, draws)


def _contradiction() -> ImpossibleError:
    hint = "Leave out pieces until it does not; what nobody in a class has cannot be known there."
    return ImpossibleError("The knowledge contradicts the table.", hint)


def _too_few(agreeing: int, draws: int) -> InputError:
    fact = (
        f"The knowledge is too long to count with, and of {draws:,} worlds drawn {agreeing} agree."
    )
    return InputError(fact, "Leave out pieces, or allow more steps (most) or more draws (draws).")
