"""Worst-case disclosure: how sure k pieces of knowledge can make somebody of anybody's value.

Random worlds: within a class every assignment of its sensitive values to its people is equally
likely, and classes are independent. A piece of knowledge is a basic implication, "if these people
have these values, then one of those people has that value". The maximum disclosure with k pieces
is the largest Pr(person has value | table and knowledge) over all people, values and conjunctions
of k basic implications. It is attained by k simple implications with one common consequent, the
target's atom A (theorem 9), and then equals 1 / (1 + r), where r is the smallest
Pr(none of A, A_1, …, A_k is true) / Pr(A).

``negations`` is the weaker adversary of l-diversity, who knows k values that people do not have:
max h_0 / (n − h_1 − … − h_k) over the classes, h_i their counts in descending order.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007. (For the paper's Figure 3 and k = 1 the paper prints
10/19, of one implication; the maximum is 2/3.)

It does not say how likely it is that anybody knows such a thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.attained import Attained, Share, Signature, attained
from shoal.errors import InputError, UsageError
from shoal.kernels import disclose
from shoal.kernels.threads import share_out
from shoal.model import NEAR, whole
from shoal.tally import Histogram

IMPLICATIONS, NEGATIONS = "implications", "negations"
"""What a piece of knowledge is."""
MOST = 40
"""So many pieces are counted with: products of more chances could be too small for floats."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """An atom: the ``person``-th of a class (any people of it, all different) has a value."""

    class_: int
    person: int
    value: int


@dataclass(frozen=True)
class Witness:
    """The knowledge that discloses most: each of ``others``, if true, implies the ``target``.

    One about the target's own person is a negation: she cannot have two values.
    """

    disclosure: Fraction
    target: Known
    others: tuple[Known, ...] = ()


def max_disclosure(
    histograms: Any, k: int, *, knowledge: str = IMPLICATIONS, exact: bool = False
) -> list[float] | list[Fraction]:
    """The largest belief that 0, 1, …, k pieces of knowledge can give, of classes given by counts.

    ``histograms`` has for each class its counts (a sequence, a mapping from values to counts, or
    a row of an array). ``exact`` returns fractions.

    >>> max_disclosure([[2, 2, 1], [2, 1, 1, 1]], 2, exact=True)
    [Fraction(2, 5), Fraction(2, 3), Fraction(1, 1)]
    """
    signed = Signed.of(*_counted(histograms), _atoms(k, knowledge))
    if not exact:
        return list(map(float, signed.curve(knowledge)))
    if knowledge == NEGATIONS:
        return [max(told for told, _ in signed.negated(j)) for j in range(signed.atoms)]
    return [one.disclosure for one in signed.attained()]


def curve(h: Histogram, k: int, knowledge: str = IMPLICATIONS) -> Floats:
    """The same for a table's classes, as floats (k + 1)."""
    return signed(h, k, knowledge).curve(knowledge)


def each(h: Histogram, k: int, knowledge: str = IMPLICATIONS) -> Floats:
    """Per class the largest belief about one of its people, with k pieces about anybody."""
    found = signed(h, k, knowledge)
    return found.each(knowledge)[found.number]


def witness(h: Histogram, k: int, knowledge: str = IMPLICATIONS) -> Witness:
    """The knowledge that discloses most; fewer than k pieces where fewer suffice."""
    found = signed(h, k, knowledge)
    if knowledge == NEGATIONS:
        by_number = [(told, -j, at) for j in range(found.atoms) for told, at in found.negated(j)]
        disclosure, fewer, class_ = max(by_number)
        fewest = -fewer
        shares = [Share(class_, (fewest + 1,), target=True)]
    else:
        attained = found.attained()[-1]
        shares, disclosure = list(attained.shares), attained.disclosure
    return _told(h, found, shares, disclosure)


def signed(h: Histogram, k: int, knowledge: str = IMPLICATIONS) -> Signed:
    """The signatures of a table's classes for k pieces of knowledge."""
    if not len(h.rows):
        raise UsageError("There is no class to judge.", "publish at least one row.")
    return Signed.of(h.start, h.count, _atoms(k, knowledge))


@dataclass(frozen=True)
class Signed:
    """The distinct signatures of classes: all that worst-case disclosure depends on."""

    rows: NDArray[np.int64]
    """(signatures, 1 + atoms): people, and the largest counts in descending order."""
    number: NDArray[np.int64]
    """The signature of each class."""

    @classmethod
    def of(cls, start: NDArray[np.int64], count: NDArray[np.int64], atoms: int) -> Self:
        """The signatures of sparse histograms for so many atoms."""
        marks = np.empty((len(start) - 1, 2), np.uint64)
        share_out(disclose.mark, len(marks), len(count), start, count, marks)
        number, first = disclose.distinct(marks)
        rows = signatures(start, count, atoms, first)
        if not rows[:, 0].all():
            raise UsageError("A class has no people.", "leave empty classes out.")
        return cls(rows, number)

    @property
    def atoms(self) -> int:
        """How many atoms there can be: a target, and k antecedents."""
        return int(self.rows.shape[1]) - 1

    @cached_property
    def least(self) -> Floats:
        """(signatures, 1 + atoms): the smallest chance that up to j atoms are all false."""
        return least(self.rows)

    @cached_property
    def odds(self) -> Floats:
        """One over the chance of the most common value."""
        return odds(self.rows)

    @cached_property
    def times(self) -> NDArray[np.int64]:
        """How many classes have each signature, as far as it matters."""
        return np.minimum(np.bincount(self.number, minlength=len(self.rows)), self.atoms + 1)

    @cached_property
    def candidates(self) -> NDArray[np.int64]:
        """The signatures that can be in a worst case (exact: an exchange argument).

        Where u classes are used, each role a class can play (j atoms, with or without the
        target) is played by one of the u best for it, and with j atoms in it u ≤ atoms − j + 1.
        One more is kept, so that any class can be left out; and all that floats call equal.
        """
        return np.flatnonzero(disclose.eligible(self.least, self.odds, NEAR))

    @cached_property
    def _copies(self) -> NDArray[np.int64]:
        """The candidates, as often as they are there."""
        return np.repeat(self.candidates, self.times[self.candidates])

    def tuples(self, at: Iterable[int]) -> list[Signature]:
        """Some of the signatures as whole numbers."""
        return [tuple(self.rows[i].tolist()) for i in at]

    def negated(self, k: int) -> list[tuple[Fraction, int]]:
        """What k negations tell exactly, of the signatures where that can be the most."""
        told = self.rows[:, 1] / (self.rows[:, 0] - self.rows[:, 2 : k + 2].sum(axis=1))
        at = np.flatnonzero(told >= told.max() * (1 - NEAR)).tolist()
        return [
            (Fraction(row[1], row[0] - sum(row[2 : k + 2])), i)
            for i, row in zip(at, self.tuples(at), strict=True)
        ]

    def curve(self, knowledge: str) -> Floats:
        """The maximum disclosure with 0, 1, …, atoms − 1 pieces."""
        if knowledge == NEGATIONS:
            told = self.rows[:, 0] - np.cumsum(self.rows[:, 1:], axis=1).T + self.rows[:, 1]
            return np.asarray((self.rows[:, 1] / told).max(axis=1))
        at = self.candidates
        ratio = disclose.fold(self.least[at], self.odds[at], self.times[at])[1, 1:]
        return np.asarray(1 / (1 + ratio))

    def each(self, knowledge: str) -> Floats:
        """Per signature the largest belief about somebody of such a class."""
        if knowledge == NEGATIONS:
            told = self.rows[:, 0] - self.rows[:, 2:].sum(axis=1)
            return np.asarray(self.rows[:, 1] / told)
        return np.asarray(1 / (1 + self.ratio))

    @cached_property
    def ratio(self) -> Floats:
        """Per signature the smallest ratio r with the target in such a class."""
        at = self.candidates
        others = np.ones((len(self.rows), self.atoms + 1))
        others[:] = disclose.fold(self.least[at], self.odds[at], self.times[at])[0]
        others[self._copies] = disclose.rest(self.least[self._copies])
        return np.asarray((self.least[:, 1:] * others[:, -2::-1]).min(axis=1) * self.odds)

    def attained(self, target: int | None = None) -> list[Attained]:
        """Exactly, for 1, …, atoms atoms; the shares' classes are signatures.

        ``target``: the signature of the target's class.
        """
        used = list(self._copies.tolist())
        if target is not None and target not in used:
            used.append(target)
        place = None if target is None else used.index(target)
        found = attained(self.tuples(used), self.atoms, place)
        return [_named(one, used) for one in found]


def signatures(
    start: NDArray[np.int64],
    count: NDArray[np.int64],
    atoms: int,
    classes: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """People and largest counts of (some of the) classes: (classes, 1 + atoms)."""
    classes = np.arange(len(start) - 1) if classes is None else classes
    rows = np.empty((len(classes), atoms + 1), np.int64)
    share_out(disclose.sign, len(classes), len(classes) * atoms, classes, start, count, rows)
    return rows


def least(rows: NDArray[np.int64]) -> Floats:
    """The smallest chance that up to 0, 1, … atoms in a class are all false, per signature."""
    found = np.empty(rows.shape)
    share_out(disclose.refute, len(rows), rows.size * rows.shape[1], rows, found)
    return found


def odds(rows: NDArray[np.int64]) -> Floats:
    """One over the chance of a class's most common value, per signature."""
    return np.asarray(rows[:, 0] / rows[:, 1])


def _named(found: Attained, classes: list[int]) -> Attained:
    """The same with these numbers for its classes."""
    shares = (share._replace(class_=classes[share.class_]) for share in found.shares)
    return Attained(found.ratio, tuple(shares))


def _told(h: Histogram, found: Signed, shares: list[Share], disclosure: Fraction) -> Witness:
    """The witness in classes and values: each share is given a class of its own."""
    target, others, used = None, [], set[int]()
    for share in sorted(shares, key=lambda one: not one.target):
        alike = np.flatnonzero(found.number == share.class_)
        class_ = next(int(c) for c in alike if int(c) not in used)
        used.add(class_)
        ranked = [code for _, code in sorted(_commonest(h, class_))]
        for person, number in enumerate(share.people):
            atoms = [Known(class_, person, value) for value in ranked[:number]]
            if target is None:
                target = atoms.pop(0)
            others += atoms
    assert target is not None, "every worst case has a target"
    return Witness(disclosure, target, tuple(others))


def _commonest(h: Histogram, class_: int) -> list[tuple[int, int]]:
    """A class's values, to be sorted with the commonest first."""
    codes, counts = h.of_class(class_)
    return [(-count, code) for count, code in zip(counts, codes, strict=True)]


def pieces(k: int | str) -> int:
    """A number of pieces of knowledge that can be counted with."""
    number = whole(k, "k", 0)
    if number > MOST:
        raise UsageError(f"k is at most {MOST} pieces of knowledge.", "write for example k=3.")
    return number


def _atoms(k: int, knowledge: str) -> int:
    """The target's atom, and one for each piece."""
    if knowledge not in (IMPLICATIONS, NEGATIONS):
        raise UsageError(
            f"There is no knowledge {knowledge!r}.", f"write {IMPLICATIONS} or {NEGATIONS}."
        )
    return pieces(k) + 1


def _counted(histograms: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts by class as sparse histograms."""
    if isinstance(histograms, np.ndarray) and histograms.ndim == 2:
        start = np.arange(len(histograms) + 1) * histograms.shape[1]
        count = np.ascontiguousarray(histograms).ravel()
    else:
        lists = [list(h.values()) if isinstance(h, Mapping) else list(h) for h in histograms]
        start = np.cumsum([0, *map(len, lists)])
        count = np.array([x for counts in lists for x in counts])
    if len(start) < 2:
        raise UsageError("There is no class to judge.", "give the counts of at least one class.")
    if not np.issubdtype(count.dtype, np.integer) or (count < 0).any():
        raise InputError("Counts are whole numbers, 0 or more.", "write for example [2, 2, 1].")
    count = count.astype(np.int64)
    return start.astype(np.int64), count
