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

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.meant import asked_as
from shoal.attacks.supposed import DEFENCE, RANDOM_WORLDS, supposed
from shoal.attacks.view import WORST, Needs, NotEvaluatedError, View, named, single
from shoal.attacks.worded import counted, rank, share
from shoal.attacks.worst_case import Case, story
from shoal.disclosure import IMPLICATIONS, MOST, NEGATIONS, Known, curve, max_disclosure, reaching
from shoal.errors import UsageError
from shoal.knowledge import Atom, Knowledge, parse, parse_atom
from shoal.model import Mask, Number, fraction, whole, written
from shoal.release import Finding

NEEDS = Needs(releases=1, most=1, named="about", supposed="--pieces 2", by_people=True)
KNOWLEDGE = (IMPLICATIONS, NEGATIONS)
PIECES = 2
"""So many pieces of knowledge, unless it is said otherwise."""

ASSUMPTIONS = (
    *RANDOM_WORLDS,
    "the pieces of knowledge are true, and those that tell most; nobody is shown to have them",
    "the people of a class are alike to this: the rows named are the first of their class",
)


def _kind(knowledge: str | None) -> str:
    if knowledge is not None and knowledge not in KNOWLEDGE:
        raise UsageError(
            f"There is no knowledge {knowledge!r}.", f"write {' or '.join(KNOWLEDGE)}."
        )
    return knowledge or IMPLICATIONS


def _pieces(pieces: int | None) -> int:
    try:
        number = PIECES if pieces is None else whole(pieces, "pieces", 0)
    except UsageError as error:
        raise UsageError(error.fact, f"write for example --pieces {PIECES}.") from None
    if number > MOST:
        raise UsageError(f"pieces is at most {MOST}.", f"write for example --pieces {PIECES}.")
    return number


def _least(sure: Number) -> Fraction:
    try:
        return fraction(sure, "sure", 0, 1, above=True)
    except UsageError as error:
        raise UsageError(error.fact, "write for example --sure 0.9.") from None


OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "pieces": _pieces,
    "sure": _least,
    "knowledge": _kind,
    "knowing": lambda knowing: () if knowing is None else parse(knowing),
    "about": lambda about: None if about is None else parse_atom(about),
}


def background(
    view: View,
    *,
    rng: np.random.Generator | None = None,
    pieces: int | None = None,
    sure: Number = 0.9,
    knowledge: str | None = None,
    knowing: Knowledge | Iterable[Knowledge] | None = None,
    about: str | Atom | None = None,
) -> Finding:
    """Find how sure so many pieces of knowledge can make, or what is known ``about`` somebody.

    Of the worst case: ``pieces``, 2 unless given, and ``knowledge``, implications unless given.
    """
    release, values = single(view)
    _refuse_several(view, about is not None)
    least, known, asked = _least(sure), OPTIONS["knowing"](knowing), OPTIONS["about"](about)
    if asked is not None:
        _not_both(pieces=pieces, knowledge=knowledge)
        return supposed(view, release, values, asked, known, least, rng)
    if known:
        raise UsageError(
            "Nothing says what the knowledge is asked about.",
            f"add for example {asked_as(values.axis.name)}.",
        )
    case = Case.of(view, release, values, _pieces(pieces), _kind(knowledge))
    return _worst_case(case, least)


def _refuse_several(view: View, asked: bool) -> None:
    """Worlds hand out one value to each person of one class: others are not counted by it."""
    release = view.releases[0]
    if release.person is None:
        return
    if asked:
        raise NotEvaluatedError("a row stands for a person here, and some people have several rows")
    if not release.is_constant:
        raise NotEvaluatedError("some people have several values, and worlds give everybody one")
    if int(release.people.sum()) > release.persons:
        raise NotEvaluatedError("some people are in several classes, and worlds have them in one")


def _not_both(**given: object) -> None:
    """Refuse options of the worst case where something is asked."""
    for option in (one for one, value in given.items() if value is not None):
        raise UsageError(
            f"{option} is about the worst case, and something is asked about.",
            f"leave --{option} or --about out.",
        )


def _taken(case: Case) -> tuple[str, ...]:
    """What is taken to be so of rows without a value."""
    if not case.missing:
        return ()
    name = case.values.axis.name
    return (
        f"{case.missing:,} rows have no {name}: in each class they are taken to have its most "
        "common one, which is the worst",
    )


def _worst_case(case: Case, least: Fraction) -> Finding:
    values = case.values
    reached = reaching(values, case.pieces, least, case.knowledge)
    exposed = len(case.release.people_of(reached[case.release.class_]))
    return Finding(
        attack="background",
        people=case.release.persons,
        exposed=exposed,
        sure=float(case.witness.disclosure),
        guessing=float(values.total.max() / values.total.sum()),
        sentence=_sentence(case, exposed, share(float(least))),
        defence=_defence(case, least, bool(exposed)),
        example=story(case),
        assumptions=(*ASSUMPTIONS, *_taken(case)),
        worst=tuple((_worst_first(case, reached)[:WORST] + 1).tolist()),
        table="release 1",
        witness=_witness(case),
        details={
            "sure": float(least),
            "pieces": case.pieces,
            "knowledge": case.knowledge,
            "pieces_used": len(case.witness.others),
            "classes": len(values.rows),
            "classes_reached": int(reached.sum()),
            "curve": {kind: curve(values, case.pieces, kind).tolist() for kind in KNOWLEDGE},
        },
    )


def _worst_first(case: Case, reached: Mask) -> NDArray[np.int64]:
    """The rows reached: the witness's class, then by belief and size; in file order in a class.

    Where none is, those of the witness's class.
    """
    class_ = case.release.class_
    _, first, number = np.unique(class_, return_index=True, return_inverse=True)
    elsewhere = class_ != case.witness.target.class_
    belief = np.round(case.each, 12)[class_]
    order = np.lexsort((first[number], -case.values.rows[class_], -belief, elsewhere))
    hit = reached[class_] if reached.any() else ~elsewhere
    return order[hit[order]]


def _sentence(case: Case, exposed: int, least: str) -> str:
    rows, name = int(case.values.rows.sum()), case.values.axis.name
    told = f"With {_pieces_of(case)}" if case.pieces else "Without further knowledge"
    return (
        f"{told} somebody can be {share(case.witness.disclosure)} sure of a person's {name}; "
        f"{exposed:,} of {rows:,} {case.release.unit} are in classes about whose people one can be "
        f"at least {least} sure."
    )


def _pieces_of(case: Case) -> str:
    """The knowledge that is supposed, counted by its kind."""
    if case.knowledge == NEGATIONS:
        return counted(case.pieces, "negation", "negations")
    return f"{counted(case.pieces, 'piece', 'pieces')} of knowledge"


def _defence(case: Case, least: Fraction, exposed: bool) -> str:
    """What to ask for; nothing that the release reaches, or that no release of the table could."""
    values, k = case.values, case.pieces
    pieces = counted(k, "piece", "pieces")
    floor, worst = (
        float(one) for one in (max_disclosure([values.total[values.total > 0]], k)[-1],
                               curve(values, k)[-1])
    )  # fmt: skip
    whole_table = f"even the whole table as one class leaves {share(floor)} with {pieces}"
    if (exposed or worst >= least) and floor < least:
        asked = f"ck-safety c={written(least)} k={k}"
        return DEFENCE.format(requirement=case.view.about(asked))
    if exposed or worst >= least:
        return f"little: {whole_table}. Coarser values would help more."
    enough = f"nothing is needed at {share(float(least))}: with {pieces} nobody becomes so sure."
    c = f"{(floor + worst) / 2:.2g}"
    if not floor < float(c) <= min(worst, float(least)):
        return enough
    asked = case.view.about(f"ck-safety c={c} k={k}")
    return f"{enough} To go further ask for a smaller c: {asked}; {whole_table}."


def _witness(case: Case) -> dict[str, Any]:
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


def _told(case: Case, known: Known) -> dict[str, Any]:
    value = {"value": case.view.value(known.value)} if case.view.show else {}
    return {
        "row": case.row(known),
        "class": known.class_,
        "rank": rank(case.values, known.class_, known.value),
        **value,
        **named(case.view, known.class_),
    }
