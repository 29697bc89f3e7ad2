"""Ganta et al., figures 5 to 8, and what is measured for them, on tables worked out by hand."""

from __future__ import annotations

import math
import os

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.reports.charts.theme import draw_svg
from shoal.studies import experiments
from shoal.studies.claims import AGREES, DIFFERS, FOUND, PARTLY, compute_mean
from shoal.studies.datasets import load_dataset
from shoal.studies.ganta import (
    changed_settings,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    printed_figures,
)
from shoal.studies.ganta.pairs import ALL, APPLICABLE, OVERLAP, draw_subsets
from shoal.studies.ganta.steps import compare_means, list_steps
from shoal.studies.laboratory import Lab
from shoal.studies.stored_measurements import StoredMeasurements
from shoal.studies.tables import Sample

KINDS = (figure_5.PLAIN, figure_5.ENTROPY, figure_5.CLOSE)
MINE = [f"ganta-figure-{i}" for i in (5, 6, 7, 8)] + ["ganta-headline"]


def sample(x, s, **more):
    table = pa.table({"x": x, "y": [0] * len(x), "s": s})
    schema = shoal.Schema.of(quasi=("x", "y"), sensitive="s")
    return Sample("made-up", "made-up people", table, schema, **more)


def halves(rows=240):
    """People with x = 0 have no value (0); those with x = 1 have 1, 2 or 3 in turn."""
    x = [i % 2 for i in range(rows)]
    return sample(x, [0 if one == 0 else 1 + i // 2 % 3 for i, one in enumerate(x)], empty={"s": 0})


def lab(name, table, kept=None, **settings):
    experiment = experiments()[name][1]
    asked = {**experiment.settings, **settings}
    return experiment, Lab(
        name, {table.name: table}, asked, range(1), kept or StoredMeasurements(None)
    )


def traced(claims, rows):
    """Every number of every claim is found again from the rows."""
    found = [one for claim in claims for one in (*claim.ours, *claim.because)]
    return found and all(
        math.isclose(one.mean, one.again(rows).mean, abs_tol=1e-9) for one in found
    )


# Measuring


def test_the_people_without_a_value_are_the_ones_given_away():
    row = changed_settings.measure_without_value(halves(), k=20, seed=0)
    assert row["pvp_100_none"] == 100
    assert row["pvp_100_some"] == 0
    assert row["none_of_given_away"] == 100
    assert row["pvp_100"] == pytest.approx(row["none"])


def test_nobody_is_given_away_by_one_class_of_several_values():
    row = changed_settings.measure_without_value(halves(), k=100, seed=0)
    assert row["pvp_100"] == 0
    assert row["none_of_given_away"] == 0


def test_class_sizes_are_averaged_over_people_and_over_classes():
    # 80 rows drawn of 60 and 180: parts have the share of x = 0 that the seed gives
    people = sample([0] * 60 + [1] * 180, [i % 4 for i in range(240)])
    row = changed_settings.measure_class_sizes(people, k=10, seed=0, rule="entropy-diversity l=2")
    rows = row["class_size"] * row["classes"]
    part = draw_subsets(240, releases=2, overlap=OVERLAP, size=0, seed=0)[0]
    small = int((part < 60).sum())
    assert row["classes"] == 2
    assert rows == len(part)
    by_person = (small**2 + (rows - small) ** 2) / rows
    assert row["own_class_size"] == pytest.approx(by_person)


def test_a_setting_gives_the_same_as_the_figures_where_it_changes_nothing():
    rng = np.random.default_rng(0)
    people = sample(rng.integers(0, 9, 300), rng.integers(0, 5, 300))
    ours, theirs = (
        changed_settings.measure_changed_pair(people, k=5, seed=1),
        figure_5.measure_pair(people, k=5, seed=1),
    )
    assert set(ours) == {"pvp_100", "pvp_25", "pvp_100_honest", "pvp_25_honest"}
    assert ours == {name: theirs[name] for name in ours}


def test_a_table_is_prepared_as_a_setting_says():
    people = sample([1, 2, 3, 3], [101, 105, 210, 999])
    table, schema = changed_settings.prepare_table(people, order="small domains first")
    assert table.column_names == ["y", "x", "s"]
    large, _ = changed_settings.prepare_table(people, order="large domains first")
    assert large.column_names == ["x", "y", "s"]
    assert [column.name for column in schema.quasi] == ["y", "x"]
    fewer, roles = changed_settings.prepare_table(
        people, codes="flat", values="ordered", unknown="y"
    )
    assert fewer.column_names == ["x", "s"]
    assert "flat" in str(roles.column("x").hierarchy).lower()
    assert changed_settings._group_by_hundreds(people) == [
        [101, "100", "*"],
        [105, "100", "*"],
        [210, "200", "*"],
        [999, "900", "*"],
    ]


def test_the_people_to_whom_all_columns_apply_are_the_same_for_each():
    table = pa.table({"x": [0, 1, 2, 3], "a": [0, 1, 2, 3], "b": [1, 9, 2, 2]})
    schema = shoal.Schema.of(quasi=("x",), sensitive="a")
    people = Sample("made-up", "people", table, schema, others=("b",), empty={"a": 0, "b": 9})
    for column in ("a", "b"):
        assert figure_7.keep_applicable_people(people.on(column)).table["x"].to_pylist() == [2, 3]


def test_entropy_is_of_the_rows_that_are_kept():
    every, apply = (
        figure_7.measure_drop(halves(), k=20, sensitive="s", rows_kept=kept, seed=0)
        for kept in (ALL, APPLICABLE)
    )
    assert (every["rows"], every["values"]) == (240, 4)
    assert every["entropy"] == pytest.approx(1 + math.log2(3) / 2)  # half of them have no value
    assert (apply["rows"], apply["values"]) == (120, 3)
    assert apply["entropy"] == pytest.approx(math.log2(3))


def test_the_two_readings_of_the_logarithm():
    found = printed_figures.list_settings(halves(), printed_figures.SIZE, "l = 5")
    asked = {one.to: one.how for one in found if one.changed == "logarithm"}
    nats = float(asked["bits against ln l"]["rule"].partition("=")[2])
    bits = float(asked["nats against log2 l"]["rule"].partition("=")[2])
    assert math.log2(nats) == pytest.approx(math.log(5), abs=1e-3)
    assert math.log(bits) == pytest.approx(math.log2(5), abs=1e-3)


# What the paper leaves open


@pytest.mark.parametrize("asked", printed_figures.ASKED)
def test_only_what_the_paper_leaves_open_can_be_the_papers(asked):
    groups = {
        one.changed: one.group
        for one in printed_figures.list_settings(halves(), printed_figures.SIZE, asked)
        if one.changed != "size"
    }
    fixed = {changed for changed, group in groups.items() if group == printed_figures.FIXED}
    assert fixed == {"rows", "k", "method", "columns"}
    assert {"nothing", "categories", "first cut", "ties"} <= set(groups) - fixed


def test_more_people_in_common_than_the_paper_has_are_no_setting_of_its():
    people = sample([0] * 40_000, [0] * 40_000)
    found = printed_figures.list_settings(people, printed_figures.GIVEN, "k = 5")
    sizes = {one.how["size"]: one.group for one in found if one.changed == "size"}
    assert sizes == {
        10_000: printed_figures.OPEN,
        15_000: printed_figures.OPEN,
        20_000: printed_figures.OPEN,
        36_000: printed_figures.FIXED,
    }


def hierarchies(folder, name, text):
    place = folder / changed_settings.HIERARCHIES
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.csv").write_text(text, encoding="utf-8")


def test_hierarchies_are_in_the_key_and_never_missing_in_silence(monkeypatch, tmp_path):
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    people = sample(["a", "b"], [0, 1])

    def tried():
        found = printed_figures.list_settings(people, printed_figures.GIVEN, "k = 5")
        return [one.how["hierarchies"] for one in found if one.to == "in hierarchies"]

    assert tried() == []
    hierarchies(tmp_path, "x", "a;*\nb;*\n")
    assert tried() == []  # that of y is not there
    hierarchies(tmp_path, "y", "0;*\n")
    (known,) = tried()
    _, schema = changed_settings.prepare_table(people, hierarchies=known)
    assert schema.column("x").hierarchy is not None
    hierarchies(tmp_path, "x", "b;*\na;*\n")
    assert tried() != [known]
    with pytest.raises(shoal.InputError, match="not those with which the study began"):
        changed_settings.prepare_table(people, hierarchies=known)
    (tmp_path / changed_settings.HIERARCHIES / "y.csv").unlink()
    with pytest.raises(shoal.InputError, match="no file for the column y"):
        changed_settings.prepare_table(people, hierarchies=known)


# Studies on small tables


def test_figures_5_and_6_are_measured_once_and_drawn():
    kept, people = (
        StoredMeasurements(None),
        sample([i % 2 for i in range(96)], [i // 2 % 3 for i in range(96)]),
    )
    asked = {"k": 5, "l": (2,), "t": (0.5,)}
    fifth_, first = lab("ganta-figure-5", people, kept, **asked)
    rows = fifth_.measure(first)
    assert {row["asked"] for row in rows} == {figure_5.PLAIN, "l = 2", "t = 0.5"}
    assert len(rows) == 3 * len(figure_5.CONFIDENCES)
    measured = len(kept._rows)
    sixth_, second = lab("ganta-figure-6", people, kept, **asked)
    sizes = sixth_.measure(second)
    assert len(kept._rows) == measured == len(sizes)
    drawn = {**fifth_.charts(rows), **sixth_.charts(sizes)}
    assert all(draw_svg(spec).startswith("<svg") for spec in drawn.values())


def test_every_study_of_mine_is_listed_with_notes():
    for name in MINE:
        assert experiments()[name][1].notes
        assert experiments()[name][1].seeds >= 3


# Claims decided by the numbers


def test_a_step_counts_beyond_the_spread_of_the_runs():
    low, high = ([{"n": n, "seed": i} for i, n in enumerate(some)] for some in ((1, 3), (2, 5)))
    wide = [compute_mean(rows, "n") for rows in (low, high)]
    assert list_steps(wide) == [0]  # 2 ± 1.4 and 3.5 ± 2.1
    narrow = [compute_mean([{"n": n, "seed": 0}], "n") for n in (2, 3.5, 3.5, 1)]
    assert list_steps(narrow) == [1, 0, -1]
    assert compare_means(narrow[1], narrow[0]) == -1


def fifth(pvp):
    """Rows of figure 5: k alone, l = 2 and t = 0.5, with these percents at confidence 25 %."""
    asked = (figure_5.PLAIN, "l = 2", "t = 0.5")
    return [
        {
            "table": "Adult",
            "kind": kind,
            "asked": one,
            "k": 10,
            "confidence": 25,
            "pvp": value,
            "seed": 0,
        }
        for kind, one, value in zip(KINDS, asked, pvp, strict=True)
    ]


@pytest.mark.parametrize(
    ("pvp", "told"),
    [
        ((40, 30, 20), "fewer in 2, more in 0, the same within the spread of the runs in 0."),
        ((10, 10, 0), "fewer in 1, more in 0, the same within the spread of the runs in 1."),
        ((10, 20, 30), "fewer in 0, more in 2, the same within the spread of the runs in 0."),
    ],
)
def test_figure_5_tells_what_the_numbers_say_and_judges_nothing(pvp, told):
    rows = fifth(pvp)
    left, stricter = figure_5.claims(rows)
    assert (left.verdict, stricter.verdict) == (FOUND, FOUND)
    assert left.says.startswith(f"Adult: two releases with k = 10 leave {pvp[0]} %")
    assert stricter.says.startswith("2 steps to a stricter rule")
    assert stricter.says.endswith(told)
    assert traced([left, stricter], rows)


def sixth(people, classes):
    """Rows of figure 6 whose averages are so many times those that are printed."""
    return [
        {
            "data": "ipums-1970",
            "rows_kept": kept,
            "table": f"IPUMS, {kept}",
            "kind": kind,
            "asked": asked,
            "own_class_size": people * theirs,
            "class_size": classes * theirs,
            "seed": 0,
        }
        for kept in (ALL, APPLICABLE)
        for (asked, theirs), kind in zip(figure_6.PRINTED.items(), KINDS, strict=True)
    ]


@pytest.mark.parametrize(
    ("people", "classes", "verdict"),
    [
        (1.05, 0.95, AGREES),
        (1.05, 9, PARTLY),
        (9, 1, PARTLY),
        (1.2, 0.8, PARTLY),
        (3, 0.3, DIFFERS),
    ],
)
def test_figure_6_judges_both_averages_and_picks_none(people, classes, verdict):
    rows = sixth(people, classes)
    claims = figure_6.claims(rows)
    assert [claim.verdict for claim in claims] == [verdict] * 3 + [FOUND] * 2
    assert all(len(claim.ours) == 2 for claim in claims[:3])
    not_found = "The reason was not found" in claims[0].why
    assert not_found == (verdict != AGREES and (people, classes) not in ((1.05, 9), (9, 1)))
    assert "in 4 of 4 cases (mean over people, 10.0 to 28.9 times)" in claims[3].says
    assert traced(claims, rows)


def test_figure_6_says_where_classes_shrink_and_where_they_are_not_twice_as_large():
    rows = sixth(1, 1)
    assert "shrinks in none of 4 steps" in figure_6.claims(rows)[-1].says
    rows[1]["own_class_size"] = 44.0  # l = 5, all rows; k alone has 45
    *_, larger, falls = figure_6.claims(rows)
    assert "in 3 of 4 cases (mean over people" in larger.says
    assert "shrinks in 1 of 4 steps to a stricter rule: from 45 rows" in falls.says


@pytest.mark.parametrize(
    ("drops", "verdict"),
    [((1, 2, 3), AGREES), ((1, 3, 2), PARTLY), ((3, 2, 1), DIFFERS), ((1, 1, 1), DIFFERS)],
)
def test_figure_7_compares_the_order_of_drop_and_entropy(drops, verdict):
    rows = [
        {
            "way": way,
            "column": column,
            "k": 5,
            "entropy": entropy,
            "drop": drop,
            "rows": 9,
            "seed": 0,
        }
        for way in figure_7.WAYS.values()
        for column, entropy, drop in zip("abc", (4.3, 4.4, 5.6), drops, strict=True)
    ]
    claims = figure_7.claims(rows)
    assert [claim.verdict for claim in claims] == [verdict, FOUND]
    assert claims[1].says.startswith("Among the 9 people of IPUMS")
    assert traced(claims, rows)


def eighth(given, drops, same=None):
    """Rows of figure 8 at k = 5 and 50, by even parts and (k = 5) by parts of one size."""
    found = zip((2, 3, 4), given, drops, strict=True)
    even = [
        {
            "table": "IPUMS, all rows",
            "rows_kept": ALL,
            "parts": figure_8.EVEN,
            "k": k,
            "releases": n,
            "pvp_100": share if k == 5 else 1.0,
            "drop": drop,
            "seed": 0,
        }
        for n, share, drop in found
        for k in (5, 50)
    ]
    one_size = [{**row, "parts": figure_8.SAME} for row in even if row["k"] == 5]
    for row, share in zip(one_size, same or given, strict=True):
        row["pvp_100"] = share
    return [*even, *one_size[:-1]]


@pytest.mark.parametrize(
    ("given", "same", "verdict"),
    [
        ((50, 60, 70), None, AGREES),
        ((50, 60, 70), (65, 60, 70), PARTLY),
        ((50, 40, 45), None, PARTLY),
        ((50, 40, 30), None, DIFFERS),
    ],
)
def test_figure_8_judges_both_of_its_charts_by_releases_of_either_size(given, same, verdict):
    rows = eighth(given, (1, 2, 2), same)
    away, drop, large = figure_8.claims(rows)
    assert (away.verdict, drop.verdict, large.verdict) == (verdict, PARTLY, FOUND)
    assert "up beyond the spread of the runs (our bound): 2, down: 0, neither: 2" in drop.why
    assert "change nothing beyond the spread" in large.says
    assert traced([away, drop, large], rows)


def test_releases_of_one_size_are_as_large_as_the_parts_of_the_most():
    people = sample([i % 2 for i in range(120)], [i // 2 % 3 for i in range(120)])
    experiment, laboratory = lab(
        "ganta-figure-8", people, k=(5,), releases=(2, 3), same_size_k=(5,)
    )
    rows = experiment.measure(laboratory)
    (most,) = [row["rows_each"] for row in rows if row["releases"] == 3]
    (same,) = [row for row in rows if row["parts"] == figure_8.SAME]
    assert same["releases"] == 2
    assert same["rows_each"] == most == 20 + 100 // 3
    assert all(draw_svg(spec).startswith("<svg") for spec in experiment.charts(rows).values())


@pytest.mark.skipif(not os.environ.get("SHOAL_DATA"), reason="SHOAL_DATA names no folder")
def test_on_ipums_nearly_all_who_are_given_away_at_k_10_have_no_occupation():
    row = changed_settings.measure_without_value(load_dataset("ipums-1970"), k=10, seed=0)
    assert row["none"] == pytest.approx(43.7, abs=2)
    assert row["none_of_given_away"] > 95
    assert row["pvp_100_some"] < 3
