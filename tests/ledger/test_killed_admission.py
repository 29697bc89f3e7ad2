"""`shoal ledger admit`, killed: the ledger verifies, goes on, and counts each release once."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.killing import Killer

import shoal
from shoal.data import bundled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and kill")
ADMIT = ("ledger", "admit", "release")


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    with Killer() as made:
        yield made


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A folder with a ledger and a release that is to be admitted."""
    folder = tmp_path_factory.mktemp("admitting")
    schema = shoal.Schema.of(
        person="patient",
        identifier=["name", "admitted"],
        quasi=["age", "sex", "zip"],
        sensitive=["diagnosis"],
    )
    source = bundled.path("st_anna.csv")
    shoal.publish(source, schema, "k-anonymity k=5", out=folder / "release")
    shoal.Ledger.init(folder / "releases.db").close()
    return folder


@pytest.fixture
def copy(begun, tmp_path):
    numbers = iter(range(10_000))
    return lambda: Path(shutil.copytree(begun, tmp_path / str(next(numbers))))


def must_go_on(folder: Path) -> None:
    """Nothing is wrong with the ledger, and admitting again leaves the release in it once."""
    with shoal.Ledger(folder / "releases.db") as ledger:
        assert ledger.check() == ()
        assert ledger.admit(folder / "release").admitted
        assert [entry.kind for entry in ledger.entries()] == ["founding", "release"]
        assert ledger.check() == ()
    assert shoal.verify(folder / "release").holds
    shutil.rmtree(folder)


def test_a_killed_admission_is_there_or_is_not(killer, copy):
    killer.shoal(copy(), *ADMIT)  # what it imports is imported once
    points = killer.shoal(copy(), *ADMIT).points
    assert points >= 10
    for point in (points // 2, points - 6):
        folder = copy()
        assert killer.shoal(folder, *ADMIT, point=point).code == -9
        must_go_on(folder)


@pytest.mark.long
def test_an_admission_killed_at_every_point(killer, copy):
    killer.shoal(copy(), *ADMIT)  # what it imports is imported once
    points = killer.shoal(copy(), *ADMIT).points
    for point in range(1, points + 1):
        folder = copy()
        ended = killer.shoal(folder, *ADMIT, point=point)
        assert ended.code == -9 or ended.points < point, ended.err
        must_go_on(folder)


@pytest.mark.long
def test_an_admission_killed_at_random(killer, copy):
    draw = random.Random(3)
    duration = killer.duration(copy(), *ADMIT)
    kills = 0
    for _ in range(25):
        folder = copy()
        after = draw.uniform(0, duration) if kills else 0  # the first is killed on any machine
        kills += killer.shoal(folder, *ADMIT, after=after).code == -9
        must_go_on(folder)
    assert kills
