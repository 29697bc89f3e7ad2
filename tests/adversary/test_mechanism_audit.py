"""Releases of noise, audited: what is right stays under its statement, what was forged does not."""

from __future__ import annotations

import json
import shutil
from unittest.mock import ANY

import numpy as np
import pytest
from click.testing import CliRunner

import shoal
from shoal.adversary.mechanism_audit import find_most_isolated
from shoal.cli.main import main
from shoal.core.errors import InputError, NotMetError, UsageError
from shoal.core.spend import Spend
from shoal.dp.bins import build_all_bins
from shoal.dp.randomised_response import calibrate_response
from shoal.dp.residuals import check_exchanged_counts
from shoal.engines.protocol import CodeCounts
from shoal.releases.forms._noise.measured import MeasuredTable
from shoal.releases.forms._noise.plan import MarginalPlan
from shoal.releases.manifest import hash_file

pd = pytest.importorskip("pandas")

ROWS = [(20 + 7 * i % 60, "FM"[i % 2], ("flu", "cold", "flu")[i % 3]) for i in range(30)]
PEOPLE = pd.DataFrame(ROWS, columns=["age", "sex", "disease"])
SCHEMA = shoal.Schema(()).set(
    age=shoal.quasi(shoal.intervals(20, 40), bounds=(0, 99)),
    sex=shoal.quasi(domain=["F", "M"]),
    disease=shoal.sensitive(domain=["flu", "cold", "mumps"]),
)
RUNS = 200


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release of the people by its form and what it may spend, made once."""
    made = {}

    def one(form, **asked):
        key = form, str(asked)
        if key not in made:
            made[key] = tmp_path_factory.mktemp("noisy") / form
            shoal.publish(PEOPLE, SCHEMA, out=made[key], form=form, **asked)
        return made[key]

    return one


def forged(folder, into, change):
    """A copy of the release, with another manifest."""
    shutil.copytree(folder, into)
    path = into / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return into


def less_noise(manifest):
    for step in manifest["privacy"]["steps"]:
        step["scale"] = 0.05


def too_true(manifest):
    manifest["answers"]["disease"]["keep"] = 0.99


@pytest.mark.parametrize(
    ("form", "asked"),
    [
        ("counts", {"epsilon": 2, "marginals": 2}),
        ("counts", {"epsilon": 2, "delta": "1e-6"}),
        ("randomised", {"epsilon": 2, "rule": "k-anonymity k=3"}),
    ],
)
def test_a_release_stays_under_what_it_states(release, form, asked):
    found = shoal.attack(
        "auditing", release(form, **asked), targets=PEOPLE, runs=RUNS, confidence=0.9999
    )
    assert (found.people, found.exposed) == (1, 0)
    assert 0 <= found.details["epsilon_low"] <= found.details["epsilon_claimed"] == 2
    assert ("rho_low" in found.details) == ("delta" in asked)
    shown = found.details["epsilon_low"] > 0  # of Gaussian noise ρ tells more
    assert ("within the 2 that it states" in found.sentence) == shown
    assert "more than the" not in found.sentence
    assert json.loads(json.dumps(found.to_json()))["details"]["runs"] == RUNS


@pytest.mark.parametrize(
    ("form", "asked", "change"),
    [
        ("counts", {"epsilon": 1, "marginals": 1}, less_noise),
        ("randomised", {"epsilon": 1, "rule": "k-anonymity k=3"}, too_true),
    ],
)
def test_a_release_with_less_noise_than_it_states_is_caught(release, form, asked, change, tmp_path):
    folder = forged(release(form, **asked), tmp_path / "forged", change)
    found = shoal.attack("auditing", folder, targets=PEOPLE, runs=RUNS)
    assert found.exposed == 1
    assert found.details["epsilon_low"] > 1
    assert "more than the 1 that it states" in found.sentence


def test_gaussian_noise_that_rho_forbids_is_told_so(release, tmp_path):
    def a_third(manifest):
        manifest["privacy"]["steps"][0]["scale"] /= 3

    folder = release("counts", epsilon=4, delta="1e-6", marginals=[["sex"]])
    forgery = forged(folder, tmp_path / "forged", a_third)
    found = shoal.attack("auditing", forgery, targets=PEOPLE, runs=RUNS)
    assert found.exposed == 1
    assert found.details["rho_low"] > found.details["rho_claimed"]
    assert "has a ρ of at least" in found.sentence


def test_a_mistake_in_what_publishes_is_caught(release, monkeypatch):
    folder = release("counts", epsilon=1, marginals=1)
    monkeypatch.setattr("shoal.releases.forms.counts.add_noise", lambda noise, tables, *_: tables)
    found = shoal.attack("auditing", folder, targets=PEOPLE, runs=RUNS)
    assert found.exposed == 1
    assert found.details["epsilon_low"] == found.details["most"] > 1
    assert found.details["file"]["wrong"] == ""  # the file was made before the mistake was


def test_noise_for_some_of_the_marginals_is_caught(release, monkeypatch):
    folder = release("counts", epsilon=1, marginals=1)

    def forgetful(noise, tables, rng, _):
        last = list(tables)[-1]
        return {one: t if one == last else noise.added(t, rng) for one, t in tables.items()}

    monkeypatch.setattr("shoal.releases.forms.counts.add_noise", forgetful)
    assert shoal.attack("auditing", folder, targets=PEOPLE, runs=RUNS).exposed == 1


@pytest.mark.parametrize(("keep", "wrong"), [(0, "exact"), (0.25, "too near"), (4, "too far")])
def test_counts_of_another_noise_than_stated_are_found_in_the_file(release, keep, wrong, tmp_path):
    pairs = [["age", "sex"], ["age", "disease"], ["sex", "disease"]]
    honest = release("counts", epsilon="1/10", marginals=pairs)
    table = pd.read_csv(honest / "table.csv", keep_default_na=False)
    people = PEOPLE.assign(age=[f"[{a // 20 * 20}-{a // 20 * 20 + 19}]" for a in PEOPLE["age"]])
    rows = [
        {k: v for k, v in row.items() if v}
        for row in table[["age", "sex", "disease"]].to_dict("records")
    ]
    exact = [(people[list(row)] == pd.Series(row)).all(axis=1).sum() for row in rows]
    added = np.random.default_rng(4).laplace(scale=30 * keep, size=len(table)).round()
    folder = shutil.copytree(honest, tmp_path / "rel")
    table.assign(count=(exact + added).astype(int)).to_csv(folder / "table.csv", index=False)
    whole = hash_file(folder / "table.csv")
    forgery = forged(folder, tmp_path / "forged", lambda manifest: manifest.update(sha256=whole))
    found = shoal.attack("auditing", forgery, targets=PEOPLE, runs=100)
    assert found.details["file"]["wrong"] == wrong
    assert found.exposed == (wrong != "too far")
    assert "The counts of its file are" in found.sentence


def test_counts_of_another_table_are_told_so_with_what_helps(release):
    many = pd.concat([PEOPLE] * 200)
    folder = release("counts", epsilon=2, marginals=2)
    found = shoal.attack("auditing", folder, targets=many, runs=RUNS)
    assert (found.exposed, found.details["file"]["wrong"]) == (0, "too far")
    assert "(a chance below 1e-" in found.sentence
    assert "audit it with the table that it was made of" in found.defence
    told = json.dumps(shoal.report(folder, original=many).to_json())
    assert "further from the original's than noise takes them" in told
    assert "found nothing against it" not in told


MANY = pd.concat([PEOPLE] * 4, ignore_index=True)


def true_answers(self, name, column):
    return self.answers[name].bins.codes(column.to_pylist())


def test_true_values_in_place_of_answers_are_found_in_the_file(monkeypatch, tmp_path):
    asked = {"form": "randomised", "epsilon": 1, "rule": "k-anonymity k=3"}
    with monkeypatch.context() as mutant:
        mutant.setattr(
            "shoal.releases.forms.randomised.RandomisedDraft._draw_answers", true_answers
        )
        shoal.publish(MANY, SCHEMA, out=tmp_path / "true", **asked)
    found = shoal.attack("auditing", tmp_path / "true", targets=MANY, runs=100)
    assert found.details["file"]["wrong"] == "too near"
    assert found.exposed == 1
    assert "The answers of its file follow the true values more than" in found.sentence


def test_answers_as_stated_are_not_accused(release):
    folder = release("randomised", epsilon=2, rule="k-anonymity k=3")
    found = shoal.attack("auditing", folder, targets=PEOPLE, runs=100, confidence=0.9999)
    assert found.details["file"] == {"cells": 30, "wrong": "", "chance": ANY}
    assert "Its 30 answers are as common as the stated chances let them be." in found.sentence
    rng, true = np.random.default_rng(8), np.repeat([0, 1], [20, 10])
    drawn = calibrate_response(Spend(2), 3)
    for _ in range(500):
        answers = np.bincount(drawn.answered(true, rng), minlength=3)
        assert check_exchanged_counts(answers, np.array([20, 10, 0]), drawn.matrix()).wrong == ""


def test_answers_are_not_compared_where_rows_were_held_back(release):
    folder = release("randomised", epsilon=2, rule="k-anonymity k=3")
    found = shoal.attack("auditing", folder, targets=MANY, runs=100, confidence=0.9999)
    assert "file" not in found.details
    assert any("some were held back" in one for one in found.assumptions)


def test_what_is_not_to_be_released_is_not_audited(release):
    with pytest.raises(NotMetError, match="not to be released"):
        shoal.attack("auditing", release("counts", epsilon=1, marginals=1, seed=3), targets=PEOPLE)


def test_the_person_is_the_one_left_most_alone():
    schema = shoal.Schema((SCHEMA.column("sex"), SCHEMA.column("disease")))
    codes = np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32)
    counted = CodeCounts(codes, np.array([2, 1, 1]))  # two women with flu, one with a cold, a man
    measured = MeasuredTable(MarginalPlan(schema, build_all_bins(schema)), counted)
    # Around a woman with flu: 3 × 3 × 2 people, with a cold 3 × 1 × 1, around the man 1 × 3 × 1;
    # of equals the first.
    assert find_most_isolated(measured, [(0,), (1,), (0, 1)]) == [0, 1]


def test_on_the_command_line_a_broken_statement_leaves_with_4(release, tmp_path):
    folder = release("counts", epsilon=1, marginals=1)
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    asked = ["--original", str(tmp_path / "people.csv"), "--runs", "100"]
    done = CliRunner().invoke(main, ["attack", "auditing", str(folder), *asked])
    assert done.exit_code == 0, done.stderr
    assert "so many runs can show an ε of " in done.stdout
    assert "exposed" not in done.stdout
    forgery = str(forged(folder, tmp_path / "forged", less_noise))
    caught = CliRunner().invoke(main, ["attack", "auditing", forgery, *asked, "--json"])
    assert caught.exit_code == 4
    assert json.loads(caught.stdout)["rate"] == 1


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ({"targets": None}, "nobody says which"),
        ({"sample": 3}, "looks at no rows"),
        ({"pieces": 2}, "looks at no rows"),
        ({"runs": 5}, "runs must be"),
    ],
)
def test_what_an_audit_cannot_use_is_refused(release, given, fact):
    folder = release("counts", epsilon=1, marginals=1)
    with pytest.raises(UsageError, match=fact):
        shoal.attack("auditing", folder, **{"targets": PEOPLE, **given})


def test_an_epsilon_that_is_none_is_bad_input(release, tmp_path):
    folder = forged(
        release("counts", epsilon=2, marginals=2),
        tmp_path / "rel",
        lambda manifest: manifest["spend"].update(epsilon="abc"),
    )
    with pytest.raises(InputError, match="does not say what was spent"):
        shoal.attack("auditing", [folder], original=PEOPLE, runs=10)


def test_another_file_than_the_published_one_is_told_apart(tmp_path):
    file, out = tmp_path / "people.csv", tmp_path / "rel"
    PEOPLE.to_csv(file, index=False)
    other = tmp_path / "other.csv"
    PEOPLE[:-1].to_csv(other, index=False)
    shoal.publish(file, SCHEMA, form="counts", epsilon=2, out=out)
    found = [shoal.attack("auditing", [out], original=one, runs=100) for one in (file, other)]
    said = [any("another file" in told for told in one.assumptions) for one in found]
    assert said == [False, True]
    shutil.rmtree(tmp_path / "rel.private")
    blind = shoal.attack("auditing", [out], original=other, runs=100)
    assert not any("another file" in told for told in blind.assumptions)


@pytest.mark.parametrize("asked", [{"form": "counts", "epsilon": 2}, {"rule": "k-anonymity k=2"}])
def test_a_report_says_where_the_original_is_another_file(asked, tmp_path):
    file, other, out = (tmp_path / name for name in ("people.csv", "other.csv", "rel"))
    PEOPLE.to_csv(file, index=False)
    PEOPLE[:-1].to_csv(other, index=False)
    shoal.publish(file, SCHEMA, out=out, **asked)
    told = json.dumps(shoal.report(out, original=other).to_json())
    assert "another file than the one that was published" in told


def test_a_release_without_noise_cannot_be_audited(tmp_path):
    shoal.publish(PEOPLE, SCHEMA, "k-anonymity k=3", out=tmp_path / "plain")
    with pytest.raises(UsageError, match="this has none"):
        shoal.attack("auditing", tmp_path / "plain", targets=PEOPLE)
    with pytest.raises(UsageError, match="takes one release, and 2 are given"):
        shoal.attack("auditing", [PEOPLE, PEOPLE], targets=PEOPLE)


def test_a_misspelt_name_is_told_apart():
    with pytest.raises(UsageError, match="auditin") as error:
        shoal.attack("auditin", PEOPLE)
    assert "'auditing'" in error.value.hint
