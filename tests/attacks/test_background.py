"""Background knowledge: the worst case and given formulas, by the paper's table and by worlds."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from tests.attacks.releases import golden

from shoal.attacks.background import background
from shoal.attacks.view import People, Published, View
from shoal.axis import Axis
from shoal.cells import Cells
from shoal.disclosure import each, max_disclosure
from shoal.errors import InputError, UsageError
from shoal.knowledge import Atom, Implication
from shoal.worlds import belief

FIGURE = golden("martin_fig1_3")
ROWS = FIGURE["fig3"]
SEX = Axis("Sex", "category", "flat", ("F", "M"))
BOTH = pytest.mark.parametrize("knowledge", ["implications", "negations"])


def view_of(classes, values, leaves, name="illness", **more) -> View:
    """Rows by class and value; the classes are single values of a column."""
    number = np.arange(max(classes) + 1, dtype=np.int32)[:, None]
    axis = Axis("place", "category", "ordered", tuple(f"place {i}" for i in range(len(number))))
    codes = (np.array(part, np.int32) for part in (classes, values))
    release = Published("r", Cells(number, number), *codes, labels=lambda c: {"place": f"p{c}"})
    return View((axis,), (release,), Axis(name, "category", "flat", tuple(leaves)), **more)


def figure_3(**more) -> View:
    leaves = sorted({row["Disease"] for row in ROWS})
    classes = [SEX.leaves.index(row["Sex"]) for row in ROWS]
    people = People(np.array([classes], np.int32), np.arange(1, 11),
                    names=tuple(row["Name"] for row in ROWS))  # fmt: skip
    values = [leaves.index(row["Disease"]) for row in ROWS]
    return view_of(classes, values, leaves, "Disease", people=people, **more)


def text(finding) -> str:
    return json.dumps(finding.to_json(), ensure_ascii=False)


# The worst case


@BOTH
def test_the_maxima_of_figure_3(knowledge):
    key = {"implications": "max_disclosure_by_k", "negations": "negated_atoms_by_k"}[knowledge]
    for k, expected in enumerate(FIGURE["expected"][key]):
        found = background(figure_3(), pieces=k, knowledge=knowledge)
        assert found.witness["exact"] == expected
        assert found.sure == found.witness["disclosure"] == float(Fraction(expected))
        assert found.guessing == 0.4
        assert found.people == 10
        curve = found.details["curve"][knowledge]
        assert curve == pytest.approx([float(Fraction(one))
                                       for one in FIGURE["expected"][key][: k + 1]])  # fmt: skip
    assert found.details["pieces_used"] < 4
    assert f"{found.details['pieces_used']} pieces are enough" in found.example


def test_rows_are_exposed_where_so_many_pieces_reach_the_share():
    for k, sure, exposed in ((0, 0.4, 10), (0, 0.41, 0), (1, "2/3", 5), (2, 1, 5), (3, 1, 10)):
        found = background(figure_3(), pieces=k, sure=sure)
        assert found.exposed == exposed, (k, sure)
        assert found.details["classes_reached"] == exposed // 5
    assert found.rate == 1
    assert background(figure_3(), pieces=1).worst == (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)


def test_the_story_names_rows_and_values_only_where_they_may_be_shown():
    silent, told = (background(figure_3(show=show), pieces=1) for show in (False, True))
    assert silent.example == (
        "Whoever knows that row 1's person does not have the 2nd most common Disease of the class "
        "is 67% (2/3) sure that row 1's person has the most common Disease of the class."
    )
    assert told.example == (
        "Whoever knows that row 1's person does not have the Disease Lung Cancer is 67% (2/3) sure "
        "that row 1's person has the Disease Flu."
    )
    assert not any(row[part] in text(silent) for row in ROWS for part in ("Disease", "Name"))
    assert told.witness["target"]["value"] == "Flu"
    assert told.witness["target"]["labels"] == {"place": "p1"}
    assert told.witness["about"] == "#1.Disease=Flu"
    assert told.witness["knowing"] == ["not #1.Disease=Lung Cancer"]
    assert "random worlds" in " ".join(silent.assumptions)
    assert "ck-safety c=0.9 k=1" in silent.defence


def test_an_implication_between_classes_is_told():
    """The counts of the paper's second example: knowing about another class tells more."""
    classes, values = [0] * 5 + [1] * 6, [0, 0, 0, 1, 2, 0, 0, 1, 1, 2, 2]
    found = background(view_of(classes, values, "abc"), pieces=1)
    assert found.witness["exact"] == "6/7"
    assert found.details["curve"]["negations"][-1] == 0.75
    assert found.example == (
        "Whoever knows that if row 2's person has the most common illness of the class, then row "
        "1's person has the most common illness of the class, is 86% (6/7) sure that row 1's "
        "person has the most common illness of the class."
    )
    assert [one["row"] for one in found.witness["implications"]] == [2]


def random_rows(seed, most=4, values=4):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, int(rng.integers(1, most + 1)))
    classes = np.repeat(np.arange(len(sizes)), sizes)
    order = rng.permutation(len(classes))
    return classes[order].tolist(), rng.integers(0, values, len(classes)).tolist()


def histograms(classes, values):
    rows = list(zip(classes, values, strict=True))
    return [{v: rows.count((c, v)) for v in {v for k, v in rows if k == c}}
            for c in range(max(classes) + 1)]  # fmt: skip


@BOTH
@pytest.mark.parametrize("seed", range(20))
def test_whoever_has_the_witness_s_knowledge_is_so_sure(seed, knowledge):
    """The witness as text, given to the same attack, and as implications to the belief."""
    classes, values = random_rows(seed)
    k = seed % 4
    view = view_of(classes, values, "wxyz", show=True)
    found = background(view, pieces=k, knowledge=knowledge)
    counts = histograms(classes, values)
    exact = max_disclosure(counts, k, knowledge=knowledge, exact=True)[-1]
    assert Fraction(found.witness["exact"]) == exact
    target, others = found.witness["target"], found.witness["implications"]
    assert len(others) == found.details["pieces_used"] <= k
    atoms = [Atom(str(one["row"]), "x", str("wxyz".index(one["value"])))
             for one in (target, *others)]  # fmt: skip
    assert all(classes[one["row"] - 1] == one["class"] for one in (target, *others))
    where = {str(one["row"]): one["class"] for one in (target, *others)}
    known = [Implication((a,), () if a.person == atoms[0].person else (atoms[0],))
             for a in atoms[1:]]  # fmt: skip
    named = [{str(v): n for v, n in one.items()} for one in counts]
    assert belief(named, where, known, atoms[0]).exact == exact
    again = background(view, about=found.witness["about"], knowing=found.witness["knowing"])
    assert again.details["exact"] == found.witness["exact"]


@pytest.mark.parametrize("seed", range(20))
def test_exposed_rows_are_those_of_the_classes_that_reach_it(seed):
    classes, values = random_rows(100 + seed)
    view = view_of(classes, values, "wxyz")
    histogram = view.releases[0].histogram(view.sensitive)
    most = each(histogram, 2)
    for sure in (0.5, 0.75, 1):
        found = background(view, sure=sure)
        assert found.exposed == sum(most[c] >= sure - 1e-9 for c in classes)
    assert found.sure == pytest.approx(most.max())
    assert most[classes[found.worst[0] - 1]] == pytest.approx(most.max())


def test_classes_of_one_value_need_no_knowledge():
    found = background(view_of([0, 0, 1, 1], [0, 0, 1, 0], "ab"))
    assert (found.sure, found.witness["implications"]) == (1, [])
    assert "No piece of knowledge is needed" in found.example


# A given formula

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
        assert (found.sure, found.guessing) == (float(Fraction(expected)), 0.4)
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
        return belief(*given, **more, most=0, draws=2000)

    monkeypatch.setattr("shoal.attacks.supposed.belief", sampled)
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


@pytest.mark.parametrize(("options", "kind", "fact"), [
    ({"about": "Ed.Age=27"}, UsageError, "another column than 'Disease'"),
    ({"about": "Ed.Disease=Flu", "knowing": "not Ed.Age=27"}, UsageError, "another column"),
    ({"about": "Ed.Disease=flu"}, UsageError, "in no row"),
    ({"about": "Ted.Disease=Flu"}, UsageError, "1 of the 1 person"),
    ({"about": "Ed.Disease=Flu", "knowing": ["not A.Disease=Flu", "not B.Disease=Flu"]},
     UsageError, "2 of the 3 people"),
    ({"about": "#11.Disease=Flu"}, UsageError, "1 row that the release does not"),
    ({"about": "#0.Disease=Flu"}, UsageError, "not among the targets"),
    ({"knowing": "not Ed.Disease=Flu"}, UsageError, "asked about"),
    ({"about": "Ed.Disease"}, UsageError, "="),
    ({"about": "Ed.Disease=Flu", "knowing": "Ed"}, UsageError, "="),
    ({"about": "Ed.Disease=Flu", "knowing": ["not Ed.Disease=Flu", "Ed.Disease=Flu"]},
     InputError, "contradict"),
    ({"pieces": -1}, UsageError, "pieces"),
    ({"pieces": 1.5}, UsageError, "pieces"),
    ({"sure": 0}, UsageError, "sure"),
    ({"sure": 1.1}, UsageError, "sure"),
    ({"knowledge": "rumours"}, UsageError, "rumours"),
])  # fmt: skip
def test_what_is_wrong_is_said(options, kind, fact):
    with pytest.raises(kind, match=fact) as raised:
        background(figure_3(), **options)
    assert type(raised.value) is kind
    assert not any(name in str(raised.value) for name in ("Ted", "Flu", "Mumps"))


def test_people_must_be_known_by_name_and_be_in_one_class():
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
    with pytest.raises(InputError, match="fit no class"):
        background(replace(view, people=nowhere), **asked)
    wide = Cells(np.zeros((2, 1), np.int32), np.ones((2, 1), np.int32))
    release = replace(view.releases[0], cells=wide)
    with pytest.raises(InputError, match="fits 2 classes"):
        background(replace(view, releases=(release,)), **asked)
    holds = replace(release, holds=np.array([1] * 5 + [0] * 5, np.int32))
    with pytest.raises(InputError, match="fits 2 classes"):  # what only a tester knows is not used
        background(replace(view, releases=(holds,)), **asked)


def test_more_people_than_a_class_has_are_refused():
    view = view_of([0, 1, 1], [0, 0, 1], "ab")
    people = People(np.zeros((1, 2), np.int32), np.arange(1, 3), names=("A", "B"))
    with pytest.raises(InputError):
        background(replace(view, people=people), about="A.illness=a", knowing="not B.illness=b")


def test_without_rows_or_a_sensitive_column_it_does_not_run():
    view = figure_3()
    with pytest.raises(InputError, match="sensitive"):
        background(replace(view, sensitive=None))
    empty = np.zeros(0, np.int32)
    none = replace(view.releases[0], class_=empty, values=empty)
    with pytest.raises(InputError, match="no rows"):
        background(replace(view, releases=(none,)))
