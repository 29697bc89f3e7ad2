"""The games that say what differential privacy means, played to the end on tiny tables.

A mechanism is written down as what it is: for every table the exact chance of every output, as
fractions. An adversary is a belief over tables. In game 0 they see an output on the true table, in
game i one on the table whose row i is replaced by the value 0; both posterior beliefs are computed
by Bayes, for every table and every output, and so is their statistical distance. Nothing is
sampled, and nothing is rounded: what holds here holds.

Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy, 2008,
section 4. A mechanism's ε is given by its ``odds``, e^ε, so that all chances are fractions.

It is a demonstration and a test oracle, for tables of a few people with a few values. It makes no
release, and says nothing about a mechanism that is not written down completely.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from shoal.core.errors import UsageError

Table = tuple[int, ...]
"""One value, from 0 on, for each person."""
Chances = Mapping[Any, Fraction]
"""What can be seen, and how probable it is."""
Belief = Mapping[Table, Fraction]

MAX_TABLES = 5_000
"""More tables than these are not written down."""
NEVER = Fraction(0)


@dataclass(frozen=True)
class Mechanism:
    """A mechanism as a table of exact probabilities: for each table, those of its outputs."""

    name: str
    chances: Mapping[Table, Chances]

    @property
    def people(self) -> int:
        """How many rows a table has."""
        return len(next(iter(self.chances)))

    def neighbours(self) -> Iterator[tuple[Table, Table]]:
        """All pairs of tables, in both orders, that differ in one row."""
        values = range(max(map(max, self.chances)) + 1)
        for table in self.chances:
            for at, value in product(range(self.people), values):
                if value != table[at]:
                    yield table, (*table[:at], value, *table[at + 1 :])

    def odds(self) -> Fraction | None:
        """e^ε for the least ε that holds; None where no ε does."""
        largest = Fraction(1)
        for table, neighbour in self.neighbours():
            for output, chance in self.chances[table].items():
                other_chance = self.chances[neighbour].get(output, NEVER)
                if chance and not other_chance:
                    return None
                largest = max(largest, chance / other_chance) if chance else largest
        return largest

    def delta(self, odds: Fraction, most: Iterable[Table] | None = None) -> Fraction:
        """The least δ that holds with e^ε = odds, at all tables or at ``most`` (definition 16)."""
        included = set(self.chances if most is None else most)
        pairs = (pair for pair in self.neighbours() if included & set(pair))
        return max(
            (excess(self.chances[table], self.chances[other], odds) for table, other in pairs),
            default=NEVER,
        )

    def variation(self) -> Fraction:
        """The largest statistical distance between neighbours: what it says of their *sum*."""
        return self.delta(Fraction(1))


def excess(one: Chances, other: Chances, odds: Fraction) -> Fraction:
    """By how much an event's chance can exceed ``odds`` times its chance in the other."""
    over = (chance - odds * other.get(output, NEVER) for output, chance in one.items())
    return sum((part for part in over if part > 0), NEVER)


def distance(one: Chances, other: Chances) -> Fraction:
    """The statistical distance (total variation) of two distributions.

    >>> distance({"a": Fraction(1)}, {"a": Fraction(1, 4), "b": Fraction(3, 4)})
    Fraction(3, 4)
    """
    return excess(one, other, Fraction(1))


def unlike(one: Chances, other: Chances, odds: Fraction) -> Fraction:
    """The chance in ``one`` of an output whose two chances differ by more than odds² (lemma 18)."""
    square, total = odds * odds, NEVER
    for output, chance in one.items():
        other_chance = other.get(output, NEVER)
        if chance > square * other_chance or other_chance > square * chance:
            total += chance
    return total


def posterior(
    mechanism: Mechanism, belief: Belief, output: Hashable, person: int | None = None
) -> Belief | None:
    """What is believed after an output, in game 0 or in a person's game; None: it cannot be seen.

    People are counted from 0.
    """
    inputs = {table: table if person is None else replaced(table, person) for table in belief}
    joint = {
        table: chance * mechanism.chances[inputs[table]].get(output, NEVER)
        for table, chance in belief.items()
    }
    total = sum(joint.values(), NEVER)
    return {table: chance / total for table, chance in joint.items()} if total else None


def replaced(table: Table, person: int) -> Table:
    """The table with one row replaced by the value 0."""
    return (*table[:person], 0, *table[person + 1 :])


@dataclass(frozen=True)
class Move:
    """One output: its chance in game 0, and how far each person's game leads from game 0."""

    output: Hashable
    chance: Fraction
    distances: tuple[Fraction, ...]


@dataclass(frozen=True)
class Played:
    """Everything that can be seen in game 0, by one belief."""

    moves: tuple[Move, ...]

    @property
    def worst(self) -> Fraction:
        """The largest distance, over outputs and people."""
        return max(max(move.distances) for move in self.moves)

    def exceeding(self, bound: Fraction | float) -> Fraction:
        """The chance that for any person at all the distance exceeds a bound."""
        return sum((move.chance for move in self.moves if max(move.distances) > bound), NEVER)


def play(mechanism: Mechanism, belief: Belief) -> Played:
    """Play game 0 and every person's game for every output that can be seen.

    Where an output cannot be seen in a person's game at all, the distance is 1.
    """
    outputs: dict[Hashable, Fraction] = {}
    for table, prior in belief.items():
        for output, chance in mechanism.chances[table].items():
            outputs[output] = outputs.get(output, NEVER) + prior * chance
    return Played(
        tuple(
            Move(output, chance, _distances(mechanism, belief, output))
            for output, chance in outputs.items()
            if chance
        )
    )


def _distances(mechanism: Mechanism, belief: Belief, output: Hashable) -> tuple[Fraction, ...]:
    true = posterior(mechanism, belief, output) or {}
    games = (posterior(mechanism, belief, output, at) for at in range(mechanism.people))
    return tuple(Fraction(1) if game is None else distance(true, game) for game in games)


def tables(people: int, values: int = 2) -> tuple[Table, ...]:
    """All tables of so many people, each with one of so many values."""
    if min(people, values) < 1 or values**people > MAX_TABLES:
        raise UsageError(
            f"Games are played on 1 to {MAX_TABLES:,} tables.",
            "take fewer people, or fewer values.",
        )
    return tuple(product(range(values), repeat=people))


def uniform(among: Iterable[Table]) -> Belief:
    """The belief that every one of these tables is as likely as any other."""
    possible = tuple(among)
    return dict.fromkeys(possible, Fraction(1, len(possible)))


def written(name: str, among: Iterable[Table], chances: Callable[[Table], Chances]) -> Mechanism:
    """A mechanism, from a function that gives one table's chances."""
    return Mechanism(name, {table: dict(chances(table)) for table in among})


def exclusive_or(people: int, odds: Fraction) -> Mechanism:
    """Randomised response to one question: is the sum of all bits odd? One answer for all."""
    keep = odds / (1 + odds)
    return written(
        "randomised response on XOR",
        tables(people),
        lambda table: {sum(table) % 2: keep, 1 - sum(table) % 2: 1 - keep},
    )


def responses(people: int, values: int, odds: Fraction) -> Mechanism:
    """Randomised response of every person: one's own value with ``odds`` to each of the others."""
    whole = odds + values - 1

    def chances(table: Table) -> Chances:
        probabilities: dict[Hashable, Fraction] = {}
        for answers in tables(people, values):
            same = sum(answer == true for answer, true in zip(answers, table, strict=True))
            probabilities[answers] = odds**same / whole**people
        return probabilities

    return written("randomised response", tables(people, values), chances)


def counting(people: int, odds: Fraction) -> Mechanism:
    """How many bits are set, with discrete Laplace noise, cut off at 0 and at everybody."""
    ratio = 1 / odds

    def chances(table: Table) -> Chances:
        inside = {
            count: (1 - ratio) / (1 + ratio) * ratio ** abs(count - sum(table))
            for count in range(1, people)
        }
        low, high = sum(table), people - sum(table)
        return {0: ratio**low / (1 + ratio), **inside, people: ratio**high / (1 + ratio)}

    return written("noisy count", tables(people), chances)


def random_record(people: int, values: int) -> Mechanism:
    """The paper's warning: whose row it is, and the row, of one person drawn at random."""
    return written(
        "one record",
        tables(people, values),
        lambda table: {(at, table[at]): Fraction(1, people) for at in range(people)},
    )


def leaking(mechanism: Mechanism, delta: Fraction) -> Mechanism:
    """A mechanism that publishes the table as it is with chance δ, and else does as before."""

    def chances(table: Table) -> Chances:
        scaled = {output: (1 - delta) * p for output, p in mechanism.chances[table].items()}
        return {**scaled, ("table", table): delta}

    return written(f"leaking {mechanism.name}", mechanism.chances, chances)
