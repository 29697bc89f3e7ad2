"""The atoms that attain the worst case, and their chance, exactly.

The counterpart of ``kernels.disclose`` in whole numbers, for the few classes that can matter:
what floats leave undecided is decided here, and the witness comes from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

Signature = tuple[int, ...]
"""A class as it matters: its people, then its largest counts in descending order."""


class Share(NamedTuple):
    """The atoms in one class: so many for its first person, its second, …, never ascending."""

    class_: int
    people: tuple[int, ...]
    target: bool = False


@dataclass(frozen=True)
class Attained:
    """The smallest chance that no atom is true, over the target's chance, and how it is shared."""

    ratio: Fraction
    shares: tuple[Share, ...] = ()

    @property
    def atoms(self) -> int:
        """How many atoms there are, the target's own among them."""
        return sum(sum(share.people) for share in self.shares)

    @property
    def disclosure(self) -> Fraction:
        """The belief in the target's value."""
        return 1 / (1 + self.ratio)


@lru_cache(maxsize=1 << 14)
def refuted(signature: Signature, atoms: int) -> tuple[Fraction, tuple[int, ...]]:
    """The smallest chance that so many atoms about a class are all false, and its shares.

    MINIMIZE1 of Martin et al., ICDE 2007, with the shares of its people in descending order.

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


def attained(
    signatures: Sequence[Signature], atoms: int, target: int | None = None
) -> list[Attained]:
    """For 1, …, ``atoms`` atoms the smallest ratio over these classes, with the atoms.

    MINIMIZE2 of Martin et al., ICDE 2007. ``target``: the class of the target; None: any.

    >>> [str(one.disclosure) for one in attained([(5, 2, 2, 1), (5, 2, 1, 1, 1)], 3)]
    ['2/5', '2/3', '1']
    """
    without: list[Attained | None] = [Attained(Fraction(1)), *[None] * atoms]
    found: list[Attained | None] = [None] * (atoms + 1)
    for class_, signature in enumerate(signatures):
        own = [refuted(signature, j) for j in range(atoms + 1)]
        odds = Fraction(signature[0], signature[1])
        may = target is None or target == class_
        for j in range(atoms, 0, -1):
            for here in range(1, j + 1):
                chance, people = own[here]
                if may:
                    share = Share(class_, people, target=True)
                    found[j] = _less(found[j], without[j - here], chance * odds, share)
                share = Share(class_, people)
                found[j] = _less(found[j], found[j - here], chance, share)
                without[j] = _less(without[j], without[j - here], chance, share)
    return _fewest(found[1:])


def _less(
    best: Attained | None, rest: Attained | None, chance: Fraction, share: Share
) -> Attained | None:
    if rest is None or (best is not None and best.ratio <= rest.ratio * chance):
        return best
    return Attained(rest.ratio * chance, (*rest.shares, share))


def _fewest(found: Sequence[Attained | None]) -> list[Attained]:
    """With so many atoms, or with fewer where more do not help."""
    least: list[Attained] = []
    for one in found:
        assert one is not None, "the target's class can hold any number of atoms"
        least.append(one if not least or one.ratio < least[-1].ratio else least[-1])
    return least
