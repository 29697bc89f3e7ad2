"""The verifiers of m-privacy: is there a coalition of at most m providers that breaks a class?

All answer the same question about one class; they differ in how many coalitions they look at.
`verify_exact` is what Shoal itself uses. The others are those of S. Goryczka, L. Xiong and B. C. M.
Fung, m-privacy for collaborative data publishing, CollaborateCom 2011, to compare with.

The paper's verifiers search a lattice of coalitions, ordered by how much harm they can do. A
coalition is written by ranks: provider 0 is the weakest of the class. A provider is as strong as
the score of its own rows is high (section III),

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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.model import Model, parse_whole_number, split_rule
from shoal.core.tally import Groups
from shoal.core.theory.collusion import (
    count_members,
    find_breaches,
    remove_coalitions,
    score_fitness,
)

ALPHA = 0.3
"""The weight of diversity in the score, as in the paper's experiments on verification."""
BELOW_ONE = 1 - 1e-9
"""The highest score of rows that fail the rule."""
MAX_COALITIONS = 1 << 18
"""The largest number of coalitions that a verifier looks at."""
MAX_PROVIDERS = 63
"""Of a class: a coalition is the bits of one word."""
MAX_BATCH = 1 << 12
STRONG_SCORE = 10.0
"""The score from which even nearly all of a class's providers leave enough."""

Coalitions = NDArray[np.int64]
"""(coalitions, members): the ranks of the members, one coalition a row."""
Masks = NDArray[np.uint64]
"""A bit for each member: bit 0 is the weakest provider."""


@dataclass(frozen=True)
class VerifierResult:
    """The answer of a verifier, and what it took."""

    coalition: tuple[int, ...] | None
    """The providers that break the class; none (empty) where it fails by itself; None: safe."""
    checks: int
    """How many coalitions the rule was checked against."""


@dataclass(frozen=True)
class CoalitionLattice:
    """One class, its providers from weak to strong, and the largest coalition."""

    model: Model
    class_: Groups
    order: NDArray[np.int64]
    """The place of each rank among the class's providers."""
    max_size: int
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
        max_size = int(count_members(class_.contributed, parse_whole_number(m, "m", 0))[0])
        failing = not model.holds(class_).all()
        return cls(model, class_, rank_by_attack_power(model, class_), max_size, failing)

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
        batches = (coalitions[at : at + MAX_BATCH] for at in range(0, len(coalitions), MAX_BATCH))
        broken = [
            ~self.model.holds(remove_coalitions(self.class_, self.order[batch]))
            for batch in batches
        ]
        return np.concatenate(broken) if broken else np.zeros(0, bool)

    def first(self, coalitions: Coalitions) -> VerifierResult:
        """The first coalition, in their order, that breaks the rule.

        Checked in growing batches, and counted as if one after the other.
        """
        at, batch = 0, 1
        while at < len(coalitions):
            hits = np.flatnonzero(self.broken(coalitions[at : at + batch]))
            if len(hits):
                place = at + int(hits[0])
                return VerifierResult(self.provider_codes(coalitions[place]), place + 1)
            at, batch = at + batch, min(2 * batch, MAX_BATCH)
        return VerifierResult(None, len(coalitions))

    def provider_codes(self, coalition: NDArray[Any]) -> tuple[int, ...]:
        """The codes of a coalition's providers, ascending; none where the class fails by itself."""
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


def verify_exact(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Each part of the rule by its own exact test, without trying coalitions one by one.

    Rows: the providers with most rows are the worst. Distinct values: the coalition must hold all
    rows of all but l − 1 values, a minimum q-union, searched after a kernel. Rules that are not
    row-monotone: any of a coalition's rows may be taken away, each rule by its own test. The
    meaning is the paper's (definition 2.1); the tests are Shoal's. It counts as one check.

    It names one coalition that breaks the class, not the smallest and not all.
    """
    check_single_class(class_)
    max_members = count_members(class_.contributed, parse_whole_number(m, "m", 0))
    return VerifierResult(find_breaches(model, class_, max_members).of(0), 1)


def verify_direct(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Every coalition of the largest size, the strongest first, until one breaks the rule.

    The largest size is min(m, n_G − 1) of the class's n_G providers. Smaller coalitions need no
    check: what they leave contains what larger ones leave (section III). It does not prune: a
    class that is safe costs all checks.
    """
    lattice = CoalitionLattice.of(model, class_, m, "direct")
    size = lattice.max_size
    return lattice.within([size]).first(lattice.level(size, strongest=True))


def verify_bottom_up(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Coalitions of 0, 1, …, m providers, the strongest of a size first, until one breaks the rule.

    Upward pruning: whatever contains a coalition that breaks the rule breaks it too, so the first
    that does settles all larger ones (section III). The coalition it names is one of the smallest
    that break the class. It does not prune a safe class: that costs more checks than ``direct``.
    """
    lattice = CoalitionLattice.of(model, class_, m, "bottom-up")
    sizes = range(lattice.max_size + 1)
    lattice.within(sizes)
    checks = 0
    for size in sizes:
        first = lattice.first(lattice.level(size, strongest=True))
        checks += first.checks
        if first.coalition is not None:
            return VerifierResult(first.coalition, checks)
    return VerifierResult(None, checks)


def verify_top_down(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Coalitions of n_G − 1, n_G − 2, …, m providers, without those inside a harmless one.

    Downward pruning: a coalition inside one that does not break the rule does not break it, so a
    size of which none breaks it settles all smaller ones (section III). It does not stop early
    where a class is weak: every coalition above m may have to be checked before one of m.
    """
    lattice = CoalitionLattice.of(model, class_, m, "top-down")
    lattice.within(range(lattice.max_size, lattice.providers))
    checks, safe = 0, np.zeros(0, np.uint64)
    for size in range(lattice.providers - 1, lattice.max_size, -1):
        checked = _without(lattice.level(size), safe)
        broken = lattice.broken(checked)
        checks += len(checked)
        if not broken.any():
            return VerifierResult(None, checks)
        harmless = np.concatenate([safe, encode_coalitions(checked[~broken])])
        safe = _drop_one_member(harmless, lattice.providers)
    first = lattice.first(_without(lattice.level(lattice.max_size, strongest=True), safe))
    return VerifierResult(first.coalition, checks + first.checks)


def _without(coalitions: Coalitions, safe: Masks) -> Coalitions:
    return coalitions[~np.isin(encode_coalitions(coalitions), safe)]


def _drop_one_member(coalitions: Masks, providers: int) -> Masks:
    bits = np.uint64(1) << np.arange(providers, dtype=np.uint64)
    smaller = [coalitions[coalitions & bit > 0] ^ bit for bit in bits]
    return np.unique(np.concatenate(smaller))


def verify_binary(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Algorithm 1: settle many coalitions of m providers by one harmless larger one.

    Take a coalition of n_G − 1 providers, the weakest first, that contains an unsettled one of m.
    If it is harmless, all inside it are. If not, take the strongest unsettled one inside it: if
    that breaks the rule, the class is not m-private; else halve the way between the two, adding
    the weakest half of the missing providers, until the largest harmless one is found, and settle
    all inside it. (In the paper line 6 lacks a "not" and line 5 says n for n_G.) No coalition is
    checked twice. All coalitions of m providers are kept in memory.
    """
    lattice = CoalitionLattice.of(model, class_, m, "binary")
    size = lattice.max_size
    unsettled = encode_coalitions(lattice.within([size]).level(size, strongest=True))
    answers: dict[int, bool] = {}

    def breaks(coalition: int) -> bool:
        if coalition not in answers:
            answers[coalition] = bool(lattice.broken(decode_coalition(coalition))[0])
        return answers[coalition]

    while len(unsettled):
        above = _weakest_above(unsettled, lattice.providers)
        if breaks(above):
            inside = int(unsettled[unsettled & ~np.uint64(above) == 0][0])
            if breaks(inside):
                coalition = lattice.provider_codes(decode_coalition(inside)[0])
                return VerifierResult(coalition, len(answers))
            above = _largest_harmless(inside, above, breaks)
        unsettled = unsettled[unsettled & ~np.uint64(above) > 0]
    return VerifierResult(None, len(answers))


def _weakest_above(unsettled: Masks, providers: int) -> int:
    """Of the coalitions of all but one, the weakest that contains an unsettled coalition."""
    everybody = (1 << providers) - 1
    lacking = ~int(np.bitwise_and.reduce(unsettled)) & everybody  # some unsettled one lacks them
    return everybody ^ (1 << lacking.bit_length() - 1)


def _largest_harmless(harmless: int, harmful: int, breaks: Callable[[int], bool]) -> int:
    """The largest harmless coalition on one way between the two."""
    while (missing := decode_coalition(harmless ^ harmful)[0]).size > 1:
        half = harmless | sum(1 << rank for rank in missing[: missing.size // 2].tolist())
        if breaks(half):
            harmful = half
        else:
            harmless = half
    return harmless


def verify_adaptive(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Top-down for a class that fulfils the rule with room to spare, else binary.

    "For large values of the privacy fitness score the top-down, otherwise the binary" (section IV,
    which names no number). The answer is the same.
    """
    strong = bool((score_classes(model, class_) >= STRONG_SCORE).all())
    return (verify_top_down if strong else verify_binary)(model, class_, m)


def verifiers() -> dict[str, Callable[[Model, Groups, int], VerifierResult]]:
    """Every verifier by its name on the command line."""
    return {
        "adaptive": verify_adaptive,
        "binary": verify_binary,
        "bottom-up": verify_bottom_up,
        "direct": verify_direct,
        "exact": verify_exact,
        "top-down": verify_top_down,
    }
