"""Order: the paper's figure, random orders, and what the test does not take for an order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.attacks import releases

from shoal.attacks import order as module
from shoal.attacks.order import order
from shoal.attacks.view import Published, View
from shoal.cells import Cells
from shoal.errors import InputError, UsageError

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
    assert finding.sure == 1 - found["p_value"]
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
    assert finding.details["k_after"] == 2
    assert finding.example


def test_rows_that_always_fit_say_nothing():
    everything = [{"Race": "Person", "ZIP": "*"}] * 12
    finding = order(view(FIG["GT1"], everything))
    assert (finding.exposed, finding.details["p_value"]) == (0, 1)
    assert finding.details["comparable_by_chance"] == 1


def test_an_order_with_one_exception_is_told_but_not_counted():
    second = [*FIG["GT2"][:-1], {"Race": "White", "ZIP": "02130"}]
    finding = order(view(FIG["GT1"] * 3, FIG["GT2"] * 2 + second))
    assert finding.exposed == 0
    assert finding.details["p_value"] < 0.01
    assert "more than by chance" in finding.sentence


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
    monkeypatch.setattr(module, "ROWS", 50)
    rng = np.random.default_rng(0)
    rows = 2_000
    class_ = rng.integers(0, 3, (2, rows)).astype(np.int32)
    whole, points = np.array([0, 0, 0]), np.array([0, 1, 2])
    axes = (releases.category("a", "x", "y", "z"),) * 2
    first = Cells(np.stack([points, whole], 1), np.stack([points, whole + 2], 1))
    kinds = class_[0] * 3 + class_[1]
    low = np.stack([np.repeat(points, 3), np.tile(points, 3)], 1)
    second = Cells(low, low)
    seen = View(axes, (Published("a", first, class_[0]), Published("b", second, kinds)))
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
