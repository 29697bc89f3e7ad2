"""No budget comes back: by a release said never to be out, an older ledger, or another name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import shoal
from shoal.data import bundled
from shoal.releases.people_sketch import PERSONS, SIZE, Sketch

DROPPED = ("name", "admitted", "age", "zip")


def schema(people: pd.DataFrame, person: str = "person") -> shoal.Schema:
    counted = {"sex": "quasi", "diagnosis": "sensitive"}
    return shoal.Schema(
        (
            shoal.Column("patient", person),
            *(shoal.Column(name, "identifier") for name in DROPPED),
            *(
                shoal.Column(name, role, "category", domain=tuple(sorted(people[name].unique())))
                for name, role in counted.items()
            ),
        )
    )


def counts(folder: Path, name: str, people: pd.DataFrame, epsilon: str = "1") -> Path:
    """Noisy counts of a table, which spend that much."""
    shoal.publish(people, schema(people), form="counts", epsilon=epsilon, out=folder / name)
    return folder / name


@pytest.fixture(scope="module")
def everybody() -> pd.DataFrame:
    return pd.read_csv(bundled.path("st_anna.csv"), dtype=str)


@pytest.fixture
def ledger(tmp_path):
    (tmp_path / "books").mkdir()
    with shoal.Ledger.init(tmp_path / "books" / "a.db", epsilon="2") as made:
        yield made


# A release that was said never to be out


def test_a_release_that_lies_in_its_place_was_out(ledger, tmp_path, everybody):
    out = counts(tmp_path, "one", everybody)
    ledger.admit(out)
    with pytest.raises(shoal.UsageError, match="the release lies in 'one'"):
        ledger.withdraw(2, "a slip", never_out=True)
    assert str(ledger.account().total) == "ε 1"
    out.rename(tmp_path / "elsewhere")  # beside its place is not gone either
    with pytest.raises(shoal.UsageError, match="the release lies in 'elsewhere'"):
        ledger.withdraw(2, "a slip", never_out=True)
    shutil.rmtree(tmp_path / "elsewhere")
    ledger.withdraw(2, "a slip", never_out=True)
    assert not ledger.account().spends


def test_a_release_that_comes_back_after_it_was_never_out_is_noticed(ledger, tmp_path, everybody):
    out = counts(tmp_path, "one", everybody)
    ledger.admit(out)
    out.rename(tmp_path.parent / f"{tmp_path.name}-hidden")
    ledger.withdraw(2, "a slip", never_out=True)
    (tmp_path.parent / f"{tmp_path.name}-hidden").rename(out)
    another = counts(tmp_path, "two", everybody)
    with pytest.raises(shoal.InputError, match="never to have been out, and the release lies"):
        ledger.admit(another)
    assert ledger.admit(out).admitted  # recorded again, it counts
    assert str(ledger.account().total) == "ε 1"


def test_only_its_own_publisher_says_that_a_release_was_never_out(ledger, tmp_path, everybody):
    ledger.admit(counts(tmp_path, "one", everybody))
    shutil.rmtree(tmp_path / "one")
    other = ledger.keys.sibling("Lake")
    other.write(tmp_path / "lake.key")
    ledger.trust("Lake", other.public)
    with shoal.Ledger(ledger.where, tmp_path / "lake.key") as theirs:
        with pytest.raises(shoal.UsageError, match="a release of another publisher"):
            theirs.withdraw(2, "not sent", never_out=True)
        assert theirs.withdraw(2, "recalled").kind == "withdrawn"


# An older copy of the ledger


def put_back(ledger: shoal.Ledger, copy: Path) -> None:
    ledger.close()
    for file in Path(ledger.where).parent.glob("a.db*"):
        file.unlink()
    shutil.copy(copy, ledger.where)


@pytest.fixture
def older(ledger, tmp_path, everybody):
    """A copy of the ledger before its last release, which is put back."""
    ledger.admit(counts(tmp_path, "one", everybody, "1"))
    ledger.close()
    copy = Path(shutil.copy(ledger.where, tmp_path / "copy.db"))
    ledger.admit(counts(tmp_path, "two", everybody, "1"))
    put_back(ledger, copy)
    return copy


@pytest.mark.usefixtures("older")
def test_an_older_copy_is_refused_by_what_the_key_s_folder_remembers(ledger, tmp_path, everybody):
    third = counts(tmp_path, "three", everybody)
    with shoal.Ledger(ledger.where) as again:
        for ask in (
            lambda: again.admit(third),
            lambda: again.withdraw(2, "-"),
            lambda: again.judge(third),
            lambda: again.trust("x", "0" * 64),
            lambda: again.recheck(),
        ):
            with pytest.raises(shoal.InputError, match="lacks what the key's folder remembers"):
                ask()
        assert any("older copy" in problem for problem in again.check())


@pytest.mark.usefixtures("older")
def test_an_older_copy_is_refused_by_the_manifests_beside_a_release(ledger, tmp_path, everybody):
    (tmp_path / "books" / "a.key.heads").unlink()  # it was put back too
    third = counts(tmp_path, "three", everybody)
    with (
        shoal.Ledger(ledger.where) as again,
        pytest.raises(shoal.InputError, match="lacks what two remembers of entry 3"),
    ):
        again.admit(third)


@pytest.mark.usefixtures("older")
def test_a_backup_is_acknowledged_and_what_it_lost_stays_spent(ledger, tmp_path, everybody):
    third = counts(tmp_path, "three", everybody)
    with shoal.Ledger(ledger.where) as again:
        entry = again.acknowledge("restored from a backup", [tmp_path / "two"])
        assert (entry.body["lost"], len(entry.body["spends"])) == (1, 1)
        assert again.check() == ()
        assert str(again.account().total) == "ε 2"
        with pytest.raises(shoal.Refused, match="budget is exceeded"):
            again.admit(third)
        assert again.admit(tmp_path / "two").admitted  # recorded again: it counts once
        assert str(again.account().total) == "ε 2"
        with pytest.raises(shoal.UsageError, match="has every head"):
            again.acknowledge("again")


def test_an_admission_is_remembered_by_manifest_and_key(ledger, tmp_path, everybody):
    found = ledger.admit(counts(tmp_path, "one", everybody))
    note = json.loads((tmp_path / "one" / "manifest.json").read_text())["ledgers"]
    assert note == [{"identity": ledger.book.identity, "head": str(found.head)}]
    kept = tmp_path / "books" / "a.key.heads"
    assert kept.stat().st_mode & 0o077 == 0
    told = json.loads(kept.read_text())["ledgers"][ledger.book.identity]
    assert told["head"] == str(found.head)
    assert shoal.verify(tmp_path / "one").holds
    assert ledger.admit(tmp_path / "one").already


# The same people by another name


def test_the_same_people_by_another_name_are_refused(ledger, tmp_path, everybody):
    """One row less, another changed: the file is another, the people are the same."""
    ledger.admit(counts(tmp_path, "one", everybody), about="patients")
    changed = everybody.iloc[1:].copy()
    changed.iloc[0, changed.columns.get_loc("diagnosis")] = changed["diagnosis"].iloc[5]
    again = counts(tmp_path, "two", changed)
    with pytest.raises(shoal.Refused, match="which is about 'patients': by two names") as refused:
        ledger.admit(again, about="clients")
    assert '--about "patients"' in refused.value.fact
    assert not ledger.judge(again, about="clients").admitted
    assert ledger.admit(again, about="patients").admitted
    assert str(ledger.account("patients").total) == "ε 2"


def test_other_people_have_an_account_of_their_own(ledger, tmp_path, everybody):
    half = len(everybody) // 2
    ledger.admit(counts(tmp_path, "one", everybody.iloc[:half]), about="first")
    assert ledger.admit(counts(tmp_path, "two", everybody.iloc[half:]), about="second").admitted


def test_the_same_rows_are_known_without_a_person_column(ledger, tmp_path, everybody):
    for name, rows in (("one", everybody), ("two", everybody.iloc[10:])):
        roles = schema(everybody, "identifier")
        shoal.publish(rows, roles, "k-anonymity k=5", out=tmp_path / name)
    ledger.admit(tmp_path / "one", about="patients")
    with pytest.raises(shoal.Refused, match="which is about 'patients'"):
        ledger.admit(tmp_path / "two", about="others")


@pytest.mark.parametrize("common", [0, 500, 5000, 20000])
def test_a_sketch_estimates_how_many_people_are_in_both(common):
    def of(people: range) -> Sketch:
        mixed = sorted((n * 0x9E3779B97F4A7C15 + 77) % 2**64 for n in people)
        return Sketch(PERSONS, tuple(mixed[:SIZE]))

    one, other = of(range(20000)), of(range(20000 - common, 60000 - common))
    assert one.shared_with(other) == pytest.approx(common / 20000, abs=0.08)
    assert one.shared_with(other) == other.shared_with(one)
