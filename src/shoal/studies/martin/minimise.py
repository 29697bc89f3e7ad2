"""Martin et al.'s two algorithms, as they are printed and with their mistakes mended.

Algorithm 1 (MINIMIZE1) finds the least probability that k atoms about the people of one class are
all false. Algorithm 2 (MINIMIZE2) shares k atoms and the target out over the classes and finds r,
the least ratio of "none of them is true" to "the target is true"; the largest disclosure is
1 / (1 + r). `shoal.max_disclosure` does not run these: it has a faster way of its own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Arithmetic:
    """How probabilities are held: exactly, as floats, or as the logarithms of floats."""

    share: Callable[[int, int], Any]
    times: Callable[[Any, Any], Any]
    least: Callable[[Any, Any], Any]
    certain: Any
    impossible: Any


def _log_share(some: int, of: int) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(some / of)


EXACT = Arithmetic(Fraction, operator.mul, min, Fraction(1), Fraction(0))
FLOATS = Arithmetic(operator.truediv, operator.mul, min, 1.0, 0.0)
LOGARITHMS = Arithmetic(_log_share, operator.add, np.minimum, 0.0, -math.inf)


@dataclass
class Minimize1:
    """Algorithm 1 for a class given by its counts.

    ``guarded``: nobody is left to have an atom, so that the probability is 0; as printed it
    divides by the people left. ``clamped``: no numerator is below 0.
    """

    counts: Sequence[int]
    guarded: bool = True
    clamped: bool = True
    arithmetic: Arithmetic = EXACT
    negative: bool = field(default=False, init=False)
    """Whether a numerator below 0 was met."""

    def least(self, atoms: int) -> Any:
        """The least probability that so many atoms are all false."""
        self.negative = False
        ranked = sorted(self.counts, reverse=True)
        return self._further([sum(ranked[:j]) for j in range(atoms + 1)], 0, atoms, atoms)

    def _further(self, heads: Sequence[int], person: int, most: int, left: int) -> Any:
        """Of the people from ``person`` on, none of whom has more than ``most`` atoms."""
        if left == 0:
            return self.arithmetic.certain
        people = sum(self.counts) - person
        if self.guarded and people <= 0:
            return self.arithmetic.impossible
        least = self.arithmetic.certain  # as printed, and right: every product is 1 at most
        for here in range(1, min(most, left) + 1):
            others = people - heads[here]
            self.negative |= others < 0
            share = self.arithmetic.share(max(0, others) if self.clamped else others, people)
            rest = self._further(heads, person + 1, here, left - here)
            least = self.arithmetic.least(least, self.arithmetic.times(share, rest))
        return least


@dataclass
class Minimize2:
    """Algorithm 2 for classes given by what algorithm 1 finds in them.

    ``ended``: past the last class it returns 1 where the target has its place; as printed it
    returns infinity. ``begun``: at first the target has no place; as printed it has.
    """

    chances: Sequence[Sequence[Fraction]]
    """Of each class the least probability for 0, 1, …, k + 1 atoms."""
    shares: Sequence[Fraction]
    """Of each class how frequent its most frequent value is."""
    ended: bool = True
    begun: bool = True
    steps: int = field(default=0, init=False)
    """How often the body of its loop ran."""

    def ratio(self, pieces: int) -> Fraction | float:
        """The least ratio r for so many pieces of knowledge."""
        self.steps = 0
        further = cache(lambda at, left, placed: self._at(further, at, left, placed))
        ratio: Fraction | float = further(0, pieces, not self.begun)
        return ratio

    def _at(self, further: Callable[..., Any], at: int, left: int, placed: bool) -> Any:
        if at == len(self.chances):
            return Fraction(1) if placed and self.ended else math.inf
        best: Fraction | float = math.inf
        for here in range(left + 1):
            self.steps += 1
            chance, rest = self.chances[at], left - here
            best = min(best, _multiply(chance[here], further(at + 1, rest, placed)))
            if not placed:
                with_target = chance[here + 1] / self.shares[at]
                best = min(best, _multiply(with_target, further(at + 1, rest, True)))
        return best


def _multiply(factor: Fraction, other: Fraction | float) -> Fraction | float:
    """Where no way leads to an end, it stays infinite, whatever it is multiplied with."""
    return other if other == math.inf else factor * other


def prepare_minimize_2(
    classes: Sequence[Sequence[int]], pieces: int, *, ended: bool = True, begun: bool = True
) -> Minimize2:
    """Algorithm 2 over what the mended algorithm 1 finds in these classes."""
    chances = [[Minimize1(counts).least(j) for j in range(pieces + 2)] for counts in classes]
    return Minimize2(
        chances, [Fraction(max(counts), sum(counts)) for counts in classes], ended, begun
    )


def compute_disclosure(ratio: Fraction | float) -> Fraction:
    """The largest disclosure that a ratio means."""
    return Fraction(0) if ratio == math.inf else 1 / (1 + Fraction(ratio))
