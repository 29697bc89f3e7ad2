"""Sattar and Helal's tables and figures: against the golden tables, and against brute force."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal import Schema
from shoal.core.axis import Axis
from shoal.forecasts.our_table import OurTable, OverlapScenario, tally_codes
from shoal.forecasts.real_intersection import assign_rows_to_classes
from shoal.methods import find_method
from shoal.models.k_anonymity import KAnonymity
from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, FOUND, PARTLY, compute_mean
from shoal.studies.datasets import load_dataset
from shoal.studies.laboratory import Lab
from shoal.studies.sattar import (
    figure_1,
    figure_2,
    figure_3,
    ladder,
    pattern,
    scores,
    table_1,
    table_2,
    two_samples,
)
from shoal.studies.stored_measurements import StoredMeasurements
from shoal.studies.tables import Sample

GOLDEN = Path(__file__).parent.parent / "golden" / "sattar_tables1_2.json"


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def lab_of(experiment, samples=None, kept=None, **settings):
    asked = {**experiment.settings, **settings}
    return Lab("a study", samples or {}, asked, range(1), kept or StoredMeasurements(None))


# The printed tables


def test_table_1_names_who_is_in_both(golden):
    rows = table_1.measure(lab_of(table_1.EXPERIMENT))
    both = [row["Name"] for row in rows if row.get("hospital") == "A" and row["in_both"]]
    assert both == golden["expected"]["overlap"]
    assert {row["Name"]: row["unlike"] for row in rows if row.get("unlike")} == {
        "Lalin": "Zip, Diagnosis"
    }
    (claim,) = table_1.claims(rows)
    assert [one.mean for one in claim.ours] == [3, 2]
    assert (claim.verdict, claim.theirs) == (FOUND, "")
    assert "Lalin differs in Zip, Diagnosis" in claim.says


@pytest.fixture(scope="module")
def published():
    return table_2.measure(lab_of(table_2.EXPERIMENT))


@pytest.mark.parametrize("read", table_2.READ)
def test_table_2_leaves_what_the_golden_table_says(golden, published, read):
    expected = golden["expected"]["attack_" + read.replace(" ", "_")]
    found = {row["who"]: row for row in published if row["read"] == read and "who" in row}
    assert found.keys() == expected.keys()
    for who, row in found.items():
        assert row["left_named"].split(", ") == expected[who]["intersection"]
        assert row["values_left"] == len(expected[who]["intersection"])
        assert (row["values_here"], row["values_there"]) == tuple(
            len(expected[who][table]) for table in "AB"
        )


def test_table_2_counts_k_risk_and_misprints(golden, published):
    expected = golden["expected"]
    risk = {(row["read"], row["l"]): row["risk"] for row in published if "risk" in row}
    assert risk["corrected", 2] == pytest.approx(expected["risk_A_l2_percent"], abs=1e-3)
    assert risk["corrected", 4] == pytest.approx(expected["risk_A_l4_percent"], abs=1e-3)
    assert risk["as printed", 2] == expected["risk_A_l2_percent_as_printed"]
    assert risk["as printed", 3] == pytest.approx(
        expected["risk_A_l3_percent_as_printed"], abs=1e-3
    )
    tables = {(row["hospital"], row["read"]): row for row in published if "k" in row}
    wrong = golden["transcription_mismatches"]
    ages = [one["row"] for one in wrong if one["mismatch"] == ["Age"]]
    values = [one["table"] for one in wrong if one["mismatch"] == ["Diagnosis"]]
    assert tables["A", "as printed"]["k"] == expected["k_A"]
    assert tables["B", "corrected"]["k"] == expected["k_B"]
    assert tables["B", "corrected"]["outside_rows"] == ", ".join(map(str, ages))
    assert tables["A", "as printed"]["other_values"] == values.count("A")
    assert tables["A", "corrected"]["other_values"] == 0


def test_table_2_corrects_the_paper(published):
    alice, ages, *beside = table_2.claims(published)
    assert (alice.verdict, ages.verdict) == (CORRECTED, DIFFERS)
    assert {claim.verdict for claim in beside} == {FOUND}
    spared = [
        {**row, "left_named": "B, E"} if row.get("who") == "Alice" else row for row in published
    ]
    other = [{**row, "left_named": "D"} if row.get("who") == "Alice" else row for row in published]
    assert table_2.claims(spared)[0].verdict == table_2.claims(other)[0].verdict == DIFFERS


def test_rows_astray_are_corrected_where_one_class_holds_each(published):
    held = [
        {**row, "held_elsewhere": 3} if row.get("hospital") == "B" else row for row in published
    ]
    none = [{**row, "outside_their_cells": 0} if "hospital" in row else row for row in published]
    assert table_2.claims(held)[1].verdict == CORRECTED
    assert table_2.claims(none)[1].verdict == AGREES


def test_row_11_belongs_to_alice_s_class_which_has_its_value(golden, published):
    kona = golden["B_original"][10]
    alices = [row["Diagnosis"] for row in golden["B_published"] if row["Age"] == "10-30"]
    (there,) = (
        row for row in published if (row.get("hospital"), row["read"]) == ("B", "corrected")
    )
    assert (there["held_rows"], there["held_with"]) == ("11", "Alice")
    assert (kona["Diagnosis"] in alices, there["held_known"]) == (True, 1)
    left = {row["read"]: row["left_named"] for row in published if row.get("who") == "Alice"}
    assert left[table_2.BELONGS] == left["corrected"] == "E"
    # by age alone rows 7 and 8 would be hers as well, and bring B
    assert left[table_2.BY_AGE] == "B, E"


# Order and level


def test_a_pattern_is_scored_by_hand():
    # estimated falls with k alone; real falls with k and grows with the overlap
    said = {(1, 10): (50, 2), (2, 10): (50, 4), (1, 20): (10, 1), (2, 20): (10, 3)}
    rows = [
        {
            "data": "d",
            "people": "p",
            "occupations": "o",
            "l": 2,
            "estimator": "e",
            "confidence": 0.5,
            "seed": 0,
            "overlap": overlap,
            "k": k,
            "estimated": estimated,
            "real": real,
            "real_of_those_in_both": 2 * real,
        }
        for (overlap, k), (estimated, real) in said.items()
    ]
    (found,) = pattern.score_patterns(rows)
    assert found["rank_overlap"] is None  # the estimate never changes
    assert found["rank_k"] == pytest.approx(1)
    assert (found["change_overlap"], found["real_change_overlap"]) == (0, 2)
    assert (found["change_k"], found["real_change_k"]) == (-40, -1)
    assert found["real_change_k_in_both"] == -2
    assert found["error"] == found["bias"] == pytest.approx((48 + 46 + 9 + 7) / 4)
    assert found["error_in_both"] == pytest.approx((46 + 42 + 8 + 4) / 4)
    assert found["error_constant"] == 1  # of 1, 2, 3 and 4 from 2.5
    (judged,) = pattern.judge_patterns([found])
    assert {judged[way] for way in pattern.FOLLOWED} == {0}


def test_rank_is_spearman_s_formula():
    rng = np.random.default_rng(0)
    one, other = rng.permutation(8), rng.permutation(8)
    line = [{"estimated": a, "real": b} for a, b in zip(one, other, strict=True)]
    formula = 1 - 6 * ((one - other) ** 2).sum() / (8 * (64 - 1))
    assert pattern.compute_rank_correlation(line) == pytest.approx(formula)


def of(*values):
    return compute_mean([{"x": value, "seed": i} for i, value in enumerate(values)], "x")


@pytest.mark.parametrize(
    ("change", "real", "expected"),
    [
        ((5.0, 5.1), (5.0, 5.2), True),
        ((3.0, 3.1), (5.0, 5.2), True),
        ((2.0, 2.1), (5.0, 5.2), False),  # less than half
        ((11.0, 11.1), (5.0, 5.2), False),  # more than twice
        ((-5.0, -5.1), (5.0, 5.2), False),  # the other way
        ((-5.0, -5.1), (-5.0, -5.2), True),
        ((1.0, 9.0), (5.0, 5.2), False),  # noise
        ((5.0, 5.1), (1.0, 9.0), False),  # nothing to follow
        ((0.0, 0.0), (0.0, 0.0), False),
    ],
)
def test_an_estimate_follows_by_its_change(change, real, expected):
    assert pattern.is_following(of(*change), of(*real)) is expected


def test_order_and_level_have_their_limits():
    clear, noise = of(5.0, 5.1), of(-9.0, 9.0)
    assert pattern.is_same_order(of(0.95), clear, clear)
    assert not pattern.is_same_order(of(0.85), clear, clear)
    assert not pattern.is_same_order(of(1.0), noise, clear)
    assert pattern.is_captured(of(1.0), of(2.0))
    assert not pattern.is_captured(of(2.0), of(2.0))  # a constant's


@pytest.mark.parametrize(
    ("followed", "expected"),
    [((True, True), AGREES), ((True, False), PARTLY), ((False, False), DIFFERS)],
)
def test_the_verdict_follows_the_numbers(followed, expected):
    assert pattern.decide_verdict(followed) == expected


def test_the_limits_are_told():
    told = " ".join(two_samples.NOTES)
    for limit in ("2 standard deviations", "0.5 to 2 times", "0.9 or more", "0.5 of what"):
        assert limit in told


# The steps between the paper's estimate and ours


def tiny():
    """Three classes of six people, of three values."""
    rng = np.random.default_rng(4)
    quasi = (Axis("x", "number", "ordered", tuple(range(4)), positions=np.arange(4.0)),)
    sensitive = Axis("s", "category", "flat", ("a", "b", "c"))
    keys = rng.integers(0, 4, (1, 18)).astype(np.int32)
    values = rng.integers(0, 3, 18).astype(np.int32)
    tally, entry = tally_codes(quasi, sensitive, keys, values)
    cut = find_method("mondrian")(tally, KAnonymity(4))
    return OurTable(
        quasi, sensitive, keys, values, assign_rows_to_classes(cut, entry, rng), cut.cells
    )


def test_every_step_is_the_chance_of_too_few_values():
    ours, asked = tiny(), OverlapScenario(0.2, 18, confidence=0.6)
    counted, chance, somebody, own, alike = ladder.lift_assumptions(ours, asked)
    n, total = asked.rows, ours.people
    for class_ in range(ours.classes):
        inside = ours.values[ours.class_ == class_].tolist()
        appears = {
            s: 1 - (1 - len(inside) / total * (ours.values == s).mean()) ** n for s in set(inside)
        }
        reached = 1 - 0.8 ** len(inside)
        beside = [_fewer({s: p for s, p in appears.items() if s != v}, asked.l - 1) for v in inside]
        fails = _fewer(appears, asked.l)
        assert counted.classes[class_] == chance.classes[class_] == pytest.approx(fails)
        assert somebody.classes[class_] == pytest.approx(reached * fails)
        assert own.classes[class_] == pytest.approx(reached * np.mean(beside))
    assert counted.risk == ((1 - counted.classes) < 0.6).mean()
    for one in (chance, somebody, own):
        assert one.risk == one.classes.mean()
    assert [one.name for one in (counted, chance, somebody, own, alike)] == list(scores.STEPS[1:-1])


def _fewer(appears, need):
    """By all sets of values that may appear."""
    return sum(
        np.prod([p if s in some else 1 - p for s, p in appears.items()])
        for size in range(need)
        for some in combinations(appears, size)
    )


def test_everybody_alike_draws_from_the_whole_table():
    ours, asked = tiny(), OverlapScenario(0.2, 18)
    found = ladder.estimate_alike(ours, asked)
    assert found.name == ladder.ALIKE
    assert 0 < found.risk < 1
    # nobody elsewhere: nobody exposed
    assert ladder.estimate_alike(ours, replace(asked, overlap=0.0)).risk == 0


# The experiment


def people(rows=900, seed=0):
    """A table with the columns of the study; a third has no occupation, all of them children."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 60, rows)
    job = np.where(age < 20, 999, 100 * rng.integers(0, 5, rows) + 10 * (age // 20))
    table = pa.table(
        {
            "age": age,
            "sex": rng.integers(0, 2, rows),
            "educrec": rng.integers(0, 4, rows),
            "raceg": rng.integers(0, 3, rows),
            "bplg": rng.integers(0, 9, rows),
            "occ1950": job,
        }
    )
    schema = Schema.of(quasi=two_samples.QUASI, sensitive="occ1950")
    return Sample("ipums-stacked", "made up", table, schema, (), {"occ1950": 999}, stand_in=True)


SMALL = {"k": [3, 12], "overlap": [40, 80, 120], "size": 250, "repeats": 2}


def test_one_cell_counts_what_came_true():
    asked = {
        "people": two_samples.EVERYBODY,
        "occupations": two_samples.CODES,
        "overlap": 80,
        "k": 3,
        "seed": 1,
        "size": 250,
        "pool": 120,
        "repeats": 2,
    }
    rows = two_samples.compare_estimators(people(), **asked)
    names = {(row["estimator"], row["confidence"], row["l"]) for row in rows}
    readings = [two_samples.AT_LEAST, two_samples.BEST]
    assert len(rows) == len(names) == 3 * (2 + 2 * 6) + 5  # of them the steps, at one l
    assert {(one, c, 2) for one, c in product(readings, two_samples.CONFIDENCES)} <= names
    for l in two_samples.LS:
        (truth,) = {
            (row["real"], row["real_of_those_in_both"], row["alone"], row["alone_of_exposed"])
            for row in rows
            if row["l"] == l
        }
        assert truth[2] <= truth[0] <= truth[1]
        assert truth[3] == pytest.approx(100 * truth[2] / truth[0])
    # the more sure it must be, the more is called exposed
    for reading, l in product(readings, two_samples.LS):
        said = [
            row["estimated"]
            for c in two_samples.CONFIDENCES
            for row in rows
            if (row["estimator"], row["confidence"], row["l"]) == (reading, c, l)
        ]
        assert said == sorted(said)
    assert rows == two_samples.compare_estimators(people(), **asked)


def test_real_risk_is_counted_by_brute_force():
    chosen = two_samples._read_people(people(), two_samples.EVERYBODY, two_samples.CODES)
    pair = two_samples.SamplePair.draw(chosen, 250, 80, 1)
    publish = two_samples.OtherPublisher("mondrian", KAnonymity(3))
    ours, theirs = pair.ours(publish), pair.theirs(publish)
    held = two_samples._Releases(ours, theirs, OverlapScenario(80 / 330, 330))
    exposed, both, alone = set(), set(), set()
    for i in range(80):  # the first people of both tables are the same
        class_ = int(ours.class_[i])
        here = set(ours.values[ours.class_ == class_].tolist())
        there = {
            v
            for v in range(ours.sensitive.size)
            if int(theirs.bits[theirs.class_[i], v // 64]) >> (v % 64) & 1
        }
        both.add(class_)
        if 1 <= len(here & there) < 2:
            exposed.add(class_)
            if len(here) < 2:
                alone.add(class_)
    assert exposed
    assert alone
    assert held.truth(2) == pytest.approx(
        {
            "real": 100 * len(exposed) / ours.classes,
            "real_of_those_in_both": 100 * len(exposed) / len(both),
            "alone": 100 * len(alone) / ours.classes,
            "alone_of_exposed": 100 * len(alone) / len(exposed),
            "no_match": 0,
        }
    )
    # a class there that shares nothing with a class here: its people are no match
    nothing = replace(theirs, bits=np.zeros_like(theirs.bits))
    astray = two_samples._Releases(ours, nothing, OverlapScenario(80 / 330, 330)).truth(2)
    assert (astray["real"], astray["no_match"]) == (0, len(both))
    assert astray["alone_of_exposed"] is None


def test_groups_are_the_first_two_digits_and_samples_leave_the_pool():
    rows = two_samples._read_people(people(), two_samples.OCCUPIED, two_samples.GROUPS)
    assert rows.rows == sum(job != 999 for job in people().table["occ1950"].to_pylist())
    assert rows.sensitive.size == len(
        {job // 10 for job in people().table["occ1950"].to_pylist() if job != 999}
    )


@pytest.fixture(scope="module")
def measured():
    samples, kept = {"ipums-stacked": people()}, StoredMeasurements(None)
    return {
        one: one.measure(lab_of(one.EXPERIMENT, samples, kept, **SMALL))
        for one in (figure_1, figure_2, figure_3)
    }


@pytest.mark.parametrize("figure", [figure_1, figure_2, figure_3])
def test_every_number_of_a_claim_can_be_counted_again(measured, figure):
    rows = json.loads(json.dumps(measured[figure]))
    claims = figure.claims(rows)
    assert claims
    for claim in claims:
        for one in (*claim.ours, *claim.because):
            assert one.again(rows) == one
        assert (claim.theirs == "") == (claim.verdict == FOUND)
        assert claim.says.startswith("On the stacked Los Angeles files, with k")


@pytest.mark.parametrize("figure", [figure_1, figure_2, figure_3])
def test_every_chart_has_its_data(measured, figure):
    made = figure.charts(measured[figure])
    assert made
    for spec in made.values():
        assert spec["data"]["values"]
        assert "Nothing was measured" not in " ".join(spec["title"])
        assert spec["description"].startswith("On the stacked Los Angeles files, with k")


PAPER = (two_samples.AT_LEAST, two_samples.BEST)


def scored(cells, estimate):
    """The cells of figure 3 with the paper's estimates replaced, and what becomes of them."""
    said = [
        {**row, "estimated": estimate(row)} if row["estimator"] in PAPER else row for row in cells
    ]
    extra = [
        {**row, "confidence": c}
        for row in said
        if row["estimator"] in PAPER
        for c in two_samples.CONFIDENCES
        if c != two_samples.C
    ]
    found = pattern.score_patterns([*said, *extra])
    return figure_3.claims([*said, *found, *figure_3._judge_estimates(found)])


@pytest.fixture(scope="module")
def cells(measured):
    return [row for row in measured[figure_3] if "overlap" in row]


def test_an_estimate_that_follows_and_is_close_agrees(cells):
    # the paper's estimate replaced by the truth: the code can say so
    captures, level, *_ = scored(cells, lambda row: row["real"])
    assert captures.verdict == AGREES
    assert f"captured by: {' and '.join(PAPER)}" in level.says


def test_an_estimate_that_is_the_same_everywhere_differs(cells):
    captures, level, *_ = scored(cells, lambda row: 7.0)
    assert captures.verdict == DIFFERS
    assert [one.mean for one in captures.ours] == [0, 0]
    assert not any(one in level.says.rpartition("captured by:")[2] for one in PAPER)


def test_an_estimate_that_follows_one_way_agrees_in_part(cells):
    # it knows k, but takes the overlap to be what it is at the least
    at = {(r["people"], r["occupations"], r["k"]): r["real"] for r in cells if r["overlap"] == 40}
    captures, *_ = scored(cells, lambda row: at[row["people"], row["occupations"], row["k"]])
    assert captures.ours[0].mean == 0 < captures.ours[1].mean
    assert captures.verdict == PARTLY
    assert f"over k it follows in {round(captures.ours[1].mean * 48 / 100)} of 48" in captures.why


def test_there_is_one_claim_of_the_paper_s_in_the_figures(measured):
    claims = [claim for one in measured for claim in one.claims(measured[one])]
    assert [claim.theirs for claim in claims if claim.verdict != FOUND] == ["captures the pattern"]


def test_the_risk_of_one_release_is_told_apart(measured):
    rows = measured[figure_2]
    alone, matched = figure_2.claims(rows)
    k, overlap = 12, 80
    for people, one in zip(figure_2.PEOPLE, alone.ours[2:], strict=True):
        (cell,) = (
            row
            for row in rows
            if row["l"] == two_samples.L
            and row["people"] == people
            and (row["k"], row["overlap"]) == (k, overlap)
        )
        assert one.mean == pytest.approx(100 * cell["alone"] / cell["real"])
        assert f"{one.mean:.0f} % of these" in alone.says
    assert "no class has somebody" in matched.says
    assert "some class has" in figure_2.claims([{**row, "no_match": 2} for row in rows])[1].says


def test_the_notes_say_how_the_real_table_is(real_data, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(real_data))
    sample = load_dataset("ipums-stacked")
    some = sample.applicable()
    most = max(two_samples.SETTINGS["overlap"])
    codes = two_samples.group_occupations(sample.columns(), sample.sensitive)[sample.sensitive]
    told = " ".join(two_samples.NOTES)
    room = (some.rows - most) // 2
    numbers = (sample.rows, sample.rows - 200_000, some.rows, room)
    least = min(two_samples.SETTINGS["overlap"])
    taken = [
        100 * (2 * size + shared) / whole
        for size, whole in ((100_000, sample.rows), (room, some.rows))
        for shared in (least, most)
    ]
    assert "{:.0f} to {:.0f} % of all rows, and {:.0f} to {:.0f} %".format(*taken) in told
    for count in numbers:
        assert f"{count:,}" in told
    assert f"{len(sample.table[sample.sensitive].unique())} codes" in told
    assert f"{len(codes.unique())} groups" in told
