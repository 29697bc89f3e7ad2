"""Adult: the error of noisy marginals beside what the theory says, at several epsilon."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.core.spend import parse_spend
from shoal.engines.open_table import open as open_frame
from shoal.releases.forms._noise.distance_from_original import measure_noise_utility, tally_original
from shoal.releases.forms._noise.measured import MeasuredTable
from shoal.releases.forms._noise.plan import MarginalPlan, settle_kinds
from shoal.releases.forms.counts import Counts

WORDS = ("sex", "race", "marital_status", "education", "workclass", "occupation", "income")


def test_the_error_is_what_the_theory_says_and_estimates_are_better(
    real_data: Path,
) -> None:
    people = pd.read_csv(real_data / "adult.csv.gz")[["age", *WORDS]]
    trees = {
        name: shoal.quasi(shoal.from_arx_csv(_tree(real_data, name)), kind="category", domain=[""])
        for name in WORDS
    }
    schema = settle_kinds(shoal.Schema(()).set({"age": shoal.quasi(bounds=(17, 90)), **trees}))
    frame = open_frame(people, kinds=schema.kinds)
    plan = MarginalPlan.of(schema, frame.fields)
    measured, tally = MeasuredTable.of(frame, plan), tally_original(frame, plan.schema)
    lost = []
    for epsilon, delta in (("1/10", 0), ("1", 0), ("10", 0), ("1", "1e-6")):
        form = Counts.of(plan, parse_spend(epsilon, delta))
        true = measured.tables(form.marginals)
        drawn = form.draft(measured, np.random.default_rng(1))
        flat = np.concatenate([true[one].ravel() for one in form.marginals])
        counts = drawn.table["count"].to_numpy() - flat
        estimates = drawn.table["estimate"].to_numpy() - flat
        assert np.sqrt(np.mean(counts**2)) == pytest.approx(form.noise.deviation, rel=0.06)
        assert np.sqrt(np.mean(estimates**2)) < 0.95 * form.noise.deviation
        lost.append(measure_noise_utility(tally, plan, drawn.estimates)["marginals"])
    assert lost[0] > lost[1] > lost[2]
    assert lost[3] < lost[1]  # Gaussian noise on so many marginals


def _tree(folder: Path, name: str) -> str:
    file = "salary_class" if name == "income" else name
    return (folder / "hierarchies" / "adult" / f"{file}.csv").read_text()
