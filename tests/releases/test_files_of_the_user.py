"""A file that a user put into the folder of a release is not deleted when that is replaced."""

from __future__ import annotations

import json

import pytest

import shoal

SCHEMA = shoal.Schema(()).set(age=shoal.quasi, diagnosis=shoal.sensitive)


@pytest.fixture
def town(tmp_path):
    rows = [f"{20 + i % 30},{'ABC'[i % 3]}" for i in range(90)]
    (tmp_path / "people.csv").write_text("\n".join(["age,diagnosis", *rows]) + "\n")
    shoal.publish(tmp_path / "people.csv", SCHEMA, "k-anonymity k=3", out=tmp_path / "release")
    return tmp_path


def replaced(town, **more):
    return shoal.publish(
        town / "people.csv", SCHEMA, "k-anonymity k=6", out=town / "release", replace=True, **more
    )


@pytest.mark.parametrize("name", ["notes.txt", "table.bak", "values.txt", "table.parquet"])
@pytest.mark.parametrize("folder", ["release", "release.private"])
def test_a_file_that_is_not_the_release_s_own_is_refused(town, folder, name):
    (town / folder / name).write_text("mine")
    with pytest.raises(shoal.UsageError, match="holds files that are not") as error:
        replaced(town)
    assert "move them away" in error.value.hint
    assert (town / folder / name).read_text() == "mine"
    assert json.loads((town / "release" / "manifest.json").read_text())["rule"].endswith("k=3")


def test_a_folder_of_the_user_s_is_refused_whatever_its_name(town):
    (town / "release.private" / "rows.parquet").mkdir()
    (town / "release.private" / "rows.parquet" / "mine").write_text("mine")
    with pytest.raises(shoal.UsageError, match="holds files that are not"):
        replaced(town)
    assert (town / "release.private" / "rows.parquet" / "mine").read_text() == "mine"


def test_files_that_come_while_the_new_release_is_made_are_carried_over(town):
    def progress(step, done, total):
        if step == "moving into place":
            (town / "release" / "notes.txt").write_text("mine")
            (town / "release.private" / "notes.txt").write_text("mine too")

    replaced(town, progress=progress)
    assert json.loads((town / "release" / "manifest.json").read_text())["rule"].endswith("k=6")
    assert (town / "release" / "notes.txt").read_text() == "mine"
    assert (town / "release.private" / "notes.txt").read_text() == "mine too"
    assert shoal.verify(town / "release").holds
    assert not [path for path in town.iterdir() if path.name.startswith(".")]


def test_a_file_of_the_new_release_s_name_is_kept_under_another(town):
    def progress(step, done, total):
        if step == "moving into place":
            (town / "release" / "table.parquet").write_text("mine")

    replaced(town, progress=progress, format="parquet")
    assert (town / "release" / "table.parquet~").read_text() == "mine"
    assert shoal.verify(town / "release").holds


def test_a_release_with_counterfeits_can_be_replaced(town):
    from shoal.releases import folder

    path = town / "release" / "manifest.json"
    told = json.loads(path.read_text()) | {"counterfeits": {"rows": 1, "classes": 1}}
    path.write_text(json.dumps(told))
    (town / "release" / "counterfeits.csv").write_text("age,counterfeits\n[20-29],1\n")
    folder.check_replaceable(town / "release", "manifest.json", replace=True)
    (town / "release" / "counterfeits.txt").write_text("mine")
    with pytest.raises(shoal.UsageError, match="holds files"):
        folder.check_replaceable(town / "release", "manifest.json", replace=True)
