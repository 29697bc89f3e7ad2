"""What a manifest says of its noise is what a ledger counts: nobody goes round it."""

from __future__ import annotations

import json
import shutil

import pytest
from tests.ledger.spending_releases import SCHEMA

import shoal
from shoal.core.spend import Spend


@pytest.fixture
def ledger(tmp_path):
    where = tmp_path / "releases.db"
    with shoal.Ledger.init(where, epsilon=9, delta=1e-6, composition="zcdp") as made:
        yield made


@pytest.mark.parametrize("name", ["laplace", "gauss", "randomised"])
def test_no_rho_is_given_for_noise_that_states_its_own(ledger, releases, name):
    spend = {"epsilon": 1, "delta": "1e-6", "rho": "1e-9"}
    with pytest.raises(shoal.UsageError, match="A ρ is given") as told:
        ledger.add_foreign(releases / name, by="another", **spend)
    assert "leave --rho out" in told.value.hint
    assert ledger.account().total == Spend()


@pytest.mark.parametrize(
    ("spend", "removed"), [({}, False), ({}, True), ({"epsilon": "1/1000", "delta": "0"}, False)]
)
def test_noise_is_not_called_a_form_without_any(ledger, releases, tmp_path, spend, removed):
    folder = shutil.copytree(releases / "randomised", tmp_path / "copy")  # no companion to tell
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest |= {"form": "partition", **({"spend": spend} if spend else {})}
    if removed:
        del manifest["spend"]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(shoal.InputError, match="tells of noise"):
        shoal.verify(folder)
    with pytest.raises(shoal.InputError, match="tells of noise"):
        ledger.add_foreign(folder, by="another")
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("name", ["laplace", "randomised"])
def test_the_table_of_a_release_that_spends_is_not_taken_without_its_manifest(
    ledger, releases, name
):
    with pytest.raises(shoal.UsageError, match="states what it spends") as told:
        ledger.add_foreign(releases / name / "table.csv", schema=SCHEMA, by="another")
    assert "give the folder" in told.value.hint
    assert len(ledger.entries()) == 1
