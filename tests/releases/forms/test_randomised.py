"""A randomised release: answers beside generalised cells, what they spend, and what is refused."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core.errors import InputError, NotMetError, SchemaError, UsageError
from shoal.core.spend import Spend
from shoal.dp.opendp_library import describe_library
from shoal.releases.forms._noise.answers import AnswerCounts, read_answers
from shoal.releases.forms.randomised import plan_answers
from shoal.releases.verification import VerifyOptions, recount_and_judge
from shoal.verbs.estimates import estimates

VALUES = ("flu", "cold", "asthma", "")
QUASI = ("age", "sex")
RULE = "k-anonymity k=5"


def town(rows=400, seed=3):
    rng = np.random.default_rng(seed)
    ill = rng.choice(["flu", "cold", "asthma", None], rows, p=[0.5, 0.25, 0.15, 0.1])
    return pa.table(
        {
            "age": rng.integers(18, 70, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": pa.array(ill.tolist(), pa.string()),
            "pay": rng.integers(0, 100, rows).astype(float),
        }
    )


def schema(*sensitive):
    asked = {
        "ill": shoal.sensitive(domain=VALUES),
        "pay": shoal.sensitive(shoal.intervals(25), bounds=(0, 100)),
    }
    found = shoal.Schema.of(quasi=QUASI, sensitive=sensitive or ["ill"])
    dropped = {name: shoal.identifier for name in asked if name not in found.names}
    return found.set({name: asked[name] for name in sensitive or ["ill"]} | dropped)


def rows_of(release):
    with release.path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("randomised")


@pytest.fixture(scope="module")
def plain(folder):
    return shoal.publish(town(), schema(), RULE, out=folder / "plain")


@pytest.fixture(scope="module")
def release(folder):
    return shoal.publish(
        town(), schema(), RULE, form="randomised", epsilon="3/2", out=folder / "one"
    )


@pytest.fixture(scope="module")
def both(folder):
    return shoal.publish(
        town(),
        schema("ill", "pay"),
        RULE,
        form="randomised",
        epsilon="1/3",
        seed=5,
        out=folder / "both",
    )


def copied(release, folder, name, change):
    """The release with its manifest, or its table, changed by hand."""
    place = folder / name
    place.mkdir()
    manifest, table = dict(release.manifest), release.path.read_text(encoding="utf-8")
    manifest, table = change(json.loads(json.dumps(manifest)), table)
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (place / release.path.name).write_text(table, encoding="utf-8")
    return place


def test_cells_are_those_of_a_partition_that_never_saw_the_values(release, plain):
    cells = [Counter((r["age"], r["sex"]) for r in rows_of(one)) for one in (release, plain)]
    assert cells[0] == cells[1]
    assert min(cells[0].values()) >= 5


def test_a_release_is_verified_by_count_and_by_what_its_chance_spends(release):
    found = shoal.verify(release.folder)
    rule, promise = found.judgements
    assert found.holds
    assert found.how == "counted, and by construction"
    assert rule.model == RULE
    assert promise.model == "differential-privacy epsilon=1.5"
    assert 1.49 < promise.reached <= 1.5


def test_the_manifest_says_what_is_protected_and_what_is_not(release):
    told, privacy = release.manifest, release.manifest["privacy"]
    assert told["spend"] == {"epsilon": "3/2", "delta": "0"}
    assert told["releasable"] is True
    assert privacy["definition"] == "pure differential privacy"
    assert privacy["unit"] == "the sensitive values of one person, in one row"
    assert privacy["partition"].startswith(f"made by mondrian, so that {RULE} holds")
    assert any("quasi-identifiers" in one for one in privacy["not_protected"])
    assert privacy["randomness"].endswith(f"({describe_library()})")


def test_the_chance_of_a_true_answer_is_that_of_the_definition(release):
    kept = release.manifest["privacy"]["keep"]["ill"]
    assert math.isclose(kept, math.exp(1.5) / (math.exp(1.5) + 3), rel_tol=1e-12)


def test_every_answer_is_of_the_domain_and_null_is_one(release):
    found = Counter(row["ill"] for row in rows_of(release))
    assert set(found) == set(VALUES)


def test_several_columns_share_epsilon_exactly(both):
    answers = read_answers(both.manifest)
    assert [one.epsilon for one in answers.values()] == [Fraction(1, 6), Fraction(1, 6)]
    assert sum(one.epsilon for one in answers.values()) == Fraction(1, 3)
    assert both.verdict.holds


def test_numbers_are_answered_for_in_the_intervals_of_the_schema(both):
    labels = read_answers(both.manifest)["pay"].bins.labels
    assert len(labels) == 5
    assert {row["pay"] for row in rows_of(both)} <= set(labels)


def test_a_seed_marks_a_release_as_not_to_be_released(both):
    assert both.manifest["releasable"] is False
    assert both.manifest["privacy"]["randomness"] == "seeded: not to be released"
    with pytest.raises(NotMetError, match="from a seed"):
        shoal.verify(both.folder)
    assert recount_and_judge(
        both.folder, VerifyOptions()
    ).holds  # a report tells of it all the same


SMALL = plan_answers(
    schema().set(ill=shoal.sensitive(kind="category", domain=VALUES)), Spend("1/10")
)["ill"].keep
LESS = {"keep": SMALL, "spend": "1/10", "privacy": "1/10", "answers": "1/10"}
"""What a manifest says of answers that spend little, by the parts of it that say so."""


def restated(**parts):
    """A change of the manifest to other words, in some of these parts or in all."""

    def change(manifest, table):
        answers, privacy = manifest["answers"]["ill"], manifest["privacy"]
        if "keep" in parts:
            answers["keep"] = privacy["keep"]["ill"] = parts["keep"]
        manifest["spend"]["epsilon"] = parts.get("spend", manifest["spend"]["epsilon"])
        privacy["epsilon"] = parts.get("privacy", privacy["epsilon"])
        answers["epsilon"] = parts.get("answers", answers["epsilon"])
        return manifest, table

    return change


def test_a_chance_that_spends_more_is_noticed(release, folder):
    found = shoal.verify(copied(release, folder, "truer", restated(keep=0.9)))
    assert not found.holds
    assert found.judgements[1].reached > 1.5


@pytest.mark.parametrize("left_out", ["spend", "privacy", "answers"])
def test_a_manifest_that_states_two_spends_is_refused(release, folder, left_out):
    some = {name: value for name, value in LESS.items() if name != left_out}
    place = copied(release, folder, f"less-but-{left_out}", restated(**some))
    with pytest.raises(InputError, match="alike what is spent"):
        shoal.verify(place)


@pytest.mark.parametrize(
    ("part", "field", "value", "said"),
    [
        ("privacy", "unit", "a household", "follows from its answers: privacy.unit"),
        ("privacy", "neighbours", "any tables", "privacy.neighbours"),
        ("privacy", "mechanism", "discrete Laplace", "privacy.mechanism"),
        ("privacy", "not_protected", [], "privacy.not_protected"),
        ("privacy", "rho", "1/100", "privacy.rho"),
        ("privacy", "note", "safe", "privacy.note"),
        ("privacy", "randomness", "dice", "where its answers come from"),
        ("spend", "rho", "1/100", "spend|alike"),
        (None, "note", "safe", "no release of this form has: note"),
    ],
)
def test_what_does_not_follow_from_the_answers_is_refused(
    release, tmp_path, part, field, value, said
):
    def change(manifest, table):
        (manifest if part is None else manifest[part])[field] = value
        return manifest, table

    with pytest.raises(InputError, match=said):
        shoal.verify(copied(release, tmp_path, "said", change))


def test_a_manifest_that_states_less_throughout_differs_from_the_companion(release, folder):
    place = copied(release, folder, "less", restated(**LESS))
    shutil.copytree(release.companion, folder / "less.private")
    with pytest.raises(InputError, match="do not agree on: spend, privacy, answers"):
        shoal.verify(place)


def test_a_seed_that_the_manifest_denies_is_in_the_companion(both, folder):
    def denied(manifest, table):
        manifest["releasable"] = True
        return manifest, table

    place = copied(both, folder, "denied", denied)
    shutil.copytree(both.companion, folder / "denied.private")
    with pytest.raises(InputError, match="do not agree on: releasable"):
        shoal.verify(place)


def test_numbers_beyond_the_bounds_are_told():
    asked = schema("pay").set(pay=shoal.sensitive(shoal.intervals(25), bounds=(0, 50)))
    table = town(60)
    beyond = sum(value > 50 for value in table["pay"].to_pylist())
    found = shoal.publish(table, asked, RULE, form="randomised", epsilon=1)
    (note,) = [one for one in found.private["notes"] if "bounds" in one]
    assert note == (
        f"Column 'pay': {beyond} rows beyond its bounds, answered for as the nearest bound."
    )


def test_a_value_that_nobody_could_answer_is_noticed(release, folder):
    place = copied(release, folder, "odd", lambda m, t: (m, t.replace(",flu", ",gout")))
    with pytest.raises(InputError, match="could not be answered") as caught:
        shoal.verify(place)
    assert "gout" not in str(caught.value)


@pytest.mark.parametrize("lost", ["answers", "columns"])
def test_a_manifest_that_does_not_say_how_is_refused(release, folder, lost):
    def without(manifest, table):
        manifest["answers" if lost == "answers" else "columns"].pop("ill")
        return manifest, table

    with pytest.raises(InputError, match="how the answers"):
        shoal.verify(copied(release, folder, f"without-{lost}", without))


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"rule": f"{RULE} & distinct-diversity l=2"}, UsageError, "looked at them"),
        ({"method": "invariant"}, UsageError, "looks at sensitive values"),
        ({"epsilon": None}, UsageError, "nobody says how much"),
        ({"epsilon": 0}, UsageError, "more than 0"),
        ({"delta": "1e-6"}, UsageError, "no delta"),
        ({"after": "elsewhere"}, UsageError, "does not follow others"),
        ({"held_back_as": "starred"}, UsageError, "not starred"),
        ({"two_tables": True}, UsageError, "Only buckets"),
        ({"form": "partition"}, UsageError, "no noise"),
        ({"schema": shoal.Schema.of(quasi=["age", "sex"])}, UsageError, "no column is sensitive"),
        ({"schema": schema().set(ill=shoal.sensitive())}, SchemaError, "domain"),
        (
            {"schema": schema().set(ill=shoal.sensitive(domain=["flu", "cold", "asthma"]))},
            InputError,
            "empty",
        ),
        ({"schema": schema().set(ill=shoal.sensitive(domain=["flu", ""]))}, InputError, "rows"),
    ],
)
def test_what_could_not_be_protected_is_refused(asked, error, said):
    wanted = {"schema": schema(), "rule": RULE, "form": "randomised", "epsilon": 1, **asked}
    with pytest.raises(error, match=said):
        shoal.publish(town(40), **wanted)


def test_a_dry_run_answers_for_nobody():
    found = shoal.publish(town(60), schema(), RULE, form="randomised", epsilon=1)
    assert found.verdict.holds
    assert "estimates" not in found.private


def test_a_later_release_is_not_based_on_answers(release):
    named = schema().set(pay=shoal.person)
    with pytest.raises(UsageError, match="randomised"):
        shoal.publish(town(), named, RULE, based_on=release.folder)


# Estimates and utility


def test_estimates_invert_the_chances(release):
    (asked,) = read_answers(release.manifest).values()
    counts = np.array([row["answers"] for row in release.private["estimates"]["ill"]], float)
    expected = np.linalg.solve(asked.response.matrix().T, counts)
    found = [row["estimate"] for row in release.private["estimates"]["ill"]]
    assert np.allclose(found, expected)


def test_estimates_are_right_on_average():
    asked = plan_answers(schema().fit(shoal.open(town(40)).fields), Spend(1))["ill"]
    true, rng = np.repeat(np.arange(4), [500, 300, 150, 50]), np.random.default_rng(11)
    found = []
    for _ in range(100):
        counts = np.bincount(asked.response.answered(true, rng), minlength=4)
        found.append(asked.response.estimated(counts))
    error = asked.response.deviation(np.array([500, 300, 150, 50]))
    assert np.all(np.abs(np.mean(found, axis=0) - [500, 300, 150, 50]) < 4 * error / 100**0.5)
    assert np.allclose(np.std(found, axis=0), error, rtol=0.35)


def test_estimates_of_groups_add_up_to_those_of_everybody(release):
    whole, parts = estimates(release.folder), estimates(release.folder, "ill", by=["sex"])
    assert parts.groups == (("f",), ("m",)) or parts.groups == (("m",), ("f",))
    assert np.allclose(parts.estimated.sum(axis=0), whole.estimated[0])
    assert np.isclose(whole.estimated.sum(), 400)
    assert str(whole).startswith("everybody: 400 people")


def test_only_answers_are_estimated_from(plain):
    with pytest.raises(UsageError, match="Only a randomised release"):
        estimates(plain.folder)


def test_answers_are_counted_by_class_and_together():
    drawn = AnswerCounts([2, 3])
    drawn.add(np.array([0, 1, 1]), [np.array([0, 1, 1]), np.array([2, 0, 0])])
    drawn.add(np.array([1]), [np.array([0]), np.array([1])])
    assert drawn.rows == 4
    assert drawn.table([0], 2).tolist() == [[1, 0], [1, 2]]
    assert drawn.table([0, 1]).tolist() == [[0, 1, 1], [2, 0, 0]]


@pytest.fixture(scope="module")
def sure(folder):
    return shoal.publish(
        town(), schema(), RULE, form="randomised", epsilon=30, seed=1, out=folder / "sure"
    )


def test_true_answers_are_as_useful_as_the_partition(plain, sure):
    found, wanted = sure.private["utility"], shoal.audit(plain.folder, original=town()).utility
    pairs = {tuple(one["columns"]): one["distance"] for one in found["pairs"]}
    assert np.isclose(found["columns"]["age"], wanted["marginals"]["columns"]["age"])
    assert np.isclose(found["columns"]["ill"], 0, atol=1e-9)
    assert all(
        np.isclose(pairs[tuple(one["columns"])], one["distance"])
        for one in wanted["marginals"]["pairs"]
    )


def test_less_epsilon_is_less_useful(both, sure):
    shares = [one.private["utility"]["marginals"] for one in (sure, both)]
    assert 0 < shares[0] < shares[1] <= 1
    assert ["ill", "pay"] in [one["columns"] for one in both.private["utility"]["pairs"]]


# Other verbs


def test_an_audit_counts_rows_and_says_nothing_of_values(release):
    found = shoal.audit(release.folder, original=town())
    measured = {one.model for one in found.measured}
    assert found.reached("k-anonymity") >= 5
    assert math.isclose(found.reached("differential-privacy", on="ill"), 1.5)
    assert measured == {"k-anonymity", "differential-privacy"}
    assert set(found.utility["marginals"]["columns"]) == set(QUASI)


def test_a_forecast_is_refused(release):
    with pytest.raises(InputError, match="exclude none"):
        shoal.forecast(release.folder)


def test_a_rule_about_values_is_not_judged_on_answers(release):
    with pytest.raises(UsageError, match="answers in their place"):
        shoal.verify(release.folder, rule="distinct-diversity l=2")
