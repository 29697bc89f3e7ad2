"""Knowledge: what an adversary may know about people, as text that a person can write.

An *atom* says that a person has a value; a *basic implication* says that where all the atoms
before its arrow hold, at least one of those after it holds (Martin, Kifer, Machanavajjhala, Gehrke
and Halpern: Worst-case background knowledge for privacy-preserving data publishing, 2007). Any
statement about who has which value is a conjunction of basic implications, so pieces are counted
as the measure of what somebody knows:

    Hannah.disease=flu -> Charlie.disease=flu           if she has it, so has he
    Ed.disease=flu & Bob.disease=flu -> Ann.disease=flu | Joe.disease=flu
    not Ed.disease=mumps                                a negated atom
    Ed.disease=flu -> not Bob.disease=flu               not both of them
    Ed.disease=lung cancer                              a fact; with ``|``, one of several
    #12.disease=flu                                     about row 12 of the release

Pieces stand on lines of their own or between semicolons; ``and``, ``or`` may be written for
``&``, ``|``, and an arrow of one sign for ``->``. Names may hold spaces. In double quotes they may
hold anything, a quotation mark doubled: ``"St. John".disease="mumps; ""old"" form"``. Outside
quotes the last dot before ``=`` ends the person's name: in ``St. John.disease=flu`` it is St.
John's. A missing value is written ``null`` or ``""``.

What it does not give: knowledge held with less than certainty ("probably"), counts ("three of
them") or statements about the sampling of the table; and whether a piece is true, nobody asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shoal.core.errors import UsageError

_QUOTED = r'"(?:[^"]|"")*"'
_MARK = re.compile(rf'{_QUOTED}|-+>|[→⇒]|[=&|;\r\n"“”„]|(?<!\S)(?:and|or)(?!\S)', re.IGNORECASE)
_NOT = re.compile(r"not\s+(.*)", re.IGNORECASE | re.DOTALL)
# A column is quoted or holds no dot, so the dot found is the last one outside quotes.
_SUBJECT = re.compile(rf'(.*)\.\s*({_QUOTED}|[^".]*)', re.DOTALL)
_ENDS = frozenset(";\r\n")
_ALL, _ONE = frozenset({"&", "and"}), frozenset({"|", "or"})
_QUOTES = frozenset('"“”„')
_DENIED = ("!", "¬", "~")  # other languages' signs of negation, in front of a person
_ARROW = re.compile(r"=>|>>")

_EXAMPLE = (
    "Write a piece as in: Hannah.disease=flu -> Charlie.disease=flu, or: not Ed.disease=mumps. "
    'Quote names that hold signs or the words and, or: "St. John".disease="this and that".'
)
_NEGATED = "Write: not Ed.disease=mumps."
_THEN = 'Write -> for "then", and quote values that hold "=".'
_MISSING = "A missing value is written null, as in: Ed.disease=null."
_ONE_ATOM = 'As in: Ed.disease="flu".'
_TWO = "Write two pieces, with ; between them or each on a line of its own."


@dataclass(frozen=True)
class Atom:
    """Somebody has a value; as text, which reads back.

    Parameters
    ----------
    person, column, value : str
        ``#12`` as a person is row 12 of the release.

    Examples
    --------
    >>> print(Atom("Ed", "disease", "lung cancer"))
    Ed.disease=lung cancer
    >>> print(Atom("St. John", "disease", "salt & pepper"))
    "St. John".disease="salt & pepper"
    """

    person: str
    column: str
    value: str

    def __post_init__(self) -> None:
        if not all(isinstance(part, str) for part in (self.person, self.column, self.value)):
            raise UsageError(
                "An atom's person, column and value are texts.", 'As in: Atom("Ed", "age", "40").'
            )

    def __str__(self) -> str:
        subject = (_written(name, quote="." in name) for name in (self.person, self.column))
        return f"{'.'.join(subject)}={_written(self.value)}"


@dataclass(frozen=True)
class Implication:
    """A basic implication: where all of ``given`` hold, one of ``then`` does.

    Parameters
    ----------
    given : tuple of Atom
        Empty: one of ``then`` holds.
    then : tuple of Atom
        Empty: not all of ``given`` hold.

    Raises
    ------
    UsageError
        Where there is no atom at all.

    Examples
    --------
    >>> flu, mumps = Atom("Ed", "disease", "flu"), Atom("Bob", "disease", "mumps")
    >>> for piece in (Implication((flu,), (mumps,)), Implication((), (flu, mumps))):
    ...     print(piece)
    Ed.disease=flu -> Bob.disease=mumps
    Ed.disease=flu | Bob.disease=mumps
    >>> for piece in (Implication((flu,), ()), Implication((flu, mumps), ())):
    ...     print(piece)
    not Ed.disease=flu
    Ed.disease=flu -> not Bob.disease=mumps
    """

    given: tuple[Atom, ...]
    then: tuple[Atom, ...]

    def __post_init__(self) -> None:
        for side in ("given", "then"):
            atoms = getattr(self, side)
            if not isinstance(atoms, tuple | list) or not all(isinstance(a, Atom) for a in atoms):
                raise UsageError("An implication is from atoms to atoms.", _EXAMPLE)
            object.__setattr__(self, side, tuple(atoms))
        if not self.atoms:
            raise UsageError("An implication without an atom says nothing.", _EXAMPLE)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Every atom, those of `given` first."""
        return self.given + self.then

    def __str__(self) -> str:
        premises, then = self.given, " | ".join(map(str, self.then))
        if not then:
            premises, then = premises[:-1], f"not {premises[-1]}"
        return f"{' & '.join(map(str, premises))} -> {then}" if premises else then


Knowledge = str | Atom | Implication
"""A piece of knowledge, or text that may hold several; an atom is a fact."""


def parse_knowledge(text: Knowledge | Iterable[Knowledge]) -> tuple[Implication, ...]:
    """The pieces of one text or of several, in order; no texts at all are no knowledge.

    What is a piece already stays as it is.

    >>> [piece] = parse_knowledge("Hannah.disease=flu -> Charlie.disease=flu")
    >>> piece.then
    (Atom(person='Charlie', column='disease', value='flu'),)
    >>> [str(piece) for piece in parse_knowledge("not Ed.disease=mumps; not Ed.disease=flu")]
    ['not Ed.disease=mumps', 'not Ed.disease=flu']
    """
    pieces: list[Implication] = []
    for part in text if isinstance(text, Iterable) and not isinstance(text, str) else [text]:
        pieces += _pieces(part, len(pieces) + 1)
    return tuple(pieces)


def _pieces(part: Knowledge, first: int) -> list[Implication]:
    """The pieces of one text; ``first`` is the number of the first in messages."""
    if isinstance(part, Implication):
        return [part]
    if isinstance(part, Atom):
        return [Implication((), (part,))]
    if not isinstance(part, str):
        raise UsageError("The knowledge is neither text nor an implication.", _EXAMPLE)
    pieces = [piece for piece in _split(part, _ENDS) if piece]
    if not pieces:
        raise UsageError("The knowledge is an empty text.", _EXAMPLE)
    return [_piece(piece, f"Piece {n}") for n, piece in enumerate(pieces, first)]


def parse_atom(text: str | Atom) -> Atom:
    """The one atom that a text is.

    >>> parse_atom("#12.disease=lung cancer")
    Atom(person='#12', column='disease', value='lung cancer')
    """
    if isinstance(text, Atom):
        return text
    if not isinstance(text, str):
        raise UsageError("The atom is not a text.", _ONE_ATOM)
    if set(_marks(text)) - {"="} - _QUOTES or _NOT.match(text.strip()):
        raise _wrong("The atom", "it is more than somebody's value", _ONE_ATOM)
    _refuse_open_quotes(text, "The atom")
    return _atom(text.strip(), "The atom")


def _sign(match: re.Match[str]) -> str:
    """What a mark means: all arrows are one."""
    return "->" if match[0][-1] in ">→⇒" else match[0].lower()


def _marks(text: str) -> list[str]:
    """The signs and words outside quotes that mean something, in order."""
    marks = map(_sign, _MARK.finditer(text))
    return [mark for mark in marks if mark == '"' or not mark.startswith('"')]


def _split(text: str, at: frozenset[str]) -> list[str]:
    """What stands between some marks, stripped; what is quoted stays whole."""
    parts, start = [], 0
    for match in _MARK.finditer(text):
        if _sign(match) in at:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    return [*parts, text[start:].strip()]


def _piece(text: str, where: str) -> Implication:
    _refuse_open_quotes(text, where)
    *before, after = _split(text, frozenset({"->"}))
    if len(before) > 1:
        raise _wrong(where, 'it has more than one "->"', _TWO)
    premises = _before(before[0], f'{where}, before "->"') if before else ()
    where = f'{where}, after "->"' if before else where
    if _ALL & set(_marks(after)):
        raise _wrong(where, 'atoms are joined by "and": that is not a basic implication', _TWO)
    parts = _split(after, _ONE)
    negated = [_NOT.match(part) for part in parts]
    if not any(negated):
        return Implication(premises, _atoms(parts, where))
    if len(parts) > 1:
        hint = "Write A -> B instead of: not A | B. Write A -> not B instead of: not A | not B."
        raise _wrong(where, '"not" stands among atoms joined by "or"', hint)
    return Implication((*premises, *_atoms([match[1] for match in negated if match], where)), ())


def _before(text: str, where: str) -> tuple[Atom, ...]:
    if _ONE & set(_marks(text)):
        raise _wrong(where, 'atoms are joined by "or": that is not a basic implication', _TWO)
    parts = _split(text, _ALL)
    if any(map(_NOT.match, parts)):
        hint = 'For "B where not A" write: A | B. For "A does not imply B" write: A; not B.'
        raise _wrong(where, 'there is a "not"', hint)
    return _atoms(parts, where)


def _atoms(parts: list[str], where: str) -> tuple[Atom, ...]:
    if parts == [""]:
        raise _wrong(where, "there is nothing")
    many = len(parts) > 1
    return tuple(
        _atom(part, f"{where}, atom {n}" if many else where) for n, part in enumerate(parts, 1)
    )


def _atom(text: str, where: str) -> Atom:
    if not text:
        raise _wrong(where, "there is nothing")
    subject, *values = _split(text, frozenset("="))
    if len(values) != 1:
        hint = _THEN if values and _ARROW.search(text) else _EXAMPLE
        raise _wrong(where, f'there is {"more than one" if values else "no"} "="', hint)
    if subject.endswith("!"):
        raise _wrong(where, '"!=" is not part of the language', _NEGATED)
    if subject.startswith(_DENIED):
        raise _wrong(where, f'"{subject[0]}" is not part of the language', _NEGATED)
    match = _SUBJECT.fullmatch(subject)
    if not match:
        raise _wrong(where, 'there is no "." between the person and the column')
    person, column = match.groups()
    names = {"person": person, "column": column, "value": values[0]}
    return Atom(**{part: _name(name.strip(), part, where) for part, name in names.items()})


def _name(text: str, part: str, where: str) -> str:
    if not text:
        raise _wrong(where, f"the {part} is missing", _MISSING if part == "value" else _EXAMPLE)
    if re.fullmatch(_QUOTED, text):
        return text[1:-1].replace('""', '"')
    if '"' in text:
        raise _wrong(where, f"quotation marks surround only some of the {part}")
    return text


def _refuse_open_quotes(text: str, where: str) -> None:
    loose = _QUOTES & set(_marks(text))
    if '"' in loose:
        raise _wrong(where, "a quotation mark is not closed")
    if loose:
        raise _wrong(where, "there are curly quotation marks; straight ones are needed")


def _written(name: str, quote: bool = False) -> str:
    """A name as it reads back: quoted only where it must be."""
    loose = name != name.strip() or not name or name.endswith("!")
    loose = loose or name.startswith(_DENIED)
    if quote or loose or _MARK.search(name) or _NOT.match(name):
        return '"{}"'.format(name.replace('"', '""'))
    return name


def _wrong(where: str, fact: str, hint: str = _EXAMPLE) -> UsageError:
    return UsageError(f"{where}: {fact}.", hint)
