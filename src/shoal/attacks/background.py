"""Background: how much surer what somebody happens to know makes them of a value.

Without ``about`` the worst case: the largest belief in anybody's value that ``pieces`` pieces of
knowledge can give, whichever they are, and the pieces that give it. A piece is a basic
implication, "if these people have these values, then one of those people has that value", or with
``knowledge="negations"`` a value that somebody does not have (the adversary of l-diversity). A row
is exposed when so many pieces can make its value at least ``sure`` likely. The worst case is
attained by implications that all end in one atom (theorem 9 of the paper); one whose other end is
about the same person says that the person does not have a value.

With ``about``, an atom such as ``#12.diagnosis=flu``, the belief in it of whoever knows what
``knowing`` says: see ``supposed``.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007.

It does not see whether anybody knows such a thing, nor what is known with less than certainty
("smokers more often have it"), nor who cannot tell a person's class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.supposed import DEFENCE, RANDOM_WORLDS, common, counted, rank, share, supposed
from shoal.attacks.view import WORST, Needs, Published, View, named, single
from shoal.disclosure import IMPLICATIONS, NEGATIONS, Known, Witness, curve, each, witness
from shoal.errors import UsageError
from shoal.knowledge import Atom, Implication, parse, parse_atom
from shoal.model import Number, fraction, near, whole, written
from shoal.release import Finding
from shoal.tally import Histogram

NEEDS = Needs(releases=1, most=1, named="about", supposed=True)
KNOWLEDGE = (IMPLICATIONS, NEGATIONS)

ASSUMPTIONS = (
    *RANDOM_WORLDS,
    "the pieces of knowledge are true, and those that tell most; nobody is shown to have them",
    "the people of a class are alike to this: the rows named are the first of their class",
)


def _kind(knowledge: str) -> str:
    if knowledge not in KNOWLEDGE:
        raise UsageError(
            f"There is no knowledge {knowledge!r}.", f"write {' or '.join(KNOWLEDGE)}."
        )
    return knowledge


OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "pieces": lambda pieces: whole(pieces, "pieces", 0),
    "sure": lambda sure: fraction(sure, "sure", 0, 1, above=True),
    "knowledge": _kind,
    "knowing": parse,
    "about": lambda about: parse_atom(about) if about else None,
}


def background(
    view: View,
    *,
    rng: np.random.Generator | None = None,
    pieces: int = 2,
    sure: Number = 0.9,
    knowledge: str = IMPLICATIONS,
    knowing: str | Sequence[str] = (),
    about: str = "",
) -> Finding:
    """Find how sure so many pieces of knowledge can make, or what is known ``about`` somebody."""
    release, values = single(view)
    least, number = OPTIONS["sure"](sure), OPTIONS["pieces"](pieces)
    known, asked = OPTIONS["knowing"](knowing), OPTIONS["about"](about)
    if asked is not None:
        return supposed(view, release, values, asked, known, least, rng)
    if known:
        raise UsageError(
            "Nothing says what the knowledge is asked about.",
            f"add for example --about #7.{values.axis.name}=...",
        )
    case = _Case.of(view, release, values, number, _kind(knowledge))
    reached = (case.each >= float(least)) | near(case.each, float(least))
    exposed = int(values.rows[reached].sum())
    return Finding(
        attack="background",
        people=len(release.class_),
        exposed=exposed,
        sure=float(case.witness.disclosure),
        guessing=float(values.total.max() / values.total.sum()),
        sentence=_sentence(case, exposed, share(float(least))),
        defence=DEFENCE.format(c=written(least), k=number),
        example=story(case),
        assumptions=ASSUMPTIONS,
        worst=tuple((_worst_first(case)[:WORST] + 1).tolist()),
        table="release 1",
        witness=_witness(case),
        details={
            "sure": float(least),
            "pieces": number,
            "knowledge": knowledge,
            "pieces_used": len(case.witness.others),
            "classes": len(values.rows),
            "classes_reached": int(reached.sum()),
            "curve": {kind: curve(values, number, kind).tolist() for kind in KNOWLEDGE},
        },
    )


@dataclass(frozen=True)
class _Case:
    """The worst case of a release: the knowledge that tells most, and how far it goes by class."""

    view: View
    release: Published
    values: Histogram
    pieces: int
    each: NDArray[np.float64]
    """Of each class: the largest belief about somebody in it."""
    witness: Witness

    @classmethod
    def of(
        cls, view: View, release: Published, values: Histogram, pieces: int, knowledge: str
    ) -> _Case:
        most = each(values, pieces, knowledge)
        return cls(view, release, values, pieces, most, witness(values, pieces, knowledge))

    def row(self, known: Known) -> int:
        """A row that stands for the person: the first, second, … of the class in the file."""
        return int(np.flatnonzero(self.release.class_ == known.class_)[known.person]) + 1

    def atom(self, known: Known) -> Atom:
        return Atom(f"#{self.row(known)}", self.values.axis.name, self.view.value(known.value))

    def piece(self, known: Known) -> Implication:
        """The piece that an atom stands for: it implies the target's, or is denied."""
        denied = _person(known) == _person(self.witness.target)
        return Implication((self.atom(known),), () if denied else (self.atom(self.witness.target),))


def _person(known: Known) -> tuple[int, int]:
    return known.class_, known.person


def _worst_first(case: _Case) -> NDArray[np.int64]:
    """The rows: the witness's class, then by belief and size; a class's rows in file order."""
    class_ = case.release.class_
    _, first, number = np.unique(class_, return_index=True, return_inverse=True)
    elsewhere = class_ != case.witness.target.class_
    belief = np.round(case.each, 12)[class_]
    return np.lexsort((first[number], -case.values.rows[class_], -belief, elsewhere))


def _sentence(case: _Case, exposed: int, least: str) -> str:
    rows, name = int(case.values.rows.sum()), case.values.axis.name
    pieces = counted(case.pieces, "piece", "pieces")
    told = f"With {pieces} of knowledge" if case.pieces else "Without further knowledge"
    return (
        f"{told} somebody can be {share(case.witness.disclosure)} sure of a person's {name}; "
        f"{exposed:,} of {rows:,} rows are in classes about whose people one can be at least "
        f"{least} sure."
    )


def story(case: _Case) -> str:
    """The worst case in words: who would have to know what, and of whom it tells what."""
    target, others = case.witness.target, case.witness.others
    who, size = f"row {case.row(target):,}'s person", int(case.values.rows[target.class_])
    end = f"is {share(case.witness.disclosure)} sure that {who} has {_value(case, [target])}."
    if not others:
        return f"Whoever finds the class of {who}, of {size:,} rows, {end}{_enough(case)}"
    return f"Whoever knows {' and '.join(_known(case, who))} {end}{_enough(case)}"


def _known(case: _Case, who: str) -> Iterator[str]:
    """The pieces: what the target's person does not have, and what implies what she has."""
    target = case.witness.target
    by_person: dict[tuple[int, int], list[Known]] = {}
    for one in case.witness.others:
        by_person.setdefault(_person(one), []).append(one)
    if denied := by_person.pop(_person(target), None):
        yield f"that {who} does not have {_value(case, denied)}"
    if by_person:
        ifs = (
            f"row {case.row(some[0]):,}'s person has {_value(case, some)}"
            for some in by_person.values()
        )
        yield f"that if {_either(list(ifs))}, then {who} has {_value(case, [target])},"


def _value(case: _Case, some: Sequence[Known]) -> str:
    """One of some values of a class, in words."""
    name, class_ = case.values.axis.name, some[0].class_
    if case.view.show:
        return f"the {name} {_either([case.view.value(one.value) for one in some])}"
    words = _either([common(rank(case.values, class_, one.value)) for one in some])
    return f"the {words} {name} of {'the' if class_ == case.witness.target.class_ else 'its'} class"


def _either(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _enough(case: _Case) -> str:
    """That fewer pieces do, where they do."""
    used = len(case.witness.others)
    if used == case.pieces:
        return ""
    if not used:
        return " No piece of knowledge is needed."
    return f" {counted(used, 'piece is', 'pieces are')} enough: more add nothing."


def _witness(case: _Case) -> dict[str, Any]:
    target, others = case.witness.target, case.witness.others
    text: dict[str, Any] = {}
    if case.view.show:
        pieces = [str(case.piece(one)) for one in others]
        text = {"about": str(case.atom(target)), "knowing": pieces}
    return {
        "target": _told(case, target),
        "implications": [_told(case, one) for one in others],
        "disclosure": float(case.witness.disclosure),
        "exact": str(case.witness.disclosure),
        **text,
    }


def _told(case: _Case, known: Known) -> dict[str, Any]:
    value = {"value": case.view.value(known.value)} if case.view.show else {}
    return {
        "row": case.row(known),
        "class": known.class_,
        "rank": rank(case.values, known.class_, known.value),
        **value,
        **named(case.view, known.class_),
    }
