"""The language of background knowledge: what reads, what does not and where, and reading back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.errors import UsageError
from shoal.core.theory.knowledge import Atom, Implication, parse_atom, parse_knowledge

ED = Atom("Ed", "disease", "flu")
BOB = Atom("Bob", "disease", "lung cancer")
ANN = Atom("Ann", "disease", "mumps")

BOTH_PAIRS = Implication((ED, BOB), (ANN, ED))

PIECES = {
    "Ed.disease=flu -> Bob.disease=lung cancer": Implication((ED,), (BOB,)),
    "Ed.disease=flu->Bob.disease=lung cancer": Implication((ED,), (BOB,)),
    "  Ed . disease = flu  ->  Bob.disease = lung cancer ": Implication((ED,), (BOB,)),
    "not Ed.disease=flu": Implication((ED,), ()),
    "Ed.disease=flu → Bob.disease=lung cancer": Implication((ED,), (BOB,)),
    "Ed.disease=flu --> Bob.disease=lung cancer": Implication((ED,), (BOB,)),
    "NOT Ed.disease=flu": Implication((ED,), ()),
    "Ed.disease=flu -> not Bob.disease=lung cancer": Implication((ED, BOB), ()),
    "Ed.disease=flu": Implication((), (ED,)),
    "Ed.disease=flu or Ann.disease=mumps": Implication((), (ED, ANN)),
    "Ed.disease=flu & Bob.disease=lung cancer -> Ann.disease=mumps | Ed.disease=flu": BOTH_PAIRS,
    "Ed.disease=flu and Bob.disease=lung cancer -> Ann.disease=mumps or Ed.disease=flu": BOTH_PAIRS,
    "Ed.disease=flu AND Ann.disease=mumps -> Bob.disease=lung cancer": Implication(
        (ED, ANN), (BOB,)
    ),
}

ATOMS = {
    "#12.disease=flu": Atom("#12", "disease", "flu"),
    '"St. John".disease=flu': Atom("St. John", "disease", "flu"),
    "St. John.disease=flu": Atom("St. John", "disease", "flu"),
    'Ed."icd.10"=J11.1': Atom("Ed", "icd.10", "J11.1"),
    '"a"."b"="c"': Atom("a", "b", "c"),
    'Ed.disease="flu -> ""old"" & new; =or|"': Atom("Ed", "disease", 'flu -> "old" & new; =or|'),
    'Ed.disease=""': Atom("Ed", "disease", ""),
    'Ed.disease="two\nlines"': Atom("Ed", "disease", "two\nlines"),
    "O'Brien.disease=not known": Atom("O'Brien", "disease", "not known"),
    "Zoë Sørensen.maladie=grippe à virus": Atom("Zoë Sørensen", "maladie", "grippe à virus"),
    "Sandor.job=factor-or-so": Atom("Sandor", "job", "factor-or-so"),
    "Ed.income=>50K": Atom("Ed", "income", ">50K"),
    "No Min-jun.disease=flu": Atom("No Min-jun", "disease", "flu"),
    '"!Ed".disease=flu': Atom("!Ed", "disease", "flu"),
}


@pytest.mark.parametrize("text", PIECES)
def test_a_piece_reads(text):
    assert parse_knowledge(text) == (PIECES[text],)


@pytest.mark.parametrize("text", ATOMS)
def test_an_atom_reads(text):
    assert parse_atom(text) == ATOMS[text]
    assert parse_knowledge(text) == (Implication((), (ATOMS[text],)),)


def test_pieces_stand_between_semicolons_on_lines_and_in_several_texts():
    three = (Implication((), (ED,)), Implication((BOB,), ()), Implication((ED,), (ANN,)))
    texts = [str(piece) for piece in three]
    assert (
        parse_knowledge(";".join(texts))
        == parse_knowledge("\n\n".join(texts) + " ;\r\n")
        == parse_knowledge(texts)
        == three
    )
    assert parse_knowledge(iter(texts)) == three
    assert parse_knowledge([]) == ()


WRONG = {
    "": ("empty text", "Hannah.disease=flu"),
    " ;\n": ("empty text", "Hannah.disease=flu"),
    "Ed.disease flu": ('Piece 1: there is no "="', "Quote names"),
    "Ed.disease=a; Ed.disease=b=c": ('Piece 2: there is more than one "="', "Quote names"),
    "Ed.disease==a": ('Piece 1: there is more than one "="', ""),
    "Ed.disease=a and b": ('Piece 1: atoms are joined by "and"', "two pieces"),
    "Ed.disease=a or b": ('Piece 1, atom 2: there is no "="', "Quote names"),
    "Ed.x=a & Ed.x=b & c -> Ed.x=d": ('Piece 1, before "->", atom 3: there is no "="', ""),
    "Ed=flu": ('Piece 1: there is no "." between', ""),
    "Ed.x=a -> Bob=flu": ('Piece 1, after "->": there is no "." between', ""),
    '"Ed.x"=flu': ('Piece 1: there is no "." between', ""),
    ".x=flu": ("Piece 1: the person is missing", ""),
    "Ed.=flu": ("Piece 1: the column is missing", ""),
    "Ed.x=": ("Piece 1: the value is missing", "written null"),
    "Ed.x=a\n-> Ed.x=b": ('Piece 2, before "->": there is nothing', ""),
    "Ed.x=a ->": ('Piece 1, after "->": there is nothing', ""),
    "Ed.x=a & -> Ed.x=b": ('Piece 1, before "->", atom 2: there is nothing', ""),
    "Ed.x=a -> Ed.x=b || Ed.x=c": ('Piece 1, after "->", atom 2: there is nothing', ""),
    "Ed.x=a -> Ed.x=b -> Ed.x=c": ('Piece 1: it has more than one "->"', "two pieces"),
    "Ed.x=a | Ed.x=b -> Ed.x=c": ('Piece 1, before "->": atoms are joined by "or"', "two pieces"),
    "Ed.x=a -> Ed.x=b & Ed.x=c": ('Piece 1, after "->": atoms are joined by "and"', "two pieces"),
    "Ed.x=a & Ed.x=b": ('Piece 1: atoms are joined by "and"', "two pieces"),
    "not Ed.x=a -> Ed.x=b": ('Piece 1, before "->": there is a "not"', "A | B"),
    "Ed.x=a & not Ed.x=b -> Ed.x=c": ('Piece 1, before "->": there is a "not"', "A; not B"),
    "not Ed.x=a | Ed.x=b": ('Piece 1: "not" stands among', "A -> B"),
    "Ed.x=a -> Ed.x=b | not Ed.x=c": ('Piece 1, after "->": "not" stands among', "A -> not B"),
    "not Ed.x=a and Ed.x=b": ('Piece 1: atoms are joined by "and"', "two pieces"),
    'Ed.x=a; "Ed.x=flu': ("Piece 2: a quotation mark is not closed", ""),
    'Ed.x=5" pipe': ("Piece 1: a quotation mark is not closed", ""),
    'Ed.x=the "old" flu': ("Piece 1: quotation marks surround only some of the value", ""),
    '"St." John.x=flu': ("Piece 1: quotation marks surround only some of the person", ""),
    "Ed.x=“flu”": ("Piece 1: there are curly quotation marks", ""),
    "Ed.x!=flu": ('Piece 1: "!=" is not part of the language', "not Ed.disease=mumps"),
    "Ed.x=a => Bob.x=flu": ('Piece 1: there is more than one "="', "Write -> for"),
    "Ed.x=a >> Bob.x=flu": ('Piece 1: there is more than one "="', "Write -> for"),
    "!Ed.x=flu": ('Piece 1: "!" is not part of the language', "not Ed.disease=mumps"),
    "¬Ed.x=flu": ('Piece 1: "¬" is not part of the language', "not Ed.disease=mumps"),
    "Ed.x != flu": ('Piece 1: "!=" is not part of the language', "not Ed.disease=mumps"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_does_not_read_is_told_with_its_place_and_a_line_to_write(text):
    fact, hint = WRONG[text]
    with pytest.raises(UsageError) as error:
        parse_knowledge(text)
    assert fact in error.value.fact
    assert hint in error.value.hint
    assert error.value.hint


def test_pieces_are_counted_over_several_texts():
    with pytest.raises(UsageError, match='Piece 3: there is no "="'):
        parse_knowledge(["Ed.x=a; Ed.x=b", "wrong"])
    with pytest.raises(UsageError, match="empty text"):
        parse_knowledge(["Ed.x=a", ""])


@pytest.mark.parametrize(
    "text", ["Ed.x=a; Ed.x=b", "Ed.x=a -> Ed.x=b", "not Ed.x=a", "Ed.x=a or Ed.x=b", "Ed.x=a\n"]
)
def test_what_is_more_than_an_atom_is_none(text):
    with pytest.raises(UsageError, match="more than somebody's value"):
        parse_atom(text)


@pytest.mark.parametrize("text", ["", "Ed", "Ed.x", "Ed=x", '"Ed.x=a', "Ed.x=“a”", "Ed.x!=a"])
def test_what_is_no_atom_is_told(text):
    with pytest.raises(UsageError, match="The atom: "):
        parse_atom(text)


@pytest.mark.parametrize("text", [text for text in WRONG if text.strip(" ;\n")])
def test_no_error_repeats_what_was_written(text):
    secret = "Xyzzy"
    for told in (text.replace("Ed", secret), text.replace("flu", secret), f"{text}; {secret}"):
        with pytest.raises(UsageError) as error:
            parse_knowledge(told)
        assert secret not in str(error.value)


def test_an_implication_says_something_about_atoms():
    with pytest.raises(UsageError, match="says nothing"):
        Implication((), ())
    for wrong in (ED, None, "Ed.x=a", ["Ed.x=a"]):
        with pytest.raises(UsageError, match="from atoms to atoms"):
            Implication((ED,), wrong)
    assert Implication([ED], []) == Implication((ED,), ())
    with pytest.raises(UsageError, match="are texts"):
        Atom("Ed", "x", 5)


def test_what_is_read_already_stays():
    piece = Implication((ED,), (BOB,))
    assert parse_knowledge(piece) == parse_knowledge([piece]) == (piece,)
    assert parse_knowledge([ED, "not Bob.disease=lung cancer"])[0] == Implication((), (ED,))
    assert parse_atom(ED) is ED
    with pytest.raises(UsageError, match="Piece 2"):
        parse_knowledge([piece, "wrong"])
    for wrong in (None, 5, [None], [5]):
        with pytest.raises(UsageError, match="neither text"):
            parse_knowledge(wrong)


WORDS = 'and|or|not|AND|not x|Or|->|→|-|>|=|&|;|"|""|.|St. J|#1| |\n|\r|“|!|x!|\'|\\|é|日本|a b|a'
NAMES = st.one_of(
    st.lists(st.sampled_from([*WORDS.split("|"), "|"]), max_size=4).map("".join),
    st.text(max_size=6),
)
ANY = st.lists(st.builds(Atom, NAMES, NAMES, NAMES), max_size=2).map(tuple)
IMPLICATIONS = st.tuples(ANY, ANY).filter(any).map(lambda sides: Implication(*sides))


@settings(max_examples=150)
@given(st.lists(IMPLICATIONS, min_size=1, max_size=2), st.sampled_from([";", "\n", " ; ", "\r\n"]))
def test_what_is_written_reads_back(pieces, between):
    assert parse_knowledge(between.join(map(str, pieces))) == tuple(pieces)
    for atom in pieces[0].atoms:
        assert parse_atom(str(atom)) == atom


@settings(max_examples=300)
@given(st.lists(st.sampled_from([*WORDS.split("|"), "Ed.x=a", " -> ", " & ", " or "]), max_size=8))
def test_any_text_reads_or_is_told(words):
    try:
        pieces = parse_knowledge("".join(words))
    except UsageError:
        return
    assert parse_knowledge("\n".join(map(str, pieces))) == pieces
