"""Background knowledge: the worst case and given formulas, by the paper's table and by worlds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.attacks.release_views import golden

from shoal.attacks.background import background
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError
from shoal.core.theory.adversary_view import ReleaseView, Targets, View
from shoal.core.theory.knowledge import Atom, Implication
from shoal.core.theory.worlds import belief
from shoal.core.theory.worst_case_disclosure import disclosure_per_class, max_disclosure

FIGURE = golden("martin_fig1_3")
ROWS = FIGURE["fig3"]
SEX = Axis("Sex", "category", "flat", ("F", "M"))
BOTH = pytest.mark.parametrize("knowledge", ["implications", "negations"])


def view_of(classes, values, leaves, name="illness", **more) -> View:
    """Rows by class and value; the classes are single values of a column."""
    number = np.arange(max(classes) + 1, dtype=np.int32)[:, None]
    axis = Axis("place", "category", "ordered", tuple(f"place {i}" for i in range(len(number))))
    codes = (np.array(part, np.int32) for part in (classes, values))
    release = ReleaseView("r", Cells(number, number), *codes, labels=lambda c: {"place": f"p{c}"})
    return View((axis,), (release,), Axis(name, "category", "flat", tuple(leaves)), **more)


def figure_3(**more) -> View:
    leaves = sorted({row["Disease"] for row in ROWS})
    classes = [SEX.leaves.index(row["Sex"]) for row in ROWS]
    people = Targets(
        np.array([classes], np.int32), np.arange(1, 11), names=tuple(row["Name"] for row in ROWS)
    )
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
        assert curve == pytest.approx(
            [float(Fraction(one)) for one in FIGURE["expected"][key][: k + 1]]
        )
    assert found.details["pieces_used"] < 4
    assert f"{found.details['pieces_used']} pieces are enough" in found.example


def test_rows_are_exposed_where_so_many_pieces_reach_the_share():
    for k, sure, exposed in ((0, 0.4, 10), (0, 0.41, 0), (1, "2/3", 5), (2, 1, 5), (3, 1, 10)):
        found = background(figure_3(), pieces=k, sure=sure)
        assert found.exposed == exposed, (k, sure)
        assert found.details["classes_reached"] == exposed // 5
    assert found.rate == 1
    assert background(figure_3(), pieces=1).worst == (1, 2, 3, 4, 5)  # none is: the worst class


def test_the_story_names_rows_and_values_only_where_they_may_be_shown():
    silent, told = (background(figure_3(show=show), pieces=1) for show in (False, True))
    assert silent.example == (
        "Whoever knows that row 1's person does not have the 2nd most common Disease of the class "
        "is 66.7% (2/3) sure that row 1's person has the most common Disease of the class."
    )
    assert told.example == (
        "Whoever knows that row 1's person does not have the Disease Lung Cancer is 66.7% (2/3) "
        "sure that row 1's person has the Disease Flu."
    )
    assert not any(row[part] in text(silent) for row in ROWS for part in ("Disease", "Name"))
    assert told.witness["target"]["value"] == "Flu"
    assert told.witness["target"]["labels"] == {"place": "p1"}
    assert told.witness["about"] == "#1.Disease=Flu"
    assert told.witness["knowing"] == ["not #1.Disease=Lung Cancer"]
    assert "random worlds" in " ".join(silent.assumptions)


def test_an_implication_between_classes_is_told():
    """The counts of the paper's second example: knowing about another class tells more."""
    classes, values = [0] * 5 + [1] * 6, [0, 0, 0, 1, 2, 0, 0, 1, 1, 2, 2]
    found = background(view_of(classes, values, "abc"), pieces=1)
    assert found.witness["exact"] == "6/7"
    assert found.details["curve"]["negations"][-1] == 0.75
    assert found.example == (
        "Whoever knows that if row 2's person has the most common illness of the class, then row "
        "1's person has the most common illness of the class, is 85.7% (6/7) sure that row 1's "
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
    return [
        {v: rows.count((c, v)) for v in {v for k, v in rows if k == c}}
        for c in range(max(classes) + 1)
    ]


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
    atoms = [
        Atom(str(one["row"]), "x", str("wxyz".index(one["value"]))) for one in (target, *others)
    ]
    assert all(classes[one["row"] - 1] == one["class"] for one in (target, *others))
    where = {str(one["row"]): one["class"] for one in (target, *others)}
    known = [
        Implication((a,), () if a.person == atoms[0].person else (atoms[0],)) for a in atoms[1:]
    ]
    named = [{str(v): n for v, n in one.items()} for one in counts]
    assert belief(named, where, known, atoms[0]).exact == exact
    again = background(view, about=found.witness["about"], knowing=found.witness["knowing"])
    assert again.details["exact"] == found.witness["exact"]


@pytest.mark.parametrize("seed", range(20))
def test_exposed_rows_are_those_of_the_classes_that_reach_it(seed):
    classes, values = random_rows(100 + seed)
    view = view_of(classes, values, "wxyz")
    histogram = view.releases[0].histogram(view.sensitive)
    most = disclosure_per_class(histogram, 2)
    for sure in (0.5, 0.75, 1):
        found = background(view, sure=sure)
        assert found.exposed == sum(most[c] >= sure - 1e-9 for c in classes)
    assert found.sure == pytest.approx(most.max())
    assert most[classes[found.worst[0] - 1]] == pytest.approx(most.max())


def test_classes_of_one_value_need_no_knowledge():
    found = background(view_of([0, 0, 1, 1], [0, 0, 1, 0], "ab"))
    assert (found.sure, found.witness["implications"]) == (1, [])
    assert "No piece of knowledge is needed" in found.example


# How it is told


def test_what_is_reached_already_is_not_advised():
    for pieces, sure in ((1, 0.9), (0, 0.9), (2, 1)):
        found = background(figure_3(), pieces=pieces, sure=sure)
        asked = f'"ck-safety c={sure:g} k={pieces}"'
        assert (asked in found.defence) == bool(found.exposed)
        assert found.defence.startswith("nothing is needed at 90%") == (not found.exposed)
    one = background(figure_3(), pieces=1)
    assert '"ck-safety c=0.61 k=1"' in one.defence  # half-way to what the whole table would leave
    assert "Coarser values" in background(figure_3(), pieces=1, sure=0.5).defence
    ed = {"about": "Ed.Disease=Flu"}
    assert background(figure_3(), **ed).defence.startswith("nothing is needed")
    assert '"ck-safety c=0.3 k=1"' in background(figure_3(), **ed, sure=0.3).defence


def test_pieces_of_a_story_can_be_counted():
    classes = [0] * 4 + [1] * 4
    two = background(view_of(classes, [0, 0, 1, 2, 3, 3, 4, 5], "abcdef", show=True), pieces=2)
    assert "does not have the illness b or c (2 pieces) is 100% sure" in two.example
    classes, values = [0] * 5 + [1] * 6, [0, 0, 0, 1, 2, 0, 0, 1, 1, 2, 2]
    found = background(view_of(classes, values, "abc", show=True), pieces=2)
    assert len(found.witness["implications"]) == 2
    for pieces in range(4):
        for seed in range(10):
            case = background(view_of(*random_rows(seed), "wxyz", show=True), pieces=pieces)
            used = len(case.witness["implications"])
            known, _, _ = case.example.rpartition(" sure that ")
            bare = known.count("that if ") + known.count("does not have")
            together = [int(n) for n in re.findall(r"\((\d+) pieces\)", known)]
            assert bare - len(together) + sum(together) == used
            assert (f"knows {used} pieces: " in known) == (bare > 1)


def test_missing_values_and_numbers_are_told_as_the_release_has_them():
    view = view_of([0, 0, 0, 0], [0, 0, 1, 2], "abc", "dose")
    dose = Axis("dose", "number", "ordered", (1000.0, 60.5), True, positions=np.array([1000.0, 60]))
    view = replace(view, sensitive=dose, show=True)
    found = background(view, pieces=2)
    assert found.example.startswith(
        "Whoever knows that row 1's person does not have the dose 60.5 and is not without one"
    )
    assert "has the dose 1000." in found.example
    assert found.witness["about"] == "#1.dose=1000"
    rows = view_of([0, 0, 0, 0], [2, 2, 0, 1], "abc", "dose")
    found = background(replace(rows, sensitive=dose, show=True), pieces=1)
    assert found.example.endswith("sure that row 1's person has no dose.")
    for missing in ("null", '""'):
        told = background(view, about=f"#1.dose={missing}")
        assert told.details["exact"] == "1/4"


def test_without_rows_or_a_sensitive_column_it_does_not_run():
    view = figure_3()
    with pytest.raises(InputError, match="sensitive"):
        background(replace(view, sensitive=None))
    empty = np.zeros(0, np.int32)
    none = replace(view.releases[0], class_=empty, values=empty)
    with pytest.raises(InputError, match="no rows"):
        background(replace(view, releases=(none,)))


def test_negations_are_called_so_and_do_not_hide_what_implications_reach():
    rows = [0] * 13 + [1] * 25
    values = [c for c, n in enumerate((2, 2, 6, 3)) for _ in range(n)]
    values += [c for c, n in enumerate((5, 5, 4, 1, 3, 7)) for _ in range(n)]
    found = background(view_of(rows, values, "abcdef"), pieces=2, sure=0.77, knowledge="negations")
    assert found.exposed == 0
    assert "2 negations" in found.sentence
    assert "nothing is needed" not in found.defence
    assert "ck-safety c=0.77 k=2" in found.defence
