"""Sweeney 2002: Figures 2, 3, 4 and 5, through the public functions."""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import pairwise

import pytest

import shoal
from shoal.data import bundled


def roles(golden, **more):
    sensitive = [golden["sensitive"]] if "sensitive" in golden else []
    return shoal.Schema.of(quasi=golden["qi"], sensitive=sensitive, **more)


def test_figure_2_is_2_anonymous_and_1_diverse(golden, table):
    given = golden("sweeney_fig2")
    expected, schema = given["expected"], roles(given, identifier=["id"])
    audit = shoal.audit(table("fig2", given["rows"]), schema)
    assert audit.rows == len(given["rows"])
    assert audit.classes == expected["n_classes"]
    assert audit.reached("k-anonymity") == expected["k"]
    assert audit.reached("distinct-diversity") == expected["distinct_l"]
    assert audit.utility["discernibility"] == sum(n * n for n in expected["class_sizes"])


def test_figure_2_verifies_as_claimed_and_no_further(golden, table):
    given = golden("sweeney_fig2")
    rows = [{k: v for k, v in row.items() if k != "id"} for row in given["rows"]]
    path, schema = table("fig2", rows), roles(given)
    assert shoal.verify(path, schema, f"k-anonymity k={given['k_claimed']}").holds
    verdict = shoal.verify(path, schema, "k-anonymity k=3 & distinct-diversity l=2")
    size, diversity = verdict.judgements
    small = [n for n in given["expected"]["class_sizes"] if n < 3]
    assert (size.failing_classes, size.failing_rows) == (len(small), sum(small))
    assert (diversity.failing_classes, diversity.failing_rows) == (2, 4)  # the homogeneous classes
    assert not verdict.holds


def test_figure_2_has_the_counts_that_its_rows_have(golden, table):
    """As in the table, not as in the paper's Example 4, which miscounts the genders."""
    given = golden("sweeney_fig2")
    kinds = dict.fromkeys(given["qi"], "category")
    frame = shoal.open(table("fig2", given["rows"]), kinds=kinds)
    for column, counts in given["expected"]["value_counts"].items():
        found = frame.values([column])[column]
        assert dict(zip(found.values, found.counts.tolist(), strict=True)) == counts


@pytest.mark.parametrize("name", ["PT", "GT1", "GT2"])
def test_figure_3_tables_have_their_k(golden, table, name):
    given = golden("sweeney_fig3")
    audit = shoal.audit(table(name, given[name]), roles(given))
    assert audit.reached("k-anonymity") == given["expected"][f"k_{name}"]


def test_figure_3_published_rows_are_in_no_order_that_could_be_joined(golden, table, tmp_path):
    """The unsorted matching attack needs two releases in the order of the original."""
    given = golden("sweeney_fig3")
    rows = [{**row, "Row": str(i)} for i, row in enumerate(given["PT"] * 20)]
    schema = shoal.Schema.of(quasi=["Race", "ZIP"], sensitive=["Row"])
    orders = []
    for i in range(2):
        release = shoal.publish(table("PT", rows), schema, "k-anonymity k=2", out=tmp_path / str(i))
        with release.path.open(encoding="utf-8", newline="") as file:
            orders.append([int(row["Row"]) for row in csv.DictReader(file)])
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(len(rows)))
    for order in orders:
        rising = sum(a < b for a, b in pairwise(order)) / len(order)
        assert 0.3 < rising < 0.7  # 1 in the order of the original
    assert orders[0] != orders[1]


@pytest.mark.parametrize("name", ["LT", "GT1", "GT3"])
def test_figures_4_and_5_tables_have_their_k(golden, table, name):
    given = golden("sweeney_fig4_5")
    audit = shoal.audit(table(name, given[name]), roles(given))
    assert audit.reached("k-anonymity") == given["expected"][f"k_{name}"]


@pytest.mark.parametrize("name", ["GT1", "GT3"])
def test_figures_4_and_5_classes_have_their_sizes(golden, table, name):
    given = golden("sweeney_fig4_5")
    sizes = given["expected"][f"class_sizes_{name}"]
    verdict = shoal.verify(table(name, given[name]), roles(given), "k-anonymity k=3")
    (judged,) = verdict.judgements
    assert verdict.classes == len(sizes)
    assert judged.failing_classes == Counter(sizes)[2]
    assert judged.failing_rows == 2 * Counter(sizes)[2]


def test_figure_4_k_over_the_problem_too_is_1(golden, table):
    """The defence the paper names: take the linking column into the quasi-identifier."""
    given = golden("sweeney_fig4_5")
    schema = shoal.Schema.of(quasi=[*given["qi"], given["sensitive"]])
    expected = given["expected"]["defence_QI_plus_Problem"]["k_GT3_over_QI_plus_Problem"]
    assert shoal.audit(table("GT3", given["GT3"]), schema).reached("k-anonymity") == expected


def test_figure_4_joined_by_problem_gives_the_two_unique_rows(golden, table):
    """GT1 and GT3 linked give LT, whose unique rows an audit counts."""
    given = golden("sweeney_fig4_5")
    audit = shoal.audit(table("LT", given["LT"]), roles(given))
    assert audit.risk.uniques == len(given["expected"]["unique_rows"])


def test_bundled_tables_are_the_golden_ones(golden):
    with bundled.path("sweeney_fig2.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert json.dumps(rows) == json.dumps(golden("sweeney_fig2")["rows"])
