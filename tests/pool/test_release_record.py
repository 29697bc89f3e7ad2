"""A pool remembers its releases: whoever has two can compare them, so partners are told."""

from __future__ import annotations

import json
import random
import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.pool import verbs
from shoal.pool.release_record import read_pool_releases
from shoal.pool.verbs import pool_add, pool_init, pool_publish

SCHEMA = shoal.Schema(
    (shoal.Column("age", "quasi", "number"), shoal.Column("diagnosis", "sensitive", "category"))
)
RULE = "m-privacy m=1 (k-anonymity k=3 & distinct-diversity l=2)"


def rows(seed: int) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "age": [rng.randrange(20, 60) for _ in range(30)],
            "diagnosis": [rng.choice(("flu", "cold", "asthma")) for _ in range(30)],
        }
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("once")
    pool_init(folder / "pool", SCHEMA, RULE)
    for seed, name in enumerate(("A", "B", "C")):
        pool_add(folder / "pool", name, rows(seed))
    return folder, pool_publish(folder / "pool", folder / "release")


@pytest.fixture
def place(done, tmp_path) -> Path:
    """A copy of the pool and its release, to be changed."""
    return Path(shutil.copytree(done[0], tmp_path / "place"))


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_release_is_written_down_for_the_third_party(done):
    folder, made = done
    (one,) = read_pool_releases(folder / "pool")
    assert (one.date, one.folder) == (date.today().isoformat(), "release")
    assert one.table_sha256 == made.certificate["release_sha256"]
    assert one.certificate == made.hash
    assert str(folder) not in (folder / "pool/private/published.json").read_text(encoding="utf-8")


def test_a_second_release_is_refused(place):
    before = everything(place)
    for out, settings in (
        ("other", {}),
        ("release", {}),
        ("other", {"replace": True}),  # nothing is there that it could replace
    ):
        with pytest.raises(shoal.UsageError, match="whoever has both tables") as error:
            pool_publish(place / "pool", place / out, **settings)
        assert f"published on {date.today().isoformat()} (folder 'release')" in error.value.fact
        assert "--again" in error.value.hint
    assert everything(place) == before


def test_another_release_of_the_same_name_is_not_the_last_one(place):
    (place / "elsewhere").mkdir()
    shoal.publish(rows(9), SCHEMA, "k-anonymity k=3", out=place / "elsewhere/release")
    with pytest.raises(shoal.UsageError, match="whoever has both tables"):
        pool_publish(place / "pool", place / "elsewhere/release", replace=True)


@pytest.mark.parametrize(("out", "how"), [("release", "replace"), ("other", "again")])
def test_one_more_is_told_to_all_partners(place, out, how):
    made = pool_publish(place / "pool", place / out, **{how: True})
    said = "1 release of this pool came before this one"
    assert made.certificate["earlier"] == 1
    assert said in str(made)
    pages = list((place / f"{out}.partners").glob("*.html"))
    assert len(pages) == 4
    for page in pages:
        assert said in page.read_text(encoding="utf-8")
    assert [one.folder for one in read_pool_releases(place / "pool")] == ["release", out]
    with pytest.raises(shoal.UsageError, match="published 2 times, the last on"):
        pool_publish(place / "pool", place / "third")
    if out == "other":  # the last one is the other now
        with pytest.raises(shoal.UsageError, match="2 times"):
            pool_publish(place / "pool", place / "release", replace=True)


@pytest.mark.parametrize("first", [True, False])
def test_what_is_not_moved_into_place_is_not_remembered(place, monkeypatch, first):
    if first:
        (place / "pool/private/published.json").unlink()
    before, real = everything(place), verbs.folder.move_into_place

    def stop(*pairs, replace):
        if len(pairs) < 3:  # the release alone, aside
            return real(*pairs, replace=replace)
        assert len(read_pool_releases(place / "pool")) == 2 - first  # written first
        raise KeyboardInterrupt

    monkeypatch.setattr(verbs.folder, "move_into_place", stop)
    with pytest.raises(KeyboardInterrupt):
        pool_publish(place / "pool", place / "other", again=True)
    assert everything(place) == before


def test_what_is_stopped_once_it_is_in_place_is_remembered(place, monkeypatch):
    real = verbs.folder.move_into_place

    def stop(*pairs, replace):
        real(*pairs, replace=replace)
        if len(pairs) == 3:  # as Ctrl-C does while the old release is removed
            raise KeyboardInterrupt

    monkeypatch.setattr(verbs.folder, "move_into_place", stop)
    with pytest.raises(KeyboardInterrupt):
        pool_publish(place / "pool", place / "other", again=True)
    assert (place / "other/table.csv").is_file()
    assert len(read_pool_releases(place / "pool")) == 2


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({"releases": [{"date": "x"}]})])
def test_a_record_that_is_damaged_is_told_as_such(place, content):
    (place / "pool/private/published.json").write_text(content, encoding="utf-8")
    with pytest.raises(shoal.InputError, match=r"private/published\.json of the pool is damaged"):
        pool_publish(place / "pool", place / "other", again=True)
