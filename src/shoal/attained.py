"""The atoms that attain the worst case, and their chance, exactly.

The counterpart of ``kernels.disclose`` in whole numbers, for the few classes that can matter:
what floats leave undecided is decided here, and the witness comes from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

Signature = tuple[int, ...]
"""A class as it matters: its people, then its largest counts in descending order."""


@lru_cache(maxsize=1 << 14)
def refuted(signature: Signature, atoms: int) -> tuple[Fraction, tuple[int, ...]]:
    """The smallest chance that so many atoms about a class are all false, and whose they are.

    So many of them are about its first person, its second, …, never ascending. MINIMIZE1 of
    Martin et al., ICDE 2007.

    >>> refuted((5, 2, 2, 1), 2)
    (Fraction(1, 5), (2,))
    """
    return min(_shared(signature, 0, atoms, atoms), key=_smallest)


@lru_cache(maxsize=1 << 14)
def _shared(
    signature: Signature, person: int, most: int, atoms: int
) -> tuple[tuple[Fraction, tuple[int, ...]], ...]:
    """Each way to begin with this person's share, at its best."""
    if not atoms:
        return ((Fraction(1), ()),)
    left = signature[0] - person
    if left <= 0:
        return ((Fraction(0), ()),)
    found = []
    for own in range(min(most, atoms), 0, -1):
        false = Fraction(max(left - sum(signature[1 : own + 1]), 0), left)
        chance, others = min(_shared(signature, person + 1, own, atoms - own), key=_smallest)
        found.append((false * chance, (own, *others)))
    return tuple(found)


def _smallest(found: tuple[Fraction, tuple[int, ...]]) -> tuple[Fraction, int]:
    """Of equal chances the one about fewer people, which is simpler to tell."""
    return found[0], len(found[1])


def odds(signature: Signature) -> Fraction:
    """One over the chance of the most common value."""
    return Fraction(signature[0], signature[1])


@dataclass(frozen=True)
class Attained:
    """The smallest chance that no atom is true, over the target's chance, and where the atoms are.

    ``atoms`` counts them by class, the target's own among them.
    """

    ratio: Fraction
    target: int
    atoms: Counter[int]

    @property
    def disclosure(self) -> Fraction:
        """The belief in the target's value."""
        return 1 / (1 + self.ratio)


@dataclass(frozen=True)
class Worst:
    """For each number of atoms the class with the smallest chance; likewise for the target's."""

    classes: Sequence[Signature]
    best: Sequence[int]
    own: Sequence[int]

    @classmethod
    def of(cls, classes: Sequence[Signature], atoms: int) -> Worst:
        """The best of these classes for 0, 1, …, ``atoms`` atoms."""
        best, own = [0], [0]
        for j in range(1, atoms + 1):
            chance = [refuted(signature, j)[0] for signature in classes]
            best.append(_least(chance))
            own.append(_least([c * odds(s) for c, s in zip(chance, classes, strict=True)]))
        return cls(classes, best, own)

    def _chance(self, class_: int, atoms: int) -> Fraction:
        return refuted(self.classes[class_], atoms)[0]

    @cached_property
    def no(self) -> list[tuple[Fraction, Counter[int]]]:
        """For 0, 1, … atoms the smallest product over classes, and their atoms in each."""
        no = [(Fraction(1), Counter[int]())]
        for j in range(1, len(self.best)):
            ways = [self._chance(self.best[i], i) * no[j - i][0] for i in range(1, j + 1)]
            i = j - _least(ways[::-1])  # of equal ways the one with fewer classes
            no.append((ways[i - 1], no[j - i][1] + Counter({self.best[i]: i})))
        return no

    def attained(self, target: int | None = None, extra: Signature | None = None) -> list[Attained]:
        """For 1, 2, … atoms the worst case; fewer where more do not help.

        ``target`` is the class of the target; None: any. ``extra`` is one more class, the last,
        that only the target may be in.

        >>> figure = Worst.of([(5, 2, 2, 1), (5, 2, 1, 1)], 3)
        >>> [str(one.disclosure) for one in figure.attained()]
        ['2/5', '2/3', '1']
        """
        found: list[Attained] = []
        for atoms in range(1, len(self.best)):
            ways = [self._with_target(j, atoms - j, target, extra) for j in range(atoms, 0, -1)]
            least = ways[_least([way.ratio for way in ways])]
            found.append(least if not found or least.ratio < found[-1].ratio else found[-1])
        return found

    def _with_target(
        self, j: int, rest: int, target: int | None, extra: Signature | None
    ) -> Attained:
        """With j atoms in the target's class, its own among them, and the rest anywhere."""
        class_ = self.own[j] if target is None else target
        signature = self.classes[class_] if class_ < len(self.classes) or extra is None else extra
        chance, others = self.no[rest]
        own = refuted(signature, j)[0] * odds(signature)
        return Attained(own * chance, class_, others + Counter({class_: j}))


def _least(values: Sequence[Fraction]) -> int:
    """Where the smallest is, the first of equals."""
    return min(range(len(values)), key=values.__getitem__)
