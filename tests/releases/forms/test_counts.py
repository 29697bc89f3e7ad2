"""Counts: every cell of every marginal, noise within the budget, and estimates that agree."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.releases.forms.noise_tables import PEOPLE, SCHEMA, SHAPES

import shoal
from shoal.core.errors import InputError, SchemaError, UsageError
from shoal.core.spend import parse_spend
from shoal.dp.mechanisms import GAUSSIAN, LAPLACE
from shoal.dp.opendp_library import SOURCE, describe_library
from shoal.engines.open_table import open as open_frame
from shoal.releases.forms._noise.accounted_spend import Step, total_spend
from shoal.releases.forms._noise.distance_from_original import measure_noise_utility, tally_original
from shoal.releases.forms._noise.measured import MeasuredTable
from shoal.releases.forms._noise.plan import MarginalPlan, settle_kinds
from shoal.releases.forms.counts import Counts


def published(tmp_path: Path, **settings: object) -> tuple[shoal.Release, pd.DataFrame]:
    """A release of counts of the tiny table, and its file."""
    settings = {"epsilon": 1, **settings}
    release = shoal.publish(PEOPLE, SCHEMA, form="counts", out=tmp_path / "rel", **settings)
    return release, pd.read_csv(release.path, keep_default_na=False)


def brute(columns: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """How many people have each label, counted one by one."""
    labels = {
        "age": [f"[{20 * b}, {20 * b + 20}[" for b in (min(a, 99) // 20 for a in PEOPLE["age"])],
        "sex": list(PEOPLE["sex"]),
        "disease": [r"{\N}" if pd.isna(d) else d for d in PEOPLE["disease"]],
    }
    found: dict[tuple[str, ...], int] = {}
    for row in zip(*(labels[name] for name in columns), strict=True):
        found[row] = found.get(row, 0) + 1
    return found


def test_every_cell_is_published_around_its_true_count(tmp_path: Path) -> None:
    _, table = published(tmp_path, epsilon=100)  # hardly any noise, so the counts are seen
    for columns, shape in SHAPES.items():
        own = table[table["marginal"] == " × ".join(columns)]
        true = brute(columns)
        cells = list(own[list(columns)].itertuples(index=False, name=None))
        assert len(cells) == len(set(cells)) == np.prod(shape)
        assert {c: n for c, n in zip(cells, own["count"], strict=True) if n} == true
        assert (own[[c for c in ("age", "sex", "disease") if c not in columns]] == "").all(
            axis=None
        )


def test_estimates_of_overlapping_marginals_agree(tmp_path: Path) -> None:
    _, table = published(tmp_path)
    for one, two in combinations(SHAPES, 2):
        (shared,) = set(one) & set(two)
        sums = [
            table[table["marginal"] == " × ".join(pair)].groupby(shared)["estimate"].sum()
            for pair in (one, two)
        ]
        assert np.allclose(sums[0], sums[1], atol=0.02)


def test_counts_are_whole_and_differ_from_draw_to_draw(tmp_path: Path) -> None:
    tables = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        tables.append(published(tmp_path / name)[1]["count"])
    assert all(table.dtype == np.int64 for table in tables)
    assert (tables[0] != tables[1]).any()


@pytest.mark.parametrize(("delta", "name"), [(0, LAPLACE), ("1e-6", GAUSSIAN)])
def test_the_manifest_accounts_for_the_noise(tmp_path: Path, delta: object, name: str) -> None:
    release, _ = published(tmp_path, epsilon="1/3", delta=delta)
    privacy, (step,) = release.manifest["privacy"], release.manifest["privacy"]["steps"]
    assert privacy["epsilon"] == release.manifest["spend"]["epsilon"] == "1/3"
    assert privacy["mechanism"] == release.manifest["method"] == step["mechanism"] == name
    assert step["times"] == len(release.manifest["marginals"]) == 3
    spent = total_spend([Step.from_json(step)], parse_spend("1/3", delta).delta)
    assert spent.epsilon <= Fraction(1, 3)
    assert float(spent.epsilon) == pytest.approx(1 / 3)
    assert release.verdict.how == "by construction"
    assert release.verdict.judgements[0].model.startswith("differential-privacy epsilon=1/3")


def test_nothing_public_has_the_number_of_people(tmp_path: Path) -> None:
    release, table = published(tmp_path)
    assert release.private["rows"] == len(PEOPLE)
    assert release.manifest["rows"] == len(table) == 38
    assert f": {len(PEOPLE)}," not in json.dumps(release.manifest)


def test_manifest_and_documentation_name_the_same_source_of_noise(tmp_path: Path) -> None:
    release, _ = published(tmp_path)
    assert release.manifest["privacy"]["randomness"] == f"{SOURCE} ({describe_library()})"
    pages = Path(__file__).parents[3] / "docs" / "theory"
    for page in ("differential-privacy", "counts", "synthetic", "auditing"):
        assert SOURCE in (pages / f"{page}.md").read_text(encoding="utf-8")


def test_seeded_noise_repeats_and_is_marked(tmp_path: Path) -> None:
    tables = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        release, table = published(tmp_path / name, seed=7)
        tables.append(table)
    assert tables[0].equals(tables[1])
    assert release.manifest["releasable"] is False
    assert release.manifest["privacy"]["randomness"] == "seeded: not to be released"


def test_a_dry_run_tells_only_what_the_schema_says() -> None:
    whole = shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=1, dry_run=True).to_json()
    part = shoal.publish(PEOPLE[:3], SCHEMA, form="counts", epsilon=1, dry_run=True).to_json()
    assert whole == part
    assert whole["expected"]["cells"] == 38
    assert whole["folder"] is None


def test_named_marginals(tmp_path: Path) -> None:
    release, table = published(tmp_path, marginals=["sex", "disease,age"])
    assert release.manifest["marginals"] == [["sex"], ["age", "disease"]]
    assert len(table) == 2 + 20


@pytest.mark.parametrize(
    ("marginals", "fact"),
    [(["sex,height"], "height"), (["sex,sex"], "once"), ([""], "at least"), ([], "No marginal")],
)
def test_wrong_marginals(marginals: list[str], fact: str) -> None:
    with pytest.raises(UsageError, match=fact):
        shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=1, marginals=marginals)


def test_too_many_cells_name_the_marginals() -> None:
    wide = SCHEMA.set(sex=shoal.quasi(domain=[*"FM", *map(str, range(1998))]))
    wide = wide.set(disease=shoal.sensitive(domain=[f"d{i}" for i in range(1500)]))
    with pytest.raises(UsageError, match=r"sex × disease \(3,000,000 cells\)"):
        shoal.publish(PEOPLE, wide, form="counts", epsilon=1)


def test_what_the_schema_leaves_open_is_said_at_once() -> None:
    bare = shoal.Schema.of(quasi=["age", "sex"], sensitive="disease").set(
        age=shoal.quasi(kind="number")
    )
    with pytest.raises(SchemaError) as error:
        shoal.publish(PEOPLE, bare, form="counts", epsilon=1)
    assert all(name in str(error.value) for name in ("age", "sex", "disease", "bounds = "))


def test_values_outside_the_domain_are_counted_not_shown(tmp_path: Path) -> None:
    narrow = SCHEMA.set(disease=shoal.sensitive(domain=["flu", ""]))
    with pytest.raises(InputError, match="4 rows") as error:
        shoal.publish(PEOPLE, narrow, form="counts", epsilon=1, out=tmp_path / "rel")
    assert "cold" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_names_of_its_own_columns_are_refused() -> None:
    renamed = shoal.Schema(()).set(count=shoal.quasi(domain=["F", "M"]))
    with pytest.raises(UsageError, match="of its own"):
        shoal.publish(pd.DataFrame({"count": ["F"]}), renamed, form="counts", epsilon=1)


def test_a_seed_and_a_ledger_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ledger"):
        published(tmp_path, seed=1, ledger=tmp_path / "l.db")


def test_an_interrupted_release_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(step: str, done: int, of: int) -> None:
        if step == "verifying":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        published(tmp_path, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_one_row_a_person() -> None:
    twice = PEOPLE.assign(who=["a"] * 2 + [str(i) for i in range(10)])
    schema = SCHEMA.set(who=shoal.person)
    with pytest.raises(InputError, match="1 rows are about people"):
        shoal.publish(twice, schema, form="counts", epsilon=1, out="never")


def test_utility_is_nothing_without_noise_on_leaves_and_grows_with_it() -> None:
    fine = SCHEMA.set(age=shoal.quasi(shoal.intervals(1), bounds=(0, 130)))
    frame = open_frame(PEOPLE, kinds=settle_kinds(fine).kinds)
    plan = MarginalPlan.of(settle_kinds(fine), frame.fields)
    tally = tally_original(frame, plan.schema)
    form = Counts.of(plan, parse_spend(1))
    exact = MeasuredTable.of(frame, plan).tables(form.marginals)
    assert measure_noise_utility(tally, plan, exact)["marginals"] == pytest.approx(0, abs=1e-12)
    rng = np.random.default_rng(0)
    noisy = {one: table + rng.integers(-9, 10, table.shape) for one, table in exact.items()}
    assert measure_noise_utility(tally, plan, noisy)["marginals"] > 0.2


def test_noise_is_as_large_as_the_theory_says() -> None:
    frame = open_frame(PEOPLE, kinds=settle_kinds(SCHEMA).kinds)
    form = Counts.of(MarginalPlan.of(settle_kinds(SCHEMA), frame.fields), parse_spend(1))
    measured, rng = MeasuredTable.of(frame, form.plan), np.random.default_rng(3)
    true = np.concatenate([t.ravel() for t in measured.tables(form.marginals).values()])
    drawn = [form.draft(measured, rng).table["count"].to_numpy() - true for _ in range(60)]
    assert np.std(drawn) == pytest.approx(form.noise.deviation, rel=0.1)
    assert form.noise.scale == 3
