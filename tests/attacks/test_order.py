"""Order: the paper's figure, random orders, and what the test does not take for an order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.attacks import release_views as releases

from shoal.attacks import order as module
from shoal.attacks.order import order
from shoal.core.cells import Cells
from shoal.core.errors import InputError, UsageError
from shoal.core.hierarchy import ordered
from shoal.core.theory.adversary_view import ReleaseView, View

FIG = releases.golden("sweeney_fig3")


def view(first, second, **more):
    return releases.joined(releases.FIG3, {"GT1": first, "GT2": second}, **more)


def shuffled(rows, seed):
    return [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]


def test_figure_3_recovers_the_private_table():
    side_by_side = view(FIG["GT1"], FIG["GT2"], show=True)
    finding = order(side_by_side)
    found = finding.details
    assert (finding.people, finding.exposed) == (12, 12)
    assert (found["recovered"], found["unique_after"]) == (12, 12)
    assert (found["comparable"], found["draws"]) == (1, 999)
    assert found["p_value"] < 0.01
    assert found["comparable_by_chance"] == pytest.approx(0.5, abs=0.1)
    assert (found["k_before"], found["k_after"]) == ([3, 2], 1)
    assert finding.sure == 1 / (1 + found["p_value"])
    assert (found["order"], found["unique_if_same_order"]) == ("same", 12)
    assert finding.guessing == pytest.approx(0.5)  # six classes of two
    assert sorted(finding.worst) == list(range(1, 13))
    (row,) = [FIG["PT"][finding.worst[0] - 1]]
    assert finding.witness["labels"] == row
    assert row["Race"] in finding.example


@pytest.mark.parametrize("seed", range(3))
def test_a_random_order_says_nothing(seed):
    finding = order(view(FIG["GT1"], shuffled(FIG["GT2"], seed)))
    assert (finding.exposed, finding.details["recovered"]) == (0, 0)
    assert finding.details["p_value"] > 0.01
    assert "says nothing" in finding.sentence
    assert finding.worst == ()
    assert (finding.details["k_after"], finding.details["order"]) == (2, "other")
    assert 0 <= finding.details["unique_if_same_order"] <= 12 * finding.details["comparable"]
    assert finding.example


def test_nothing_is_learned_beside_a_table_that_says_nothing():
    everything = [{"Race": "Person", "ZIP": "*"}] * 12
    finding = order(view(FIG["GT1"], everything))
    assert (finding.exposed, finding.details["p_value"]) == (0, 1)
    assert finding.details["comparable_by_chance"] == 1
    assert finding.details["order"] == "cannot be tested"
    assert finding.sure == 1 / 3  # as in the first release alone
    assert "nothing is learned" in finding.sentence


def hiding(rows):
    """Ages here and ZIPs there, in one order; neither says anything about the other."""
    axes = tuple(releases.category(name, *map(str, range(8))) for name in ("age", "zip"))
    known = [(str(i % 5), str(i // 5)) for i in range(rows)]
    tables = {
        "a": [{"age": age, "zip": "*"} for age, _ in known],
        "b": [{"age": "*", "zip": zip_} for _, zip_ in known],
    }
    return releases.joined(axes, tables)


def test_what_cannot_be_tested_does_not_look_safe():
    finding = order(hiding(40))
    found = finding.details
    assert (found["order"], found["p_value"], found["comparable_by_chance"]) == (
        "cannot be tested",
        1,
        1,
    )
    assert (finding.exposed, found["unique_if_same_order"], found["recovered"]) == (40, 40, 40)
    assert finding.sure == 0.5  # either order is as likely
    assert "cannot be tested" in finding.sentence
    assert "If the order is the same, 40 of 40 rows are alone" in finding.sentence
    assert finding.example.startswith("If the order is the same: Row 1 ")
    assert len(finding.worst) == 20
    assert finding.witness["linked_rows"] == 1


def test_a_table_too_small_for_the_test_does_not_look_safe():
    """One in ten orders of these six rows fits, so that no p below .01 is possible."""
    first = [
        {"Race": race, "ZIP": zip_}
        for race, zip_ in [("Asian", "0213*")] * 3 + [("Black", "0214*")] * 3
    ]
    second = [{"Race": "Person", "ZIP": zip_} for zip_ in ("02138", "*", "02141") for _ in "12"]
    finding = order(view(first, second))
    found = finding.details
    assert (found["order"], found["comparable"]) == ("cannot be tested", 1)
    assert found["p_value"] == pytest.approx(0.1, abs=0.03)
    assert finding.exposed == found["unique_if_same_order"] == 2
    assert finding.worst == (3, 4)
    assert finding.sure == 1 / (1 + found["p_value"])


def test_an_order_with_one_exception_is_told_but_not_counted():
    second = [*FIG["GT2"][:-1], {"Race": "White", "ZIP": "02130"}]
    finding = order(view(FIG["GT1"] * 3, FIG["GT2"] * 2 + second))
    assert finding.exposed == 0
    assert finding.details["p_value"] < 0.01
    assert "more than by chance" in finding.sentence
    assert finding.details["order"] == "other"


def test_rows_that_cannot_be_one_person_are_not_alone():
    """Whatever is left of the last rows' cells, it says nothing about anybody."""
    turned = view(FIG["GT1"], [*FIG["GT2"][:9], *FIG["GT2"][:3]])
    found = order(turned).details
    own = {i: cell for (i, j), cell in releases.meets(turned).items() if i == j}
    sizes = [one.rows[one.class_] for one in turned.releases]
    assert len(own) == 12 * found["comparable"] < 12
    alone = [i for i, cell in own.items() if list(own.values()).count(cell) == 1]
    assert found["unique_if_same_order"] == sum(min(s[i] for s in sizes) > 1 for i in alone) > 0


def test_rows_with_other_values_neither_hide_nor_stand_alone():
    first = [{"Race": "Asian", "ZIP": "*", "v": "x"}] * 2
    second = [{"Race": "Person", "ZIP": "02138", "v": value} for value in "xy"]
    joined = releases.joined(releases.FIG3, {"a": first, "b": second}, "v")
    assert order(joined).details["unique_if_same_order"] == 1


def test_meets_of_several_classes_hide_nobody_better_than_a_release_does():
    axes = (ordered().grow("age", "number", [0.0, 1.0, 2.0, 3.0]),)
    first = [{"age": label} for label in ("[0-1]", "[0-1]", "[0-2]", "[0-2]")]
    finding = order(releases.joined(axes, {"a": first, "b": [{"age": "[0-1]"}] * 4}))
    assert (finding.details["k_before"], finding.details["k_after"]) == ([2, 4], 2)
    assert finding.sure == 0.5


def test_both_tables_in_another_order_give_the_same():
    rows = np.random.default_rng(0).permutation(12)
    turned = view([FIG["GT1"][i] for i in rows], [FIG["GT2"][i] for i in rows])
    finding = order(turned)
    assert finding.exposed == 12
    assert finding.worst[0] == 1


def test_shared_columns_must_agree():
    fig = releases.golden("sweeney_fig4_5")
    tables = {"GT1": fig["GT1"], "GT3": fig["GT3"]}
    joined = releases.joined(releases.FIG4, tables, "Problem")
    finding = order(joined)
    assert (finding.exposed, finding.details["unique_after"]) == (2, 2)
    assert finding.worst == (7, 8)
    without = replace(joined, releases=tuple(replace(r, shared=None) for r in joined.releases))
    chance = [order(each).details["comparable_by_chance"] for each in (joined, without)]
    assert chance[0] < chance[1]


@pytest.mark.parametrize("seed", range(10))
def test_rows_side_by_side_are_what_plain_sets_say(seed):
    rng = np.random.default_rng(seed)
    sided = releases.random_view(rng, 30, 3, 30, shuffle=False)
    cells = releases.meets(sided)
    finding = order(sided)
    own = [cells[row, row] for row in range(30)]
    sizes = [r.rows[r.class_] for r in sided.releases]
    alone = [i + 1 for i in range(30) if own.count(own[i]) == 1 and min(s[i] for s in sizes) > 1]
    assert finding.details["unique_after"] == sum(own.count(cell) == 1 for cell in own)
    assert finding.exposed == len(alone)
    assert sorted(finding.worst) == alone[:20]


def test_large_tables_are_compared_by_samples(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS_PER_DRAW", 50)
    rng = np.random.default_rng(0)
    rows = 2_000
    class_ = rng.integers(0, 3, (2, rows)).astype(np.int32)
    whole, points = np.array([0, 0, 0]), np.array([0, 1, 2])
    axes = (releases.category("a", "x", "y", "z"),) * 2
    first = Cells(np.stack([points, whole], 1), np.stack([points, whole + 2], 1))
    both = class_[0] * 3 + class_[1]
    low = np.stack([np.repeat(points, 3), np.tile(points, 3)], 1)
    second = Cells(low, low)
    seen = View(axes, (ReleaseView("a", first, class_[0]), ReleaseView("b", second, both)))
    finding = order(seen, draws=199)
    assert finding.details["rows_per_draw"] == 50
    assert finding.details["p_value"] == 1 / 200
    assert finding.details["recovered"] == 0  # the second release says it all


def test_what_cannot_be_put_side_by_side_is_refused():
    whole = view(FIG["GT1"], FIG["GT2"])
    with pytest.raises(InputError, match="have 12 and 11 rows"):
        order(view(FIG["GT1"], FIG["GT2"][1:]))
    with pytest.raises(InputError, match="two releases, not 1"):
        order(replace(whole, releases=whole.releases[:1]))
    with pytest.raises(UsageError, match="20 draws"):
        order(whole, draws=20)
