"""Charts of what knowledge beyond the table could do: they end at certainty."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.reports.charts import knowledge as knowing
from shoal.reports.charts.knowledge import KINDS, Promise, find_tightest_promises, format_belief
from shoal.reports.charts.theme import draw_svg, join_title, tabulate_chart

FIGURE_3 = [2 / 5, 2 / 3, 1.0, 1.0, 1.0]
"""Martin et al. 2007, Figure 3, for 0, 1, … pieces of either kind."""
ADULT = (
    [0.3158, 0.4081, 0.5019, 0.6009, 0.6877, 0.7669, 0.8280],
    [0.3158, 0.4081, 0.4905, 0.5923, 0.6552, 0.7152, 0.7788],
)


def values(spec):
    return spec["data"]["values"]


def drawn(spec, kind):
    return [value["belief"] for value in values(spec) if value["side"] == kind]


def texts(spec) -> str:
    return json.dumps(spec, ensure_ascii=False)


def classes(many: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 3.5, many), rng.uniform(0.1, 0.99, many)


def test_the_curve_of_figure_3_stops_where_it_is_certain():
    spec = knowing.chart_disclosure(FIGURE_3, FIGURE_3, "disease")
    for kind in KINDS:
        assert drawn(spec, kind) == pytest.approx([2 / 5, 2 / 3, 1])
    assert join_title(spec) == (
        "With two pieces of knowledge an adversary can be certain of somebody's disease"
    )
    assert [row[2] for row in tabulate_chart(spec)[1]][:3] == ["40%", "67%", "100%"]
    assert not any(p["numbered"] for p in values(spec) if p["side"] == KINDS[1])  # the same points


def test_each_curve_ends_by_itself_and_is_numbered_where_it_is_apart():
    spec = knowing.chart_disclosure([0.5, 1.0, 1.0], [0.5, 0.75, 1.0])
    assert (drawn(spec, KINDS[0]), drawn(spec, KINDS[1])) == ([0.5, 1.0], [0.5, 0.75, 1.0])
    lower = [p["numbered"] for p in values(spec) if p["side"] == KINDS[1]]
    assert lower == [False, True, True]


def test_titles_say_how_sure_without_certainty_and_with_certainty_from_the_start():
    assert join_title(knowing.chart_disclosure(*ADULT, "occupation")) == (
        "With six pieces of knowledge an adversary can be 83% sure of somebody's occupation; "
        "with none, 32%"
    )
    alone = knowing.chart_disclosure([1.0, 1.0], [1.0, 1.0], "occupation")
    assert drawn(alone, KINDS[0]) == [1.0]
    assert "knows nothing else" in join_title(alone)
    nearly = join_title(knowing.chart_disclosure([0.5, 1 - 1e-6], [0.5, 0.9]))
    assert "more than 99.9% sure" in nearly


@pytest.mark.parametrize("k", [0, 2, 9])
def test_what_is_promised_is_drawn_up_to_its_pieces(k):
    spec = knowing.chart_disclosure(*ADULT, "occupation", [Promise(0.6, k, met=True)])
    assert "promised: less than 60%" in texts(spec)
    assert f'"datum": {k + 0.35}' in texts(spec)
    assert "promised" not in texts(knowing.chart_disclosure(*ADULT, "occupation"))
    last = max(6, k)
    assert f'"domain": [-0.35, {last + 0.35}]' in texts(spec)
    assert draw_svg(spec).startswith("<svg")


def test_a_kept_promise_never_reads_as_broken():
    promise = Promise(0.6, 1, met=True)
    spec = knowing.chart_disclosure([0.4, 0.5995], [0.4, 0.5], promises=[promise])
    assert [p["text"] for p in values(spec)] == ["40%", "<60%", "40%", "50%"]
    assert format_belief(0.6, Promise(0.6, 1, met=False)) == "60%"
    assert format_belief(0.6 - 1e-17, Promise(0.6, 1, met=False)) == "60%"


def test_several_promises_are_steps():
    steps = find_tightest_promises(
        [Promise(0.6, 3, met=True), Promise(0.5, 1, met=True), Promise(0.9, 2, True)]
    )
    assert [(step.c, step.k) for step in steps] == [(0.5, 1), (0.6, 3)]
    spec = knowing.chart_disclosure([0.4, 0.4995, 0.55, 0.5995], [0.4], promises=steps)
    assert [p["text"] for p in values(spec)][:4] == ["40%", "<50%", "55%", "<60%"]
    assert "promised: less than 50% with up to 1, 60% with up to 3 pieces" in texts(spec)
    areas = [
        step["encoding"] for step in spec["layer"] if step.get("mark", {}).get("type") == "rect"
    ]
    ends = [(step["x"]["datum"], step["x2"]["datum"], step["y2"]["datum"]) for step in areas]
    assert ends == [(-0.35, 1.35, 0.5), (1.35, 3.35, 0.6)]
    assert draw_svg(spec).startswith("<svg")


def test_classes_that_are_alike_are_one_mark():
    entropy, belief = np.array([1.0, 1.0, 0.0]), np.array([0.5, 0.5, 1.0])
    spec = knowing.chart_belief_by_entropy(entropy, belief, 1, "disease")
    assert [(p["entropy"], p["belief"], p["classes"]) for p in values(spec)] == [
        (0.0, 1.0, 1),
        (1.0, 0.5, 2),
    ]
    assert join_title(spec) == (
        "With one piece of knowledge an adversary can be certain of somebody's disease in 1 of 3 "
        "classes"
    )


def test_many_classes_are_binned_and_none_is_lost():
    entropy, belief = classes(20_000)
    belief[:7] = 1.0
    spec = knowing.chart_belief_by_entropy(entropy, belief, 2)
    points = values(spec)
    assert 100 < len(points) <= 2 * knowing.ACROSS * (knowing.UP + 1)
    assert len(points) < 2_000
    assert sum(p["classes"] for p in points) == 20_000
    assert sum(p["classes"] for p in points if p["belief"] == 1) == 7
    assert np.average([p["entropy"] for p in points], weights=[p["classes"] for p in points]) == (
        pytest.approx(entropy.mean(), abs=1e-5)
    )


def test_a_bin_stays_on_its_side_of_the_promise():
    entropy, belief = classes(5_000, seed=3)
    promise, beyond = Promise(0.52, 1, met=False), belief >= 0.52
    spec = knowing.chart_belief_by_entropy(entropy, belief, 1, "x", promise, beyond)
    assert {p["side"] == "classes that break the promise" for p in values(spec)} == {True, False}
    for point in values(spec):
        assert (point["belief"] >= 0.52) == (point["side"] == "classes that break the promise")
    assert join_title(spec).endswith(f"in {beyond.sum():,} of 5,000 classes")
    assert draw_svg(spec).startswith("<svg")


def test_the_model_decides_which_classes_break_the_promise():
    """A float beside c proves nothing: the mask is taken as it is."""
    entropy, belief = np.array([1.0, 2.0]), np.array([0.6, 0.6])
    promise = Promise(0.6, 1, met=True)
    spec = knowing.chart_belief_by_entropy(entropy, belief, 1, "x", promise, np.zeros(2, bool))
    assert join_title(spec).endswith("60% sure of somebody's x in none of 2 classes")
    broken = knowing.chart_belief_by_entropy(entropy, belief, 1, "x", promise, np.ones(2, bool))
    assert join_title(broken).endswith("in 2 of 2 classes")


@pytest.mark.parametrize("k", [0, 1, 30])
def test_one_class_and_any_number_of_pieces_are_drawn(k):
    spec = knowing.chart_belief_by_entropy(np.array([0.0]), np.array([0.4]), k, "x")
    assert join_title(spec).endswith("40% sure of somebody's x in every class")
    assert draw_svg(spec).startswith("<svg")
    assert draw_svg(knowing.chart_disclosure([0.2] * (k + 1), [0.1] * (k + 1))).startswith("<svg")
