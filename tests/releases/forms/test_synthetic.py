"""Synthetic: budgets that add up, trees that are trees, and people made of the schema's labels."""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.releases.forms.noise_tables import PEOPLE, SCHEMA

import shoal
from shoal.adversary.mechanism_audit import rerun_counts
from shoal.core.errors import InputError, UsageError
from shoal.core.spend import Spend, parse_spend
from shoal.dp.audit import audit_epsilon
from shoal.dp.mechanisms import Noise, calibrate_noise
from shoal.engines.open_table import open as open_frame
from shoal.releases.forms._noise.accounted_spend import Step, total_spend
from shoal.releases.forms._noise.measured import MeasuredTable, Tables
from shoal.releases.forms._noise.plan import MarginalPlan, settle_kinds
from shoal.releases.forms._noise.verification import recount_noise
from shoal.releases.forms.counts import add_noise
from shoal.releases.forms.synthetic import (
    NoisyMarginals,
    Synthetic,
    choose_spanning_pairs,
    estimate_people,
    score_pair,
    split_budget,
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> shoal.Release:
    """The one synthetic release that is fitted here: of many people, with hardly any noise."""
    pytest.importorskip("mbi")
    many = pd.concat([PEOPLE] * 40)
    out = tmp_path_factory.mktemp("synthetic") / "rel"
    return shoal.publish(many, SCHEMA, form="synthetic", epsilon=100, delta="1e-6", out=out)


def test_made_up_people_have_the_schemas_labels(release: shoal.Release) -> None:
    table = pd.read_csv(release.path, keep_default_na=False)
    assert list(table.columns) == ["age", "sex", "disease"]
    assert set(table["disease"]) <= {"flu", "cold", "mumps", ""}
    assert set(table["age"]) <= {f"[{a}, {a + 20}[" for a in range(0, 100, 20)}
    assert len(table) == release.manifest["rows"] == pytest.approx(480, abs=3)


def test_made_up_people_are_like_the_real_ones(release: shoal.Release) -> None:
    table = pd.read_csv(release.path, keep_default_na=False)
    real = PEOPLE["disease"].fillna("").value_counts(normalize=True)
    assert table["disease"].value_counts(normalize=True)["flu"] == pytest.approx(
        real["flu"], abs=0.03
    )
    assert release.private["utility"]["columns"]["disease"] < 0.03


def test_the_release_verifies_and_accounts_for_itself(release: shoal.Release) -> None:
    verdict = shoal.verify(release)
    assert verdict.holds
    assert verdict.how == "by construction"
    steps = [Step.from_json(one) for one in release.manifest["privacy"]["steps"]]
    assert [step.times for step in steps] == [3, 2, 2]
    assert total_spend(steps, Fraction(1, 10**6)).epsilon <= 100
    assert [len(one) for one in release.manifest["marginals"]] == [1, 1, 1, 2, 2]


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no choice": lambda m: m["privacy"]["steps"].pop(1),
    "fewer choices": lambda m: m["privacy"]["steps"][1].update(times=1),
    "marginals that nobody chose": lambda m: m.update(parameters={"marginals": "stated"}),
    "no word on marginals": lambda m: m.update(parameters={}),
    "no tree": lambda m: m["marginals"].__setitem__(-1, m["marginals"][-2]),
    "a column less": lambda m: m["marginals"].pop(0),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_step_cannot_be_left_out(release: shoal.Release, forgery: str) -> None:
    assert release.manifest["parameters"] == {"marginals": "chosen"}
    manifest = copy.deepcopy(dict(release.manifest))
    assert recount_noise(release.path, manifest).holds
    FORGERIES[forgery](manifest)
    with pytest.raises(InputError, match="steps of the manifest"):
        recount_noise(release.path, manifest)


@pytest.mark.parametrize("mistake", [False, True])
def test_an_audit_runs_every_step_again(mistake: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mbi")
    dry = shoal.publish(PEOPLE, SCHEMA, form="synthetic", epsilon=1, dry_run=True)
    frame = open_frame(PEOPLE, kinds=settle_kinds(SCHEMA).kinds)
    run = rerun_counts(
        dry.manifest, MeasuredTable.of(frame, MarginalPlan.of(settle_kinds(SCHEMA), frame.fields))
    )
    if mistake:  # the pairs are counted without noise

        def forgetful(
            noise: Noise, tables: Tables, rng: np.random.Generator | None, _: object
        ) -> Tables:
            return tables if noise.contributions == 2 else add_noise(noise, tables, rng)

        monkeypatch.setattr("shoal.releases.forms.synthetic.add_noise", forgetful)
    found = audit_epsilon(
        run.mechanism, run.before, run.after, 1, runs=200, at_once=run.at_once, seed=1
    )
    assert found.holds != mistake
    output = np.asarray(run.mechanism(run.after[np.newaxis], np.random.default_rng(0)))[0]
    assert np.isfinite(output).sum() < len(output) == len(run.after)  # one pair is not chosen


@pytest.mark.parametrize("columns", [3, 9])
@pytest.mark.parametrize(("epsilon", "delta"), [("1/7", 0), ("1", "1e-6")])
def test_three_parts_spend_the_budget_and_no_more(
    columns: int, epsilon: str, delta: object
) -> None:
    spend = parse_spend(epsilon, delta)
    frame = open_frame(pd.DataFrame({f"c{i}": ["a"] for i in range(columns)}))
    schema = shoal.Schema(()).set({f"c{i}": shoal.quasi(domain=["a", "b"]) for i in range(columns)})
    form = Synthetic.of(MarginalPlan.of(settle_kinds(schema), frame.fields), spend)
    spent = total_spend(form.steps, spend.delta)
    assert spent.within(spend)
    assert float(spent.epsilon) == pytest.approx(float(spend.epsilon), rel=1e-6)


def test_pure_thirds_are_exact() -> None:
    made = split_budget(Spend("1/10"), 5)
    third = Fraction(1, 30)
    assert made.alone.spend.epsilon == made.pairs.spend.epsilon == made.epsilon * 4 == third


def test_a_score_changes_by_at_most_one_for_any_person() -> None:
    rng = np.random.default_rng(5)
    pair, one, two = rng.integers(0, 9, (3, 4)), rng.integers(0, 30, 3), rng.integers(0, 30, 4)
    alone = one.astype(float), two.astype(float)
    before = score_pair(pair, *alone)
    for cell in np.ndindex(pair.shape):
        more = pair.copy()
        more[cell] += 1
        assert abs(score_pair(more, *alone) - before) <= 1


def test_pairs_join_all_columns_and_strong_ones_are_chosen() -> None:
    rng = np.random.default_rng(0)
    same = rng.choice(["a", "b"], 4000)
    table = pd.DataFrame({"x": same, "y": same, "z": rng.choice(["a", "b"], 4000), "w": same})
    schema = settle_kinds(shoal.Schema(()).set({c: shoal.quasi(domain=["a", "b"]) for c in "xyzw"}))
    frame = open_frame(table)
    measured = MeasuredTable.of(frame, MarginalPlan.of(schema, frame.fields))
    alone = measured.tables([(i,) for i in range(4)])
    tree = choose_spanning_pairs(measured, alone, Fraction(1), None)
    assert len(tree) == 3
    strong = [pair for pair in combinations((0, 1, 3), 2) if pair in tree]
    assert len(strong) == 2
    assert {column for pair in tree for column in pair} == {0, 1, 2, 3}


def test_people_are_counted_by_the_noise_of_each_table() -> None:
    fine, rough = calibrate_noise(parse_spend(100), 1), calibrate_noise(parse_spend("1/100"), 1)
    known = [
        NoisyMarginals({(0,): np.array([60, 40])}, fine),
        NoisyMarginals({(1,): np.array([900, 0])}, rough),
    ]
    assert estimate_people(known) == 100
    assert estimate_people([NoisyMarginals({(0,): np.array([-5, 1])}, rough)]) == 1


def test_what_would_be_unknown_is_refused() -> None:
    pytest.importorskip("mbi")
    with pytest.raises(UsageError, match=r"no marginal.*: age"):
        shoal.publish(PEOPLE, SCHEMA, form="synthetic", epsilon=1, marginals=["sex,disease"])
    with pytest.raises(UsageError, match="by itself"):
        shoal.publish(PEOPLE, SCHEMA, form="synthetic", epsilon=1, marginals=2)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.releases.forms.synthetic.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"shoal\[synthetic\]"):
        shoal.publish(PEOPLE, SCHEMA, form="synthetic", epsilon=1)


def test_a_dry_run_tells_no_chosen_pairs(tmp_path: Path) -> None:
    pytest.importorskip("mbi")
    dry = shoal.publish(PEOPLE, SCHEMA, form="synthetic", epsilon=1, dry_run=True)
    assert dry.manifest["marginals"] == [["age"], ["sex"], ["disease"]]
    assert dry.private["expected"]["deviation_of_pairs"] > 0
    assert list(tmp_path.iterdir()) == []
