"""What may be asked for where noise makes a release, from Python and from a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from tests.releases.forms.noise_tables import PEOPLE, SCHEMA

import shoal
from shoal.cli.main import main
from shoal.core.errors import SchemaError, UsageError
from shoal.reports.sections.differential_privacy import explain_noise_promise

OPEN = SCHEMA.set(age=shoal.quasi())
"""The schema without a kind, bounds or a domain for the age, which is a number in the table."""


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command line beside the table and its schema."""
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    Path("open.toml").write_text(OPEN.to_toml(), encoding="utf-8")
    return lambda *words: CliRunner().invoke(main, ["publish", "people.csv", *words])


def test_a_number_that_the_schema_leaves_open_is_offered_bounds_and_a_domain(typed: Any) -> None:
    with pytest.raises(SchemaError) as error:
        shoal.publish(PEOPLE, OPEN, form="counts", epsilon=1, dry_run=True)
    assert "has no bounds and no domain" in error.value.fact
    assert "bounds = [0, 120]" in error.value.hint
    assert "domain = " in error.value.hint
    found = typed("-s", "open.toml", "--form", "counts", "--epsilon", "1", "--dry-run")
    assert found.exit_code == 5
    assert "has no bounds and no domain" in found.stderr
    assert "a category" not in found.stderr


def test_a_schema_that_leaves_something_open_is_refused_before_the_table_is_read() -> None:
    with pytest.raises(SchemaError, match="has no bounds and no domain"):
        shoal.publish("nowhere.csv", OPEN, form="counts", epsilon=1)


def test_a_domain_of_numbers_is_of_a_number(typed: Any) -> None:
    ages = sorted(set(PEOPLE["age"].tolist()))
    stated = SCHEMA.set(age=shoal.quasi(domain=ages))
    Path("stated.toml").write_text(stated.to_toml(), encoding="utf-8")
    found = typed("-s", "stated.toml", "--form", "counts", "--epsilon", "1", "-o", "rel")
    assert found.exit_code == 0, found.output


@pytest.mark.parametrize("form", ["partition", "counts"])
def test_the_folder_where_one_is_has_a_name(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rel").mkdir()
    monkeypatch.chdir(tmp_path / "rel")
    asked: dict[str, Any] = {"epsilon": 1} if form == "counts" else {"rule": "k-anonymity k=2"}
    with pytest.raises(UsageError, match="'rel' exists already"):
        shoal.publish(PEOPLE, SCHEMA, form=form, out=".", **asked)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ({"held_back_as": "starred"}, "held-back-as"),
        ({"population": PEOPLE}, "population"),
        ({"rule": "k-anonymity k=2"}, "rule"),
        ({"hold_back": 0.1}, "hold-back"),
    ],
)
def test_what_noise_does_not_heed_is_refused(setting: dict[str, Any], name: str) -> None:
    with pytest.raises(UsageError, match=f"it has no {name}"):
        shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=1, **setting)


@pytest.mark.parametrize("form", ["partition", "randomised", "counts", "synthetic"])
def test_a_delta_without_an_epsilon_is_refused(form: str) -> None:
    rule = "k-anonymity k=2" if form in ("partition", "randomised") else None
    with pytest.raises(UsageError, match="no epsilon beside it"):
        shoal.publish(PEOPLE, SCHEMA, rule, form=form, delta=0.1, dry_run=True)


def test_a_delta_without_an_epsilon_is_refused_as_it_is_typed(typed: Any) -> None:
    roles = ("--quasi", "age", "--quasi", "sex", "--sensitive", "disease")
    asked = (*roles, "-m", "k-anonymity k=2", "--dry-run")
    assert typed(*asked, "--delta", "0").exit_code == 0
    found = typed(*asked, "--delta", "0.1")
    assert found.exit_code == 2
    assert "no epsilon beside it" in found.stderr


@pytest.mark.parametrize("form", ["partition", "randomised", "counts", "synthetic"])
@pytest.mark.parametrize("seed", [-5, 1.5, True])
def test_a_seed_is_a_whole_number_from_0_on(form: str, seed: Any) -> None:
    rule = "k-anonymity k=2" if form in ("partition", "randomised") else None
    with pytest.raises(UsageError, match="A seed is a whole number"):
        shoal.publish(PEOPLE, SCHEMA, rule, form=form, epsilon=1, seed=seed)


def test_a_form_that_no_release_has_is_named_first() -> None:
    with pytest.raises(UsageError, match="There is no form 'nosuch'"):
        shoal.publish(PEOPLE, SCHEMA, form="nosuch")


@pytest.mark.parametrize(
    ("epsilon", "fact"),
    [("abc", "is not a number"), ("1,5", "is not a number"), ("nan", "finite"), ("1/0", "finite")],
)
def test_what_is_no_number_is_told_as_that(epsilon: str, fact: str) -> None:
    with pytest.raises(UsageError, match=f"Epsilon .*{fact}"):
        shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=epsilon)


COMMAS = pd.DataFrame({"Age, years": ["a", "b"], "sex": ["F", "M"]})
NAMED = shoal.Schema(()).set(
    {"Age, years": shoal.quasi(domain=["a", "b"]), "sex": shoal.quasi(domain=["F", "M"])}
)


@pytest.mark.parametrize(
    ("written", "columns"),
    [
        ('"Age, years",sex', ["Age, years", "sex"]),
        ('sex, "Age, years"', ["Age, years", "sex"]),
        ("Age, years", ["Age, years"]),
        ('"Age, years"', ["Age, years"]),
        (["Age, years", "sex "], ["Age, years", "sex"]),
    ],
)
def test_a_name_with_a_comma_can_be_given(written: Any, columns: list[str]) -> None:
    asked: dict[str, Any] = {"form": "counts", "epsilon": 1, "dry_run": True}
    release = shoal.publish(COMMAS, NAMED, marginals=[written], **asked)
    assert release.manifest["marginals"] == [columns]


@pytest.mark.parametrize("written", ["Age", '"Age, years'])
def test_hints_have_names_as_they_can_be_given(written: str) -> None:
    with pytest.raises(UsageError) as error:
        shoal.publish(COMMAS, NAMED, form="counts", epsilon=1, marginals=[written])
    assert '"Age, years",sex' in error.value.hint


def test_what_is_no_list_of_columns_is_refused() -> None:
    for wrong in ("age,sex", [3], [["age", 3]], True):
        with pytest.raises(UsageError, match="lists of columns"):
            shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=1, marginals=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["counts", "randomised"])
def test_who_replaces_noise_is_told_that_both_spend(form: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"form": form, "epsilon": 1, "out": tmp_path / "rel", "replace": True}
    rule = "k-anonymity k=2" if form == "randomised" else None
    schema = SCHEMA.set(age=shoal.quasi(bounds=(0, 130)))
    told = [shoal.publish(PEOPLE, schema, rule, **asked).private["notes"] for _ in range(2)]
    both = [any("stays spent" in note for note in notes) for notes in told]
    assert both == [False, True]


def test_progress_is_told_while_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.releases.forms.counts.AT_ONCE", 20)
    steps: list[tuple[str, int, int]] = []
    shoal.publish(
        PEOPLE,
        SCHEMA,
        form="counts",
        epsilon=1,
        out=tmp_path / "rel",
        progress=lambda *step: steps.append(step),
    )
    assert [step for step in steps if step[0] == "drawing noise"] == [
        ("drawing noise", 0, 38),
        ("drawing noise", 20, 38),
    ]


def test_what_nobody_believes_before_is_told_as_that() -> None:
    release = shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=1, dry_run=True)
    told = explain_noise_promise(release.manifest, prior=0)
    assert told is not None
    assert [one["before"] for one in told["meaning"]["beliefs"]] == [0, 0]
    assert told["beliefs"] == told["meaning"]["beliefs"]


def test_exact_numbers_are_told_in_words_that_are_never_too_small() -> None:
    release = shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon="100000/300001", dry_run=True)
    told = explain_noise_promise(release.manifest)
    assert told is not None
    assert told["words"] == {"epsilon": "0.333333", "delta": "0"}
    assert told["privacy"]["epsilon"] == "100000/300001"
