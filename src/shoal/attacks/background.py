"""Background: how much surer what somebody happens to know makes them of a value.

Without ``about`` the worst case: the largest belief in anybody's value that ``pieces`` pieces of
knowledge can give, whichever they are, and the pieces that give it. A piece is a basic
implication, "if these people have these values, then one of those people has that value", or with
``knowledge="negations"`` a value that somebody does not have (the adversary of l-diversity). A row
is exposed when so many pieces can make its value at least ``sure`` likely. The worst case is
attained by implications that all end in one atom (theorem 9 of the paper); one whose other end is
about the same person says that the person does not have a value. The people of a class are alike
to it, so that its first rows stand for them. It does not choose the knowledge: see
``shoal.core.theory.worst_case_disclosure``.

With ``about``, an atom such as ``#12.diagnosis=flu``, the belief in it of whoever knows what
``knowing`` says. Of a class's people nobody knows whose value is which: every way to deal its
values out to them is equally likely (random worlds, section 2 of the paper), and the belief is the
share, of the ways that the knowledge allows, in which the atom is true. Where a person could be in
several classes, every combination of the people's classes is tried, those dropped in which the
knowledge is impossible, and the largest belief counts, as the most that somebody could come to
believe.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007.

It does not see whether anybody knows such a thing, nor what is known with less than certainty
("smokers more often have it"), nor who cannot tell a person's class, nor which combination of
classes is the true one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.knowledge_targets import (
    MentionedPerson,
    check_same_column,
    find_mentioned_people,
    find_value_codes,
    format_question,
    list_atoms,
    name_of_person,
)
from shoal.attacks._shared.wording import (
    describe_rank,
    format_chance,
    is_null,
    pluralise,
    rank_value,
)
from shoal.core.errors import InputError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import Mask, Number, format_parameter, parse_fraction, parse_whole_number
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import (
    WORST_LISTED,
    Needs,
    ReleaseView,
    RowsOnlyError,
    View,
    get_single_release,
    show_labels,
)
from shoal.core.theory.knowledge import Atom, Implication, Knowledge, parse_atom, parse_knowledge
from shoal.core.theory.worlds import DRAWS, MAX_STEPS, Belief, ImpossibleError, belief
from shoal.core.theory.worst_case_disclosure import (
    IMPLICATIONS,
    MAX_PIECES,
    NEGATIONS,
    PersonValue,
    Witness,
    disclosure_curve,
    disclosure_per_class,
    find_reaching,
    find_witness,
    max_disclosure,
)

# The worst case, and how it is told.


@dataclass(frozen=True)
class _WorstCase:
    """The worst case of a release: the knowledge that tells most, and how far it goes by class."""

    view: View
    release: ReleaseView
    values: Histogram
    pieces: int
    knowledge: str
    max_belief: NDArray[np.float64]
    """Of each class: the largest belief about somebody in it."""
    witness: Witness
    missing: int = 0
    """How many rows have a value that nobody knows."""

    @classmethod
    def of(
        cls, view: View, release: ReleaseView, values: Histogram, pieces: int, knowledge: str
    ) -> _WorstCase:
        """The worst that so many pieces can do; values that nobody knows are as bad as can be."""
        missing, values = int(values.blanks.sum()), values.concentrated
        max_belief = disclosure_per_class(values, pieces, knowledge)
        witness = find_witness(values, pieces, knowledge)
        return cls(view, release, values, pieces, knowledge, max_belief, witness, missing)

    def row(self, known: PersonValue) -> int:
        """A row that stands for the person: the first, second, … of the class in the file."""
        first = self.release.first_rows
        return int(first[self.release.class_[first] == known.class_][known.person]) + 1

    def atom(self, known: PersonValue) -> Atom:
        return Atom(
            f"#{self.row(known)}", self.values.axis.name, self.view.format_sensitive(known.value)
        )

    def piece(self, known: PersonValue) -> Implication:
        """The piece that an atom stands for: it implies the target's, or is denied."""
        denied = _person_key(known) == _person_key(self.witness.target)
        return Implication((self.atom(known),), () if denied else (self.atom(self.witness.target),))


def _person_key(known: PersonValue) -> tuple[int, int]:
    return known.class_, known.person


def _describe_worst_case(case: _WorstCase) -> str:
    target, others = case.witness.target, case.witness.others
    person, size = f"row {case.row(target):,}'s person", int(case.values.rows[target.class_])
    chance, value = format_chance(case.witness.disclosure), _describe_having(case, [target])
    end = f"is {chance} sure that {person} {value}.{_describe_enough(case)}"
    if not others:
        return f"Whoever finds the class of {person}, of {size:,} rows, {end}"
    known = list(_describe_pieces(case, person))
    if len(known) == 1:
        comma = "," if known[0].startswith("that if") else ""
        return f"Whoever knows {known[0]}{comma} {end}"
    pieces = pluralise(len(others), "piece", "pieces")
    listed = f"{'; '.join(known[:-1])}; and {known[-1]}"
    return f"Suppose that somebody knows {pieces}: {listed}. Whoever does {end}"


def _describe_pieces(case: _WorstCase, person: str) -> Iterator[str]:
    """The pieces, person by person: what the target does not have, and what implies her value."""
    target = case.witness.target
    by_person: dict[tuple[int, int], list[PersonValue]] = {}
    for atom in case.witness.others:
        by_person.setdefault(_person_key(atom), []).append(atom)
    if denied := by_person.pop(_person_key(target), None):
        yield f"that {person} {_describe_lacking(case, denied)}{_count_joined_pieces(denied)}"
    for atoms in by_person.values():
        if_ = f"row {case.row(atoms[0]):,}'s person {_describe_having(case, atoms)}"
        then = f"{person} {_describe_having(case, [target])}"
        yield f"that if {if_}, then {then}{_count_joined_pieces(atoms)}"


def _count_joined_pieces(atoms: Sequence[PersonValue]) -> str:
    """How many pieces were told as one, so that a reader can count them."""
    return "" if len(atoms) == 1 else f" ({len(atoms)} pieces)"


def _describe_having(case: _WorstCase, atoms: Sequence[PersonValue]) -> str:
    name = case.values.axis.name
    missing, present = _split_missing(case, atoms)
    if not present:
        return f"has no {name}"
    return f"has {_describe_values(case, present)}{' or none' if missing else ''}"


def _describe_lacking(case: _WorstCase, atoms: Sequence[PersonValue]) -> str:
    name = case.values.axis.name
    missing, present = _split_missing(case, atoms)
    if not present:
        return f"is not without a {name}"
    end = " and is not without one" if missing else ""
    return f"does not have {_describe_values(case, present)}{end}"


def _split_missing(
    case: _WorstCase, atoms: Sequence[PersonValue]
) -> tuple[bool, list[PersonValue]]:
    """Whether no value at all is among some that are shown, and the others."""
    if not case.view.show:
        return False, list(atoms)
    present = [atom for atom in atoms if not is_null(case.view, atom.value)]
    return len(present) < len(atoms), present


def _describe_values(case: _WorstCase, atoms: Sequence[PersonValue]) -> str:
    name, class_ = case.values.axis.name, atoms[0].class_
    if case.view.show:
        values = [case.view.format_sensitive(atom.value) for atom in atoms]
        return f"the {name} {_join_alternatives(values)}"
    words = _join_alternatives(
        [describe_rank(rank_value(case.values, class_, atom.value)) for atom in atoms]
    )
    return f"the {words} {name} of {'the' if class_ == case.witness.target.class_ else 'its'} class"


def _join_alternatives(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _describe_enough(case: _WorstCase) -> str:
    used = len(case.witness.others)
    if used == case.pieces:
        return ""
    if not used:
        return " No piece of knowledge is needed."
    return f" {pluralise(used, 'piece is', 'pieces are')} enough: more add nothing."


# A question about one person, and what supposed knowledge makes of it.


RANDOM_WORLDS = (
    "the adversary knows that the people are in the release, and each one's class",
    "every way to deal a class's values out to its people is equally likely (random worlds)",
)
DEFENCE = "ask for safety from so many pieces of knowledge: {requirement}."
MAX_COMBINATIONS = 10_000
"""So many combinations of the classes that people could be in are tried."""
_MIN_WORLDS, _MIN_DRAWS = 1_000, 2_000  # what each combination is allowed at least


@dataclass(frozen=True)
class _Question:
    """A question with what is known, whom it speaks of, and what follows in each combination."""

    view: View
    values: Histogram
    about: Atom
    knowing: Sequence[Implication]
    codes: Mapping[str, int]
    people: Mapping[str, MentionedPerson]
    person: MentionedPerson
    """The person asked about."""
    beliefs: Sequence[tuple[int, Belief]]
    """Of each combination that is possible: that person's class, and the belief."""

    @cached_property
    def strongest(self) -> tuple[int, Belief]:
        return max(self.beliefs, key=lambda outcome: _exact_or_float(outcome[1]))

    @cached_property
    def weakest(self) -> Belief:
        return min((outcome for _, outcome in self.beliefs), key=_exact_or_float)

    @property
    def people_in_several_classes(self) -> int:
        return sum(len(person.classes) > 1 for person in self.people.values())

    @property
    def combinations(self) -> int:
        """The combinations of classes that there are, possible or not."""
        return prod(len(person.classes) for person in self.people.values())

    def count_value(self, class_: int) -> tuple[int, int]:
        """How many of a class have the value asked about, and how many there are."""
        codes, counts = self.values.of_class(class_)
        counted = dict(zip(codes, counts, strict=True))
        return counted.get(self.codes[self.about.value], 0), sum(counts)

    @property
    def belief_by_class(self) -> Fraction:
        """The belief without any knowledge: the value's share of a class, the largest."""
        return max(Fraction(*self.count_value(class_)) for class_ in self.person.classes)


def _answer_question(
    view: View,
    release: ReleaseView,
    values: Histogram,
    about: Atom,
    knowing: Sequence[Implication],
    sure: Fraction,
    rng: np.random.Generator | None = None,
) -> Finding:
    atoms = list_atoms(about, knowing)
    check_same_column(atoms, values.axis.name)
    code_of_value = find_value_codes(view, atoms)
    mentioned = find_mentioned_people(view, release, atoms)
    beliefs = _believe_by_combination(values, code_of_value, mentioned, about, knowing, rng)
    case = _Question(
        view,
        values,
        about,
        knowing,
        code_of_value,
        mentioned,
        mentioned[name_of_person(about)],
        beliefs,
    )
    reached = any(_upper_belief(belief_reached) >= sure for _, belief_reached in beliefs)
    return Finding(
        attack="background",
        people=1,
        exposed=int(reached),
        sure=case.strongest[1].probability,
        guessing=float(values.total[code_of_value[about.value]] / values.total.sum()),
        sentence=_describe_question(case),
        defence=_choose_question_defence(view, sure, len(knowing), reached),
        example=_describe_question_example(case),
        assumptions=_list_question_assumptions(case),
        worst=(case.person.row,),
        table=case.person.table,
        witness=_build_question_witness(case),
        details=_build_question_details(case, sure),
    )


def _believe_by_combination(
    values: Histogram,
    code_of_value: Mapping[str, int],
    mentioned: Mapping[str, MentionedPerson],
    about: Atom,
    knowing: Sequence[Implication],
    rng: np.random.Generator | None,
) -> list[tuple[int, Belief]]:
    """In each combination of the people's classes: the class asked about, and the belief."""

    def encode(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
        return tuple(Atom(name_of_person(a), a.column, str(code_of_value[a.value])) for a in atoms)

    n_combinations = _check_combinations(prod(len(person.classes) for person in mentioned.values()))
    budget = {
        "most": max(MAX_STEPS // n_combinations, _MIN_WORLDS),
        "draws": max(DRAWS // n_combinations, _MIN_DRAWS),
    }
    pieces = [Implication(encode(piece.given), encode(piece.then)) for piece in knowing]
    (asked,) = encode([about])
    classes = sorted({class_ for person in mentioned.values() for class_ in person.classes})
    counts = {class_: _count_by_code(values, class_) for class_ in classes}
    beliefs: list[tuple[int, Belief]] = []
    impossible: ImpossibleError | None = None
    for combination in product(*(person.classes for person in mentioned.values())):
        class_of_person = dict(zip(mentioned, combination, strict=True))
        classes_here = sorted(set(combination))
        place_of_person = {
            name: classes_here.index(class_) for name, class_ in class_of_person.items()
        }
        try:
            outcome = belief(
                [counts[c] for c in classes_here], place_of_person, pieces, asked, rng=rng, **budget
            )
        except ImpossibleError as error:
            impossible = error
        else:
            beliefs.append((class_of_person[asked.person], outcome))
    if impossible is not None and not beliefs:
        raise impossible if n_combinations == 1 else _contradiction_error(n_combinations)
    return beliefs


def _check_combinations(number: int) -> int:
    if number > MAX_COMBINATIONS:
        raise InputError(
            f"The people whom the knowledge names could be in {number:,} combinations of classes; "
            f"at most {MAX_COMBINATIONS:,} are tried.",
            "write #7 for the person of row 7 of the release, or give targets with more columns.",
        )
    return number


def _contradiction_error(number: int) -> ImpossibleError:
    return ImpossibleError(
        f"The knowledge contradicts the table in all {number:,} combinations of classes that the "
        "people could be in.",
        "leave out pieces until it does not.",
    )


def _count_by_code(values: Histogram, class_: int) -> dict[Hashable, int]:
    return {str(code): n for code, n in zip(*values.of_class(class_), strict=True)}


def _upper_belief(outcome: Belief) -> Fraction:
    """The belief; of one that was sampled the most that it may be."""
    if outcome.exact is not None:
        return outcome.exact
    return Fraction(outcome.probability if outcome.interval is None else outcome.interval[1])


def _exact_or_float(outcome: Belief) -> float | Fraction:
    return outcome.probability if outcome.exact is None else outcome.exact


def _choose_question_defence(view: View, sure: Fraction, pieces: int, reached: bool) -> str:
    if not reached:
        chance = format_chance(float(sure))
        return f"nothing is needed at {chance}: what is known does not make so sure."
    k = min(max(pieces, 1), MAX_PIECES)
    return DEFENCE.format(
        requirement=view.quote_requirement(f"ck-safety c={format_parameter(sure)} k={k}")
    )


def _list_question_assumptions(case: _Question) -> tuple[str, ...]:
    assumptions = (*RANDOM_WORLDS, "what the adversary is supposed to know is true")
    if not case.people_in_several_classes:
        return assumptions
    return (
        "the adversary knows that the people are in the release, and takes who fits several "
        "classes to be where the knowledge tells most",
        *assumptions[1:],
    )


def _describe_question(case: _Question) -> str:
    name, up_to = case.values.axis.name, "up to " if case.people_in_several_classes else ""
    by_class = format_chance(case.belief_by_class)
    if not case.knowing:
        return (
            f"The class alone makes one {up_to}{by_class} sure of the {name} asked about."
            f"{_describe_combinations(case)}"
        )
    pieces = pluralise(len(case.knowing), "piece", "pieces")
    people = pluralise(len(case.people), "person", "people")
    chance = format_chance(_exact_or_float(case.strongest[1]))
    return (
        f"Whoever has {pieces} of knowledge, about {people}, is {up_to}{chance} sure of the {name} "
        f"asked about{_describe_interval(case.strongest[1])}; by the class alone, "
        f"{up_to}{by_class}.{_describe_combinations(case)}"
    )


def _describe_interval(outcome: Belief) -> str:
    if outcome.interval is None:
        return ""
    low, high = outcome.interval
    return f" (95 % interval {low:.1%} to {high:.1%}, from {outcome.draws:,} draws)"


def _describe_combinations(case: _Question) -> str:
    if not case.people_in_several_classes:
        return ""
    people = pluralise(case.people_in_several_classes, "person fits", "people fit")
    possible, every = len(case.beliefs), case.combinations
    ways = pluralise(possible, "combination", "combinations")
    left = f" (of {every:,}; in the others the knowledge is impossible)" if possible < every else ""
    low = format_chance(_exact_or_float(case.weakest))
    high = format_chance(_exact_or_float(case.strongest[1]))
    return (
        f" {people} several classes of the release: over {ways} of classes{left} the belief is "
        f"{low if low == high else f'{low} to {high}'}."
    )


def _describe_question_example(case: _Question) -> str:
    (class_, outcome), name, person = case.strongest, case.values.axis.name, case.person
    having, size = case.count_value(class_)
    table = "the targets" if person.table == "targets" else "the release"
    within = f"is in a class of {size:,}"
    if len(person.classes) > 1:
        within = f"fits {len(person.classes):,} classes, and the one that tells most is of {size:,}"
    have = pluralise(having, "has", "have") if having else "none has"
    text = (
        f"The person of row {person.row:,} of {table} {within}, of which {have} the {name} asked "
        "about"
    )
    if case.knowing:
        text += (
            f": {format_chance(Fraction(having, size))}. What the adversary knows makes that "
            f"{format_chance(_exact_or_float(outcome))}"
        )
    if not case.view.show:
        return f"{text}."
    known = "".join(f"\nKnown: {piece}" for piece in case.knowing)
    return f"{text}.\nAsked: {case.about}{known}"


def _build_question_witness(case: _Question) -> dict[str, Any]:
    class_, code = case.strongest[0], case.codes[case.about.value]
    having, size = case.count_value(class_)
    shown: dict[str, Any] = {}
    if case.view.show:
        shown = {"about": str(case.about), "knowing": [str(piece) for piece in case.knowing]}
    return {
        "row": case.person.row,
        "class": class_,
        "classes": len(case.person.classes),
        "rows": size,
        "with_the_value": having,
        "rank": rank_value(case.values, class_, code) if having else None,
        **shown,
        **show_labels(case.view, class_),
    }


def _build_question_details(case: _Question, sure: Fraction) -> dict[str, Any]:
    highest, lowest = case.strongest[1], case.weakest
    return {
        "sure": float(sure),
        "pieces": len(case.knowing),
        "people_mentioned": len(case.people),
        "people_in_several_classes": case.people_in_several_classes,
        "exact": _format_exact(highest),
        "by_class_alone": str(case.belief_by_class),
        "combinations": case.combinations,
        "combinations_possible": len(case.beliefs),
        "highest": highest.probability,
        "lowest": lowest.probability,
        "lowest_exact": _format_exact(lowest),
        "draws": highest.draws,
        "interval": highest.interval,
    }


def _format_exact(outcome: Belief) -> str | None:
    return None if outcome.exact is None else str(outcome.exact)


# The attack.


NEEDS = Needs(
    releases=1,
    max_releases=1,
    name_option="about",
    supposition_option="--pieces 2",
    counts_people=True,
)
KNOWLEDGE = (IMPLICATIONS, NEGATIONS)
DEFAULT_PIECES = 2
"""So many pieces of knowledge, unless it is said otherwise."""

ASSUMPTIONS = (
    *RANDOM_WORLDS,
    "the pieces of knowledge are true, and those that tell most; nobody is shown to have them",
    "the people of a class are alike to this: the rows named are the first of their class",
)


def _check_knowledge(knowledge: str | None) -> str:
    if knowledge is not None and knowledge not in KNOWLEDGE:
        raise UsageError(
            f"There is no knowledge {knowledge!r}.", f"write {' or '.join(KNOWLEDGE)}."
        )
    return knowledge or IMPLICATIONS


def _check_pieces(pieces: int | None) -> int:
    try:
        number = DEFAULT_PIECES if pieces is None else parse_whole_number(pieces, "pieces", 0)
    except UsageError as error:
        raise UsageError(error.fact, f"write for example --pieces {DEFAULT_PIECES}.") from None
    if number > MAX_PIECES:
        raise UsageError(
            f"pieces is at most {MAX_PIECES}.", f"write for example --pieces {DEFAULT_PIECES}."
        )
    return number


def _check_confidence(sure: Number) -> Fraction:
    try:
        return parse_fraction(sure, "sure", 0, 1, above=True)
    except UsageError as error:
        raise UsageError(error.fact, "write for example --sure 0.9.") from None


OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "pieces": _check_pieces,
    "sure": _check_confidence,
    "knowledge": _check_knowledge,
    "knowing": lambda knowing: () if knowing is None else parse_knowledge(knowing),
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

    Parameters
    ----------
    view
        What the adversary has: one release, and people by name where the knowledge names them.
    rng
        Draws worlds where a belief is too large to be counted.
    pieces
        How many pieces of knowledge, 2 unless given (worst case only).
    sure
        From which belief on somebody counts as exposed.
    knowledge
        ``implications``, unless given, or ``negations`` (worst case only).
    knowing
        The pieces of knowledge that the adversary is supposed to have.
    about
        The atom asked about, ``#12.diagnosis=flu``; without it the worst case.

    Returns
    -------
    Finding
        Of the worst case how many people are in classes that reach ``sure``; of a question whether
        the belief in the atom does.

    Raises
    ------
    UsageError
        Options that do not go together, or an atom that names nobody and nothing.
    InputError
        Knowledge that contradicts the table, or people who could be in too many classes.
    """
    release, values = get_single_release(view)
    _refuse_several(view, about is not None)
    min_confidence = _check_confidence(sure)
    supposed = OPTIONS["knowing"](knowing)
    question = OPTIONS["about"](about)
    if question is not None:
        _refuse_worst_case_options(pieces=pieces, knowledge=knowledge)
        return _answer_question(view, release, values, question, supposed, min_confidence, rng)
    if supposed:
        raise UsageError(
            "Nothing says what the knowledge is asked about.",
            f"add for example {format_question(values.axis.name)}.",
        )
    case = _WorstCase.of(view, release, values, _check_pieces(pieces), _check_knowledge(knowledge))
    return _find_worst_case(case, min_confidence)


def _refuse_several(view: View, asked: bool) -> None:
    """Worlds hand out one value to each person of one class: others are not counted by it."""
    release = view.releases[0]
    if release.person is None:
        return
    if asked:
        raise RowsOnlyError("a row stands for a person here, and some people have several rows")
    if not release.is_constant:
        raise RowsOnlyError("some people have several values, and worlds give everybody one")
    if int(release.people.sum()) > release.persons:
        raise RowsOnlyError("some people are in several classes, and worlds have them in one")


def _refuse_worst_case_options(**options: object) -> None:
    for option in (option for option, value in options.items() if value is not None):
        raise UsageError(
            f"{option} is about the worst case, and something is asked about.",
            f"leave --{option} or --about out.",
        )


def _assume_missing_values(case: _WorstCase) -> tuple[str, ...]:
    if not case.missing:
        return ()
    name = case.values.axis.name
    return (
        f"{case.missing:,} rows have no {name}: in each class they are taken to have its most "
        "common one, which is the worst",
    )


def _find_worst_case(case: _WorstCase, min_confidence: Fraction) -> Finding:
    values = case.values
    reached = find_reaching(values, case.pieces, min_confidence, case.knowledge)
    exposed = len(case.release.people_of(reached[case.release.class_]))
    return Finding(
        attack="background",
        people=case.release.persons,
        exposed=exposed,
        sure=float(case.witness.disclosure),
        guessing=float(values.total.max() / values.total.sum()),
        sentence=_describe_disclosure(case, exposed, format_chance(float(min_confidence))),
        defence=_choose_defence(case, min_confidence, bool(exposed)),
        example=_describe_worst_case(case),
        assumptions=(*ASSUMPTIONS, *_assume_missing_values(case)),
        worst=tuple((_order_worst_first(case, reached)[:WORST_LISTED] + 1).tolist()),
        table="release 1",
        witness=_build_witness(case),
        details={
            "sure": float(min_confidence),
            "pieces": case.pieces,
            "knowledge": case.knowledge,
            "pieces_used": len(case.witness.others),
            "classes": len(values.rows),
            "classes_reached": int(reached.sum()),
            "curve": {
                kind: disclosure_curve(values, case.pieces, kind).tolist() for kind in KNOWLEDGE
            },
        },
    )


def _order_worst_first(case: _WorstCase, reached: Mask) -> NDArray[np.int64]:
    """The rows reached: the witness's class, then by belief and size; in file order in a class.

    Where none is, those of the witness's class.
    """
    class_ = case.release.class_
    _, first, number = np.unique(class_, return_index=True, return_inverse=True)
    elsewhere = class_ != case.witness.target.class_
    belief = np.round(case.max_belief, 12)[class_]
    order = np.lexsort((first[number], -case.values.rows[class_], -belief, elsewhere))
    hit = reached[class_] if reached.any() else ~elsewhere
    return order[hit[order]]


def _describe_disclosure(case: _WorstCase, exposed: int, min_confidence: str) -> str:
    rows, name = int(case.values.rows.sum()), case.values.axis.name
    start = f"With {_describe_amount(case)}" if case.pieces else "Without further knowledge"
    chance = format_chance(case.witness.disclosure)
    return (
        f"{start} somebody can be {chance} sure of a person's {name}; "
        f"{exposed:,} of {rows:,} {case.release.unit} are in classes about whose people one can be "
        f"at least {min_confidence} sure."
    )


def _describe_amount(case: _WorstCase) -> str:
    if case.knowledge == NEGATIONS:
        return pluralise(case.pieces, "negation", "negations")
    return f"{pluralise(case.pieces, 'piece', 'pieces')} of knowledge"


def _choose_defence(case: _WorstCase, min_confidence: Fraction, exposed: bool) -> str:
    """What to ask for; nothing that the release reaches, or that no release of the table could."""
    values, k = case.values, case.pieces
    pieces = pluralise(k, "piece", "pieces")
    floor = float(max_disclosure([values.total[values.total > 0]], k)[-1])
    worst = float(disclosure_curve(values, k)[-1])
    whole_table = f"even the whole table as one class leaves {format_chance(floor)} with {pieces}"
    if (exposed or worst >= min_confidence) and floor < min_confidence:
        requirement = f"ck-safety c={format_parameter(min_confidence)} k={k}"
        return DEFENCE.format(requirement=case.view.quote_requirement(requirement))
    if exposed or worst >= min_confidence:
        return f"little: {whole_table}. Coarser values would help more."
    chance = format_chance(float(min_confidence))
    enough = f"nothing is needed at {chance}: with {pieces} nobody becomes so sure."
    c = f"{(floor + worst) / 2:.2g}"
    if not floor < float(c) <= min(worst, float(min_confidence)):
        return enough
    requirement = case.view.quote_requirement(f"ck-safety c={c} k={k}")
    return f"{enough} To go further ask for a smaller c: {requirement}; {whole_table}."


def _build_witness(case: _WorstCase) -> dict[str, Any]:
    target, others = case.witness.target, case.witness.others
    text: dict[str, Any] = {}
    if case.view.show:
        pieces = [str(case.piece(atom)) for atom in others]
        text = {"about": str(case.atom(target)), "knowing": pieces}
    return {
        "target": _describe_atom(case, target),
        "implications": [_describe_atom(case, atom) for atom in others],
        "disclosure": float(case.witness.disclosure),
        "exact": str(case.witness.disclosure),
        **text,
    }


def _describe_atom(case: _WorstCase, known: PersonValue) -> dict[str, Any]:
    value = {"value": case.view.format_sensitive(known.value)} if case.view.show else {}
    return {
        "row": case.row(known),
        "class": known.class_,
        "rank": rank_value(case.values, known.class_, known.value),
        **value,
        **show_labels(case.view, known.class_),
    }
