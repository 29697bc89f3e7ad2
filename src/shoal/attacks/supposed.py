"""Knowledge that somebody is supposed to have: who it speaks of, and how sure it makes.

The people of a piece of knowledge are rows of the release, ``#12``, or targets by name. A row
stands for somebody of its class, and a name for somebody whose cells are in one class only; two
that are called differently are two people. Of a class's people nobody knows whose value is which:
every way to deal its values out to them is equally likely (random worlds), and the belief is the
share, of the ways that the knowledge allows, in which it is true.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, section 2.

It does not say whether anybody knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.attacks.view import People, Published, View, named
from shoal.errors import InputError, UsageError
from shoal.knowledge import Atom, Implication
from shoal.release import Finding
from shoal.tally import Histogram
from shoal.worlds import Belief, belief

RANDOM_WORLDS = (
    "the adversary knows that the people are in the release, and each one's class",
    "every way to deal a class's values out to its people is equally likely (random worlds)",
)
DEFENCE = 'ask for safety from so many pieces of knowledge: "ck-safety c={c} k={k}".'
_ROW = re.compile(r"#0*([1-9][0-9]*)")


def rank(values: Histogram, class_: int, code: int) -> int:
    """How common a value is in a class: 1, the most common; among equals the first one first."""
    codes, counts = values.of_class(class_)
    own = counts[codes.index(code)]
    return 1 + sum(n > own or (n == own and c < code) for c, n in zip(codes, counts, strict=True))


def common(rank: int) -> str:
    """A value by its rank.

    >>> [common(rank) for rank in (1, 2, 11, 23)]
    ['most common', '2nd most common', '11th most common', '23rd most common']
    """
    if rank == 1:
        return "most common"
    last = 0 if rank % 100 in (11, 12, 13) else rank % 10
    return f"{rank}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') } most common"


def share(chance: float | Fraction) -> str:
    """A chance in per cent, where only what is certain is 100 %.

    >>> share(Fraction(2, 3)), share(Fraction(999, 1000)), share(1)
    ('67% (2/3)', 'over 99% (999/1000)', '100%')
    """
    told = "over 99%" if 0.995 <= chance < 1 else f"{float(chance):.0%}"
    short = isinstance(chance, Fraction) and 1 < chance.denominator <= 1000
    return f"{told} ({chance})" if short else told


def counted(number: int, one: str, many: str) -> str:
    """So many of them."""
    return f"{number:,} {one if number == 1 else many}"


@dataclass(frozen=True)
class _Somebody:
    """A person of the knowledge: the row that was meant, of which table, and the class."""

    row: int
    table: str
    class_: int


def supposed(
    view: View,
    release: Published,
    values: Histogram,
    about: Atom,
    knowing: Sequence[Implication],
    sure: Fraction,
    rng: np.random.Generator | None = None,
) -> Finding:
    """How sure the knowledge makes somebody of what it is asked ``about``."""
    atoms = [about, *(atom for one in knowing for atom in one.atoms)]
    _same_column(atoms, values.axis.name)
    codes = _codes(view, (atom.value for atom in atoms))
    people = _people(view, release, dict.fromkeys(_person(atom) for atom in atoms))
    found = _believed(values, codes, people, about, knowing, rng)
    who, pieces = people[_person(about)], len(knowing)
    reached = _most(found) >= sure
    return Finding(
        attack="background",
        people=1,
        exposed=int(reached),
        sure=found.probability,
        guessing=float(found.before),
        sentence=_sentence(values, found, pieces, len(people)),
        defence=DEFENCE.format(c=f"{float(sure):g}", k=max(pieces, 1)),
        example=_example(view, values, found, who, about, knowing, codes),
        assumptions=(*RANDOM_WORLDS, "what the adversary is supposed to know is true"),
        worst=(who.row,),
        table=who.table,
        witness=_witness(view, values, who, about, knowing, codes),
        details={
            "sure": float(sure),
            "pieces": pieces,
            "people_mentioned": len(people),
            "exact": None if found.exact is None else str(found.exact),
            "before": str(found.before),
            "draws": found.draws,
            "interval": found.interval,
        },
    )


def _person(atom: Atom) -> str:
    """What a person is called; a row in one way only."""
    row = _ROW.fullmatch(atom.person)
    return f"#{row[1]}" if row else atom.person


def _same_column(atoms: Iterable[Atom], name: str) -> None:
    if any(atom.column != name for atom in atoms):
        raise UsageError(
            f"The knowledge is about another column than {name!r}, which is to be learnt.",
            f"write for example #7.{name}=..., or name the column to learn: --on COL.",
        )


def _codes(view: View, words: Iterable[str]) -> dict[str, int]:
    """The code of each value that is spoken of, as it is written."""
    axis = view.sensitive
    assert axis is not None
    of_word = {view.value(code): code for code in reversed(range(axis.size))}
    found = {word: of_word.get(word, -1) for word in words}
    if axis.kind in ("number", "date"):  # 50 is 50.0
        for word in (one for one, code in found.items() if code < 0):
            found[word] = _place(view, word)
    if unknown := sum(code < 0 for code in found.values()):
        raise UsageError(
            f"{counted(unknown, 'value', 'values')} of {axis.name} that the knowledge speaks of "
            f"{'is' if unknown == 1 else 'are'} in no row of the release.",
            "write values as the release does, capitals too.",
        )
    return found


def _place(view: View, word: str) -> int:
    assert view.sensitive is not None
    try:
        code = int(view.sensitive.codes([word])[0])
    except ValueError:
        return -1
    return -1 if code == view.sensitive.null_code else code


def _people(view: View, release: Published, who: Iterable[str]) -> dict[str, _Somebody]:
    """Each person that is spoken of: a row of the release, or one of the targets by name."""
    rows = {one: int(one[1:]) for one in who if _ROW.fullmatch(one)}
    names = [one for one in who if one not in rows]
    if outside := sum(row > len(release.class_) for row in rows.values()):
        raise UsageError(
            f"The knowledge speaks of {counted(outside, 'row', 'rows')} that the release does not "
            "have.",
            f"its rows are #1 to #{len(release.class_)}.",
        )
    found = {
        one: _Somebody(row, "release 1", int(release.class_[row - 1])) for one, row in rows.items()
    }
    return {**found, **_named_people(view.people, release, names)}


def _named_people(
    people: People | None, release: Published, names: Sequence[str]
) -> dict[str, _Somebody]:
    if not names:
        return {}
    if people is None or people.names is None:
        lacks = "--targets FILE and --name COL" if people is None else "--name COL"
        raise UsageError(
            f"Nobody says who the {counted(len(names), 'person', 'people')} are that the knowledge "
            "names.",
            f"add {lacks}, or write #7 for the person of row 7 of the release.",
        )
    at = _only_ones(people.names, names)
    start, classes = release.cells.contains(people.keys[:, at])
    _in_one_class(np.diff(start).tolist())
    return {
        one: _Somebody(int(people.rows[i]), "targets", int(class_))
        for one, i, class_ in zip(names, at, classes, strict=True)
    }


def _only_ones(called: Sequence[str], names: Sequence[str]) -> list[int]:
    """Where each name is among the people's, each of which must be there once."""
    places: dict[str, list[int]] = {one: [] for one in names}
    for i, name in enumerate(called):
        if name in places:
            places[name].append(i)
    if absent := sum(not found for found in places.values()):
        raise UsageError(
            f"{absent:,} of the {counted(len(names), 'person', 'people')} that the knowledge names "
            "are not among the targets.",
            "write names as the targets' column does, in quotes where they hold a point.",
        )
    if several := sum(len(found) > 1 for found in places.values()):
        raise InputError(
            f"{counted(several, 'name', 'names')} that the knowledge uses belong to several of "
            "the targets.",
            "name a column in which everybody is called differently: --name COL.",
        )
    return [found[0] for found in places.values()]


def _in_one_class(times: Sequence[int]) -> None:
    absent, most = sum(not number for number in times), max(times)
    if absent:
        raise InputError(
            f"{absent:,} of the {counted(len(times), 'person', 'people')} that the knowledge names "
            "fit no class of the release.",
            "check that the targets and the release share columns and values.",
        )
    if most > 1:
        raise InputError(
            f"Somebody whom the knowledge names fits {most:,} classes of the release, and could "
            "be in any of them.",
            "write #7 for the person of row 7 of the release, or give targets with more columns.",
        )


def _believed(
    values: Histogram,
    codes: Mapping[str, int],
    people: Mapping[str, _Somebody],
    about: Atom,
    knowing: Sequence[Implication],
    rng: np.random.Generator | None,
) -> Belief:
    """The belief, in the few classes that the knowledge speaks of; values by their codes."""
    classes = sorted({one.class_ for one in people.values()})

    def coded(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
        return tuple(Atom(_person(a), a.column, str(codes[a.value])) for a in atoms)

    return belief(
        [dict(_by_code(values, class_)) for class_ in classes],
        {name: classes.index(one.class_) for name, one in people.items()},
        [Implication(coded(one.given), coded(one.then)) for one in knowing],
        coded([about])[0],
        rng=rng,
    )


def _by_code(values: Histogram, class_: int) -> Iterator[tuple[str, int]]:
    for code, count in zip(*values.of_class(class_), strict=True):
        yield str(code), count


def _most(found: Belief) -> Fraction:
    """The belief; of one that was sampled the most that it may be."""
    if found.exact is not None:
        return found.exact
    return Fraction(found.probability if found.interval is None else found.interval[1])


def _sentence(values: Histogram, found: Belief, pieces: int, people: int) -> str:
    name = values.axis.name
    if not pieces:
        return f"The class alone makes one {share(found.before)} sure of the {name} asked about."
    between = ""
    if found.interval is not None:
        low, high = found.interval
        between = f" (95 % interval {low:.1%} to {high:.1%}, from {found.draws:,} draws)"
    return (
        f"Whoever has {counted(pieces, 'piece', 'pieces')} of knowledge, about "
        f"{counted(people, 'person', 'people')}, is {share(_told(found))} sure of the {name} asked "
        f"about{between}; without that, {share(found.before)}."
    )


def _told(found: Belief) -> float | Fraction:
    return found.probability if found.exact is None else found.exact


def _example(
    view: View, values: Histogram, found: Belief, who: _Somebody, about: Atom,
    knowing: Sequence[Implication], codes: Mapping[str, int],
) -> str:  # fmt: skip
    codes_there, counts = values.of_class(who.class_)
    there = dict(zip(codes_there, counts, strict=True)).get(codes[about.value], 0)
    table = "the targets" if who.table == "targets" else "the release"
    told = (
        f"The person of row {who.row:,} of {table} is in a class of {sum(counts):,}, of which "
        f"{there:,} have the {values.axis.name} asked about: {share(found.before)}. What the "
        f"adversary knows makes that {share(_told(found))}."
    )
    if not view.show:
        return told
    known = "".join(f"\nKnown: {one}" for one in knowing)
    return f"{told}\nAsked: {about}{known}"


def _witness(
    view: View, values: Histogram, who: _Somebody, about: Atom, knowing: Sequence[Implication],
    codes: Mapping[str, int],
) -> dict[str, Any]:  # fmt: skip
    there, counts = values.of_class(who.class_)
    code = codes[about.value]
    shown: dict[str, Any] = {}
    if view.show:
        shown = {"about": str(about), "knowing": [str(one) for one in knowing]}
    return {
        "row": who.row,
        "class": who.class_,
        "rows": sum(counts),
        "with_the_value": dict(zip(there, counts, strict=True)).get(code, 0),
        "rank": rank(values, who.class_, code) if code in there else None,
        **shown,
        **named(view, who.class_),
    }
