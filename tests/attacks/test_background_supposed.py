"""Knowledge that is supposed: formulas of the paper, all worlds, and people in several classes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from tests.attacks.test_background import ROWS, figure_3, histograms, random_rows, text, view_of

from shoal.attacks.background import background
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError, UsageError
from shoal.core.theory.adversary_view import Targets, View
from shoal.core.theory.knowledge import Atom, Implication
from shoal.core.theory.worlds import ImpossibleError, belief

FORMULAS = [
    ("Ed.Disease=Lung Cancer", (), "2/5"),
    ("Ed.Disease=Lung Cancer", "not Ed.Disease=Mumps", "1/2"),
    ("Ed.Disease=Lung Cancer", ["not Ed.Disease=Mumps", "not Ed.Disease=Flu"], "1"),
    ("Ed.Disease=Lung Cancer", "not Ed.Disease=Mumps; not Ed.Disease=Flu", "1"),
    ("Charlie.Disease=Flu", "Hannah.Disease=Flu -> Charlie.Disease=Flu", "10/19"),
]


def by_row(known):
    """The formula with rows of the release instead of names."""
    if not isinstance(known, str):
        return [by_row(one) for one in known]
    for row, one in enumerate(ROWS, 1):
        known = known.replace(one["Name"], f"#{row}")
    return known


@pytest.mark.parametrize(("about", "knowing", "expected"), FORMULAS)
def test_the_formulas_of_the_paper(about, knowing, expected):
    for view, asked, known, table in (
        (figure_3(), about, knowing, "targets"),
        (replace(figure_3(), people=None), by_row(about), by_row(knowing), "release 1"),
    ):
        found = background(view, about=asked, knowing=known)
        assert found.details["exact"] == expected
        assert found.sure == float(Fraction(expected))
        assert found.guessing == (0.4 if "Flu" in about else 0.2)  # of the whole release
        assert found.details["by_class_alone"] == "2/5"
        assert (found.people, found.exposed) == (1, int(expected == "1"))
        assert found.table == table
        assert found.worst == ({"Ed": 4, "Charlie": 2}[about.partition(".")[0]],)
        assert found.details["interval"] is None


def test_names_and_values_of_a_formula_stay_out_of_the_finding():
    about, knowing, _ = FORMULAS[-1]
    silent = text(background(figure_3(), about=about, knowing=knowing))
    for word in ("Hannah", "Charlie", "Flu", "p1"):
        assert word not in silent
    told = text(background(figure_3(show=True), about=about, knowing=knowing))
    for word in ("Hannah", "Charlie", "Flu", "p1"):
        assert word in told


def worlds(counts):
    """Every world of the classes: for each the value of each person."""
    dealt = (set(permutations([v for v, n in one.items() for _ in range(n)])) for one in counts)
    return list(product(*dealt))


@pytest.mark.parametrize("seed", range(15))
def test_a_formula_s_belief_is_that_of_all_worlds(seed):
    rng = np.random.default_rng(seed)
    classes, values = random_rows(seed, most=2, values=3)
    number = [(c, classes[:row].count(c)) for row, c in enumerate(classes)]
    atoms = [(int(rng.integers(len(classes))), int(rng.integers(3))) for _ in range(5)]

    def so(world, atom):
        c, i = number[atom[0]]
        return world[c][i] == atom[1]

    about, *pairs = atoms
    pieces = [(pairs[0], pairs[1]), (pairs[2], pairs[3])]
    every = worlds(histograms(classes, values))
    left = [w for w in every if all(not so(w, a) or so(w, b) for a, b in pieces)]
    words = [f"#{row + 1}.illness={'abc'[value]}" for row, value in atoms]
    view, asked = view_of(classes, values, "abc"), {"about": words[0]}
    asked["knowing"] = [f"{words[1]} -> {words[2]}", f"{words[3]} -> {words[4]}"]
    if not left:
        with pytest.raises(InputError, match="contradicts"):
            background(view, **asked)
        return
    expected = Fraction(sum(so(w, about) for w in left), len(left))
    assert Fraction(background(view, **asked).details["exact"]) == expected


def test_numbers_are_values_however_they_are_written():
    view = view_of([0, 0, 0, 0], [0, 0, 1, 2], "abc", "income")
    income = Axis("income", "number", "ordered", (50.0, 60.0), True, positions=np.array([50.0, 60]))
    view = replace(view, sensitive=income)
    for written in ("50", "50.0"):
        assert background(view, about=f"#1.income={written}").details["exact"] == "1/2"
    found = background(view, about="#1.income=null", knowing="not #01.income=50")
    assert found.details["exact"] == "1/2"
    for written in ("55", "nan", "much"):
        with pytest.raises(UsageError, match="1 value of income"):
            background(view, about=f"#1.income={written}")


def test_a_belief_that_is_sampled_says_so(monkeypatch):
    """Exposed where even the interval's upper end does: a draw must not make it look safe."""

    def sampled(*given, **more):
        return belief(*given, **{**more, "most": 0, "draws": 2000})

    monkeypatch.setattr("shoal.attacks.background.belief", sampled)
    about, knowing, _ = FORMULAS[-1]
    found = background(figure_3(), about=about, knowing=knowing, rng=np.random.default_rng(1))
    low, high = found.details["interval"]
    assert low < 10 / 19 < high
    assert found.details["exact"] is None
    assert found.interval is None  # that of a rate, which one person does not have
    assert "95 % interval" in found.sentence
    for sure, exposed in ((high - 1e-6, 1), (high + 1e-6, 0)):
        more = {"rng": np.random.default_rng(1), "sure": sure}
        assert background(figure_3(), about=about, knowing=knowing, **more).exposed == exposed


@pytest.mark.parametrize(
    ("options", "kind", "fact"),
    [
        ({"about": "Ed.Age=27"}, UsageError, "another column than 'Disease'"),
        ({"about": "Ed.Disease=Flu", "knowing": "not Ed.Age=27"}, UsageError, "another column"),
        (
            {"about": "Ed.Disease=flu"},
            UsageError,
            r"1 value of Disease is in no row .*the question",
        ),
        (
            {
                "about": "Ed.Disease=Flu",
                "knowing": ["not Ed.Disease=a", "Ed.Disease=Flu -> Ed.Disease=b"],
            },
            UsageError,
            r"2 values .* \(piece 1, atom 1; piece 2, atom 2\)",
        ),
        (
            {"about": "Ted.Disease=Flu"},
            UsageError,
            r"1 person is not among the targets \(the question",
        ),
        (
            {"about": "Ed.Disease=Flu", "knowing": ["not A.Disease=Flu", "not B.Disease=Flu"]},
            UsageError,
            r"2 people are not among the targets \(piece 1, atom 1; piece 2, atom 1\)",
        ),
        ({"about": "#11.Disease=Flu"}, UsageError, r"1 row is not in the release \(the question\)"),
        ({"about": "#11.Disease=Flu"}, UsageError, "rows are #1 to #10"),
        ({"about": "#0.Disease=Flu"}, UsageError, "rows are #1 to #10"),
        ({"about": "#-1.Disease=Flu"}, UsageError, "rows are #1 to #10"),
        ({"about": "Ed.Disease=Flu", "knowing": "not #x.Disease=Flu"}, UsageError, "#1 to #10"),
        ({"about": "Ed.Disease=Flu", "knowing": "no Ed.Disease=Flu"}, UsageError, "write not"),
        ({"about": ""}, UsageError, "The atom: there is nothing"),
        ({"about": 5}, UsageError, "not a text"),
        ({"about": "Ed.Disease=Flu", "knowing": [5]}, UsageError, "neither text"),
        ({"about": "Ed.Disease=Flu", "pieces": 2}, UsageError, "pieces is about the worst case"),
        (
            {"about": "Ed.Disease=Flu", "knowledge": "negations"},
            UsageError,
            "knowledge is about the",
        ),
        ({"pieces": 41}, UsageError, "at most 40.*\n.*--pieces 2"),
        ({"knowing": "not Ed.Disease=Flu"}, UsageError, "asked about"),
        ({"about": "Ed.Disease"}, UsageError, "="),
        ({"about": "Ed.Disease=Flu", "knowing": "Ed"}, UsageError, "="),
        (
            {"about": "Ed.Disease=Flu", "knowing": ["not Ed.Disease=Flu", "Ed.Disease=Flu"]},
            ImpossibleError,
            "contradict",
        ),
        ({"pieces": -1}, UsageError, "pieces.*\n.*--pieces 2"),
        ({"pieces": 1.5}, UsageError, "pieces"),
        ({"sure": 0}, UsageError, "sure.*\n.*--sure 0.9"),
        ({"sure": 1.1}, UsageError, "sure"),
        ({"knowledge": "rumours"}, UsageError, "rumours"),
    ],
)
def test_what_is_wrong_is_said(options, kind, fact):
    with pytest.raises(kind, match=fact) as raised:
        background(figure_3(), **options)
    assert type(raised.value) is kind
    assert not any(name in str(raised.value) for name in ("Ted", "Flu", "Mumps"))


def test_what_may_be_shown_is_named_in_errors_too():
    for asked, word in (
        ("Ted.Disease=Flu", "question: Ted"),
        ("Ed.Disease=flu", "question: flu"),
        ("#11.Disease=Flu", "question: #11"),
    ):
        with pytest.raises(UsageError, match=word):
            background(figure_3(show=True), about=asked)
    many = [f"not {n}.Disease=Flu" for n in range(8)]
    with pytest.raises(UsageError, match=r"8 people .*; piece 5, atom 1; 3 more\)"):
        background(figure_3(), about="Ed.Disease=Flu", knowing=many)


def test_hints_can_be_typed_in_a_shell():
    view = view_of([0, 0], [0, 1], "ab", "lab. result")
    with pytest.raises(UsageError) as raised:
        background(view, knowing="#1.x=a")
    assert "--about '#7.\"lab. result\"=...'" in raised.value.hint


def test_a_formula_may_be_atoms_and_implications():
    ed = Atom("Ed", "Disease", "Lung Cancer")
    not_mumps = Implication((Atom("Ed", "Disease", "Mumps"),), ())
    for knowing in (not_mumps, [not_mumps], [str(not_mumps)]):
        assert background(figure_3(), about=ed, knowing=knowing).details["exact"] == "1/2"
    assert background(figure_3(), about=ed, knowing=ed).sure == 1
    assert background(figure_3(), about=ed, knowing=None).details["exact"] == "2/5"


def test_people_must_be_known_by_name_and_fit_a_class():
    view = figure_3()
    people, asked = view.people, {"about": "Ed.Disease=Flu"}
    with pytest.raises(UsageError, match="--targets"):
        background(replace(view, people=None), **asked)
    with pytest.raises(UsageError, match="--name"):
        background(replace(view, people=replace(people, names=None)), **asked)
    namesakes = replace(people, names=("Ed",) * 10)
    with pytest.raises(InputError, match=r"1 name .* several"):
        background(replace(view, people=namesakes), **asked)
    nowhere = replace(people, keys=np.full((1, 10), -1, np.int32))
    with pytest.raises(InputError, match="1 person cannot be placed"):
        background(replace(view, people=nowhere), **asked)


# People who fit several classes


def overlapping(classes, values, fits, **more) -> View:
    """A release whose cells are ranges, and people A, B, … at places inside some of them."""
    view = view_of(classes, values, "abc", **more)
    low, high = (np.array(ends, np.int32)[:, None] for ends in zip(*fits["cells"], strict=True))
    axis = Axis("place", "category", "ordered", tuple("0123456789"))
    keys = np.array([fits["people"]], np.int32)
    people = Targets(keys, np.arange(1, keys.size + 1), names=tuple("ABC"[: keys.size]))
    release = replace(view.releases[0], cells=Cells(low, high))
    return replace(view, axes=(axis,), releases=(release,), people=people)


def over_combinations(classes, values, fits, about, pieces):
    """The belief in each combination of classes by all its worlds; None where there are none."""
    counts = histograms(classes, values)
    within = [
        [c for c, (low, high) in enumerate(fits["cells"]) if low <= at <= high]
        for at in fits["people"]
    ]
    for combination in product(*within):
        taken = [combination[:i].count(c) for i, c in enumerate(combination)]
        if any(t >= sum(counts[c].values()) for c, t in zip(combination, taken, strict=True)):
            yield None
            continue

        def so(world, atom, at=combination, taken=taken):
            return world[at[atom[0]]][taken[atom[0]]] == atom[1]

        left = [w for w in worlds(counts) if all(not so(w, a) or so(w, b) for a, b in pieces)]
        yield Fraction(sum(so(w, about) for w in left), len(left)) if left else None


@pytest.mark.parametrize("seed", range(20))
def test_somebody_who_fits_several_classes_may_be_in_any(seed):
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(3), rng.integers(1, 4, 3)).tolist()
    values = rng.integers(0, 3, len(classes)).tolist()
    fits = {"cells": [(0, 5), (3, 9), (4, 9)], "people": [int(rng.integers(10)) for _ in range(3)]}
    atoms = [(int(rng.integers(3)), int(rng.integers(3))) for _ in range(5)]
    if len(set(values)) < 3:
        values[:3] = [0, 1, 2]  # all values are in the release
    pieces = [(atoms[1], atoms[2]), (atoms[3], atoms[4])]
    words = [f"{'ABC'[who]}.illness={'abc'[value]}" for who, value in atoms]
    mentioned = sorted({who for who, _ in atoms})
    number = {who: n for n, who in enumerate(mentioned)}
    (about, *_), asked = [(number[w], v) for w, v in atoms], {"about": words[0]}
    known = [tuple((number[w], v) for w, v in piece) for piece in pieces]
    asked["knowing"] = [f"{words[1]} -> {words[2]}", f"{words[3]} -> {words[4]}"]
    only = {**fits, "people": [fits["people"][who] for who in mentioned]}
    every = list(over_combinations(classes, values, only, about, known))
    view = overlapping(classes, values, fits)
    if not any(one is not None for one in every):
        with pytest.raises(ImpossibleError):
            background(view, **asked)
        return
    possible = [one for one in every if one is not None]
    found = background(view, **asked, sure=0.6)
    told = found.details
    assert (Fraction(told["exact"]), Fraction(told["lowest_exact"])) == (
        max(possible),
        min(possible),
    )
    assert (told["combinations"], told["combinations_possible"]) == (len(every), len(possible))
    assert (found.sure, told["lowest"]) == (float(max(possible)), float(min(possible)))
    assert found.exposed == (max(possible) >= 0.6)


OVERLAP = {"cells": [(0, 5), (3, 9)], "people": [4, 4, 0]}


def test_who_fits_several_classes_is_told():
    view = overlapping([0, 0, 0, 1, 1], [0, 0, 1, 0, 2], OVERLAP)
    found = background(view, about="A.illness=a")
    assert found.sentence == (
        "The class alone makes one up to 66.7% (2/3) sure of the illness asked about. 1 person "
        "fits several classes of the release: over 2 combinations of classes the belief is 50% "
        "(1/2) to 66.7% (2/3)."
    )
    assert found.example == (
        "The person of row 1 of the targets fits 2 classes, and the one that tells most is of 3, "
        "of which 2 have the illness asked about."
    )
    found = background(view, about="A.illness=a", knowing="A.illness=c | B.illness=c")
    assert "2 people fit several classes" in found.sentence
    assert "over 3 combinations of classes (of 4; in the others the" in found.sentence
    assert "takes who fits several classes" in found.assumptions[0]
    holds = replace(view.releases[0], true_class=np.array([1, 1, 0], np.int32))
    told = background(replace(view, releases=(holds,)), about="A.illness=a")
    assert told.details["combinations"] == 2  # what only a tester knows is not used


def test_where_no_combination_is_possible_the_knowledge_contradicts_the_table():
    view = overlapping([0, 0, 0, 1, 1], [0, 0, 1, 0, 2], OVERLAP)
    with pytest.raises(ImpossibleError, match="contradicts the table in all 2"):
        background(view, about="A.illness=a", knowing="A.illness=a; not A.illness=a")


def test_too_many_combinations_are_refused(monkeypatch):
    monkeypatch.setattr("shoal.attacks.background.MAX_COMBINATIONS", 3)
    view = overlapping([0, 0, 0, 1, 1], [0, 0, 1, 0, 2], OVERLAP)
    with pytest.raises(InputError, match="4 combinations of classes; at most 3"):
        background(view, about="A.illness=a", knowing="not B.illness=a")


def test_more_people_than_a_class_has_are_refused():
    view = view_of([0, 1, 1], [0, 0, 1], "ab")
    people = Targets(np.zeros((1, 2), np.int32), np.arange(1, 3), names=("A", "B"))
    with pytest.raises(InputError):
        background(replace(view, people=people), about="A.illness=a", knowing="not B.illness=b")


def test_a_value_may_be_written_as_a_spreadsheet_s_file_has_it():
    view = view_of([0, 0, 0], [0, 0, 1], ("-> x", "'tis"))
    for written in ('"-> x"', '"\'-> x"'):
        assert background(view, about=f"#1.illness={written}").details["exact"] == "2/3"
    assert background(view, about="#1.illness='tis").details["exact"] == "1/3"
    with pytest.raises(UsageError, match="in no row"):
        background(view, about="#1.illness=tis")


def test_without_knowledge_the_share_is_told_once():
    found = background(figure_3(), about="Ed.Disease=Flu")
    assert (found.sentence + found.example).count("40%") == 1
    knows = background(figure_3(), about="Ed.Disease=Flu", knowing="not Ed.Disease=Mumps")
    assert knows.sentence.endswith("; by the class alone, 40% (2/5).")
