"""Ganta et al., tables 1 to 4, figures 1 to 4 and centroids: against tables worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal.methods._shared.points import Points
from shoal.methods.microaggregation import EmbeddedPoints
from shoal.studies import experiments
from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, FOUND, PARTLY, compute_mean
from shoal.studies.datasets import load_dataset
from shoal.studies.entropy import compute_entropy
from shoal.studies.ganta import (
    centroids,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    pairs,
    table_1,
    table_2,
    table_3,
    table_4,
)
from shoal.studies.laboratory import Lab
from shoal.studies.stored_measurements import StoredMeasurements
from shoal.studies.tables import Sample

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "ganta_table1.json").read_text(encoding="utf-8")
)
QUASI = ("x", "y")
SEEN = StoredMeasurements(None)
"""What one test measured, another need not."""
MINE = [f"ganta-table-{i}" for i in (1, 2, 3, 4)]
MINE += [f"ganta-figure-{i}" for i in (1, 2, 3, 4)] + ["ganta-centroids"]


def made_up(rows=240, values=6, empty=False, seed=0):
    """A table of two numbers and a sensitive column, which applies to everybody or not."""
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "x": rng.integers(0, 12, rows),
            "y": rng.integers(0, 12, rows),
            "s": rng.integers(0, values, rows),
        }
    )
    schema = shoal.Schema.of(quasi=QUASI, sensitive="s")
    return Sample("made-up", "made-up people", table, schema, empty={"s": 0} if empty else {})


# Pairs


def inside(value, label):
    low, _, high = str(label).strip("[]").partition("-")
    return int(low) <= value <= int(high or low)


def left_by(rows, person):
    """The values of all rows of a published file whose cells contain a person."""
    return {row["s"] for row in rows if all(inside(person[name], row[name]) for name in QUASI)}


def by_hand(sample, k, parts, folder):
    """Values left by each release, for everybody in all of the parts, and the releases."""
    releases = [
        shoal.publish(
            sample.columns().take(part), sample.schema, f"k-anonymity k={k}", out=folder / str(j)
        )
        for j, part in enumerate(parts)
    ]
    everybody = sample.columns().to_pylist()
    who = set.intersection(*(set(part.tolist()) for part in parts))
    files = [pyarrow.csv.read_csv(release.path).to_pylist() for release in releases]
    return [[left_by(rows, everybody[i]) for rows in files] for i in sorted(who)], releases


@pytest.mark.parametrize("count", [2, 3])
def test_a_pair_is_the_intersection_worked_out_by_hand(tmp_path, count):
    sample = made_up()
    parts = pairs.draw_subsets(sample.rows, releases=count, overlap=30, size=0, seed=4)
    each, releases = by_hand(sample, 3, parts, tmp_path)
    row = pairs.measure_pair(sample, k=3, seed=4, releases=count, overlap=30)
    left = [len(set.intersection(*one)) for one in each]
    assert row["people"] == len(left) == 30
    for percent, most in ((100, 1), (50, 2), (33, 3), (25, 4), (20, 5), (10, 10)):
        expected = 100 * sum(n <= most for n in left) / len(left)
        assert row[f"pvp_{percent}"] == row[f"pvp_{percent}_honest"] == pytest.approx(expected)
    assert row["posterior"] == pytest.approx(np.mean(left))
    assert row["prior_first"] == pytest.approx(np.mean([len(one[0]) for one in each]))
    assert row["prior"] == pytest.approx(np.mean([[len(s) for s in one] for one in each]))
    drops = [min(map(len, one)) - n for one, n in zip(each, left, strict=True)]
    assert row["drop"] == pytest.approx(np.mean(drops))
    alone = [min(map(len, one)) == 1 for one in each]
    assert row["alone_100"] == row["alone_100_honest"] == pytest.approx(100 * np.mean(alone))
    sizes = [release.verdict.rows / release.verdict.classes for release in releases]
    assert row["class_size"] == pytest.approx(np.mean(sizes))
    assert 0 < row["pvp_100"] < 100


def test_the_class_of_a_person_is_larger_than_rows_by_classes(tmp_path):
    table = pa.table({"x": [0] * 8 + [9] * 2, "y": [0] * 10, "s": list(range(10))})
    schema = shoal.Schema.of(quasi=QUASI, sensitive="s")
    release = shoal.publish(table, schema, "k-anonymity k=2", out=tmp_path / "r", format="parquet")
    assert release.verdict.rows / release.verdict.classes == 5
    assert pairs.own_class_size(release, schema) == pytest.approx((8 * 8 + 2 * 2) / 10)


def test_where_cells_overlap_whoever_knows_the_class_knows_more():
    sample = made_up(300, 8)
    both = {"first": "microaggregation", "second": "microaggregation"}
    row = pairs.measure_pair(sample, k=3, seed=0, overlap=50, **both)
    assert row["posterior"] < row["posterior_honest"]
    assert row["pvp_100"] > row["pvp_100_honest"] >= row["alone_100_honest"]
    assert row["alone_100"] is None


def test_a_rule_beside_k_and_another_column_are_asked():
    sample = made_up()
    plain = pairs.measure_pair(sample, k=3, seed=1, overlap=30)
    diverse = pairs.measure_pair(sample, k=3, seed=1, overlap=30, rule="entropy-diversity l=4")
    assert diverse["class_size"] > plain["class_size"]
    assert diverse["pvp_100"] <= plain["pvp_100"]
    with pytest.raises(shoal.UsageError, match="not a sensitive column"):
        pairs.measure_pair(sample, k=3, seed=1, sensitive="z")


@pytest.mark.parametrize(("releases", "size"), [(2, 0), (3, 0), (2, 50), (2, 100), (4, 90)])
def test_subsets_share_the_people_in_common_and_nobody_else_unless_they_must(releases, size):
    parts = pairs.draw_subsets(120, releases=releases, overlap=20, size=size, seed=2)
    assert len(parts) == releases
    assert all(len(set(part.tolist())) == len(part) for part in parts)
    assert {len(part) for part in parts} == {size or 20 + 100 // releases}
    assert all((part[:20] == parts[0][:20]).all() for part in parts)
    others = [set(part[20:].tolist()) for part in parts]
    fits = not size or (size - 20) * releases <= 100
    assert (sum(map(len, others)) == len(set.union(*others))) == fits


def test_a_small_table_has_fewer_people_in_common():
    assert (
        len(
            pairs.find_common_people(
                pairs.draw_subsets(60, releases=2, overlap=5000, size=0, seed=0)
            )
        )
        == 10
    )
    for rows, size in ((5, 0), (60, 70), (60, 5)):
        with pytest.raises(shoal.UsageError, match="cannot be drawn"):
            pairs.draw_subsets(rows, releases=2, overlap=5000, size=size, seed=0)


def test_only_people_with_a_value_are_kept_where_asked():
    sample = made_up(60, empty=True)
    assert pairs.list_rows_kept(sample) == ("all", "applicable")
    assert pairs.list_rows_kept(made_up(60)) == ("all",)
    assert 0 not in pairs.keep_rows(sample, "applicable").table["s"].to_pylist()
    assert pairs.keep_rows(sample, "all").rows == 60
    with pytest.raises(shoal.UsageError, match="no rows"):
        pairs.keep_rows(sample, "some")


def test_a_chart_says_which_rows_were_kept():
    ipums = Sample("ipums-1970", "IPUMS", made_up(9).table, made_up(9).schema, empty={"s": 0})
    assert pairs.name_table(ipums, "all") == "IPUMS, all rows"
    assert pairs.name_table(ipums, "applicable") == "IPUMS, with an s"
    assert pairs.name_table(made_up(9), "all") == "made-up people"
    adult = Sample(
        "adult-train", "Adult, made up", made_up(9).table, made_up(9).schema, stand_in=True
    )
    assert pairs.name_table(adult, "all") == "made-up Adult"


@pytest.mark.parametrize(
    ("mean", "unit", "theirs", "verdict"),
    [
        (57.1, " %", 60, AGREES),
        (63.0, " %", 60, AGREES),
        (52.0, " %", 60, PARTLY),
        (51.9, " %", 60, DIFFERS),
        (93.2, " %", 95, AGREES),
        (86.9, " %", 95, DIFFERS),
        (36.0, " rows", 40, AGREES),
        (50.0, " rows", 40, PARTLY),
        (29.9, " rows", 40, DIFFERS),
    ],
)
def test_about_is_in_points_for_percentages_and_else_in_shares(mean, unit, theirs, verdict):
    ours = compute_mean([{"v": mean}], "v", unit=unit)
    assert pairs.judge_figure(ours, theirs) == verdict
    if unit == " %":  # the same for the rest of it
        rest = compute_mean([{"v": 100 - mean}], "v", unit=unit)
        assert pairs.judge_figure(rest, 100 - theirs) == verdict


@pytest.mark.parametrize(
    ("means", "verdict"),
    [((59, 61), AGREES), ((59, 20), PARTLY), ((54, 66), PARTLY), ((20, 90), DIFFERS)],
)
def test_no_reading_is_picked(means, verdict):
    readings = [compute_mean([{"v": mean}], "v", unit=" %") for mean in means]
    assert pairs.judge_readings(readings, 60) == verdict


# Tables


@pytest.mark.parametrize("case", GOLDEN["expected"]["by_age"], ids=lambda case: str(case["age"]))
def test_table_1_is_the_golden_one(case):
    found = table_1.measure_person(age=case["age"])
    assert [found["first"], found["second"]] == case["EA"]
    assert found["left"] == ", ".join(sorted(case["intersection"]))
    assert (found["both"], found["drop"]) == (len(case["intersection"]), case["drop"])
    assert found["certain"] == (found["both"] == 1)


def test_table_1_joins_ages_of_whom_the_same_is_known():
    same = {"first": 3, "second": 4, "both": 1, "drop": 2, "left": "a", "certain": True}
    other = {**same, "both": 2, "certain": False}
    rows = [{"age": 20, **same}, {"age": 21, **same}, {"age": 22, **other}]
    assert [band["age"] for band in table_1._group_ages(rows)] == ["20 to 21", "22 to 22"]


def test_table_1_says_when_alice_has_another_illness():
    row = {"age": 28, "first": 3, "second": 4, "both": 1, "left": "AIDS", "certain": True}
    ks = [{"release": 1, "k": 4}, {"release": 2, "k": 6}]
    assert [one.verdict for one in table_1.claims([row, *ks])] == [AGREES, AGREES, FOUND]
    wrong = [{**row, "left": "Flu"}, {"release": 1, "k": 3}, ks[1]]
    assert [one.verdict for one in table_1.claims(wrong)] == [DIFFERS, DIFFERS, FOUND]


def test_table_1_counts_ages_that_one_table_gives_away():
    row = {"age": 28, "first": 3, "second": 4, "both": 1, "left": "AIDS", "certain": True}
    some = [row, {**row, "age": 31, "first": 1}, {**row, "age": 45, "both": 2, "certain": False}]
    found = table_1.claims([*some, {"release": 1, "k": 4}, {"release": 2, "k": 6}])[2]
    assert found.says.startswith("Of 3 ages 2 have one condition left")
    assert "for 1 of them one table was enough" in found.says
    assert found.ours[0].where == {"age": 31}


def test_domains_count_values():
    table = pa.table({"x": [1, 1, 2], "y": [5, 6, 7], "s": [0, 0, 0]})
    sample = Sample("t", "t", table, shoal.Schema.of(quasi=QUASI, sensitive="s"))
    found = table_2.measure_domains(sample)
    assert [(row["column"], row["values"]) for row in found] == [("x", 2), ("y", 3), ("s", 1)]
    assert [row["role"] for row in found] == ["quasi-identifier"] * 2 + ["sensitive"]


@pytest.mark.parametrize(
    ("train", "whole", "verdict"), [(74, 74, AGREES), (72, 74, CORRECTED), (72, 73, DIFFERS)]
)
def test_ages_are_corrected_only_where_the_other_file_has_them(train, whole, verdict):
    ages = {"adult-train": (train, 30_162), "adult": (whole, 45_222)}
    rows = [
        {"data": data, "column": "age", "values": values, "rows": rows}
        for data, (values, rows) in ages.items()
    ]
    assert [one.verdict for one in table_2.claims(rows)] == [AGREES, verdict]


def test_table_3_differs_by_a_single_value():
    rows = [
        {"data": "ipums-1970", "column": name, "values": size, "rows": 70_187}
        for name, size in {**table_3.PRINTED, "age": 91}.items()
    ]
    assert table_3.claims(rows)[0].verdict == AGREES
    rows[1]["values"] += 1
    claim = table_3.claims(rows)[0]
    assert (claim.verdict, "occupation 248" in claim.why) == (DIFFERS, True)


@pytest.mark.parametrize(
    ("size", "verdict"), [(70_187, CORRECTED), (91_000, AGREES), (74_954, DIFFERS)]
)
def test_the_year_is_that_whose_people_the_rows_stand_for(size, verdict):
    rows = [
        {"data": "ipums-1970", "column": name, "values": values, "rows": size}
        for name, values in {**table_3.PRINTED, "age": 91}.items()
    ]
    assert table_3.claims(rows)[1].verdict == verdict


def test_entropy_is_in_bits_and_by_the_rows_kept():
    sample = Sample(
        "t",
        "t",
        pa.table({"x": [1] * 12, "y": [1] * 12, "s": [0] * 6 + [1] * 3 + [2] * 3}),
        shoal.Schema.of(quasi=QUASI, sensitive="s"),
        empty={"s": 0},
    )
    assert table_4.measure_entropies(sample, rows_kept="all", seed=0)[0]["bits"] == pytest.approx(
        1.5
    )
    assert table_4.measure_entropies(sample, rows_kept="applicable", seed=0)[0][
        "bits"
    ] == pytest.approx(1)
    part = table_4.measure_entropies(sample, rows_kept=table_4.PART, seed=0)[0]
    assert part["rows"] == 2 + (12 - 2) // 2


def test_entropy_of_counts_is_by_hand():
    expected = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    assert compute_entropy([3, 0, 1]) == pytest.approx(expected)
    assert (compute_entropy([5]), compute_entropy(np.array([4, 4]))) == (0, 1)


def entropy_rows(off):
    """Rows of table 4 in which all rows have the printed figures and so much more."""
    more = {"all": off, "applicable": 1.5, table_4.PART: off + 0.001}
    less = {"all": 0, "applicable": 1, table_4.PART: 5}
    return [
        {
            "data": "ipums-1970",
            "column": pairs.WORDS[column],
            "rows_kept": kept,
            "bits": value + more[kept],
            "values": table_3.PRINTED[column] - less[kept],
        }
        for column, value in table_4.PRINTED.items()
        for kept in more
    ]


@pytest.mark.parametrize(
    ("off", "verdict"),
    [(0.0, AGREES), (0.004, AGREES), (0.009, AGREES), (-0.009, AGREES), (0.03, DIFFERS)],
)
def test_an_entropy_agrees_within_one_in_the_last_digit(off, verdict):
    found = table_4.claims(entropy_rows(off))
    assert [one.verdict for one in found] == [verdict] * 3 + [FOUND] * 2
    assert ("last digit" in found[0].why) == (abs(off) == 0.009)
    assert ("cut off, it is" in found[0].why) == (off == 0.009)
    assert ("The reason was not found" in found[0].why) == (verdict == DIFFERS)


@pytest.mark.parametrize(("off", "count"), [(0.0, 3), (0.03, 0)])
def test_entropies_are_counted_by_reading_and_values_by_rows(off, count):
    reading, kept = table_4.claims(entropy_rows(off))[3:]
    assert f"{count} in bits over all rows, 0 in bits over the rows to which" in reading.says
    assert "3 are those of all rows and 0 those" in kept.says
    assert kept.says.endswith("the paper kept all rows.")
    wrong = [{**row, "values": 1} for row in entropy_rows(off)]
    assert "kept all rows" not in table_4.claims(wrong)[4].says


# Figures: verdicts follow the numbers


def pair_rows(adult, ipums, work):
    """Rows of figure 1 at k = 5: people exposed by Mondrian, by microaggregation, and by both."""
    kinds = {
        ("adult-train", "all"): adult,
        ("ipums-1970", "all"): ipums,
        ("ipums-1970", "applicable"): work,
    }
    return [
        {
            "data": data,
            "table": f"{data} {kept}",
            "rows_kept": kept,
            "k": 5,
            "made": made,
            "pvp_100": share,
            "pvp_100_honest": share,
            "alone_100": share / 4,
        }
        for (data, kept), shares in kinds.items()
        for made, share in zip(pairs.MADE.values(), shares, strict=True)
    ]


def test_figure_1_judges_every_pair_of_methods():
    some = (((12, 13, 11), (60, 61, 58)), ((5, 14, 9), (52, 64, 59)), ((40, 30, 35), (5, 9, 7)))
    verdicts = [
        [one.verdict for one in figure_1.claims(pair_rows(adult, ipums, (1, 2, 3)))]
        for adult, ipums in some
    ]
    assert [one[:2] for one in verdicts] == [[AGREES] * 2, [PARTLY] * 2, [DIFFERS] * 2]
    assert all(one[2:] == [FOUND] * 3 for one in verdicts)


def test_figure_1_is_drawn_where_one_release_alone_is_not_told():
    rows = pair_rows((5, 14, 9), (20, 30, 40), (1, 2, 3))
    untold = [{**row, "alone_100": None} for row in rows]
    assert figure_1.charts(rows).keys() - figure_1.charts(untold).keys() == {"alone"}


def test_figure_1_says_which_pairs_are_near_and_who_needs_no_second_release():
    adult, ipums, *alone = figure_1.claims(pair_rows((5, 14, 9), (20, 30, 40), (1, 2, 3)))
    assert "2 of 3 (both by microaggregation, Mondrian and microaggregation)" in adult.why
    assert "0 of 3 (none)" in ipums.why
    assert [len(one.because) for one in (adult, ipums)] == [0, 3]
    assert "20 % of the people in both (ipums-1970 all); for 5 %, which is 25 %" in alone[1].says
    nobody = figure_1.claims(pair_rows((0, 0, 0), (20, 30, 40), (1, 2, 3)))[2]
    assert "which is 0 %" in nobody.says


@pytest.mark.parametrize(
    ("adult", "ipums", "verdicts"),
    [(61, 93, [AGREES, AGREES]), (59, 88, [DIFFERS, PARTLY]), (90, 85.5, [AGREES, DIFFERS])],
)
def test_figure_2_asks_for_more_than_60_and_about_95(adult, ipums, verdicts):
    kinds = (
        ("adult-train", "all", adult),
        ("ipums-1970", "all", ipums),
        ("ipums-1970", "applicable", 86.8),
    )
    rows = [
        {"data": data, "rows_kept": kept, "k": 5, "confidence": 25, "pvp": value}
        for data, kept, value in kinds
    ]
    found = figure_2.claims(rows)
    assert [one.verdict for one in found] == verdicts
    assert "8.2 points off" in found[1].why


def size_rows(own, plain, left):
    """Rows of figure 3 on IPUMS, both kinds of rows, with values left by k."""
    return [
        {
            "data": "ipums-1970",
            "table": f"IPUMS {kept}",
            "rows_kept": kept,
            "k": k,
            "own_class_size": own,
            "class_size": plain,
            "prior": values,
        }
        for kept in ("all", "applicable")
        for k, values in left.items()
    ]


@pytest.mark.parametrize(
    ("own", "plain", "verdict"), [(42, 38, AGREES), (42, 9, PARTLY), (90, 9, DIFFERS)]
)
def test_figure_3_judges_both_averages(own, plain, verdict):
    assert figure_3.claims(size_rows(own, plain, {5: 4.0}))[0].verdict == verdict


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ({5: 4.5, 10: 9.0}, "fewer than k different values from k = 5 on: 4.50 there, 9 at k = 10"),
        ({5: 5.5, 10: 9.0}, "from k = 10 on: 9 there; at k = 5 it has 5.50"),
        ({5: 4.0, 10: 11.0}, "at least k different values at k = 10, the largest measured: 11"),
        ({5: 4.0, 10: 11.0, 20: 12.0}, "from k = 20 on: 12 there; at k = 10 it has 11"),
    ],
)
def test_figure_3_tells_from_which_k_on_values_are_fewer(left, said):
    found = figure_3.claims(size_rows(40, 9, left))
    assert [one.verdict for one in found[1:]] == [FOUND] * 2
    assert said in found[1].says


def test_figure_4_tells_what_two_releases_leave():
    row = {
        "data": "a",
        "table": "a",
        "rows_kept": "all",
        "k": 5,
        "prior_first": 5.0,
        "prior_second": 6.0,
        "posterior": 4.0,
    }
    (found,) = figure_4.claims([row, {**row, "k": 10, "posterior": 3.0}])
    assert found.verdict == FOUND
    assert "4 where one leaves 5 or 6 (k = 5); 3 where one leaves 5 or 6 (k = 10)" in found.says
    assert len(found.ours) == 6


# Centroids


def test_of_several_nearest_classes_one_is_drawn():
    true = np.arange(5), np.array([0, 1, 2, 0])
    near_to = np.array([0, 1, 3, 4, 6]), np.array([0, 1, 2, 0, 1, 2])
    assert centroids.compute_hit_rate(true, near_to) == pytest.approx(100 * (1 + 0.5 + 0 + 0) / 4)


def test_the_nearest_centroid_is_by_hand():
    table = pa.table({"x": [0, 1, 2, 10, 11, 15], "y": [0] * 6, "s": [1] * 6})
    sample = Sample("t", "t", table, shoal.Schema.of(quasi=QUASI, sensitive="s"))
    assert centroids.locate_in_every_class(table, sample, 3, "ordinal") == 100
    assert centroids.locate_in_published(table, sample, 3) == 100
    with centroids.open_frame(table) as frame:
        tally = centroids.encode(frame, sample.schema.fit(frame.fields)).tally
    cloud = EmbeddedPoints.of(tally, Points.of(tally), "ordinal")
    wrong = np.arange(6), np.array([0, 0, 1, 1, 1, 0]), np.ones(6, np.int64)
    # Centroids 16 / 3 and 23 / 3: of class 0 (0, 1, 15) two are nearer, of class 1 10 and 11.
    assert centroids.compute_nearest_share(cloud, wrong) == pytest.approx(100 * 4 / 6)


def located_rows(located, largest=(9, 19)):
    """Rows of centroids: every class apart at k = 5 and 10, and the largest classes."""
    both = [(data, i, k) for data in ("adult-train", "ipums-1970") for i, k in enumerate((5, 10))]
    return [
        *(
            {
                "data": data,
                "rows_kept": "all",
                "how": centroids.EVERY,
                "categories": "ordinal",
                "k": k,
                "located": located[i],
            }
            for data, i, k in both
        ),
        *({"data": data, "k": k, "largest": largest[i]} for data, i, k in both),
    ]


@pytest.mark.parametrize(
    ("located", "verdict"), [((70, 68), AGREES), ((70, 51), PARTLY), ((40, 51), DIFFERS)]
)
def test_no_reading_of_the_70_percent_is_picked(located, verdict):
    found = centroids.claims(located_rows(located))[0]
    assert (found.verdict, len(found.ours)) == (verdict, 4)


@pytest.mark.parametrize(
    ("largest", "verdict"),
    [((9, 19), CORRECTED), ((11, 21), AGREES), ((9, 20), AGREES), ((9, 22), DIFFERS)],
)
def test_the_bound_is_corrected_only_where_all_are_within(largest, verdict):
    assert centroids.claims(located_rows((70, 70), largest))[1].verdict == verdict


@pytest.mark.parametrize("k", [2, 3])
def test_the_largest_class_has_one_less_than_two_k(k):
    found = centroids.measure_largest_class(made_up(40), k=k, seed=0)
    assert found == {"largest": 2 * k - 1, "numbers": 2 * k}


def test_categories_are_measured_in_two_ways_where_there_are_any():
    sample = made_up(60)
    assert centroids.list_codings(sample) == ("ordinal",)
    words = sample.table.set_column(0, "x", pa.array([f"w{i % 7}" for i in range(60)]))
    assert centroids.list_codings(Sample("t", "t", words, sample.schema)) == ("ordinal", "one-hot")


# As a whole


def test_all_are_listed():
    assert set(MINE) <= set(experiments())


@pytest.mark.parametrize("module", [figure_1, figure_2, figure_3, figure_4, centroids])
def test_figures_are_measured_and_drawn_on_any_table(module):
    settings = {**module.EXPERIMENT.settings, "k": [3]}
    both = module is centroids
    if both:
        settings |= {"people": 60, "largest_k": [2]}
    lab = Lab("test", {"own": made_up(90, empty=both)}, settings, range(1), SEEN)
    rows = module.measure(lab)
    kept = {row["rows_kept"] for row in rows if "rows_kept" in row}
    assert kept == ({"all", "applicable"} if both else {"all"})
    assert all(
        math.isfinite(value) for row in rows for value in row.values() if isinstance(value, float)
    )
    for spec in module.charts(rows).values():
        assert "made-up people" in json.dumps(spec)


@pytest.mark.parametrize("module", [table_2, table_3, table_4])
def test_tables_are_drawn(module):
    lab = Lab("test", {"own": made_up(90, empty=True)}, {}, range(2))
    rows = module.measure(lab)
    assert rows
    for spec in module.charts(rows).values():
        assert json.dumps(spec)


def test_adult_at_k_5_is_what_was_found_before(real_data, monkeypatch):
    """Over five seeds: 5.44 % ± .41 with one value left, classes of 15.6 rows over people."""
    monkeypatch.setenv("SHOAL_DATA", str(real_data))
    row = pairs.measure_pair(load_dataset("adult-train"), k=5, seed=0)
    assert row["rows_each"] == 17_581
    assert row["pvp_100"] == pytest.approx(5.4, abs=1.2)
    assert row["pvp_25"] == pytest.approx(68, abs=3)
    assert row["own_class_size"] == pytest.approx(15.6, abs=0.8)
