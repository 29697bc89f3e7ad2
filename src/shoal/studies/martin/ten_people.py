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


def read_patients(figure: str) -> list[dict[str, str]]:
    """The rows of a bundled table: ``fig1`` or ``fig3``."""
    with bundled.path(f"martin_{figure}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_classes() -> tuple[list[Counter[str]], dict[str, int]]:
    """The values of each class with their counts, and the class of each person."""
    rows = read_patients("fig3")
    names = list(dict.fromkeys(row[CLASS] for row in rows))
    counts = [Counter(row[VALUE] for row in rows if row[CLASS] == name) for name in names]
    return counts, {row["Name"]: names.index(row[CLASS]) for row in rows}


@dataclass(frozen=True)
class Worlds:
    """All worlds, and in which of them each atom is true."""

    atoms: tuple[tuple[str, str], ...]
    """A person and a value that the person's class has."""
    true: Bits
    """(atoms, worlds)."""

    def belief(self, left: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of the worlds left (sets, worlds): how many have each atom, and how many there are."""
        remaining = left.astype(np.int64)
        return remaining @ self.true.T.astype(np.int64), remaining.sum(axis=1)


@cache
def list_worlds() -> Worlds:
    """Every way to deal the values of figure 3."""
    return deal_values(*read_classes())


def deal_values(counts: list[Counter[str]], where: dict[str, int]) -> Worlds:
    """Every way to deal the values of some classes to the people who are in them."""
    crowd = [[name for name, at in where.items() if at == i] for i in range(len(counts))]
    dealt = [sorted(set(permutations(class_counts.elements()))) for class_counts in counts]
    atoms = tuple((name, value) for name, at in where.items() for value in counts[at])
    names = [name for members in crowd for name in members]
    values = np.array(
        [[v for dealt_values in world for v in dealt_values] for world in product(*dealt)]
    )
    true = np.stack([values[:, names.index(name)] == value for name, value in atoms])
    return Worlds(atoms, true)


def try_implications() -> list[dict[str, Any]]:
    """By whom it is about, the simple implication that discloses most, exactly.

    ``tried`` are the pairs of atoms, ``different`` those that are not true in the same worlds.
    """
    all_worlds, (_, where) = list_worlds(), read_classes()
    atoms = range(len(all_worlds.atoms))
    pairs = list(product(atoms, atoms))
    left = np.stack(
        [~all_worlds.true[premise] | all_worlds.true[conclusion] for premise, conclusion in pairs]
    )
    hits, total = all_worlds.belief(left)
    kinds = np.array(
        [_classify_pair(where, all_worlds.atoms[a][0], all_worlds.atoms[b][0]) for a, b in pairs]
    )
    different = len(np.unique(np.packbits(left, axis=1), axis=0))
    return [
        {
            "about": kind,
            **_find_largest_belief(all_worlds, pairs, hits, total, np.flatnonzero(kinds == kind)),
            "worlds": all_worlds.true.shape[1],
            "tried": len(pairs),
            "different": different,
        }
        for kind in (OWN, SAME, OTHER)
    ]


def _classify_pair(where: dict[str, int], person: str, other: str) -> str:
    if person == other:
        return OWN
    return SAME if where[person] == where[other] else OTHER


def _find_largest_belief(
    all_worlds: Worlds,
    pairs: list[tuple[int, int]],
    hits: NDArray[np.int64],
    total: NDArray[np.int64],
    some: NDArray[np.int64],
) -> dict[str, Any]:
    share = hits[some] / total[some, np.newaxis]  # so few worlds that floats tell shares apart
    pair, target = np.unravel_index(share.argmax(), share.shape)
    row = int(some[pair])
    exact = Fraction(int(hits[row, target]), int(total[row]))
    premise, conclusion, about = (all_worlds.atoms[i] for i in (*pairs[row], int(target)))
    return {
        "disclosure": float(exact),
        "exact": str(exact),
        "implication": _describe_implication(premise, conclusion),
        "target": _describe_atom(about),
    }


def _describe_implication(premise: tuple[str, str], conclusion: tuple[str, str]) -> str:
    """In words; nobody has two values, so that the one implies not to have the other."""
    if premise[0] == conclusion[0] and premise != conclusion:
        return f"{premise[0]} does not have {premise[1]}"
    return f"if {_describe_atom(premise)}, then {_describe_atom(conclusion)}"


def _describe_atom(atom: tuple[str, str]) -> str:
    return f"{atom[0]} has {atom[1]}"
