"""The ten patients of Martin et al.'s figures 1 to 3, and every world that figure 3 allows.

A world deals the values of each class to its people: 30 ways for the men, 60 for the women, 1,800
worlds, all equally likely. With so few every simple implication ("if one person has this value,
another has that one") can be tried, which is what the largest disclosure is checked against.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data import bundled

CLASS, VALUE = "Sex", "Disease"
"""What a class has in common, and what is sensitive."""
OWN, SAME, OTHER = "about the person", "within a class", "across classes"
"""Whom an implication is about: the target's own person twice, or two people."""
Bits = NDArray[np.bool_]


def people(figure: str) -> list[dict[str, str]]:
    """The rows of a bundled table: ``fig1`` or ``fig3``."""
    with bundled.path(f"martin_{figure}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def classes() -> tuple[list[Counter[str]], dict[str, int]]:
    """The values of each class with their counts, and the class of each person."""
    rows = people("fig3")
    names = list(dict.fromkeys(row[CLASS] for row in rows))
    found = [Counter(row[VALUE] for row in rows if row[CLASS] == name) for name in names]
    return found, {row["Name"]: names.index(row[CLASS]) for row in rows}


@dataclass(frozen=True)
class Worlds:
    """All worlds, and in which of them each atom is true."""

    atoms: tuple[tuple[str, str], ...]
    """A person and a value that the person's class has."""
    true: Bits
    """(atoms, worlds)."""

    def belief(self, left: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of the worlds left (sets, worlds): how many have each atom, and how many there are."""
        kept = left.astype(np.int64)
        return kept @ self.true.T.astype(np.int64), kept.sum(axis=1)


@cache
def worlds() -> Worlds:
    """Every way to deal the values of figure 3."""
    return deal(*classes())


def deal(found: list[Counter[str]], where: dict[str, int]) -> Worlds:
    """Every way to deal the values of some classes to the people who are in them."""
    crowd = [[name for name, at in where.items() if at == i] for i in range(len(found))]
    dealt = [sorted(set(permutations(one.elements()))) for one in found]
    atoms = tuple((name, value) for name, at in where.items() for value in found[at])
    names = [name for one in crowd for name in one]
    values = np.array([[v for one in world for v in one] for world in product(*dealt)])
    true = np.stack([values[:, names.index(name)] == value for name, value in atoms])
    return Worlds(atoms, true)


def every_implication() -> list[dict[str, Any]]:
    """By whom it is about, the simple implication that discloses most, exactly.

    ``tried`` are the pairs of atoms, ``different`` those that are not true in the same worlds.
    """
    known, (_, where) = worlds(), classes()
    atoms = range(len(known.atoms))
    pairs = list(product(atoms, atoms))
    left = np.stack([~known.true[given] | known.true[then] for given, then in pairs])
    hits, total = known.belief(left)
    kinds = np.array([_kind(where, known.atoms[a][0], known.atoms[b][0]) for a, b in pairs])
    different = len(np.unique(np.packbits(left, axis=1), axis=0))
    return [
        {
            "about": kind,
            **_most(known, pairs, hits, total, np.flatnonzero(kinds == kind)),
            "worlds": known.true.shape[1],
            "tried": len(pairs),
            "different": different,
        }
        for kind in (OWN, SAME, OTHER)
    ]


def _kind(where: dict[str, int], one: str, other: str) -> str:
    if one == other:
        return OWN
    return SAME if where[one] == where[other] else OTHER


def _most(
    known: Worlds,
    pairs: list[tuple[int, int]],
    hits: NDArray[np.int64],
    total: NDArray[np.int64],
    some: NDArray[np.int64],
) -> dict[str, Any]:
    """The largest belief in any atom after one of some implications."""
    share = hits[some] / total[some, np.newaxis]  # so few worlds that floats tell shares apart
    pair, target = np.unravel_index(share.argmax(), share.shape)
    row = int(some[pair])
    exact = Fraction(int(hits[row, target]), int(total[row]))
    given, then, about = (known.atoms[i] for i in (*pairs[row], int(target)))
    return {
        "disclosure": float(exact),
        "exact": str(exact),
        "implication": _implied(given, then),
        "target": _said(about),
    }


def _implied(given: tuple[str, str], then: tuple[str, str]) -> str:
    """In words; nobody has two values, so that the one implies not to have the other."""
    if given[0] == then[0] and given != then:
        return f"{given[0]} does not have {given[1]}"
    return f"if {_said(given)}, then {_said(then)}"


def _said(atom: tuple[str, str]) -> str:
    return f"{atom[0]} has {atom[1]}"
