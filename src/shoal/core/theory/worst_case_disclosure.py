"""Worst-case disclosure: how certain k pieces of knowledge can make somebody of anybody's value.

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

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import InputError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import NEAR, Mask, decide_near_ties, is_at_most, parse_whole_number
from shoal.kernels import disclosure as disclose
from shoal.kernels.threads import share_out

# The atoms that attain the worst case, and their chance, exactly: the counterpart of
# ``kernels.disclosure`` in whole numbers, for the few classes that can matter. What floats leave
# undecided is decided here, and the witness comes from here.


Signature = tuple[int, ...]
"""A class as it matters: its people, then its largest counts in descending order."""


@lru_cache(maxsize=1 << 14)
def min_refutation(signature: Signature, atoms: int) -> tuple[Fraction, tuple[int, ...]]:
    """The smallest chance that so many atoms about a class are all false, and whose they are.

    So many of them are about its first person, its second, …, never ascending. MINIMIZE1 of
    Martin et al., ICDE 2007.

    >>> min_refutation((5, 2, 2, 1), 2)
    (Fraction(1, 5), (2,))
    """
    return min(_shared(signature, 0, atoms, atoms), key=_smallest)


@lru_cache(maxsize=1 << 14)
def _shared(
    signature: Signature, person: int, most: int, atoms: int
) -> tuple[tuple[Fraction, tuple[int, ...]], ...]:
    """Each way to begin with this person's share of the atoms, at its best."""
    if not atoms:
        return ((Fraction(1), ()),)
    left = signature[0] - person
    if left <= 0:
        return ((Fraction(0), ()),)
    ways = []
    for own in range(min(most, atoms), 0, -1):
        false = Fraction(max(left - sum(signature[1 : own + 1]), 0), left)
        chance, others = min(_shared(signature, person + 1, own, atoms - own), key=_smallest)
        ways.append((false * chance, (own, *others)))
    return tuple(ways)


def _smallest(way: tuple[Fraction, tuple[int, ...]]) -> tuple[Fraction, int]:
    """Of equal chances the one about fewer people, which is simpler to explain."""
    return way[0], len(way[1])


def exact_inverse_odds(signature: Signature) -> Fraction:
    """One over the chance of the most common value."""
    return Fraction(signature[0], signature[1])


@dataclass(frozen=True)
class WorstCase:
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
class WorstClasses:
    """For each number of atoms the class with the smallest chance; likewise for the target's."""

    classes: Sequence[Signature]
    best: Sequence[int]
    own: Sequence[int]

    @classmethod
    def of(cls, classes: Sequence[Signature], atoms: int) -> WorstClasses:
        """The best of these classes for 0, 1, …, ``atoms`` atoms."""
        best, own = [0], [0]
        for j in range(1, atoms + 1):
            chance = [min_refutation(signature, j)[0] for signature in classes]
            best.append(_index_of_min(chance))
            own.append(
                _index_of_min(
                    [c * exact_inverse_odds(s) for c, s in zip(chance, classes, strict=True)]
                )
            )
        return cls(classes, best, own)

    def _chance(self, class_: int, atoms: int) -> Fraction:
        return min_refutation(self.classes[class_], atoms)[0]

    @cached_property
    def min_products(self) -> list[tuple[Fraction, Counter[int]]]:
        """For 0, 1, … atoms the smallest product over classes, and their atoms in each."""
        min_products = [(Fraction(1), Counter[int]())]
        for j in range(1, len(self.best)):
            ways = [self._chance(self.best[i], i) * min_products[j - i][0] for i in range(1, j + 1)]
            i = j - _index_of_min(ways[::-1])  # of equal ways the one with fewer classes
            min_products.append((ways[i - 1], min_products[j - i][1] + Counter({self.best[i]: i})))
        return min_products

    def attained(
        self, target: int | None = None, extra: Signature | None = None
    ) -> list[WorstCase]:
        """For 1, 2, … atoms the worst case; fewer where more do not help.

        ``target`` is the class of the target; None: any. ``extra`` is one more class, the last,
        that only the target may be in.

        >>> figure = WorstClasses.of([(5, 2, 2, 1), (5, 2, 1, 1)], 3)
        >>> [str(case.disclosure) for case in figure.attained()]
        ['2/5', '2/3', '1']
        """
        cases: list[WorstCase] = []
        for atoms in range(1, len(self.best)):
            ways = [self._with_target(j, atoms - j, target, extra) for j in range(atoms, 0, -1)]
            case = ways[_index_of_min([way.ratio for way in ways])]
            cases.append(case if not cases or case.ratio < cases[-1].ratio else cases[-1])
        return cases

    def _with_target(
        self, j: int, rest: int, target: int | None, extra: Signature | None
    ) -> WorstCase:
        """With j atoms in the target's class, its own among them, and the rest anywhere."""
        class_ = self.own[j] if target is None else target
        signature = self.classes[class_] if class_ < len(self.classes) or extra is None else extra
        chance, others = self.min_products[rest]
        own = min_refutation(signature, j)[0] * exact_inverse_odds(signature)
        return WorstCase(own * chance, class_, others + Counter({class_: j}))


def _index_of_min(values: Sequence[Fraction]) -> int:
    return min(range(len(values)), key=values.__getitem__)


# All classes of a table


IMPLICATIONS, NEGATIONS = "implications", "negations"
"""What a piece of knowledge is."""
MAX_PIECES = 40
"""So many pieces are counted with: products of more chances could be too small for floats."""
MAX_PEOPLE = 1e15
"""More people than this are a mistake, and might not fit the numbers that count them."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PersonValue:
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
    target: PersonValue
    others: tuple[PersonValue, ...] = ()


def max_disclosure(
    histograms: Any, k: int, *, knowledge: str = IMPLICATIONS, exact: bool = False
) -> list[float] | list[Fraction]:
    """The largest belief that 0, 1, …, k pieces of knowledge can give, of classes given by counts.

    Parameters
    ----------
    histograms : sequence or array
        For each class its counts: a sequence, a mapping from values to counts, or a row.
    k : int
        How many pieces at most.
    knowledge : str
        ``"implications"``, or ``"negations"`` for the weaker adversary of l-diversity.
    exact : bool
        Whether to return fractions in place of floats.

    Returns
    -------
    list
        The largest belief with 0, 1, …, k pieces.

    Raises
    ------
    UsageError, InputError
        Where there is no class, or the counts are no whole numbers from 0 on.

    Examples
    --------
    >>> max_disclosure([[2, 2, 1], [2, 1, 1, 1]], 2, exact=True)
    [Fraction(2, 5), Fraction(2, 3), Fraction(1, 1)]
    """
    signed = ClassSignatures.of(*_to_sparse_counts(histograms), _atoms(k, knowledge))
    if not exact:
        return list(map(float, signed.curve(knowledge)))
    if knowledge == NEGATIONS:
        return [max(belief for belief, _ in signed.negated(j)) for j in range(signed.atoms)]
    return [case.disclosure for case in signed.attained()]


def disclosure_curve(h: Histogram, k: int, knowledge: str = IMPLICATIONS) -> Floats:
    """The same for a table's classes, as floats (k + 1)."""
    return sign_classes(h, k, knowledge).curve(knowledge)


def disclosure_per_class(h: Histogram, k: int, knowledge: str = IMPLICATIONS) -> Floats:
    """Per class the largest belief about one of its people, with k pieces about anybody."""
    signed = sign_classes(h, k, knowledge)
    return signed.each(knowledge)[signed.number]


def find_reaching(h: Histogram, k: int, c: Fraction, knowledge: str = IMPLICATIONS) -> Mask:
    """Per class whether the belief about one of its people can become c or more, exactly."""
    signed = sign_classes(h, k, knowledge)
    return signed.reaching(c, knowledge)[signed.number]


def find_witness(h: Histogram, k: int, knowledge: str = IMPLICATIONS) -> Witness:
    """The knowledge that discloses most; fewer than k pieces where fewer suffice."""
    signed = sign_classes(h, k, knowledge)
    if knowledge == NEGATIONS:
        beliefs = [
            (belief, -j, at) for j in range(signed.atoms) for belief, at in signed.negated(j)
        ]
        disclosure, fewer, at = max(beliefs)
        return _write_witness(h, signed, disclosure, at, {at: (1 - fewer,)})
    worst = signed.attained()[-1]
    rows = signed.tuples(worst.atoms)
    shares = {
        at: min_refutation(row, atoms)[1]
        for (at, atoms), row in zip(worst.atoms.items(), rows, strict=True)
    }
    return _write_witness(h, signed, worst.disclosure, worst.target, shares)


def sign_classes(h: Histogram, k: int, knowledge: str = IMPLICATIONS) -> ClassSignatures:
    """The signatures of a table's classes for k pieces of knowledge."""
    if not len(h.rows):
        raise UsageError("There is no class to judge.", "publish at least one row.")
    return ClassSignatures.of(h.start, h.count, _atoms(k, knowledge))


@dataclass(frozen=True)
class ClassSignatures:
    """The distinct signatures of classes: all that worst-case disclosure depends on."""

    rows: NDArray[np.int64]
    """(signatures, 1 + atoms): people, and the largest counts in descending order."""
    number: NDArray[np.int64]
    """The signature of each class."""

    @classmethod
    def of(cls, start: NDArray[np.int64], count: NDArray[np.int64], atoms: int) -> Self:
        """The signatures of sparse histograms for so many atoms."""
        marks = np.empty((len(start) - 1, 2), np.uint64)
        share_out(disclose.hash_classes, len(marks), len(count), start, count, marks)
        number, first = disclose.number_distinct_hashes(marks)
        rows = compute_signatures(start, count, atoms, first)
        if not rows[:, 0].all():
            raise UsageError("A class has no people.", "leave empty classes out.")
        return cls(rows, number)

    @property
    def atoms(self) -> int:
        """How many atoms there can be: a target, and k antecedents."""
        return int(self.rows.shape[1]) - 1

    @cached_property
    def min_chance(self) -> Floats:
        """(signatures, 1 + atoms): the smallest chance that up to j atoms are all false."""
        return min_chances(self.rows)

    @cached_property
    def odds(self) -> Floats:
        """One over the chance of the most common value."""
        return inverse_odds(self.rows)

    @cached_property
    def min_products(self) -> Floats:
        """The smallest chance that up to 0, 1, … atoms anywhere are all false."""
        products = np.empty(self.atoms + 1)
        disclose.fill_smallest_products(self.min_chance.min(axis=0), products)
        return products

    def tuples(self, at: Iterable[int]) -> list[Signature]:
        """Some of the signatures as whole numbers."""
        return [tuple(self.rows[i].tolist()) for i in at]

    def negated(self, k: int) -> list[tuple[Fraction, int]]:
        """The belief that k negations give, exactly, of signatures where it can be the largest."""
        belief = self.rows[:, 1] / (self.rows[:, 0] - self.rows[:, 2 : k + 2].sum(axis=1))
        at = np.flatnonzero(belief >= belief.max() * (1 - NEAR)).tolist()
        return [
            (Fraction(row[1], row[0] - sum(row[2 : k + 2])), i)
            for i, row in zip(at, self.tuples(at), strict=True)
        ]

    def curve(self, knowledge: str) -> Floats:
        """The maximum disclosure with 0, 1, …, atoms − 1 pieces."""
        if knowledge == NEGATIONS:
            left = self.rows[:, 0] - np.cumsum(self.rows[:, 1:], axis=1).T + self.rows[:, 1]
            return np.asarray((self.rows[:, 1] / left).max(axis=1))
        own = (self.min_chance * self.odds[:, np.newaxis]).min(axis=0)
        ratio = [
            (own[1 : j + 1] * self.min_products[j - 1 :: -1]).min()
            for j in range(1, self.atoms + 1)
        ]
        return np.asarray(1 / (1 + np.array(ratio)))

    def each(self, knowledge: str) -> Floats:
        """Per signature the largest belief about somebody of such a class."""
        if knowledge == NEGATIONS:
            left = self.rows[:, 0] - self.rows[:, 2:].sum(axis=1)
            return np.asarray(self.rows[:, 1] / left)
        return np.asarray(1 / (1 + self.ratio))

    def reaching(self, c: Fraction, knowledge: str) -> Mask:
        """Per signature whether such a class's largest belief is c or more."""
        if knowledge == NEGATIONS:
            left = self.rows[:, 0] - self.rows[:, 2:].sum(axis=1)
            return is_at_most([left], [self.rows[:, 1]], 1 / c)
        bound = 1 / c - 1
        return ~is_above(self.ratio, bound, lambda i: self.attained(i)[-1].ratio > bound)

    @cached_property
    def ratio(self) -> Floats:
        """Per signature the smallest ratio r with the target in such a class."""
        return np.asarray(
            (self.min_chance[:, 1:] * self.min_products[-2::-1]).min(axis=1) * self.odds
        )

    @cached_property
    def _worst(self) -> tuple[list[int], WorstClasses]:
        """The signatures that can be the best for some number of atoms, and of these the best."""
        candidate = np.zeros(len(self.rows), bool)
        for j in range(1, self.atoms + 1):
            for role in (self.min_chance[:, j], self.min_chance[:, j] * self.odds):
                near = np.flatnonzero(role <= role.min() * (1 + NEAR))
                near = near if role.min() > 0 else near[:1]  # of zeros any will do
                alike = np.unique(self.rows[near, : j + 1], axis=0, return_index=True)[1]
                candidate[near[alike]] = True
        at = np.flatnonzero(candidate).tolist()
        return at, WorstClasses.of(self.tuples(at), self.atoms)

    def attained(self, target: int | None = None) -> list[WorstCase]:
        """Exactly, for 1, …, atoms atoms; classes are signatures.

        ``target``: the signature of the target's class.
        """
        at, worst = self._worst
        extra = None
        if target is not None and target not in at:
            at, extra = [*at, target], self.tuples([target])[0]
        cases = worst.attained(None if target is None else at.index(target), extra)
        return [
            WorstCase(
                case.ratio, at[case.target], Counter({at[i]: n for i, n in case.atoms.items()})
            )
            for case in cases
        ]


def compute_signatures(
    start: NDArray[np.int64],
    count: NDArray[np.int64],
    atoms: int,
    classes: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """People and largest counts of (some of the) classes: (classes, 1 + atoms)."""
    classes = np.arange(len(start) - 1) if classes is None else classes
    rows = np.empty((len(classes), atoms + 1), np.int64)
    share_out(
        disclose.fill_signatures, len(classes), len(classes) * atoms, classes, start, count, rows
    )
    return rows


def min_chances(rows: NDArray[np.int64]) -> Floats:
    """The smallest chance that up to 0, 1, … atoms in a class are all false, per signature."""
    chances = np.empty(rows.shape)
    share_out(disclose.fill_refutation_chances, len(rows), rows.size * rows.shape[1], rows, chances)
    return chances


def inverse_odds(rows: NDArray[np.int64]) -> Floats:
    """One over the chance of a class's most common value, per signature."""
    return np.asarray(rows[:, 0] / rows[:, 1])


def is_above(ratio: Floats, bound: Fraction, exact: Callable[[int], bool]) -> Mask:
    """Where ratios exceed a bound; ``exact`` decides where floats are too close to tell.

    A ratio is 0 only where a count is, so that above 0 floats can always tell.
    """
    if not bound:
        return np.asarray(ratio > 0)
    return decide_near_ties(ratio, float(bound), ratio > float(bound), exact)


def _write_witness(
    h: Histogram,
    signed: ClassSignatures,
    disclosure: Fraction,
    target: int,
    shares: Mapping[int, Sequence[int]],
) -> Witness:
    """The witness in classes and values: of each signature the first class that has it.

    ``shares`` says for how many values its first person, its second, … is spoken of.
    """
    atoms = []
    for at in sorted(shares, key=lambda signature: signature != target):
        class_ = int(np.argmax(signed.number == at))
        codes, counts = h.of_class(class_)
        ranked = [code for _, code in sorted(zip((-n for n in counts), codes, strict=True))]
        for person, number in enumerate(shares[at]):
            atoms += [PersonValue(class_, person, value) for value in ranked[:number]]
    return Witness(disclosure, atoms[0], tuple(atoms[1:]))


def parse_pieces(k: int | str) -> int:
    """A number of pieces of knowledge that can be counted with."""
    number = parse_whole_number(k, "k", 0)
    if number > MAX_PIECES:
        raise UsageError(
            f"k is at most {MAX_PIECES} pieces of knowledge.", "write for example k=3."
        )
    return number


def _atoms(k: int, knowledge: str) -> int:
    """The target's atom, and one for each piece."""
    if knowledge not in (IMPLICATIONS, NEGATIONS):
        raise UsageError(
            f"There is no knowledge {knowledge!r}.", f"write {IMPLICATIONS} or {NEGATIONS}."
        )
    return parse_pieces(k) + 1


def _to_sparse_counts(histograms: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if isinstance(histograms, np.ndarray) and histograms.ndim == 2:
        start = np.arange(len(histograms) + 1) * histograms.shape[1]
        count = np.ascontiguousarray(histograms).ravel()
    else:
        start, count = _listed(histograms)
    if len(start) < 2:
        raise UsageError("There is no class to judge.", "give the counts of at least one class.")
    if not np.issubdtype(count.dtype, np.integer) or (count < 0).any():
        raise InputError("Counts are whole numbers, 0 or more.", "write for example [2, 2, 1].")
    if float(count.sum(dtype=np.float64)) > MAX_PEOPLE:
        raise InputError(f"There are more than {MAX_PEOPLE:.0e} people.", "check the counts.")
    return start.astype(np.int64), count.astype(np.int64)


def _listed(histograms: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    try:
        lists = [list(h.values() if isinstance(h, Mapping) else h) for h in histograms]
    except TypeError:
        raise UsageError(
            "Histograms are one list of counts for each class.", "write for example [[2, 2, 1]]."
        ) from None
    counts = [count for counts in lists for count in counts] or [0]
    return np.cumsum([0, *map(len, lists)]), np.array(counts)
