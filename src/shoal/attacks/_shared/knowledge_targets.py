"""Whom and what knowledge speaks of: the people, the classes they could be in, and the values.

A person is a row of the release, ``#12``, or one of the targets by name. A row stands for somebody
of its class; a name for somebody who could be in any class whose cells contain what is known of
them. Two that are called differently are two people. What cannot be found is an error that says
where it is spoken of; who or what it is only where that may be shown.

It does not say whether a person is in the release at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote

import numpy as np

from shoal.attacks._shared.wording import is_null, pluralise
from shoal.core.errors import InputError, UsageError
from shoal.core.labels import restore_cell
from shoal.core.theory.adversary_view import ReleaseView, Targets, View
from shoal.core.theory.knowledge import Atom, Implication

_ROW = re.compile(r"#0*([1-9][0-9]*)")
_DENIAL = re.compile(r"no\s", re.IGNORECASE)
_MAX_PLACES = 5


@dataclass(frozen=True)
class LocatedAtom:
    """An atom, and where it stands."""

    place: str
    atom: Atom


@dataclass(frozen=True)
class MentionedPerson:
    """A person spoken of: the row that was meant, of which table, and the possible classes."""

    row: int
    table: str
    classes: tuple[int, ...]


def name_of_person(atom: Atom) -> str:
    """What an atom's person is called; a row in one way only."""
    row = _ROW.fullmatch(atom.person)
    return f"#{row[1]}" if row else atom.person


def list_atoms(about: Atom, knowing: Sequence[Implication]) -> list[LocatedAtom]:
    """Every atom: the question, and those of the pieces in the order in which they are written."""
    return [
        LocatedAtom("the question", about),
        *(
            LocatedAtom(f"piece {n}, atom {m}", atom)
            for n, piece in enumerate(knowing, 1)
            for m, atom in enumerate(piece.atoms, 1)
        ),
    ]


def format_question(name: str) -> str:
    """How to ask about a column at the command line.

    >>> print(format_question("lab result"))
    --about '#7.lab result=...'
    """
    return f"--about {quote(str(Atom('#7', name, '...')))}"


def check_same_column(atoms: Iterable[LocatedAtom], name: str) -> None:
    """Refuse knowledge about another column than the one that is learnt."""
    if other := [located for located in atoms if located.atom.column != name]:
        raise UsageError(
            f"The knowledge is about another column than {name!r}, which is to be learnt "
            f"({_list_places(other, '')}).",
            f"write for example {format_question(name)}, or name the column to learn: --on COL.",
        )


def find_value_codes(view: View, atoms: Iterable[LocatedAtom]) -> dict[str, int]:
    """The code of each value that is spoken of, as it is written."""
    axis = view.sensitive
    assert axis is not None
    code_of_text = {view.format_sensitive(code): code for code in reversed(range(axis.size))}
    codes: dict[str, int] = {}
    unknown: dict[str, LocatedAtom] = {}
    for located in atoms:
        value = located.atom.value
        codes[value] = _find_code(view, code_of_text, value)
        if codes[value] < 0:
            unknown.setdefault(value, located)
    if unknown:
        show = "value" if view.show else ""
        values = pluralise(len(unknown), f"value of {axis.name} is", f"values of {axis.name} are")
        raise UsageError(
            f"{values} in no row of the release ({_list_places(unknown.values(), show)}).",
            "write values as the release does, capitals too; null for a missing one.",
        )
    return codes


def _find_code(view: View, code_of_text: dict[str, int], value: str) -> int:
    """The code of a value, -1 for none: 50 is 50.0, and nothing at all is null."""
    axis = view.sensitive
    assert axis is not None
    for spelt in (value, restore_cell(value)):
        if spelt in code_of_text:
            return code_of_text[spelt]
    if not value and axis.null:
        return int(axis.null_code)
    if axis.kind not in ("number", "date"):
        return -1
    try:
        code = int(axis.codes([value])[0])
    except ValueError:
        return -1
    return -1 if is_null(view, code) else code


def find_mentioned_people(
    view: View, release: ReleaseView, atoms: Sequence[LocatedAtom]
) -> dict[str, MentionedPerson]:
    """Each person that is spoken of: a row of the release, or one of the targets by name."""
    first_atom: dict[str, LocatedAtom] = {}
    for located in atoms:
        first_atom.setdefault(name_of_person(located.atom), located)
    rows = {name: int(name[1:]) for name in first_atom if _ROW.fullmatch(name)}
    names = {name: atom for name, atom in first_atom.items() if name not in rows}
    size, show = len(release.class_), "person" if view.show else ""
    if outside := [first_atom[name] for name, row in rows.items() if row > size]:
        raise UsageError(
            f"{pluralise(len(outside), 'row is', 'rows are')} not in the release "
            f"({_list_places(outside, show)}).",
            f"rows are #1 to #{size}.",
        )
    _refuse_misread_names(view.people, names, size, show)
    people = {
        name: MentionedPerson(row, "release 1", (int(release.class_[row - 1]),))
        for name, row in rows.items()
    }
    return {**people, **_find_named_people(view.people, release, names, show)}


def _refuse_misread_names(
    people: Targets | None, names: dict[str, LocatedAtom], size: int, show: str
) -> None:
    """Refuse who is called like a row that cannot be, or like somebody denied, and is nobody."""
    known = set(people.names or ()) if people is not None else set()
    strange = {name: located for name, located in names.items() if name not in known}
    if rows := [located for name, located in strange.items() if name.startswith("#")]:
        raise UsageError(
            f'After "#" there is no number of a row ({_list_places(rows, show)}).',
            f"rows are #1 to #{size}.",
        )
    if denied := [located for name, located in strange.items() if _DENIAL.match(name)]:
        raise UsageError(
            f'"no" is not part of the language ({_list_places(denied, show)}).',
            "write not instead, as in: not Ed.disease=mumps.",
        )


def _find_named_people(
    people: Targets | None, release: ReleaseView, names: dict[str, LocatedAtom], show: str
) -> dict[str, MentionedPerson]:
    if not names:
        return {}
    if people is None or people.names is None:
        subject = "person is" if len(names) == 1 else f"{len(names):,} people are"
        lacks = "--targets FILE and --name COL" if people is None else "--name COL"
        raise UsageError(
            f"Nobody says who the {subject} whom the knowledge names "
            f"({_list_places(names.values(), show)}).",
            f"add {lacks}, or write #7 for the person of row 7 of the release.",
        )
    places = _find_unique_names(people.names, names, show)
    start, classes = people.take(np.array(places)).find_classes(release.cells)
    classes_of_person = [
        tuple(map(int, classes_fitting)) for classes_fitting in np.split(classes, start[1:-1])
    ]
    if absent := [
        located
        for located, classes_fitting in zip(names.values(), classes_of_person, strict=True)
        if not classes_fitting
    ]:
        raise InputError(
            f"{pluralise(len(absent), 'person', 'people')} cannot be placed in a class of the "
            f"release ({_list_places(absent, show)}).",
            "check that the targets and the release share columns and values; for buckets give all "
            "columns that are published as they are.",
        )
    return {
        name: MentionedPerson(int(people.rows[i]), "targets", classes_fitting)
        for name, i, classes_fitting in zip(names, places, classes_of_person, strict=True)
    }


def _find_unique_names(known: Sequence[str], names: dict[str, LocatedAtom], show: str) -> list[int]:
    places: dict[str, list[int]] = {name: [] for name in names}
    for i, name in enumerate(known):
        if name in places:
            places[name].append(i)
    if absent := [names[name] for name, rows in places.items() if not rows]:
        raise UsageError(
            f"{pluralise(len(absent), 'person is', 'people are')} not among the targets "
            f"({_list_places(absent, show)}).",
            "write names as the targets' column does, in quotes where they hold a point.",
        )
    if several := [names[name] for name, rows in places.items() if len(rows) > 1]:
        raise InputError(
            f"{pluralise(len(several), 'name belongs', 'names belong')} to several of the targets "
            f"({_list_places(several, show)}).",
            "name a column in which everybody is called differently: --name COL.",
        )
    return [rows[0] for rows in places.values()]


def _list_places(atoms: Iterable[LocatedAtom], show: str) -> str:
    every = list(atoms)
    texts = [
        located.place + (f": {getattr(located.atom, show)}" if show else "") for located in every
    ]
    more = [f"{len(texts) - _MAX_PLACES:,} more"] if len(texts) > _MAX_PLACES else []
    return "; ".join([*texts[:_MAX_PLACES], *more])
