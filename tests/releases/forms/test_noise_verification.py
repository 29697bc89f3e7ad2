"""Verify reads the file again: whatever was changed in it, or in the manifest, is noticed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.releases.forms.noise_tables import PEOPLE, SCHEMA

import shoal
from shoal.core.errors import InputError, NotMetError, ShoalError, UsageError
from shoal.dp.opendp_library import SOURCE
from shoal.releases.forms._noise.manifest import SEEDED
from shoal.releases.forms._noise.verification import recount_noise
from shoal.releases.manifest import hash_file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> shoal.Release:
    """A release of counts."""
    out = tmp_path_factory.mktemp("counts") / "rel"
    return shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=1, out=out)


@pytest.fixture
def copy(made: shoal.Release, tmp_path: Path) -> Path:
    """The release without its companion, to be changed."""
    assert made.folder is not None
    return Path(shutil.copytree(made.folder, tmp_path / "rel"))


def manifest_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text()))


def sealed(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest, with the hash of the table as it is now: a forger would."""
    manifest["sha256"] = hash_file(folder / "table.csv")
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_a_release_verifies(made: shoal.Release, copy: Path) -> None:
    for source in (made, copy):
        verdict = shoal.verify(source)
        assert verdict.holds
        assert (verdict.how, verdict.rows, verdict.classes) == ("by construction", 38, 0)
        assert "38 rows, by construction" in str(verdict)


def _count(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(count=table["count"] + (table.index == 3))


CHANGES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "a count": (_count, "follow from the counts"),
    "half a person": (lambda t: t.assign(count=t["count"] + 0.5), "whole"),
    "no number": (lambda t: t.assign(count="x"), "no number"),
    "an estimate": (lambda t: t.assign(estimate=t["estimate"] + 1), "follow from the counts"),
    "a cell less": (lambda t: t[1:], "every cell"),
    "a cell twice": (lambda t: pd.concat([t[1:], t[1:2]]), "every cell"),
    "another label": (lambda t: t.replace("F", "X"), "every cell"),
    "another marginal": (lambda t: pd.concat([t, t[:1].assign(marginal="x")]), "no marginal"),
    "a column more": (lambda t: t.assign(more=1), "columns"),
    "a label more": (lambda t: t.assign(sex="F"), "every cell"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_table_is_noticed(copy: Path, change: str) -> None:
    alter, fact = CHANGES[change]
    table = pd.read_csv(copy / "table.csv", keep_default_na=False)
    alter(table).to_csv(copy / "table.csv", index=False)
    with pytest.raises(InputError, match="changed after it was published"):
        shoal.verify(copy)
    sealed(copy, manifest_of(copy))
    with pytest.raises(InputError, match=fact):
        shoal.verify(copy)


def test_rows_may_lie_in_any_order(copy: Path) -> None:
    table = pd.read_csv(copy / "table.csv", keep_default_na=False)
    table.sample(frac=1, random_state=1).to_csv(copy / "table.csv", index=False)
    sealed(copy, manifest_of(copy))
    assert shoal.verify(copy).holds


def _forged(manifest: dict[str, Any], **changes: Any) -> dict[str, Any]:
    privacy = manifest["privacy"]
    if "epsilon" in changes:
        manifest["spend"]["epsilon"] = privacy["epsilon"] = changes["epsilon"]
    if "step" in changes:
        privacy["steps"][0] |= changes["step"]
        privacy["scale"] = changes["step"].get("scale", privacy["scale"])
    return manifest


def test_too_little_noise_for_the_promise_fails(copy: Path) -> None:
    sealed(copy, _forged(manifest_of(copy), epsilon="1/2"))
    verdict = shoal.verify(copy)
    assert not verdict.holds
    assert verdict.judgements[0].reached == 1
    assert "DOES NOT MEET differential-privacy epsilon=0.5" in str(verdict)


@pytest.mark.parametrize(
    "step", [{"times": 1}, {"scale": -1}, {"mechanism": "luck"}, {"scale": "x"}]
)
def test_noise_that_is_not_accounted_for_is_refused(copy: Path, step: dict[str, Any]) -> None:
    sealed(copy, _forged(manifest_of(copy), step=step))
    with pytest.raises(InputError, match="manifest"):
        shoal.verify(copy)


@pytest.mark.parametrize("missing", ["spend", "privacy", "marginals"])
def test_a_manifest_that_lacks_something_is_refused(copy: Path, missing: str) -> None:
    manifest = manifest_of(copy)
    del manifest[missing]
    sealed(copy, manifest)
    with pytest.raises(InputError, match="manifest"):
        shoal.verify(copy)


def test_two_spends_are_refused(copy: Path) -> None:
    manifest = manifest_of(copy)
    manifest["spend"]["epsilon"] = "2"
    sealed(copy, manifest)
    with pytest.raises(InputError, match="two different spends"):
        shoal.verify(copy)


WORDS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "scale": (lambda m: m["privacy"].update(scale=999), "privacy.scale"),
    "unit": (lambda m: m["privacy"].update(unit="one hospital"), "privacy.unit"),
    "composition": (lambda m: m["privacy"].update(composition="none"), "privacy.composition"),
    "protected": (lambda m: m["privacy"].update(not_protected=[]), "privacy.not_protected"),
    "definition": (lambda m: m["privacy"].pop("definition"), "privacy.definition"),
    "more of privacy": (lambda m: m["privacy"].update(people=12), "privacy.people"),
    "more of a step": (lambda m: m["privacy"]["steps"][0].update(people=12), "privacy.steps"),
    "rule": (lambda m: m.update(rule="k-anonymity k=100"), "noise: rule"),
    "method": (lambda m: m.update(method="mondrian"), "noise: method"),
    "parameters": (lambda m: m.update(parameters={"k": 5}), "noise: parameters"),
    "a remark in the schema": (lambda m: m.update(schema="# 12 rows\n" + m["schema"]), "schema"),
    "number of people": (lambda m: m.update(people=12), "no release of this form has: people"),
    "defused cells": (lambda m: m.update(defused_cells=12), "defused"),
    "rho": (lambda m: [m[of].update(rho="1/9") for of in ("spend", "privacy")], "rho"),
    "dice": (lambda m: m["privacy"].update(randomness="dice"), "where its noise comes from"),
    "two marks": (lambda m: m["privacy"].update(randomness=SEEDED), "says two things"),
    "the other mark": (lambda m: m.update(releasable=False), "says two things"),
    "marked by a word": (lambda m: m.update(releasable="yes"), "releasable cannot be"),
}


@pytest.mark.parametrize("word", WORDS)
def test_a_manifest_says_what_follows_from_its_noise_and_no_more(copy: Path, word: str) -> None:
    change, fact = WORDS[word]
    manifest = manifest_of(copy)
    change(manifest)
    sealed(copy, manifest)
    with pytest.raises(InputError, match=fact):
        shoal.verify(copy)


def test_another_version_of_the_library_may_have_drawn_the_noise(copy: Path) -> None:
    manifest = manifest_of(copy)
    manifest["privacy"]["randomness"] = f"{SOURCE} (OpenDP 0.99.1)"
    sealed(copy, manifest)
    assert shoal.verify(copy).holds


def test_the_companion_tells_that_noise_was_a_seeds(tmp_path: Path) -> None:
    made = shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=1, seed=1, out=tmp_path / "rel")
    forged = dict(made.manifest)
    forged["releasable"] = True
    forged["privacy"] = {**forged["privacy"], "randomness": f"{SOURCE} (OpenDP 0.16.0)"}
    sealed(tmp_path / "rel", forged)
    with pytest.raises(InputError, match=r"do not agree on: .*releasable"):
        shoal.verify(tmp_path / "rel")


def test_the_companion_tells_a_forged_promise(made: shoal.Release, tmp_path: Path) -> None:
    assert made.folder is not None
    assert made.companion is not None
    folder = Path(shutil.copytree(made.folder, tmp_path / "rel"))
    shutil.copytree(made.companion, tmp_path / "rel.private")
    forged = _forged(manifest_of(folder), epsilon="1/2", step={"scale": 6.0})
    sealed(folder, forged)  # the noise is said to be twice as large as it was
    with pytest.raises(InputError, match="do not agree on: spend, privacy"):
        shoal.verify(folder)


def test_a_seeded_release_is_not_to_be_released(tmp_path: Path) -> None:
    release = shoal.publish(PEOPLE, SCHEMA, form="counts", epsilon=1, seed=1, out=tmp_path / "rel")
    with pytest.raises(NotMetError, match="not to be released"):
        shoal.verify(release)
    assert recount_noise(release.path, release.manifest).holds


REFUSED: dict[str, Callable[[Path], object]] = {
    "a rule": lambda rel: shoal.verify(rel, rule="k-anonymity k=2"),
    "audit": lambda rel: shoal.audit(rel),
    "attack": lambda rel: shoal.attack("linking", [rel], targets=PEOPLE),
    "forecast": lambda rel: shoal.forecast(rel),
    "based on": lambda rel: shoal.publish(
        PEOPLE.assign(who=range(12)), SCHEMA.set(who=shoal.person), "k-anonymity k=2", based_on=rel
    ),
    "after": lambda rel: shoal.publish(PEOPLE, SCHEMA, "k-anonymity k=2", after=rel),
    "like": lambda rel: shoal.publish(PEOPLE, SCHEMA, "k-anonymity k=2", like=rel),
}


@pytest.mark.parametrize("form", ["counts", "synthetic"])
@pytest.mark.parametrize("verb", REFUSED)
def test_other_verbs_refuse_noise_with_a_hint(copy: Path, verb: str, form: str) -> None:
    sealed(copy, {**manifest_of(copy), "form": form})
    with pytest.raises(UsageError) as error:
        REFUSED[verb](copy)
    assert isinstance(error.value, ShoalError)
    assert error.value.hint
    assert ("made-up people" in str(error.value)) == (form == "synthetic" and verb != "like")
