"""Worst-case disclosure by brute force: every world, every set of pieces of knowledge, exact.

A release is a list of classes, a class the counts of its values: ``[(2, 1), (1, 1, 1)]``. A world
gives each person a value so that the counts come out; all worlds are equally likely, so classes are
independent. An atom (class, person, value) says that a person has a value. What values are called
does not matter, nor which of a class's people is which, so releases need only be looked at up to
renaming, and the target only as the first person of its class.

``Worlds`` keeps predicates as bits, a world each. ``worst`` tries all sets of pieces, ``reference``
is the paper's recursion with its errors corrected, for classes too large to try anything:

D. Martin, D. Kifer, A. Machanavajjhala, J. Gehrke and J. Halpern, Worst-case background knowledge
for privacy-preserving data publishing, ICDE 2007.

It knows no piece about a value that a class does not have: such an atom is false, and "A implies
it" is "not A", which "A implies another value of the same person" says as well.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations_with_replacement, product

import numpy as np

SIMPLE, BASIC, NEGATED = "A -> B", "A & B -> C | D", "not A"


class Worlds:
    """All worlds of a release; ``bits`` (atoms, words) tells in which of them each atom holds."""

    def __init__(self, classes):
        columns = [np.array(arrangements(tuple(counts)), np.int8) for counts in classes]
        places = np.indices([len(column) for column in columns]).reshape(len(columns), -1)
        self.number = places.shape[1]
        self.atoms = [
            (class_, person, value)
            for class_, counts in enumerate(classes)
            for person, value in product(range(sum(counts)), range(len(counts)))
        ]
        self.at = {atom: row for row, atom in enumerate(self.atoms)}
        people = [column[place].T for column, place in zip(columns, places, strict=True)]
        self.bits = packed(np.array([people[c][p] == v for c, p, v in self.atoms]))
        self.all = packed(np.ones((1, self.number), bool))[0]

    def belief(self, target, implications):
        """How likely the target is where every (antecedent, consequent) of atoms holds."""
        left = self.all
        for given, then in implications:
            left = left & (~self.bits[self.at[given]] | self.bits[self.at[then]])
        hits = np.bitwise_count(left & self.bits[self.at[target]]).sum(dtype=int)
        return Fraction(int(hits), int(np.bitwise_count(left).sum(dtype=int)))


@cache
def arrangements(counts):
    """Every way to hand out the values to the people of a class."""
    if not any(counts):
        return [()]
    return [
        (value, *rest)
        for value, count in enumerate(counts)
        if count
        for rest in arrangements((*counts[:value], count - 1, *counts[value + 1 :]))
    ]


def packed(truth):
    """Rows of booleans as rows of 64-bit words."""
    padded = np.pad(truth, ((0, 0), (0, -truth.shape[1] % 64)))
    return np.packbits(padded, axis=1).view(np.uint64)


def distinct(rows):
    """Each predicate once."""
    words = rows.shape[1]
    if words == 1:
        return np.unique(rows)[:, None]
    return np.unique(rows.view(f"V{8 * words}")).view(np.uint64).reshape(-1, words)


# Every set of at most k pieces


def worst(classes, k, language=SIMPLE):
    """``[pieces][class]``: the largest belief that 0 … k pieces give in anybody's value."""
    worlds, found = Worlds(classes), {}
    for class_, counts in enumerate(classes):
        shape = tuple(sorted(counts))
        if shape not in found:
            found[shape] = about(worlds, class_, counts, k, language)
    return [[found[tuple(sorted(counts))][j] for counts in classes] for j in range(k + 1)]


def about(worlds, class_, counts, k, language):
    """The largest belief that 0 … k pieces give in the value of a person of one class.

    Of the values that are equally frequent there one is as good as another.
    """
    values = {count: value for value, count in enumerate(counts)}.values()
    targets = worlds.bits[[worlds.at[class_, 0, value] for value in values]]
    anything = worlds.all[None]
    sets = distinct(said(worlds, language, class_) & worlds.all)
    pieces = distinct(said(worlds, language) & worlds.all) if k > 1 else anything
    beliefs = [most(anything, anything, targets), most(sets, anything, targets)]
    for number in range(2, k + 1):
        if number > 2:
            sets = distinct((sets[:, None] & pieces).reshape(-1, pieces.shape[1]))
        beliefs.append(most(sets, pieces, targets))
    return [max(beliefs[: j + 1]) for j in range(k + 1)]


def most(sets, pieces, targets):
    """The largest share of a target among the worlds that a set and one piece more leave."""
    left = counted(sets, pieces, targets[0] | ~targets[0])
    best = Fraction(0)
    for target in targets:
        hits = counted(sets, pieces, target)
        # With so few worlds two different shares differ by far more than floats round.
        at = np.argmax(np.divide(hits, np.maximum(left, 1), dtype=np.float64))
        best = max(best, Fraction(int(hits.flat[at]), max(int(left.flat[at]), 1)))
    return best


def counted(sets, pieces, target):
    """How many worlds of the target each set leaves with each piece."""
    if len(pieces) == 1:
        return np.bitwise_count(sets & pieces & target).sum(axis=1)[:, None]
    number = np.zeros((len(sets), len(pieces)), np.float32)
    for some, piece, within in zip(sets.T, pieces.T, target, strict=True):
        number += np.bitwise_count((some & within)[:, None] & piece)
    return number


def said(worlds, language, seen_from=None):
    """Every piece of a language as the worlds it leaves.

    ``seen_from``: only one of those that differ in which people of a class they are about; the
    first person of that class, the target, is not like the others. A set of pieces may be renamed
    so that one of them is among these.
    """
    atoms = worlds.bits
    if language == NEGATED:
        return ~atoms
    if language == SIMPLE:
        given, then = np.nonzero(in_order(worlds.atoms, seen_from))
        return ~atoms[given] | atoms[then]
    pairs = np.array(list(combinations_with_replacement(range(len(atoms)), 2))).T
    all_of = distinct(atoms[pairs[0]] & atoms[pairs[1]])
    one_of = distinct(atoms[pairs[0]] | atoms[pairs[1]])
    return (~all_of[:, None] | one_of).reshape(-1, atoms.shape[1])


def in_order(atoms, seen_from):
    """Which implications mention the people of a class by ascending number, without a gap."""
    if seen_from is None:
        return np.ones((len(atoms), len(atoms)), bool)
    class_, person, _ = np.array(atoms).T
    unmentioned = (class_ == seen_from).astype(int)  # there the target is number 0
    another = (class_[:, None] == class_) & (person == unmentioned)[:, None]
    return (person <= unmentioned)[:, None] & (person <= unmentioned + another)


# The recursion, for classes of any size


@cache
def least(counts, k):
    """MINIMIZE1: the least probability that k atoms about one class are all false."""
    counts, n = sorted(counts, reverse=True), sum(counts)

    @cache
    def further(person, cap, left):
        if left == 0:
            return Fraction(1)
        if person >= n:
            return Fraction(0)
        return min(
            Fraction(max(0, n - person - sum(counts[:here])), n - person)
            * further(person + 1, here, left - here)
            for here in range(1, min(cap, left) + 1)
        )

    return further(0, k, k)


def reference(classes, k):
    """``[class]``: MINIMIZE2 with the target in each of the classes, as beliefs."""
    shapes = [tuple(sorted(filter(None, counts))) for counts in classes]
    chance = [[least(counts, j) for j in range(k + 2)] for counts in shapes]
    nothing = [Fraction(1)] * (k + 1)
    before = list(accumulate((one[:-1] for one in chance), shared, initial=nothing))
    after = list(accumulate((one[:-1] for one in reversed(chance)), shared, initial=nothing))
    beliefs = []
    for i, counts in enumerate(shapes):
        elsewhere = shared(before[i], after[-2 - i])
        ratio = min(chance[i][1 + j] * elsewhere[k - j] for j in range(k + 1))
        beliefs.append(1 / (1 + ratio * Fraction(sum(counts), max(counts))))
    return beliefs


def shared(one, other):
    """The least probability that j atoms are all false, shared out over two sets of classes."""
    return [min(one[i] * other[j - i] for i in range(j + 1)) for j in range(len(one))]


def negations(counts, k):
    """l-diversity's adversary: the most frequent value, when the k next ones are excluded."""
    ranked = sorted(counts, reverse=True)
    return Fraction(ranked[0], sum(ranked) - sum(ranked[1 : k + 1]))


def least_by_trying(counts, k):
    """MINIMIZE1, by trying every set of k atoms about one class."""
    worlds = Worlds([counts])
    sets = worlds.all[None]
    for _ in range(k):
        sets = distinct((sets[:, None] & ~worlds.bits).reshape(-1, sets.shape[1]))
    return Fraction(int(np.bitwise_count(sets).sum(axis=1).min()), worlds.number)


# A witness, in classes of any size


def believed(classes, target, others):
    """How likely the target is if each of the other atoms, where it is true, implies it."""
    excluded = {class_: defaultdict(set) for class_, _, _ in (target, *others)}
    for class_, person, value in (target, *others):
        excluded[class_][person].add(value)
    none = math.prod(
        avoided(tuple(classes[class_]), tuple(map(frozenset, people.values())))
        for class_, people in excluded.items()
    )
    chance = Fraction(classes[target[0]][target[2]], sum(classes[target[0]]))
    return chance / (chance + none)


@cache
def avoided(counts, excluded):
    """The probability that people given values in turn all avoid those excluded for them."""
    if not excluded:
        return Fraction(1)
    return sum(
        Fraction(count, sum(counts))
        * avoided((*counts[:value], count - 1, *counts[value + 1 :]), excluded[1:])
        for value, count in enumerate(counts)
        if count and value not in excluded[0]
    )


# Releases, up to renaming


def shapes(people, values):
    """The counts that a class of so many people and values can have, in falling order."""
    return [
        counts
        for n in people
        for d in values
        for counts in combinations_with_replacement(range(n, 0, -1), d)
        if sum(counts) == n
    ]


def releases(classes, people, values, worlds):
    """Every release of so many classes, people and values in each, and at most so many worlds."""
    for number in classes:
        for release in combinations_with_replacement(shapes(people, values), number):
            if math.prod(map(ways, release)) <= worlds:
                yield release


def ways(counts):
    """In how many worlds a class can be."""
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
