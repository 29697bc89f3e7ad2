"""The coalitions of one class's providers, ordered by how much harm they can do.

What the four verifiers of the m-privacy paper share (S. Goryczka, L. Xiong and B. C. M. Fung,
m-privacy for collaborative data publishing, CollaborateCom 2011, section III). A coalition
is written by ranks: provider 0 is the weakest of the class. A provider is as strong as the score
of its own rows is high,

    score(T) = (1 − α) |T| / k + α distinct(T) / l,    at most 1 − ε where T fails the rule

(the paper prints "max" for the last, which would contradict its own definition 3.1), with α = 0.3
and the k and l of the rule; a part that the rule does not have counts nothing, and between equal
scores more rows are stronger. The order changes how soon an answer is found, never the answer.

A *check* is one question to the rule about the class without a coalition's rows. Answers carry
over only where the rule is row-monotone (more rows never break it): then a coalition inside a
harmless one is harmless. Other rules are refused; ``exact`` judges them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.model import Model, parse_whole_number, split_rule
from shoal.core.tally import Groups
from shoal.core.theory.collusion import count_members, remove_coalitions, score_fitness

ALPHA = 0.3
"""The weight of diversity in the score, as in the paper's experiments on verification."""
BELOW_ONE = 1 - 1e-9
"""The highest score of rows that fail the rule."""
MAX_COALITIONS = 1 << 18
"""So many coalitions a verifier may have to look at."""
MAX_PROVIDERS = 63
"""Providers of a class: a coalition is the bits of one word."""
MAX_BATCH = 1 << 12

Coalitions = NDArray[np.int64]
"""(coalitions, members): the ranks of the members, one coalition a row."""
Masks = NDArray[np.uint64]
"""A bit for each member: bit 0 is the weakest provider."""


@dataclass(frozen=True)
class VerifierResult:
    """What a verifier found, and what it took."""

    coalition: tuple[int, ...] | None
    """The providers that break the class; none (empty) where it fails by itself; None: safe."""
    checks: int
    """How many coalitions the rule was asked about."""


@dataclass(frozen=True)
class CoalitionLattice:
    """One class, its providers from weak to strong, and the most that a coalition may have."""

    model: Model
    class_: Groups
    order: NDArray[np.int64]
    """The place of each rank among the class's providers."""
    most: int
    failing: bool
    """The class fails by itself: nobody needs to take rows away."""

    @classmethod
    def of(cls, model: Model, class_: Groups, m: int, name: str) -> CoalitionLattice:
        """The lattice that the verifier of this name searches."""
        check_single_class(class_)
        for part in split_rule(model):
            if not getattr(part, "row_monotone", False):
                raise UsageError(
                    f"The verifier {name} takes away all rows of a coalition, and fewer may break "
                    f"{part}.",
                    'use the verifier "exact".',
                )
        most = int(count_members(class_.contributed, parse_whole_number(m, "m", 0))[0])
        failing = not model.holds(class_).all()
        return cls(model, class_, rank_by_attack_power(model, class_), most, failing)

    @property
    def providers(self) -> int:
        """How many providers the class has."""
        return len(self.order)

    def level(self, size: int, *, strongest: bool = False) -> Coalitions:
        """All coalitions of a size, the weakest first, or the strongest."""
        everybody = range(self.providers)[:: -1 if strongest else 1]
        flat = np.fromiter(chain.from_iterable(combinations(everybody, size)), dtype=np.int64)
        return flat.reshape(math.comb(self.providers, size), size)

    def within(self, sizes: Iterable[int]) -> CoalitionLattice:
        """Itself, unless the coalitions of these sizes are too many to look at."""
        number = sum(math.comb(self.providers, size) for size in sizes)
        if self.providers > MAX_PROVIDERS or number > MAX_COALITIONS:
            raise UsageError(
                f"A class has {self.providers} providers: too many coalitions to look at (at most "
                f"{MAX_PROVIDERS} providers and {MAX_COALITIONS:,} coalitions).",
                'use the verifier "exact".',
            )
        return self

    def broken(self, coalitions: Coalitions) -> NDArray[np.bool_]:
        """Which coalitions break the rule: one check each."""
        broken = [
            ~self.model.holds(
                remove_coalitions(self.class_, self.order[coalitions[at : at + MAX_BATCH]])
            )
            for at in range(0, len(coalitions), MAX_BATCH)
        ]
        return np.concatenate(broken) if broken else np.zeros(0, bool)

    def first(self, coalitions: Coalitions) -> VerifierResult:
        """The first coalition, in their order, that breaks the rule.

        Asked in growing bites, and counted as if one after the other.
        """
        at, bite = 0, 1
        while at < len(coalitions):
            hits = np.flatnonzero(self.broken(coalitions[at : at + bite]))
            if len(hits):
                place = at + int(hits[0])
                return VerifierResult(self.provider_codes(coalitions[place]), place + 1)
            at, bite = at + bite, min(2 * bite, MAX_BATCH)
        return VerifierResult(None, len(coalitions))

    def provider_codes(self, coalition: NDArray[Any]) -> tuple[int, ...]:
        """The codes of a coalition's providers, ascending; of none where nobody is needed."""
        if self.failing:
            return ()
        providers = self.class_.contributed.matrix(0)[0]
        return tuple(sorted(providers[self.order[coalition]].tolist()))


def check_single_class(class_: Groups) -> None:
    """Refuse anything but one class."""
    if len(class_) != 1:
        raise UsageError(f"A verifier judges one class, not {len(class_)}.", "take one of them.")


def rank_by_attack_power(model: Model, class_: Groups) -> NDArray[np.int64]:
    """The places of a class's providers, from the weakest to the strongest."""
    n = int(class_.contributed.provider_counts[0])
    others = np.array([[j for j in range(n) if j != i] for i in range(n)], dtype=np.int64)
    own = remove_coalitions(class_, others.reshape(n, n - 1))
    return np.lexsort((own.rows, score_classes(model, own)))


def score_classes(model: Model, groups: Groups) -> NDArray[np.float64]:
    """How far each class fulfils the rule: 1 or more only where it does."""
    score = score_fitness(model, groups, ALPHA)
    return np.where(model.holds(groups), score, np.minimum(score, BELOW_ONE))


def encode_coalitions(coalitions: Coalitions) -> Masks:
    """Each coalition as bits.

    >>> encode_coalitions(np.array([[0, 2], [1, 2]])).tolist()
    [5, 6]
    """
    bits = np.uint64(1) << coalitions.astype(np.uint64)
    return np.asarray(np.bitwise_or.reduce(bits, axis=1))


def decode_coalition(mask: int) -> Coalitions:
    """The members of a coalition, as the only row.

    >>> decode_coalition(5).tolist()
    [[0, 2]]
    """
    return np.array([[i for i in range(mask.bit_length()) if mask >> i & 1]], dtype=np.int64)
