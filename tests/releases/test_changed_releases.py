"""Every verb that opens a release notices whatever was changed in it, or in its companion."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal

RULE = "k-anonymity k=4"
SCHEMA = shoal.Schema(()).set(
    patient=shoal.person,
    hospital=shoal.provider,
    age=shoal.quasi,
    sex=shoal.quasi,
    diagnosis=shoal.sensitive,
)


def people(folder: Path, name: str, seed: int) -> Path:
    drawn = random.Random(seed)
    rows = ["patient,hospital,age,sex,diagnosis"]
    for i in range(60):
        age, sex = drawn.randint(20, 60), drawn.choice("fm")
        rows.append(f"p{i},{drawn.choice(['East', 'West'])},{age},{sex},{drawn.choice('ABCDE')}")
    (folder / name).write_text("\n".join(rows) + "\n")
    return folder / name


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A release with its companion, and another one's."""
    folder = tmp_path_factory.mktemp("published")
    source = people(folder, "people.csv", 1)
    shoal.publish(source, SCHEMA, RULE, out=folder / "release")
    other = people(folder, "others.csv", 2)
    shoal.publish(other, SCHEMA, RULE, out=folder / "other")
    shoal.Ledger.init(folder / "book", key=folder / "key").close()
    return folder


@pytest.fixture
def town(published, tmp_path):
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    return tmp_path


def rewrite(path: Path, **changes: int) -> None:
    told = json.loads(path.read_text())
    place = told["verdict"] if path.name == "companion.json" else told
    for name, more in changes.items():
        place[name] += more
    path.write_text(json.dumps(told, indent=2) + "\n")


def one_value(town: Path) -> None:
    path = town / "release" / "table.csv"
    head, first, *rest = path.read_text().splitlines()
    changed = first[:-1] + ("B" if first[-1] != "B" else "C")
    path.write_text("\n".join([head, changed, *rest]) + "\n")


def other_people(town: Path) -> None:
    path = town / "release.private" / "rows.parquet"
    rows = pq.read_table(path)
    column = rows["person"].to_pylist()
    column[0] = "0" * len(column[0])
    at = rows.column_names.index("person")
    pq.write_table(rows.set_column(at, "person", pa.array(column)), path)


def fewer_people(town: Path) -> None:
    path = town / "release.private" / "rows.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    told = json.loads((path.parent / "companion.json").read_text())
    del told["rows_sha256"]
    (path.parent / "companion.json").write_text(json.dumps(told))


def swapped(town: Path) -> None:
    shutil.rmtree(town / "release.private")
    shutil.copytree(town / "other.private", town / "release.private")


def both_counts(town: Path) -> None:
    rewrite(town / "release" / "manifest.json", rows=1)
    rewrite(town / "release.private" / "companion.json", rows=1)


CHANGES = {
    "the companion's rows are deleted": lambda town: (
        town / "release.private" / "rows.parquet"
    ).unlink(),
    "the companion's rows are garbled": lambda town: (
        town / "release.private" / "rows.parquet"
    ).write_bytes(b"PAR1 nonsense PAR1"),
    "a person of the companion's rows is another": other_people,
    "a row of the companion is left out, with the seal": fewer_people,
    "the companion is garbled": lambda town: (
        town / "release.private" / "companion.json"
    ).write_text("{"),
    "the companion is another release's": swapped,
    "the manifest counts a row more": lambda town: rewrite(
        town / "release" / "manifest.json", rows=1
    ),
    "the manifest counts a class more": lambda town: rewrite(
        town / "release" / "manifest.json", classes=1
    ),
    "the companion counts a row more": lambda town: rewrite(
        town / "release.private" / "companion.json", rows=1
    ),
    "manifest and companion count a row more": both_counts,
    "a value of the table is another": one_value,
    "the table is deleted": lambda town: (town / "release" / "table.csv").unlink(),
}


def admit(town: Path) -> None:
    with shoal.Ledger(town / "book", key=town / "key") as ledger:
        ledger.admit(town / "release", people=town / "people.csv")


def again(town: Path, **how: object) -> None:
    shoal.publish(town / "people.csv", SCHEMA, RULE, out=town / "second", **how)


VERBS = {
    "verify": lambda town: shoal.verify(town / "release"),
    "audit": lambda town: shoal.audit(town / "release"),
    "attack": lambda town: shoal.attack("homogeneity", town / "release"),
    "linking": lambda town: shoal.attack(
        "linking", town / "release", targets=town / "people.csv", schema=SCHEMA
    ),
    "red-team": lambda town: shoal.red_team(town / "release"),
    "report": lambda town: shoal.report(town / "release"),
    "m-privacy": lambda town: shoal.m_privacy(town / "release", None, "k-anonymity k=2", m=1),
    "ledger admit": admit,
    "publish --based-on": lambda town: again(town, based_on=town / "release"),
    "publish --like": lambda town: shoal.publish(
        town / "others.csv", like=town / "release", out=town / "second", hold_back=1.0
    ),
    "verify --after": lambda town: shoal.verify(town / "other", after=[town / "release"]),
    "forecast": lambda town: shoal.forecast(town / "release"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_what_was_changed(town, verb, change):
    CHANGES[change](town)
    before = sorted(path.name for path in town.iterdir())
    with pytest.raises(shoal.InputError) as error:
        VERBS[verb](town)
    assert error.value.exit_code == 5
    assert error.value.hint
    assert sorted(path.name for path in town.iterdir()) == before


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_what_was_not_changed(town, verb):
    def refused() -> str:
        try:
            VERBS[verb](town)
        except (shoal.NotMetError, shoal.ExposedError):  # what it finds may speak against it
            return ""
        except shoal.InputError as error:
            return str(error)
        return ""

    assert refused() == ""


@pytest.mark.parametrize("form", ["counts", "synthetic"])
def test_a_table_of_noise_is_as_its_manifest_counts_it(town, form):
    if form == "synthetic":
        pytest.importorskip("mbi")
    schema = shoal.Schema(()).set(
        sex=shoal.quasi(domain=["f", "m"]),
        diagnosis=shoal.sensitive(domain=list("ABCDE")),
        age=shoal.identifier,
        hospital=shoal.identifier,
        patient=shoal.person,
    )
    shoal.publish(town / "people.csv", schema, form=form, epsilon=1, out=town / "noise")
    rewrite(town / "noise" / "manifest.json", rows=1)
    for verb in (shoal.verify, shoal.report):
        with pytest.raises(shoal.InputError):
            verb(town / "noise")
    with shoal.Ledger(town / "book", key=town / "key") as ledger, pytest.raises(shoal.InputError):
        ledger.admit(town / "noise", people=town / "people.csv")


def test_whoever_may_not_read_the_companion_opens_the_release_all_the_same(town):
    shutil.rmtree(town / "release.private")
    assert shoal.verify(town / "release").holds
    assert shoal.audit(town / "release").rows == 60
